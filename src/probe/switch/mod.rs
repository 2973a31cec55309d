//! What is read on a physical switch. Each system has its own commands and prints in its own way; all of them become the
//! same facts: the switch, its ports with their state, MTU, VLANs, lossless classes and marking, the neighbour behind each
//! port, and counters. Names of ports are given in full, however a table shortens them.

use super::Probe;

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
            Self::Eos | Self::NxOs | Self::Cumulus | Self::Sonic | Self::Onyx => &[],
        }
    }
}
