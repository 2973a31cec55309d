//! Checks of what jobs ride on: Open MPI, UCX, NCCL, and the way between the nodes of a job.

mod btl_parameters;
mod firewall;
mod gpudirect;
mod interface_choice;
mod jobs;
mod nccl_ib;
mod pml;
mod same;
mod same_open_mpi;
mod same_pmix;
mod same_ucx;
mod ssh_between_nodes;
mod ucx_net_devices;
mod ucx_srq;
mod ucx_tls;
mod ucx_verbs;

use super::Check;

/// The checks of this layer.
pub const CHECKS: &[&Check] = &[
    &same_open_mpi::CHECK,
    &same_pmix::CHECK,
    &same_ucx::CHECK,
    &ucx_verbs::CHECK,
    &ucx_tls::CHECK,
    &ucx_net_devices::CHECK,
    &ucx_srq::CHECK,
    &pml::CHECK,
    &btl_parameters::CHECK,
    &interface_choice::CHECK,
    &nccl_ib::CHECK,
    &gpudirect::CHECK,
    &ssh_between_nodes::CHECK,
    &firewall::CHECK,
];
