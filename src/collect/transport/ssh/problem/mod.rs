//! The sentences for a connection that failed: what happened where on the way, the likely cause, the next step.

mod host_key;
mod login;

use super::error::{ConnectError, Failure, JumpRefusal, ProxyEnd, Stop};
use crate::app::Problem;
use crate::fabric::TargetId;

impl ConnectError {
    /// What to tell the reader of a target: what happened where on the way, the likely cause, the next step.
    pub fn problem(&self, target: &TargetId) -> Problem {
        problem(self, target)
    }
}

impl std::fmt::Display for ConnectError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.problem(&TargetId::new(&self.stop.host)).fmt(formatter)
    }
}

impl std::error::Error for ConnectError {}

fn problem(error: &ConnectError, target: &TargetId) -> Problem {
    let ConnectError { stop, failure } = error;
    let address = stop.to_string();
    let place = match (stop.is_jump, address.strip_prefix(target.as_str())) {
        (true, _) => format!("jump host {address}: "),
        // A target that is named by its address is not named here.
        (false, Some("")) => String::new(),
        (false, Some(rest)) if rest == format!(":{}", stop.port) => format!("port {}: ", stop.port),
        (false, _) => format!("{address}: "),
    };
    let what = |text: &str| format!("{place}{text}");
    match failure {
        Failure::HostKeyUnknown { .. }
        | Failure::HostKeyChanged { .. }
        | Failure::HostKeyRevoked { .. }
        | Failure::HostCertificateRefused { .. }
        | Failure::HostKeyNotRecorded { .. }
        | Failure::KnownHostsUnreadable { .. } => host_key::host_key(failure, stop, &what),
        Failure::AuthenticationRefused(_)
        | Failure::NoKeyToOffer(_)
        | Failure::TooManyFailures(_)
        | Failure::NoMethod { .. }
        | Failure::SecondStepNeeded { .. }
        | Failure::SecretNeeded { .. }
        | Failure::SecretRefused { .. }
        | Failure::QuestionsWithoutEnd { .. }
        | Failure::WrongPassphrase { .. }
        | Failure::PasswordCommand { .. }
        | Failure::ClosedInAuthentication { .. }
        | Failure::AuthenticationTimedOut { .. } => login::login(failure, stop, &what),
        _ => way(failure, stop, &what),
    }
}

/// The network and the handshake.
fn way(failure: &Failure, stop: &Stop, what: &dyn Fn(&str) -> String) -> Problem {
    let Stop { host, port, by_hand, .. } = stop;
    match failure {
        Failure::NameNotResolved(reason) => Problem::new(
            &what(&format!("the name {host} has no address ({reason})")),
            "a misspelt name, or a name server that does not know it",
            &format!("check HostName in the SSH configuration; try: getent hosts {host}"),
        ),
        Failure::Refused(tried) => Problem::new(
            &what(&format!("connection refused ({})", addresses(tried))),
            &format!("the host is up, and no SSH server listens on port {port} (or a firewall rejects it)"),
            "start sshd there, or check the port; on an ESXi host the SSH service is off by default: start it in the host \
             client (Manage, Services, TSM-SSH) or by `vim-cmd hostsvc/start_ssh` on its console",
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
            &verbosely(by_hand),
        ),
        Failure::NoCommonAlgorithm { kind, ours, theirs, legacy_would_help } => Problem::new(
            &what(&format!(
                "no {kind} in common; the server offers {}; we offer {}",
                list(theirs, "nothing"),
                list(ours, "nothing")
            )),
            "an old server, or one restricted to other algorithms",
            &match (legacy_would_help, stop.is_jump) {
                (true, false) => {
                    "if it cannot be updated, set legacy_algorithms = true for this target in the inventory: \
                                  it allows SHA-1 and CBC"
                        .to_owned()
                }
                _ => format!("enable one of ours for {kind} in its sshd_config"),
            },
        ),
        Failure::ProxyCommand { command, end } => Problem::new(
            &what(&match end {
                ProxyEnd::NotStarted(why) => format!("ProxyCommand could not be started ({why}): {command}"),
                ProxyEnd::Ended { status, said } => {
                    let status =
                        status.map_or("without a connection".to_owned(), |status| format!("with status {status}"));
                    let said = said.as_ref().map_or(String::new(), |said| format!("; it said: {said}"));
                    format!("ProxyCommand ended {status}{said}; it was: {command}")
                }
            }),
            "",
            &format!("try the same by hand: {by_hand}"),
        ),
        Failure::Protocol(reason) => {
            Problem::new(&what(&format!("the handshake failed: {reason}")), "", &verbosely(by_hand))
        }
        _ => Problem::new(&what("there is no host to connect to"), "", "check the target in the inventory"),
    }
}

/// The command that goes there and says all it does.
fn verbosely(by_hand: &str) -> String {
    format!("try: {}", by_hand.replacen("ssh", "ssh -v", 1))
}

fn addresses(tried: &[std::net::SocketAddr]) -> String {
    tried.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn list(items: &[String], none: &str) -> String {
    if items.is_empty() { none.to_owned() } else { items.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The views show the name beside it; the address is told as far as it is no part of the name.
    #[test]
    fn a_problem_does_not_name_its_target() {
        let what = |target: &str, host: &str, is_jump: bool| {
            let stop =
                Stop { user: "root".to_owned(), host: host.to_owned(), port: 22, is_jump, by_hand: "ssh".to_owned() };
            let error = ConnectError { stop, failure: Failure::Unreachable("no route".into()) };
            error.problem(&TargetId::new(target)).what.to_string()
        };
        assert_eq!(what("esx1", "10.0.0.1", false), "root@10.0.0.1:22: unreachable (no route)");
        assert_eq!(what("esx1", "gate", true), "jump host root@gate:22: unreachable (no route)");
        assert_eq!(what("root@10.0.0.1", "10.0.0.1", false), "port 22: unreachable (no route)");
        assert_eq!(what("root@10.0.0.1:22", "10.0.0.1", false), "unreachable (no route)");
        assert_eq!(what("root@10.0.0.1", "10.0.0.10", false), "root@10.0.0.10:22: unreachable (no route)");
    }
}
