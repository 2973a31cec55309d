//! What OpenSSH's configuration says about one host.

use std::path::PathBuf;

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
}

/// Where the agent listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdentityAgent {
    /// No agent at all (`IdentityAgent none`).
    None,
    /// A socket of this path.
    Socket(PathBuf),
}
