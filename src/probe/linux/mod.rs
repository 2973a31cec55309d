//! What is read on a Linux guest.

pub mod counters;
mod device_limits;
mod device_nodes;
mod environment;
mod files;
mod gids;
#[cfg(test)]
pub(crate) mod guest_testing;
pub mod kernel_log;
pub(crate) mod kernel_meaning;
mod limits;
mod memory;
mod modules;
pub mod mpi;
mod neighbours;
mod netdevs;
mod numa;
mod packages;
mod pci;
mod peer_memory;
mod persistence;
mod persistence_formats;
mod persistence_netplan;
pub mod queue_pairs;
mod rdma_files;
mod rdma_output;
pub mod rdma_sysfs;
#[cfg(test)]
mod rdma_testing;
mod rdma_tool;
mod services;
pub mod ssh_trust;
pub mod statistics;
pub mod stream;
mod system;
mod tools;
mod uptime;
mod verbs;

use super::Probe;

/// All probes of a Linux guest.
pub const PROBES: &[Probe] = &[
    rdma_tool::PROBE,
    rdma_sysfs::PROBE,
    gids::PROBE,
    gids::REST,
    queue_pairs::PROBE,
    counters::PROBE,
    netdevs::PROBE,
    neighbours::PROBE,
    verbs::PROBE,
    system::PROBE,
    pci::FUNCTIONS,
    pci::LINKS,
    modules::PROBE,
    packages::PROBE,
    device_nodes::PROBE,
    persistence::PROBE,
    limits::PROBE,
    memory::PROBE,
    numa::PROBE,
    tools::PROBE,
    kernel_log::PROBE,
    environment::PROBE,
    uptime::PROBE,
    mpi::PROBE,
    device_limits::PROBE,
    services::PROBE,
    ssh_trust::PROBE,
    peer_memory::PROBE,
    super::gpu::states::PROBE,
    super::gpu::processes::PROBE,
    super::gpu::layout::PROBE,
];
