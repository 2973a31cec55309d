//! What a check said, as every document shows it: each exhibit becomes the target, the command, the time and the line that
//! it was read from.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::cause::Found;
use super::check::Exhibit;
use super::finding::{Evidence, Finding};
use crate::fabric::{Attribute, Fabric, Observation, ObservationRef, Reading, Text, Value};

/// Longest excerpt, in characters.
const EXCERPT: usize = 200;

/// Where raw output is found again.
pub trait Raw {
    /// The observation, if its text is at hand.
    fn observation(&self, reference: &ObservationRef) -> Option<&Observation>;
}

impl Raw for BTreeMap<ObservationRef, Arc<Observation>> {
    fn observation(&self, reference: &ObservationRef) -> Option<&Observation> {
        self.get(reference).map(|observation| &**observation)
    }
}

/// What a check said as a finding of a document.
pub fn finding(found: &Found, fabric: &Fabric, raw: &dyn Raw) -> Finding {
    let judged = &found.judged;
    Finding {
        check: found.check.id.to_owned(),
        status: judged.status,
        layer: found.check.layer().to_owned(),
        target: Some(judged.subject.target.0.clone()),
        subject: Text::new(&judged.subject.entity.to_string()),
        title: judged.title.clone(),
        cause: judged.cause.clone(),
        confidence: judged.confidence,
        evidence: judged.evidence.iter().map(|exhibit| evidence(exhibit, fabric, raw)).collect(),
        against: judged.against.iter().map(|exhibit| evidence(exhibit, fabric, raw)).collect(),
        decide: judged.decide.clone(),
        remedies: judged.cures.iter().map(super::remedy::Cure::document).collect(),
    }
}

/// One exhibit with where it was read. Without a line that could be quoted its own words stand for it.
pub fn evidence(exhibit: &Exhibit, fabric: &Fabric, raw: &dyn Raw) -> Evidence {
    let reading = reading_of(exhibit, fabric);
    let observation = reading.and_then(|reading| raw.observation(&reading.source));
    let line =
        reading.map(|reading| reading.line).filter(|line| *line > 0).map(|line| line.saturating_add(exhibit.below));
    let quoted = observation.zip(line).and_then(|(observation, line)| line_of(observation, line));
    let excerpt = match quoted {
        Some(quoted) if !quoted.trim().is_empty() => format!("{}: {}", exhibit.says, quoted.trim()),
        _ => exhibit.says.clone(),
    };
    Evidence {
        target: Some(exhibit.about.target.0.clone()),
        command: observation.map(|observation| Text::new(&observation.command)),
        at: reading.map(|reading| Text::new(&reading.at.to_string())),
        line,
        excerpt: Text::new(&excerpt.chars().take(EXCERPT).collect::<String>()),
    }
}

/// The reading that an exhibit stands on: of its property, else the first one of the thing that has a line.
pub fn reading_of<'a>(exhibit: &Exhibit, fabric: &'a Fabric) -> Option<&'a Reading<Value>> {
    if let (Some(attribute), Some(probe)) = (exhibit.attribute, &exhibit.by) {
        let mut opinions = fabric.opinions(&exhibit.about, attribute).into_iter();
        return opinions.find(|(by, _)| *by == probe).map(|(_, reading)| reading);
    }
    if let Some(attribute) = exhibit.attribute {
        return fabric.reading(&exhibit.about, attribute);
    }
    let readings = fabric.readings(&exhibit.about);
    let message = readings.get(&Attribute::Message).copied();
    message.or_else(|| readings.values().copied().find(|reading| reading.line > 0))
}

/// One line of an output, from 1.
fn line_of(observation: &Observation, line: u32) -> Option<&str> {
    let index = usize::try_from(line).ok()?.checked_sub(1)?;
    observation.stdout.lines().nth(index)
}
