//! Packets that are lost on the way, from the counters of the ends. How many there are cannot be told from them: RoCE goes
//! back and sends everything again from the lost packet on, and counts that once.

use super::{ask, counted};
use crate::diagnose::check::{Check, DeviceKind, Judged, Port, Scene, Source, Threshold};
use crate::diagnose::finding::{Confidence, Status};
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
    default: 2.0,
    unit: "time-outs a second",
    meaning: "waits for an answer that ran out, from which on it fails",
    source: "InfiniBand specification: a time-out of 14 lasts 67 to 268 ms, so a connection stands still up to half of the time; a \
             sound path has none, soft-RoCE under 60 % loss ten to sixty a second",
};

/// Counters of waits that ran out: each stops a queue pair for its time-out, whatever share of the packets that is.
const WAITS: [&str; 3] = ["completer_retry_err", "local_ack_timeout_err", "retrans_timeout_events"];

/// Counters of whoever receives: a packet is missing, or came once more because the answer to it was lost.
const OF_A_RECEIVER: [&str; 4] = ["duplicate_request", "oos_drop_count", "out_of_seq_request", "out_of_sequence"];

/// Packets arrive.
pub const CHECK: Check = Check {
    id: "guest.packet-loss",
    title: "What the RDMA ports send arrives",
    gate: "RDMA ports whose driver counts packets and retransmissions, read twice under traffic",
    rule: "fails if connections broke (retry_exceeded_err rises), if one packet of a hundred is sent again, or if two waits a \
           second run out; warns from one packet of ten thousand on; what the receiver counts of it is the same loss",
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

/// What is said of one port.
struct Said {
    port: Port,
    judged: Judged,
    /// True if it is the loss of another port's packets, seen where they do not arrive.
    is_echo: bool,
}

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let mut said: Vec<Said> = ask::ports(scene).into_iter().filter_map(|port| judge_port(scene, port)).collect();
    let pairs: Vec<_> = ask::facing(scene).into_iter().filter_map(Result::ok).collect();
    let face = |one: &Port, other: &Port| {
        pairs.iter().any(|pair| pair.sides().iter().any(|(from, to)| from.id == one.id && to.id == other.id))
    };
    let mut at = 0;
    while at < said.len() {
        let sends = |one: &Said| !one.is_echo && is_trouble(&one.judged) && face(&one.port, &said[at].port);
        match said.iter().position(sends).filter(|_| said[at].is_echo) {
            Some(sender) => {
                let echo = said[at].judged.clone();
                let sender = &mut said[sender].judged;
                sender.evidence.extend(echo.evidence);
                sender.reaches.extend(echo.reaches);
                said.remove(at);
            }
            None => at += 1,
        }
    }
    said.into_iter().map(|said| said.judged).collect()
}

fn is_trouble(judged: &Judged) -> bool {
    matches!(judged.status, Status::Fail | Status::Warn)
}

fn judge_port(scene: &Scene<'_>, port: Port) -> Option<Said> {
    let (judged, is_echo) = judge_counters(scene, &port)?;
    Some(Said { port, judged, is_echo })
}

/// What its counters say, and whether those of a receiver say it.
fn judge_counters(scene: &Scene<'_>, port: &Port) -> Option<(Judged, bool)> {
    let lost = counted::rises(scene, port, &[Role::Retransmit]);
    let packets = counted::rises(scene, port, &[Role::TransmitPackets, Role::ReceivePackets]);
    if lost.is_empty() || packets.is_empty() {
        return counted::unread(scene, port).map(|judged| (judged, false));
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
        return (all >= ENOUGH).then(|| (Judged::pass(&port.id, format!("{guest}: what {name} sends arrives")), false));
    }
    let is_echo = lost.iter().filter(|rise| rise.moved.by > 0).all(|rise| OF_A_RECEIVER.contains(&rise.name.as_str()));
    let cause = "packets are lost between the two ports: a queue that overflows without PFC, a bad cable, a policer or filter on \
                 the way; RoCE sends all that followed a lost packet again, and gives up after its retries";
    let title = if broke {
        format!("{guest}: connections of {name} broke: no answer after all retries")
    } else if stalls {
        let waits = counted::per_second(&waits);
        format!("{guest}: packets of {name} are lost: {waits:.0} times a second no answer comes in time")
    } else if is_echo {
        format!("{guest}: packets to {name} are lost on the way, at least {percent} of them")
    } else {
        format!("{guest}: packets of {name} are lost on the way, at least {percent} of them")
    };
    let judged = if broke || fails {
        Judged::fail(&port.id, Confidence::Proved, title, cause)
    } else {
        Judged::warn(&port.id, Confidence::Proved, title, cause)
    };
    let shaper = port.netdev.as_ref().map(|netdev| format!("tc -s qdisc show dev {}", netdev.entity.name()));
    // RDMA in software is traffic of the kernel: nothing makes it lossless, and the kernel itself may drop it.
    let (decide, title, step) = match shaper.filter(|_| port.kind == DeviceKind::Software) {
        Some(shaper) => (
            format!("on both guests: {shaper}: what the kernel itself drops; then the hops between"),
            "Find what drops",
            format!("on both guests: {shaper}; a shaper or policer that drops is to be taken away: tc qdisc del"),
        ),
        None => (
            "drops of the uplinks and of the switch's ports on the way, and whether PFC is on for the priority of RoCE at each hop"
                .to_owned(),
            "Make the way lossless, or find what drops",
            "compare the checks switch.drops, switch.pfc, host.pfc and host.pause-drops of the hops of this path; a shaper of the guest \
             itself: tc -s qdisc show"
                .to_owned(),
        ),
    };
    let cure = Cure::by_hand(title, vec![Step::ByHand(step)]).verified_by(&["guest.packet-loss", "guest.retransmits"]);
    let judged = counted::shown(scene, judged, port, &lost).decided_by(decide).cured_by(cure);
    Some((judged.reaching(ask::way(scene, port)), is_echo))
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
    fn what_the_receiver_counts_is_the_same_loss() {
        // What 30 s of ib_write_bw added on both sides of a real soft-RoCE pair while the sender's kernel dropped 60 % of its
        // packets.
        let pair = |sent: u64| {
            soft_roce(soft_roce(Site::new(), "rxe-a", 10), "rxe-b", 11)
                .pair("rxe-a", "rxe-b")
                .moved(counter("rxe-b", "rxe0", "sent_pkts"), sent, 29)
                .moved(counter("rxe-b", "rxe0", "completer_retry_err"), if sent > 0 { 344 } else { 0 }, 29)
                .moved(counter("rxe-b", "rxe0", "rcvd_seq_err"), if sent > 0 { 132 } else { 0 }, 29)
                .moved(counter("rxe-a", "rxe0", "rcvd_pkts"), 15_800, 25)
                .moved(counter("rxe-a", "rxe0", "out_of_seq_request"), 119, 25)
                .moved(counter("rxe-a", "rxe0", "duplicate_request"), 7, 25)
        };
        let judged = pair(44_700).judge(&CHECK);
        let titles: Vec<&str> = judged.iter().map(|judged| judged.title.as_str()).collect();
        assert_eq!(titles, ["rxe-b: packets of rxe0/1 are lost: 12 times a second no answer comes in time"]);
        let says: Vec<&str> = judged[0].evidence.iter().map(|exhibit| exhibit.says.as_str()).collect();
        let own = "completer_retry_err +344 in 29 s, rcvd_seq_err +132 in 29 s";
        assert_eq!(says, [own, "out_of_seq_request +119 in 25 s, duplicate_request +7 in 25 s"]);
        assert!(judged[0].decide.contains("tc -s qdisc show dev eth1"), "{}", judged[0].decide);
        // Where the sender tells nothing of it, the receiver does.
        let judged = pair(0).judge(&CHECK);
        assert_eq!(judged.len(), 1);
        assert_eq!(judged[0].title, "rxe-a: packets to rxe0/1 are lost on the way, at least 0.753 % of them");
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
