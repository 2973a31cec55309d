//! The list of what changed since the last healthy snapshot: what stood there, what stands there now, which cause stands on
//! it; then what could not be compared, and why.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::super::condition::Gravity;
use super::super::evidence::Evidence;
use super::super::format;
use super::super::model::Model;
use super::{Standing, standing};
use crate::diagnose::since::{Changed, Nearness, What};
use crate::fabric::{Attribute, EntityId, Fabric, Observation, State, TargetId, Value};

/// The open list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthyView {
    /// The selected entry.
    pub selected: usize,
    /// True if what stands there now is selected, not what stood there.
    pub now: bool,
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Something changed.
    Changed {
        /// Of what: `pv-a netdev ens192 MTU`.
        what: String,
        /// What stood there.
        before: String,
        /// What stands there now.
        after: String,
        /// When, and which cause stands on it; may be empty.
        beside: String,
        /// How it stands.
        gravity: Gravity,
    },
    /// A sentence of the program's own.
    Said(String),
}

/// What the comparison is made with, in a sentence.
pub fn heading(model: &Model) -> String {
    let healthy = &model.healthy;
    if let Some(newest) = healthy.baseline.as_ref().and_then(|baseline| baseline.newest()) {
        let day = newest.at.strftime("%Y-%m-%d %H:%M UTC");
        let age = format::age(newest.at, model.now);
        let age = if age == "now" { "just now".to_owned() } else { format!("{age} ago") };
        return format!("since {day}, {age}: {}", newest.file);
    }
    if !model.options.keeps_healthy {
        return "no healthy snapshots are kept here: this is the demo, or healthy_days is 0".to_owned();
    }
    if !healthy.is_read {
        return "healthy snapshots are being read".to_owned();
    }
    if healthy.trouble.is_some() {
        return "healthy snapshots cannot be read or kept now, as told below; all else goes on".to_owned();
    }
    match healthy.passed_over.len() {
        0 => {}
        1 => return "there is a healthy snapshot, and it cannot be used: why stands below".to_owned(),
        more => return format!("there are {more} healthy snapshots, and none can be used: why stands below"),
    }
    "there is no healthy snapshot yet: one is saved each day as soon as all was read and nothing is wrong".to_owned()
}

/// All entries.
pub fn entries(model: &Model) -> Vec<Entry> {
    let mut entries: Vec<Entry> = changes(model).iter().map(|one| entry(model, one)).collect();
    let diagnosed = model.diagnosed();
    if let (Some(since), true) = (&diagnosed.since, entries.is_empty()) {
        let whole = model.order.iter().any(|id| !matches!(standing(model, id), Standing::Not(_)));
        if whole && since.changes.is_empty() {
            entries.push(Entry::Said("nothing that can be compared has changed".to_owned()));
        }
    }
    entries.extend(notes(model).into_iter().map(Entry::Said));
    entries
}

/// The changes as the checks found them last.
fn changes(model: &Model) -> Vec<Changed> {
    model.diagnosed().since.as_ref().map(|since| since.changes.clone()).unwrap_or_default()
}

/// What could not be compared, and why.
fn notes(model: &Model) -> Vec<String> {
    let healthy = &model.healthy;
    // What went wrong with files comes first: it can be mended.
    let mut notes: Vec<String> = healthy.trouble.iter().map(ToString::to_string).collect();
    notes.extend(healthy.passed_over.iter().map(|text| format!("passed over: {text}")));
    if let Some(baseline) = &healthy.baseline {
        let newest = baseline.newest().map(|kept| kept.at);
        let known: BTreeSet<&TargetId> = model.order.iter().chain(baseline.targets.keys()).collect();
        for id in known {
            match standing(model, id) {
                Standing::Whole => {}
                Standing::Partly(why) | Standing::Not(why) => notes.push(format!("{id} {why}")),
            }
            if let Some(kept) = baseline.targets.get(id).filter(|kept| Some(kept.at) != newest) {
                notes.push(format!("{id} is compared with an older one, {}", kept.file));
            }
        }
    }
    if let Some(unread) = model.diagnosed().since.as_ref().map(|since| since.unread).filter(|unread| *unread > 0) {
        let noun = if unread == 1 { "value" } else { "values" };
        notes.push(format!("{unread} {noun} could be read on one side only"));
    }
    notes
}

/// The words for both sides of a change.
fn sides(what: &What) -> (String, String) {
    match what {
        What::Value(one) => {
            if let (Some(State::Known(Value::List(old))), Some(State::Known(Value::List(new)))) =
                (&one.before, &one.after)
            {
                let only = |these: &[crate::fabric::Text], others: &[crate::fabric::Text]| {
                    let only: Vec<&str> =
                        these.iter().filter(|item| !others.contains(item)).map(crate::fabric::Text::as_str).collect();
                    only.join(", ")
                };
                let (gone, new) = (only(old, new), only(new, old));
                let or_none = |text: String| if text.is_empty() { "nothing else".to_owned() } else { text };
                if !gone.is_empty() || !new.is_empty() {
                    return (or_none(gone), or_none(new));
                }
            }
            let word = |state: &Option<State<Value>>| match state {
                Some(state) => format::state(one.attribute, state),
                None => "not told".to_owned(),
            };
            (word(&one.before), word(&one.after))
        }
        What::Appeared(_) => ("not there".to_owned(), "there".to_owned()),
        What::Gone(_) => ("there".to_owned(), "not there".to_owned()),
        What::Moved(one) => (one.from.target.to_string(), one.to.target.to_string()),
    }
}

fn fabric_of<'a>(model: &'a Model, what: &What) -> &'a Fabric {
    match (&model.healthy.baseline, what) {
        (Some(baseline), What::Gone(_)) => &baseline.fabric,
        _ => &model.fabric,
    }
}

fn label(what: &What) -> &'static str {
    match what {
        What::Value(one) => one.attribute.label(),
        What::Moved(_) => "host",
        What::Appeared(_) | What::Gone(_) => "",
    }
}

/// A change as an item of evidence: `changed since 2026-11-29: MTU of netdev ens192 from 9000 to 1500`.
pub fn sentence(model: &Model, one: &Changed) -> String {
    let name = format::named(fabric_of(model, &one.what), one.what.about());
    let (before, after) = sides(&one.what);
    let day = super::day(one.since);
    let when = one.seen.map_or(String::new(), |at| format!(", seen at {}", at.strftime("%H:%M:%S UTC")));
    match &one.what {
        What::Value(_) => {
            format!("changed since {day}{when}: {} of {name} from {before} to {after}", label(&one.what))
        }
        What::Appeared(_) => format!("changed since {day}{when}: {name} was not there"),
        What::Gone(_) => format!("changed since {day}{when}: {name} is gone"),
        What::Moved(_) => format!("changed since {day}{when}: {name} moved here from {before}"),
    }
}

fn entry(model: &Model, one: &Changed) -> Entry {
    let about = one.what.about();
    let (before, after) = sides(&one.what);
    let name = format::named(fabric_of(model, &one.what), about);
    let mut beside = Vec::new();
    if let Some((near, place)) = one.near {
        let words = match near {
            Nearness::Evidence => "shows cause",
            Nearness::Thing => "is what cause is about:",
            Nearness::Way => "on the way of cause",
        };
        beside.push(format!("{words} {}", place + 1));
    }
    if let Some(at) = one.seen {
        beside.push(format!("seen {} ago", format::age(at, model.now)));
    }
    let gravity = match one.near {
        Some((Nearness::Evidence | Nearness::Thing, _)) => Gravity::Warning,
        _ => Gravity::Neutral,
    };
    let what = format!("{} {name} {}", about.target, label(&one.what)).trim_end().to_owned();
    Entry::Changed { what, before, after, beside: beside.join(", "), gravity }
}

/// Moves the selection and stays within the list.
pub fn moved(model: &Model, view: HealthyView, steps: isize) -> HealthyView {
    let last = entries(model).len().saturating_sub(1);
    HealthyView { selected: view.selected.min(last).saturating_add_signed(steps).min(last), ..view }
}

/// The selected entry as one line, for the clipboard.
pub fn line(model: &Model, view: HealthyView) -> Option<String> {
    let entries = entries(model);
    Some(match entries.get(view.selected.min(entries.len().checked_sub(1)?))? {
        Entry::Changed { what, before, after, .. } => format!("{what}: {before} -> {after}"),
        Entry::Said(text) => text.clone(),
    })
}

/// Evidence for the selected side of the selected entry.
pub fn evidence(model: &Model, view: HealthyView) -> Option<Evidence> {
    let changes = changes(model);
    let one = changes.get(view.selected)?;
    let id = match (&one.what, view.now) {
        (What::Moved(one), false) => &one.from,
        (what, _) => what.about(),
    };
    if view.now {
        let attribute = one.what.attribute().or_else(|| first_told(&model.fabric, id))?;
        return Evidence::of_reading(model.sources(), id, attribute);
    }
    let baseline = model.healthy.baseline.as_ref()?;
    let attribute = one.what.attribute().or_else(|| first_told(&baseline.fabric, id))?;
    let reading = baseline.fabric.reading(id, attribute)?;
    let kept = baseline.targets.get(&id.target)?;
    let observation = baseline.observations.get(&reading.source);
    let line = observation.and_then(|read| line_of(read, reading.line)).unwrap_or(0);
    Some(Evidence {
        title: format!("{} {} when all was well", id.entity, attribute.label()),
        conclusion: format!("{}: from {}", format::state(attribute, &reading.state), kept.file),
        reference: reading.source.clone(),
        observation: observation.cloned(),
        line,
        scroll: usize::try_from(line).unwrap_or(0).saturating_sub(4),
        search: String::new(),
    })
}

/// The first property of a thing that has a line.
fn first_told(fabric: &Fabric, id: &EntityId) -> Option<Attribute> {
    let readings = fabric.readings(id);
    let with_line = readings.iter().find(|(_, reading)| reading.line > 0);
    with_line.or_else(|| readings.iter().next()).map(|(attribute, _)| *attribute)
}

/// In which line of what was kept of a command stands this line of its output.
fn line_of(read: &Observation, line: u32) -> Option<u32> {
    let start = format!("line {line}: ");
    read.lines().find(|(_, text)| text.starts_with(&start)).map(|(number, _)| number)
}
