//! Everything that can happen to the console. Live, replay, demo and tests feed the same messages.

use serde::{Deserialize, Serialize};

use super::change::ChangeNews;
use super::connection::Connection;
use super::healthy::HealthyNews;
use super::pointer::Pointed;
use super::prompt::Prompt;
use super::reconfigure::Reconfigured;
use super::tune::BenchNews;
use crate::fabric::{Measured, Report, Sample, TargetId, Text, Timestamp};

/// Something that happened. `update` is a pure function of the model and this: time comes in here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// The clock, once a second.
    Clock(Timestamp),
    /// The terminal has this size now.
    Resized {
        /// Cells across.
        columns: u16,
        /// Cells down.
        rows: u16,
    },
    /// The connection to a target changed.
    Connection {
        /// Which target.
        target: TargetId,
        /// When.
        at: Timestamp,
        /// How it stands now.
        connection: Connection,
    },
    /// A probe was read.
    Report {
        /// When its answer was complete.
        at: Timestamp,
        /// What it gave.
        report: Report,
    },
    /// One tick of a stream.
    Sample(Sample),
    /// One row of a stream beside the ticks: GPUs, `esxtop`.
    Measured(Box<Measured>),
    /// Samples of a target were lost (`dropped` of them), or its stream ended (0).
    Gap {
        /// Which target.
        target: TargetId,
        /// When.
        at: Timestamp,
        /// How many samples were dropped.
        dropped: u64,
    },
    /// Something worth telling that is no fact: a channel was refused and reads now follow one another.
    Notice {
        /// Which target, if one.
        target: Option<TargetId>,
        /// When.
        at: Timestamp,
        /// How grave.
        severity: Severity,
        /// What.
        text: Text,
    },
    /// What became of something that the user asked for: a sentence for the footer, and no event.
    Said {
        /// When.
        at: Timestamp,
        /// What.
        text: Text,
    },
    /// A question for the person at the console.
    Asked {
        /// When.
        at: Timestamp,
        /// The question.
        prompt: Prompt,
    },
    /// Something is new of a change of a target.
    Change {
        /// When.
        at: Timestamp,
        /// Number of the change.
        number: u64,
        /// What.
        news: ChangeNews,
    },
    /// Something is new of a benchmark.
    Bench {
        /// When.
        at: Timestamp,
        /// Number of the benchmark.
        number: u64,
        /// What.
        news: BenchNews,
    },
    /// Something is new of healthy snapshots, which are compared with.
    Healthy {
        /// When.
        at: Timestamp,
        /// What.
        news: HealthyNews,
    },
    /// A question is no longer open (its connection ended).
    Withdrawn {
        /// Number of the question.
        id: u64,
    },
    /// Rows of unknown host keys stood on the screen for long enough to be read, whole (and so did their table).
    Seen {
        /// Numbers of their questions.
        questions: Vec<u64>,
    },
    /// A question was answered outside of the model (a secret never enters it).
    Answered {
        /// Number of the question.
        id: u64,
    },
    /// The configuration was read again.
    Reconfigured(Box<Reconfigured>),
    /// The user pointed at something with the mouse.
    Pointed(Pointed),
    /// The user did something; keys are already resolved to the name of an action.
    Action(Text),
    /// The user edited the text that has the focus.
    Edit(Edit),
}

impl Message {
    /// The time that it brings, if it brings one.
    pub fn at(&self) -> Option<Timestamp> {
        match self {
            Self::Clock(at)
            | Self::Connection { at, .. }
            | Self::Report { at, .. }
            | Self::Gap { at, .. }
            | Self::Notice { at, .. }
            | Self::Said { at, .. }
            | Self::Asked { at, .. }
            | Self::Healthy { at, .. }
            | Self::Bench { at, .. }
            | Self::Change { at, .. } => Some(*at),
            Self::Sample(sample) => Some(sample.at),
            Self::Measured(row) => Some(row.at),
            Self::Reconfigured(new) => Some(new.at),
            Self::Resized { .. }
            | Self::Withdrawn { .. }
            | Self::Answered { .. }
            | Self::Seen { .. }
            | Self::Pointed(_)
            | Self::Action(_)
            | Self::Edit(_) => None,
        }
    }
}

/// How grave an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Good or neutral news.
    Info,
    /// Worth a look.
    Warning,
    /// Something is broken.
    Error,
}

/// One edit of a line of text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Edit {
    /// A character was typed.
    Insert(char),
    /// A text was pasted; controls and newlines are taken out.
    Paste(String),
    /// The character before the cursor goes.
    DeleteBefore,
    /// The character under the cursor goes.
    DeleteAt,
    /// The word before the cursor goes.
    DeleteWord,
    /// All before the cursor goes.
    DeleteToStart,
    /// One character left.
    Left,
    /// One character right.
    Right,
    /// To the start.
    Start,
    /// To the end.
    End,
}
