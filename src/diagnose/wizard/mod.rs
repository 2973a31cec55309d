//! The wizard: from a symptom to its cause by the shortest way. A symptom names the steps that can explain it, in the order
//! in which they are looked at; each step is a few checks of the catalogue. What the checks say decides each step; what
//! cannot be seen becomes a question, and what is excluded is said to be.

mod prepare;
mod question;
mod reads;
mod symptom;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

pub use prepare::{Readiness, Requirement, prepare};
pub use question::{Question, questions};
pub use reads::probes_of;
pub use symptom::{SYMPTOMS, Step, Symptom, by_name};

use super::cause::{Cause, Diagnosis, Found};
use super::check::Lack;
use super::finding::Status;
use crate::fabric::TargetId;

/// How a step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Something in it is wrong.
    Found,
    /// What it needs is still being read.
    Running,
    /// Something in it cannot be seen.
    Open,
    /// What was seen of it is in order, and of a layer that it goes through nothing was seen.
    Partly,
    /// It is in order: not the cause.
    Excluded,
    /// There is nothing here that it applies to.
    Skipped,
}

impl Standing {
    /// In words, as the panel prints it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Found => "FOUND",
            Self::Running => "running",
            Self::Open => "open",
            Self::Partly => "partly seen",
            Self::Excluded => "in order",
            Self::Skipped => "not here",
        }
    }
}

/// One step with what the checks say.
#[derive(Clone, Debug)]
pub struct Walked<'a> {
    /// The step.
    pub step: &'static Step,
    /// How it stands.
    pub standing: Standing,
    /// What its checks say, those that matter first.
    pub found: Vec<&'a Found>,
}

/// The way from a symptom, as far as it was walked.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    /// The steps, in order.
    pub steps: Vec<Walked<'a>>,
    /// Causes that the symptom can come from, the surest first.
    pub causes: Vec<&'a Cause>,
}

/// Walks the steps of a symptom over what the checks said. `about` are the targets that the symptom is seen on and those
/// on their way; empty for all. `reading` says whether a target is still being read for the first time.
pub fn walk<'a>(
    symptom: &'static Symptom,
    diagnosis: &'a Diagnosis,
    about: &BTreeSet<TargetId>,
    reading: &dyn Fn(&TargetId) -> bool,
) -> Walk<'a> {
    let concerns = |found: &Found| about.is_empty() || about.contains(&found.judged.subject.target);
    let symptoms = diagnosis.causes.iter().flat_map(|cause| &cause.symptoms);
    let all = diagnosis.causes.iter().map(|cause| &cause.found).chain(symptoms).chain(&diagnosis.rest);
    let mut by_check: BTreeMap<&str, Vec<&Found>> = BTreeMap::new();
    for found in all.filter(|found| concerns(found)) {
        by_check.entry(found.check.id).or_default().push(found);
    }
    let steps = symptom.steps.iter().map(|step| walked(step, &by_check, reading)).collect();
    let belongs = |cause: &&Cause| {
        let is_of =
            |found: &Found| concerns(found) && symptom.steps.iter().any(|step| step.checks.contains(&found.check.id));
        is_of(&cause.found) || cause.symptoms.iter().any(is_of)
    };
    Walk { steps, causes: diagnosis.causes.iter().filter(belongs).collect() }
}

fn walked<'a>(
    step: &'static Step,
    by_check: &BTreeMap<&str, Vec<&'a Found>>,
    reading: &dyn Fn(&TargetId) -> bool,
) -> Walked<'a> {
    let mut found: Vec<&Found> =
        step.checks.iter().filter_map(|check| by_check.get(check)).flatten().copied().collect();
    found.sort_by_key(|found| rank(found.judged.status));
    let has = |wanted: fn(&Found) -> bool| found.iter().any(|found| wanted(found));
    let is_read = |found: &Found| found.judged.lack == Some(Lack::Unreached) && reading(&found.judged.subject.target);
    let standing = if has(|found| matches!(found.judged.status, Status::Fail | Status::Warn)) {
        Standing::Found
    } else if found.iter().any(|found| is_read(found)) {
        Standing::Running
    } else if has(|found| found.judged.status == Status::Unknown) {
        Standing::Open
    } else if found.is_empty() {
        Standing::Skipped
    } else if unseen(step, &found).is_empty() {
        Standing::Excluded
    } else {
        Standing::Partly
    };
    Walked { step, standing, found }
}

impl Walked<'_> {
    /// Layers that the step goes through and of which no check says anything: no switch in the inventory, no GPU in a guest
    /// that is read.
    pub fn unseen(&self) -> Vec<&'static str> {
        unseen(self.step, &self.found)
    }
}

fn unseen(step: &'static Step, found: &[&Found]) -> Vec<&'static str> {
    let layer = |id: &'static str| id.split('.').next().unwrap_or(id);
    let mut unseen: Vec<&str> = Vec::new();
    for of in step.checks.iter().map(|id| layer(id)) {
        if !unseen.contains(&of) && !found.iter().any(|found| layer(found.check.id) == of) {
            unseen.push(of);
        }
    }
    unseen
}

fn rank(status: Status) -> u8 {
    match status {
        Status::Fail => 0,
        Status::Warn => 1,
        Status::Unknown => 2,
        Status::Info => 3,
        Status::Pass => 4,
    }
}
