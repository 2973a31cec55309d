//! Checks of GPUs, as far as the guest's kernel and its PCI functions tell.

mod bar_unassigned;
mod cpu_starved;
mod driver_bound;
mod driver_support;
mod fell_off_bus;
mod gpus;
mod input_starved;
mod numa_remote;
mod pcie_bound;
mod pcie_degraded;
mod pcie_link;
mod peer_memory;
mod power;
mod thermal;
pub(super) mod xid;

use super::Check;

/// The checks of this layer.
pub const CHECKS: &[&Check] = &[
    &driver_bound::CHECK,
    &driver_support::CHECK,
    &bar_unassigned::CHECK,
    &fell_off_bus::CHECK,
    &xid::CHECK,
    &pcie_link::CHECK,
    &peer_memory::CHECK,
    &thermal::CHECK,
    &pcie_degraded::CHECK,
    &pcie_bound::CHECK,
    &numa_remote::CHECK,
    &cpu_starved::CHECK,
    &power::CHECK,
    &input_starved::CHECK,
];
