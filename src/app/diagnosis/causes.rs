//! The rows of *Wizard* while it looks by itself: causes, the surest first, each with what shows it, what it explains, what
//! would settle it and what helps; then what cannot be told, what is worth knowing, and what is in order.

use std::collections::BTreeMap;

use super::super::condition::Gravity;
use super::super::model::Model;
use super::super::table::{Cell, Origin, Row, RowKey};
use crate::diagnose::cause::{Cause, Found};
use crate::diagnose::check::Exhibit;
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
    let open: Vec<Row> = of(Status::Unknown).enumerate().map(|(place, found)| unknown(found, place)).collect();
    let known: Vec<Row> = of(Status::Info).enumerate().map(|(place, found)| info(model, found, place)).collect();
    let mut passed: BTreeMap<&str, usize> = BTreeMap::new();
    for found in of(Status::Pass) {
        *passed.entry(found.check.layer()).or_default() += 1;
    }
    if diagnosed.diagnosis.causes.is_empty() && !passed.is_empty() {
        let cells = vec![Cell::said("no check finds anything wrong", Gravity::Good)];
        sections.push(("Causes".to_owned(), vec![row("none", "none", 0, cells)]));
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

/// The cause that a row of *Wizard*, or of the findings in *Path*, is about.
pub fn selected_cause(model: &Model) -> Option<Cause> {
    let (row, _) = super::super::table::selected(model)?;
    let RowKey::Entity(_, word) = &row.key else { return None };
    let (named, _) = word.rsplit_once('-')?;
    let diagnosed = model.diagnosed();
    diagnosed.diagnosis.causes.iter().find(|cause| name(cause) == named).cloned()
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
