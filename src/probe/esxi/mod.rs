//! What is read on an ESXi host.

pub mod address;
mod advanced;
pub mod block;
mod config_files;
mod dcb;
pub mod each;
mod firewall;
mod hardware;
mod kernel_settings;
mod lines;
mod logs;
mod mask;
pub mod modules;
mod net_dvs;
mod nics;
mod pci;
mod rdma;
mod reboot;
mod reply;
mod software;
mod sriov;
pub mod statistics;
pub mod table;
pub mod version;
pub mod vim_dump;
mod vm_config;
mod vm_devices;
mod vmknics;
mod vms;
mod vmx;
mod vswitches;

use super::Probe;
pub use mask::{MASK, masked};

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
