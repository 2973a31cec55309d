//! What the counters of RDMA drivers and network interfaces mean: their unit and direction depend on the driver.
//!
//! `port_xmit_data` of an mlx5 device counts 4-byte words, `tx_bytes` of `bnxt_re` counts bytes, rxe counts no bytes at
//! all, and `vmw_pvrdma` counts nothing. Who draws a graph must know which.

use serde::{Deserialize, Serialize};

/// What one counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Payload sent; see [`Meaning::scale`] for the unit.
    TransmitBytes,
    /// Payload received.
    ReceiveBytes,
    /// Packets sent.
    TransmitPackets,
    /// Packets received.
    ReceivePackets,
    /// Sent again, or asked to be sent again: loss on the way.
    Retransmit,
    /// Congestion control at work (CNP, ECN) or pause.
    Congestion,
    /// The receiver had no buffer ready.
    ReceiverNotReady,
    /// Other errors and drops.
    Error,
    /// Requests and operations; no error.
    Operations,
}

impl Role {
    /// All roles in the order of drawing.
    pub const ALL: [Self; 9] = [
        Self::TransmitBytes,
        Self::ReceiveBytes,
        Self::TransmitPackets,
        Self::ReceivePackets,
        Self::Retransmit,
        Self::Congestion,
        Self::ReceiverNotReady,
        Self::Error,
        Self::Operations,
    ];

    /// True for counters whose growth is a sign of trouble.
    pub fn is_trouble(self) -> bool {
        matches!(self, Self::Retransmit | Self::ReceiverNotReady | Self::Error)
    }
}

/// What one counter of a host's adapter counts: of all VMs that use it, never of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SharedRole {
    /// Octets sent.
    TransmitBytes,
    /// Octets received.
    ReceiveBytes,
    /// Packets sent.
    TransmitPackets,
    /// Packets received.
    ReceivePackets,
    /// Pause frames sent, also those of one priority.
    TransmitPause,
    /// Pause frames received.
    ReceivePause,
    /// Packets with errors.
    Error,
    /// Packets that were dropped.
    Drop,
    /// Frames that the port itself threw away, by its driver's own account.
    Discard,
}

/// What a raw counter value means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// What it counts.
    pub role: Role,
    /// Bytes (or things) per unit of the raw value: 4 for counters in 4-byte words.
    pub scale: u64,
}

/// What a driver publishes for its RDMA ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Publishes {
    /// Whether it counts payload bytes.
    pub bytes: bool,
    /// Whether it counts packets.
    pub packets: bool,
    /// Whether it counts errors and retransmissions.
    pub errors: bool,
}

/// Drivers whose `counters/port_*_data` are in 4-byte words.
const WORD_DRIVERS: [&str; 7] = ["mlx5_core", "mlx5_ib", "mlx4_core", "mlx4_ib", "hfi1", "ib_qib", "ib_mthca"];

/// The driver behind an RDMA device, from its kernel driver name if a PCI function has one, else from the name of the
/// device: software devices have no PCI function (`rxe0` is rxe, `siw0` is siw).
pub fn driver_family<'a>(pci_driver: Option<&'a str>, device: &'a str) -> &'a str {
    pci_driver.unwrap_or_else(|| {
        let stem = device.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_');
        if stem.is_empty() { device } else { stem }
    })
}

/// What a driver is known to publish for a port; `None` for a driver this program does not know, of which only the
/// files themselves tell.
pub fn published_by(driver: &str) -> Option<Publishes> {
    Some(match driver {
        "vmw_pvrdma" => Publishes { bytes: false, packets: false, errors: false },
        "rxe" | "rdma_rxe" => Publishes { bytes: false, packets: true, errors: true },
        "siw" => Publishes { bytes: false, packets: false, errors: false },
        "irdma" | "i40iw" | "bnxt_re" | "bnxt_en" | "efa" => Publishes { bytes: true, packets: true, errors: true },
        driver if WORD_DRIVERS.contains(&driver) => Publishes { bytes: true, packets: true, errors: true },
        _ => return None,
    })
}

/// The meaning of a counter file `name` in folder `folder` (`counters` or `hw_counters`) of an RDMA port whose driver
/// is `driver`. `None` for counters that are no counters (`lifespan`) and for names not known: those are kept and shown
/// raw, never guessed.
pub fn port_counter(driver: &str, folder: &str, name: &str) -> Option<Meaning> {
    let thing = |role| Some(Meaning { role, scale: 1 });
    if folder == "counters" {
        return match name {
            // The field is defined in 4-byte words; drivers that fill it keep to that.
            "port_xmit_data" => Some(Meaning { role: Role::TransmitBytes, scale: 4 }),
            "port_rcv_data" => Some(Meaning { role: Role::ReceiveBytes, scale: 4 }),
            "port_xmit_packets" => thing(Role::TransmitPackets),
            "port_rcv_packets" => thing(Role::ReceivePackets),
            "port_xmit_wait" => thing(Role::Congestion),
            "symbol_error"
            | "link_error_recovery"
            | "link_downed"
            | "port_rcv_errors"
            | "port_rcv_remote_physical_errors"
            | "port_rcv_switch_relay_errors"
            | "port_xmit_discards"
            | "port_xmit_constraint_errors"
            | "port_rcv_constraint_errors"
            | "local_link_integrity_errors"
            | "excessive_buffer_overrun_errors"
            | "VL15_dropped" => thing(Role::Error),
            _ => None,
        };
    }
    match (driver, name) {
        (_, "lifespan") => None,
        ("rxe" | "rdma_rxe", "sent_pkts") => thing(Role::TransmitPackets),
        ("rxe" | "rdma_rxe", "rcvd_pkts") => thing(Role::ReceivePackets),
        ("bnxt_re" | "bnxt_en" | "efa", "tx_bytes") => thing(Role::TransmitBytes),
        ("bnxt_re" | "bnxt_en" | "efa", "rx_bytes") => thing(Role::ReceiveBytes),
        ("bnxt_re" | "bnxt_en" | "efa", "tx_pkts") => thing(Role::TransmitPackets),
        ("bnxt_re" | "bnxt_en" | "efa", "rx_pkts") => thing(Role::ReceivePackets),
        ("irdma" | "i40iw", "ip4OutOctets" | "ip6OutOctets") => thing(Role::TransmitBytes),
        ("irdma" | "i40iw", "ip4InOctets" | "ip6InOctets") => thing(Role::ReceiveBytes),
        ("irdma" | "i40iw", "ip4OutPkts" | "ip6OutPkts") => thing(Role::TransmitPackets),
        ("irdma" | "i40iw", "ip4InPkts" | "ip6InPkts") => thing(Role::ReceivePackets),
        (
            _,
            "duplicate_request"
            | "out_of_seq_request"
            | "rcvd_seq_err"
            | "retry_exceeded_err"
            | "completer_retry_err"
            | "out_of_sequence"
            | "packet_seq_err"
            | "implied_nak_seq_err"
            | "local_ack_timeout_err"
            | "roce_adp_retrans"
            | "roce_adp_retrans_to"
            | "roce_slow_restart"
            | "roce_slow_restart_trans"
            | "to_retransmits"
            | "seq_err_naks_rcvd"
            | "oos_drop_count"
            | "tcpRetransSegs"
            | "retrans_bytes"
            | "retrans_pkts"
            | "retrans_timeout_events",
        ) => thing(Role::Retransmit),
        (
            _,
            "rcvd_rnr_err"
            | "send_rnr_err"
            | "retry_rnr_exceeded_err"
            | "rnr_nak_retry_err"
            | "out_of_buffer"
            | "rnr_naks_rcvd"
            | "rx_out_of_buffer",
        ) => thing(Role::ReceiverNotReady),
        (
            _,
            "np_cnp_sent"
            | "rp_cnp_handled"
            | "rp_cnp_ignored"
            | "np_ecn_marked_roce_packets"
            | "roce_slow_restart_cnps"
            | "cc_rx_ce_pkts"
            | "cc_rx_cnp_pkts"
            | "cc_tx_cnp_pkts"
            | "cnpSent"
            | "cnpHandled"
            | "cnpIgnored"
            | "RxECNMrkd",
        ) => thing(Role::Congestion),
        (
            _,
            "send_err"
            | "link_downed"
            | "resp_local_length_error"
            | "resp_cqe_error"
            | "req_cqe_error"
            | "req_remote_invalid_request"
            | "req_remote_access_errors"
            | "resp_remote_access_errors"
            | "resp_cqe_flush_error"
            | "req_cqe_flush_error"
            | "rx_icrc_encapsulated"
            | "rx_drops"
            | "ip4InDiscards"
            | "ip6InDiscards"
            | "rxVlanErrors"
            | "iwRdmaInv",
        ) => thing(Role::Error),
        (
            _,
            "rx_write_requests" | "rx_read_requests" | "rx_atomic_requests" | "rx_dct_connect" | "rdma_sends"
            | "rdma_recvs" | "ack_deferred" | "InRdmaReads" | "InRdmaWrites" | "OutRdmaReads" | "OutRdmaWrites",
        ) => thing(Role::Operations),
        _ => None,
    }
}

/// The meaning of a file in `/sys/class/net/X/statistics/`.
pub fn netdev_counter(name: &str) -> Option<Meaning> {
    let role = match name {
        "tx_bytes" => Role::TransmitBytes,
        "rx_bytes" => Role::ReceiveBytes,
        "tx_packets" => Role::TransmitPackets,
        "rx_packets" => Role::ReceivePackets,
        "rx_errors" | "tx_errors" | "rx_dropped" | "tx_dropped" => Role::Error,
        _ => return None,
    };
    Some(Meaning { role, scale: 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_follow_the_driver() {
        let words = port_counter("mlx5_core", "counters", "port_xmit_data").expect("known");
        assert_eq!((words.role, words.scale), (Role::TransmitBytes, 4));
        let bytes = port_counter("bnxt_en", "hw_counters", "tx_bytes").expect("known");
        assert_eq!((bytes.role, bytes.scale), (Role::TransmitBytes, 1));
        let packets = port_counter("rxe", "hw_counters", "sent_pkts").expect("known");
        assert_eq!(packets.role, Role::TransmitPackets);
        assert_eq!(port_counter("mlx5_core", "hw_counters", "lifespan"), None);
        assert_eq!(port_counter("mlx5_core", "hw_counters", "brand_new_counter"), None);
        assert_eq!(port_counter("unknown", "hw_counters", "sent_pkts"), None);
    }

    #[test]
    fn silent_drivers_are_known_to_be_silent() {
        assert_eq!(published_by("vmw_pvrdma").map(|p| p.bytes || p.packets || p.errors), Some(false));
        assert_eq!(published_by("rxe").map(|p| (p.bytes, p.packets)), Some((false, true)));
        assert_eq!(published_by("brand_new_driver"), None);
    }

    #[test]
    fn software_devices_are_known_by_their_name() {
        assert_eq!(driver_family(None, "rxe0"), "rxe");
        assert_eq!(driver_family(None, "siw12"), "siw");
        assert_eq!(driver_family(Some("mlx5_core"), "rocep3s0"), "mlx5_core");
        assert_eq!(driver_family(None, "0"), "0");
    }
}
