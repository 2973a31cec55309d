//! The sentences for a connection that failed: what happened on which target, the likely cause, the next step.

use super::error::{
    AgentState, ConnectError, Failure, JumpRefusal, KeysTried, NotAccepted, OfferedHostKey, SetAside, SetAsideReason,
    Stop,
};
use super::known_hosts::{Place, short_path};
use crate::app::Problem;
use crate::fabric::TargetId;

/// The sentences for `error`.
pub fn problem(error: &ConnectError, target: &TargetId) -> Problem {
    let ConnectError { stop, failure } = error;
    let place = match (stop.is_jump, stop.to_string()) {
        (true, stop) => format!("{target}: jump host {stop}"),
        // A target that is named by its address is not named twice.
        (false, stop) if stop.starts_with(target.as_str()) => stop,
        (false, stop) => format!("{target}: {stop}"),
    };
    let what = |text: &str| format!("{place}: {text}");
    match failure {
        Failure::HostKeyUnknown { .. }
        | Failure::HostKeyChanged { .. }
        | Failure::HostKeyRevoked { .. }
        | Failure::HostKeyNotRecorded { .. }
        | Failure::KnownHostsUnreadable { .. } => host_key(failure, stop, &what),
        Failure::AuthenticationRefused(_)
        | Failure::NoKeyToOffer(_)
        | Failure::TooManyFailures(_)
        | Failure::KeysNotTaken { .. }
        | Failure::SecondStepNeeded { .. }
        | Failure::ClosedInAuthentication { .. }
        | Failure::AuthenticationTimedOut { .. } => login(failure, stop, &what),
        _ => way(failure, stop, &what),
    }
}

/// The network and the handshake.
fn way(failure: &Failure, stop: &Stop, what: &dyn Fn(&str) -> String) -> Problem {
    let Stop { user, host, port, .. } = stop;
    match failure {
        Failure::NameNotResolved(reason) => Problem::new(
            &what(&format!("the name {host} has no address ({reason})")),
            "a misspelt name, or a name server that does not know it",
            &format!("check HostName in the SSH configuration; try: getent hosts {host}"),
        ),
        Failure::Refused(tried) => Problem::new(
            &what(&format!("connection refused ({})", addresses(tried))),
            &format!("the host is up, and no SSH server listens on port {port} (or a firewall rejects it)"),
            "start sshd there, or check the port",
        ),
        Failure::Unreachable(reason) => Problem::new(
            &what(&format!("unreachable ({reason})")),
            "no route to its network, or the host is down",
            &format!("check the address and the routes from here; try: ip route get {host}"),
        ),
        Failure::TcpTimedOut(after, tried) => Problem::new(
            &what(&format!("no answer within {} s ({})", after.as_secs(), addresses(tried))),
            "the host is off, or a firewall drops the packets",
            &format!("check that it is powered on and that port {port} is open from here"),
        ),
        Failure::Tcp(reason) => {
            Problem::new(&what(&format!("cannot connect ({reason})")), "", "check local firewall rules and limits")
        }
        Failure::JumpRefused { reason, jump } => {
            let (cause, next) = match reason {
                JumpRefusal::Prohibited => (
                    "AllowTcpForwarding or PermitOpen in its sshd_config forbids it".to_owned(),
                    format!("allow forwarding for this login on {jump}, or take another jump host"),
                ),
                JumpRefusal::ConnectFailed => (
                    format!("{host}:{port} cannot be reached from {jump}, or its limit of sessions is reached"),
                    format!("try there: nc -vz {host} {port}"),
                ),
                JumpRefusal::Other(text) => (text.to_string(), format!("read the log of sshd on {jump}")),
            };
            Problem::new(&what(&format!("jump host {jump} opened no way to it")), &cause, &next)
        }
        Failure::ClosedInHandshake { greeted } => Problem::new(
            &what(if *greeted {
                "the server closed the connection during key exchange"
            } else {
                "the connection was accepted and closed without a word"
            }),
            "too many connections at once (MaxStartups), an address ban, or a service that is starting or stopping",
            "read the log of sshd there",
        ),
        Failure::NotSsh(said) => Problem::new(
            &what(&format!("this is no SSH server; it said: {said}")),
            &format!("another service listens on port {port}"),
            "check the port",
        ),
        Failure::HandshakeTimedOut { after, greeted } => Problem::new(
            &what(&format!(
                "connected, but {} within {} s",
                if *greeted { "key exchange did not end" } else { "the server said nothing" },
                after.as_secs()
            )),
            if *greeted {
                "an overloaded host, or a path that loses large packets (MTU)"
            } else {
                "an overloaded or hung host, or a middlebox that answers for it"
            },
            &format!("try: ssh -v {user}@{host} -p {port}"),
        ),
        Failure::NoCommonAlgorithm { kind, ours, theirs } => Problem::new(
            &what(&format!(
                "no {kind} in common; the server offers {}; we offer {}",
                list(theirs, "nothing"),
                list(ours, "nothing")
            )),
            "an old server, or one restricted to other algorithms",
            &format!("enable one of ours for {kind} in its sshd_config"),
        ),
        Failure::Protocol(reason) => Problem::new(
            &what(&format!("the handshake failed: {reason}")),
            "",
            &format!("try: ssh -v {user}@{host} -p {port}"),
        ),
        _ => Problem::new(&what("there is no host to connect to"), "", "check the target in the inventory"),
    }
}

/// Host keys.
fn host_key(failure: &Failure, stop: &Stop, what: &dyn Fn(&str) -> String) -> Problem {
    let removal =
        |key: &OfferedHostKey, place: &Place| format!("ssh-keygen -R '{}' -f {}", key.name, short_path(&place.file));
    match failure {
        Failure::HostKeyUnknown { key, why, authority } => {
            let cause = match (why, authority) {
                (_, Some(place)) => format!(
                    "{} trusts an authority for this host; host certificates are not supported yet",
                    place_text(place)
                ),
                (NotAccepted::NobodyToAsk, None) => {
                    "first connection to this host, and nobody is there to be asked".to_owned()
                }
                (NotAccepted::RefusedByUser, None) => "the key was not accepted at the console".to_owned(),
                (NotAccepted::Strict, None) => "StrictHostKeyChecking forbids unknown keys".to_owned(),
            };
            let Stop { user, host, port, .. } = stop;
            Problem::new(
                &what(&format!("unknown host key {}", key_text(key))),
                &cause,
                &format!(
                    "compare the fingerprint with the host's own (ssh-keygen -lf /etc/ssh/ssh_host_*_key.pub), then connect once: ssh -p {port} {user}@{host}"
                ),
            )
        }
        Failure::HostKeyChanged { key, recorded: Some(place), recorded_key } => Problem::new(
            &what(&format!(
                "HOST KEY CHANGED: it shows {}, but {} records {recorded_key}",
                key_text(key),
                place_text(place)
            )),
            "the host was installed anew or its address was given to another one; or somebody is in between",
            &format!("find out which; only if the change is right: {}", removal(key, place)),
        ),
        Failure::HostKeyChanged { key, recorded: None, recorded_key } => Problem::new(
            &what(&format!("HOST KEY CHANGED: it shows {}, a moment ago it showed {recorded_key}", key_text(key))),
            "several hosts behind one address; or somebody is in between",
            "give each host its own name or address",
        ),
        Failure::HostKeyRevoked { key, recorded } => Problem::new(
            &what(&format!("its host key {} is revoked by {}", key_text(key), place_text(recorded))),
            "the key was stolen or retired",
            "give the host a new key; do not connect before",
        ),
        Failure::HostKeyNotRecorded { key, file, reason } => Problem::new(
            &what(&format!(
                "the new host key {} could not be written to {} ({reason})",
                key_text(key),
                short_path(file)
            )),
            "",
            "make the file writable, or name another one with UserKnownHostsFile",
        ),
        Failure::KnownHostsUnreadable { file, reason } => Problem::new(
            &what(&format!("its host key cannot be checked: {} cannot be read ({reason})", short_path(file))),
            "",
            "make the file readable",
        ),
        _ => way(failure, stop, what),
    }
}

/// Logging in.
fn login(failure: &Failure, stop: &Stop, what: &dyn Fn(&str) -> String) -> Problem {
    let Stop { user, host, port, .. } = stop;
    match failure {
        Failure::AuthenticationRefused(tried) => Problem::new(
            &what(&format!("login refused; offered {}; {}", list(&tried.offered, "no key"), accepts(&tried.accepts))),
            &format!("none of these keys is in authorized_keys of {user} there{}", also(tried)),
            &next_for_keys(tried, stop),
        ),
        Failure::NoKeyToOffer(tried) => {
            let cause = also(tried);
            Problem::new(
                &what(&format!("no key to log in with; {}", accepts(&tried.accepts))),
                cause.trim_start_matches("; "),
                &next_for_keys(tried, stop),
            )
        }
        Failure::TooManyFailures(tried) => Problem::new(
            &what(&format!(
                "the server ended it after too many refused keys; offered {}",
                list(&tried.offered, "no key")
            )),
            "MaxAuthTries of the server is lower than the number of keys offered",
            "name the right key with IdentityFile and set IdentitiesOnly yes for this host",
        ),
        Failure::KeysNotTaken { accepts: methods } => Problem::new(
            &what(&format!("the server takes no keys here; {}", accepts(methods))),
            "PubkeyAuthentication is off for this login; passwords are not supported yet",
            &format!("allow a key for {user} there"),
        ),
        Failure::SecondStepNeeded { key, accepts: methods } => Problem::new(
            &what(&format!("{key} was accepted, and a second proof is asked for; {}", accepts(methods))),
            "AuthenticationMethods asks for more than a key; that is not supported yet",
            "use a login that needs a key alone",
        ),
        Failure::ClosedInAuthentication { reason, tried } => Problem::new(
            &what(&format!(
                "the connection ended while logging in ({reason}); offered {}",
                list(&tried.offered, "no key")
            )),
            "",
            "read the log of sshd there",
        ),
        Failure::AuthenticationTimedOut { after, .. } => Problem::new(
            &what(&format!("no answer while logging in within {} s", after.as_secs())),
            "the agent waits for a confirmation or a touch, or the server waits for its directory service",
            &format!("try: ssh -v {user}@{host} -p {port}"),
        ),
        _ => way(failure, stop, what),
    }
}

fn addresses(tried: &[std::net::SocketAddr]) -> String {
    tried.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn list(items: &[String], none: &str) -> String {
    if items.is_empty() { none.to_owned() } else { items.join(", ") }
}

fn accepts(methods: &[String]) -> String {
    format!("the server takes {}", list(methods, "nothing"))
}

fn key_text(key: &OfferedHostKey) -> String {
    format!("{} {} ({})", key.algorithm, key.fingerprint, key.name)
}

fn place_text(place: &Place) -> String {
    format!("{}:{}", short_path(&place.file), place.line)
}

/// What else is known about the keys, as a continuation of a sentence. Default key files that are not there are no
/// news, unless there was nothing else.
fn also(tried: &KeysTried) -> String {
    let mut parts = Vec::new();
    let only_missing = tried.set_aside.iter().all(|aside| aside.reason == SetAsideReason::Missing);
    for aside in &tried.set_aside {
        if aside.reason != SetAsideReason::Missing || (only_missing && tried.offered.is_empty()) {
            parts.push(format!("{} {}", aside.name, set_aside_text(aside)));
        }
    }
    match &tried.agent {
        AgentState::Disabled => parts.push("the agent is switched off (IdentityAgent none)".to_owned()),
        AgentState::NotRunning => parts.push("no agent is running (SSH_AUTH_SOCK is not set)".to_owned()),
        AgentState::Unreachable { socket, reason } => {
            parts.push(format!("the agent at {} does not answer ({reason})", short_path(socket)));
        }
        AgentState::Holds(0) => parts.push("the agent holds no keys".to_owned()),
        AgentState::NotAsked | AgentState::Holds(_) => {}
    }
    if tried.left_out > 0 {
        parts.push(format!("{} more keys were not offered, because too many refusals lock a login", tried.left_out));
    }
    if parts.is_empty() { String::new() } else { format!("; {}", parts.join("; ")) }
}

fn set_aside_text(aside: &SetAside) -> String {
    match &aside.reason {
        SetAsideReason::Missing => "is not there".to_owned(),
        SetAsideReason::Unreadable(reason) => format!("cannot be read ({reason})"),
        SetAsideReason::Encrypted => "is encrypted, which is not supported yet".to_owned(),
        SetAsideReason::TooOpen(mode) => format!("may be read by others (mode {mode:04o})"),
        SetAsideReason::NotAKey(reason) => format!("is no private key that is understood ({reason})"),
        SetAsideReason::OnlyInAgent => "can only be used through an agent, which does not hold it".to_owned(),
        SetAsideReason::CertificateWithoutKey => "is a certificate without its private key".to_owned(),
        SetAsideReason::RsaCertificate => "is an RSA certificate, which works only through an agent".to_owned(),
        SetAsideReason::AgentDeclined(reason) => format!("was not used: the agent would not sign ({reason})"),
    }
}

fn next_for_keys(tried: &KeysTried, stop: &Stop) -> String {
    let Stop { user, host, port, .. } = stop;
    for aside in &tried.set_aside {
        match &aside.reason {
            SetAsideReason::Encrypted => return format!("unlock it first: ssh-add {}", aside.name),
            SetAsideReason::TooOpen(_) => return format!("chmod 600 {}", aside.name),
            SetAsideReason::OnlyInAgent | SetAsideReason::RsaCertificate => {
                return "load the key into the agent: ssh-add".to_owned();
            }
            _ => {}
        }
    }
    if tried.offered.is_empty() {
        return "name a key with IdentityFile, or load one: ssh-add".to_owned();
    }
    if tried.left_out > 0 {
        return "name the right key with IdentityFile and set IdentitiesOnly yes for this host".to_owned();
    }
    format!("check the user name, or install a key: ssh-copy-id -p {port} {user}@{host}")
}
