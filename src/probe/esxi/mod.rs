//! What is read on an ESXi host.

pub mod address;
pub mod block;
mod dcb;
pub mod each;
mod hardware;
mod lines;
mod mask;
pub mod modules;
mod nics;
mod pci;
mod rdma;
mod reboot;
mod reply;
mod software;
mod sriov;
pub mod statistics;
pub mod table;
mod vim_dump;
pub mod version;

use super::Probe;
pub use mask::masked;

/// All probes of an ESXi host.
pub const PROBES: &[Probe] = &[
    version::PROBE,
    pci::PROBE,
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
    hardware::PROBE,
];
