//! The share of packets that is lost on the way, from the counters of one end.

use super::{ask, counted};
use crate::diagnose::check::{Check, Judged, Port, Scene, Source, Threshold};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::counter::Role;

const WARN: Threshold = Threshold {
    key: "guest.packet-loss.warn",
    default: 0.000_1,
    unit: "share of packets",
    meaning: "lost share from which on it warns",
    source: "own: RoCE takes one loss in ten thousand as a heavy burden",
};

const FAIL: Threshold = Threshold {
    key: "guest.packet-loss.fail",
    default: 0.01,
    unit: "share of packets",
    meaning: "lost share from which on it fails",
    source: "own: at one in a hundred connections run into time-outs",
};

const TIMEOUTS: Threshold = Threshold {
    key: "guest.packet-loss.timeouts",
    default: 10.0,
    unit: "time-outs a second",
    meaning: "waits for an answer that ran out, from which on it fails",
    source: "soft-RoCE under 60 % loss: some sixty a second; a sound path has none",
};

/// Counters of waits that ran out: each stops a queue pair for its time-out, whatever share of the packets that is.
const WAITS: [&str; 3] = ["completer_retry_err", "local_ack_timeout_err", "retrans_timeout_events"];

/// Packets arrive.
pub const CHECK: Check = Check {
    id: "guest.packet-loss",
    title: "What the RDMA ports send arrives",
    gate: "RDMA ports whose driver counts packets and retransmissions, read twice under traffic",
    rule: "fails if connections broke (retry_exceeded_err rises), if one packet of a hundred is sent again, or if ten waits a \
           second run out; warns from one packet of ten thousand on",
    source: Source {
        text: "kernel ABI: sysfs-class-infiniband; driver sources of rxe and mlx5; soft-RoCE under 60 % loss",
        weak: false,
    },
    thresholds: &[WARN, FAIL, TIMEOUTS],
    explains: &["guest.retransmits", "guest.queue-pairs", "guest.receiver-not-ready"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// Fewer packets than this say nothing of a share.
const ENOUGH: u64 = 100;

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    ask::ports(scene).iter().filter_map(|port| judge_port(scene, port)).collect()
}

fn judge_port(scene: &Scene<'_>, port: &Port) -> Option<Judged> {
    let lost = counted::rises(scene, port, &[Role::Retransmit]);
    let packets = counted::rises(scene, port, &[Role::TransmitPackets, Role::ReceivePackets]);
    if lost.is_empty() || packets.is_empty() {
        return counted::unread(scene, port);
    }
    let guest = &port.id.target;
    let name = port.id.entity.name();
    let broke = lost.iter().any(|rise| rise.name == "retry_exceeded_err" && rise.moved.by > 0);
    let all = counted::total(&packets);
    // One loss shows in several counters (asked for again, sent again): the greatest of them tells.
    let greatest = lost.iter().map(|rise| rise.moved.by).max().unwrap_or(0);
    let share =
        if all >= ENOUGH || greatest >= ENOUGH { greatest as f64 / all.max(greatest).max(1) as f64 } else { 0.0 };
    let percent = share * 100.0;
    let percent = if percent >= 1.0 { format!("{percent:.0} %") } else { format!("{percent:.3} %") };
    let waits: Vec<_> = lost.iter().filter(|rise| WAITS.contains(&rise.name.as_str())).cloned().collect();
    let stalls = counted::per_second(&waits) >= scene.thresholds.of(&TIMEOUTS);
    let (fails, warns) = (stalls || share >= scene.thresholds.of(&FAIL), share >= scene.thresholds.of(&WARN));
    if !broke && !fails && !warns {
        // Without traffic nothing is shown to arrive.
        return (all >= ENOUGH).then(|| Judged::pass(&port.id, format!("{guest}: what {name} sends arrives")));
    }
    let cause = "packets are lost between the two ports: a queue that overflows without PFC, a bad cable, a policer or filter on \
                 the way; RoCE sends all that followed a lost packet again, and gives up after its retries";
    let title = if broke {
        format!("{guest}: connections of {name} broke: no answer after all retries")
    } else {
        format!("{guest}: {name} loses packets, about {percent} of them")
    };
    let judged = if broke || fails {
        Judged::fail(&port.id, Confidence::Proved, title, cause)
    } else {
        Judged::warn(&port.id, Confidence::Proved, title, cause)
    };
    Some(
        counted::shown(judged, port, &lost)
            .decided_by("drops of the uplinks and of the switch's ports on the way, and whether PFC is on for the priority of RoCE at each hop")
            .cured_by(
                Cure::by_hand(
                    "Make the way lossless, or find what drops",
                    vec![Step::ByHand(
                        "compare the checks switch.drops, switch.pfc, host.pfc and host.pause-drops of the hops of this path; on a software network look for a shaper: tc qdisc show"
                            .to_owned(),
                    )],
                )
                .verified_by(&["guest.packet-loss", "guest.retransmits"]),
            )
            .reaching(ask::way(scene, port)),
    )
}

#[cfg(test)]
mod tests {
    use super::super::counted::tests::counter;
    use super::super::samples::soft_roce;
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    fn moved(lost: u64) -> Site {
        Site::sound().moved(counter("hca-a", "mlx5_0", "port_xmit_packets"), 1_000_000, 60).moved(
            counter("hca-a", "mlx5_0", "packet_seq_err"),
            lost,
            60,
        )
    }

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || moved(30_000),
        healthy: || moved(20),
        unclear: || Site::sound().with("hca-a", fails("linux.rdma-counters", 124, "timeout")),
    };

    #[test]
    fn a_small_share_is_a_warning() {
        assert_eq!(moved(500).statuses(&CHECK), [Status::Warn]);
    }

    #[test]
    fn soft_roce_under_heavy_loss() {
        // A client that ends with "Completion with error": few packets, and all retries used up.
        let site = soft_roce(Site::new(), "rxe-a", 10)
            .moved(counter("rxe-a", "rxe0", "sent_pkts"), 60, 10)
            .moved(counter("rxe-a", "rxe0", "completer_retry_err"), 7, 10)
            .moved(counter("rxe-a", "rxe0", "retry_exceeded_err"), 1, 10);
        let judged = &site.judge(&CHECK)[0];
        assert_eq!(judged.status, Status::Fail);
        assert!(judged.title.contains("broke"), "{}", judged.title);
    }

    #[test]
    fn waits_that_run_out_are_heavier_than_their_share() {
        // What a run of 200 messages under 60 % loss added to the counters of a real soft-RoCE port: it came to its end.
        let site = soft_roce(Site::new(), "rxe-a", 10)
            .moved(counter("rxe-a", "rxe0", "sent_pkts"), 596_994, 8)
            .moved(counter("rxe-a", "rxe0", "duplicate_request"), 916, 8)
            .moved(counter("rxe-a", "rxe0", "completer_retry_err"), 465, 8)
            .moved(counter("rxe-a", "rxe0", "retry_exceeded_err"), 0, 8);
        assert_eq!(site.statuses(&CHECK), [Status::Fail]);
    }

    #[test]
    fn a_few_packets_say_nothing() {
        let site = Site::sound().moved(counter("hca-a", "mlx5_0", "port_xmit_packets"), 10, 60).moved(
            counter("hca-a", "mlx5_0", "packet_seq_err"),
            1,
            60,
        );
        assert!(site.judge(&CHECK).is_empty());
    }
}
