//! Questions that only the person at the console can answer, and the answers.

use serde::{Deserialize, Serialize};

use super::secret::Secret;
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
    /// A password, a passphrase or a code is needed.
    Secret(SecretRequest),
}

/// A secret that a connection needs. Texts of the server are cut and cleaned, and are shown as the server's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretRequest {
    /// What kind of secret.
    pub what: SecretKind,
    /// Who asks, by our own name for it: `user@host:port`.
    pub asked_by: Text,
    /// What the server says about the whole round of questions; empty if nothing.
    pub instruction: Text,
    /// The server's question, or ours where the server asks none.
    pub question: Text,
    /// Whether the server allows the answer to be seen while it is typed (a code that is used once).
    pub echo: bool,
    /// Whether the user may tick that other targets which ask for the same get this secret, too.
    pub may_reuse: bool,
}

/// Kinds of secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SecretKind {
    /// The passphrase of a key file, which is named. It stays on this machine.
    Passphrase(Text),
    /// The password of the account.
    Password,
    /// One question of a keyboard-interactive login.
    Interactive,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Yes, trust this host key and write it down.
    Accept,
    /// No. Nothing more is tried.
    Refuse,
    /// The secret that was asked for.
    Secret {
        /// What was typed.
        secret: Secret,
        /// Whether others that ask for the same get it, too.
        reuse: bool,
    },
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
