//! The machines of the lab: two guests with PVRDMA, two with a passed-through mlx5 HCA, one with an SR-IOV virtual
//! function. Each has one [`State`]; all answers are rendered from it by templates that name the real output they were
//! copied from, so a change (`ip link set`, a link that goes down) shows in everything that is read later.

pub mod clock;
mod command;
mod counters;
pub mod gpus;
mod hardware;
pub mod load;
mod log;
mod machines;
mod procfs;
mod queue_pairs;
pub mod state;
mod sysfs;
pub(super) mod templates;
mod tree;
mod trouble;
pub mod wire;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use self::clock::Clock;
use self::command::{Scene, change, look, through_sudo};
pub use self::machines::vm_with_gpus;
use self::state::{Boot, State, uuid};
use self::tree::Tree;
use self::wire::{Side, Wire};
use super::machine::{Answer, Login, Machine, NotRead, Trouble};

/// How long nothing runs on a machine after its boot, in seconds.
const QUIET_AFTER_BOOT: f64 = 12.0;

/// The demo data centre of this seed, by the real clock: `pv-a` and `pv-b` with PVRDMA, `hca-a` and `hca-b` with a
/// passed-through mlx5 HCA, `vf-a` with a virtual function of one.
pub fn data_centre(seed: u64) -> Vec<Arc<dyn Machine>> {
    data_centre_by(seed, &Clock::real())
}

/// Who a guest is, as its host knows it, and what goes over that host for it.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Name.
    pub name: String,
    /// BIOS UUID, dashed.
    pub uuid: String,
    /// Hardware addresses of its adapters: management, RDMA.
    pub macs: Vec<String>,
    /// The path to its peer.
    pub wire: Arc<Wire>,
    /// Which end of it the guest is.
    pub side: Side,
}

/// The guests with PVRDMA of the data centre of this seed, each with a path that nobody else uses.
#[cfg(test)]
pub fn pvrdma_guests(seed: u64) -> Vec<Identity> {
    centre(seed, &Clock::standing()).1
}

/// The data centre by another clock: the same seed at the same time gives the same answers.
pub fn data_centre_by(seed: u64, clock: &Clock) -> Vec<Arc<dyn Machine>> {
    centre(seed, clock).0
}

/// The same, and those of its guests that have PVRDMA, for the hosts below them.
pub fn centre(seed: u64, clock: &Clock) -> (Vec<Arc<dyn Machine>>, Vec<Identity>) {
    let Centre { machines, pvrdma, .. } = Centre::new(seed, clock);
    (machines, pvrdma)
}

/// All guests, and who they are to hosts and switches.
pub struct Centre {
    /// The machines.
    pub machines: Vec<Arc<dyn Machine>>,
    /// Those with PVRDMA.
    pub pvrdma: Vec<Identity>,
    /// Those with a passed-through HCA, whose second hardware address is that of its port.
    pub passed_through: Vec<Identity>,
}

impl Centre {
    /// The data centre of this seed by this clock.
    pub fn new(seed: u64, clock: &Clock) -> Self {
        let all = machines::all(seed, clock.began());
        let (pvrdma, passed_through) = (identities(&all, state::Family::Pvrdma), identities(&all, state::Family::Mlx5));
        let guests = all.into_iter().map(|state| Arc::new(Guest::new(state, clock.clone())) as Arc<dyn Machine>);
        Self { machines: guests.collect(), pvrdma, passed_through }
    }
}

/// The guest with passed-through GPUs of this seed, which only some scenarios have: `gpu-a`.
pub fn with_gpus(seed: u64, clock: &Clock) -> Arc<dyn Machine> {
    Arc::new(Guest::new(machines::with_gpus(seed, clock.began()), clock.clone()))
}

fn identities(all: &[State], family: state::Family) -> Vec<Identity> {
    let wanted = all.iter().filter(|state| state.adapter.family == family);
    wanted
        .map(|state| Identity {
            name: state.name.clone(),
            uuid: state.uuid.clone(),
            macs: state.netdevs.iter().skip(1).map(|netdev| netdev.mac.clone()).collect(),
            wire: Arc::clone(&state.wire),
            side: state.side,
        })
        .collect()
}

/// One machine of the lab.
#[derive(Debug)]
pub struct Guest {
    name: String,
    tree: Tree,
    /// Its files while its RDMA adapter has no RDMA device.
    bare: Tree,
    /// Its files while another driver has its GPUs.
    foreign: Option<Tree>,
    state: Mutex<State>,
    clock: Clock,
}

impl Guest {
    /// A machine in this state.
    pub fn new(mut state: State, clock: Clock) -> Self {
        let files = |state: &State| {
            let mut tree = Tree::default();
            sysfs::fill(&mut tree, state);
            procfs::fill_tree(&mut tree, state);
            tree
        };
        let [bare, tree] = [false, true].map(|has_device| {
            trouble::load_driver(&mut state, has_device);
            files(&state)
        });
        let foreign = state.gpus.is_some().then(|| {
            gpus::hand_over(&mut state, true);
            let tree = files(&state);
            gpus::hand_over(&mut state, false);
            tree
        });
        Self { name: state.name.clone(), tree, bare, foreign, state: Mutex::new(state), clock }
    }

    /// Its files as they are now.
    fn tree(&self, state: &State) -> &Tree {
        match &self.foreign {
            Some(foreign) if gpus::is_foreign(state) => foreign,
            _ if state.has_device() => &self.tree,
            _ => &self.bare,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A poisoned lock only says that a reader panicked; a change is made in one step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> f64 {
        self.clock.elapsed().as_secs_f64()
    }
}

/// Environment variables of a login.
///
/// Source: capture "env" over SSH of a Debian 12 guest.
fn environment_of(state: &State, login: &Login) -> Vec<(String, String)> {
    let home = if login.user == "root" { "/root".to_owned() } else { format!("/home/{}", login.user) };
    let path = if login.user == "root" {
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    } else {
        "/usr/local/bin:/usr/bin:/bin:/usr/games"
    };
    let fixed = [
        ("SHELL", "/bin/bash"),
        ("PWD", &home),
        ("LOGNAME", &login.user),
        ("HOME", &home),
        ("USER", &login.user),
        ("SHLVL", "1"),
        ("PATH", path),
        ("_", "/usr/bin/env"),
    ];
    let fixed = fixed.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    fixed.chain(state.environment.iter().cloned()).collect()
}

impl Machine for Guest {
    fn name(&self) -> &str {
        &self.name
    }

    #[allow(clippy::unnecessary_literal_bound, reason = "the trait lets other machines build theirs")]
    fn ssh_version(&self) -> &str {
        "OpenSSH_9.2p1 Debian-2+deb12u7"
    }

    fn read(&self, path: &str, login: &Login) -> Result<Vec<u8>, NotRead> {
        let state = self.state();
        self.tree(&state).read(path, &state.at(self.now(), login)).map(String::into_bytes)
    }

    fn expand(&self, pattern: &str) -> Vec<String> {
        // Folders may be listed by everybody.
        let login = Login { user: "root".to_owned(), is_root: true };
        let state = self.state();
        self.tree(&state).expand(pattern, &state.at(self.now(), &login))
    }

    fn link(&self, path: &str) -> Option<String> {
        let login = Login { user: "root".to_owned(), is_root: true };
        let state = self.state();
        self.tree(&state).target(path, &state.at(self.now(), &login))
    }

    fn run(&self, argv: &[String], login: &Login) -> Answer {
        let mut answer = match through_sudo(argv, login) {
            Some(Err(refusal)) => refusal,
            Some(Ok(argv)) if argv.first().is_some_and(|name| name == "ulimit") => {
                // It is a part of the shell and no program.
                Answer { stderr: "sudo: ulimit: command not found\n".to_owned(), status: 1, ..Answer::default() }
            }
            Some(Ok(argv)) => self.run(&argv, &Login { user: "root".to_owned(), is_root: true }),
            None => {
                let now = self.now();
                let mut state = self.state();
                match change(&mut state, now, argv, login) {
                    Some(answer) => answer,
                    None => look(&Scene { moment: state.at(now, login), tree: self.tree(&state) }, argv),
                }
            }
        };
        if answer.took.is_zero() {
            // What a small program takes on such a machine; the lab's own delays come on top.
            answer.took = Duration::from_millis(2);
        }
        answer
    }

    fn environment(&self, login: &Login) -> Vec<(String, String)> {
        environment_of(&self.state(), login)
    }

    fn suffer(&self, trouble: Trouble, on: bool) {
        let now = self.now();
        let mut state = self.state();
        match trouble {
            Trouble::LinkDown => set_carrier(&mut state, now, !on),
            Trouble::Loss => state.wire.change(state.side, now, |end| end.loss = on),
            Trouble::Reboot if on => reboot(&mut state, now),
            Trouble::Guest(trouble) => trouble::suffer(&mut state, now, trouble, on),
            Trouble::Reboot | Trouble::Host(_) | Trouble::Switch(_) => {}
        }
    }
}

/// The link of the RDMA adapter's interface goes down or comes up.
fn set_carrier(state: &mut State, now: f64, carrier: bool) {
    let place = state.adapter.netdev;
    if state.netdevs[place].carrier == carrier {
        return;
    }
    state.netdevs[place].carrier = carrier;
    let netdev = &state.netdevs[place];
    // The driver tells a change only while the interface is administratively up.
    if netdev.admin_up {
        let line = log::link_line(netdev, carrier);
        state.log.extend(line.map(|line| (now - state.boot.at, line)));
    }
    let running = state.netdevs[place].is_running();
    state.wire.change(state.side, now, |end| end.up = running);
}

/// A new boot: what was set by hand is gone, what a file sets is set again; counters and kernel log begin anew. A link
/// that is down stays down.
fn reboot(state: &mut State, now: f64) {
    let number = state.boot.number + 1;
    state.boot = Boot { number, at: now, id: uuid(state.seed, u64::from(number)) };
    let fresh = machines::fresh(state);
    state.log = log::of_boot(state);
    let place = state.adapter.netdev;
    for (netdev, fresh) in state.netdevs.iter_mut().zip(fresh.netdevs) {
        let carrier = netdev.carrier;
        *netdev = fresh;
        netdev.carrier = carrier;
    }
    state.settings = fresh.settings;
    state.adapter.adaptive_moderation = fresh.adaptive_moderation;
    let (running, mtu) = (state.netdevs[place].is_running(), state.netdevs[place].mtu.0);
    state.wire.change(state.side, now, |end| {
        end.up = running;
        end.mtu = mtu;
        end.quiet_until = now + QUIET_AFTER_BOOT;
    });
}
