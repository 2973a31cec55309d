//! Questions that only the person at the console can answer.

use serde::{Deserialize, Serialize};

use crate::fabric::{TargetId, Text};

/// A question that is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// Number by which the answer finds its asker.
    pub id: u64,
    /// Whose connection waits for the answer.
    pub target: TargetId,
    /// What is asked.
    pub kind: PromptKind,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PromptKind {
    /// The host key is not known: connect and remember it?
    UnknownHostKey(UnknownHostKey),
}

/// A host key seen for the first time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownHostKey {
    /// Host (and port, if not 22) as it would be recorded: `host` or `[host]:port`.
    pub host: Text,
    /// Algorithm, `ssh-ed25519`.
    pub algorithm: Text,
    /// `SHA256:...`.
    pub fingerprint: Text,
    /// The file it would be written to.
    pub recorded_in: Text,
}
