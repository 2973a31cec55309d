//! What is read on an ESXi host: over SSH by `esxcli` and its neighbours, or from an archive that a script wrote there.
//!
//! Each probe is a file with its commands, its parser and its tests. Below them stand the shapes in which ESXi prints
//! ([`table`], [`block`], [`vim_dump`], [`each`]), the words it answers with (`reply`), its addresses ([`address`]), and
//! what must never be kept of what it says (`mask`).

pub mod address;
mod advanced;
pub mod block;
pub mod clock;
mod config_files;
pub mod counting;
mod dcb;
pub mod each;
pub mod esxtop;
mod firewall;
mod hardware;
pub mod json;
mod kernel_settings;
pub(in crate::probe) mod lines;
mod logs;
mod markdown;
mod mask;
pub mod modules;
mod net_dvs;
mod nics;
mod pci;
mod rdma;
pub mod reboot;
pub(in crate::probe) mod reply;
mod software;
mod sriov;
pub mod statistics;
pub mod table;
#[cfg(test)]
mod variants;
pub mod version;
pub mod vim_dump;
mod vm_config;
mod vm_devices;
mod vm_list;
mod vmknics;
mod vms;
mod vmx;
mod vswitches;

use super::Probe;
pub use mask::{FILTER_NAME, MASK, filter, masked, masked_commands, masked_files, secret, without_annotations};
pub use vms::{path_of, tail_of};
pub use vmx::FILES as VMX_FILES;

/// Titles of the tables that people paste without the rule below them; the first title begins its line.
pub const TITLES: [&[&str]; 4] = [nics::TITLES, rdma::TITLES, &nics::PAUSE, pci::PASSTHROUGH];

/// All probes of an ESXi host.
pub const PROBES: &[Probe] = &[
    // The host, its PCI functions, RDMA devices, physical ports and what they count.
    version::PROBE,
    clock::PROBE,
    pci::PROBE,
    rdma::PROBE,
    nics::PROBE,
    nics::NODES,
    dcb::PROBE,
    statistics::RDMA,
    statistics::NICS,
    statistics::PRIVATE,
    sriov::PROBE,
    // What is installed and loaded, and the machine under it.
    modules::PROBE,
    software::PROBE,
    hardware::PROBE,
    // VMs: which there are, what they are configured to be, their files.
    vms::PROBE,
    vm_config::PROBE,
    vmx::PROBE,
    // Networks: virtual switches, ports, VMkernel adapters, the firewall.
    vswitches::PROBE,
    net_dvs::PROBE,
    vmknics::PROBE,
    firewall::PROBE,
    // Settings: advanced, of the VMkernel, in files.
    advanced::PROBE,
    kernel_settings::PROBE,
    config_files::PROBE,
    // Logs: of the host and of each VM.
    logs::VMKERNEL,
    logs::VMWARE,
];
