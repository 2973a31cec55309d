//! Checks of GPUs, as far as the guest's kernel and its PCI functions tell.

mod bar_unassigned;
mod clocks_held;
mod compute_mode;
mod cpu_starved;
mod driver_bound;
mod driver_support;
mod ecc;
mod fell_off_bus;
mod gpus;
mod input_starved;
mod mode_pending;
mod numa_remote;
mod pcie_bound;
mod pcie_degraded;
mod pcie_link;
mod peer_memory;
mod persistence;
mod power;
mod retired_pages;
mod row_remap;
mod thermal;
mod told;
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
    &row_remap::CHECK,
    &ecc::CHECK,
    &retired_pages::CHECK,
    &mode_pending::MIG,
    &mode_pending::ECC,
    &compute_mode::CHECK,
    &persistence::CHECK,
    &clocks_held::CHECK,
    &thermal::CHECK,
    &pcie_degraded::CHECK,
    &pcie_bound::CHECK,
    &numa_remote::CHECK,
    &cpu_starved::CHECK,
    &power::CHECK,
    &input_starved::CHECK,
];
