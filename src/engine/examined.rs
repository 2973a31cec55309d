//! From what a collection gave to what checks look at, with the raw output behind it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::once::{Collected, System};
use crate::app::Problem;
use crate::config::Kind;
use crate::diagnose::check::{Examination, Given, MachineKind, Reached, SiteSays};
use crate::fabric::{Observation, ObservationRef, TargetId, Text, Timestamp};
use crate::record::snapshot_file::NO_OUTPUT;

/// How one target fared.
#[derive(Clone, Debug, PartialEq)]
pub struct Fared {
    /// Its name.
    pub name: TargetId,
    /// What it is: `linux`, `esxi`, `switch`, `local`, or `unknown` where that was not found out.
    pub kind: &'static str,
    /// True if it could be read at all.
    pub reachable: bool,
    /// What went wrong, if something did.
    pub problem: Option<Problem>,
}

/// What checks look at, and what is needed to show what they say.
#[derive(Clone, Debug)]
pub struct Examined {
    /// What checks look at.
    pub examination: Examination,
    /// The raw output behind all readings.
    pub raw: BTreeMap<ObservationRef, Arc<Observation>>,
    /// The targets, in their order.
    pub targets: Vec<Fared>,
}

impl Examined {
    /// Takes in what was collected; `kinds` is what the inventory says of each target, in the same order; `says` is what the
    /// configuration says for the checks.
    pub fn of(kinds: &[Option<Kind>], results: &[Collected], says: SiteSays, now: Timestamp) -> Self {
        let kinds = || kinds.iter().copied().chain(std::iter::repeat(None));
        let reached: Vec<Reached> = results.iter().map(reached).collect();
        let given: Vec<Given<'_>> = results
            .iter()
            .zip(&reached)
            .zip(kinds())
            .map(|((result, reached), kind)| Given {
                target: &result.target,
                kind: machine_kind(result.system, kind),
                reached,
                reports: &result.reports,
                again: &result.again,
                clock: result.clock,
            })
            .collect();
        let examination = Examination::of(&given, says, now);
        let read = results.iter().flat_map(|result| &result.reports).flat_map(|report| &report.observations);
        let targets = results.iter().zip(kinds()).map(|(result, kind)| Fared {
            name: result.target.clone(),
            kind: word(result.system, kind),
            reachable: result.reached.is_ok(),
            problem: result.reached.as_ref().err().or(result.incomplete.as_ref()).cloned(),
        });
        Self {
            examination,
            raw: read.map(|one| (one.reference(), quotable(one))).collect(),
            targets: targets.collect(),
        }
    }
}

fn reached(result: &Collected) -> Reached {
    let words = |problem: &Problem| Text::new(&problem.to_string());
    match (&result.reached, &result.incomplete) {
        (Err(problem), _) => Reached::No(words(problem)),
        (Ok(_), Some(problem)) => Reached::Partly(words(problem)),
        (Ok(_), None) => Reached::Yes,
    }
}

/// What a target is: as it turned out, else as the inventory has it. One of which nothing is known is most likely a guest.
fn machine_kind(system: System, kind: Option<Kind>) -> MachineKind {
    match (system, kind) {
        (System::Local | System::Linux, _) => MachineKind::Guest,
        (System::Esxi, _) | (_, Some(Kind::Esxi)) => MachineKind::Host,
        (_, Some(Kind::Switch(_))) => MachineKind::Switch,
        _ => MachineKind::Guest,
    }
}

fn word(system: System, kind: Option<Kind>) -> &'static str {
    match (system, kind) {
        (System::Local, _) => "local",
        (System::Linux, _) => "linux",
        (System::Esxi, _) => "esxi",
        (_, Some(kind)) if kind != Kind::Saved => kind.name(),
        _ => "unknown",
    }
}

/// A snapshot holds no output: of such a read the command is known, and nothing can be quoted.
fn quotable(observation: &Arc<Observation>) -> Arc<Observation> {
    if *observation.stdout != *NO_OUTPUT {
        return Arc::clone(observation);
    }
    let mut emptied = Observation::clone(observation);
    emptied.stdout = Arc::from("");
    Arc::new(emptied)
}
