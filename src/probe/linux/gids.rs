//! The GID tables of RDMA ports: which address speaks which RoCE on which netdev. Tables are long (1024 entries for
//! soft-RoCE) and nearly empty, and the kernel fills them from the lowest index: the first hundred entries are read
//! often, the rest now and then, and only filled entries travel.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::files::{Files, Missing};
use super::rdma_files::{CLASS, device_path, port_path};
use crate::fabric::{Attribute, Entity, Fact, Gid, GidType, Observation, Outcome, State, Text, Value};
use crate::probe::{Pace, Probe, Read, Rhythm, Source, Word};

/// What privilege shows (nothing on any kernel known; said where the target refuses all the same).
const ADDS: &str = "the GID table";

const GREP: Word = Word::Plain("grep");
/// An entry that is not in use.
const ZERO: Word = Word::Plain("0000:0000:0000:0000:0000:0000:0000:0000");

/// Reads the entries whose index matches a pattern, but not the empty ones.
macro_rules! filled_entries {
    ($index:literal) => {
        Read::Command {
            argv: &[
                GREP,
                Word::Plain("-s"),
                Word::Plain("-H"),
                Word::Plain("-v"),
                Word::Plain("-x"),
                ZERO,
                Word::Glob(concat!("/sys/class/infiniband/*/ports/*/gids/", $index)),
                Word::Glob(concat!("/sys/class/infiniband/*/ports/*/gid_attrs/types/", $index)),
                Word::Glob(concat!("/sys/class/infiniband/*/ports/*/gid_attrs/ndevs/", $index)),
            ],
            keep: None,
        }
    };
}

/// The first hundred entries of each table. Errors of the first ten are kept, to tell a refusal from an empty table.
pub const PROBE: Probe = Probe {
    name: "linux.gids",
    title: "GID tables",
    privilege_adds: "",
    pace: Pace::Fast,
    rhythm: Rhythm::PACE,
    sources: &[
        Source {
            name: "linux.gids",
            read: Read::Files(&[
                "/sys/class/infiniband/*/ports/*/gids/[0-9]",
                "/sys/class/infiniband/*/ports/*/gid_attrs/types/[0-9]",
                "/sys/class/infiniband/*/ports/*/gid_attrs/ndevs/[0-9]",
            ]),
        },
        Source { name: "linux.gids-to-99", read: filled_entries!("[0-9][0-9]") },
    ],
    parse,
};

/// Entries from index 100 on.
pub const REST: Probe = Probe {
    name: "linux.gids-rest",
    title: "GID tables from index 100 on",
    privilege_adds: "",
    pace: Pace::Medium,
    rhythm: Rhythm::PACE,
    sources: &[Source { name: "linux.gids-rest", read: filled_entries!("[0-9][0-9][0-9]*") }],
    parse,
};

/// The files of all entries, whatever their index.
const ENTRIES: &[&str] = &[
    "/sys/class/infiniband/*/ports/*/gids/*",
    "/sys/class/infiniband/*/ports/*/gid_attrs/types/*",
    "/sys/class/infiniband/*/ports/*/gid_attrs/ndevs/*",
];

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let mut facts = Vec::new();
    // An entry that is refused at a low index is refused at all of them.
    let mut refused: BTreeMap<(&str, u32, &str), State<Value>> = BTreeMap::new();
    for observation in observations {
        let files = Files::new(observation, ENTRIES);
        for (path, missing) in files.errors() {
            // Entries that are not in use have neither type nor netdev: the kernel says EINVAL, which is normal.
            if let Some((device, port, kind, _)) = entry(path).filter(|_| *missing != Missing::Invalid)
                && let Some(state) = missing.state(ADDS)
            {
                refused.entry((device, port, kind)).or_insert(state);
            }
        }
        facts.extend(entries(observation, &files, &refused));
        if let Some(state) = trouble(observation) {
            facts.push(observation.fact(Entity::Guest, Attribute::GidValue, state, 0));
        }
    }
    for ((device, port, kind), state) in refused {
        // Without the identifiers themselves there is no entry that could say so: the port does.
        if kind == "gids"
            && let Some(observation) = observations.first()
        {
            facts.push(observation.fact(Entity::port(device, port), Attribute::GidValue, state, 0));
        }
    }
    facts
}

/// Why a table could not be read as a whole. `grep` ends with 1 or 2 where there are no entries, or empty ones.
fn trouble(observation: &Observation) -> Option<State<Value>> {
    match observation.outcome {
        Outcome::Exit(0..=2) => None,
        _ => observation.trouble("grep", ADDS),
    }
}

/// Splits the path of one entry into device, port, kind (`gids`, `types`, `ndevs`) and index.
fn entry(path: &str) -> Option<(&str, u32, &str, u32)> {
    let (device, rest) = device_path(path)?;
    let (port, rest) = port_path(rest)?;
    let (kind, index) = rest.strip_prefix("gid_attrs/").unwrap_or(rest).split_once('/')?;
    let digits = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
    let index = index.parse().ok().filter(|_| digits)?;
    matches!(kind, "gids" | "types" | "ndevs").then_some((device, port, kind, index))
}

fn entries(
    observation: &Observation,
    files: &Files<'_>,
    refused: &BTreeMap<(&str, u32, &str), State<Value>>,
) -> Vec<Fact> {
    let mut facts = Vec::new();
    for (path, _) in files.all() {
        let Some((device, port, "gids", index)) = entry(path) else { continue };
        let Some((line, value)) = files.first(path) else { continue };
        let entity = Entity::Gid { device: Text::new(device), port, index };
        match value.parse::<Gid>() {
            Ok(gid) if gid.is_zero() => continue,
            Ok(gid) => facts.push(observation.known(entity.clone(), Attribute::GidValue, gid, line)),
            Err(why) => {
                let state = State::Failed(Text::new(&why));
                facts.push(observation.fact(entity.clone(), Attribute::GidValue, state, line));
            }
        }
        for (kind, attribute) in [("types", Attribute::GidType), ("ndevs", Attribute::GidNetdev)] {
            let path = format!("{CLASS}{device}/ports/{port}/gid_attrs/{kind}/{index}");
            let (line, state) = match files.first(&path) {
                Some((line, "")) => (line, State::Empty),
                Some((line, word)) if kind == "types" => (line, State::Known(GidType::from_word(word).into())),
                Some((line, name)) => (line, State::Known(name.into())),
                None => {
                    let unsaid = || State::Failed(Text::new("the kernel gave none for this entry"));
                    (0, refused.get(&(device, port, kind)).cloned().unwrap_or_else(unsaid))
                }
            };
            facts.push(observation.fact(entity.clone(), attribute, state, line));
        }
    }
    facts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::probe::linux::rdma_testing::{known, no_rdma, state, sysfs};
    use crate::probe::testing::{CASES, assert_clean, mutated_texts};

    const PVRDMA: &str = include_str!("../../../tests/fixtures/pvrdma-guest/14-sysfs-values.txt");
    const SOFT_ROCE: &str = include_str!("../../../tests/fixtures/soft-roce/14-sysfs-values.txt");
    const SHOWN: &str = include_str!("../../../tests/fixtures/public/58-show_gids-tabs-missing-version.txt");

    fn read(observation: Observation) -> Vec<Fact> {
        parse(&[Arc::new(observation), Arc::new(Observation::of_text("x", "").with_outcome(Outcome::Exit(2)))])
    }

    fn gid(device: &str, index: u32) -> Entity {
        Entity::Gid { device: Text::new(device), port: 1, index }
    }

    #[test]
    fn filled_entries_are_read_and_empty_ones_are_not_there() {
        for (saved, device, count, kind, address) in [
            (SOFT_ROCE, "rxe0", 2, "RoCE v2", "::ffff:192.168.100.10"),
            (PVRDMA, "rocep0s16f1", 3, "IB/RoCE v1", "::ffff:192.168.100.50"),
        ] {
            let facts = read(sysfs(saved));
            assert_eq!(facts.len(), count * 3, "{facts:?}");
            assert_eq!(known(&facts, &gid(device, 1), Attribute::GidValue), address);
            assert_eq!(known(&facts, &gid(device, 1), Attribute::GidType), kind);
            assert_eq!(known(&facts, &gid(device, 1), Attribute::GidNetdev), "eth1");
        }
    }

    #[test]
    fn an_entry_without_type_and_netdev_stays() {
        // The table of a real qedr port, as its files give it: no types, no netdevs.
        let rows = SHOWN.lines().map(|line| line.split('\t').collect::<Vec<_>>());
        let files =
            rows.filter(|row| row.len() > 3 && row[1].parse::<u32>().is_ok()).fold(String::new(), |files, row| {
                files + &format!("/sys/class/infiniband/{}/ports/{}/gids/{}:{}\n", row[0], row[1], row[2], row[3])
            });
        let facts = read(Observation::of_text("x", &files));
        assert_eq!(known(&facts, &gid("qedr0", 1), Attribute::GidValue), "::ffff:192.0.2.100");
        for attribute in [Attribute::GidType, Attribute::GidNetdev] {
            assert_eq!(state(&facts, &gid("qedr0", 1), attribute).map(|state| state.name()), Some("failed"));
        }
    }

    #[test]
    fn a_refusal_is_not_an_empty_table() {
        let types = "/sys/class/infiniband/a/ports/1/gid_attrs/types/0";
        let refused = Observation::of_text("x", "/sys/class/infiniband/a/ports/1/gids/0:fe80::1\n")
            .with_stderr(&format!("grep: {types}: Permission denied\n"));
        assert_eq!(
            state(&read(refused), &gid("a", 0), Attribute::GidType),
            Some(State::NeedsPrivilege(Text::new("the GID table")))
        );
        let refused = Observation::of_text("x", "")
            .with_stderr("grep: /sys/class/infiniband/a/ports/1/gids/0: Permission denied\n")
            .with_outcome(Outcome::Exit(2));
        let facts = read(refused);
        assert!(matches!(state(&facts, &Entity::port("a", 1), Attribute::GidValue), Some(State::NeedsPrivilege(_))));
        let cut = read(Observation::of_text("x", "").with_outcome(Outcome::Cut));
        assert!(matches!(state(&cut, &Entity::Guest, Attribute::GidValue), Some(State::Failed(_))));
    }

    #[test]
    fn no_rdma_gives_nothing() {
        assert_eq!(read(no_rdma()), Vec::new());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(CASES))]
        #[test]
        fn survives_anything(
            values in mutated_texts(&[&sysfs(PVRDMA).stdout, &sysfs(SOFT_ROCE).stdout]),
            errors in mutated_texts(&[&sysfs(PVRDMA).stderr, "grep: /sys/class/infiniband/a/ports/1/gids/0: Permission denied\n"]),
        ) {
            assert_clean(&read(Observation::of_text("x", &values).with_stderr(&errors)))?;
        }
    }
}
