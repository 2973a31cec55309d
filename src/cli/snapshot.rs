//! `snapshot`: one collection of everything, printed or written to a file.

use std::path::Path;

use super::args::Format;
use super::document::{Collected, TargetStatus};
use super::{Exit, Failure, Session, output};
use crate::app::Problem;
use crate::config::Target;
use crate::engine::settings;
use crate::fabric::{Fabric, TargetId, Timestamp};

/// Collects once and delivers.
pub fn run(session: &Session, out: Option<&Path>) -> Result<Exit, Failure> {
    deliver(&collect(session), session.global.format, out)
}

/// Reads all targets of the session once.
fn collect(session: &Session) -> Collected {
    let targets = session.targets.iter().map(|target| {
        unbuilt(target).unwrap_or_else(|| {
            let problem = Problem::new("collecting is not part of this build", "", "");
            TargetStatus::unreachable(target, problem)
        })
    });
    Collected { at: Timestamp::now(), fabric: Fabric::default(), observations: Vec::new(), targets: targets.collect() }
}

/// The status of a target of a kind that this version does not read; `None` for one that it does.
pub fn unbuilt(target: &Target) -> Option<TargetStatus> {
    let why = target.not_built()?;
    let problem = Problem::new(why, "", "leave this target out, or name the others on the command line");
    Some(TargetStatus::unreachable(target, problem))
}

/// Prints a collection, or writes it to a file that only its owner may read.
pub fn deliver(collected: &Collected, format: Format, out: Option<&Path>) -> Result<Exit, Failure> {
    let text = match format {
        Format::Json => output::json(&collected.document())?,
        Format::Text => collected.text(),
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

impl TargetStatus {
    /// A target that could not be read, and why.
    pub fn unreachable(target: &Target, problem: Problem) -> Self {
        Self {
            name: TargetId::new(&target.name),
            kind: target.kind_name().to_owned(),
            reachable: false,
            problem: Some(problem),
        }
    }
}
