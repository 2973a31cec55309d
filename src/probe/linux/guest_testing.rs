//! What the tests of the guest probes share.

use std::sync::Arc;

use proptest::prelude::*;

use crate::fabric::{Attribute, Entity, Fact, Observation, Outcome, State, Value};
use crate::probe::Probe;

/// What one source printed: standard output, standard error, exit status.
pub type Printed<'a> = (&'a str, &'a str, i32);

/// Runs the parser of a probe on what its sources printed.
pub fn run(probe: &Probe, printed: &[Printed<'_>]) -> Vec<Fact> {
    assert_eq!(printed.len(), probe.sources.len(), "one text for each source");
    let observations: Vec<Arc<Observation>> = probe
        .sources
        .iter()
        .zip(printed)
        .map(|(source, (stdout, stderr, status))| {
            let observation = Observation::of_text(source.name, stdout);
            Arc::new(observation.with_stderr(stderr).with_outcome(Outcome::Exit(*status)))
        })
        .collect();
    (probe.parse)(&observations)
}

/// The state of one attribute, if it was stated at all.
pub fn state(facts: &[Fact], entity: &Entity, attribute: Attribute) -> Option<State<Value>> {
    let mut found = facts.iter().filter(|fact| fact.entity == *entity && fact.attribute == attribute);
    found.next_back().map(|fact| fact.reading.state.clone())
}

/// A known value as it is drawn; in brackets why it is missing; `absent` if nothing was stated.
pub fn shown(facts: &[Fact], entity: &Entity, attribute: Attribute) -> String {
    match state(facts, entity, attribute) {
        None => "absent".to_owned(),
        Some(State::Known(value)) => value.to_string(),
        Some(other) => format!("<{}>", other.why().unwrap_or_default()),
    }
}

/// Outcomes that a parser meets.
pub fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        4 => Just(Outcome::Exit(0)),
        2 => (1i32..3).prop_map(Outcome::Exit),
        1 => Just(Outcome::Exit(127)),
        1 => Just(Outcome::TimedOut),
        1 => Just(Outcome::Cut),
    ]
}

/// What every parser owes for one set of texts: it comes back, draws nothing that a terminal would obey, and points at
/// lines that exist.
pub fn check(probe: &Probe, stdouts: &[String], stderr: &str, outcome: &Outcome) -> Result<(), TestCaseError> {
    let observations: Vec<Arc<Observation>> = probe
        .sources
        .iter()
        .zip(stdouts)
        .map(|(source, stdout)| {
            let observation = Observation::of_text(source.name, stdout).with_stderr(stderr);
            Arc::new(observation.with_outcome(outcome.clone()))
        })
        .collect();
    let facts = (probe.parse)(&observations);
    crate::probe::testing::assert_clean(&facts)?;
    for fact in &facts {
        let source = observations.iter().find(|observation| observation.source == fact.reading.source.source);
        let lines = source.map_or(0, |observation| observation.stdout.lines().count());
        prop_assert!(fact.reading.line as usize <= lines, "{fact:?} points beyond its text");
    }
    Ok(())
}

/// A property test of one probe: one real text for each of its sources, damaged.
macro_rules! survives_damage {
    ($probe:expr, $($seed:expr),+ $(,)?) => {
        proptest::proptest! {
            #![proptest_config(proptest::prelude::ProptestConfig::with_cases($crate::probe::testing::CASES))]

            #[test]
            fn damaged_output_is_survived(
                stdouts in {
                    let seeds = [$($seed),+];
                    seeds.map(|seed: &str| $crate::probe::testing::mutated_texts(&[seed])).into_iter().collect::<Vec<_>>()
                },
                stderr in $crate::probe::testing::mutated_texts(&[
                    "",
                    "grep: /etc/netplan/50-cloud-init.yaml: Permission denied\ngrep: /sys/class/net/lo/speed: Invalid argument\n",
                    "grep: /proc/77/limits: No such file or directory\ndmesg: read kernel buffer failed: Operation not permitted\n",
                ]),
                outcome in $crate::probe::linux::guest_testing::outcome(),
            ) {
                $crate::probe::linux::guest_testing::check(&$probe, &stdouts, &stderr, &outcome)?;
            }
        }
    };
}
pub(crate) use survives_damage;
