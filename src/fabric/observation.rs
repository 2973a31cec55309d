//! One read of one source on one target: the command, its raw output, when it ran and how it ended.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Timestamp;
use super::entity::TargetId;

/// The name of a source, unique in the program: `linux.rdma-link`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SourceId(Arc<str>);

impl SourceId {
    /// The source of this name.
    pub fn new(name: &str) -> Self {
        Self(Arc::from(name))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SourceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

impl From<&str> for SourceId {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

/// Points at one observation: the n-th read of a source on a target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObservationRef {
    /// Where it was read.
    pub target: TargetId,
    /// What was read.
    pub source: SourceId,
    /// Number of the read, rising per target.
    pub sequence: u64,
}

/// How a read ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The command ended with this status (files: 0 when every file could be read, else 2, as `grep` does).
    Exit(i32),
    /// The command was still running at its deadline.
    TimedOut,
    /// The connection ended first.
    Cut,
}

/// Raw output of one source, as it came. `stdout` and `stderr` are not cleaned: whoever draws them must.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// Where it was read.
    pub target: TargetId,
    /// What was read.
    pub source: SourceId,
    /// Number of the read, rising per target.
    pub sequence: u64,
    /// The command as a person would type it to see the same.
    pub command: Arc<str>,
    /// When the read began, by our own clock.
    pub at: Timestamp,
    /// How long it took, on the target where it can be told, else with the way there and back; `None` where nobody
    /// measured it: saved outputs, snapshots, what was never run.
    #[serde(default)]
    pub duration: Option<Duration>,
    /// How it ended.
    pub outcome: Outcome,
    /// Standard output; bytes that are no UTF-8 are replaced.
    pub stdout: Arc<str>,
    /// Standard error, likewise.
    pub stderr: Arc<str>,
    /// Bytes of output that were cut off because there were too many.
    pub cut: u64,
}

impl Observation {
    /// An observation for tests and for saved outputs: only the text matters.
    pub fn of_text(source: &str, stdout: &str) -> Self {
        Self {
            target: TargetId::new("test"),
            source: SourceId::new(source),
            sequence: 1,
            command: Arc::from(source),
            at: Timestamp::UNIX_EPOCH,
            duration: None,
            outcome: Outcome::Exit(0),
            stdout: Arc::from(stdout),
            stderr: Arc::from(""),
            cut: 0,
        }
    }

    /// The same with what was printed on standard error.
    #[must_use]
    pub fn with_stderr(mut self, stderr: &str) -> Self {
        self.stderr = Arc::from(stderr);
        self
    }

    /// The same with another outcome.
    #[must_use]
    pub fn with_outcome(mut self, outcome: Outcome) -> Self {
        self.outcome = outcome;
        self
    }

    /// Where this observation can be found again.
    pub fn reference(&self) -> ObservationRef {
        ObservationRef { target: self.target.clone(), source: self.source.clone(), sequence: self.sequence }
    }

    /// True if the read ran to its end and all of its output is here, whatever it said.
    pub fn is_whole(&self) -> bool {
        matches!(self.outcome, Outcome::Exit(_)) && self.cut == 0
    }

    /// Lines of standard output with their numbers, from 1.
    pub fn lines(&self) -> impl Iterator<Item = (u32, &str)> {
        self.stdout.lines().zip(1u32..).map(|(line, number)| (number, line))
    }
}

/// True if a message says that privilege is missing.
pub fn is_permission_error(message: &str) -> bool {
    ["Permission denied", "Operation not permitted", "must be root", "access denied"]
        .iter()
        .any(|words| message.contains(words))
}
