//! How the connection to one target stands.

use serde::{Deserialize, Serialize};

use crate::fabric::{Text, Timestamp};

/// Something that went wrong at one target, told so that the reader can act: what happened, the likely cause, the next
/// step. It is always shown beside the target's name, or below it, and does not name it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// What happened, as it goes on behind the name: `connection refused (10.0.0.1:22)`, `is a macOS system`.
    pub what: Text,
    /// The likely cause; empty where nothing honest can be said.
    pub cause: Text,
    /// What to do next.
    pub next_step: Text,
}

impl Problem {
    /// A problem from its three sentences.
    pub fn new(what: &str, cause: &str, next_step: &str) -> Self {
        Self { what: Text::new(what), cause: Text::new(cause), next_step: Text::new(next_step) }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.what)?;
        for sentence in [&self.cause, &self.next_step] {
            if !sentence.is_empty() {
                write!(formatter, "; {sentence}")?;
            }
        }
        Ok(())
    }
}

/// How the connection to one target stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Connection {
    /// Not tried yet.
    Waiting,
    /// On the way.
    Connecting {
        /// 1 for the first try.
        attempt: u32,
    },
    /// Waits for an answer of the person at the console.
    Asking,
    /// Up.
    Connected {
        /// Since when.
        since: Timestamp,
        /// User, host and port, and the way there, in words.
        via: Text,
    },
    /// Broken; tried again by itself at a known time.
    BackingOff {
        /// When the next try starts.
        until: Timestamp,
        /// How many tries failed in a row.
        attempt: u32,
        /// Why.
        problem: Problem,
    },
    /// Broken in a way that a further try would not mend or could make worse (a refused key, a changed host key):
    /// nothing is tried until the user asks.
    Failed {
        /// Why.
        problem: Problem,
    },
}

impl Connection {
    /// True if values can come in.
    pub fn is_up(&self) -> bool {
        matches!(self, Self::Connected { .. })
    }
}
