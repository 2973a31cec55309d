//! Checks of physical switches: the ports into which uplinks with RDMA of VMs are plugged.

mod cures;
mod drops;
mod ecn;
mod errors;
mod interface_up;
mod mtu;
mod neighbour;
mod pause_storm;
mod pause_with_pfc;
mod pfc;
mod pfc_priority;
mod pfc_watchdog;
mod port_channel;
mod ports;
mod speed;
mod trust;
mod vlan;

use super::Check;

/// The checks of this layer.
pub const CHECKS: &[&Check] = &[
    &interface_up::CHECK,
    &neighbour::CHECK,
    &mtu::CHECK,
    &vlan::CHECK,
    &pfc::CHECK,
    &pfc_priority::CHECK,
    &ecn::CHECK,
    &trust::CHECK,
    &pause_with_pfc::CHECK,
    &speed::CHECK,
    &port_channel::CHECK,
    &errors::CHECK,
    &drops::CHECK,
    &pause_storm::CHECK,
    &pfc_watchdog::CHECK,
];
