//! What `update` asks the outside world to do.

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
    /// Answer a question.
    Answer {
        /// Number of the question.
        id: u64,
        /// What was decided or typed.
        answer: Answer,
    },
}
