//! Counters of ports and interfaces at a moment. They are functions of what went over the path since the boot, so they
//! never go back, and sysfs, `ip`, `ethtool` and `rdma` tell the same.

use super::load::whole;
use super::state::{Family, Moment, NetCounters, Netdev};

/// Files in `counters/` of an mlx5 port.
///
/// Source: the list of the kernel's PMA attributes with extended width, in the order of `drivers/infiniband/core/sysfs.c`.
pub const PORT_COUNTERS: [&str; 21] = [
    "symbol_error",
    "link_error_recovery",
    "link_downed",
    "port_rcv_errors",
    "port_rcv_remote_physical_errors",
    "port_rcv_switch_relay_errors",
    "port_xmit_discards",
    "port_xmit_constraint_errors",
    "port_rcv_constraint_errors",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
    "VL15_dropped",
    "port_xmit_data",
    "port_rcv_data",
    "port_xmit_packets",
    "port_rcv_packets",
    "port_xmit_wait",
    "unicast_xmit_packets",
    "unicast_rcv_packets",
    "multicast_xmit_packets",
    "multicast_rcv_packets",
];

/// Files in `hw_counters/` of an mlx5 port, in the order in which `rdma statistic` prints them (without `lifespan`).
///
/// Source: capture "rdma statistic" of a ConnectX RoCE port (tests/fixtures/public/14-rdma-statistic-wrapped.txt). Its two
/// last ones (`cc_*`) are optional counters that someone had switched on there.
pub const HARDWARE_COUNTERS: [&str; 28] = [
    "rx_write_requests",
    "rx_read_requests",
    "rx_atomic_requests",
    "out_of_buffer",
    "out_of_sequence",
    "duplicate_request",
    "rnr_nak_retry_err",
    "packet_seq_err",
    "implied_nak_seq_err",
    "local_ack_timeout_err",
    "resp_local_length_error",
    "resp_cqe_error",
    "req_cqe_error",
    "req_remote_invalid_request",
    "req_remote_access_errors",
    "resp_remote_access_errors",
    "resp_cqe_flush_error",
    "req_cqe_flush_error",
    "roce_adp_retrans",
    "roce_adp_retrans_to",
    "roce_slow_restart",
    "roce_slow_restart_cnps",
    "roce_slow_restart_trans",
    "rp_cnp_ignored",
    "rp_cnp_handled",
    "np_ecn_marked_roce_packets",
    "np_cnp_sent",
    "rx_icrc_encapsulated",
];

/// Counters of congestion control: a virtual function has none of them. UNSOURCED which exactly; it is only
/// known that a part is missing there.
const CONGESTION: [&str; 4] = ["rp_cnp_ignored", "rp_cnp_handled", "np_ecn_marked_roce_packets", "np_cnp_sent"];

/// Names of the files in `counters/` of the adapter's port; empty if there is no such folder.
pub fn port_counters(family: Family) -> &'static [&'static str] {
    if family == Family::Pvrdma { &[] } else { &PORT_COUNTERS }
}

/// Names of the files in `hw_counters/` of the adapter's port, without `lifespan`; empty if there is no such folder.
pub fn hardware_counters(family: Family) -> Vec<&'static str> {
    match family {
        Family::Pvrdma => Vec::new(),
        Family::Mlx5 => HARDWARE_COUNTERS.to_vec(),
        Family::Mlx5Vf => HARDWARE_COUNTERS.into_iter().filter(|name| !CONGESTION.contains(name)).collect(),
    }
}

impl Moment<'_> {
    /// The value of a file in `counters/` or `hw_counters/` of the adapter's port.
    pub fn port_counter(&self, name: &str) -> u64 {
        let carried = self.carried();
        match name {
            // mlx5 counts octets and shows 4-octet words.
            "port_xmit_data" => whole(carried.sent_bytes) >> 2,
            "port_rcv_data" => whole(carried.received_bytes) >> 2,
            "port_xmit_packets" | "unicast_xmit_packets" => whole(carried.sent_packets),
            "port_rcv_packets" | "unicast_rcv_packets" => whole(carried.received_packets),
            // Messages of 64 KiB, two thirds of them written, the rest read by the other side.
            "rx_write_requests" => whole(carried.received_bytes / 98_304.0),
            "rx_read_requests" => whole(carried.sent_bytes / 196_608.0),
            "packet_seq_err" => whole(carried.lost_sent * 0.9),
            "local_ack_timeout_err" => whole(carried.lossy_seconds * 2.6),
            "out_of_sequence" => whole(carried.lost_received * 0.9),
            "duplicate_request" => whole(carried.lost_received * 0.12),
            "implied_nak_seq_err" => whole(carried.lost_sent * 0.02),
            "roce_adp_retrans" => whole(carried.lossy_seconds * 2.1),
            "roce_slow_restart" => whole(carried.lossy_seconds * 0.8),
            // A queue pair that gave up flushes what it had to do.
            "req_cqe_error" => whole(carried.lossy_seconds * 0.1),
            "req_cqe_flush_error" => whole(carried.lossy_seconds * 6.0),
            "np_ecn_marked_roce_packets" => whole(carried.received_packets * 3.1e-7),
            "np_cnp_sent" => whole(carried.received_packets * 2.4e-7),
            "rp_cnp_handled" => whole(carried.sent_packets * 2.4e-7),
            _ => 0,
        }
    }

    /// The counters of an interface.
    pub fn net_counters(&self, netdev: &Netdev) -> NetCounters {
        let counted = if self.state.boot.number == 0 { netdev.counted } else { NetCounters::default() };
        if netdev.is_loopback() || netdev.function.is_none() {
            return counted;
        }
        let is_rdma = netdev.index == self.state.rdma_netdev().index;
        // What a passed-through port counts as RDMA is not in the counters of its interface; of PVRDMA nobody counts it,
        // and what the interface shows is its own traffic.
        let (received, sent, packets) = if is_rdma && self.state.adapter.family == Family::Pvrdma {
            let carried = self.carried();
            (
                whole(carried.received_bytes),
                whole(carried.sent_bytes),
                (whole(carried.received_packets), whole(carried.sent_packets)),
            )
        } else {
            let share = if is_rdma { 0.2 } else { 1.0 };
            let octets = self.chatter() * share;
            (whole(octets), whole(octets * 1.7), (whole(octets / 310.0), whole(octets / 270.0)))
        };
        NetCounters {
            bytes: (counted.bytes.0 + received, counted.bytes.1 + sent),
            packets: (counted.packets.0 + packets.0, counted.packets.1 + packets.1),
            multicast: counted.multicast + whole(self.uptime() / 30.0),
        }
    }
}
