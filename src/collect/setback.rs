//! What it means that a batch failed: for the connection, and in words for the user.

use super::kind::no_shell;
use super::link::{BatchError, Failure};
use super::shell::SHELL;
use super::transport::TransportError;
use crate::app::Problem;
use crate::fabric::{TargetId, Text};
use crate::probe::switch::SwitchSystem;
use crate::probe::{esxi, linux};

/// After this many batches in a row that failed and read nothing the connection is made anew. A slow target that gives
/// some probes in each batch gets on.
const MOST_FAILURES: u32 = 3;

/// What to say of a batch that failed while its connection goes on; `unread` names its probes that were not read.
pub fn incomplete(error: &BatchError, unread: &[&str]) -> String {
    let what = match error {
        BatchError::TimedOut { after, .. } | BatchError::Silent { after, .. } => {
            format!("a read was not done within {} s", after.as_secs())
        }
        other => format!("a read was not complete: {other}"),
    };
    if unread.is_empty() { what } else { format!("{what}; not read: {}", titles(unread).join(", ")) }
}

/// What probes tell, in words; a probe that is none of ours keeps its name.
fn titles<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let switches = SwitchSystem::ALL.into_iter().flat_map(SwitchSystem::probes);
    let probes = linux::PROBES.iter().chain(esxi::PROBES).chain(switches);
    let title = |name: &'a str| probes.clone().find(|probe| probe.name == name).map_or(name, |probe| probe.title);
    names.iter().map(|name| title(name)).collect()
}

/// What a failed batch means for the connection; `None` if the next batch may do better.
pub fn fatal(target: &TargetId, error: &BatchError, has_read: bool, failures: u32) -> Option<Failure> {
    match error {
        BatchError::Closed | BatchError::ExecRefused => Some(failure(target, error)),
        BatchError::NoShell { .. } | BatchError::Silent { .. } | BatchError::TimedOut { begun: false, .. }
            if !has_read =>
        {
            Some(failure(target, error))
        }
        _ if failures >= MOST_FAILURES => {
            let Problem { what, cause, .. } = failure(target, error).problem;
            Some(Failure::passing(Problem::new(
                &format!("{what}, {failures} times in a row"),
                &cause,
                "the connection is made anew; look at the load and the kernel messages of that machine",
            )))
        }
        _ => None,
    }
}

/// What a failed batch means by itself.
pub fn failure(target: &TargetId, error: &BatchError) -> Failure {
    match error {
        BatchError::Closed => Failure::passing(Problem::new(
            "the connection ended in the middle of a read",
            "",
            "it is tried again by itself",
        )),
        BatchError::ExecRefused => super::kind::refused(target, &TransportError::ExecRefused),
        BatchError::ChannelRefused(why) => refused(why),
        BatchError::NoShell { status, said } => no_shell(target, SHELL, *status, said),
        BatchError::TimedOut { begun: false, after, said } => {
            let seconds = after.as_secs();
            let cause = if said.is_empty() {
                "the machine is overloaded or hangs, or what answers there is no shell".to_owned()
            } else {
                format!("what answers there may be no shell; it said \"{said}\"")
            };
            Failure::passing(Problem::new(
                &format!("is connected, but `{SHELL}` did not begin to work within {seconds} s"),
                &cause,
                &format!("try `echo uptime | ssh {target} {SHELL}` by hand"),
            ))
        }
        BatchError::Silent { command, after } => Failure::passing(Problem::new(
            &format!("is connected, but did not answer `{command}` within {} s", after.as_secs()),
            "its control plane is overloaded or hangs, or what answers there is another system than the inventory says",
            &format!("try `ssh {target} '{command}'` by hand"),
        )),
        BatchError::TimedOut { begun: true, after, .. } => Failure::passing(Problem::new(
            &format!("is connected, but a read was not done within {} s", after.as_secs()),
            "the machine is overloaded, or a driver hangs",
            "look at the load and the kernel messages of that machine",
        )),
        BatchError::Broken => Failure::passing(Problem::new(
            "is connected, but its shell ended before a read was complete",
            "it was killed (out of memory, a limit of processes), or something on the way cut its input",
            "look at the kernel messages and the limits of that login",
        )),
        BatchError::Flooded => Failure::passing(Problem::new(
            "is connected, but sent far more than was asked for",
            "a login script prints without end, or something else than a shell answers",
            &format!("try `ssh {target} {SHELL}` by hand"),
        )),
    }
}

/// No channel at all is to be had.
pub fn refused(why: &Text) -> Failure {
    Failure::passing(Problem::new(
        &format!("refuses every channel: {why}"),
        "all sessions that it allows for one connection are in use or hang there",
        "the connection is made anew; look at MaxSessions in its sshd_config",
    ))
}
