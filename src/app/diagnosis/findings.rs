//! What calls for attention on each target, kept with it so that the tree, the header and the events tell it wherever one
//! looks: the causes of the diagnosis. The checks run with the clock, some time after something that matters was read, and
//! not for each thing that is read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::events::Event;
use super::super::message::Severity;
use super::super::model::Model;
use crate::diagnose::cause::Cause;
use crate::diagnose::document::reading_of;
use crate::diagnose::finding::{Confidence, Status};
use crate::fabric::attribute::Class;
use crate::fabric::{Change, EntityId, TargetId};

/// How long after they ran the checks run again at the earliest, in seconds; for each sixteen targets the same once more.
const REST_SECONDS: i64 = 2;

/// Counters move without anything that is told: how long the checks may rest while only they do, in seconds.
const COUNTERS_SECONDS: i64 = 30;

/// One thing that calls for attention.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// How grave: a warning or an error.
    pub severity: Severity,
    /// What it is, in a sentence.
    pub text: String,
}

/// True if what was read says anything that a check could judge otherwise: what moves by itself does not.
pub fn is_news(changes: &[Change]) -> bool {
    changes.iter().any(|change| match change {
        Change::Changed { attribute, .. } => attribute.class() != Class::Measure,
        Change::Appeared(_) | Change::Vanished(_) => true,
    })
}

/// The words of a finding without the name of its target at their head, which stands beside them.
pub fn short<'a>(target: &TargetId, text: &'a str) -> &'a str {
    text.strip_prefix(target.as_str()).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(text)
}

/// A finding and the cause behind it.
type Told = (Finding, Cause);

fn of_causes(model: &Model) -> BTreeMap<TargetId, BTreeMap<String, Told>> {
    let mut told: BTreeMap<TargetId, BTreeMap<String, Told>> = BTreeMap::new();
    for cause in &model.diagnosed().diagnosis.causes {
        let judged = &cause.found.judged;
        // What is no more than possible, and no failure, stands in *Wizard*; it raises no alarm.
        if judged.status == Status::Warn && judged.confidence == Confidence::Possible {
            continue;
        }
        let severity = if judged.status == Status::Fail { Severity::Error } else { Severity::Warning };
        let finding = Finding { severity, text: judged.title.clone() };
        let key = format!("{} {}", cause.found.check.id, judged.subject.entity);
        told.entry(judged.subject.target.clone()).or_default().insert(key, (finding, cause.clone()));
    }
    told
}

/// Runs the checks if something was read that they could judge otherwise, and tells what came and what went since.
pub fn judge(model: &mut Model) {
    let since = model.now.duration_since(model.judged_at).as_secs();
    let targets = i64::try_from(model.targets.len()).unwrap_or(i64::MAX);
    let is_due = if model.unjudged { since >= REST_SECONDS * (1 + targets / 16) } else { since >= COUNTERS_SECONDS };
    if is_due {
        judge_now(model);
    }
}

/// Runs the checks now, and tells what came and what went since.
pub fn judge_now(model: &mut Model) {
    model.check();
    super::super::moves::tell(model);
    let mut now = of_causes(model);
    let targets: Vec<TargetId> = model.targets.keys().cloned().collect();
    for id in targets {
        let now = now.remove(&id).unwrap_or_default();
        let kept = now.iter().map(|(key, (finding, _))| (key.clone(), finding.clone())).collect();
        let Some(target) = model.targets.get_mut(&id) else { continue };
        let before = std::mem::replace(&mut target.findings, kept);
        for (key, (finding, cause)) in &now {
            if before.get(key).is_none_or(|known| known.severity < finding.severity) {
                let text = format!("attention: {}", short(&id, &finding.text));
                let event = tell(model, &id, finding.severity, text, Some(cause));
                model.alerts.raised(&id, key, finding, cause, model.now, event);
            }
        }
        for (key, finding) in before.iter().filter(|(key, _)| !now.contains_key(*key)) {
            let event = tell(model, &id, Severity::Info, format!("no longer: {}", short(&id, &finding.text)), None);
            model.alerts.cleared(&id, key, model.now, event);
        }
    }
}

/// Its number is returned.
fn tell(model: &mut Model, target: &TargetId, severity: Severity, text: String, cause: Option<&Cause>) -> u64 {
    let judged = cause.map(|cause| &cause.found.judged);
    let reading = judged
        .and_then(|judged| judged.evidence.first())
        .and_then(|exhibit| reading_of(exhibit, &model.fabric))
        .map(|reading| (reading.source.clone(), reading.line));
    let entity: Option<EntityId> = judged.map(|judged| judged.subject.clone());
    if let Some((reference, _)) = &reading {
        model.raw.cite(reference);
    }
    let (evidence, line) = reading.map_or((None, 0), |(reference, line)| (Some(reference), line));
    model.events.push(Event {
        number: 0,
        at: model.now,
        target: Some(target.clone()),
        severity,
        text,
        entity,
        evidence,
        line,
    })
}
