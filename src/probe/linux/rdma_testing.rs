//! For tests: saved outputs as the transports would give them, and the fact that one looks for.

use std::fmt::Write as _;

pub use super::guest_testing::state;
use crate::fabric::{Attribute, Entity, Fact, Observation, Outcome, State};

/// Saved `path: value` lines, relative to the class of RDMA devices, as a read of files gives them. What `cat` said of
/// a file becomes what `grep` says on standard error.
pub fn sysfs(saved: &str) -> Observation {
    let (mut stdout, mut stderr) = (String::new(), String::new());
    for line in saved.lines() {
        let Some((path, value)) = line.split_once(": ") else { continue };
        match value.strip_prefix("cat: ") {
            Some(complaint) => {
                let reason = complaint.rsplit(": ").next().unwrap_or_default();
                writeln!(stderr, "grep: /sys/class/infiniband/{path}: {reason}").expect("a String takes all");
            }
            None => writeln!(stdout, "/sys/class/infiniband/{path}:{value}").expect("a String takes all"),
        }
    }
    let outcome = Outcome::Exit(if stderr.is_empty() { 0 } else { 2 });
    Observation::of_text("linux.rdma-sysfs", &stdout).with_stderr(&stderr).with_outcome(outcome)
}

/// What a read of files gives where no pattern matches anything.
pub fn no_rdma() -> Observation {
    Observation::of_text("linux.rdma-sysfs", "")
        .with_stderr("grep: /sys/class/infiniband/*/node_type: No such file or directory\n")
        .with_outcome(Outcome::Exit(2))
}

/// A known value as it is drawn; a missing one shows its state.
pub fn known(facts: &[Fact], entity: &Entity, attribute: Attribute) -> String {
    match state(facts, entity, attribute) {
        Some(State::Known(value)) => value.to_string(),
        other => format!("{other:?}"),
    }
}
