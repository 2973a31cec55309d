//! Checks of Linux guests: devices, ports, addresses, limits, messages.

mod address;
mod address_persistence;
mod ask;
mod balloon;
#[cfg(test)]
mod captured;
mod clock;
mod counted;
mod device_nodes;
mod gid_index;
mod gid_roce_v2;
mod gid_table;
mod infiniband_subnet_manager;
mod irqbalance;
pub(super) mod kernel_messages;
mod launcher_limits;
mod memlock;
mod mtu_pair;
mod mtu_persistence;
mod neighbour;
mod netdev_up;
mod numa;
mod packet_loss;
mod partition_key;
mod pcie_link;
mod port_active;
mod port_errors;
mod provider_library;
mod pvrdma_driver;
mod pvrdma_kernel;
mod pvrdma_pairing;
mod queue_pairs;
mod rdma_device;
mod rdma_modules;
mod receiver_not_ready;
mod retransmits;
mod roce_mtu;
mod same_subnet;
#[cfg(test)]
mod samples;
mod software_rdma;
mod swap_use;
mod swappiness;
mod transparent_hugepages;
mod transport;
mod verbs_abi;
mod vf_state;
#[cfg(test)]
pub(in crate::diagnose) use transport::tests::at_work;
mod vlan_pair;

use super::Check;

/// The checks of this layer.
pub const CHECKS: &[&Check] = &[
    &rdma_modules::CHECK,
    &pvrdma_kernel::CHECK,
    &pvrdma_pairing::CHECK,
    &pvrdma_driver::CHECK,
    &rdma_device::CHECK,
    &provider_library::CHECK,
    &verbs_abi::CHECK,
    &device_nodes::CHECK,
    &software_rdma::CHECK,
    &netdev_up::CHECK,
    &vf_state::CHECK,
    &port_active::CHECK,
    &infiniband_subnet_manager::CHECK,
    &partition_key::CHECK,
    &gid_table::CHECK,
    &gid_roce_v2::CHECK,
    &gid_index::CHECK,
    &address::CHECK,
    &same_subnet::CHECK,
    &neighbour::CHECK,
    &mtu_pair::CHECK,
    &roce_mtu::CHECK,
    &mtu_persistence::CHECK,
    &address_persistence::CHECK,
    &packet_loss::CHECK,
    &retransmits::CHECK,
    &receiver_not_ready::CHECK,
    &port_errors::CHECK,
    &queue_pairs::CHECK,
    &memlock::CHECK,
    &launcher_limits::CHECK,
    &kernel_messages::CHECK,
    &pcie_link::CHECK,
    &balloon::CHECK,
    &swap_use::CHECK,
    &clock::CHECK,
    &numa::CHECK,
    &transparent_hugepages::CHECK,
    &swappiness::CHECK,
    &irqbalance::CHECK,
    &transport::CHECK,
    &vlan_pair::CHECK,
];
