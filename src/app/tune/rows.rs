//! The rows of the *Tune* panel: what would run between the two ends that are selected, what runs now with its curve, and what
//! came of the runs so far.

use super::{BenchRun, Standing, obstacle, planned};
use crate::app::condition::Gravity;
use crate::app::model::Model;
use crate::app::table::{self, Cell, Row, RowKey};
use crate::fabric::Entity;
use crate::tune::bench::ceiling::ceilings;
use crate::tune::bench::{Role, command};

/// Steps of a curve, the lowest first.
const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Samples of a curve.
const CURVE: usize = 40;
/// The port that command lines are shown with: another one is taken where it is in use.
const SHOWN_PORT: u16 = 18515;

/// All rows that the filter lets pass.
pub fn rows(model: &Model) -> Vec<Row> {
    let mut sections = Vec::new();
    if let Some(run) = model.tune.runs.back() {
        let title = if run.standing.is_busy() { "Now" } else { "Last run" };
        sections.push((title.to_owned(), shown(run)));
    }
    sections.push(("What would run".to_owned(), next(model)));
    let before: Vec<Row> = model.tune.runs.iter().rev().skip(1).map(brief).collect();
    if !before.is_empty() {
        sections.push(("Runs before".to_owned(), before));
    }
    table::sections(model, sections)
}

/// Why there are no rows.
pub fn why_none(_: &Model) -> String {
    "a benchmark needs two guests".to_owned()
}

fn row(word: String, label: impl Into<String>, cells: Vec<Cell>) -> Row {
    Row { key: RowKey::Entity(Entity::Guest, word.into()), label: label.into(), cells }
}

fn said(text: impl Into<String>) -> Cell {
    Cell::said(text, Gravity::Neutral)
}

fn next(model: &Model) -> Vec<Row> {
    let plan = match planned(model) {
        Ok(plan) => plan,
        Err(why) => return vec![row("next-none".into(), "nothing", vec![Cell::said(why, Gravity::Unknown)])],
    };
    let mut rows: Vec<Row> = plan
        .words()
        .into_iter()
        .enumerate()
        .map(|(place, words)| {
            row(format!("next-{place}"), if place == 0 { "benchmark" } else { "" }, vec![said(words)])
        })
        .collect();
    for (place, note) in plan.pair.notes.iter().enumerate() {
        rows.push(row(format!("next-note-{place}"), "mind", vec![said(note.clone())]));
    }
    if let Some(run) = plan.runs.first() {
        for (label, role) in [("server", Role::Server), ("client", Role::Client)] {
            let line = command(&plan, run, role, SHOWN_PORT).join(" ");
            rows.push(row(format!("next-command-{label}"), format!("{label} runs"), vec![said(line)]));
        }
    }
    let directions = if plan.asked.bidirectional { 2 } else { 1 };
    for (place, ceiling) in ceilings(&plan.pair, plan.mtu(), directions).into_iter().enumerate() {
        let label = if place == 0 { "ceilings" } else { "" };
        let cells = vec![said(format!("{:.2} Gb/s", ceiling.gigabits)), said(ceiling.name)];
        rows.push(row(format!("next-ceiling-{place}"), label, cells));
    }
    if let Some(why) = obstacle(model) {
        rows.push(row("next-obstacle".into(), "not now", vec![Cell::said(why, Gravity::Unknown)]));
    }
    rows
}

/// A run with all that is known of it.
fn shown(run: &BenchRun) -> Vec<Row> {
    let key = |word: &str| format!("run-{}-{word}", run.number);
    let mut rows = vec![brief(run)];
    if run.standing.is_busy() && !run.phase.as_str().is_empty() {
        rows.push(row(key("phase"), "", vec![said(run.phase.as_str())]));
    }
    if let Some((_, newest)) = run.samples.back() {
        let unit = if run.in_packets { "packets/s".to_owned() } else { "Gb/s".to_owned() };
        let number = if run.in_packets { format!("{newest:.0} {unit}") } else { format!("{newest:.2} {unit}") };
        rows.push(row(key("live"), "live", vec![said(number), said(curve(run))]));
    }
    for (place, result) in run.rows.iter().rev().take(23).enumerate() {
        let value = match (result.gigabits, result.microseconds) {
            (Some(gigabits), _) => format!("{gigabits:.2} Gb/s"),
            (None, Some(microseconds)) => format!("{microseconds:.2} us"),
            (None, None) => "no number".to_owned(),
        };
        let label = if place == 0 { "results" } else { "" };
        rows.push(row(key(&format!("row-{place}")), label, vec![said(format!("{} B", result.bytes)), said(value)]));
    }
    if let Some(stated) = &run.stated {
        rows.push(row(key("ceiling"), "against", vec![said(stated.clone())]));
    }
    if let Standing::Failed(why) = &run.standing {
        rows.push(row(key("why"), "why", vec![Cell::said(why.as_str(), Gravity::Bad)]));
    }
    rows
}

/// A run in a line.
fn brief(run: &BenchRun) -> Row {
    let (word, gravity) = match &run.standing {
        Standing::Running => ("runs", Gravity::Neutral),
        Standing::Ending => ("is being ended on both sides", Gravity::Neutral),
        Standing::Done => ("done", Gravity::Good),
        Standing::Failed(_) => ("did not end well", Gravity::Bad),
    };
    let seconds = run.ended.map(|ended| ended.duration_since(run.began).as_secs());
    let mut cells =
        vec![Cell::said(word, gravity), said(format!("{} from {} to {}", run.title, run.ends.1, run.ends.0))];
    if !run.rows.is_empty() {
        cells.push(said(run.result()));
    }
    if let Some(seconds) = seconds {
        cells.push(said(format!("took {seconds} s")));
    }
    row(format!("run-{}", run.number), format!("run {}", run.number), cells)
}

/// The newest samples as a curve that begins at zero; its top is the largest of them, or the ceiling where that is known.
pub fn curve(run: &BenchRun) -> String {
    let newest: Vec<f64> = run.samples.iter().rev().take(CURVE).map(|(_, value)| *value).collect();
    let ceiling = run.ceiling.as_ref().filter(|_| !run.in_packets).map_or(0.0, |(ceiling, _)| *ceiling);
    let top = newest.iter().copied().fold(ceiling, f64::max);
    if top <= 0.0 {
        return STEPS[0].to_string().repeat(newest.len());
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of eight steps")]
    let step = |value: f64| STEPS[((value / top * 8.0) as usize).min(7)];
    newest.into_iter().rev().map(step).collect()
}
