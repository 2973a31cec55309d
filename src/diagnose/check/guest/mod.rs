//! Checks of Linux guests: devices, ports, addresses, limits, messages.

mod transport;
#[cfg(test)]
pub(in crate::diagnose) use transport::tests::at_work;
mod vlan_pair;

use super::Check;

/// The checks of this layer.
pub const CHECKS: &[&Check] = &[&transport::CHECK, &vlan_pair::CHECK];
