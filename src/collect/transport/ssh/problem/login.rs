//! The sentences about logging in.

use super::{list, verbosely};
use crate::app::{Problem, SecretKind, SecretRequest};
use crate::collect::transport::ssh::error::{
    AgentState, CommandProblem, Failure, KeysTried, NotGiven, SecretFrom, SetAside, SetAsideReason, Stop,
};
use crate::collect::transport::ssh::wording::short_path;

/// When an ESXi host locks a login, by its settings `Security.AccountLockFailures` and `Security.AccountUnlockTime` as
/// they are installed. Its answer to a login does not tell.
const ESXI_LOCK: &str = "five failures in a row lock one there for 15 min";

/// Logging in.
pub(super) fn login(failure: &Failure, stop: &Stop, what: &dyn Fn(&str) -> String) -> Problem {
    let Stop { user, by_hand, .. } = stop;
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
        Failure::NoMethod { accepts: methods, allowed } => Problem::new(
            &what(&format!(
                "no way to log in in common; {}; the settings here allow {}",
                accepts(methods),
                list(allowed, "nothing")
            )),
            "PreferredAuthentications, PubkeyAuthentication, KbdInteractiveAuthentication or PasswordAuthentication, there or here",
            &format!("allow one of the server's methods in OpenSSH's configuration here, or a key for {user} there"),
        ),
        Failure::SecondStepNeeded { done, accepts: methods } => Problem::new(
            &what(&format!(
                "{done} was accepted, and a further proof is asked for that cannot be given; {}",
                accepts(methods)
            )),
            "AuthenticationMethods asks for several proofs",
            "allow these methods in OpenSSH's configuration here, or use a login that needs less",
        ),
        Failure::SecretNeeded { asked, why, tried } => secret_needed(asked, *why, tried, stop, what),
        Failure::SecretRefused { method, from, accepts: methods } => {
            let (what_was, next) = match from {
                SecretFrom::Typed => ("what was typed".to_owned(), "reconnect (R) to try again"),
                SecretFrom::Command(program) => {
                    (format!("the password that {program} printed"), "correct what it prints, then reconnect (R)")
                }
            };
            Problem::new(
                &what(&format!("login refused: {what_was} was not accepted ({method}); {}", accepts(methods))),
                &format!(
                    "a mistyped or changed password, or a login that is locked or not allowed here: an ESXi host answers \
                     a locked login exactly as a wrong password, and {ESXI_LOCK}"
                ),
                &format!(
                    "nothing is tried again by itself, because several failures lock a login; {next}, or, if it is \
                     right, wait until the lock is over and reconnect then"
                ),
            )
        }
        Failure::WrongPassphrase { file } => Problem::new(
            &what(&format!("the passphrase does not open {file}")),
            "a mistyped passphrase; it was not sent anywhere",
            &format!("reconnect (R) to try again, or unlock the key first: ssh-add {file}"),
        ),
        Failure::PasswordCommand { program, problem } => Problem::new(
            &what(&format!("no password: password_command {program} {}", command_text(problem))),
            "nothing was sent",
            "run the command by hand; it must print the password as its first line and end with status 0",
        ),
        Failure::ClosedInAuthentication { reason, tried, .. } => Problem::new(
            &what(&format!(
                "the connection ended while logging in ({reason}); offered {}",
                list(&tried.offered, "no key")
            )),
            "",
            "read the log of sshd there",
        ),
        Failure::QuestionsWithoutEnd { secret_sent } => Problem::new(
            &what("the server asks more questions than any login needs"),
            if *secret_sent {
                "what was sent did not open the way, and may have counted as a failed login"
            } else {
                ""
            },
            &verbosely(by_hand),
        ),
        Failure::AuthenticationTimedOut { after, .. } => Problem::new(
            &what(&format!("no answer while logging in within {} s", after.as_secs())),
            "the agent waits for a confirmation or a touch, the server waits for its directory service, or it wants a new \
             password in place of an expired one",
            &verbosely(by_hand),
        ),
        _ => super::way(failure, stop, what),
    }
}

/// A secret that was not given: what was asked, and by whom.
fn secret_needed(
    asked: &SecretRequest,
    why: NotGiven,
    tried: &KeysTried,
    stop: &Stop,
    what: &dyn Fn(&str) -> String,
) -> Problem {
    let wanted = match &asked.what {
        SecretKind::Passphrase(file) => format!("the passphrase of {file}"),
        SecretKind::Password => format!("the password of {}", stop.user),
        SecretKind::Interactive if asked.question.is_empty() => "answers to the server's questions".to_owned(),
        SecretKind::Interactive => format!("an answer to \"{}\"", asked.question),
    };
    let (cause, next) = match why {
        NotGiven::NobodyToAsk => (
            "nobody is there to be asked".to_owned(),
            match &asked.what {
                SecretKind::Passphrase(file) => format!("unlock the key first: ssh-add {file}"),
                _ => "let a key log in, or give the target a password_command in the inventory".to_owned(),
            },
        ),
        NotGiven::MayNotAsk => (
            "BatchMode or NumberOfPasswordPrompts forbids to ask".to_owned(),
            "let a key log in, or change that in OpenSSH's configuration for this host".to_owned(),
        ),
        NotGiven::NotAgain => (
            "a secret is asked for once and not kept, so this waits for you".to_owned(),
            "reconnect (R) to be asked".to_owned(),
        ),
        NotGiven::RefusedByUser => ("none was given".to_owned(), "reconnect (R) to be asked again".to_owned()),
    };
    let offered = if tried.offered.is_empty() {
        String::new()
    } else {
        format!("; keys refused before: {}", tried.offered.join(", "))
    };
    Problem::new(&what(&format!("needs {wanted}{offered}")), &format!("{cause}{}", also(tried)), &next)
}

fn command_text(problem: &CommandProblem) -> String {
    match problem {
        CommandProblem::NotStarted(why) => format!("could not be run ({why})"),
        CommandProblem::Failed(Some(status)) => format!("ended with status {status}"),
        CommandProblem::Failed(None) => "was ended by a signal".to_owned(),
        CommandProblem::TimedOut(after) => format!("did not end within {} s", after.as_secs()),
        CommandProblem::Empty => "printed nothing on its first line".to_owned(),
        CommandProblem::TooLong => "printed a first line that is too long for a password".to_owned(),
        CommandProblem::NotText => "printed something that is no text".to_owned(),
    }
}

fn accepts(methods: &[String]) -> String {
    format!("the server takes {}", list(methods, "nothing"))
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
        SetAsideReason::Encrypted => "is encrypted, and no passphrase was given".to_owned(),
        SetAsideReason::TooOpen(mode) => format!("may be read by others (mode {mode:04o})"),
        SetAsideReason::NotAKey(reason) => format!("is no private key that is understood ({reason})"),
        SetAsideReason::OnlyInAgent => "can only be used through an agent, which does not hold it".to_owned(),
        SetAsideReason::CertificateWithoutKey => "is a certificate without its private key".to_owned(),
        SetAsideReason::AgentDeclined(reason) => format!("was not used: the agent would not sign ({reason})"),
    }
}

fn next_for_keys(tried: &KeysTried, stop: &Stop) -> String {
    for aside in &tried.set_aside {
        match &aside.reason {
            SetAsideReason::Encrypted => return format!("unlock it first: ssh-add {}", aside.name),
            SetAsideReason::TooOpen(_) => return format!("chmod 600 {}", aside.name),
            SetAsideReason::OnlyInAgent => {
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
    format!("check the user name, or install a key: {}", stop.by_hand.replacen("ssh", "ssh-copy-id", 1))
}
