//! The rows of *Wizard* while it looks by itself: causes, the surest first, each with what shows it, what it explains, what
//! would settle it and what helps; then what cannot be told, what is worth knowing, and what is in order.

use std::collections::BTreeMap;

use super::super::condition::Gravity;
use super::super::model::Model;
use super::super::screen::Panel;
use super::super::table::{Cell, Origin, Row, RowKey};
use super::findings;
use super::scene::{Unread, unread};
use crate::diagnose::cause::{Cause, Found};
use crate::diagnose::check::{Exhibit, Lack};
use crate::diagnose::document::reading_of;
use crate::diagnose::finding::{Confidence, Status};
use crate::fabric::Entity;

/// All of it.
pub fn rows(model: &Model) -> Vec<(String, Vec<Row>)> {
    let diagnosed = model.diagnosed();
    let mut sections = Vec::new();
    for (place, cause) in diagnosed.diagnosis.causes.iter().enumerate() {
        let judged = &cause.found.judged;
        let title = format!("{}. {} {}", place + 1, judged.status.name(), confidence(judged.confidence));
        sections.push((title, of_cause(model, cause, place)));
    }
    let rest = &diagnosed.diagnosis.rest;
    let of = |status: Status| rest.iter().filter(move |found| found.judged.status == status);
    let unread = unread(model);
    // What waits for a target that is being read is no riddle: it is counted with the target.
    let waits_for = |found: &Found, one: &Unread| {
        one.is_coming && found.judged.lack == Some(Lack::Unreached) && found.judged.title.contains(&*one.why)
    };
    let (waiting, open): (Vec<&Found>, Vec<&Found>) =
        of(Status::Unknown).partition(|found| unread.iter().any(|one| waits_for(found, one)));
    let open: Vec<Row> = open.into_iter().enumerate().map(|(place, found)| unknown(found, place)).collect();
    let not_read: Vec<Row> = unread
        .iter()
        .enumerate()
        .map(|(place, one)| {
            let names_it = |found: &&&Found| {
                found.judged.subject.target == one.target || found.judged.title.contains(one.target.as_str())
            };
            let count = waiting.iter().filter(|found| waits_for(found, one)).filter(names_it).count();
            not_read(one, place, count)
        })
        .collect();
    let known: Vec<Row> = of(Status::Info).enumerate().map(|(place, found)| info(model, found, place)).collect();
    let mut passed: BTreeMap<&str, usize> = BTreeMap::new();
    for found in of(Status::Pass) {
        *passed.entry(found.check.layer()).or_default() += 1;
    }
    if diagnosed.diagnosis.causes.is_empty() && !passed.is_empty() {
        let row = if unread.is_empty() {
            row("none", "none", 0, vec![Cell::said("no check finds anything wrong", Gravity::Good)])
        } else {
            let text = format!("nothing wrong in what was read; {}: see below", how_many(&unread, model));
            row("none", "so far", 0, vec![Cell::said(text, Gravity::Unknown)])
        };
        sections.push(("Causes".to_owned(), vec![row]));
    }
    if !(diagnosed.diagnosis.causes.is_empty() && passed.is_empty()) {
        sections.push(("Not read yet".to_owned(), not_read));
    }
    sections.push(("Cannot be told".to_owned(), open));
    sections.push(("Worth knowing".to_owned(), known));
    let passed = passed.into_iter().enumerate().map(|(place, (layer, count))| {
        let noun = if count == 1 { "check passes" } else { "checks pass" };
        row("passed", layer, place, vec![Cell::said(format!("{count} {noun}"), Gravity::Good)])
    });
    sections.push(("In order".to_owned(), passed.collect()));
    sections
}

/// How many targets were not read to their ends, in words: `2 of 7 targets are not read to the end`.
fn how_many(unread: &[Unread], model: &Model) -> String {
    let verb = if unread.len() == 1 { "is" } else { "are" };
    format!("{} of {} targets {verb} not read to the end", unread.len(), model.targets.len())
}

/// A target that was not read to its end, with how many findings wait for it.
fn not_read(one: &Unread, place: usize, waiting: usize) -> Row {
    let gravity = if one.is_coming { Gravity::Unknown } else { Gravity::Warning };
    let mut cells = vec![Cell::said(&*one.why, gravity)];
    match waiting {
        0 => {}
        1 => cells.push(Cell::said("1 answer waits for it", Gravity::Neutral)),
        more => cells.push(Cell::said(format!("{more} answers wait for it"), Gravity::Neutral)),
    }
    row("unread", one.target.as_str(), place, cells)
}

fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Proved => "proved",
        Confidence::Likely => "likely",
        Confidence::Possible => "possible",
    }
}

/// How a status is drawn.
pub fn gravity(status: Status) -> Gravity {
    match status {
        Status::Fail => Gravity::Bad,
        Status::Warn => Gravity::Warning,
        Status::Info => Gravity::Neutral,
        Status::Pass => Gravity::Good,
        Status::Unknown => Gravity::Unknown,
    }
}

fn row(of: &str, label: &str, place: usize, cells: Vec<Cell>) -> Row {
    Row { key: RowKey::Entity(Entity::Guest, format!("{of}-{place}").into()), label: label.to_owned(), cells }
}

/// A cell of what shows something, with where it was read.
pub fn shown(model: &Model, exhibit: &Exhibit, gravity: Gravity) -> Cell {
    let text = format!("{}: {}", exhibit.about.target, exhibit.says);
    let source = match exhibit.attribute {
        Some(attribute) => Some(Origin::Reading(exhibit.about.clone(), attribute)),
        None => reading_of(exhibit, &model.fabric).map(|reading| Origin::Line(reading.source.clone(), reading.line)),
    };
    Cell { text, gravity, source }
}

/// The name of the rows of a cause, without their number.
pub fn name(cause: &Cause) -> String {
    format!("{} {}", cause.found.check.id, cause.found.judged.subject)
}

/// The cause that a row of *Wizard*, of the findings in *Path*, or the selected event is about.
pub fn selected_cause(model: &Model) -> Option<Cause> {
    if model.screen.panel == Panel::Events {
        let event = model.selected_event()?;
        let (about, diagnosed) = (event.entity.as_ref()?, model.diagnosed());
        let causes = &diagnosed.diagnosis.causes;
        // The title of a finding may hold numbers that moved since: an alert is known by its check and what it is about.
        if let Some(alert) = model.alerts.of_event(event.number) {
            let is_alert =
                |found: &Found| found.check.id == alert.check.as_str() && found.judged.subject == alert.subject;
            let cause = causes.iter().find(|cause| is_alert(&cause.found) || cause.symptoms.iter().any(is_alert));
            if cause.is_some() {
                return cause.cloned();
            }
        }
        // What only follows from a cause is helped by what helps against that.
        let is_told = |found: &Found| found.judged.subject == *about && is_told_in(found, &event.text);
        return causes.iter().find(|cause| is_told(&cause.found) || cause.symptoms.iter().any(is_told)).cloned();
    }
    let (row, _) = super::super::table::selected(model)?;
    let RowKey::Entity(_, word) = &row.key else { return None };
    let (named, _) = word.rsplit_once('-')?;
    let diagnosed = model.diagnosed();
    diagnosed.diagnosis.causes.iter().find(|cause| name(cause) == named).cloned()
}

/// True if an event tells of a finding: by its title, or that what the finding is about was moved to where it is.
fn is_told_in(found: &Found, text: &str) -> bool {
    let moved = found.check.id == "vm.host-qualifies" && text.contains(" moved from ");
    moved || text.contains(findings::short(&found.judged.subject.target, &found.judged.title))
}

/// All that there is to say of a cause.
pub fn of_cause(model: &Model, cause: &Cause, place: usize) -> Vec<Row> {
    let judged = &cause.found.judged;
    let of = name(cause);
    let mut rows = Vec::new();
    let mut push = |label: &str, cells: Vec<Cell>| {
        if !cells.is_empty() {
            let number = rows.len();
            rows.push(row(&of, label, place * 100 + number, cells));
        }
    };
    let said = |text: &str| Cell::said(text, Gravity::Neutral);
    let title = Cell {
        source: judged.evidence.first().and_then(|first| shown(model, first, Gravity::Bad).source),
        ..Cell::said(&judged.title, gravity(judged.status))
    };
    push("what", vec![title]);
    push("why", vec![said(&judged.cause)]);
    for exhibit in &judged.evidence {
        push("shown by", vec![shown(model, exhibit, Gravity::Neutral)]);
    }
    for exhibit in &judged.against {
        push("against", vec![shown(model, exhibit, Gravity::Warning)]);
    }
    for symptom in &cause.symptoms {
        push("explains", vec![said(&symptom.judged.title)]);
    }
    if !judged.decide.is_empty() {
        push("settled by", vec![said(&judged.decide)]);
    }
    for cure in &judged.cures {
        let document = cure.document();
        push("helps", vec![said(&document.title), Cell::said(format!("risk: {}", document.risk), Gravity::Neutral)]);
        for command in &document.commands {
            push("command", vec![said(command)]);
        }
        if !document.undo.is_empty() {
            push("undo", vec![said(&document.undo)]);
        }
    }
    push("check", vec![said(cause.found.check.id)]);
    rows
}

fn unknown(found: &Found, place: usize) -> Row {
    let judged = &found.judged;
    let cells = vec![
        Cell::said(&judged.title, Gravity::Unknown),
        Cell::said(format!("would tell: {}", judged.decide), Gravity::Neutral),
    ];
    row("unknown", found.check.id, place, cells)
}

fn info(model: &Model, found: &Found, place: usize) -> Row {
    let source = found.judged.evidence.first().and_then(|first| shown(model, first, Gravity::Neutral).source);
    let cell = Cell { source, ..Cell::said(&found.judged.title, Gravity::Neutral) };
    row("info", found.check.id, place, vec![cell])
}
