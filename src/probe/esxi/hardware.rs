//! Memory, processors and graphics of a host.

use std::sync::Arc;

use super::address::PciAddress;
use super::block;
use super::reply::{self, Facts, command};
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text, Value};
use crate::probe::{Pace, Probe, Rhythm};

/// Memory, processors, graphics.
pub const PROBE: Probe = Probe {
    name: "esxi.hardware",
    title: "memory, NUMA nodes, processors, graphics devices",
    privilege_adds: "",
    pace: Pace::Slow,
    rhythm: Rhythm::PACE,
    sources: &[
        command!("esxi.memory", "esxcli" "hardware" "memory" "get"),
        command!("esxi.processors", "esxcli" "hardware" "cpu" "global" "get"),
        command!("esxi.graphics-devices", "esxcli" "graphics" "device" "list"),
        command!("esxi.graphics-host", "esxcli" "graphics" "host" "get"),
    ],
    parse,
};

type Convert = fn(&str) -> State<Value>;

const MEMORY: &[(Attribute, &str, Convert)] = &[
    (Attribute::MemoryTotal, "Physical Memory", reply::count),
    (Attribute::NumaNodeCount, "NUMA Node Count", reply::count),
];

const PROCESSORS: &[(Attribute, &str, Convert)] = &[
    (Attribute::ProcessorPackages, "CPU Packages", reply::count),
    (Attribute::ProcessorCores, "CPU Cores", reply::count),
    (Attribute::ProcessorThreads, "CPU Threads", reply::count),
    (Attribute::Hyperthreading, "Hyperthreading Active", reply::flag),
    (Attribute::HardwareVirtualization, "HV Support", reply::count),
];

const GRAPHICS: &[(Attribute, &str, Convert)] = &[
    (Attribute::DefaultGraphicsType, "Default Graphics Type", reply::text),
    (Attribute::GraphicsAssignment, "Shared Passthru Assignment Policy", reply::text),
];

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [memory, processors, devices, graphics] = observations else { return Vec::new() };
    let mut all = host(memory, MEMORY);
    all.extend(host(processors, PROCESSORS));
    all.extend(device_facts(devices));
    all.extend(host(graphics, GRAPHICS));
    all
}

fn host(observation: &Observation, wanted: &[(Attribute, &str, Convert)]) -> Vec<Fact> {
    let mut facts = Facts::of(observation);
    let trouble = reply::trouble(observation);
    let block = block::block(&observation.stdout, 1);
    // An answer with none of the keys is no host without memory.
    let trouble = trouble.or_else(|| {
        let is_known = wanted.iter().any(|(_, key, _)| block.anywhere(&[key]).is_some());
        let line = observation.stdout.lines().map(str::trim).find(|line| !line.is_empty())?;
        (!is_known).then(|| reply::not_understood(line))
    });
    for (attribute, key, convert) in wanted {
        match (&trouble, block.anywhere(&[key])) {
            (Some(state), _) => facts.say(&Entity::Host, *attribute, Some(state.clone()), 0),
            (None, Some(field)) => facts.say(&Entity::Host, *attribute, Some(convert(&field.value)), field.line),
            (None, None) => {}
        }
    }
    facts.said
}

/// A graphics device that is passed through can be absent from this list: the list of PCI functions is the base.
fn device_facts(observation: &Observation) -> Vec<Fact> {
    let mut facts = Facts::of(observation);
    let blocks = match reply::blocks(observation) {
        Ok(blocks) => blocks,
        Err(state) => {
            facts.say(&Entity::Host, Attribute::GraphicsType, Some(state), 0);
            return facts.said;
        }
    };
    for block in blocks {
        let Some(address) = PciAddress::of(block.title).or_else(|| PciAddress::of(block.get(&["Address"])?)) else {
            continue;
        };
        let entity = Entity::PciFunction(Text::new(&address.to_string()));
        for (attribute, key, convert) in [
            (Attribute::GraphicsType, "Graphics Type", reply::text as Convert),
            (Attribute::GraphicsVms, "Number of VMs", reply::count),
        ] {
            if let Some(field) = block.field(&[key]) {
                facts.say(&entity, attribute, Some(convert(&field.value)), field.line);
            }
        }
    }
    facts.said
}

#[cfg(test)]
mod tests {
    use super::super::reply::testing::{HOSTD_DEAD, UNKNOWN, run, shown, survives_damage, with_carriage_returns};
    use super::*;

    /// As public test code and published outputs have them.
    const MEMORY_TEXT: &str =
        "   Physical Memory: 17169526784 Bytes\n   Reliable Memory: 0 Bytes\n   NUMA Node Count: 1\n";
    const PROCESSOR_TEXT: &str = "   CPU Packages: 2\n   CPU Cores: 64\n   CPU Threads: 128\n   Hyperthreading Active: true\n   \
        Hyperthreading Supported: true\n   HV Support: 3\n";
    const DEVICES: &str = "0000:af:00.0\n   Vendor Name: NVIDIA Corporation\n   Device Name: GA100 [A100 PCIe 40GB]\n   \
        Module Name: None\n   Graphics Type: Basic\n   Memory Size in KB: 0\n   Number of VMs: 0\n";
    const GRAPHICS_TEXT: &str =
        "   Default Graphics Type: SharedPassthru\n   Shared Passthru Assignment Policy: Performance\n";

    #[test]
    fn a_host() {
        for change in [str::to_owned, with_carriage_returns, |text: &str| text.replace(" Bytes", "")] {
            let texts = [MEMORY_TEXT, PROCESSOR_TEXT, DEVICES, GRAPHICS_TEXT].map(change);
            let facts = run(&PROBE, &[0, 1, 2, 3].map(|index: usize| (texts[index].as_str(), "", 0)));
            let of = |attribute| shown(&facts, &Entity::Host, attribute);
            assert_eq!(of(Attribute::MemoryTotal), "17169526784");
            assert_eq!(of(Attribute::NumaNodeCount), "1");
            assert_eq!(of(Attribute::ProcessorThreads), "128");
            assert_eq!(of(Attribute::Hyperthreading), "yes");
            assert_eq!(of(Attribute::HardwareVirtualization), "3");
            assert_eq!(of(Attribute::DefaultGraphicsType), "SharedPassthru");
            assert_eq!(of(Attribute::GraphicsAssignment), "Performance");
            let gpu = Entity::PciFunction(Text::new("0000:af:00.0"));
            assert_eq!(shown(&facts, &gpu, Attribute::GraphicsType), "Basic");
            assert_eq!(shown(&facts, &gpu, Attribute::GraphicsVms), "0");
        }
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let facts = run(&PROBE, &[("", HOSTD_DEAD, 1), (PROCESSOR_TEXT, "", 0), (UNKNOWN, "", 1), ("", "", 0)]);
        let of = |attribute| shown(&facts, &Entity::Host, attribute);
        assert!(of(Attribute::MemoryTotal).contains("hostd does not answer"));
        assert!(of(Attribute::GraphicsType).starts_with("<not published by this version"));
        assert_eq!(of(Attribute::ProcessorCores), "64");
        assert_eq!(of(Attribute::DefaultGraphicsType), "absent");
        let facts = run(&PROBE, &[("who knows\n", "", 0), ("", "", 0), ("who knows\n", "", 0), ("", "", 0)]);
        for attribute in [Attribute::MemoryTotal, Attribute::GraphicsType] {
            assert!(shown(&facts, &Entity::Host, attribute).contains("not understood: who knows"));
        }
        let json = r#"{"NUMANodeCount": 2, "PhysicalMemory": 17169526784, "ReliableMemory": 0}"#;
        let facts = run(&PROBE, &[(json, "", 0), ("", "", 0), ("[]", "", 0), ("", "", 0)]);
        assert_eq!(shown(&facts, &Entity::Host, Attribute::NumaNodeCount), "2");
        assert_eq!(shown(&facts, &Entity::Host, Attribute::MemoryTotal), "17169526784");
        assert_eq!(shown(&facts, &Entity::Host, Attribute::GraphicsType), "absent");
    }

    survives_damage!(PROBE, MEMORY_TEXT, PROCESSOR_TEXT, DEVICES, GRAPHICS_TEXT);
}
