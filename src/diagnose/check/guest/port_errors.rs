//! Errors of the port itself: the link, and requests that the adapter refused.

use super::{ask, counted};
use crate::diagnose::check::{Check, Judged, Port, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::fabric::counter::Role;

/// Ports count no errors.
pub const CHECK: Check = Check {
    id: "guest.port-errors",
    title: "The RDMA ports count no new errors",
    gate: "RDMA ports whose driver counts errors, read twice",
    rule: "warns if a counter of errors rises, except those that every closing connection raises",
    source: Source { text: "kernel ABI: sysfs-class-infiniband; driver sources of mlx5, rxe, irdma, efa", weak: false },
    thresholds: &[],
    explains: &["guest.retransmits", "guest.packet-loss", "guest.queue-pairs"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// Counters that rise with every connection that is closed, or with every packet of no concern.
const NORMAL: [&str; 6] =
    ["resp_cqe_flush_error", "req_cqe_flush_error", "resp_cqe_error", "req_cqe_error", "VL15_dropped", "iwRdmaInv"];

/// Counters of the link; all others are requests that an adapter refused.
const OF_LINK: [&str; 9] = [
    "symbol_error",
    "link_error_recovery",
    "link_downed",
    "port_rcv_errors",
    "port_rcv_remote_physical_errors",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
    "port_xmit_discards",
    "rx_drops",
];

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    ask::ports(scene).iter().filter_map(|port| judge_port(scene, port)).collect()
}

fn judge_port(scene: &Scene<'_>, port: &Port) -> Option<Judged> {
    let mut rises = counted::rises(scene, port, &[Role::Error]);
    rises.retain(|rise| !NORMAL.contains(&rise.name.as_str()));
    if rises.is_empty() {
        return counted::unread(scene, port);
    }
    let guest = &port.id.target;
    let name = port.id.entity.name();
    if counted::total(&rises) == 0 {
        return Some(Judged::pass(&port.id, format!("{guest}: {name} counts no new errors")));
    }
    let link = rises.iter().any(|rise| rise.moved.by > 0 && OF_LINK.contains(&rise.name.as_str()));
    let (cause, decide) = if link {
        (
            "the link below the port makes errors, drops packets or goes away: cable, transceiver, port of the switch, or a \
             buffer that is full",
            "the same counters at the other end of the link: the uplink of the host and the port of the switch",
        )
    } else {
        (
            "requests were refused: an address, key or length that the other side did not allow, or a queue pair that was not \
             ready; a program's matter, not the network's",
            "the message of the program, and dmesg of both guests",
        )
    };
    let judged = Judged::warn(&port.id, Confidence::Proved, format!("{guest}: {name} counts new errors"), cause);
    Some(counted::shown(scene, judged, port, &rises).decided_by(decide).reaching(ask::way(scene, port)))
}

#[cfg(test)]
mod tests {
    use super::super::counted::tests::counter;
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    fn moved(name: &str, by: u64) -> Site {
        Site::sound().moved(counter("hca-a", "mlx5_0", name), by, 60).moved(
            counter("hca-a", "mlx5_0", "link_downed"),
            0,
            60,
        )
    }

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || moved("symbol_error", 40),
        // Every connection that ends raises these.
        healthy: || moved("req_cqe_flush_error", 40),
        unclear: || Site::sound().with("hca-a", fails("linux.rdma-counters", 124, "timeout")),
    };

    #[test]
    fn refused_requests_are_not_blamed_on_the_link() {
        let judged = &moved("req_remote_access_errors", 2).judge(&CHECK)[0];
        assert!(judged.cause.contains("not the network's"), "{}", judged.cause);
    }
}
