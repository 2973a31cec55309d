//! Frames with errors do not arrive.

use super::ports::{moved, wired};

use crate::diagnose::check::{Check, Judged, Scene, Source, Threshold};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::Attribute;
use crate::fabric::counter::SharedRole;

const PER_SECOND: Threshold = Threshold {
    key: "switch.errors.per-second",
    default: 0.0,
    unit: "frames per second",
    meaning: "more frames with errors than this are a fault",
    source: "IEEE 802.3: a sound link of a data centre counts none for hours",
};

/// Errors do not rise.
pub const CHECK: Check = Check {
    id: "switch.errors",
    title: "The switch port receives no frames with errors",
    gate: "ports of switches behind RDMA uplinks whose counters of errors were read twice",
    rule: "warns if errors rose faster than the threshold between two reads; passes if they did not",
    source: Source {
        text: "IEEE 802.3 (frame check sequence); GPU cluster practice: replace cable or optics with rising CRC errors",
        weak: false,
    },
    thresholds: &[PER_SECOND],
    explains: &["guest.retransmits", "guest.queue-pairs", "guest.packet-loss", "host.rdma-errors"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let judged = wired(scene).into_iter().filter_map(|wired| {
        let (port, name) = (&wired.port, wired.name());
        let all = moved(scene, port, &[SharedRole::Error]);
        if all.is_empty() {
            return super::ports::unread_counters(scene, &wired, SharedRole::Error, "counts errors");
        }
        let limit = scene.thresholds.of(&PER_SECOND);
        let risen: Vec<_> = all.iter().filter(|(_, _, moved)| moved.per_second().is_some_and(|rate| rate > limit)).collect();
        let Some((_, _, by)) = risen.first() else {
            return Some(Judged::pass(port, format!("{name}: errors did not rise")));
        };
        let step = format!(
            "clean or replace cable and transceivers between {} and {name}; compare forward error correction at both ends",
            wired.host()
        );
        let mut judged = Judged::warn(
            port,
            Confidence::Proved,
            format!("{name} counts frames with errors: {} in {} s", by.by, by.over.as_secs()),
            "such frames are dropped: RoCE sends again all that came after them; cable, transceiver or error correction is the usual cause",
        );
        for (id, _, moved) in &risen {
            judged = judged.shown(id, Attribute::CounterValue, format!("{} rose by {}", id.entity.name(), moved.by));
        }
        Some(
            judged
                .cured_by(
                    Cure::by_hand("Check the link", vec![Step::ByHand(step)])
                        .risking(Risk::DisruptsRdma)
                        .verified_by(&["switch.errors"]),
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
        says: Status::Warn,
        trouble: || Site::sound().moved(counter("fcsErrors"), 120, 60).moved(counter("totalInErrors"), 120, 60),
        healthy: || Site::sound().moved(counter("fcsErrors"), 0, 60).moved(counter("outDiscards"), 5, 60),
        unclear: || Site::sound().with("leaf1", fails("eos.interfaces", 1, "Connection timed out")),
    };

    fn counter(name: &str) -> EntityId {
        let entity = Entity::Counter { of: Text::new("Ethernet2"), name: Text::new(name) };
        EntityId::new(&TargetId::new("leaf1"), entity)
    }

    #[test]
    fn what_was_read_once_says_nothing_and_a_site_may_allow_some() {
        assert_eq!(Site::sound().statuses(&CHECK), []);
        let some = (SAMPLES.trouble)().with_threshold("switch.errors.per-second", 2.0);
        assert_eq!(some.statuses(&CHECK), [Status::Pass]);
    }
}
