//! Neighbours behind ports, by LLDP.

use super::json;
use crate::fabric::{Attribute, Fact, Observation};
use crate::probe::switch::answer::{Facts, nothing, port, text};
use crate::probe::switch::lined::Node;
use crate::probe::switch::names::is_port;

pub(super) fn parse(observation: &Observation) -> Vec<Fact> {
    let root = match json(observation) {
        Ok(root) => root,
        Err(state) => return nothing(observation, &state, &[Attribute::NeighbourName, Attribute::NeighbourPort]),
    };
    let mut facts = Facts::of(observation);
    for (name, node) in root.get("lldpNeighbors").into_iter().flat_map(Node::fields).filter(|(name, _)| is_port(name)) {
        let entity = port(name);
        let Some(neighbour) = node.get("lldpNeighborInfo").and_then(|all| all.items().first()) else { continue };
        let mut say = |attribute, ways: &[&[&str]]| {
            let found = ways.iter().find_map(|way| neighbour.at(way));
            if let Some((found, word)) = found.and_then(|found| Some((found, found.word()?))) {
                // Older versions print the id with its quotation marks.
                facts.say(&entity, attribute, Some(text(word.trim_matches('"'))), found.line);
            }
        };
        say(Attribute::NeighbourName, &[&["systemName"]]);
        say(Attribute::NeighbourChassis, &[&["chassisId"]]);
        say(
            Attribute::NeighbourPort,
            &[&["neighborInterfaceInfo", "interfaceId_v2"], &["neighborInterfaceInfo", "interfaceId"]],
        );
        say(Attribute::NeighbourPortDescription, &[&["neighborInterfaceInfo", "interfaceDescription"]]);
    }
    facts.said
}

#[cfg(test)]
mod tests {
    use super::super::PROBES;
    use super::*;
    use crate::fabric::Entity;
    use crate::probe::linux::guest_testing::{run, shown, survives_damage};

    const NEIGHBOURS: &str = r#"{
    "lldpNeighbors": {
        "Ethernet4": {
            "lldpNeighborInfo": [
                {
                    "chassisIdType": "macAddress",
                    "chassisId": "ec0d.9a00.0001",
                    "systemName": "esx01.lab.local",
                    "systemDescription": "VMware ESX Releasebuild-21930508",
                    "neighborInterfaceInfo": {
                        "interfaceIdType": "macAddress",
                        "interfaceId": "\"ec0d.9a00.0001\"",
                        "interfaceDescription": "port 14 on dvSwitch dvs-rdma (etherswitch)"
                    }
                }
            ]
        },
        "Ethernet5": { "lldpNeighborInfo": [] }
    }
}
"#;

    #[test]
    fn neighbours() {
        let probe = PROBES.iter().find(|probe| probe.name == "eos.lldp").expect("a probe");
        let facts = run(probe, &[(NEIGHBOURS, "", 0)]);
        let is = |attribute| shown(&facts, &port("Et4"), attribute);
        assert_eq!(is(Attribute::NeighbourName), "esx01.lab.local");
        assert_eq!(is(Attribute::NeighbourChassis), "ec0d.9a00.0001");
        assert_eq!(is(Attribute::NeighbourPort), "ec0d.9a00.0001");
        assert_eq!(is(Attribute::NeighbourPortDescription), "port 14 on dvSwitch dvs-rdma (etherswitch)");
        assert!(facts.iter().all(|fact| fact.entity != port("Et5") && fact.entity != Entity::Switch));
    }

    survives_damage!(PROBES.iter().find(|probe| probe.name == "eos.lldp").expect("a probe"), NEIGHBOURS);
}
