//! The console: what runs when no command is given.

use super::{Exit, Failure, Session};
use crate::config::Defect;

/// Opens the console on the targets of the session.
pub fn run(session: &Session) -> Result<Exit, Failure> {
    let names: Vec<&str> = session.targets.iter().map(|target| target.name.as_str()).collect();
    let what = format!("is not part of this build; `rdmascope snapshot {}` reads without it", names.join(" "));
    Err(Defect::somewhere("the console", what).into())
}
