//! Checks of VMs: their hardware, adapters, memory, what their files and logs say, and why they do not start.

mod adapter_connected;
mod backing_function;
mod balloon;
mod configuration;
mod device_count;
mod distributed_switch;
mod file;
mod firmware;
mod guest_os;
mod hardware_version;
mod hot_add;
mod latency;
mod log;
mod machine;
mod memory;
mod memory_limit;
mod memory_reservation;
mod mmio_window;
mod namespaces;
mod nested;
mod numa;
mod port_state;
mod power_on_failed;
mod power_state;
mod pvrdma_adapter;
mod pvrdma_protocol;
mod reservation_broken;
mod secure_boot;
mod snapshots;
mod tools;
mod unused;
mod vgpu_profile;

mod host_qualifies;
mod migration_targets;
mod placement;
mod same_host;

pub(super) use machine::Vm;

use super::Check;

/// The checks of this layer.
pub const CHECKS: &[&Check] = &[
    &power_on_failed::CHECK,
    &power_state::CHECK,
    &configuration::CHECK,
    &hardware_version::CHECK,
    &guest_os::CHECK,
    &pvrdma_adapter::CHECK,
    &adapter_connected::CHECK,
    &distributed_switch::CHECK,
    &port_state::CHECK,
    &pvrdma_protocol::CHECK,
    &namespaces::CHECK,
    &memory_reservation::CHECK,
    &reservation_broken::CHECK,
    &memory_limit::CHECK,
    &balloon::CHECK,
    &mmio_window::CHECK,
    &firmware::CHECK,
    &device_count::CHECK,
    &backing_function::CHECK,
    &vgpu_profile::CHECK,
    &nested::CHECK,
    &snapshots::CHECK,
    &hot_add::CHECK,
    &secure_boot::CHECK,
    &latency::CHECK,
    &numa::CHECK,
    &tools::CHECK,
    &unused::CHECK,
    &host_qualifies::CHECK,
    &migration_targets::CHECK,
    &placement::CHECK,
    &same_host::CHECK,
];
