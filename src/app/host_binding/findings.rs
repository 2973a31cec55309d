//! What calls for attention on a host, kept with the target so that the tree, the header and the events tell it wherever
//! one looks. It is judged with the clock, once after whatever was read since, and not for each thing that is read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::condition::Gravity;
use super::super::events::Event;
use super::super::message::Severity;
use super::super::model::Model;
use super::super::table::{Origin, Row, RowKey};
use super::{hosts, one};
use crate::fabric::{Entity, EntityId, ObservationRef, TargetId};

/// One thing that calls for attention.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// How grave: a warning or an error.
    pub severity: Severity,
    /// What it is, in a sentence: `ruleset pvrdma: closed: PVRDMA cannot set up RDMA`.
    pub text: String,
}

/// A finding, where it is read, and what it is about.
type Judged = (Finding, Option<Origin>, EntityId);

/// What calls for attention now, by what it is about, each with where that is read.
fn of_host(model: &Model, host: &TargetId) -> BTreeMap<String, Judged> {
    let rows = one::attention(model, host);
    rows.iter().filter_map(|row| judged(host, row)).collect()
}

fn judged(host: &TargetId, row: &Row) -> Option<(String, Judged)> {
    let RowKey::Entity(entity, word) = &row.key else { return None };
    // Lines of logs happened once: they neither last nor end.
    if matches!(entity, Entity::LogMessage { .. } | Entity::KernelMessage { .. }) {
        return None;
    }
    let worst = row.gravity();
    let severity = if worst == Gravity::Bad { Severity::Error } else { Severity::Warning };
    let cell = row.cells.iter().find(|cell| cell.gravity == worst)?;
    let finding = Finding { severity, text: format!("{}: {}", row.label, cell.text) };
    let id = EntityId::new(host, entity.clone());
    Some((format!("{entity} {word}"), (finding, cell.source.clone(), id)))
}

/// Judges all hosts, and tells what came and what went since they were judged last.
pub(in crate::app) fn judge(model: &mut Model) {
    if !std::mem::take(&mut model.unjudged) {
        return;
    }
    let hosts: Vec<TargetId> = hosts(model).into_iter().cloned().collect();
    for host in hosts {
        let now = of_host(model, &host);
        let Some(target) = model.targets.get_mut(&host) else { continue };
        let kept = now.iter().map(|(key, (finding, ..))| (key.clone(), finding.clone())).collect();
        let before: BTreeMap<String, Finding> = std::mem::replace(&mut target.findings, kept);
        for (key, (finding, origin, entity)) in &now {
            if before.get(key).is_none_or(|known| known.severity < finding.severity) {
                let (evidence, line) = read_at(model, origin.as_ref());
                tell(
                    model,
                    &host,
                    finding.severity,
                    format!("attention: {}", finding.text),
                    Some(entity),
                    evidence,
                    line,
                );
            }
        }
        for (_, finding) in before.iter().filter(|(key, _)| !now.contains_key(*key)) {
            tell(model, &host, Severity::Info, format!("no longer: {}", finding.text), None, None, 0);
        }
    }
}

fn read_at(model: &Model, origin: Option<&Origin>) -> (Option<ObservationRef>, u32) {
    match origin {
        Some(Origin::Reading(id, attribute)) => {
            let reading = model.fabric.reading(id, *attribute);
            (reading.map(|reading| reading.source.clone()), reading.map_or(0, |reading| reading.line))
        }
        Some(Origin::Line(reference, line)) => (Some(reference.clone()), *line),
        None => (None, 0),
    }
}

fn tell(
    model: &mut Model,
    host: &TargetId,
    severity: Severity,
    text: String,
    entity: Option<&EntityId>,
    evidence: Option<ObservationRef>,
    line: u32,
) {
    if let Some(reference) = &evidence {
        model.raw.cite(reference);
    }
    let (at, target, entity) = (model.now, Some(host.clone()), entity.cloned());
    model.events.push(Event { number: 0, at, target, severity, text, entity, evidence, line });
}
