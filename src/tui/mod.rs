//! The screen: the only folder that knows a terminal. [`event_loop`] runs a [`Program`] on a [`terminal`]; [`keymap`],
//! [`theme`] and [`glyphs`] say how it is used and how it looks; [`widget`] holds what panels draw with.

pub mod clipboard;
pub mod definition;
pub mod event_loop;
pub mod frame;
pub mod glyphs;
pub mod keymap;
pub mod keys;
pub mod library;
pub mod looks;
mod notice;
pub mod overlay;
pub mod paint;
pub mod panel;
pub mod pointer;
pub mod screen;
pub mod secret;
pub mod seen;
pub mod sgr;
pub mod signals;
pub mod terminal;
#[cfg(test)]
pub(crate) mod testing;
pub mod theme;
pub mod view;
pub mod widget;

use std::time::Duration;

use color_eyre::eyre::{Result, WrapErr};
use tokio::sync::mpsc;
use tokio::time::Instant;

use clipboard::Clipboard;
pub use definition::DefinitionError;
pub use event_loop::{Editor, Exit, Inputs, Program, Reloaded, run};
pub use frame::Pace;
pub use glyphs::{GlyphSet, Glyphs};
pub use keymap::Keymap;
pub use looks::{Look, Looks};
pub use secret::{SecretPrompt, Typed};
pub use terminal::{Device, TerminalError, Tty, install_panic_hook};
pub use theme::Theme;

use crate::app::{Effect, Message};

/// What surrounds a console: what is read again for it, and its editor.
pub struct Surroundings {
    /// What was read again.
    pub reloads: mpsc::Receiver<Reloaded>,
    /// Makes the editor's command line.
    pub editor: Editor,
}

impl Surroundings {
    /// For a console whose configuration is not read again: why, for whoever wants to edit it.
    pub fn none(why: &'static str) -> Self {
        Self { reloads: mpsc::channel(1).1, editor: Box::new(move || Err(why.to_owned())) }
    }
}

/// Shows a program on the terminal until it ends. It takes this thread, and gives it a runtime of its own: the screen
/// shares no thread with anything that could be slow. `effects` must not wait.
pub fn show<P: Program>(
    program: P,
    look: Look,
    terminal: Tty,
    messages: mpsc::Receiver<Message>,
    effects: impl FnMut(Effect) + 'static,
    surroundings: Surroundings,
) -> Result<Exit> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().wrap_err("no runtime for the screen")?;
    let ended = runtime.block_on(async {
        let signals = signals::listen().wrap_err("signals cannot be received")?;
        let Surroundings { reloads, editor } = surroundings;
        let inputs = Inputs {
            messages,
            signals,
            effects: Box::new(effects),
            now: Box::new(Instant::now),
            clipboard: Clipboard::from_environment(),
            reloads,
            editor,
        };
        run(program, look, inputs, terminal).await
    });
    runtime.shutdown_timeout(Duration::from_millis(200));
    ended
}

/// False if the user asked for no colours (`NO_COLOR`, set and not empty).
pub fn colours_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
