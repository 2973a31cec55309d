//! The line into which a secret is typed. It lives in the loop of the screen and nowhere else: not in the model, not in a
//! message, not in a journal. It belongs to one question, and is overwritten when that is answered, refused or withdrawn,
//! when another one comes in front, and when the terminal is handed over.
//!
//! What is pressed in the first moments of a question was meant for something else, and a wrong password can lock an
//! account. So the line opens only once it stood on the screen for a moment without a key being pressed.

use std::fmt;
use std::time::Duration;

use secrecy::zeroize::Zeroize as _;
use secrecy::{ExposeSecret as _, ExposeSecretMut as _, SecretBox};
use tokio::time::Instant;

use crate::app::Secret;

/// How long a question stands on the screen, without a key, before it can be answered.
pub const PATIENCE: Duration = Duration::from_millis(700);

/// The most bytes of a secret. The line has room for all of them from the start: growing would leave copies behind.
const LONGEST: usize = 4096;

/// A question for a secret that has the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecretPrompt {
    /// Number of the question.
    pub id: u64,
    /// Whether what is typed may be seen.
    pub echo: bool,
    /// Whether it may be given to others that ask for the same.
    pub may_reuse: bool,
    /// Whether an answer of nothing is one (a server's question may ask for a mere Enter).
    pub may_be_empty: bool,
}

/// What may be seen of the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Typed<'a> {
    /// Whether anything was typed; never how much.
    pub any: bool,
    /// The text itself, where the server allows it to be seen.
    pub echo: Option<&'a str>,
    /// Whether others that ask for the same get it, too.
    pub reuse: bool,
    /// What to know about the line, if anything.
    pub note: Option<&'static str>,
}

const EARLY: &str = "what was pressed before this line was open is dropped: pause for a moment, then type all of it";
const EMPTY: &str = "nothing is typed yet, so nothing was given";
const FULL: &str = "this is too long for a secret: the rest was dropped, so begin anew";

/// The line.
pub struct SecretLine {
    prompt: Option<SecretPrompt>,
    text: SecretBox<String>,
    reuse: bool,
    note: Option<&'static str>,
    /// When it opens; `None` until it was drawn.
    opens: Option<Instant>,
    open: bool,
}

impl fmt::Debug for SecretLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SecretLine").field("prompt", &self.prompt).finish_non_exhaustive()
    }
}

impl Default for SecretLine {
    fn default() -> Self {
        let text = SecretBox::init_with_mut(|text: &mut String| text.reserve_exact(LONGEST));
        Self { prompt: None, text, reuse: false, note: None, opens: None, open: false }
    }
}

impl SecretLine {
    /// This question has the keys now; another one, or none, wipes what was typed.
    pub fn follow(&mut self, prompt: Option<SecretPrompt>) {
        if self.prompt != prompt {
            self.wipe();
            self.prompt = prompt;
        }
    }

    /// The question that has the keys.
    pub fn prompt(&self) -> Option<SecretPrompt> {
        self.prompt
    }

    /// Forgets everything that was typed, and closes the line until it was drawn again.
    pub fn wipe(&mut self) {
        self.clear();
        self.reuse = false;
        self.note = None;
        self.opens = None;
        self.open = false;
    }

    /// Forgets the text.
    pub fn clear(&mut self) {
        let text = self.text.expose_secret_mut();
        text.zeroize();
        // Wiping keeps the room; should that ever change, it is made again before anything is typed.
        text.reserve_exact(LONGEST);
        self.note = None;
    }

    /// The question with this number stands on the screen since `now` at the latest.
    pub fn drawn(&mut self, id: u64, now: Instant) {
        if self.opens.is_none() && self.prompt.is_some_and(|prompt| prompt.id == id) {
            self.opens = Some(now + PATIENCE);
        }
    }

    /// True if what is pressed now belongs to the question. What comes too early is dropped, and the wait begins anew.
    pub fn takes(&mut self, now: Instant) -> bool {
        self.open |= self.opens.is_some_and(|opens| now >= opens);
        if !self.open {
            self.note = Some(EARLY);
            if let Some(opens) = &mut self.opens {
                *opens = now + PATIENCE;
            }
        }
        self.open
    }

    /// Adds a character.
    pub fn insert(&mut self, character: char) {
        if character.is_control() {
            return;
        }
        let text = self.text.expose_secret_mut();
        if text.len() + character.len_utf8() > LONGEST {
            self.note = Some(FULL);
            return;
        }
        text.push(character);
        self.note = None;
    }

    /// Adds a pasted text, without the newline that copying often brings along; its own memory is overwritten.
    pub fn paste(&mut self, mut pasted: String) {
        let rest = pasted.trim_end_matches(['\r', '\n']).len();
        for character in pasted[..rest].chars() {
            self.insert(character);
        }
        pasted.zeroize();
    }

    /// Takes the last character away.
    pub fn delete(&mut self) {
        self.note = None;
        let text = self.text.expose_secret_mut();
        let Some(last) = text.pop() else { return };
        // Cutting alone would leave it in memory.
        let end = text.len();
        for _ in 0..last.len_utf8() {
            text.push('\0');
        }
        text.truncate(end);
    }

    /// Ticks or unticks that others get it, too, where that can be.
    pub fn toggle_reuse(&mut self) {
        if self.prompt.is_some_and(|prompt| prompt.may_reuse) {
            self.reuse = !self.reuse;
        }
    }

    /// Takes out what was typed, for the question with the number that comes with it; the line is empty and closed then.
    pub fn give(&mut self) -> Option<(u64, Secret, bool)> {
        let prompt = self.prompt?;
        let text = self.text.expose_secret();
        if text.is_empty() && !prompt.may_be_empty {
            self.note = Some(EMPTY);
            return None;
        }
        // A text of exactly this size becomes a secret without being copied once more.
        let secret = Secret::new(String::from(text.as_str()));
        let given = (prompt.id, secret, self.reuse);
        self.wipe();
        Some(given)
    }

    /// What may be seen.
    pub fn typed(&self) -> Typed<'_> {
        let text = self.text.expose_secret();
        Typed {
            any: !text.is_empty(),
            echo: self.prompt.is_some_and(|prompt| prompt.echo).then_some(text.as_str()),
            reuse: self.reuse,
            note: self.note,
        }
    }
}

/// Overwrites a text that nobody takes.
pub fn overwrite(mut text: String) {
    text.zeroize();
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWORD: SecretPrompt = SecretPrompt { id: 7, echo: false, may_reuse: true, may_be_empty: false };

    /// A line that is open for `prompt`.
    fn open(prompt: SecretPrompt) -> SecretLine {
        let mut line = SecretLine::default();
        line.follow(Some(prompt));
        let now = Instant::now();
        line.drawn(prompt.id, now);
        assert!(line.takes(now + PATIENCE));
        line
    }

    fn type_in(line: &mut SecretLine, text: &str) {
        text.chars().for_each(|character| line.insert(character));
    }

    fn given(line: &mut SecretLine) -> Option<(u64, String, bool)> {
        line.give().map(|(id, secret, reuse)| (id, secret.expose().to_owned(), reuse))
    }

    #[tokio::test(start_paused = true)]
    async fn it_opens_after_a_moment_without_a_key() {
        let mut line = SecretLine::default();
        line.follow(Some(PASSWORD));
        let now = Instant::now();
        assert!(!line.takes(now + 10 * PATIENCE), "it was never drawn");
        line.drawn(8, now);
        assert!(!line.takes(now + 10 * PATIENCE), "another one was");
        line.drawn(7, now);
        line.drawn(7, now + PATIENCE);
        let half = PATIENCE / 2;
        assert!(!line.takes(now + half));
        assert!(!line.takes(now + PATIENCE), "whoever types on types for something else");
        assert_eq!(line.typed().note, Some(EARLY));
        assert!(line.takes(now + 2 * PATIENCE));
        assert!(line.takes(now + 2 * PATIENCE), "and then it stays open");
        line.wipe();
        assert!(!line.takes(now + 9 * PATIENCE), "until it is wiped");
    }

    #[test]
    fn it_is_edited_and_given_once() {
        let mut line = open(PASSWORD);
        assert_eq!(given(&mut line), None, "an empty password is no answer");
        assert_eq!(line.typed().note, Some(EMPTY));
        type_in(&mut line, "hunterö");
        line.delete();
        line.insert('\u{1b}');
        line.paste("23\r\n".to_owned());
        assert_eq!(line.typed(), Typed { any: true, echo: None, reuse: false, note: None });
        line.toggle_reuse();
        assert_eq!(given(&mut line), Some((7, "hunter23".to_owned(), true)));
        assert_eq!(line.typed(), Typed::default());
        assert_eq!(given(&mut line), None);
        for _ in 0..3 {
            line.delete();
        }
    }

    #[test]
    fn whatever_comes_between_wipes_it() {
        let other = SecretPrompt { id: 8, ..PASSWORD };
        for wipe in [
            (|line, _| line.follow(None)) as fn(&mut SecretLine, SecretPrompt),
            |line, other| line.follow(Some(other)),
            |line, _| line.wipe(),
            |line, _| line.clear(),
        ] {
            let mut line = open(PASSWORD);
            type_in(&mut line, "hunter2");
            line.toggle_reuse();
            wipe(&mut line, other);
            assert!(!line.typed().any);
            line.follow(Some(other));
            assert_eq!(given(&mut line), None);
            assert!(!line.typed().reuse);
        }
        let mut line = open(PASSWORD);
        type_in(&mut line, "hunter2");
        line.follow(Some(PASSWORD));
        assert!(line.typed().any, "the same question keeps it");
    }

    #[test]
    fn only_an_answer_that_may_be_seen_is_shown_and_nothing_prints_it() {
        let mut line = open(SecretPrompt { echo: true, may_reuse: false, may_be_empty: true, ..PASSWORD });
        assert_eq!(line.typed().echo, Some(""));
        type_in(&mut line, "123456");
        line.toggle_reuse();
        assert_eq!(line.typed(), Typed { any: true, echo: Some("123456"), reuse: false, note: None });
        assert!(!format!("{line:?}").contains("123456"));
        line.clear();
        assert_eq!(given(&mut line), Some((7, String::new(), false)), "Enter alone is an answer here");
    }

    #[test]
    fn a_secret_has_an_end_and_its_room_never_moves() {
        let mut line = open(PASSWORD);
        let place = line.text.expose_secret().as_ptr();
        line.paste("x".repeat(LONGEST + 10));
        assert_eq!(line.typed().note, Some(FULL));
        assert_eq!(line.text.expose_secret().as_ptr(), place);
        line.delete();
        assert_eq!(line.typed().note, None);
        let (_, text, _) = given(&mut line).expect("a secret");
        assert_eq!(text.len(), LONGEST - 1);
    }
}
