//! The proof over the lab: for every fault that a scenario plans, the right cause stands first, a line of a target's own
//! output shows it, and nothing else is claimed to have failed; a lab in good order raises no alarm. The checks see only
//! what the engine read over SSH; what a scenario expects is known to this test alone.
//!
//! `RDMASCOPE_SEEDS=50` draws fifty labs for each scenario and fifty mixes of two faults; without it a few are drawn.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rdmascope::diagnose::cause::{Diagnosis, Found, diagnose};
use rdmascope::diagnose::check::{SiteSays, by_id};
use rdmascope::diagnose::document::finding;
use rdmascope::diagnose::finding::Status;
use rdmascope::diagnose::limit::Factor;
use rdmascope::engine::examined::Examined;
use rdmascope::engine::once::{Once, collect_once};
use rdmascope::engine::plan;
use rdmascope::fabric::Timestamp;
use rdmascope::lab::scenario::{Scenario, by_name, scenarios};
use rdmascope::lab::{self, Delays, Lab, Timing};
use serde_json::Value as Json;

/// So many labs are drawn where nobody says more.
const FEW: u64 = 2;
/// Labs that are looked at side by side.
const AT_ONCE: usize = 3;
/// Counters of the lab are read again after this.
const AGAIN: Duration = Duration::from_millis(600);

fn seeds() -> u64 {
    std::env::var("RDMASCOPE_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(FEW)
}

/// What all checks say of a lab in this scenario.
fn looked_at(scenario: &'static Scenario, seed: u64) -> (Examined, Diagnosis) {
    let options = lab::Options { seed, delays: Delays::none(), scenario: Some(scenario), timing: Timing::AtOnce };
    let lab = Lab::start(&options).expect("a lab");
    let kinds: Vec<_> = lab.targets().iter().map(|target| Some(target.kind)).collect();
    let Once::Collected(results) = collect_once(lab.plans(), &plan::Options::of_check(AGAIN)).expect("threads") else {
        panic!("nobody interrupts it");
    };
    let examined = Examined::of(&kinds, &results, SiteSays::default(), Timestamp::now());
    let diagnosis = diagnose(examined.examination.examine(), &examined.examination.fabric);
    (examined, diagnosis)
}

/// Does this for each case, some side by side; gives what went wrong.
fn each<T: Sync>(cases: &[T], look: impl Fn(&T) -> Vec<String> + Sync) -> Vec<String> {
    let (next, wrong) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(case) =
                    usize::try_from(next.fetch_add(1, Ordering::Relaxed)).ok().and_then(|at| cases.get(at))
                {
                    let found = look(case);
                    wrong.lock().expect("no thread panics with it").extend(found);
                }
            });
        }
    });
    wrong.into_inner().expect("all threads are done")
}

/// What is said where a target cannot be read: nothing of it is known, and so nothing is wrong.
const UNREAD: &str = "tool.completeness";

/// Scenarios whose fault is one that a check of the catalogue finds at a look. What limits a GPU is told from rows that came for a
/// while, which nobody has who looks once.
fn known() -> Vec<&'static Scenario> {
    let needs_rows = |cause: &str| Factor::ALL.iter().any(|factor| factor.check() == cause);
    let is_known = |scenario: &&Scenario| {
        let mut causes = scenario.expected_causes.iter().map(String::as_str);
        causes.any(|cause| by_id(cause).is_some() && cause != UNREAD && !needs_rows(cause))
    };
    scenarios().iter().filter(is_known).collect()
}

fn said(found: &Found) -> String {
    format!("{} {} ({})", found.judged.status.name(), found.check.id, found.judged.title)
}

fn causes(diagnosis: &Diagnosis) -> String {
    diagnosis.causes.iter().map(|cause| said(&cause.found)).collect::<Vec<_>>().join("; ")
}

/// What is wrong with a diagnosis of which the first cause is to be one of these, and no failure any other.
fn verdict(examined: &Examined, diagnosis: &Diagnosis, expected: &BTreeSet<&str>) -> Vec<String> {
    let mut wrong = Vec::new();
    let Some(first) = diagnosis.causes.first() else { return vec!["nothing is found".to_owned()] };
    if !expected.contains(first.found.check.id) {
        wrong.push(format!("the first cause is none of {expected:?}: {}", causes(diagnosis)));
    }
    for cause in &diagnosis.causes {
        if cause.found.judged.status == Status::Fail && !expected.contains(cause.found.check.id) {
            wrong.push(format!("another failure is claimed: {}", said(&cause.found)));
        }
    }
    let document = finding(&first.found, &examined.examination.fabric, &examined.raw);
    let cites = |shown: &rdmascope::diagnose::finding::Evidence| {
        shown.line.is_some() && shown.command.is_some() && shown.at.is_some() && shown.target.is_some()
    };
    if !document.evidence.iter().any(cites) {
        wrong.push(format!("no line shows {}: {:?}", said(&first.found), document.evidence));
    }
    if document.remedies.is_empty() && document.decide.is_empty() {
        wrong.push(format!("nothing helps with {}", said(&first.found)));
    }
    wrong
}

#[test]
fn every_fault_is_found_first_and_nothing_else_is_claimed() {
    let known = known();
    assert!(known.iter().any(|scenario| scenario.name == "ruleset-closed"), "at least this one is known");
    let cases: Vec<(&'static Scenario, u64)> =
        known.iter().flat_map(|&scenario| (1..=seeds()).map(move |seed| (scenario, seed))).collect();
    let wrong = each(&cases, |&(scenario, seed)| {
        let (examined, diagnosis) = looked_at(scenario, seed);
        let expected = scenario.expected_causes.iter().map(String::as_str).collect();
        let told = verdict(&examined, &diagnosis, &expected).into_iter();
        told.map(|what| format!("{}, seed {seed}: {what}", scenario.name)).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_target_that_cannot_be_read_is_told_and_nothing_is_claimed_of_it() {
    let unread: Vec<&'static Scenario> =
        scenarios().iter().filter(|scenario| scenario.expected_causes.iter().any(|cause| cause == UNREAD)).collect();
    assert!(unread.len() >= 4, "scenarios with such a target are known");
    let wrong = each(&unread, |scenario| {
        let (examined, diagnosis) = looked_at(scenario, 1);
        let mut wrong = Vec::new();
        let is_told =
            |found: &Found| found.check.id == UNREAD && matches!(found.judged.status, Status::Unknown | Status::Info);
        // Where a connection only breaks now and then, one look may go through.
        let was_read = examined.targets.iter().all(|target| target.reachable && target.problem.is_none());
        if !was_read && !diagnosis.findings().any(is_told) {
            wrong.push(format!("{}: it is not told", scenario.name));
        }
        if diagnosis.causes.iter().any(|cause| cause.found.judged.status == Status::Fail) {
            wrong.push(format!("{}: {}", scenario.name, causes(&diagnosis)));
        }
        wrong
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Faults that take other faults out of sight where both are on one host.
const HIDING: [&str; 3] = ["hca-passthrough", "vm-moved", "hostd-dead"];

/// A scenario with the faults of two, drawn from a seed.
fn mixed(seed: u64) -> Option<(&'static Scenario, [&'static Scenario; 2])> {
    let known: Vec<&'static Scenario> = known().into_iter().filter(|scenario| scenario.hosts).collect();
    let mut random = StdRng::seed_from_u64(seed);
    let both: Vec<&&'static Scenario> = known.sample(&mut random, 2).collect();
    let [one, other] = both[..] else { return None };
    let mut mixed = Scenario::clone(one);
    mixed.name = format!("{} and {}", one.name, other.name);
    mixed.switches |= other.switches;
    mixed.faults.extend(other.faults.iter().cloned());
    mixed.expected_causes.extend(other.expected_causes.iter().cloned());
    Some((Box::leak(Box::new(mixed)), [one, other]))
}

#[test]
fn of_two_faults_both_are_found() {
    let mut draw = StdRng::seed_from_u64(4);
    let cases: Vec<_> = (0..seeds())
        .filter_map(|_| {
            let seed = draw.random_range(1..u64::from(u32::MAX));
            Some((mixed(seed)?, seed))
        })
        .collect();
    let wrong = each(&cases, |&((scenario, both), seed)| {
        let (examined, diagnosis) = looked_at(scenario, seed);
        let expected = scenario.expected_causes.iter().map(String::as_str).collect();
        let mut wrong = verdict(&examined, &diagnosis, &expected);
        let found: BTreeSet<&str> =
            diagnosis.findings().filter(|found| found.is_trouble()).map(|found| found.check.id).collect();
        let hidden = both.iter().any(|one| HIDING.contains(&one.name.as_str()));
        // Where the reason is out of sight, what it does to others stands alone.
        wrong.retain(|what| !hidden || !what.starts_with("another failure"));
        for one in both.iter().filter(|_| !hidden) {
            if !one.expected_causes.iter().any(|cause| found.contains(cause.as_str())) {
                wrong.push(format!("{} is not found: {}", one.name, causes(&diagnosis)));
            }
        }
        wrong.into_iter().map(|what| format!("{}, seed {seed}: {what}", scenario.name)).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_lab_in_good_order_raises_no_alarm() {
    let cases: Vec<(&'static Scenario, u64)> = ["healthy", "with-hosts", "data-centre", "gpu-busy"]
        .into_iter()
        .flat_map(|name| (1..=seeds()).map(move |seed| (by_name(name).expect("it is there"), seed)))
        .collect();
    let wrong = each(&cases, |&(scenario, seed)| {
        let (_, diagnosis) = looked_at(scenario, seed);
        let mut wrong = Vec::new();
        if !diagnosis.causes.is_empty() {
            wrong.push(format!("an alarm: {}", causes(&diagnosis)));
        }
        let of = |status: Status| diagnosis.findings().filter(|found| found.judged.status == status).count();
        let (passed, all) = (of(Status::Pass), diagnosis.findings().count());
        if passed * 5 < all * 4 {
            let others = diagnosis.findings().filter(|found| found.judged.status != Status::Pass).map(said);
            let others = others.collect::<Vec<_>>().join("; ");
            wrong.push(format!("only {passed} of {all} pass: {others}"));
        }
        wrong.into_iter().map(|what| format!("{}, seed {seed}: {what}", scenario.name)).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Runs the program without anything of whoever runs the tests; its status and what it printed.
fn program(arguments: &[&str]) -> (i32, String) {
    let home = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rdmascope"));
    command.args(arguments).env_clear().env("TMPDIR", home.path()).env("HOME", home.path()).env("LANG", "C.UTF-8");
    let output = command.stdin(Stdio::null()).output().expect("the program runs");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    let status = output.status.code().expect("an exit status");
    (status, String::from_utf8(output.stdout).expect("text"))
}

#[test]
fn the_program_says_the_same() {
    let (status, out) = program(&["check", "--scenario", "ruleset-closed", "--format", "json"]);
    let document: Json = serde_json::from_str(&out).expect("a document");
    assert_eq!((status, &document["schema"]), (1, &"rdmascope.check/1".into()));
    let cause = &document["causes"][0];
    assert_eq!((&cause["check"], &cause["confidence"]), (&"host.pvrdma-ruleset".into(), &"proved".into()));
    assert!(
        cause["evidence"][0]["line"].is_u64()
            && !cause["remedies"][0]["commands"].as_array().expect("a list").is_empty()
    );
    let (status, out) = program(&["check", "esx01", "esx02", "--scenario", "with-hosts"]);
    assert_eq!(status, 0, "{out}");
    let (status, out) = program(&["check", "pv-a", "hca-a", "--scenario", "healthy", "--format", "junit"]);
    assert!(status == 0 && out.starts_with("<?xml") && out.trim_end().ends_with("</testsuites>"), "{out}");
    let (status, out) = program(&["check", "--scenario", "ssh-stopped", "--format", "json"]);
    let document: Json = serde_json::from_str(&out).expect("a document");
    let failed = document["summary"]["fail"].as_u64().expect("a number") > 0;
    assert_eq!(status, if failed { 1 } else { 3 }, "a target could not be read");
    assert_eq!(document["summary"]["complete"], false);
}

#[test]
fn two_snapshots_differ_in_what_was_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).display().to_string();
    for scenario in ["with-hosts", "ruleset-closed"] {
        let (status, _) = program(&["snapshot", "--scenario", scenario, "--format", "json", "--out", &file(scenario)]);
        assert_eq!(status, 0, "{scenario}");
    }
    let (status, out) = program(&["diff", &file("with-hosts"), &file("ruleset-closed")]);
    assert_eq!(status, 1, "{out}");
    assert!(out.starts_with("host\n  esx0") && out.contains("ruleset pvrdma  enabled: yes -> no\n"), "{out}");
    assert!(out.ends_with("\n1 difference\n"), "{out}");
    let (status, out) = program(&["diff", &file("with-hosts"), "now", "--scenario", "vm-moved"]);
    assert!(status == 1 && out.contains("moved here from esx0"), "{out}");
    let (status, out) = program(&["diff", &file("with-hosts"), "now", "--scenario", "with-hosts", "--format", "json"]);
    let document: Json = serde_json::from_str(&out).expect("a document");
    assert_eq!((status, &document["same"]), (0, &true.into()), "{out}");
}
