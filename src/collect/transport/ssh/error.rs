//! Why a connection did not come to be. Every case is told apart, because each calls for another next step; the
//! sentences that the reader sees are in `problem/`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::known_hosts::Place;
use crate::app::SecretRequest;
use crate::fabric::Text;

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
    /// The `ssh` command that goes there, as a person would type it.
    pub by_hand: String,
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
        /// The server has one that is offered with `legacy_algorithms = true` only.
        legacy_would_help: bool,
    },
    /// The command whose input and output are the connection gave none.
    ProxyCommand {
        /// The command, tokens replaced.
        command: Text,
        /// How it ended.
        end: ProxyEnd,
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
    /// The host shows a certificate of an authority that is trusted for it, and the certificate is not good.
    HostCertificateRefused {
        /// The key in the certificate.
        key: Box<OfferedHostKey>,
        /// What is wrong with the certificate.
        why: Text,
        /// The line that trusts the authority.
        authority: Place,
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
    /// None of the methods that the settings allow is one that the server takes.
    NoMethod {
        /// The methods that the server takes.
        accepts: Vec<String>,
        /// The methods that the settings allow.
        allowed: Vec<String>,
    },
    /// Something was accepted, and what the server wants next cannot be given.
    SecondStepNeeded {
        /// What was accepted.
        done: String,
        /// The methods that it wants next.
        accepts: Vec<String>,
    },
    /// A secret is needed and was not given.
    SecretNeeded {
        /// What was, or would be, asked.
        asked: Box<SecretRequest>,
        /// Why it was not given.
        why: NotGiven,
        /// The keys that were tried before.
        tried: Box<KeysTried>,
    },
    /// A secret was sent and refused.
    SecretRefused {
        /// The method: `password` or `keyboard-interactive`.
        method: &'static str,
        /// Where the secret came from.
        from: SecretFrom,
        /// The methods that the server still takes.
        accepts: Vec<String>,
    },
    /// The server asks more, and more often, than any login needs.
    QuestionsWithoutEnd {
        /// A secret was sent before; whether it counts as refused is not known.
        secret_sent: bool,
    },
    /// A passphrase does not open its key file. It never left this machine.
    WrongPassphrase {
        /// The file.
        file: String,
    },
    /// The command that gives the password gave none. Nothing was sent.
    PasswordCommand {
        /// The program, without its arguments.
        program: Text,
        /// What went wrong.
        problem: CommandProblem,
    },
    /// The connection ended while logging in.
    ClosedInAuthentication {
        /// Why, in the server's words or the library's.
        reason: Text,
        /// The keys that were refused before.
        tried: Box<KeysTried>,
        /// A secret was sent on it; whether it counts as refused is not known.
        secret_sent: bool,
    },
    /// No answer while logging in.
    AuthenticationTimedOut {
        /// Since the login began.
        after: Duration,
        /// True if a key was refused or a secret sent before: a further try would be one more refusal.
        refused: bool,
    },
}

/// How a `ProxyCommand` ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProxyEnd {
    /// It could not be started.
    NotStarted(Text),
    /// It ended, or was ended because it gave no connection.
    Ended {
        /// Its exit status; `None` if it had to be ended.
        status: Option<i32>,
        /// The last line that it complained.
        said: Option<Text>,
    },
}

/// Why the command that gives a password gave none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandProblem {
    /// It could not be started.
    NotStarted(Text),
    /// It ended with this status; `None` if a signal ended it.
    Failed(Option<i32>),
    /// It did not end within this time.
    TimedOut(Duration),
    /// Its first line is empty.
    Empty,
    /// Its first line is longer than any password.
    TooLong,
    /// Its first line is not UTF-8.
    NotText,
}

/// Why a secret was not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotGiven {
    /// There is no console.
    NobodyToAsk,
    /// The settings say that nobody is to be asked (`BatchMode`, `NumberOfPasswordPrompts 0`).
    MayNotAsk,
    /// It was asked for once, and the user has not acted since.
    NotAgain,
    /// The person at the console gave none.
    RefusedByUser,
}

/// Where a secret came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretFrom {
    /// Somebody typed it.
    Typed,
    /// This program gave it.
    Command(Text),
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
    /// The file is encrypted, the agent does not hold its key, and no passphrase was given.
    Encrypted,
    /// Others may read the file; its mode.
    TooOpen(u32),
    /// The file holds no private key that is understood.
    NotAKey(Text),
    /// The key lives in a hardware token or the file holds only its public half, and the agent does not hold it.
    OnlyInAgent,
    /// A certificate without its private key.
    CertificateWithoutKey,
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
            Failure::ProxyCommand { end: ProxyEnd::Ended { .. }, .. }
            | Failure::PasswordCommand { problem: CommandProblem::Failed(_) | CommandProblem::TimedOut(_), .. } => {
                Retry::Automatic
            }
            Failure::ClosedInAuthentication { tried, secret_sent: false, .. } if tried.offered.is_empty() => {
                Retry::Automatic
            }
            _ => Retry::OnlyWhenAsked,
        }
    }
}
