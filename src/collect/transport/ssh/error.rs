//! Why a connection did not come to be. Every case is told apart, because each calls for another next step; the
//! sentences that the reader sees are in `problem.rs`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::known_hosts::Place;
use crate::app::Problem;
use crate::fabric::{TargetId, Text};

/// A connection did not come to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectError {
    /// The host at which it failed: the target itself or a jump on the way.
    pub stop: Stop,
    /// What failed there.
    pub failure: Failure,
}

/// One host on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Login name.
    pub user: String,
    /// Host name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// False for the target itself.
    pub is_jump: bool,
}

impl std::fmt::Display for Stop {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { user, host, port, .. } = self;
        if host.contains(':') {
            write!(formatter, "{user}@[{host}]:{port}")
        } else {
            write!(formatter, "{user}@{host}:{port}")
        }
    }
}

/// When the next try makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// By itself, later: what failed may mend without anybody.
    Automatic,
    /// Only when the user asks: a further try would fail in the same way, or could lock the login.
    OnlyWhenAsked,
}

/// What failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The route has no host in it.
    NoRoute,
    /// The host name has no address.
    NameNotResolved(Text),
    /// Something answered at the address, and nothing listens on the port.
    Refused(Vec<SocketAddr>),
    /// The network has no way there, or says the host is down.
    Unreachable(Text),
    /// No answer to the TCP connection within this time.
    TcpTimedOut(Duration, Vec<SocketAddr>),
    /// The operating system refused the TCP connection for another reason.
    Tcp(Text),
    /// The jump host before this one did not open a way.
    JumpRefused {
        /// What it said.
        reason: JumpRefusal,
        /// Name of that jump host.
        jump: String,
    },
    /// The connection was accepted, and closed before the keys were exchanged.
    ClosedInHandshake {
        /// The peer had already greeted as an SSH server.
        greeted: bool,
    },
    /// The other side speaks something else; its first words.
    NotSsh(Text),
    /// Connected, and then nothing within this time.
    HandshakeTimedOut {
        /// How long was waited.
        after: Duration,
        /// The peer had already greeted as an SSH server.
        greeted: bool,
    },
    /// The two sides have no algorithm in common.
    NoCommonAlgorithm {
        /// Of which kind: key exchange, host key, cipher, MAC.
        kind: &'static str,
        /// What we offered.
        ours: Vec<String>,
        /// What the server offered.
        theirs: Vec<String>,
    },
    /// The server broke the protocol.
    Protocol(Text),
    /// A host key that is not recorded was not accepted.
    HostKeyUnknown {
        /// The key.
        key: Box<OfferedHostKey>,
        /// Why it was not accepted.
        why: NotAccepted,
        /// A line that trusts an authority for this host.
        authority: Option<Place>,
    },
    /// The host shows another key than the recorded one.
    HostKeyChanged {
        /// The key it shows.
        key: Box<OfferedHostKey>,
        /// Where the other key is recorded; `None` if it was accepted a moment ago.
        recorded: Option<Place>,
        /// Algorithm and fingerprint of the recorded key.
        recorded_key: String,
    },
    /// The host shows a key that is marked as revoked.
    HostKeyRevoked {
        /// The key it shows.
        key: Box<OfferedHostKey>,
        /// The line that revokes it.
        recorded: Place,
    },
    /// A new host key could not be written down.
    HostKeyNotRecorded {
        /// The key it shows.
        key: Box<OfferedHostKey>,
        /// The file.
        file: PathBuf,
        /// Why not.
        reason: Text,
    },
    /// A file of known host keys is there and cannot be read.
    KnownHostsUnreadable {
        /// The file.
        file: PathBuf,
        /// Why not.
        reason: Text,
    },
    /// No key was accepted.
    AuthenticationRefused(Box<KeysTried>),
    /// There was no key to offer.
    NoKeyToOffer(Box<KeysTried>),
    /// The server ended the connection because of too many refused keys.
    TooManyFailures(Box<KeysTried>),
    /// The server takes no keys, only other methods.
    KeysNotTaken {
        /// The methods it takes.
        accepts: Vec<String>,
    },
    /// The key was accepted and the server wants a further proof.
    SecondStepNeeded {
        /// The key.
        key: String,
        /// The methods that it wants next.
        accepts: Vec<String>,
    },
    /// The connection ended while logging in.
    ClosedInAuthentication {
        /// Why, in the server's words or the library's.
        reason: Text,
        /// The keys that were refused before.
        tried: Box<KeysTried>,
    },
    /// No answer while logging in.
    AuthenticationTimedOut {
        /// Since the login began.
        after: Duration,
        /// True if a key was refused before: a further try would be one more refusal.
        refused: bool,
    },
}

/// Why a jump host opened no way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JumpRefusal {
    /// It forwards nothing (`AllowTcpForwarding no`, `PermitOpen`).
    Prohibited,
    /// It could not connect to the next host.
    ConnectFailed,
    /// Something else.
    Other(Text),
}

/// The host key that a host shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedHostKey {
    /// The name under which it would be recorded.
    pub name: String,
    /// `ssh-ed25519`.
    pub algorithm: String,
    /// `SHA256:...`.
    pub fingerprint: String,
}

/// Why an unknown host key was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAccepted {
    /// The settings say: ask; and nobody is there.
    NobodyToAsk,
    /// The person at the console said no.
    RefusedByUser,
    /// The settings say: refuse.
    Strict,
}

/// What became of the keys. Names, files and fingerprints, never secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeysTried {
    /// Offered and refused.
    pub offered: Vec<String>,
    /// Keys that were left out because too many offers lock a login.
    pub left_out: usize,
    /// Could not be offered.
    pub set_aside: Vec<SetAside>,
    /// What the agent gave.
    pub agent: AgentState,
    /// Methods that the server still takes.
    pub accepts: Vec<String>,
}

/// A key that could not be offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// File, or key of the agent.
    pub name: String,
    /// Why.
    pub reason: SetAsideReason,
}

/// Why a key could not be offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetAsideReason {
    /// There is no such file.
    Missing,
    /// The file cannot be read.
    Unreadable(Text),
    /// The file is encrypted, and the agent does not hold its key.
    Encrypted,
    /// Others may read the file; its mode.
    TooOpen(u32),
    /// The file holds no private key that is understood.
    NotAKey(Text),
    /// The key lives in a hardware token or the file holds only its public half, and the agent does not hold it.
    OnlyInAgent,
    /// A certificate without its private key.
    CertificateWithoutKey,
    /// An RSA certificate whose key is in a file: it can only be signed with SHA-1 here.
    RsaCertificate,
    /// The agent would not sign.
    AgentDeclined(Text),
}

/// What the agent gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AgentState {
    /// Not asked yet.
    #[default]
    NotAsked,
    /// The settings say: no agent.
    Disabled,
    /// `SSH_AUTH_SOCK` is not set.
    NotRunning,
    /// It does not answer.
    Unreachable {
        /// Its socket.
        socket: PathBuf,
        /// Why.
        reason: Text,
    },
    /// It answered with so many keys.
    Holds(usize),
}

impl ConnectError {
    /// When the next try makes sense.
    pub fn retry(&self) -> Retry {
        match &self.failure {
            Failure::NameNotResolved(_)
            | Failure::Refused(_)
            | Failure::Unreachable(_)
            | Failure::TcpTimedOut(..)
            | Failure::Tcp(_)
            | Failure::JumpRefused { reason: JumpRefusal::ConnectFailed | JumpRefusal::Other(_), .. }
            | Failure::ClosedInHandshake { .. }
            | Failure::NotSsh(_)
            | Failure::HandshakeTimedOut { .. }
            | Failure::Protocol(_)
            | Failure::AuthenticationTimedOut { refused: false, .. } => Retry::Automatic,
            Failure::ClosedInAuthentication { tried, .. } if tried.offered.is_empty() => Retry::Automatic,
            _ => Retry::OnlyWhenAsked,
        }
    }

    /// What to tell the reader: what happened on which target, the likely cause, the next step.
    pub fn problem(&self, target: &TargetId) -> Problem {
        super::problem::problem(self, target)
    }
}

impl std::fmt::Display for ConnectError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.problem(&TargetId::new(&self.stop.host)).fmt(formatter)
    }
}

impl std::error::Error for ConnectError {}
