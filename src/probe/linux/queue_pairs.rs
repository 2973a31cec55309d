//! Queue pairs by state and owner. Without `CAP_NET_ADMIN` the kernel hides those of other users and says nothing of
//! it, so whether they could be seen is a reading of its own.

use std::sync::Arc;

use super::rdma_output::{Item, is_unloaded, items};
use crate::fabric::{Attribute, Entity, Fact, Observation, QueuePairState, QueuePairType, State, Text, Value};
use crate::probe::privilege::{Needs, was_by_root};
use crate::probe::{Pace, Probe, Read, Rhythm, Source, Word};

/// What privilege shows.
const ADDS: &str = "queue pairs of other users' processes (without it the kernel may hide some of them)";

/// The bit of `CAP_NET_ADMIN` in a capability mask.
const NET_ADMIN: u64 = 1 << 12;

/// The subnet manager's queue pair has number 0 and that of the general services number 1, on every port.
const LAST_SPECIAL: u32 = 1;

/// What lists queue pairs, here and in the stream.
pub const ARGV: &[Word] =
    &[Word::Plain("rdma"), Word::Plain("-j"), Word::Plain("res"), Word::Plain("show"), Word::Plain("qp")];

/// Queue pairs by `rdma res show qp`.
pub const PROBE: Probe = Probe {
    name: "linux.queue-pairs",
    title: "queue pairs",
    privilege_adds: ADDS,
    pace: Pace::Fast,
    rhythm: Rhythm::PACE,
    sources: &[
        Source { name: "linux.queue-pairs", read: Read::Privileged { argv: ARGV, keep: None, needs: Needs::NetAdmin } },
        Source { name: "linux.login-capabilities", read: Read::Files(&["/proc/self/status"]) },
    ],
    parse,
};

const KEYS: [&str; 8] = ["lqpn", "rqpn", "type", "state", "path-mig-state", "pid", "comm", "pdn"];

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [pairs, status, ..] = observations else { return Vec::new() };
    parse_queue_pairs(pairs, status)
}

/// Facts of all queue pairs in the output of `rdma -j res show qp` (or of the text form without `-j`), and whether
/// those of other users could be seen: by the `CapEff` line of `/proc/self/status`, unless root was asked.
pub fn parse_queue_pairs(pairs: &Observation, status: &Observation) -> Vec<Fact> {
    let mut facts = Vec::new();
    let read = items(pairs, &KEYS);
    for item in &read.items {
        queue_pair_facts(pairs, item, &mut facts);
    }
    if is_unloaded(pairs) {
        return facts;
    }
    let trouble =
        pairs.trouble("rdma (iproute2)", ADDS).or_else(|| read.broken.map(|why| State::Failed(Text::new(why))));
    facts.push(match trouble {
        Some(state) => pairs.fact(Entity::Guest, Attribute::ForeignQueuePairs, state, 0),
        None if was_by_root(&pairs.command) => pairs.known(Entity::Guest, Attribute::ForeignQueuePairs, true, 0),
        None => foreign(status),
    });
    facts
}

/// Whether queue pairs of other users can be seen.
fn foreign(status: &Observation) -> Fact {
    let mask = status.lines().find_map(|(number, line)| {
        let mask = line.split_once("CapEff:")?.1.trim();
        Some((number, u64::from_str_radix(mask, 16).ok()?))
    });
    let (line, state) = match mask {
        Some((line, mask)) if mask & NET_ADMIN != 0 => (line, State::Known(Value::from(true))),
        Some((line, _)) => (line, State::NeedsPrivilege(Text::new(ADDS))),
        None => {
            // Not a failure: the queue pairs themselves were read.
            let unknown = "the capabilities of this login could not be read";
            let why = match status.trouble("grep", ADDS) {
                Some(State::Failed(why)) => Text::new(&format!("{unknown}: {why}")),
                _ => Text::new(unknown),
            };
            (0, State::NotObservable(why))
        }
    };
    status.fact(Entity::Guest, Attribute::ForeignQueuePairs, state, line)
}

fn queue_pair_facts(pairs: &Observation, item: &Item, facts: &mut Vec<Fact>) {
    let text = |key: &str| {
        let value = item.values.get(key)?;
        let text = value.as_str().map_or_else(|| value.to_string(), |text| text.trim().to_owned());
        (!text.is_empty()).then_some(text)
    };
    let number = |key: &str| text(key)?.parse::<u32>().ok();
    let Some(local) = number("lqpn") else { return };
    let port = item.port.filter(|_| local <= LAST_SPECIAL);
    let entity = Entity::QueuePair { device: Text::new(&item.device), port, number: local };
    let mut say = |attribute, state| facts.push(pairs.fact(entity.clone(), attribute, state, item.line));
    let missing = || State::NotAvailable;
    say(
        Attribute::QueuePairType,
        text("type").map_or_else(missing, |word| State::Known(QueuePairType::from_word(&word).into())),
    );
    say(
        Attribute::QueuePairState,
        text("state").map_or_else(missing, |word| State::Known(QueuePairState::from_word(&word).into())),
    );
    // A queue pair that is not bound to a port yet shows `-` or none.
    say(Attribute::QueuePairPort, item.port.map_or_else(missing, |port| State::Known(port.into())));
    if let Some(remote) = number("rqpn") {
        say(Attribute::RemoteQueuePair, State::Known(remote.into()));
    }
    if let Some(migration) = text("path-mig-state") {
        say(Attribute::PathMigration, State::Known(Value::from(migration.as_str())));
    }
    let process = number("pid");
    if let Some(process) = process {
        say(Attribute::OwnerProcess, State::Known(process.into()));
    }
    let command = match (text("comm"), process) {
        (Some(command), Some(_)) => State::Known(Value::from(command.as_str())),
        // Only kernel owners come without a process; the text form has the brackets already.
        (Some(command), None) if command.starts_with('[') => State::Known(Value::from(command.as_str())),
        (Some(command), None) => State::Known(Value::from(format!("[{command}]").as_str())),
        (None, Some(_)) => State::NotAvailable,
        (None, None) => State::NotObservable(Text::new("the owner lives in another process namespace")),
    };
    say(Attribute::OwnerCommand, command);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fabric::Outcome;
    use crate::probe::linux::rdma_testing::{known, state};
    use crate::probe::testing::{CASES, assert_clean, mutated_texts};

    const ROOT: &str = "/proc/self/status:CapEff:\t000001ffffffffff\n";
    const LAB: &str = "/proc/self/status:Name:\tgrep\n/proc/self/status:CapEff:\t0000000000000000\n";
    const SAVED: &str = include_str!("../../../tests/fixtures/soft-roce/perftest/qp-root-and-unprivileged.txt");

    fn read(pairs: &str, status: &str) -> Vec<Fact> {
        parse_queue_pairs(&Observation::of_text("qp", pairs), &Observation::of_text("status", status))
    }

    fn pair(device: &str, number: u32) -> Entity {
        Entity::QueuePair { device: Text::new(device), port: None, number }
    }

    /// The general services' queue pair of a port.
    fn special(device: &str, port: u32) -> Entity {
        Entity::QueuePair { device: Text::new(device), port: Some(port), number: 1 }
    }

    #[test]
    fn every_port_has_its_own_special_queue_pairs() {
        let line = |port: u32| format!("link mlx5_0/{port} lqpn 1 type GSI state RTS sq-psn 0 comm [ib_core] \n");
        let facts = read(&(line(1) + &line(2)), ROOT);
        for port in [1, 2] {
            assert_eq!(known(&facts, &special("mlx5_0", port), Attribute::QueuePairPort), port.to_string());
        }
    }

    /// The n-th line of the saved run that begins with this.
    fn saved(begins: &str, nth: usize) -> String {
        SAVED.lines().filter(|line| line.starts_with(begins)).nth(nth).expect("a saved line").to_owned()
    }

    #[test]
    fn root_sees_the_process_and_its_connection() {
        let text = format!("{}\n{}\n", saved("link", 0), saved("link", 1));
        for pairs in [saved("[", 0), text] {
            let facts = read(&pairs, ROOT);
            let test = pair("rxe0", 19);
            assert_eq!(known(&facts, &test, Attribute::QueuePairType), "RC");
            assert_eq!(known(&facts, &test, Attribute::QueuePairState), "RTS");
            assert_eq!(known(&facts, &test, Attribute::QueuePairPort), "1");
            assert_eq!(known(&facts, &test, Attribute::RemoteQueuePair), "17");
            assert_eq!(known(&facts, &test, Attribute::OwnerProcess), "399");
            assert_eq!(known(&facts, &test, Attribute::OwnerCommand), "ib_write_bw");
            assert_eq!(known(&facts, &test, Attribute::PathMigration), "MIGRATED");
            assert_eq!(known(&facts, &special("rxe0", 1), Attribute::OwnerCommand), "[ib_core]");
            assert_eq!(state(&facts, &special("rxe0", 1), Attribute::OwnerProcess), None);
            assert_eq!(known(&facts, &Entity::Guest, Attribute::ForeignQueuePairs), "yes");
        }
    }

    #[test]
    fn what_is_hidden_is_said_to_need_privilege() {
        let facts = read(&saved("[", 1), LAB);
        assert_eq!(known(&facts, &special("rxe0", 1), Attribute::QueuePairType), "GSI");
        assert_eq!(
            state(&facts, &Entity::Guest, Attribute::ForeignQueuePairs),
            Some(State::NeedsPrivilege(Text::new(ADDS)))
        );
    }

    #[test]
    fn odd_lines_of_old_versions_are_read() {
        let facts = read("link mlx5_0/lqpn 7 type UD state RTS sq-psn 0 comm [ib_core] \n", ROOT);
        assert_eq!(known(&facts, &pair("mlx5_0", 7), Attribute::QueuePairType), "UD");
        assert_eq!(state(&facts, &pair("mlx5_0", 7), Attribute::QueuePairPort), Some(State::NotAvailable));
        let facts = read("link mlx5_0/- lqpn 1 type GSI state RTS sq-psn 0 pid 7 comm a b pid 9 \n", ROOT);
        assert_eq!(known(&facts, &pair("mlx5_0", 1), Attribute::OwnerCommand), "a b pid 9");
        assert_eq!(known(&facts, &pair("mlx5_0", 1), Attribute::OwnerProcess), "7");
    }

    #[test]
    fn no_answer_is_no_empty_list() {
        let status = Observation::of_text("status", ROOT);
        let late = Observation::of_text("qp", "").with_outcome(Outcome::TimedOut);
        let missing = Observation::of_text("qp", "").with_outcome(Outcome::Exit(127));
        for (pairs, name) in [(late, "failed"), (missing, "not-installed")] {
            let facts = parse_queue_pairs(&pairs, &status);
            assert_eq!(
                state(&facts, &Entity::Guest, Attribute::ForeignQueuePairs).map(|state| state.name()),
                Some(name)
            );
        }
        let none = Observation::of_text("qp", "[]").with_stderr("Failed to open NETLINK_RDMA socket");
        assert!(parse_queue_pairs(&none, &status).is_empty());
        let facts = read("[]\n", "");
        assert_eq!(
            state(&facts, &Entity::Guest, Attribute::ForeignQueuePairs).map(|state| state.name()),
            Some("not-observable")
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(CASES))]
        #[test]
        fn survives_anything(
            pairs in mutated_texts(&[
                SAVED,
                &saved("[", 0),
                include_str!("../../../tests/fixtures/pvrdma-guest/10-rdma-j-res-show-qp.txt"),
                include_str!("../../../tests/fixtures/pvrdma-guest/09-rdma-res-show-qp.txt"),
            ]),
            status in mutated_texts(&[ROOT, LAB]),
        ) {
            assert_clean(&read(&pairs, &status))?;
        }
    }
}
