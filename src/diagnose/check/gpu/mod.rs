//! Checks of GPUs, as far as the guest's kernel and its PCI functions tell.

mod bar_unassigned;
mod driver_bound;
mod driver_support;
mod fell_off_bus;
mod gpus;
mod pcie_link;
mod peer_memory;
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
];
