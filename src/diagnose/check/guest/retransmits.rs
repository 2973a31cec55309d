//! Packets that are sent again, or asked for again: something on the way loses them or changes their order.

use super::{ask, counted};
use crate::diagnose::check::{Check, Judged, Port, Scene, Source, Threshold};
use crate::diagnose::finding::Confidence;
use crate::fabric::counter::Role;

const RATE: Threshold = Threshold {
    key: "guest.retransmits.per-second",
    default: 1.0,
    unit: "packets a second",
    meaning: "retransmissions from which on it warns",
    source: "own: a lossless path has none",
};

/// Nothing is sent twice.
pub const CHECK: Check = Check {
    id: "guest.retransmits",
    title: "The RDMA ports send nothing twice",
    gate: "RDMA ports whose driver counts retransmissions, read twice",
    rule: "warns if the counters of retransmission (out_of_sequence, packet_seq_err, local_ack_timeout_err, rcvd_seq_err, ...) rise by one a second or more",
    source: Source {
        text: "kernel ABI: sysfs-class-infiniband; driver sources of mlx5, rxe, bnxt_re, irdma",
        weak: false,
    },
    thresholds: &[RATE],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    ask::ports(scene).iter().filter_map(|port| judge_port(scene, port)).collect()
}

fn judge_port(scene: &Scene<'_>, port: &Port) -> Option<Judged> {
    let rises = counted::rises(scene, port, &[Role::Retransmit]);
    if rises.is_empty() {
        return counted::unread(scene, port);
    }
    let guest = &port.id.target;
    let name = port.id.entity.name();
    let rate = counted::per_second(&rises);
    if rate < scene.thresholds.of(&RATE) {
        return Some(Judged::pass(&port.id, format!("{guest}: {name} sends nothing twice")));
    }
    let judged = Judged::warn(
        &port.id,
        Confidence::Proved,
        format!("{guest}: {name} counts {rate:.0} retransmissions a second"),
        "packets are lost or arrive in another order on the way between the two ports: each costs a time-out or a new start of \
         the message, and throughput falls far more than the share that is lost",
    );
    Some(
        counted::shown(scene, judged, port, &rises)
            .decided_by("where they are lost: drops and pause of the uplinks (host.pause-drops, host.uplink-errors) and of the switch's ports (switch.drops, switch.pfc)")
            .reaching(ask::way(scene, port)),
    )
}

#[cfg(test)]
mod tests {
    use super::super::counted::tests::counter;
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    fn moved(by: u64) -> Site {
        Site::sound().moved(counter("hca-a", "mlx5_0", "out_of_sequence"), by, 60).moved(
            counter("hca-a", "mlx5_0", "packet_seq_err"),
            0,
            60,
        )
    }

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || moved(1_200),
        healthy: || moved(20),
        unclear: || Site::sound().with("hca-a", fails("linux.rdma-counters", 124, "timeout")),
    };

    #[test]
    fn a_pvrdma_port_counts_nothing_and_is_not_asked() {
        let site = Site::sound().with("pv-a", fails("linux.rdma-counters", 124, "timeout"));
        assert!(site.judge(&CHECK).is_empty(), "{:#?}", site.judge(&CHECK));
    }

    #[test]
    fn a_site_may_set_the_rate() {
        let statuses = moved(1_200).with_threshold("guest.retransmits.per-second", 100.0).statuses(&CHECK);
        assert_eq!(statuses, [Status::Pass]);
    }

    #[test]
    fn counters_of_another_port_are_not_ours() {
        let site = Site::sound().moved(counter("hca-a", "mlx5_1", "out_of_sequence"), 9_000, 60);
        assert!(site.judge(&CHECK).is_empty());
        let numbered = Site::sound().moved(counter("hca-a", "mlx5_0/1", "out_of_sequence"), 9_000, 60);
        assert_eq!(numbered.statuses(&CHECK), [Status::Warn]);
    }
}
