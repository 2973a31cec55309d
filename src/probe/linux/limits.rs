//! Locked memory: the limit of this login and of running launchers. They often differ: a job started by slurmd or by
//! another login lives under the limit of its parent, not under that of the shell one looks from.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::files::{Files, Line, Missing};
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text, Value};
use crate::probe::{Pace, Probe, Read, Rhythm, Source};

const LOGIN: &str = "/proc/self/limits";
const COMM: &str = "/proc/*/comm";
const LIMITS: &str = "/proc/*/limits";

/// Locked memory of the login and of launchers.
pub const PROBE: Probe = Probe {
    name: "linux.limits",
    title: "locked memory of the login and of MPI launchers",
    privilege_adds: "the limits of processes that are hidden from other users",
    pace: Pace::Medium,
    rhythm: Rhythm::PACE,
    sources: &[
        Source { name: "linux.limits-login", read: Read::Files(&[LOGIN]) },
        Source {
            name: "linux.limits-launchers",
            read: Read::ProcessFiles {
                names: &[
                    "sshd",
                    "slurmd",
                    "slurmstepd",
                    "orted",
                    "prted",
                    "prterun",
                    "mpirun",
                    "mpiexec",
                    "mpiexec.hydra",
                    "hydra_pmi_proxy",
                    "pmi_proxy",
                    "pbs_mom",
                ],
                files: &["limits"],
            },
        },
    ],
    parse,
};

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [login, launchers] = observations else { return Vec::new() };
    let files = Files::new(login, &[LOGIN]);
    let mut facts = memlock(login, &Entity::Guest, files.lines(LOGIN));
    if facts.is_empty()
        && let Err(missing) = files.line(LOGIN)
    {
        let state = missing.state("").unwrap_or_else(|| State::NotPublished(Text::new("this kernel")));
        facts.push(login.fact(Entity::Guest, Attribute::MemlockSoft, state.clone(), 0));
        facts.push(login.fact(Entity::Guest, Attribute::MemlockHard, state, 0));
    }
    let files = Files::new(launchers, &[COMM, LIMITS]);
    let mut processes: Vec<(u32, Line<'_>)> = files
        .matching(COMM)
        .filter_map(|(path, number)| Some((number.parse().ok()?, files.line(path).ok()?)))
        .collect();
    processes.sort_unstable_by_key(|(number, _)| *number);
    let mut servers = BTreeSet::new();
    for (number, (line, name)) in processes {
        // Every login has an sshd of its own; the first one is the listener, whose limits new logins inherit.
        if name == "sshd" && !servers.insert(name) {
            continue;
        }
        let path = format!("/proc/{number}/limits");
        let entity = Entity::Process(number);
        let limits = memlock(launchers, &entity, files.lines(&path));
        let missing = files.line(&path).err();
        if matches!(&missing, Some(Missing::Absent | Missing::Empty))
            || missing == Some(Missing::Other("No such process"))
        {
            // It ended while we looked.
            continue;
        }
        facts.push(launchers.known(entity.clone(), Attribute::ProcessCommand, name, line));
        if let Some(state) = missing.and_then(|missing| missing.state("the limits of another user's process")) {
            facts.push(launchers.fact(entity.clone(), Attribute::MemlockSoft, state.clone(), 0));
            facts.push(launchers.fact(entity, Attribute::MemlockHard, state, 0));
        }
        facts.extend(limits);
    }
    facts
}

/// Soft and hard limit from the line `Max locked memory   8388608   8388608   bytes`.
fn memlock(observation: &Observation, entity: &Entity, lines: &[Line<'_>]) -> Vec<Fact> {
    let Some((number, rest)) =
        lines.iter().find_map(|(number, line)| Some((*number, line.strip_prefix("Max locked memory")?)))
    else {
        return Vec::new();
    };
    let mut words = rest.split_whitespace();
    [Attribute::MemlockSoft, Attribute::MemlockHard]
        .into_iter()
        .map(|attribute| {
            let state = match words.next() {
                Some("unlimited") => State::Known(Value::Count(u64::MAX)),
                Some(word) => match word.parse::<u64>() {
                    Ok(bytes) => State::Known(bytes.into()),
                    Err(_) => State::Failed(Text::new(&format!("not understood: {}", Text::new(word)))),
                },
                None => State::Failed(Text::new("the line ends before the value")),
            };
            observation.fact(entity.clone(), attribute, state, number)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::guest_testing::{run, shown, survives_damage};
    use super::*;

    const LOGIN_LIMITS: &str = include_str!("../../../tests/fixtures/guest-probes/linux.limits-login.txt");
    const LAUNCHERS: &str = include_str!("../../../tests/fixtures/guest-probes/linux.limits-launchers.txt");
    const SLURM: &str = "/proc/900/comm:slurmd\n/proc/900/limits:Max locked memory         unlimited            unlimited            bytes     \n\
        /proc/901/comm:sshd\n/proc/901/limits:Max locked memory         65536                65536                bytes     \n\
        /proc/77/comm:sshd\n/proc/77/limits:Max locked memory         8388608              unlimited            bytes     \n\
        /proc/950/comm:orted\n/proc/960/comm:prted\n";

    #[test]
    fn a_real_login_and_its_server() {
        let facts = run(&PROBE, &[(LOGIN_LIMITS, "", 0), (LAUNCHERS, "", 0)]);
        assert_eq!(shown(&facts, &Entity::Guest, Attribute::MemlockSoft), "8388608");
        assert_eq!(shown(&facts, &Entity::Guest, Attribute::MemlockHard), "8388608");
        let servers: Vec<&Fact> = facts.iter().filter(|fact| fact.attribute == Attribute::ProcessCommand).collect();
        assert_eq!(servers.len(), 1, "only the listener: {servers:?}");
    }

    #[test]
    fn launchers_differ_and_what_may_not_be_read_says_so() {
        let errors = "grep: /proc/950/limits: Permission denied\ngrep: /proc/960/limits: No such file or directory\n";
        let facts = run(&PROBE, &[("", "grep: /proc/self/limits: No such file or directory\n", 2), (SLURM, errors, 2)]);
        assert_eq!(shown(&facts, &Entity::Guest, Attribute::MemlockSoft), "<not published by this kernel>");
        assert_eq!(shown(&facts, &Entity::Process(900), Attribute::MemlockSoft), u64::MAX.to_string());
        assert_eq!(shown(&facts, &Entity::Process(77), Attribute::MemlockSoft), "8388608");
        assert_eq!(shown(&facts, &Entity::Process(77), Attribute::MemlockHard), u64::MAX.to_string());
        assert_eq!(shown(&facts, &Entity::Process(901), Attribute::ProcessCommand), "absent", "a session's own sshd");
        assert!(shown(&facts, &Entity::Process(950), Attribute::MemlockSoft).starts_with("<needs privilege"));
        assert_eq!(shown(&facts, &Entity::Process(960), Attribute::ProcessCommand), "absent", "ended meanwhile");
    }

    survives_damage!(PROBE, LOGIN_LIMITS, SLURM);
}
