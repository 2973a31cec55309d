//! `baseline`: keeps measurements and holds later ones against them.

mod document;

use std::io::Read as _;
use std::path::Path;

use serde::Serialize;

use super::args::{BaselineCommand, Format, Global};
use super::text::{Row, rows};
use super::{Exit, Failure, output};
use crate::collect::reason::reason;
use crate::config::Defect;
use crate::engine;
use crate::fabric::{Text, Timestamp};
use crate::record::baselines::{Folder, LARGEST, Listed, Unsaved};
use crate::tune::baseline::{Baseline, compare, read};
use crate::tune::compare::words::number;
use crate::tune::compare::{Better, Summary};
use document::Compared;

/// Does one of the three.
pub fn run(global: &Global, command: &BaselineCommand) -> Result<Exit, Failure> {
    match command {
        BaselineCommand::Save { name, from, replace } => {
            // A wrong name is told before anything is read.
            folder()?.file(name).map_err(|what| Defect::somewhere(name, what))?;
            save(global, name, given(from)?, *replace)
        }
        BaselineCommand::List => list(global),
        BaselineCommand::Compare { name, other, from } => {
            let before = named(name)?;
            let (what, after) = match (other, from) {
                (Some(other), _) => (format!("baseline {other}"), named(other)?),
                (None, Some(file)) if file.as_os_str() == "-" => ("standard input".to_owned(), given(file)?),
                (None, Some(file)) => (file.display().to_string(), given(file)?),
                (None, None) => return Err(Defect::somewhere(name, "with what? --from FILE, or another name").into()),
            };
            held_against(global, &format!("baseline {name}"), &before, &what, &after)
        }
    }
}

/// Where baselines lie.
fn folder() -> Result<Folder, Failure> {
    let state = engine::state_folder().ok_or_else(|| {
        Defect::somewhere("baseline", "baselines have no place: neither XDG_STATE_HOME nor HOME is set")
    })?;
    Ok(Folder::new(state.join("baselines")))
}

fn named(name: &str) -> Result<Baseline, Failure> {
    folder()?.read(name).map_err(|what| Defect::somewhere(name, what).into())
}

/// The measurement in a file, or on standard input.
fn given(file: &Path) -> Result<Baseline, Failure> {
    let is_standard = file.as_os_str() == "-";
    let shown = if is_standard { "standard input".to_owned() } else { file.display().to_string() };
    let defect = |what: String| Failure::from(Defect::somewhere(&shown, what));
    let text = || -> std::io::Result<String> {
        let mut text = String::new();
        let taken = if is_standard {
            std::io::stdin().lock().take(LARGEST + 1).read_to_string(&mut text)?
        } else {
            if !std::fs::metadata(file)?.is_file() {
                return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is no regular file"));
            }
            std::fs::File::open(file)?.take(LARGEST + 1).read_to_string(&mut text)?
        };
        if taken as u64 > LARGEST {
            return Err(std::io::Error::new(
                std::io::ErrorKind::FileTooLarge,
                format!("it has more than {LARGEST} bytes"),
            ));
        }
        Ok(text)
    };
    let text = text().map_err(|error| defect(format!("cannot be read: {}", reason(&error))))?;
    read(&text).map_err(defect)
}

#[derive(Debug, Serialize)]
struct Saved<'a> {
    schema: &'static str,
    rdmascope: &'static str,
    name: &'a str,
    file: String,
}

/// Keeps a finished measurement under a name, and says so. Whoever measures calls this at the end, too.
pub fn save(global: &Global, name: &str, measured: Baseline, replace: bool) -> Result<Exit, Failure> {
    let baseline = measured.named(name, Timestamp::now());
    let file = folder()?.save(name, &baseline, replace).map_err(|unsaved| match unsaved {
        Unsaved::Exists => {
            Defect::somewhere(name, "there is a baseline of this name already; --replace puts this in its place")
        }
        Unsaved::Trouble(what) => Defect::somewhere("baseline", format!("it was not saved: {what}")),
    })?;
    let file = file.display().to_string();
    let text = match global.format {
        Format::Json => output::json(&Saved {
            schema: "rdmascope.baseline-saved/1",
            rdmascope: env!("CARGO_PKG_VERSION"),
            name,
            file,
        })?,
        _ => format!("baseline {name} is saved in {}\n", crate::fabric::text::clean_line(&file)),
    };
    output::print(&text)?;
    Ok(Exit::Done)
}

#[derive(Debug, Serialize)]
struct ListDocument {
    schema: &'static str,
    rdmascope: &'static str,
    folder: String,
    baselines: Vec<ListEntry>,
}

#[derive(Debug, Serialize)]
struct ListEntry {
    name: String,
    at: Option<Timestamp>,
    pair: Vec<Text>,
    metrics: Vec<MetricEntry>,
    /// Why it cannot be used, if it cannot.
    problem: Option<String>,
}

#[derive(Debug, Serialize)]
struct MetricEntry {
    name: Text,
    unit: Text,
    better: Option<Better>,
    summary: Option<Summary>,
}

fn list(global: &Global) -> Result<Exit, Failure> {
    let folder = folder()?;
    let all = folder.list().map_err(|what| Defect::somewhere("baseline", what))?;
    let is_whole = all.iter().all(|one| one.content.is_ok());
    let shown = folder.path().display().to_string();
    let text = match global.format {
        Format::Json => output::json(&ListDocument {
            schema: "rdmascope.baselines/1",
            rdmascope: env!("CARGO_PKG_VERSION"),
            folder: shown,
            baselines: all.into_iter().map(entry).collect(),
        })?,
        _ if all.is_empty() => format!("there are no baselines in {shown}\n"),
        _ => {
            let listed = all.iter().map(|one| Row::new(&one.name, &line(one)));
            rows(&listed.collect::<Vec<_>>(), 0)
        }
    };
    output::print(&text)?;
    Ok(if is_whole { Exit::Done } else { Exit::Incomplete })
}

fn entry(one: Listed) -> ListEntry {
    let Listed { name, content } = one;
    match content {
        Ok(Baseline { at, pair, metrics, .. }) => {
            let metrics = metrics.into_iter().map(|metric| MetricEntry {
                summary: Summary::of(if metric.values.is_empty() { &metric.samples } else { &metric.values }),
                name: metric.name,
                unit: metric.unit,
                better: metric.better,
            });
            ListEntry { name, at, pair, metrics: metrics.collect(), problem: None }
        }
        Err(problem) => ListEntry { name, at: None, pair: Vec::new(), metrics: Vec::new(), problem: Some(problem) },
    }
}

/// What stands beside a name: when, between whom, and the metrics.
fn line(one: &Listed) -> String {
    let baseline = match &one.content {
        Ok(baseline) => baseline,
        Err(why) => return format!("cannot be used: {}", crate::fabric::text::clean_line(why)),
    };
    let mut words = vec![document::origin(baseline)];
    words.extend(baseline.metrics.iter().map(|metric| {
        let values = if metric.values.is_empty() { &metric.samples } else { &metric.values };
        match Summary::of(values) {
            Some(summary) => format!(
                "{} {} {} ({} values, {} to {})",
                metric.name,
                number(summary.median),
                metric.unit,
                summary.count,
                number(summary.smallest),
                number(summary.largest)
            ),
            None => format!("{}: no values", metric.name),
        }
    }));
    words.retain(|word| !word.is_empty());
    words.join("; ")
}

/// Compares two measurements and prints.
pub fn held_against(
    global: &Global,
    name: &str,
    before: &Baseline,
    other: &str,
    after: &Baseline,
) -> Result<Exit, Failure> {
    let found = compare(before, after);
    let compared = Compared { before: (name, before), after: (other, after), found: &found };
    let text = match global.format {
        Format::Json => output::json(&compared.document())?,
        _ => compared.text(),
    };
    output::print(&text)?;
    Ok(match (found.has_regression(), found.is_incomplete()) {
        (true, _) => Exit::Findings,
        (false, true) => Exit::Incomplete,
        (false, false) => Exit::Done,
    })
}

#[cfg(test)]
mod tests;
