//! Checks of ESXi hosts: RDMA devices, uplinks, switches, firewall, settings, logs.

mod acs;
mod bearing;
mod clock;
mod dcb_mode;
mod device_log;
mod esxi_version;
mod graphics_type;
mod iommu;
mod lag;
mod link_flaps;
mod management_agent;
mod memory_pressure;
mod messages;
mod module_options;
mod mtu;
mod passthrough_owner;
mod pause_drops;
mod pause_with_pfc;
mod pcie_hotplug;
mod pfc;
mod pvrdma_log;
mod pvrdma_ruleset;
mod pvrdma_vmknic;
mod pvrdma_vmknic_address;
mod pvrdma_vmknic_switch;
mod rdma_device;
mod rdma_errors;
mod rdma_module;
mod rdma_port_active;
mod rdma_protocol;
mod reboot_pending;
mod same_driver;
mod same_firmware;
mod shell_timeout;
mod sole_uplink;
mod sriov_functions;
mod trust_mode;
mod uplink_errors;
mod uplink_link;
mod uplink_speed;

use super::Check;

/// The checks of this layer, from the wire up.
pub const CHECKS: &[&Check] = &[
    &uplink_link::CHECK,
    &uplink_speed::CHECK,
    &uplink_errors::CHECK,
    &link_flaps::CHECK,
    &dcb_mode::CHECK,
    &pfc::CHECK,
    &trust_mode::CHECK,
    &pause_with_pfc::CHECK,
    &pause_drops::CHECK,
    &mtu::CHECK,
    &sole_uplink::CHECK,
    &lag::CHECK,
    &rdma_device::CHECK,
    &rdma_port_active::CHECK,
    &rdma_protocol::CHECK,
    &rdma_module::CHECK,
    &module_options::CHECK,
    &rdma_errors::CHECK,
    &pvrdma_vmknic::CHECK,
    &pvrdma_vmknic_switch::CHECK,
    &pvrdma_vmknic_address::CHECK,
    &pvrdma_ruleset::CHECK,
    &pvrdma_log::CHECK,
    &passthrough_owner::CHECK,
    &iommu::CHECK,
    &acs::CHECK,
    &pcie_hotplug::CHECK,
    &sriov_functions::CHECK,
    &graphics_type::CHECK,
    &device_log::CHECK,
    &reboot_pending::CHECK,
    &esxi_version::CHECK,
    &same_firmware::CHECK,
    &same_driver::CHECK,
    &clock::CHECK,
    &management_agent::CHECK,
    &memory_pressure::CHECK,
    &shell_timeout::CHECK,
];
