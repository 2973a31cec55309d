//! What is read on a physical switch. Each system has its own commands and prints in its own way; all of them become the
//! same facts: the switch, its ports with their state, MTU, VLANs, lossless classes and marking, the neighbour behind each
//! port, and counters. Names of ports are given in full, however a table shortens them.
//!
//! Each probe has one source, which is one command: what a person pasted of that command is read by the same parser.

mod answer;
mod ask;
pub mod counting;
mod cumulus;
mod eos;
mod lined;
pub mod names;
mod nxos;
mod onyx;
mod sonic;
mod status;

use super::{Probe, Source};
pub use answer::refusal;
pub use ask::command_for;
pub use status::is_title;

/// Operating system of a switch: it decides which commands are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SwitchSystem {
    /// Arista EOS.
    Eos,
    /// Cisco NX-OS.
    NxOs,
    /// NVIDIA Cumulus Linux.
    Cumulus,
    /// The switch system `SONiC`.
    Sonic,
    /// NVIDIA (Mellanox) Onyx.
    Onyx,
}

impl SwitchSystem {
    /// All of them, in the order of documents.
    pub const ALL: [Self; 5] = [Self::Eos, Self::NxOs, Self::Cumulus, Self::Sonic, Self::Onyx];

    /// The name in files and documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Eos => "eos",
            Self::NxOs => "nxos",
            Self::Cumulus => "cumulus",
            Self::Sonic => "sonic",
            Self::Onyx => "onyx",
        }
    }

    /// What is read on a switch of this system.
    pub fn probes(self) -> &'static [Probe] {
        match self {
            Self::Eos => eos::PROBES,
            Self::NxOs => nxos::PROBES,
            Self::Cumulus => cumulus::PROBES,
            Self::Sonic => sonic::PROBES,
            Self::Onyx => onyx::PROBES,
        }
    }

    /// True if its shell is one of a Linux system, so that several commands can be sent as one script. The others take one
    /// command for each request.
    pub fn has_shell(self) -> bool {
        matches!(self, Self::Cumulus | Self::Sonic)
    }
}

/// A probe of one source, which runs one command.
macro_rules! reads {
    ($name:literal, $title:literal, $pace:ident, $parse:path, $($word:literal)+) => {
        $crate::probe::Probe {
            name: $name,
            title: $title,
            privilege_adds: "",
            pace: $crate::probe::Pace::$pace,
            rhythm: $crate::probe::Rhythm::PACE,
            sources: &[$crate::probe::Source {
                name: $name,
                read: $crate::probe::Read::Command { argv: &[$($crate::probe::Word::Plain($word)),+], keep: None },
            }],
            parse: |observations| observations.first().map_or_else(Vec::new, |observation| $parse(observation)),
        }
    };
}
use reads;

/// The source of this name, of whichever system.
pub fn source(name: &str) -> Option<&'static Source> {
    probe(name)?.sources.first()
}

/// The probe with the source of this name, of whichever system.
pub fn probe(name: &str) -> Option<&'static Probe> {
    SwitchSystem::ALL.iter().flat_map(|system| system.probes()).find(|probe| probe.name == name)
}
