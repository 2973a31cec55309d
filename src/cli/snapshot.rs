//! `snapshot`: one collection of everything, printed or written to a file.

use std::io::IsTerminal as _;
use std::path::Path;

use super::args::{Format, Global, SnapshotArguments};
use super::document::{Collected, TargetStatus};
use super::lab::Subject;
use super::{Exit, Failure, output};
use crate::engine::once::{self, Once, System};
use crate::engine::plan::Options;
use crate::engine::settings;
use crate::fabric::{Fabric, Timestamp};

/// Collects once and delivers.
pub fn run(global: &Global, arguments: &SnapshotArguments) -> Result<Exit, Failure> {
    let subject = Subject::open(global, arguments.scenario.as_deref(), &arguments.targets)?;
    match collect(&subject)? {
        Ok(collected) => deliver(&collected, global.format, arguments.out.as_deref()),
        Err(signal) => Ok(Exit::Signal(128u8.saturating_add(u8::try_from(signal).unwrap_or_default()))),
    }
}

/// Reads all targets once, side by side; the number of the signal that ended it before it was done.
pub(super) fn collect(subject: &Subject) -> Result<Result<Collected, i32>, Failure> {
    let at = Timestamp::now();
    let session = &subject.session;
    // A slow target takes a while: whoever waits at a terminal is told that it works.
    if std::io::stderr().is_terminal() {
        let names: Vec<&str> = session.targets.iter().map(|target| target.name.as_str()).collect();
        output::complain(&format!("rdmascope: reading {} ...", names.join(", ")));
    }
    let plans = subject.plans();
    let options = Options { period: session.period(), ..Options::default() };
    let once =
        once::collect_once(plans, &options).map_err(|error| Failure::Internal(color_eyre::Report::new(error)))?;
    let results = match once {
        Once::Collected(results) => results,
        Once::Interrupted(signal) => return Ok(Err(signal)),
    };
    let mut fabric = Fabric::default();
    let mut observations = Vec::new();
    let mut statuses = Vec::new();
    for (target, result) in session.targets.iter().zip(results) {
        let kind = match result.system {
            System::Local => "local",
            System::Linux => "linux",
            System::Esxi => "esxi",
            System::Switch(_) => "switch",
            System::Unknown => target.kind_name(),
        };
        for report in &result.reports {
            fabric.apply(report);
            observations.extend(report.observations.iter().cloned());
        }
        let (reachable, problem) = match result.reached {
            Ok(_) => (true, result.incomplete),
            Err(problem) => (false, Some(problem)),
        };
        let problem = problem.map(|problem| subject.afterwards(problem));
        statuses.push(TargetStatus { name: result.target, kind: kind.to_owned(), reachable, problem });
    }
    Ok(Ok(Collected { at, fabric, observations, targets: statuses }))
}

/// Prints a collection, or writes it to a file that only its owner may read.
pub fn deliver(collected: &Collected, format: Format, out: Option<&Path>) -> Result<Exit, Failure> {
    let text = match format {
        Format::Json => output::json(&collected.document())?,
        Format::Text | Format::Sarif | Format::Junit => collected.text(),
    };
    match out {
        Some(path) if path.as_os_str() != "-" => {
            settings::write_private(path, text.as_bytes())?;
            for target in &collected.targets {
                if let Some(problem) = &target.problem {
                    output::complain(&format!("rdmascope: {}: {problem}", target.name));
                }
            }
        }
        _ => output::print(&text)?,
    }
    Ok(if collected.is_complete() { Exit::Done } else { Exit::Incomplete })
}
