//! Checks of VMs: their hardware, adapters, memory, and where they may run.

use super::Check;

/// The checks of this layer.
pub const CHECKS: &[&Check] = &[];
