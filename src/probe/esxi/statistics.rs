//! What RDMA devices and adapters count. Nobody published how `rdma device stats get` looks, so every label is kept as it
//! was printed: whoever needs one compares labels loosely ([`is_label`]). These are counters of the whole adapter: of all
//! VMs of an uplink, never of one.

use std::sync::Arc;

use super::block;
use super::each::{self, Item};
use super::lines;
use super::reply::{self, Facts, argv};
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text};
use crate::probe::{Listing, Pace, Probe, Read, Rhythm, Source, Word};

/// A probe of counters: one command for each thing of a listing, which is the last word of it. They move all the time, and
/// are many commands.
const fn counters(
    name: &'static str,
    title: &'static str,
    (pace, seconds): (Pace, u64),
    sources: &'static [Source],
    parse: fn(&[Arc<Observation>]) -> Vec<Fact>,
) -> Probe {
    Probe { name, title, privilege_adds: "", pace, rhythm: Rhythm::every(seconds), sources, parse }
}

/// The source of such a probe. The time of each read is told with it, for the rates.
const fn counted(name: &'static str, of: Listing, argv: &'static [Word]) -> Source {
    Source { name, read: Read::Each { of, argv, masked: false, timed: true } }
}

/// What RDMA devices count.
pub const RDMA: Probe = counters(
    "esxi.rdma-statistics",
    "statistics of RDMA devices (of all VMs together)",
    // Curves are made of these: among what waits for the host's time they come first.
    (Pace::Fast, 60),
    &[counted("esxi.rdma-stats", Listing::RdmaDevices, argv!["esxcli" "rdma" "device" "stats" "get" "-d"; item])],
    parse_blocks,
);

/// What adapters count.
pub const NICS: Probe = counters(
    "esxi.nic-statistics",
    "statistics of physical adapters",
    (Pace::Fast, 120),
    &[counted("esxi.nic-stats", Listing::Uplinks, argv!["esxcli" "network" "nic" "stats" "get" "-n"; item])],
    parse_blocks,
);

/// What the drivers of adapters count besides: pause and priority flow control among it.
pub const PRIVATE: Probe = counters(
    "esxi.nic-private-statistics",
    "pause, flow control and errors as drivers count them",
    (Pace::Medium, 60),
    &[counted(
        "esxi.nic-privstats",
        Listing::Uplinks,
        argv!["localcli" "--plugin-dir" "/usr/lib/vmware/esxcli/int" "networkinternal" "nic" "privstats" "get" "-n"; item],
    )],
    parse_private,
);

/// The most private counters that are kept of one adapter: drivers have thousands, one set for each queue.
const MOST_PRIVATE: usize = 256;

/// Parts of names that matter among private counters.
const KEPT: &[&str] = &[
    "pause", "pfc", "prio", "xon", "xoff", "ecn", "cnp", "congest", "discard", "drop", "err", "buffer", "retrans",
    "roce", "rdma", "phy",
];

/// True if a label is the one that is meant but for letter case, blanks and a plural: `Queue pairs in RTS state` is
/// `queue pair in Rts State`.
pub fn is_label(label: &str, meant: &str) -> bool {
    let single = |text: &str| -> String {
        text.split_whitespace()
            .map(|word| word.strip_suffix('s').filter(|word| word.len() > 2).unwrap_or(word))
            .collect()
    };
    lines::same_name(label, meant) || lines::same_name(&single(label), &single(meant))
}

fn parse_blocks(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [statistics] = observations else { return Vec::new() };
    let mut facts = Facts::of(statistics);
    let (items, left_out) = each::items(statistics);
    reply::say_left_out(&mut facts, Attribute::CounterValue, left_out);
    for item in items {
        if let Some(state) = reply::trouble_of(&item, &statistics.command) {
            facts.say(&whole(&item), Attribute::CounterValue, Some(state), 0);
            continue;
        }
        let mut counted = false;
        for block in block::blocks(item.output, item.first) {
            for field in block.all() {
                // A key with records under it has no value of its own.
                if field.value.is_empty() {
                    continue;
                }
                facts.say(&counter(&item, field.key), Attribute::CounterValue, Some(number(&field.value)), field.line);
                counted = true;
            }
        }
        if !counted {
            facts.say(&whole(&item), Attribute::CounterValue, Some(State::Empty), 0);
        }
    }
    facts.said
}

fn parse_private(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [statistics] = observations else { return Vec::new() };
    let mut facts = Facts::of(statistics);
    let (items, left_out) = each::items(statistics);
    reply::say_left_out(&mut facts, Attribute::CounterValue, left_out);
    for item in items {
        if let Some(state) = reply::trouble_of(&item, "localcli") {
            // Many drivers have none.
            let state = match state {
                State::Failed(said) if item.status.is_some() && !said.contains("hostd") => {
                    State::NotPublished(Text::new(&format!("the driver of {} ({said})", item.name)))
                }
                other => other,
            };
            facts.say(&whole(&item), Attribute::CounterValue, Some(state), 0);
            continue;
        }
        let mut kept = 0;
        for (line, text) in (item.first..).zip(item.output.lines()) {
            for (name, value) in private(text) {
                let lower = name.to_ascii_lowercase();
                if kept < MOST_PRIVATE && KEPT.iter().any(|part| lower.contains(part)) {
                    facts.say(&counter(&item, &name), Attribute::CounterValue, Some(State::Known(value.into())), line);
                    kept += 1;
                }
            }
        }
    }
    facts.said
}

/// The numbers of one line: `name: 7`, `name = 7`, and several of `name=7` behind a name that they share.
fn private(line: &str) -> Vec<(String, u64)> {
    let line = line.trim().trim_end_matches(',');
    let pairs: Vec<(&str, u64)> = line
        .split_whitespace()
        .filter_map(|word| {
            let (name, value) = word.trim_end_matches(',').split_once('=')?;
            Some((name, value.parse().ok()?))
        })
        .filter(|(name, _)| !name.is_empty())
        .collect();
    if !pairs.is_empty() {
        let shared = line.split_once(": ").map(|(name, _)| name.trim()).filter(|name| !name.contains('='));
        return pairs
            .into_iter()
            .map(|(name, value)| (shared.map_or_else(|| name.to_owned(), |shared| format!("{shared} {name}")), value))
            .collect();
    }
    let pair = line.rsplit_once(':').or_else(|| line.split_once('='));
    let Some((name, value)) = pair else { return Vec::new() };
    let name = name.trim().trim_matches('"');
    match value.trim().parse() {
        Ok(value) if !name.is_empty() => vec![(name.to_owned(), value)],
        _ => Vec::new(),
    }
}

fn number(word: &str) -> State<crate::fabric::Value> {
    match reply::count(word) {
        // A counter that this program does not know may be no number.
        State::Failed(_) => State::Known(word.into()),
        state => state,
    }
}

fn counter(item: &Item<'_>, name: &str) -> Entity {
    Entity::Counter { of: Text::new(item.name), name: Text::new(name) }
}

/// Stands for all counters of a thing where none could be read.
fn whole(item: &Item<'_>) -> Entity {
    counter(item, "*")
}

#[cfg(test)]
mod tests {
    use super::super::reply::testing::{item, run, shown, survives_damage, with_carriage_returns};
    use super::*;

    /// Labels made after the fields of the VMkernel's own structure, which no public sample confirms, and one that nobody
    /// knows.
    const RDMA_STATS: &str = "   Packets received: 10
   Bytes sent: 18446744073709551615
   Queue pairs in RTS state: 4
   Queue pairs in Err state: 0
   Flux capacitors charged: 3
   Mood: fine
";
    /// As public test code of an adapter's vendor has it.
    const NIC_STATS: &str =
        "NIC statistics for vmnic9\n   Packets received: 0\n   Bytes received: 5271156\n   Receive CRC errors: 2\n";
    /// Lines as they are named in public, of an Intel driver and of nmlx5; the layout around them is nowhere shown.
    const PRIVATE_STATS: &str = "PFC TC[3]: RxXon=1 RxXoff=2 TxXon=0 TxXoff=5 Xon2Xoff=0\n   txPauseCtrlPhy: 12\n   rxPauseCtrlPhy: 0\n   \
        rxQueue0Packets: 99\nnonsense\n";

    fn value(facts: &[Fact], of: &str, name: &str) -> String {
        let counter = Entity::Counter { of: Text::new(of), name: Text::new(name) };
        shown(facts, &counter, Attribute::CounterValue)
    }

    #[test]
    fn labels_known_or_not_are_kept() {
        for text in [RDMA_STATS.to_owned(), with_carriage_returns(RDMA_STATS)] {
            let text = item("vmrdma0", &text, 0) + &item("vmrdma1", "", 0) + &item("vmrdma2", "no such device", 1);
            let facts = run(&RDMA, &[(&text, "", 0)]);
            assert_eq!(value(&facts, "vmrdma0", "Bytes sent"), "18446744073709551615");
            assert_eq!(value(&facts, "vmrdma0", "Flux capacitors charged"), "3");
            assert_eq!(value(&facts, "vmrdma0", "Mood"), "fine");
            assert_eq!(value(&facts, "vmrdma1", "*"), "<empty>");
            assert_eq!(value(&facts, "vmrdma2", "*"), "<failed: no such device>");
        }
        assert!(is_label("Queue pairs in Err state", "queue pair in ERR State"));
        assert!(!is_label("Queue pairs in ERR state", "Queue pairs in RTS state"));
    }

    #[test]
    fn statistics_of_an_adapter() {
        let facts = run(&NICS, &[(&item("vmnic9", NIC_STATS, 0), "", 0)]);
        assert_eq!(value(&facts, "vmnic9", "Bytes received"), "5271156");
        assert_eq!(value(&facts, "vmnic9", "Receive CRC errors"), "2");
    }

    #[test]
    fn private_statistics_of_two_drivers() {
        let text = item("vmnic2", PRIVATE_STATS, 0) + &item("vmnic0", "Unable to get private stats", 1);
        let facts = run(&PRIVATE, &[(&text, "", 0)]);
        assert_eq!(value(&facts, "vmnic2", "PFC TC[3] RxXoff"), "2");
        assert_eq!(value(&facts, "vmnic2", "txPauseCtrlPhy"), "12");
        assert_eq!(value(&facts, "vmnic2", "rxQueue0Packets"), "absent", "not one of those that matter");
        assert!(value(&facts, "vmnic0", "*").starts_with("<not published by the driver of vmnic0"));
    }

    survives_damage!(PRIVATE, "@item vmnic2\nPFC TC[3]: RxXon=1 RxXoff=2\n   txPauseCtrlPhy: 12\n\n@status 0\n");
}
