//! Checks of ESXi hosts: RDMA devices, uplinks, switches, firewall, settings, logs.

mod pvrdma_ruleset;

use super::Check;

/// The checks of this layer.
pub const CHECKS: &[&Check] = &[&pvrdma_ruleset::CHECK];
