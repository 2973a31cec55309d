//! What is read on an ESXi host.

pub mod address;
pub mod block;
mod dcb;
pub mod each;
mod lines;
mod mask;
pub mod modules;
mod nics;
mod rdma;
mod reply;
mod software;
mod sriov;
pub mod statistics;
pub mod table;

use super::Probe;
pub use mask::masked;

/// All probes of an ESXi host.
pub const PROBES: &[Probe] = &[
    rdma::PROBE,
    nics::PROBE,
    nics::NODES,
    dcb::PROBE,
    statistics::RDMA,
    statistics::NICS,
    statistics::PRIVATE,
    sriov::PROBE,
    modules::PROBE,
    software::PROBE,
];
