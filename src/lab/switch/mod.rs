//! The switches of the lab: `leaf1` with Arista EOS and `leaf2` with Cisco NX-OS, joined by one cable. The RDMA uplinks of
//! both hosts and two passed-through HCAs are plugged into them, each into a port that the seed draws. They have a command
//! line of their own and no shell; every answer is rendered from one `State` by a form that names what it
//! was made after.

#![allow(
    clippy::format_collect,
    clippy::format_push_string,
    reason = "an answer is made once a command, and the text reads as it is printed"
)]

#[cfg(test)]
mod checks;
mod eos;
mod nxos;
#[cfg(test)]
mod reading;
mod state;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use self::state::{Plan, State};
use super::guest::Identity;
use super::guest::load::{between, mix};
use super::host::cables::{Cable, Cables};
use super::machine::{Answer, Login, Machine, NotRead, SwitchTrouble, Trouble};
use crate::config::Kind;
use crate::probe::switch::SwitchSystem;

/// Names of the switches; also the order of the hosts that are plugged into them.
pub const NAMES: [&str; 2] = ["leaf1", "leaf2"];

/// What one command takes: the command lines of switches are programs that start slowly.
const TAKES: Duration = Duration::from_millis(180);

/// Errors a second at the port of a cable that garbles frames.
const ERRORS: f64 = 6.5;

/// What a switch suffers: at the port of its host's RDMA uplink, since only of that is it known what it ought to be.
#[derive(Debug, Default)]
struct Ills {
    troubles: BTreeSet<SwitchTrouble>,
    /// Errors that were counted, and since when they rise.
    errors: (f64, Option<f64>),
    booted: Option<f64>,
}

/// One switch of the lab.
#[derive(Debug)]
pub struct Switch {
    index: usize,
    seed: u64,
    cables: Cables,
    /// Whose passed-through HCA is plugged in.
    guest: Option<Identity>,
    ills: Mutex<Ills>,
}

/// Both switches. `cables` are those of the hosts, `guests` those with a passed-through HCA: the first is plugged into the
/// second switch and the other way round, so that what goes between them crosses both.
pub fn switches(seed: u64, cables: &Cables, guests: &[Identity]) -> Vec<Arc<dyn Machine>> {
    (0..2)
        .map(|index| {
            let switch = Switch {
                index,
                seed: mix(seed, 700 + index as u64),
                cables: cables.clone(),
                guest: guests.get(1 - index).cloned(),
                ills: Mutex::default(),
            };
            Arc::new(switch) as Arc<dyn Machine>
        })
        .collect()
}

impl Switch {
    fn system(&self) -> SwitchSystem {
        if self.index == 0 { SwitchSystem::Eos } else { SwitchSystem::NxOs }
    }

    fn ills(&self) -> MutexGuard<'_, Ills> {
        // A poisoned lock only says that a reader panicked; a change is made in one step.
        self.ills.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> State {
        let ills = self.ills();
        let now = self.cables.now();
        let errors = ills.errors.0 + ills.errors.1.map_or(0.0, |since| (now - since) * ERRORS);
        let up = ills.booted.map_or(self.cables.up(), |booted| now - booted);
        let suffers = |trouble| ills.troubles.contains(&trouble);
        let first = u32::try_from(between(self.seed, 1, 1, 9)).unwrap_or(1);
        State::of(&Plan {
            index: self.index,
            seed: self.seed,
            first,
            near_ends: ["vmnic2", "vmnic3"].map(|uplink| self.cables.near_end(self.index, uplink)),
            guest: self.guest.as_ref(),
            now,
            up,
            errors,
            pfc_off: suffers(SwitchTrouble::PfcOff),
            other_priority: suffers(SwitchTrouble::OtherPriority),
            ecn_off: suffers(SwitchTrouble::EcnOff),
            small_mtu: suffers(SwitchTrouble::SmallMtu),
            no_vlan: suffers(SwitchTrouble::NoVlan),
        })
    }

    /// Lets the host feel what its port does to it.
    fn lead(&self, ills: &Ills) {
        let suffers = |trouble| ills.troubles.contains(&trouble);
        self.cables.lead(
            self.index,
            if suffers(SwitchTrouble::NoVlan) {
                Cable::NoVlan
            } else if suffers(SwitchTrouble::SmallMtu) {
                Cable::SmallFrames
            } else if suffers(SwitchTrouble::Errors) {
                Cable::Damaged
            } else {
                Cable::Sound
            },
        );
    }
}

impl Machine for Switch {
    fn name(&self) -> &str {
        NAMES[self.index]
    }

    /// UNSOURCED: the versions of OpenSSH of these releases.
    fn ssh_version(&self) -> &str {
        if self.index == 0 { "OpenSSH_8.7" } else { "OpenSSH_8.3 PKIX[13.1]" }
    }

    fn read(&self, _path: &str, _login: &Login) -> Result<Vec<u8>, NotRead> {
        Err(NotRead::Missing)
    }

    fn expand(&self, _pattern: &str) -> Vec<String> {
        Vec::new()
    }

    fn link(&self, _path: &str) -> Option<String> {
        None
    }

    fn run(&self, argv: &[String], _login: &Login) -> Answer {
        self.command_line(&argv.join(" ")).unwrap_or_default()
    }

    fn command_line(&self, line: &str) -> Option<Answer> {
        let state = self.state();
        let said = match self.system() {
            SwitchSystem::Eos => eos::answer(&state, line),
            _ => nxos::answer(&state, line),
        };
        let (stdout, status) = match said {
            Ok(text) => (text, 0),
            Err((text, status)) => (text, status),
        };
        Some(Answer { stdout, status, took: TAKES, ..Answer::default() })
    }

    fn environment(&self, _login: &Login) -> Vec<(String, String)> {
        Vec::new()
    }

    fn suffer(&self, trouble: Trouble, on: bool) {
        let now = self.cables.now();
        let mut ills = self.ills();
        match trouble {
            Trouble::Switch(trouble) => {
                if on {
                    ills.troubles.insert(trouble);
                } else {
                    ills.troubles.remove(&trouble);
                }
                if trouble == SwitchTrouble::Errors {
                    match (on, ills.errors.1) {
                        (true, None) => ills.errors.1 = Some(now),
                        (false, Some(since)) => ills.errors = (ills.errors.0 + (now - since) * ERRORS, None),
                        _ => {}
                    }
                }
                self.lead(&ills);
            }
            Trouble::Reboot if on => {
                ills.booted = Some(now);
                ills.errors = (0.0, ills.errors.1.map(|_| now));
            }
            Trouble::Reboot | Trouble::LinkDown | Trouble::Loss | Trouble::Host(_) | Trouble::Guest(_) => {}
        }
    }

    fn kind(&self) -> Kind {
        Kind::Switch(self.system())
    }
}
