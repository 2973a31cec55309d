//! What can go wrong in the lab, one file a fault. A fault is switched on and off for one machine while everything runs:
//! some happen to the machine itself, the others to the line to it.

/// A fault that is a trouble of the machine itself and lasts until it is switched off.
macro_rules! trouble {
    ($fault:ident, $of:expr, $trouble:expr, $name:literal, $title:literal, $description:literal) => {
        pub(super) const $fault: Fault = Fault {
            name: $name,
            title: $title,
            description: $description,
            of: $of,
            lasts: true,
            act: |host, on| {
                const TROUBLE: Trouble = $trouble;
                host.machine().suffer(TROUBLE, on);
            },
        };
    };
}

mod cut;
mod esxi;
pub(super) mod garbage;
mod gpu;
mod guest;
mod hang;
mod link_down;
mod loss;
mod reboot;
mod slow;
mod switch;
mod wrong_host_key;

use std::sync::Arc;

use super::server::Host;
use crate::config::Kind;

/// What kind of machine a fault happens to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Machines of all kinds.
    All,
    /// Guests and ESXi hosts.
    GuestsAndHosts,
    /// Guests.
    Guests,
    /// ESXi hosts.
    Hosts,
    /// Switches.
    Switches,
}

impl Of {
    /// True if it happens to a machine of this kind.
    pub fn admits(self, kind: Kind) -> bool {
        match kind {
            Kind::Esxi => matches!(self, Self::All | Self::GuestsAndHosts | Self::Hosts),
            Kind::Switch(_) => matches!(self, Self::All | Self::Switches),
            Kind::Linux | Kind::Local | Kind::Saved => matches!(self, Self::All | Self::GuestsAndHosts | Self::Guests),
        }
    }
}

/// One fault.
#[derive(Clone, Copy)]
pub struct Fault {
    /// Its name, as scenarios and actions call it: `link-down`.
    pub name: &'static str,
    /// What it is, in a few words.
    pub title: &'static str,
    /// What happens, and what is seen of it.
    pub description: &'static str,
    /// What kind of machine it happens to.
    pub of: Of,
    /// True for a state that lasts until it is switched off; false for what happens once.
    pub lasts: bool,
    /// Switches it for one machine.
    pub(super) act: fn(&Arc<Host>, bool),
}

impl std::fmt::Debug for Fault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Fault").field("name", &self.name).finish_non_exhaustive()
    }
}

/// All faults, in the order in which they are listed.
pub const FAULTS: &[&Fault] = &[
    &link_down::FAULT,
    &loss::FAULT,
    &hang::FAULT,
    &slow::FAULT,
    &cut::FAULT,
    &wrong_host_key::FAULT,
    &garbage::FAULT,
    &reboot::FAULT,
    &guest::DRIVER_UNLOADED,
    &guest::OTHER_OPEN_MPI,
    &guest::UCX_OVER_TCP,
    &guest::NO_LOCKED_MEMORY,
    &esxi::VMKNIC_UNTAGGED,
    &esxi::RULESET_CLOSED,
    &esxi::TWO_UPLINKS,
    &esxi::HCA_PASSTHROUGH,
    &esxi::VLAN_MISMATCH,
    &esxi::CEE_MODE,
    &esxi::FIRMWARE_DIFFERS,
    &esxi::PARAMETER_DIFFERS,
    &esxi::REBOOT_PENDING,
    &esxi::VM_MOVED,
    &esxi::HOSTD_DEAD,
    &esxi::GPU_NOT_GIVEN,
    &esxi::GPU_WINDOW_MISSING,
    &esxi::READY_HIGH,
    &esxi::NEIGHBOUR_BALLOONS,
    &esxi::OWN_BALLOON,
    &guest::BALLOONED,
    &esxi::NUMA_REMOTE,
    &esxi::SSH_STOPPED,
    &esxi::ACCOUNT_LOCKED,
    &switch::PFC_OFF,
    &switch::PFC_PRIORITY,
    &switch::ECN_OFF,
    &switch::MTU_SMALL,
    &switch::VLAN,
    &switch::ERRORS,
    &gpu::PCIE_SATURATED,
    &gpu::NARROW_LINK,
    &gpu::TOO_HOT,
    &gpu::OFF_THE_BUS,
    &gpu::DOUBLE_BIT,
    &gpu::NOUVEAU,
    &gpu::MIG_PENDING,
];

/// The fault of this name.
pub fn by_name(name: &str) -> Option<&'static Fault> {
    FAULTS.iter().copied().find(|fault| fault.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_every_fault_says_what_it_does() {
        let names: BTreeSet<&str> = FAULTS.iter().map(|fault| fault.name).collect();
        assert_eq!(names.len(), FAULTS.len());
        for fault in FAULTS {
            assert!(!fault.title.is_empty() && fault.description.len() > fault.title.len(), "{fault:?}");
            assert!(fault.name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{fault:?}");
            assert_eq!(by_name(fault.name).map(|found| found.name), Some(fault.name));
        }
        assert!(by_name("none").is_none());
    }
}
