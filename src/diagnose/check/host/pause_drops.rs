//! Pause frames tell of a network that holds back; drops beside them, of one that does not hold back enough.

use super::bearing::{label, moved, names, rdma_uplinks, way};
use super::uplink_errors::{is_one_of, unreadable};
use crate::diagnose::check::{Check, Exhibit, Judged, Moved, Scene, Source, Threshold};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::{Attribute, EntityId};

/// Neither pause frames nor drops rise.
pub const CHECK: Check = Check {
    id: "host.pause-drops",
    title: "The uplink under the VMs' RDMA adapters neither pauses nor drops",
    gate: "uplinks that PVRDMA adapters or virtual functions of VMs leave by, whose counters of pause frames or drops were read \
           twice",
    rule: "fails if packets are dropped while pause frames come or go; warns if only the one or the other rises, pause frames \
           faster than the threshold; passes if neither does",
    source: Source { text: "drops on a lossless class are a failure, pause frames alone are congestion", weak: true },
    thresholds: &[RATE],
    explains: &["guest.retransmits", "guest.receiver-not-ready", "guest.packet-loss"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// From how many pause frames on they are told.
const RATE: Threshold = Threshold {
    key: "host.pause-drops.pause-rate",
    default: 1.0,
    unit: "frames a second",
    meaning: "pause frames from which on an uplink is told to hold back",
    source: "a single frame now and then is flow control at work",
};

/// What drivers and statistics count of packets that found no room.
const DROPS: [&str; 4] = ["Receive packets dropped", "Transmit packets dropped", "rxDiscardsPhy", "outOfBuffer"];

fn is_pause(label: &str) -> bool {
    let lower = label.to_ascii_lowercase();
    let names = ["pausectrlphy", "xoff", "pause frames", "rx_pause", "tx_pause", "pfc frames"];
    names.iter().any(|part| lower.contains(part)) && !lower.contains("xon2xoff") && !lower.contains("duration")
}

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let limit = scene.thresholds.of(&RATE);
    rdma_uplinks(scene)
        .iter()
        .filter_map(|used| {
            let (id, host, name) = (&used.id, &used.id.target, used.id.entity.name());
            let pauses = moved(scene, host, &name, is_pause);
            let drops = moved(scene, host, &name, |label| is_one_of(label, &DROPS));
            if pauses.is_empty() && drops.is_empty() {
                let (lack, why) = unreadable(scene, id, "esxi.nic-privstats")?;
                let title = format!("pause frames and drops of {name} of {host}: {why}");
                let decide = format!(
                    "localcli --plugin-dir /usr/lib/vmware/esxcli/int networkinternal nic privstats get -n {name}, twice under load"
                );
                return Some(Judged::unknown(id, lack, title, decide));
            }
            let rising = |all: &[(EntityId, Moved)], least: f64| -> Vec<(EntityId, Moved)> {
                let is_rising = |moved: &Moved| moved.by > 0 && moved.per_second().is_none_or(|rate| rate >= least);
                all.iter().filter(|(_, moved)| is_rising(moved)).cloned().collect()
            };
            let (pauses, drops) = (rising(&pauses, limit), rising(&drops, 0.0));
            let vms = names(scene, &used.chains);
            let (title, cause, step) = match (pauses.is_empty(), drops.is_empty()) {
                (true, true) => {
                    return Some(Judged::pass(id, format!("{name} of {host} neither pauses nor drops")));
                }
                (false, true) => (
                    format!("{host}: pause frames rise on {name}"),
                    "the network holds back and loses nothing: somewhere on the way more arrives than leaves, and throughput is \
                     what the slowest takes",
                    "look which switch ports send the frames and what they feed; ECN with DCQCN slows senders down before the \
                     pause does",
                ),
                (true, false) => (
                    format!("{host}: {name} drops packets"),
                    "what finds no room is dropped, and no pause frame held the sender back meanwhile. Each drop costs RDMA a \
                     retransmission",
                    "switch flow control on for the priority of RDMA, on the host and on the switch port",
                ),
                (false, false) => (
                    format!("{host}: {name} drops packets although pause frames come and go"),
                    "flow control is on, and not for what is dropped: RDMA travels on a priority without it, or the buffer behind \
                     it is too small. Each drop costs RDMA a retransmission",
                    "compare the priority with flow control on the host (esxcli network nic dcb status get), on the switch port, \
                     and the one that RDMA is marked for; then the headroom of the switch port",
                ),
            };
            let fails = !pauses.is_empty() && !drops.is_empty();
            let exhibits = pauses.iter().chain(&drops).map(|(counter, moved)| {
                let words = format!("{} of {name}: +{} in {} s", label(counter), moved.by, moved.over.as_secs());
                Exhibit::of(counter, Attribute::CounterValue, words)
            });
            let cause = format!("{cause}. On the way of {vms}");
            let judged = if fails {
                Judged::fail(id, Confidence::Likely, title, cause)
                    .decided_by("does the number of retransmissions in the guests rise with the drops?")
            } else {
                Judged::warn(id, Confidence::Likely, title, cause)
            };
            Some(
                judged
                    .shown_by(exhibits)
                    .cured_by(
                        Cure::by_hand("Find out who holds back or drops", vec![Step::ByHand(step.to_owned())])
                            .verified_by(&["host.pause-drops"]),
                    )
                    .reaching(way(scene, &used.chains)),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;
    use crate::fabric::{Entity, TargetId};

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || read(&[("rxPauseCtrlPhy", 5_000), ("rxDiscardsPhy", 40)]),
        healthy: || read(&[("rxPauseCtrlPhy", 0), ("rxDiscardsPhy", 0)]),
        unclear: || {
            let no = "Error: Unknown command or namespace networkinternal nic privstats get";
            Site::sound().with("esx02", fails("esxi.nic-privstats", 1, no))
        },
    };

    fn read(moved: &[(&str, u64)]) -> Site {
        moved.iter().fold(Site::sound(), |site, (name, by)| {
            let counter = Entity::Counter { of: "vmnic2".into(), name: (*name).into() };
            site.moved(EntityId::new(&TargetId::new("esx02"), counter), *by, 60)
        })
    }

    #[test]
    fn the_one_without_the_other_is_a_warning() {
        assert_eq!(read(&[("txPauseCtrlPhy", 5_000), ("outOfBuffer", 0)]).statuses(&CHECK), [Status::Warn]);
        assert_eq!(read(&[("txPauseCtrlPhy", 0), ("outOfBuffer", 7)]).statuses(&CHECK), [Status::Warn]);
        assert_eq!(read(&[("txPauseCtrlPhy", 3)]).statuses(&CHECK), [Status::Pass], "a frame now and then");
        let strict = read(&[("txPauseCtrlPhy", 3)]).with_threshold("host.pause-drops.pause-rate", 0.0);
        assert_eq!(strict.statuses(&CHECK), [Status::Warn]);
    }

    #[test]
    fn labels_of_other_drivers() {
        for name in ["PFC TC[3]: RxXoff", "rxPauseCtrlPhy", "Sent PFC Frames [3]", "rx_pause_ctrl_phy"] {
            assert!(is_pause(name), "{name}");
        }
        for name in ["PFC TC[3]: Xon2Xoff", "PFC TC[3]: RxXon", "rxBytesPhy"] {
            assert!(!is_pause(name), "{name}");
        }
    }
}
