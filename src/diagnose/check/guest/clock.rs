//! The clocks of the guests agree: what is read on several of them is put beside each other by its time.

use crate::diagnose::check::{Check, Judged, Lack, MachineKind, Scene, Source, Threshold};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId};

const MOST: Threshold = Threshold {
    key: "guest.clock.milliseconds",
    default: 100.0,
    unit: "milliseconds",
    meaning: "difference from the other clocks from which on it warns",
    source: "own: events of several layers are put in order by their time",
};

/// Clocks agree.
pub const CHECK: Check = Check {
    id: "guest.clock",
    title: "The clocks of the guests agree with those of the others",
    gate: "guests whose clock was measured",
    rule: "warns if the clock of a guest is more than 100 ms away from the middle of all clocks, ours among them",
    source: Source { text: "own; system integrators' acceptance tests (clock synchronization)", weak: true },
    thresholds: &[MOST],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let most = scene.thresholds.of(&MOST);
    // Where all targets differ from us by as much, it is ours that is wrong: the middle of all of them is right. What is
    // known less closely than clocks may differ (a host tells no parts of a second) has no say in it, unless nothing is
    // known better.
    let clocks = || scene.machines.values().filter_map(|machine| machine.clock);
    let mut all: Vec<(i64, u64)> = clocks().filter(|(_, doubt)| *doubt as f64 <= most).collect();
    if all.is_empty() {
        all.extend(clocks());
    }
    all.push((0, 0));
    all.sort_unstable();
    let (middle, middles) = all[all.len() / 2];
    let measured = clocks().next().is_some();
    let mut judged = Vec::new();
    for (guest, machine) in scene.machines.iter().filter(|(_, machine)| machine.kind == MachineKind::Guest) {
        let id = EntityId::new(guest, Entity::Guest);
        if !scene.exists(&id) {
            continue;
        }
        let Some((ahead, doubt)) = machine.clock else {
            // Where no clock was measured at all nobody asked for it.
            if measured {
                let why = format!("{guest}: its clock was not measured");
                judged.push(Judged::unknown(&id, Lack::NotObservable, why, "date +%s.%N beside our own"));
            }
            continue;
        };
        let away = ahead.saturating_sub(middle);
        // The middle is the clock of a target, too, and known no better than that one.
        let doubt = doubt.saturating_add(middles);
        if away.unsigned_abs() as f64 <= most + doubt as f64 {
            judged.push(Judged::pass(&id, format!("{guest}: its clock agrees, within {} ms", away.unsigned_abs())));
            continue;
        }
        let side = if away > 0 { "ahead" } else { "behind" };
        let seconds = away.unsigned_abs() as f64 / 1000.0;
        judged.push(
            Judged::warn(
                &id,
                Confidence::Proved,
                format!("{guest}: its clock is {seconds:.1} s {side}"),
                format!("the middle of all clocks differs from it by {} ms, measured to {doubt} ms: what is read here cannot be put in order with what others say, and logs of a job contradict each other", away.unsigned_abs()),
            )
            .shown(&id, Attribute::Hostname, format!("clock of {guest}: {ahead:+} ms against ours"))
            .cured_by(
                Cure::on(guest, "Set the clock by the time servers that are configured", Risk::None, vec![Step::run(&["chronyc", "makestep"])])
                    .without_undo("a clock that was set goes on from there", Vec::new())
                    .verified_by(&["guest.clock"])
                    .noting("where systemd-timesyncd keeps the time: timedatectl set-ntp true"),
            )
            .decided_by("chronyc tracking, or timedatectl"),
        );
    }
    judged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site};
    use crate::diagnose::finding::Status;

    const ALL: [&str; 7] = ["esx01", "esx02", "pv-a", "pv-b", "hca-a", "hca-b", "vf-a"];

    fn clocks(by: i64) -> Site {
        ALL.iter().fold(Site::sound(), |site, name| site.clock_ahead(name, by))
    }

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || clocks(4).clock_ahead("pv-a", 5_400),
        healthy: || clocks(40),
        unclear: || Site::sound().clock_ahead("pv-a", 3),
    };

    #[test]
    fn if_all_differ_from_us_it_is_ours() {
        assert!(clocks(60_000).statuses(&CHECK).iter().all(|status| *status == Status::Pass));
    }

    #[test]
    fn a_middle_that_is_not_well_known_proves_nothing() {
        // Two emulated guests on a busy computer: each answer was on its way for half a second.
        let pair = |first, second| {
            let site = Site::sound().without_target("esx01").without_target("esx02");
            let only = ["pv-b", "hca-b", "vf-a"].iter().fold(site, |site, name| site.without_target(name));
            only.clock("pv-a", first).clock("hca-a", second).statuses(&CHECK)
        };
        assert_eq!(pair((-693, 156), (-311, 240)), [Status::Pass, Status::Pass]);
        assert_eq!(pair((-693, 6), (-311, 9)), [Status::Pass, Status::Warn]);
    }

    #[test]
    fn sites_without_any_measurement_are_not_judged() {
        assert!(Site::sound().judge(&CHECK).is_empty());
    }
}
