//! What every check owes: a sample for each answer, evidence that leads to a raw line, and no answer but its own.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::testing::Site;
use super::{Check, all};
use crate::diagnose::cause::Found;
use crate::diagnose::finding::Status;
use crate::probe::testing::mutated;

const LAYERS: [&str; 7] = ["switch", "host", "vm", "guest", "gpu", "mpi", "tool"];

fn trouble(status: Status) -> bool {
    matches!(status, Status::Fail | Status::Warn)
}

#[test]
fn ids_are_unique_and_explain_each_other() {
    let mut ids = BTreeSet::new();
    for check in all() {
        assert!(ids.insert(check.id), "{} stands twice", check.id);
        assert!(LAYERS.contains(&check.layer()), "{}", check.id);
        for text in [check.title, check.gate, check.rule, check.source.text] {
            assert!(!text.is_empty(), "{} leaves something unsaid", check.id);
        }
        for threshold in check.thresholds {
            assert!(threshold.key.starts_with(&format!("{}.", check.id)), "{}", threshold.key);
        }
    }
    for check in all() {
        for explained in check.explains {
            assert!(ids.contains(explained), "{} explains {explained}, which is no check", check.id);
        }
    }
}

#[test]
fn every_check_judges_its_samples() {
    let mut wrong = Vec::new();
    for check in all() {
        wrong.extend(samples_of(check).err());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn together_they_say_what_each_says_alone() {
    // What is worked out once for all of them is what each would have found.
    let sites = std::iter::once(Site::sound()).chain(all().step_by(12).map(|check| (check.samples.trouble)()));
    for site in sites {
        let together = site.examine().into_iter().map(|found| (found.check.id, found.judged));
        let alone = all().flat_map(|check| site.judge(check).into_iter().map(|judged| (check.id, judged)));
        assert!(together.eq(alone));
    }
}

fn samples_of(check: &Check) -> Result<(), String> {
    let site = (check.samples.trouble)();
    let judged = site.judge(check);
    let found: Vec<_> = judged.iter().filter(|judged| judged.status == check.samples.says).collect();
    if found.is_empty() {
        return Err(format!("{}: no {:?} in trouble: {judged:#?}", check.id, check.samples.says));
    }
    for judged in found {
        if judged.cause.is_empty() || judged.title.is_empty() {
            return Err(format!("{}: does not say what and why", check.id));
        }
        if trouble(judged.status) && judged.cures.is_empty() && judged.decide.is_empty() {
            return Err(format!("{}: says neither what helps nor what would settle it", check.id));
        }
        if !judged.evidence.iter().any(|exhibit| site.leads_to_a_line(exhibit)) {
            return Err(format!("{}: no evidence leads to a line: {:#?}", check.id, judged.evidence));
        }
    }
    // What it finds may be a symptom of what another check finds, or the other way round; nothing else may turn up.
    for Found { check: other, judged } in site.examine() {
        let related = other.id == check.id || check.explains.contains(&other.id) || other.explains.contains(&check.id);
        if !related && judged.status == Status::Fail {
            return Err(format!("{}: on its site in trouble {} fails too: {judged:#?}", check.id, other.id));
        }
    }
    let site = (check.samples.healthy)();
    let judged = site.judge(check);
    if judged.is_empty() || judged.iter().any(|judged| judged.status != Status::Pass) {
        return Err(format!("{}: does not pass: {judged:#?}", check.id));
    }
    for Found { check: other, judged } in site.examine() {
        if judged.status == Status::Fail {
            return Err(format!("{}: on its healthy site {} fails: {judged:#?}", check.id, other.id));
        }
    }
    let site = (check.samples.unclear)();
    let judged = site.judge(check);
    let Some(unknown) = judged.iter().find(|judged| judged.status == Status::Unknown) else {
        return Err(format!("{}: is not unclear: {judged:#?}", check.id));
    };
    if unknown.decide.is_empty() || unknown.lack.is_none() {
        return Err(format!("{}: does not say what would decide it", check.id));
    }
    if let Some(judged) = judged.iter().find(|judged| trouble(judged.status)) {
        return Err(format!("{}: claims something of what it cannot see: {judged:#?}", check.id));
    }
    Ok(())
}

#[test]
fn a_sound_site_passes() {
    for Found { check, judged } in Site::sound().examine() {
        assert!(!trouble(judged.status), "{}: {judged:#?}", check.id);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever one source prints, no check breaks, and none claims anything without evidence.
    #[test]
    fn damaged_outputs_break_no_check(nth in any::<prop::sample::Index>(), text in damaged()) {
        let sources: Vec<_> = Site::sound().observations().map(|one| (one.target.clone(), one.source.clone())).collect();
        let (target, source) = nth.get(&sources);
        let site = Site::sound().with(target.as_str(), super::testing::says(source.as_str(), &text));
        for Found { check, judged } in site.examine() {
            prop_assert!(!trouble(judged.status) || !judged.evidence.is_empty(), "{}: {judged:#?}", check.id);
            let clean = |text: &str| !text.chars().any(char::is_control);
            prop_assert!(clean(&judged.title) && clean(&judged.cause), "{}: {judged:#?}", check.id);
        }
    }
}

fn damaged() -> impl Strategy<Value = String> {
    let seeds: Vec<String> = Site::sound().observations().map(|one| one.stdout.to_string()).collect();
    mutated(seeds)
}
