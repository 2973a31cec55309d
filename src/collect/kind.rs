//! What a target is, before anything else is sent to it: no script ever goes to a system that was not recognised.

use std::time::Duration;

use tokio::time::timeout;

use super::link::{Failure, Remote};
use super::shell::last_line;
use super::transport::{Output, TransportError};
use crate::app::Problem;
use crate::config::Kind;
use crate::fabric::{TargetId, Text};
use crate::probe::switch::SwitchSystem;

/// The one command that is sent to a target of which nothing is known.
const QUESTION: &str = "uname -s";

/// How long its answer may take.
const DEADLINE: Duration = Duration::from_secs(10);

/// No honest answer is longer, banners included.
const LONGEST: usize = 64 * 1024;

/// What a short command gave.
#[derive(Debug, Default)]
struct Answer {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    status: Option<u32>,
}

/// A system that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// Linux.
    Linux,
    /// An ESXi host.
    Esxi,
    /// A switch: of which system, the inventory says.
    Switch(SwitchSystem),
}

impl System {
    /// What the inventory says that a target is; `None` for what is found out by asking it.
    pub fn told(kind: Option<Kind>) -> Option<Self> {
        match kind {
            Some(Kind::Linux) => Some(Self::Linux),
            Some(Kind::Switch(system)) => Some(Self::Switch(system)),
            Some(Kind::Esxi | Kind::Local | Kind::Saved) | None => None,
        }
    }
}

/// What answers at the other end: a system that can be read, or why it cannot.
pub async fn recognise(remote: &impl Remote, target: &TargetId) -> Result<System, Failure> {
    let answer = match timeout(DEADLINE, ask(remote)).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => return Err(refused(target, &error)),
        Err(_) => {
            return Err(Failure::passing(Problem::new(
                &format!("is connected, but did not answer `{QUESTION}` within {} s", DEADLINE.as_secs()),
                "the machine is overloaded or hangs, or what answers there is no shell",
                &format!("try `ssh {target} {QUESTION}` by hand"),
            )));
        }
    };
    let text = String::from_utf8_lossy(&answer.stdout);
    // Login scripts may print before it and after it.
    match text.lines().map(str::trim).find_map(system) {
        Some(Answered::Readable(system)) => Ok(system),
        Some(Answered::Other { what, next_step }) => Err(Failure::lasting(Problem::new(
            &format!("is {what}"),
            "what is read is Linux guests, ESXi hosts, and switches that the inventory names",
            next_step,
        ))),
        None => Err(unknown(target, &answer)),
    }
}

enum Answered {
    Readable(System),
    Other { what: &'static str, next_step: &'static str },
}

fn system(line: &str) -> Option<Answered> {
    Some(match line {
        "Linux" => Answered::Readable(System::Linux),
        "VMkernel" => Answered::Readable(System::Esxi),
        "Darwin" => Answered::Other { what: "a macOS system", next_step: "leave it out of the list of targets" },
        "FreeBSD" | "OpenBSD" | "NetBSD" | "SunOS" | "AIX" => Answered::Other {
            what: "a Unix system that is not Linux",
            next_step: "leave it out of the list of targets",
        },
        _ if line.starts_with("CYGWIN") || line.starts_with("MINGW") || line.starts_with("MSYS") => {
            Answered::Other { what: "a Windows system", next_step: "leave it out of the list of targets" }
        }
        _ => return None,
    })
}

async fn ask(remote: &impl Remote) -> Result<Answer, TransportError> {
    let mut exec = remote.exec(QUESTION).await?;
    // It may have answered already.
    let _ = exec.end_input().await;
    let mut answer = Answer::default();
    let mut signal = false;
    while let Some(output) = exec.next().await {
        match output {
            Output::Stdout(bytes) => answer.stdout.extend_from_slice(&bytes),
            Output::Stderr(bytes) => answer.stderr.extend_from_slice(&bytes),
            Output::Exit(status) => answer.status = Some(status),
            Output::Signal(_) => signal = true,
        }
        if answer.stdout.len() + answer.stderr.len() > LONGEST {
            return Ok(answer);
        }
    }
    let nothing = answer.stdout.is_empty() && answer.stderr.is_empty() && answer.status.is_none() && !signal;
    if nothing { Err(TransportError::Closed) } else { Ok(answer) }
}

/// What it means that the very first command could not be started.
pub fn refused(target: &TargetId, error: &TransportError) -> Failure {
    let cannot_run = "lets this login in, but runs no commands for it";
    match error {
        TransportError::ChannelRefused(why) => Failure::lasting(Problem::new(
            cannot_run,
            &format!("it refused the first channel ({why}); MaxSessions 0 in its sshd_config does that"),
            "use a login that may run commands, or raise MaxSessions there",
        )),
        TransportError::ExecRefused => Failure::lasting(Problem::new(
            cannot_run,
            "the account or the device allows no commands over SSH",
            "use a login that may run commands",
        )),
        TransportError::Closed | TransportError::TimedOut(_) | TransportError::Protocol(_) => {
            Failure::passing(Problem::new(
                "closed the connection before it ran a command",
                &error.to_string(),
                &format!("try `ssh {target} {QUESTION}` by hand"),
            ))
        }
    }
}

fn unknown(target: &TargetId, answer: &Answer) -> Failure {
    let said = last_line(&answer.stderr).or_else(|| last_line(&answer.stdout)).unwrap_or_else(|| Text::new(""));
    no_shell(target, QUESTION, answer.status, &said)
}

/// A command that every Unix system has did not run as it should: whatever runs there is no ordinary shell.
pub fn no_shell(target: &TargetId, command: &str, status: Option<u32>, said: &Text) -> Failure {
    let ended = status.map_or(String::new(), |status| format!(" and ended with status {status}"));
    let what = if said.is_empty() {
        format!("did not run `{command}`: it said nothing{ended}")
    } else {
        format!("did not run `{command}`: it said \"{said}\"{ended}")
    };
    let cause = match status {
        Some(127) => "that program is not there (/bin/sh and uname are needed), or the login has a restricted shell",
        Some(126) => "this login may not run it, or has a restricted shell",
        _ => "a forced command, a restricted shell, or the command line of a switch or an appliance answers there",
    };
    Failure::lasting(Problem::new(
        &what,
        cause,
        &format!("try `ssh {target} {command}` by hand; use a login with a POSIX shell"),
    ))
}
