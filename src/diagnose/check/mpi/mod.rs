//! Checks of what jobs ride on: Open MPI, UCX, NCCL, and the way between the nodes of a job.

use super::Check;

/// The checks of this layer.
pub const CHECKS: &[&Check] = &[];
