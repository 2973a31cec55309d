//! Checks of VMs: their hardware, adapters, memory, and where they may run.

mod host_qualifies;
mod migration_targets;
mod placement;
mod same_host;

use super::Check;

/// The checks of this layer.
pub const CHECKS: &[&Check] =
    &[&host_qualifies::CHECK, &migration_targets::CHECK, &placement::CHECK, &same_host::CHECK];
