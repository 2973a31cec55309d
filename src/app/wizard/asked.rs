//! What nobody can see from here is asked: each question says what would tell it. An answer of the user is the user's word: it
//! stands beside what was read, never proves anything alone, can be changed, and gives way to a reading that says otherwise.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::super::model::Model;
use super::walking::{self, Walking};
use crate::diagnose::cause::Found;
use crate::diagnose::check::Lack;
use crate::diagnose::finding::Status;
use crate::fabric::{EntityId, Timestamp};

/// What the user said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Said {
    /// It is so.
    Yes,
    /// It is not so.
    No,
    /// It is left open.
    Skipped,
    /// What tells it was pasted.
    Pasted,
}

impl Said {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "NO",
            Self::Skipped => "skipped",
            Self::Pasted => "pasted",
        }
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Id of the check that asked.
    pub check: String,
    /// Of what.
    pub subject: EntityId,
    /// The question.
    pub text: String,
    /// What was said.
    pub said: Said,
    /// When.
    pub at: Timestamp,
}

/// A question that is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Open {
    /// Id of the check that asks.
    pub check: &'static str,
    /// Of what.
    pub subject: EntityId,
    /// The question, as one to say yes or no to.
    pub text: String,
    /// Why it is asked.
    pub why: String,
    /// What would tell it.
    pub decide: String,
}

/// Checks whose open title (`whether PFC is on at the port: the switch is in no inventory`) asks for what should be so: yes
/// means that all is well. Of the others the title of the check says what should be so.
const DIRECT: &[&str] = &[
    "switch.pfc",
    "switch.mtu",
    "switch.ecn",
    "switch.vlan",
    "switch.interface-up",
    "switch.pfc-watchdog",
    "switch.neighbour",
];

/// True for what no target can tell.
fn is_asked(found: &Found) -> bool {
    found.judged.status == Status::Unknown && found.judged.lack == Some(Lack::NotObservable)
}

/// The question in a finding: what is asked, and why nobody can see it.
fn question(found: &Found) -> Open {
    let judged = &found.judged;
    let direct = judged.title.strip_prefix("whether ").filter(|_| DIRECT.contains(&found.check.id));
    let (text, why) = match direct {
        Some(asked) => {
            let (asked, why) = asked.split_once(": ").unwrap_or((asked, ""));
            (format!("is it so that {asked}?"), why)
        }
        None => (format!("is it so: {}?", found.check.title), judged.title.as_str()),
    };
    Open {
        check: found.check.id,
        subject: judged.subject.clone(),
        text,
        why: why.to_owned(),
        decide: judged.decide.clone(),
    }
}

/// The answer to a question, if one was given.
pub fn answer_to<'a>(model: &'a Model, check: &str, subject: &EntityId) -> Option<&'a Answer> {
    model.screen.wizard.answers.iter().find(|answer| answer.check == check && answer.subject == *subject)
}

/// The questions that the steps looked at leave open, in the order of the steps. Those answered are none.
pub fn open(model: &Model, walking: &Walking) -> Vec<Open> {
    let all = walking::see(model, walking, |walk| {
        let looked = walk.steps.iter().enumerate().filter(|(place, _)| walking.looked_at(*place).is_some());
        let not_excluded = looked.filter(|(_, walked)| walking::excluded(model, walking, walked.step).is_none());
        let found = not_excluded.flat_map(|(_, walked)| walked.found.iter().copied());
        let mut seen = BTreeSet::new();
        found
            .filter(|found| is_asked(found))
            .map(question)
            .filter(|open| answer_to(model, open.check, &open.subject).is_none())
            .filter(|open| seen.insert((open.check, open.text.clone())))
            .collect()
    });
    let mut all: Vec<Open> = all.unwrap_or_default();
    // What a switch can print comes first: it can be proved.
    all.sort_by_key(|open| !open.check.starts_with("switch."));
    all
}

/// What the checks say now of what was asked.
pub fn read_since<'a>(found: &'a [Found], answer: &Answer) -> Option<&'a Found> {
    found.iter().find(|found| {
        found.check.id == answer.check
            && found.judged.subject == answer.subject
            && found.judged.status != Status::Unknown
    })
}

/// What a reading says against an answer, in words.
pub fn contradiction(model: &Model, answer: &Answer) -> Option<String> {
    let diagnosed = model.diagnosed();
    let found = read_since(&diagnosed.found, answer)?;
    let is_good = matches!(found.judged.status, Status::Pass | Status::Info);
    let contradicts = match answer.said {
        Said::Yes => !is_good,
        Said::No => is_good,
        Said::Skipped | Said::Pasted => false,
    };
    contradicts.then(|| format!("but a reading says: {}; the reading counts", found.judged.title))
}

/// Notes an answer; an earlier one to the same question gives way.
pub fn note(model: &mut Model, check: &str, subject: &EntityId, text: &str, said: Said) {
    let at = model.now;
    let answers = &mut model.screen.wizard.answers;
    answers.retain(|answer| answer.check != check || answer.subject != *subject);
    answers.push(Answer { check: check.to_owned(), subject: subject.clone(), text: text.to_owned(), said, at });
}

/// What the user said no to and no reading contradicts or confirms: each a possible cause.
pub fn denied<'a>(model: &'a Model, walking: &Walking) -> Vec<&'a Answer> {
    let diagnosed = model.diagnosed();
    let checks: BTreeSet<&str> =
        walking.symptom().into_iter().flat_map(|symptom| symptom.steps).flat_map(|step| step.checks).copied().collect();
    let answers = model.screen.wizard.answers.iter();
    answers
        .filter(|answer| answer.said == Said::No && checks.contains(answer.check.as_str()))
        .filter(|answer| read_since(&diagnosed.found, answer).is_none())
        .collect()
}
