//! Nobody keeps a link still.

use super::ports::{counters, moved, wired};

use crate::diagnose::check::{Check, Exhibit, Judged, Scene, Source, Threshold};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::Attribute;
use crate::fabric::counter::SharedRole;
use crate::probe::switch::counting;

/// The longest pause that a frame can ask for, in bit times: 65535 quanta of 512.
const LONGEST_PAUSE: f64 = 65_535.0 * 512.0;

const SHARE: Threshold = Threshold {
    key: "switch.pause-storm.share",
    default: 0.5,
    unit: "of the time",
    meaning: "pause frames that could keep the link still for more than this share of the time are a storm",
    source: "IEEE 802.1Qbb: a pause lasts at most 65535 quanta of 512 bit times, 335 microseconds at 100 Gb/s",
};

/// No storm.
pub const CHECK: Check = Check {
    id: "switch.pause-storm",
    title: "No adapter keeps its switch port paused",
    gate: "ports of switches behind RDMA uplinks whose counters of pauses were read twice",
    rule: "fails if the watchdog acted between two reads; warns if pause frames came so often that they could keep the link still for \
           more than the threshold; passes otherwise",
    source: Source {
        text: "IEEE 802.1Qbb; Arista and Cisco guides: PFC watchdog; RDMA over Commodity Ethernet at Scale, SIGCOMM 2016",
        weak: false,
    },
    thresholds: &[SHARE],
    explains: &["host.pause-drops", "guest.retransmits", "guest.queue-pairs", "switch.drops"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let judged = wired(scene).into_iter().filter_map(|wired| {
        let (port, name, host) = (&wired.port, wired.name(), wired.host());
        let acted: Vec<Exhibit> = counters(scene, port)
            .filter(|(_, label)| counting::is_watchdog(label))
            .filter_map(|(id, label)| {
                let moved = scene.movements.of(&id).filter(|moved| moved.by > 0)?;
                Some(Exhibit::of(&id, Attribute::CounterValue, format!("{label} rose by {}", moved.by)))
            })
            .collect();
        let received = moved(scene, port, &[SharedRole::ReceivePause]);
        if received.is_empty() && acted.is_empty() {
            return super::ports::unread_counters(scene, &wired, SharedRole::ReceivePause, "is paused by its neighbour");
        }
        let step = format!(
            "{}: look for a VM or an adapter that does not take what it is sent (hung guest, PCIe errors, firmware); if it does not end, \
             take {host} out of service",
            wired.uplink.target
        );
        let cure = Cure::by_hand("Find who does not receive", vec![Step::ByHand(step)])
            .risking(Risk::DisruptsRdma)
            .verified_by(&["switch.pause-storm"]);
        if !acted.is_empty() {
            return Some(
                Judged::fail(
                    port,
                    Confidence::Proved,
                    format!("the watchdog of {name} acted: {host} kept a lossless priority paused"),
                    "a priority that stays paused fills the buffers of the switch and, hop by hop, those behind it: others that send \
                     nothing to this host stand still too; the watchdog drops frames of that queue to end it",
                )
                .shown_by(acted)
                .cured_by(cure)
                .reaching(wired.way(scene)),
            );
        }
        let speed = scene.count(port, Attribute::Speed)? as f64;
        let limit = scene.thresholds.of(&SHARE);
        let worst = received
            .iter()
            .filter_map(|(id, _, moved)| Some((id, moved, moved.per_second()? * LONGEST_PAUSE / speed)))
            .max_by(|one, other| one.2.total_cmp(&other.2))?;
        let (id, by, share) = worst;
        if share <= limit {
            return Some(Judged::pass(port, format!("{name}: {} pause frames in {} s", by.by, by.over.as_secs())));
        }
        Some(
            Judged::warn(
                port,
                Confidence::Likely,
                format!("{host} pauses {name}: {} pause frames in {} s", by.by, by.over.as_secs()),
                format!(
                    "with the longest pause that is {:.0} % of the time: the host takes frames slower than they come, and whoever sends \
                     to it is slowed down, other hosts too",
                    (share * 100.0).min(100.0)
                ),
            )
            .shown(id, Attribute::CounterValue, format!("{} rose by {}", id.entity.name(), by.by))
            .cured_by(cure)
            .reaching(wired.way(scene)),
        )
    });
    judged.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;
    use crate::fabric::{Entity, EntityId, TargetId, Text};

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || Site::sound().moved(counter("PFC rxFrames"), 180_000, 60),
        healthy: || Site::sound().moved(counter("PFC rxFrames"), 600, 60),
        unclear: || {
            let site = Site::sound().with("leaf1", fails("eos.interfaces", 1, "Connection timed out"));
            site.with("leaf1", fails("eos.pfc-counters", 1, "Connection timed out"))
        },
    };

    fn counter(name: &str) -> EntityId {
        let entity = Entity::Counter { of: Text::new("Ethernet2"), name: Text::new(name) };
        EntityId::new(&TargetId::new("leaf1"), entity)
    }

    #[test]
    fn frames_that_the_switch_sends_are_no_storm_of_the_host() {
        assert_eq!(Site::sound().moved(counter("PFC txFrames"), 180_000, 60).statuses(&CHECK), []);
        assert_eq!(Site::sound().statuses(&CHECK), []);
        let patient = (SAMPLES.trouble)().with_threshold("switch.pause-storm.share", 2.0);
        assert_eq!(patient.statuses(&CHECK), [Status::Pass]);
    }
}
