//! Neighbours behind ports, by LLDP: one block each, which names its port in the third line.

use crate::fabric::{Attribute, Fact, Observation, State, Value};
use crate::probe::switch::answer::{Facts, nothing, port, text, trouble};
use crate::probe::switch::names::is_port;

pub(super) fn parse(observation: &Observation) -> Vec<Fact> {
    if let Some(state) = trouble(observation) {
        return nothing(observation, &state, &[Attribute::NeighbourName, Attribute::NeighbourPort]);
    }
    let mut facts = Facts::of(observation);
    let mut local: Option<&str> = None;
    let mut said: Vec<(Attribute, &str, u32)> = Vec::new();
    for (line, raw) in observation.lines() {
        let Some((key, value)) = raw.split_once(':') else { continue };
        let value = value.trim();
        let attribute = match key.trim() {
            "Chassis id" => {
                flush(&mut facts, local.take(), &mut said);
                Attribute::NeighbourChassis
            }
            "Local Port id" => {
                local = Some(value);
                continue;
            }
            "Port id" => Attribute::NeighbourPort,
            "Port Description" => Attribute::NeighbourPortDescription,
            "System Name" => Attribute::NeighbourName,
            _ => continue,
        };
        said.push((attribute, value, line));
    }
    flush(&mut facts, local, &mut said);
    facts.said
}

fn flush(facts: &mut Facts<'_>, local: Option<&str>, said: &mut Vec<(Attribute, &str, u32)>) {
    let all = std::mem::take(said);
    let Some(entity) = local.filter(|name| is_port(name)).map(port) else { return };
    // The first of several neighbours stands.
    if facts.said.iter().any(|fact| fact.entity == entity) {
        return;
    }
    for (attribute, value, line) in all {
        facts.say(&entity, attribute, Some(word(value)), line);
    }
}

fn word(value: &str) -> State<Value> {
    if value.eq_ignore_ascii_case("null") || value.eq_ignore_ascii_case("not advertised") {
        State::NotAvailable
    } else {
        text(value)
    }
}

#[cfg(test)]
mod tests {
    use super::super::PROBES;
    use super::*;
    use crate::probe::linux::guest_testing::{run, shown, survives_damage};

    const NEIGHBOURS: &str = "Capability codes:
  (R) Router, (B) Bridge, (T) Telephone, (C) DOCSIS Cable Device
Device ID            Local Intf      Hold-time  Capability  Port ID

Chassis id: ec0d.9a00.0001
Port id: ec0d.9a00.0001
Local Port id: Eth1/4
Port Description: port 14 on dvSwitch dvs-rdma (etherswitch)
System Name: esx01
System Description: VMware ESX Releasebuild-21930508
Time remaining: 97 seconds
Management Address: not advertised


Chassis id: 24a9.3700.0001
Port id: 1a51.4800.0001
Local Port id: Eth1/10
Port Description: null
System Name: null
";

    #[test]
    fn neighbours() {
        let probe = PROBES.iter().find(|probe| probe.name == "nxos.lldp").expect("a probe");
        let facts = run(probe, &[(NEIGHBOURS, "", 0)]);
        let is = |name, attribute| shown(&facts, &port(name), attribute);
        assert_eq!(is("Eth1/4", Attribute::NeighbourPort), "ec0d.9a00.0001");
        assert_eq!(is("Eth1/4", Attribute::NeighbourName), "esx01");
        assert_eq!(is("Eth1/10", Attribute::NeighbourChassis), "24a9.3700.0001");
        assert!(is("Eth1/10", Attribute::NeighbourName).starts_with("<not available"));
    }

    survives_damage!(PROBES.iter().find(|probe| probe.name == "nxos.lldp").expect("a probe"), NEIGHBOURS);
}
