//! The text that is being pasted as the answer to a question. It can come whole, by a bracketed paste, or as if it were typed,
//! line by line, from a terminal that knows none: then the end of a line must not end the answer.

use serde::{Deserialize, Serialize};

use super::super::diagnosis;
use super::super::message::Edit;
use super::super::model::Model;
use super::super::screen::Overlay;
use super::asked::{self, Said};
use super::pasted::{self, MOST};
use crate::fabric::EntityId;
use crate::probe::switch::SwitchSystem;

/// The overlay in which it is pasted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PasteView {
    /// Id of the check that asks.
    pub check: String,
    /// Of what.
    pub subject: EntityId,
    /// The question.
    pub question: String,
    /// The system whose command was selected, by its name.
    pub system: Option<String>,
    /// What was pasted so far.
    pub text: String,
    /// True once a text came whole: then the end of a line was meant.
    pub is_whole: bool,
    /// True if more came than is kept.
    #[serde(default)]
    pub is_cut: bool,
    /// What was said of it last.
    pub said: String,
}

impl PasteView {
    /// An empty one.
    pub fn new(check: &str, subject: &EntityId, question: &str, system: Option<SwitchSystem>) -> Self {
        Self {
            check: check.to_owned(),
            subject: subject.clone(),
            question: question.to_owned(),
            system: system.map(|system| system.name().to_owned()),
            text: String::new(),
            is_whole: false,
            is_cut: false,
            said: String::new(),
        }
    }

    /// Takes in what was typed or pasted.
    pub fn edit(&mut self, edit: &Edit) {
        self.said.clear();
        match edit {
            Edit::Paste(text) => {
                let text = pasted::clean(text);
                if text.trim().is_empty() {
                    "there was no text in what was pasted".clone_into(&mut self.said);
                    return;
                }
                self.is_whole = true;
                if !self.text.is_empty() && !self.text.ends_with('\n') {
                    self.text.push('\n');
                }
                self.push(&text);
            }
            Edit::Insert(character) if !character.is_control() => self.push(&character.to_string()),
            Edit::DeleteBefore => {
                self.text.pop();
                self.is_whole &= !self.text.is_empty();
            }
            Edit::DeleteWord | Edit::DeleteToStart => {
                let kept = self.text.trim_end_matches('\n').rfind('\n').map_or(0, |at| at + 1);
                self.text.truncate(kept);
                self.is_whole &= kept > 0;
            }
            Edit::Insert(_) | Edit::DeleteAt | Edit::Left | Edit::Right | Edit::Start | Edit::End => {}
        }
    }

    /// A line ended.
    pub fn end_line(&mut self) {
        self.push("\n");
    }

    fn push(&mut self, text: &str) {
        // In octets: they are counted already.
        let room = MOST.saturating_sub(self.text.len());
        let end =
            text.char_indices().map(|(at, one)| at + one.len_utf8()).take_while(|end| *end <= room).last().unwrap_or(0);
        if end < text.len() {
            self.is_cut = true;
            self.said = cut();
        }
        self.text.push_str(&text[..end]);
    }

    /// How many lines there are.
    pub fn lines(&self) -> usize {
        self.text.lines().count()
    }
}

/// What is said of a text that is longer than what is kept.
fn cut() -> String {
    format!("only the first {} kB are kept: ask for one port alone", MOST / 1024)
}

/// Takes the pasted text as the answer; it stays where it was if it is none.
pub fn take(model: &mut Model) {
    let Some(Overlay::Paste(view)) = model.screen.overlays.last() else { return };
    let view = view.clone();
    let system = view.system.as_deref().and_then(|name| SwitchSystem::ALL.into_iter().find(|one| one.name() == name));
    match pasted::take(model, &view.check, &view.subject, system, &view.text) {
        Err(why) => {
            let why = if view.is_cut { format!("{why}; {}", cut()) } else { why };
            if let Some(Overlay::Paste(view)) = model.screen.overlays.last_mut() {
                view.said = why;
            }
        }
        Ok(taken) => {
            model.screen.overlays.pop();
            if taken.fits {
                asked::note(model, &view.check, &view.subject, &view.question, Said::Pasted);
            }
            diagnosis::judge_now(model);
            let said = if taken.fits {
                format!("taken as {}", taken.as_answer_of)
            } else {
                format!("taken as {}; what was asked is still open", taken.as_answer_of)
            };
            model.screen.notice = Some((said, model.now));
        }
    }
}
