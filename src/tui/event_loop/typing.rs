//! Keys while a secret is typed. They go into the line of the loop; the program hears of them only what it may know: that
//! the question was answered, or refused.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use keybinds::KeyInput;
use tokio::time::Instant;

use super::super::frame::Reason;
use super::super::keymap::Resolution;
use super::super::terminal::Device;
use super::{Console, Program};
use crate::app::action::Context;
use crate::app::{Answer, Effect, Message};
use crate::fabric::Text;

impl<P: Program, D: Device> Console<P, D> {
    /// Takes a key for the line.
    pub(super) fn secret_key(&mut self, key: KeyEvent) {
        if key.kind == KeyEventKind::Release {
            return;
        }
        // The keys of a sequence that had begun belong to what was there before.
        self.keys.forget();
        self.limiter.request(Reason::Answer);
        if !self.secret.takes(Instant::now()) {
            return;
        }
        let held = KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::META | KeyModifiers::SUPER;
        if let KeyCode::Char(character) = key.code
            && !key.modifiers.intersects(held)
        {
            self.secret.insert(character);
            return;
        }
        let action = match self.look.keymap.resolve(Context::Secret, &[KeyInput::from(key)]) {
            Resolution::Action(name) => name.to_owned(),
            Resolution::Prefix | Resolution::Unknown => {
                let deletes = key.code == KeyCode::Backspace
                    || (key.code == KeyCode::Char('h') && key.modifiers.contains(KeyModifiers::CONTROL));
                if deletes {
                    self.secret.delete();
                }
                return;
            }
        };
        match action.as_str() {
            "give-secret" => self.give_secret(),
            "clear-secret" => self.secret.clear(),
            "reuse-secret" => self.secret.toggle_reuse(),
            other => self.update(Message::Action(Text::new(other)), Reason::Answer),
        }
    }

    /// Takes a pasted text for the line.
    pub(super) fn secret_paste(&mut self, text: String) {
        self.keys.forget();
        self.limiter.request(Reason::Answer);
        if self.secret.takes(Instant::now()) {
            self.secret.paste(text);
        } else {
            super::super::secret::overwrite(text);
        }
    }

    /// The text goes to the one that asked, by its number, and only this is told: that it was answered.
    fn give_secret(&mut self) {
        if let Some((id, secret, reuse)) = self.secret.give() {
            (self.effects)(Effect::Answer { id, answer: Answer::Secret { secret, reuse } });
            self.update(Message::Answered { id }, Reason::Answer);
        }
    }
}
