//! What is read on a Linux guest.

mod device_nodes;
mod environment;
pub mod files;
mod limits;
mod memory;
mod modules;
#[cfg(test)]
mod mutation;
mod numa;
mod packages;
mod pci;
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
    limits::PROBE,
    memory::PROBE,
    numa::PROBE,
    tools::PROBE,
    environment::PROBE,
];
