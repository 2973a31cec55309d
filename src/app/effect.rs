//! What `update` asks the outside world to do.

use super::mode::Control;
use super::prompt::Answer;
use crate::fabric::TargetId;

/// Something to be done outside. In replay all of them are off except leaving and suspending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Leave the program.
    Quit,
    /// Hand the terminal back to the shell until it is resumed.
    Suspend,
    /// Draw everything anew.
    Redraw,
    /// Connect again now, whatever state the connection is in.
    Reconnect(TargetId),
    /// Read everything of a target now.
    ReadNow(TargetId),
    /// Answer a question.
    Answer {
        /// Number of the question.
        id: u64,
        /// What was decided or typed.
        answer: Answer,
    },
    /// Move in the recording that is replayed.
    Replay(Control),
}

impl Effect {
    /// True if it is done in a replay, too: whatever touches nothing but the terminal.
    pub fn is_on_in_replay(&self) -> bool {
        match self {
            Self::Quit | Self::Suspend | Self::Redraw | Self::Replay(_) => true,
            Self::Reconnect(_) | Self::ReadNow(_) | Self::Answer { .. } => false,
        }
    }
}
