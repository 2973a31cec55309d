//! NUMA nodes of the guest: processors, memory, distances. In a VM these are virtual nodes, and one node may hide
//! several real ones.

use std::sync::Arc;

use super::files::Files;
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text, Value};
use crate::probe::{Pace, Probe, Read, Rhythm, Source, Word};

const PROCESSORS: &str = "/sys/devices/system/node/node*/cpulist";
const DISTANCES: &str = "/sys/devices/system/node/node*/distance";
const MEMORY: &str = "/sys/devices/system/node/node*/meminfo";

/// NUMA nodes.
pub const PROBE: Probe = Probe {
    name: "linux.numa",
    title: "NUMA nodes: processors, memory, distances",
    privilege_adds: "",
    pace: Pace::Slow,
    rhythm: Rhythm::PACE,
    sources: &[
        Source { name: "linux.numa-nodes", read: Read::Files(&[PROCESSORS, DISTANCES]) },
        Source {
            name: "linux.numa-memory",
            read: Read::Command {
                argv: &[
                    Word::Plain("grep"),
                    Word::Plain("-H"),
                    Word::Plain("-E"),
                    Word::Plain("Mem(Total|Free):"),
                    Word::Glob(MEMORY),
                ],
                keep: None,
            },
        },
    ],
    parse,
};

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [nodes, memory] = observations else { return Vec::new() };
    let mut facts = Vec::new();
    let files = Files::new(nodes, &[PROCESSORS, DISTANCES]);
    for (path, number) in files.matching(PROCESSORS) {
        // A node without processors (memory only) has an empty list.
        let Ok(number) = number.parse() else { continue };
        let text = |line: &str| Some(State::Known(line.into()));
        facts.extend(files.fact(Entity::NumaNode(number), Attribute::NodeProcessors, path, "", text));
    }
    for (path, number) in files.matching(DISTANCES) {
        let Ok(number) = number.parse() else { continue };
        facts.extend(files.fact(Entity::NumaNode(number), Attribute::NodeDistances, path, "", |line| {
            let distances: Vec<Text> = line.split_whitespace().map(Text::new).collect();
            let numbers = distances.iter().all(|distance| distance.parse::<u32>().is_ok());
            numbers.then_some(State::Known(Value::List(distances)))
        }));
    }
    let files = Files::new(memory, &[MEMORY]);
    for (path, number) in files.matching(MEMORY) {
        let Ok(number) = number.parse() else { continue };
        for (line, text) in files.lines(path) {
            // "Node 0 MemTotal:       32880000 kB"
            let Some((attribute, rest)) =
                [(Attribute::NodeMemory, "MemTotal:"), (Attribute::NodeMemoryFree, "MemFree:")]
                    .into_iter()
                    .find_map(|(attribute, key)| Some((attribute, text.split_once(key)?.1)))
            else {
                continue;
            };
            if let Some(bytes) = super::memory::kibibytes(rest) {
                facts.push(memory.known(Entity::NumaNode(number), attribute, bytes, *line));
            }
        }
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::super::guest_testing::{run, shown, survives_damage};
    use super::*;

    const NODES: &str = include_str!("../../../tests/fixtures/guest-probes/linux.numa-nodes.txt");
    const NODE_MEMORY: &str = include_str!("../../../tests/fixtures/guest-probes/linux.numa-memory.txt");

    #[test]
    fn one_node_and_two() {
        let facts = run(&PROBE, &[(NODES, "", 0), (NODE_MEMORY, "", 0)]);
        assert_eq!(shown(&facts, &Entity::NumaNode(0), Attribute::NodeProcessors), "0");
        assert_eq!(shown(&facts, &Entity::NumaNode(0), Attribute::NodeDistances), "10");
        assert_eq!(shown(&facts, &Entity::NumaNode(0), Attribute::NodeMemory), (594_640u64 * 1024).to_string());
        let two = "/sys/devices/system/node/node0/cpulist:0-3\n/sys/devices/system/node/node1/cpulist:4-7\n\
                   /sys/devices/system/node/node0/distance:10 20\n/sys/devices/system/node/node1/distance:20 ten\n\
                   /sys/devices/system/node/node2/cpulist:\n";
        let facts = run(&PROBE, &[(two, "", 0), ("", "", 1)]);
        assert_eq!(shown(&facts, &Entity::NumaNode(0), Attribute::NodeDistances), "10, 20");
        assert_eq!(shown(&facts, &Entity::NumaNode(1), Attribute::NodeProcessors), "4-7");
        assert!(shown(&facts, &Entity::NumaNode(1), Attribute::NodeDistances).starts_with("<failed"));
        assert_eq!(shown(&facts, &Entity::NumaNode(2), Attribute::NodeProcessors), "<empty>", "a node of memory only");
    }

    survives_damage!(PROBE, NODES, NODE_MEMORY);
}
