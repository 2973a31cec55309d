//! What the loop runs and listens to, and how it can end: the seam by which the console, or a test, is put on it.

use std::sync::Arc;

use ratatui::Frame;
use ratatui::layout::Size;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::Editor;
use crate::app::action::Context;
use crate::app::{Effect, LookChoice, Message};
use crate::tui::clipboard::Clipboard;
use crate::tui::looks::{Look, Looks};
use crate::tui::pointer::HitMap;
use crate::tui::secret::{SecretPrompt, Typed};
use crate::tui::signals::Signal;

/// What the loop runs: the model of the console, or a stand-in.
pub trait Program {
    /// Where keys go now.
    fn context(&self) -> Context;
    /// The panel that is shown, whatever has the keys.
    fn panel(&self) -> Context {
        Context::Global
    }
    /// Takes in what happened, and says what is to be done outside.
    fn update(&mut self, message: Message) -> Vec<Effect>;
    /// Draws everything; `typed` is what may be seen of a secret that is being typed.
    fn draw(&self, frame: &mut Frame, look: &Look, typed: Typed<'_>);
    /// The question for a secret that has the keys, if one has.
    fn secret_prompt(&self) -> Option<SecretPrompt>;
    /// Rows of questions that a screen of this size shows whole and that were not said to be seen yet; `None` if there is
    /// nothing that has to be seen.
    fn unseen(&self, size: Size) -> Option<Vec<u64>>;
    /// Where things stood on the frame that was drawn last, for the mouse.
    fn hits(&self) -> Option<&HitMap> {
        None
    }
    /// A number that changes whenever something visible changed.
    fn revision(&self) -> u64;
    /// The look that is wished for, if there is a choice.
    fn look(&self) -> Option<&LookChoice> {
        None
    }
}

/// What comes in and goes out besides the terminal.
pub struct Inputs {
    /// What happens.
    pub messages: mpsc::Receiver<Message>,
    /// Signals of the system.
    pub signals: mpsc::Receiver<Signal>,
    /// Takes what is to be done outside; it must not wait.
    pub effects: Box<dyn FnMut(Effect)>,
    /// The time that the taking in of messages is measured with.
    pub now: Box<dyn Fn() -> Instant>,
    /// Where copies go.
    pub clipboard: Clipboard,
    /// What was read again.
    pub reloads: mpsc::Receiver<Reloaded>,
    /// Makes the editor's command line.
    pub editor: Editor,
}

/// What came of reading the configuration again.
#[derive(Debug)]
pub struct Reloaded {
    /// All looks, if all was well; else those in force stay.
    pub looks: Option<Arc<Looks>>,
    /// What the model is to know of it.
    pub messages: Vec<Message>,
}

/// Why the console ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The user left.
    Quit,
    /// A signal came.
    Signal(Signal),
    /// The terminal no longer exists.
    TerminalGone,
}

impl Exit {
    /// The exit status of the program: 0 when the user left, else 128 and the number of the signal (that of `SIGHUP` for a
    /// terminal that went without one).
    pub fn code(self) -> u8 {
        match self {
            Self::Quit => 0,
            Self::Signal(signal) => 128 + signal.number(),
            Self::TerminalGone => 128 + Signal::HangUp.number(),
        }
    }
}
