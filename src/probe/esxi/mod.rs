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

mod advanced;
mod config_files;
mod firewall;
mod kernel_settings;
mod logs;
mod net_dvs;
pub mod vim_dump;
mod vm_config;
mod vm_devices;
mod vmknics;
mod vms;
mod vmx;
mod vswitches;

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
    // VMs, networks, settings, logs.
    vms::PROBE,
    vm_config::PROBE,
    vmx::PROBE,
    vswitches::PROBE,
    net_dvs::PROBE,
    vmknics::PROBE,
    firewall::PROBE,
    advanced::PROBE,
    kernel_settings::PROBE,
    config_files::PROBE,
    logs::VMKERNEL,
    logs::VMWARE,
];
