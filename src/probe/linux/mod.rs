//! What is read on a Linux guest.

mod device_nodes;
mod environment;
pub mod files;
#[cfg(test)]
mod guest_testing;
mod kernel_log;
mod kernel_meaning;
mod limits;
mod memory;
mod modules;
mod netdevs;
mod numa;
mod packages;
mod pci;
mod persistence;
mod persistence_formats;
mod persistence_netplan;
mod system;
mod tools;

use super::Probe;

/// All probes of a Linux guest.
pub const PROBES: &[Probe] = &[
    system::PROBE,
    pci::FUNCTIONS,
    pci::LINKS,
    modules::PROBE,
    packages::PROBE,
    device_nodes::PROBE,
    netdevs::PROBE,
    persistence::PROBE,
    limits::PROBE,
    memory::PROBE,
    numa::PROBE,
    tools::PROBE,
    kernel_log::PROBE,
    environment::PROBE,
];
