//! What OpenSSH's configuration says about one host, from text: the answer of `ssh -G`, or, where there is no `ssh`, its
//! configuration files. Both end in the same [`HostSettings`]. What would change who is connected to, or how far it is
//! trusted, and cannot be honoured, is refused by name; `keyword.rs` lists what may be ignored, with the reason.

mod dump;
mod file;
mod keyword;
mod login;
mod pattern;
mod settle;
mod word;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

pub use dump::parse_ssh_g;
pub use file::{Base, Included, Reading, parse_files};

/// What to do about a host key that is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum HostKeyChecking {
    /// Ask whoever sits there; refuse where nobody does.
    #[default]
    Ask,
    /// Refuse.
    Strict,
    /// Write down a new key and go on; a changed one is refused. (`no` and `off` are treated like this too.)
    AcceptNew,
}

/// Which addresses of a name are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AddressFamily {
    /// All of them.
    #[default]
    Any,
    /// IPv4 only.
    Inet,
    /// IPv6 only.
    Inet6,
}

/// A way to prove who logs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginMethod {
    /// Keys, from files or the agent.
    PublicKey,
    /// Questions of the server.
    KeyboardInteractive,
    /// The password of the account.
    Password,
}

impl LoginMethod {
    /// All that are known here, in the order in which OpenSSH tries them.
    pub const ALL: [Self; 3] = [Self::PublicKey, Self::KeyboardInteractive, Self::Password];

    /// The name in the protocol and in `PreferredAuthentications`.
    pub fn name(self) -> &'static str {
        match self {
            Self::PublicKey => "publickey",
            Self::KeyboardInteractive => "keyboard-interactive",
            Self::Password => "password",
        }
    }
}

/// How a login may be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginSettings {
    /// The methods that are allowed, in the order to try; empty if all are switched off.
    pub methods: Vec<LoginMethod>,
    /// Nobody is asked anything for this host (`BatchMode yes`), neither for a secret nor about a host key.
    pub batch_mode: bool,
    /// Secrets are asked for (`NumberOfPasswordPrompts` is not 0). One that was wrong is never asked for again by itself,
    /// so a higher number changes nothing.
    pub asks_secrets: bool,
}

impl Default for LoginSettings {
    fn default() -> Self {
        Self { methods: LoginMethod::ALL.to_vec(), batch_mode: false, asks_secrets: true }
    }
}

/// One stop on the way to a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jump {
    /// Alias or host name, itself resolved through the configuration.
    pub host: String,
    /// User, where the jump names one.
    pub user: Option<String>,
    /// Port, where the jump names one.
    pub port: Option<u16>,
}

/// Everything that a connection to one host needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostSettings {
    /// The name that was asked for.
    pub alias: String,
    /// The user that was named with it, before any configuration.
    pub asked_user: Option<String>,
    /// The port that was named with it, before any configuration.
    pub asked_port: Option<u16>,
    /// Where to connect to.
    pub hostname: String,
    /// TCP port.
    pub port: u16,
    /// Login name.
    pub user: String,
    /// Private key files, in the order to try.
    pub identity_files: Vec<PathBuf>,
    /// Offer only the keys of `identity_files`, even if the agent holds more.
    pub identities_only: bool,
    /// Socket of the agent: `None` means `SSH_AUTH_SOCK`.
    pub identity_agent: Option<IdentityAgent>,
    /// Certificate files.
    pub certificate_files: Vec<PathBuf>,
    /// Stops on the way, first one first.
    pub proxy_jump: Vec<Jump>,
    /// Files of known host keys, first the one that new keys are written to.
    pub user_known_hosts: Vec<PathBuf>,
    /// System-wide files of known host keys.
    pub global_known_hosts: Vec<PathBuf>,
    /// Name under which the host key is recorded, where it is another one than `hostname`.
    pub host_key_alias: Option<String>,
    /// What to do about an unknown host key.
    pub host_key_checking: HostKeyChecking,
    /// New host keys are written down under a hash of the name.
    pub hash_known_hosts: bool,
    /// Which addresses of the name are used.
    pub address_family: AddressFamily,
    /// A command, tokens already replaced, whose input and output are the connection.
    pub proxy_command: Option<String>,
    /// How the login may be made.
    pub login: LoginSettings,
}

impl HostSettings {
    /// Settings for a host of which nothing is configured: no key files, no agent but the usual one, no files of known
    /// host keys.
    pub fn bare(user: &str, hostname: &str, port: u16) -> Self {
        Self {
            alias: hostname.to_owned(),
            asked_user: Some(user.to_owned()),
            asked_port: Some(port),
            hostname: hostname.to_owned(),
            port,
            user: user.to_owned(),
            identity_files: Vec::new(),
            identities_only: false,
            identity_agent: None,
            certificate_files: Vec::new(),
            proxy_jump: Vec::new(),
            user_known_hosts: Vec::new(),
            global_known_hosts: Vec::new(),
            host_key_alias: None,
            host_key_checking: HostKeyChecking::Ask,
            hash_known_hosts: false,
            address_family: AddressFamily::Any,
            proxy_command: None,
            login: LoginSettings::default(),
        }
    }
}

/// Where the agent listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdentityAgent {
    /// No agent at all (`IdentityAgent none`).
    None,
    /// A socket of this path.
    Socket(PathBuf),
}

/// What the meaning of a configuration depends on beside its text.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Home directory of the user, for `~` and `%d`.
    pub home: PathBuf,
    /// Login name of the user here, for `%u` and as the default for there.
    pub user: String,
    /// Numeric id of the user, for `%i`.
    pub user_id: u32,
    /// Name of this machine, for `%l` and `%L`.
    pub host_name: String,
    /// Environment variables, for `${NAME}` and `IdentityAgent $NAME`.
    pub environment: BTreeMap<String, String>,
}

impl fmt::Debug for Surroundings {
    /// Leaves the environment out: it may hold secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Surroundings")
            .field("home", &self.home)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// Settings of a host and what should be told about how they came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The settings.
    pub settings: HostSettings,
    /// What was skipped, by name, with the place.
    pub notes: Vec<String>,
}

/// Why OpenSSH's configuration gives no settings for a host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenSshError {
    /// A name that must not reach a command.
    #[error("{0}")]
    Name(String),
    /// A setting that cannot be honoured and must not be ignored.
    #[error("{place}: {keyword} cannot be honoured: {reason}")]
    Refused {
        /// File and line, or the command that said it.
        place: String,
        /// The keyword as OpenSSH documents it.
        keyword: &'static str,
        /// Why not, and what to do instead.
        reason: String,
    },
    /// A text that OpenSSH would refuse too, or that is no answer of `ssh -G`.
    #[error("{place}: {what}")]
    Malformed {
        /// File and line, or the command that said it.
        place: String,
        /// What is wrong.
        what: String,
    },
}

#[cfg(test)]
mod tests;
