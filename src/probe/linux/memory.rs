//! Memory settings of the guest: totals, transparent huge pages, huge pages, swappiness, NUMA balancing, and whether
//! irqbalance moves interrupts about.

use std::sync::Arc;

use super::files::{Files, Missing};
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text, Value};
use crate::probe::{Pace, Probe, Read, Rhythm, Source, Word};

const ENABLED: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const DEFRAG: &str = "/sys/kernel/mm/transparent_hugepage/defrag";
const SWAPPINESS: &str = "/proc/sys/vm/swappiness";
const BALANCING: &str = "/proc/sys/kernel/numa_balancing";
const PAGES: &str = "/sys/kernel/mm/hugepages/hugepages-*kB/nr_hugepages";
const PAGES_FREE: &str = "/sys/kernel/mm/hugepages/hugepages-*kB/free_hugepages";
const FIRST_PROCESS: &str = "/proc/1/comm";
const FILES: &[&str] = &[ENABLED, DEFRAG, SWAPPINESS, BALANCING, PAGES, PAGES_FREE, FIRST_PROCESS];
const COMM: &str = "/proc/*/comm";

/// Memory settings and irqbalance.
pub const PROBE: Probe = Probe {
    name: "linux.memory",
    title: "memory, huge pages, swappiness, NUMA balancing, irqbalance",
    privilege_adds: "",
    pace: Pace::Medium,
    rhythm: Rhythm::PACE,
    sources: &[
        Source { name: "linux.memory-settings", read: Read::Files(FILES) },
        Source {
            name: "linux.meminfo",
            read: Read::Command {
                argv: &[
                    Word::Plain("grep"),
                    Word::Plain("-E"),
                    Word::Plain("^(MemTotal|MemAvailable|HugePages_Total|HugePages_Free|Hugepagesize):"),
                    Word::Plain("/proc/meminfo"),
                ],
                keep: None,
            },
        },
        Source { name: "linux.irqbalance", read: Read::ProcessFiles { names: &["irqbalance"], files: &[] } },
    ],
    parse,
};

/// Bytes from `  32880000 kB`.
pub(super) fn kibibytes(text: &str) -> Option<u64> {
    let mut words = text.split_whitespace();
    let number: u64 = words.next()?.parse().ok()?;
    (words.next() == Some("kB")).then(|| number.checked_mul(1024)).flatten()
}

/// The word in brackets: `always [madvise] never`.
fn chosen(line: &str) -> Option<State<Value>> {
    let (_, rest) = line.split_once('[')?;
    let (word, _) = rest.split_once(']')?;
    Some(State::Known(word.into()))
}

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [settings, meminfo, irqbalance] = observations else { return Vec::new() };
    let files = Files::new(settings, FILES);
    let guest = |attribute, path, convert: fn(&str) -> Option<State<Value>>| {
        files.fact(Entity::Guest, attribute, path, "", convert)
    };
    let number = |line: &str| line.parse::<u64>().ok().map(|number| State::Known(number.into()));
    let mut facts: Vec<Fact> = [
        guest(Attribute::TransparentHugePages, ENABLED, chosen),
        guest(Attribute::TransparentHugePageDefrag, DEFRAG, chosen),
        guest(Attribute::Swappiness, SWAPPINESS, number),
        guest(Attribute::NumaBalancing, BALANCING, |line| match line {
            // 2 moves pages between tiers of memory and does not balance.
            "0" | "2" => Some(State::Known(false.into())),
            "1" | "3" => Some(State::Known(true.into())),
            _ => None,
        }),
    ]
    .into_iter()
    .flatten()
    .collect();
    facts.extend(amounts(meminfo));
    facts.extend(other_huge_pages(settings, &files, &facts));
    facts.push(balancer(irqbalance, &files));
    facts
}

/// What /proc/meminfo says.
fn amounts(observation: &Observation) -> Vec<Fact> {
    observation
        .lines()
        .filter_map(|(number, line)| {
            let (name, rest) = line.split_once(':')?;
            let count = || rest.trim().parse::<u64>().ok();
            let (attribute, value) = match name {
                "MemTotal" => (Attribute::MemoryTotal, kibibytes(rest)),
                "MemAvailable" => (Attribute::MemoryAvailable, kibibytes(rest)),
                "HugePages_Total" => (Attribute::HugePagesTotal, count()),
                "HugePages_Free" => (Attribute::HugePagesFree, count()),
                "Hugepagesize" => (Attribute::HugePageSize, kibibytes(rest)),
                _ => return None,
            };
            let state = match value {
                Some(value) => State::Known(value.into()),
                None => State::Failed(Text::new(&format!("not understood: {}", Text::new(line)))),
            };
            Some(observation.fact(Entity::Guest, attribute, state, number))
        })
        .collect()
}

/// /proc/meminfo tells of huge pages of the default size only. If none of those are reserved but some of another size
/// are, these are told instead.
fn other_huge_pages(observation: &Observation, files: &Files<'_>, said: &[Fact]) -> Vec<Fact> {
    let default_total = said
        .iter()
        .find(|fact| fact.attribute == Attribute::HugePagesTotal)
        .and_then(|fact| fact.reading.state.known()?.as_count());
    if default_total != Some(0) {
        return Vec::new();
    }
    let reserved = files.matching(PAGES).find_map(|(path, size)| {
        let (line, total) = files.line(path).ok()?;
        let total: u64 = total.parse().ok()?;
        let bytes = size.parse::<u64>().ok()?.checked_mul(1024)?;
        (total > 0).then_some((line, total, bytes, size))
    });
    let Some((line, total, bytes, size)) = reserved else { return Vec::new() };
    let mut facts = vec![
        observation.known(Entity::Guest, Attribute::HugePagesTotal, total, line),
        observation.known(Entity::Guest, Attribute::HugePageSize, bytes, line),
    ];
    facts.extend(files.fact(Entity::Guest, Attribute::HugePagesFree, &PAGES_FREE.replacen('*', size, 1), "", |line| {
        line.parse::<u64>().ok().map(|free| State::Known(free.into()))
    }));
    facts
}

/// Whether irqbalance runs. Not seeing it proves nothing where processes of others are hidden.
fn balancer(observation: &Observation, settings: &Files<'_>) -> Fact {
    let files = Files::new(observation, &[COMM]);
    let running =
        files.matching(COMM).find_map(|(path, _)| files.line(path).ok().filter(|(_, name)| *name == "irqbalance"));
    if let Some((line, _)) = running {
        return observation.known(Entity::Guest, Attribute::IrqBalance, true, line);
    }
    let state = match (observation.trouble("irqbalance", ""), settings.line(FIRST_PROCESS)) {
        (Some(State::Failed(reason)), _) if !matches!(observation.outcome, crate::fabric::Outcome::Exit(_)) => {
            State::Failed(reason)
        }
        (_, Err(Missing::Absent | Missing::Permission)) => {
            State::NeedsPrivilege(Text::new("processes of other users, which are hidden here"))
        }
        _ => State::Known(false.into()),
    };
    observation.fact(Entity::Guest, Attribute::IrqBalance, state, 0)
}

#[cfg(test)]
mod tests {
    use super::super::guest_testing::{Printed, run, shown, survives_damage};
    use super::*;

    const SETTINGS: &str = include_str!("../../../tests/fixtures/guest-probes/linux.memory-settings.txt");
    const MEMINFO: &str = include_str!("../../../tests/fixtures/guest-probes/linux.meminfo.txt");

    fn guest(printed: &[Printed<'_>], attribute: Attribute) -> String {
        shown(&run(&PROBE, printed), &Entity::Guest, attribute)
    }

    #[test]
    fn settings_of_a_real_guest() {
        let printed = [(SETTINGS, "", 0), (MEMINFO, "", 0), ("", "", 0)];
        assert_eq!(guest(&printed, Attribute::TransparentHugePages), "always");
        assert_eq!(guest(&printed, Attribute::TransparentHugePageDefrag), "madvise");
        assert_eq!(guest(&printed, Attribute::Swappiness), "60");
        assert_eq!(guest(&printed, Attribute::NumaBalancing), "no");
        assert_eq!(guest(&printed, Attribute::MemoryTotal), (594_640u64 * 1024).to_string());
        assert_eq!(guest(&printed, Attribute::HugePagesTotal), "0");
        assert_eq!(guest(&printed, Attribute::HugePageSize), "2097152");
        assert_eq!(guest(&printed, Attribute::IrqBalance), "no");
    }

    #[test]
    fn irqbalance_runs_or_hides() {
        let running = [(SETTINGS, "", 0), (MEMINFO, "", 0), ("/proc/812/comm:irqbalance\n", "", 0)];
        assert_eq!(guest(&running, Attribute::IrqBalance), "yes");
        let hidden = [("", "grep: /proc/1/comm: No such file or directory\n", 2), (MEMINFO, "", 0), ("", "", 0)];
        assert!(guest(&hidden, Attribute::IrqBalance).starts_with("<needs privilege"));
    }

    #[test]
    fn huge_pages_of_another_size_are_told() {
        let settings = SETTINGS.replace("1048576kB/nr_hugepages:0", "1048576kB/nr_hugepages:16");
        let printed = [(settings.as_str(), "", 0), (MEMINFO, "", 0), ("", "", 0)];
        assert_eq!(guest(&printed, Attribute::HugePagesTotal), "16");
        assert_eq!(guest(&printed, Attribute::HugePageSize), (1u64 << 30).to_string());
    }

    #[test]
    fn amounts_need_their_unit() {
        assert_eq!(kibibytes("   16 kB"), Some(16_384));
        for wrong in ["16", "16 MB", "", "18446744073709551615 kB", "-1 kB"] {
            assert_eq!(kibibytes(wrong), None, "{wrong:?}");
        }
    }

    survives_damage!(PROBE, SETTINGS, MEMINFO, "/proc/812/comm:irqbalance\n");
}
