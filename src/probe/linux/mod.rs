//! What is read on a Linux guest.

pub mod counters;
pub mod gids;
pub mod queue_pairs;
mod rdma_files;
mod rdma_output;
pub mod rdma_sysfs;
#[cfg(test)]
mod rdma_testing;
pub mod rdma_tool;
pub mod stream;

use super::Probe;

/// All probes of a Linux guest.
pub const PROBES: &[Probe] =
    &[rdma_tool::PROBE, rdma_sysfs::PROBE, gids::PROBE, gids::REST, queue_pairs::PROBE, counters::PROBE];
