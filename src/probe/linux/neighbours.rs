//! The neighbour table: whose hardware address answers for an address of the same network. An address that nobody
//! answers for stands there as FAILED or INCOMPLETE: the port of a PVRDMA adapter is ACTIVE all the same. The kernel keeps
//! such an entry for hours after the last packet to it; only its age tells whether that is news.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use crate::fabric::{Attribute, Entity, Fact, MacAddress, Observation, State, Text, Value};
use crate::probe::{Pace, Probe, Read, Rhythm, Source, Word};

/// The most entries that are kept of one interface: a table of a large network holds thousands.
const MOST: usize = 256;

/// An entry that nobody answered for so many seconds ago says nothing of now: who sends, asks anew within a few seconds.
const NEWS: u64 = 60;

/// The neighbour table.
pub const PROBE: Probe = Probe {
    name: "linux.neighbours",
    title: "neighbour table",
    privilege_adds: "",
    pace: Pace::Fast,
    rhythm: Rhythm::PACE,
    sources: &[Source {
        name: "linux.neighbours",
        read: Read::Command {
            argv: &[Word::Plain("ip"), Word::Plain("-s"), Word::Plain("neigh"), Word::Plain("show")],
            keep: None,
        },
    }],
    parse,
};

/// One line of the table: `192.168.100.12 dev ens192 lladdr 00:50:56:b2:66:9e  used 12/2/8probes 1 REACHABLE`.
struct Entry<'a> {
    address: IpAddr,
    netdev: &'a str,
    hardware: Option<MacAddress>,
    state: &'a str,
    /// Seconds since its state changed, where they are printed.
    age: Option<u64>,
    line: u32,
}

impl<'a> Entry<'a> {
    fn of(line: u32, text: &'a str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let address = words.next()?.parse().ok()?;
        let (mut netdev, mut hardware, mut state, mut age) = (None, None, None, None);
        while let Some(word) = words.next() {
            match word {
                "dev" => netdev = words.next(),
                "lladdr" => hardware = words.next().and_then(|word| word.parse().ok()),
                "used" => age = words.next().and_then(updated),
                // `router`, `extern_learn` and `proxy` have no value; the state is the one word in capital letters.
                word if word.bytes().all(|byte| byte.is_ascii_uppercase()) => state = Some(word),
                _ => {}
            }
        }
        Some(Self { address, netdev: netdev?, hardware, state: state?, age, line })
    }

    fn is_unresolved(&self) -> bool {
        let is_news = self.age.is_none_or(|age| age <= NEWS);
        self.hardware.is_none() && matches!(self.state, "FAILED" | "INCOMPLETE") && is_news
    }

    fn words(&self) -> Text {
        Text::new(&match self.hardware {
            Some(hardware) => format!("{} {hardware} {}", self.address, self.state),
            None => format!("{} {}", self.address, self.state),
        })
    }
}

/// The last of three ages: `used/confirmed/updated`. The word behind it is glued to it: `113/165/110probes`.
fn updated(ages: &str) -> Option<u64> {
    let last = ages.split('/').nth(2)?;
    let end = last.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(last.len());
    last[..end].parse().ok()
}

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [observation] = observations else { return Vec::new() };
    if let Some(state) = observation.trouble("ip (iproute2)", "") {
        return vec![observation.fact(Entity::Guest, Attribute::Neighbours, state, 0)];
    }
    let mut tables: BTreeMap<&str, Vec<Entry<'_>>> = BTreeMap::new();
    for entry in observation.lines().filter_map(|(number, line)| Entry::of(number, line)) {
        let table = tables.entry(entry.netdev).or_default();
        if table.len() < MOST {
            table.push(entry);
        }
    }
    let mut facts = Vec::new();
    for (netdev, table) in &tables {
        let entity = Entity::Netdev(Text::new(netdev));
        let mut list = |attribute, entries: Vec<&Entry<'_>>| {
            let line = entries.first().map_or(0, |entry| entry.line);
            let words: Vec<Text> = entries.iter().map(|entry| entry.words()).collect();
            let state = if words.is_empty() { State::Empty } else { State::Known(Value::List(words)) };
            facts.push(observation.fact(entity.clone(), attribute, state, line));
        };
        list(Attribute::Neighbours, table.iter().collect());
        list(Attribute::UnresolvedNeighbours, table.iter().filter(|entry| entry.is_unresolved()).collect());
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::super::guest_testing::{run, shown, survives_damage};
    use super::*;

    // As iproute2 6.1 prints it: each line ends with a blank.
    const TABLE: &str = "10.20.0.1 dev ens160 lladdr 02:fc:00:00:00:05 STALE \n192.168.100.12 dev ens192 FAILED \n\
                         192.168.100.13 dev ens192 lladdr 00:50:56:b2:66:9e REACHABLE \n192.168.100.14 dev ens192  INCOMPLETE\n\
                         fe80::1 dev ens160 lladdr 02:fc:00:00:00:05 router STALE \nfd00::1 dev ens160 FAILED \nbroken\n";

    fn of(printed: (&str, &str, i32), netdev: &str, attribute: Attribute) -> String {
        shown(&run(&PROBE, &[printed]), &Entity::Netdev(Text::new(netdev)), attribute)
    }

    #[test]
    fn each_interface_has_its_table_and_those_nobody_answers_for() {
        let printed = (TABLE, "", 0);
        assert_eq!(
            of(printed, "ens192", Attribute::Neighbours),
            "192.168.100.12 FAILED, 192.168.100.13 00:50:56:b2:66:9e REACHABLE, 192.168.100.14 INCOMPLETE"
        );
        assert_eq!(
            of(printed, "ens192", Attribute::UnresolvedNeighbours),
            "192.168.100.12 FAILED, 192.168.100.14 INCOMPLETE"
        );
        assert_eq!(of(printed, "ens160", Attribute::UnresolvedNeighbours), "fd00::1 FAILED");
        let facts = run(&PROBE, &[printed]);
        let line = |netdev: &str, attribute| {
            let entity = Entity::Netdev(Text::new(netdev));
            facts.iter().find(|fact| fact.entity == entity && fact.attribute == attribute).map(|fact| fact.reading.line)
        };
        assert_eq!(line("ens192", Attribute::UnresolvedNeighbours), Some(2));
        assert_eq!(line("ens160", Attribute::UnresolvedNeighbours), Some(6));
    }

    #[test]
    fn a_table_of_a_real_system() {
        let real = "192.0.2.1 dev eth0 lladdr 02:fc:00:00:00:05 STALE \n192.0.2.77 dev eth0 FAILED \n";
        assert_eq!(of((real, "", 0), "eth0", Attribute::UnresolvedNeighbours), "192.0.2.77 FAILED");
    }

    // A guest whose peer was away for a while, 110 s after the last packet to it.
    const AGED: &str = "10.0.2.2 dev eth0 lladdr 52:55:0a:00:02:02  ref 1 used 470/0/468probes 0 REACHABLE \n\
                        192.168.100.10 dev eth1  used 113/165/110probes 6 FAILED \n\
                        fe80::2 dev eth0 lladdr 52:56:00:00:00:02 router  used 528/588/528probes 0 STALE \n";

    #[test]
    fn an_old_failure_is_in_the_table_and_no_news() {
        let of = |text: &str, attribute| of((text, "", 0), "eth1", attribute);
        assert_eq!(of(AGED, Attribute::Neighbours), "192.168.100.10 FAILED");
        assert_eq!(of(AGED, Attribute::UnresolvedNeighbours), "<empty>");
        let fresh = AGED.replace("113/165/110probes", "5/61/2probes");
        assert_eq!(of(&fresh, Attribute::UnresolvedNeighbours), "192.168.100.10 FAILED");
        // Later versions have the blank; what is no age is none.
        for ages in ["5/61/2 probes", "5/61/x probes", "5 probes"] {
            let text = AGED.replace("113/165/110probes", ages);
            assert_eq!(of(&text, Attribute::UnresolvedNeighbours), "192.168.100.10 FAILED", "{ages}");
        }
    }

    #[test]
    fn an_empty_table_says_nothing_and_a_missing_program_says_so() {
        assert_eq!(run(&PROBE, &[("", "", 0)]), Vec::new());
        let facts = run(&PROBE, &[("", "ip: not found\n", 127)]);
        assert_eq!(shown(&facts, &Entity::Guest, Attribute::Neighbours), "<ip (iproute2) is not installed>");
    }

    survives_damage!(PROBE, TABLE, AGED);
}
