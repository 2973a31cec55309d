//! The port throws no frames away.

use super::ports::{lossless_of, moved, wired};

use crate::diagnose::check::{Check, Judged, Scene, Source, Threshold};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::Attribute;
use crate::fabric::counter::SharedRole;

const PER_SECOND: Threshold = Threshold {
    key: "switch.drops.per-second",
    default: 0.0,
    unit: "frames per second",
    meaning: "more discarded frames than this are a fault",
    source: "RoCE expects a network that loses nothing: one lost frame makes a sender repeat all that followed it",
};

/// Drops do not rise.
pub const CHECK: Check = Check {
    id: "switch.drops",
    title: "The switch port discards no frames",
    gate: "ports of switches behind RDMA uplinks whose counters of discards were read twice",
    rule: "fails if discards rose on a port whose lossless class sends or receives pauses too; warns if they rose otherwise; passes if \
           they did not",
    source: Source { text: "KB 326624; IEEE 802.1Qbb: a lossless class that drops is no lossless class", weak: false },
    thresholds: &[PER_SECOND],
    explains: &["guest.retransmits", "guest.queue-pairs", "guest.packet-loss"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let judged = wired(scene).into_iter().filter_map(|wired| {
        let (port, name) = (&wired.port, wired.name());
        let all = moved(scene, port, &[SharedRole::Discard, SharedRole::Drop]);
        if all.is_empty() {
            return super::ports::unread_counters(scene, &wired, SharedRole::Discard, "discards frames");
        }
        let limit = scene.thresholds.of(&PER_SECOND);
        let risen: Vec<_> = all.iter().filter(|(_, _, moved)| moved.per_second().is_some_and(|rate| rate > limit)).collect();
        let Some((_, _, by)) = risen.first() else {
            return Some(Judged::pass(port, format!("{name}: discards did not rise")));
        };
        let pauses: Vec<_> = moved(scene, port, &[SharedRole::TransmitPause, SharedRole::ReceivePause])
            .into_iter()
            .filter(|(_, _, moved)| moved.by > 0)
            .collect();
        let is_lossless = lossless_of(scene, &wired.pfc(scene)).is_some_and(|lossless| !lossless.is_empty());
        let title = format!("{name} discards frames: {} in {} s", by.by, by.over.as_secs());
        let mut judged = if is_lossless && !pauses.is_empty() {
            Judged::fail(
                port,
                Confidence::Likely,
                format!("{title}, and pauses do not prevent it"),
                "the port pauses and still drops: frames of RDMA are not in the lossless class, the other end does not obey the pause, \
                 or the headroom of the class is too small for the cable",
            )
        } else {
            Judged::warn(
                port,
                Confidence::Likely,
                title,
                "a buffer of the switch was full; whether frames of RDMA were among them the counter does not tell, and RoCE pays for \
                 each of them with a whole window",
            )
        };
        for (id, _, moved) in risen.iter().map(|one| &**one).chain(&pauses) {
            judged = judged.shown(id, Attribute::CounterValue, format!("{} rose by {}", id.entity.name(), moved.by));
        }
        let step = format!(
            "{}: compare the lossless class, its headroom and the trusted marking of {} with {}",
            port.target,
            port.entity.name(),
            wired.host()
        );
        Some(
            judged
                .cured_by(
                    Cure::by_hand("Make the class of RDMA lossless from end to end", vec![Step::ByHand(step)])
                        .verified_by(&["switch.drops", "switch.pfc", "switch.pfc-priority", "switch.trust"]),
                )
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
        says: Status::Fail,
        trouble: || Site::sound().moved(counter("outDiscards"), 900, 60).moved(counter("PFC rxFrames"), 12, 60),
        healthy: || Site::sound().moved(counter("outDiscards"), 0, 60).moved(counter("PFC rxFrames"), 12, 60),
        unclear: || Site::sound().with("leaf1", fails("eos.interfaces", 1, "Connection timed out")),
    };

    fn counter(name: &str) -> EntityId {
        let entity = Entity::Counter { of: Text::new("Ethernet2"), name: Text::new(name) };
        EntityId::new(&TargetId::new("leaf1"), entity)
    }

    #[test]
    fn without_pauses_it_is_a_warning() {
        assert_eq!(Site::sound().moved(counter("inDiscards"), 3, 60).statuses(&CHECK), [Status::Warn]);
        assert_eq!(Site::sound().statuses(&CHECK), []);
    }
}
