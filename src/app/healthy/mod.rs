//! The last time when nothing was wrong: once a day what is set on the targets is kept in a snapshot, and the console
//! compares what it reads with the last one. Files are written and read elsewhere; what they hold comes in as messages, so
//! that a recording replays the same comparison.

mod compare;
#[cfg(test)]
mod tests;
pub mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use compare::{Standing, compare, note_seen, standing};

use super::effect::Effect;
use super::events::Event;
use super::message::Severity;
use super::model::{Model, TargetKind};
use crate::diagnose::cause::Cause;
use crate::diagnose::difference::is_kept;
use crate::diagnose::finding::{Confidence, Status};
use crate::diagnose::since::is_secret;
use crate::fabric::{
    Attribute, EntityId, Fabric, Fact, Observation, ObservationRef, Report, SourceId, TargetId, Text, Timestamp,
};

/// What the facts of a healthy snapshot are told as.
const PROBE: &str = "healthy-snapshot";

/// Most snapshots that were passed over that are told one by one.
const MOST_PASSED_OVER: usize = 3;

/// Something that is new of healthy snapshots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HealthyNews {
    /// What was kept of one target. All parts come before [`HealthyNews::Read`].
    Part(Report),
    /// All that there is was read.
    Read(Box<HealthyRead>),
    /// Snapshots cannot be read or kept: why, and what to do.
    Trouble(Text),
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HealthyRead {
    /// Of which targets, and from where.
    pub targets: BTreeMap<TargetId, KeptTarget>,
    /// Snapshots that could not be used, each with the reason.
    pub passed_over: Vec<Text>,
    /// True if the newest one was kept by this console just now.
    pub is_new: bool,
}

/// Where a target was read in good health.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptTarget {
    /// When the snapshot was made.
    pub at: Timestamp,
    /// The file that it is in.
    pub file: Text,
}

/// What is compared with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// Which targets are in it.
    pub targets: BTreeMap<TargetId, KeptTarget>,
    /// What was known of them.
    pub fabric: Fabric,
    /// What the values were read from: the lines that were kept of each command.
    pub observations: BTreeMap<ObservationRef, Arc<Observation>>,
}

impl Baseline {
    /// The snapshot that was made last.
    pub fn newest(&self) -> Option<&KeptTarget> {
        self.targets.values().max_by_key(|kept| kept.at)
    }

    /// When each target was read.
    pub fn times(&self) -> BTreeMap<TargetId, Timestamp> {
        self.targets.iter().map(|(id, kept)| (id.clone(), kept.at)).collect()
    }
}

/// What the console knows of healthy snapshots.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Healthy {
    /// What is compared with; `None` while there is nothing.
    pub baseline: Option<Arc<Baseline>>,
    /// Parts that came so far of what is being read.
    coming: Baseline,
    /// Snapshots that could not be used, each with the reason.
    pub passed_over: Vec<Text>,
    /// True once it is known which snapshots there are.
    pub is_read: bool,
    /// Why snapshots cannot be read or kept, if that went wrong last.
    pub trouble: Option<Text>,
    /// The day for which keeping one was asked last.
    asked: Option<Text>,
    /// When changes were first seen: `None` for those that were there when their target was first compared.
    seen: BTreeMap<(EntityId, Option<Attribute>), Option<Timestamp>>,
    /// Targets that were compared last time.
    compared: BTreeSet<TargetId>,
}

/// What is to be kept.
#[derive(Clone, Debug)]
pub struct ToKeep {
    /// When the checks found nothing wrong.
    pub at: Timestamp,
    /// The targets, with the words for what they are.
    pub targets: Vec<(TargetId, TargetKind)>,
    /// All targets that the console knows, for what is read afterwards.
    pub wanted: Vec<TargetId>,
    /// What is known.
    pub fabric: Arc<Fabric>,
    /// What it was read from.
    pub observations: Vec<Arc<Observation>>,
}

impl PartialEq for ToKeep {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at && self.targets == other.targets && Arc::ptr_eq(&self.fabric, &other.fabric)
    }
}

impl Eq for ToKeep {}

impl ToKeep {
    /// What of it is kept: what can be compared later, and nothing that may be a secret.
    pub fn kept(&self) -> Fabric {
        let mut kept = Fabric::default();
        for (target, _) in &self.targets {
            let mut facts = Vec::new();
            for entity in self.fabric.entities(target) {
                let readings = self.fabric.readings(&EntityId::new(target, entity.clone()));
                let open = readings
                    .into_iter()
                    .filter(|(attribute, reading)| is_kept(entity, *attribute) && !is_secret(entity, &reading.state));
                facts.extend(open.map(|(attribute, reading)| Fact {
                    entity: entity.clone(),
                    attribute,
                    reading: reading.clone(),
                }));
            }
            let (probe, observations) = (SourceId::new(PROBE), Vec::new());
            kept.apply(&Report { target: target.clone(), probe, observations, facts });
        }
        kept
    }
}

/// The day of a time, in UTC: `2026-11-30`.
pub fn day(at: Timestamp) -> Text {
    Text::new(&at.strftime("%Y-%m-%d").to_string())
}

/// Takes in what is new.
pub(super) fn news(model: &mut Model, at: Timestamp, news: HealthyNews) {
    model.now = model.now.max(at);
    let healthy = &mut model.healthy;
    match news {
        HealthyNews::Part(report) => {
            healthy.coming.fabric.apply(&report);
            let read = report.observations.into_iter().map(|read| (read.reference(), read));
            healthy.coming.observations.extend(read);
        }
        HealthyNews::Read(read) => {
            let mut baseline = std::mem::take(&mut healthy.coming);
            baseline.targets = read.targets;
            let told: Vec<Text> =
                read.passed_over.iter().filter(|text| !healthy.passed_over.contains(text)).cloned().collect();
            healthy.passed_over = read.passed_over;
            healthy.is_read = true;
            healthy.trouble = None;
            // Of what changed since another snapshot nobody knows when.
            healthy.seen.clear();
            healthy.compared.clear();
            let newest = baseline.newest().map(|kept| day(kept.at));
            healthy.baseline = (!baseline.targets.is_empty()).then(|| Arc::new(baseline));
            model.unjudged = true;
            for text in told.iter().take(MOST_PASSED_OVER) {
                tell(model, Severity::Warning, format!("a healthy snapshot is passed over: {text}"));
            }
            match newest {
                Some(day) if read.is_new => {
                    tell(model, Severity::Info, format!("nothing is wrong: the healthy snapshot of {day} was saved"));
                }
                Some(day) => {
                    tell(model, Severity::Info, format!("what is read is compared with the healthy snapshot of {day}"));
                }
                None => {}
            }
        }
        HealthyNews::Trouble(text) => {
            model.screen.notice = Some((text.to_string(), model.now));
            tell(model, Severity::Warning, text.to_string());
            let healthy = &mut model.healthy;
            (healthy.is_read, healthy.trouble) = (true, Some(text));
            healthy.coming = Baseline::default();
        }
    }
}

fn tell(model: &mut Model, severity: Severity, text: String) {
    let at = model.now;
    let event = Event { number: 0, at, target: None, severity, text, entity: None, evidence: None, line: 0 };
    model.events.push(event);
}

/// Asks to keep a snapshot, if the checks just found nothing wrong for the first time of a day. The checks ran with this
/// message, and all that can be read was.
pub(super) fn keep(model: &mut Model) -> Vec<Effect> {
    if !model.options.keeps_healthy || !model.is_just_checked() || !model.healthy.is_read {
        return Vec::new();
    }
    let today = day(model.now);
    let newest = model.healthy.baseline.as_ref().and_then(|baseline| baseline.newest()).map(|kept| day(kept.at));
    if newest.as_ref() == Some(&today) || model.healthy.asked.as_ref() == Some(&today) {
        return Vec::new();
    }
    let Some(targets) = compare::in_full(model) else { return Vec::new() };
    if targets.is_empty() || model.diagnosed().diagnosis.causes.iter().any(|cause| is_alarm(model, cause)) {
        return Vec::new();
    }
    let observations =
        model.raw.all_newest().filter(|read| targets.iter().any(|(id, _)| *id == read.target)).cloned().collect();
    model.healthy.asked = Some(today);
    vec![Effect::KeepHealthy(Box::new(ToKeep {
        at: model.now,
        targets,
        wanted: model.order.clone(),
        fabric: Arc::new(model.fabric.clone()),
        observations,
    }))]
}

/// True for a cause because of which a site is not in good health: what raises an alarm in the tree, and is not accepted.
fn is_alarm(model: &Model, cause: &Cause) -> bool {
    let judged = &cause.found.judged;
    let today = model.now.to_zoned_datetime(jiff::tz::TimeZone::UTC).date();
    let is_accepted = model.options.site.accepted.iter().any(|one| {
        one.expires.is_none_or(|last| today <= last)
            && one.check == *cause.found.check.id
            && one.target.as_ref().is_none_or(|target| **target == *judged.subject.target.as_str())
    });
    let is_only_possible = judged.status == Status::Warn && judged.confidence == Confidence::Possible;
    !is_accepted && !is_only_possible
}
