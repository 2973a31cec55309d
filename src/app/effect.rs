//! What `update` asks the outside world to do.

use std::time::Duration;

use super::alerts::AlertNews;
use super::change::ChangeAsked;
use super::copy::CopyText;
use super::healthy::ToKeep;
use super::mode::Control;
use super::prompt::Answer;
use super::tune::BenchAsked;
use crate::config::AlertNotice;
use crate::fabric::{TargetId, Text};

/// Something to be done outside. In replay all of them are off except those of the screen itself:
/// leaving, suspending, drawing anew, copying.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Leave the program.
    Quit,
    /// Hand the terminal back to the shell until it is resumed.
    Suspend,
    /// Draw everything anew.
    Redraw,
    /// Give a text to the clipboard.
    Copy {
        /// The text.
        text: CopyText,
        /// What it is, in words: `raw text`.
        what: &'static str,
    },
    /// Read the configuration again.
    Reload,
    /// Hand the terminal to an editor with the configuration, then read that again.
    EditConfiguration,
    /// Connect to a target that the configuration has now, and read it.
    Open(TargetId),
    /// Close the connection to a target that the configuration has no longer.
    Close(TargetId),
    /// Connect again now, whatever state the connection is in.
    Reconnect(TargetId),
    /// Read everything of a target now.
    ReadNow(TargetId),
    /// Watch a host by `esxtop`, with this time between two rows, or no longer.
    Watch {
        /// Which host.
        target: TargetId,
        /// Time between two rows; `None` ends it.
        period: Option<Duration>,
    },
    /// Answer a question.
    Answer {
        /// Number of the question.
        id: u64,
        /// What was decided or typed.
        answer: Answer,
    },
    /// Switch a fault of the embedded lab. Outside of the demo nobody does that.
    Fault {
        /// Name of the fault.
        name: Text,
        /// Where it happens.
        target: TargetId,
        /// On or off.
        on: bool,
    },
    /// Keep what is known now as a healthy snapshot.
    KeepHealthy(Box<ToKeep>),
    /// The user is about to give evidence of his own: nothing is done outside, but a viewer of a recording cannot.
    TakesAnswer,
    /// A step of a change of a target.
    Change(ChangeAsked),
    /// Begin or end a benchmark.
    Bench(BenchAsked),
    /// Tell of an alert by the terminal.
    Notify {
        /// What, in a line.
        text: Text,
        /// How.
        by: AlertNotice,
    },
    /// Tell of an alert by the hook of the configuration.
    Alert(Box<AlertNews>),
    /// Move in the recording that is replayed.
    Replay(Control),
}

impl Effect {
    /// True if it is done in a replay, too: whatever touches nothing but the terminal.
    pub fn is_on_in_replay(&self) -> bool {
        match self {
            Self::Quit | Self::Suspend | Self::Redraw | Self::Copy { .. } | Self::Replay(_) => true,
            Self::Reload
            | Self::EditConfiguration
            | Self::Open(_)
            | Self::Close(_)
            | Self::Reconnect(_)
            | Self::ReadNow(_)
            | Self::Watch { .. }
            | Self::Answer { .. }
            | Self::TakesAnswer
            | Self::Change(_)
            | Self::Bench(_)
            | Self::KeepHealthy(_)
            | Self::Notify { .. }
            | Self::Alert(_)
            | Self::Fault { .. } => false,
        }
    }
}
