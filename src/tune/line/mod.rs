//! Reads a command line, a script's lines or a file of environment that somebody has already, and says of each item what it
//! does between the given guests: right, without effect, gone in this release, the opposite of what is meant, a name that
//! the guest does not have. What is not in the catalogues is called unknown, not wrong.

pub mod hostfile;
mod judge;
pub mod read;

pub use judge::judge;
#[cfg(test)]
pub use judge::tests::guest as test_guest;
pub use read::{Given, How, read};

/// What an item does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It does what it is meant for.
    Fine,
    /// It changes nothing here.
    Harmless,
    /// It does something, and a better value is known.
    Better,
    /// Nothing is known of it.
    Unknown,
    /// This release does not have it any more, or not yet.
    Gone,
    /// It names something that a guest does not have.
    WrongName,
    /// It does the opposite of what is meant, or breaks the job.
    Opposite,
}

impl Verdict {
    /// It as documents print it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Harmless => "harmless",
            Self::Better => "better",
            Self::Unknown => "unknown",
            Self::Gone => "gone",
            Self::WrongName => "wrong-name",
            Self::Opposite => "opposite",
        }
    }

    /// It in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Harmless => "without effect here",
            Self::Better => "works, there is better",
            Self::Unknown => "not in our catalogue",
            Self::Gone => "gone in this release",
            Self::WrongName => "wrong name for this guest",
            Self::Opposite => "does the opposite",
        }
    }
}

/// What is said of one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// Line of the text, from 1.
    pub line: u32,
    /// The item as it is written, cleaned.
    pub written: String,
    /// What it does.
    pub verdict: Verdict,
    /// Why that is said.
    pub reason: String,
    /// Where that is written.
    pub source: &'static str,
    /// What to write in its place; empty where nothing is to be changed.
    pub instead: String,
}
