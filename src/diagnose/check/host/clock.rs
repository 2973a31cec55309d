//! The clock of a host: what happened first on two machines can be told only if their clocks agree.

use crate::diagnose::check::{Check, Exhibit, Judged, MachineKind, Reached, Scene, Source, Threshold};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::{Attribute, Entity, EntityId};

/// The clock is right.
pub const CHECK: Check = Check {
    id: "host.clock",
    title: "The clock of the host agrees with ours",
    gate: "hosts whose clock was measured",
    rule: "warns if the clock is off by more than the threshold and the error of the measurement; passes if it is not",
    source: Source { text: "clock offset of all layers below 100 ms, to tell causes from effects", weak: true },
    thresholds: &[OFFSET],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

const OFFSET: Threshold = Threshold {
    key: "host.clock.offset",
    default: 100.0,
    unit: "milliseconds",
    meaning: "how far the clock of a host may be off",
    source: "own rule: below it events of two machines can be put in order",
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let limit = scene.thresholds.of(&OFFSET);
    scene
        .machines
        .iter()
        .filter(|(_, machine)| machine.kind == MachineKind::Host)
        .filter_map(|(host, machine)| {
            let id = EntityId::new(host, Entity::Host);
            let Some((ahead, within)) = machine.clock else {
                if !matches!(machine.reached, Reached::No(_)) {
                    return None;
                }
                let (lack, why) = scene.silence(host);
                return Some(Judged::unknown(&id, lack, format!("the clock of {host}: {why}"), format!("date -u on {host}")));
            };
            let off = ahead.unsigned_abs();
            if off.saturating_sub(within) as f64 <= limit {
                return Some(Judged::pass(&id, format!("the clock of {host} is off by at most {} ms", off + within)));
            }
            let way = if ahead > 0 { "ahead of" } else { "behind" };
            let ruleset = EntityId::new(host, Entity::Ruleset("ntpClient".into()));
            let open = scene.flag(&ruleset, Attribute::RulesetEnabled);
            let mut judged = Judged::warn(
                &id,
                Confidence::Proved,
                format!("{host}: its clock is {off} ms {way} ours"),
                "lines of its log, and events of two machines, cannot be put in order; certificates and tickets can fail too",
            )
            .shown_by([if scene.fabric.reading(&id, Attribute::WallClock).is_some() {
                Exhibit::of(&id, Attribute::WallClock, format!("{off} ms {way} ours, give or take {within} ms"))
            } else {
                Exhibit::thing(&id, format!("measured: {off} ms {way} ours, give or take {within} ms"))
            }]);
            if let Some(open) = open {
                let words = format!("ruleset ntpClient is {}", if open { "open" } else { "closed" });
                judged = judged.shown(&ruleset, Attribute::RulesetEnabled, words);
            }
            let step = "vCenter: Hosts > Configure > Time Configuration: NTP, the same servers as all other hosts and guests, service \
                        started with the host";
            Some(judged.cured_by(
                Cure::by_hand("Set the clock by NTP", vec![Step::ByHand(step.to_owned())]).verified_by(&["host.clock"]),
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || Site::sound().clock_ahead("esx02", 4_200),
        healthy: || Site::sound().clock_ahead("esx02", 60),
        unclear: || Site::sound().silent("esx02", "no route to host"),
    };

    #[test]
    fn behind_is_as_bad_and_the_error_counts() {
        let behind = Site::sound().clock_ahead("esx02", -900).judge(&CHECK).pop().expect("judged");
        assert_eq!(behind.title, "esx02: its clock is 900 ms behind ours");
        assert_eq!(Site::sound().clock_ahead("esx02", 101).statuses(&CHECK), [Status::Pass]);
        let strict = Site::sound().clock_ahead("esx02", 60).with_threshold("host.clock.offset", 10.0);
        assert_eq!(strict.statuses(&CHECK), [Status::Warn]);
    }
}
