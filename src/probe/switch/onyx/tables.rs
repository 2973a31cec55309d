//! Flow control, neighbours, VLANs, the RoCE mode, and the switch itself.

use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text, Value};
use crate::probe::switch::answer::{Facts, as_switch, nothing, number, port, text, trouble};
use crate::probe::switch::names::{is_port, priorities, vlans};

pub(super) fn parse_pfc(observation: &Observation) -> Vec<Fact> {
    let attributes = [Attribute::PfcEnabled, Attribute::PfcPriorities];
    if let Some(state) = trouble(observation) {
        return nothing(observation, &state, &attributes);
    }
    let mut facts = Facts::of(observation);
    // The list of priorities holds for all ports.
    let mut lossless: Option<State<Value>> = None;
    for (line, raw) in observation.lines() {
        if let Some(list) = raw.trim().strip_prefix("Priority Enabled List") {
            lossless = Some(priorities(list.trim_start_matches([' ', ':'])));
            continue;
        }
        let words: Vec<&str> = raw.split_whitespace().collect();
        let [name, admin, oper, ..] = words[..] else { continue };
        let Some(on) = as_switch(oper).filter(|_| is_port(name)) else { continue };
        let entity = port(name);
        facts.say(&entity, Attribute::PfcMode, Some(State::Known(admin.to_ascii_lowercase().as_str().into())), line);
        facts.say(&entity, Attribute::PfcEnabled, Some(State::Known(on.into())), line);
        let list = if on { lossless.clone() } else { Some(State::Empty) };
        facts.say(&entity, Attribute::PfcPriorities, list, line);
    }
    facts.said
}

pub(super) fn parse_lldp(observation: &Observation) -> Vec<Fact> {
    if let Some(state) = trouble(observation) {
        return nothing(observation, &state, &[Attribute::NeighbourName, Attribute::NeighbourPort]);
    }
    let mut facts = Facts::of(observation);
    let mut now: Option<Entity> = None;
    for (line, raw) in observation.lines() {
        if raw.starts_with("Eth") && !raw.contains(": ") {
            now = Some(port(raw));
            continue;
        }
        let (Some(entity), Some((key, value))) = (&now, raw.trim().split_once(':')) else { continue };
        let attribute = match key.trim() {
            "Remote chassis id" => Attribute::NeighbourChassis,
            "Remote port-id" => Attribute::NeighbourPort,
            "Remote port description" => Attribute::NeighbourPortDescription,
            "Remote system name" => Attribute::NeighbourName,
            _ => continue,
        };
        // `0c:42:a1:7c:20:10 ; port id subtype: MAC Address (3)`
        let word = value.split(';').next().unwrap_or(value).trim();
        let state = if word == "Not Advertised" || word == "N\\A" { State::NotAvailable } else { text(word) };
        facts.say(entity, attribute, Some(state), line);
    }
    facts.said
}

pub(super) fn parse_vlans(observation: &Observation) -> Vec<Fact> {
    if let Some(state) = trouble(observation) {
        return nothing(observation, &state, &[Attribute::PortMode, Attribute::UntaggedVlan, Attribute::AllowedVlans]);
    }
    let mut facts = Facts::of(observation);
    for (line, raw) in observation.lines() {
        let words: Vec<&str> = raw.split_whitespace().collect();
        let [name, mode, access, ref allowed @ ..] = words[..] else { continue };
        if !is_port(name) || !(access == "N/A" || number(access).is_some()) {
            continue;
        }
        let entity = port(name);
        facts.say(&entity, Attribute::PortMode, Some(text(mode)), line);
        let untagged = number(access).map_or(State::Empty, |vlan| State::Known(vlan.into()));
        facts.say(&entity, Attribute::UntaggedVlan, Some(untagged), line);
        if mode != "access" {
            facts.say(&entity, Attribute::AllowedVlans, Some(vlans(&allowed.join(" "))), line);
        }
    }
    facts.said
}

pub(super) fn parse_roce(observation: &Observation) -> Vec<Fact> {
    let attributes = [Attribute::EcnEnabled, Attribute::TrustedMarking];
    if let Some(state) = trouble(observation) {
        return nothing(observation, &state, &attributes);
    }
    let mut facts = Facts::of(observation);
    for (line, raw) in observation.lines() {
        let Some((key, value)) = raw.split_once(':') else { continue };
        let value = value.trim();
        match key.trim() {
            "RoCE mode" if value == "N/A" => {
                let state = State::NotObservable(Text::new("the RoCE mode is off; marking can be set without it"));
                return nothing(observation, &state, &attributes);
            }
            "Port trust mode" => {
                let word = if value.contains("L3") {
                    "dscp"
                } else if value.contains("L2") {
                    "cos"
                } else {
                    value
                };
                facts.say(&Entity::Switch, Attribute::TrustedMarking, Some(text(word)), line);
            }
            "Mode" => {
                let marks = value.to_ascii_lowercase().contains("ecn");
                facts.say(&Entity::Switch, Attribute::EcnEnabled, Some(State::Known(marks.into())), line);
            }
            _ => {}
        }
    }
    facts.said
}

pub(super) fn parse_version(observation: &Observation) -> Vec<Fact> {
    keyed(observation, &[("Product release", Attribute::SwitchVersion), ("Product model", Attribute::SwitchModel)])
}

pub(super) fn parse_hostname(observation: &Observation) -> Vec<Fact> {
    keyed(observation, &[("Hostname", Attribute::Hostname)])
}

fn keyed(observation: &Observation, keys: &[(&str, Attribute)]) -> Vec<Fact> {
    if let Some(state) = trouble(observation) {
        let attributes: Vec<Attribute> = keys.iter().map(|(_, attribute)| *attribute).collect();
        return nothing(observation, &state, &attributes);
    }
    let mut facts = Facts::of(observation);
    for (line, raw) in observation.lines() {
        let Some((key, value)) = raw.split_once(':') else { continue };
        if let Some((_, attribute)) = keys.iter().find(|(meant, _)| *meant == key.trim()) {
            facts.say(&Entity::Switch, *attribute, Some(text(value.trim())), line);
        }
    }
    facts.said
}

#[cfg(test)]
mod tests {
    use super::super::PROBES;
    use super::*;
    use crate::probe::Probe;
    use crate::probe::linux::guest_testing::{run, shown, survives_damage};

    fn of(name: &str) -> &'static Probe {
        PROBES.iter().find(|probe| probe.name == name).expect("a probe")
    }

    const PFC: &str = "PFC: enabled
Priority Enabled List: 3
Priority Disabled List: 0 1 2 4 5 6 7
-------------------------------------------------
Interface        PFC admin        PFC oper
-------------------------------------------------
Eth1/1           Auto             Enabled
Eth1/2           Auto             Disabled
";

    #[test]
    fn flow_control() {
        let facts = run(of("onyx.pfc"), &[(PFC, "", 0)]);
        let is = |name, attribute| shown(&facts, &port(name), attribute);
        assert_eq!(is("Eth1/1", Attribute::PfcEnabled), "yes");
        assert_eq!(is("Eth1/1", Attribute::PfcPriorities), "3");
        assert_eq!(is("Eth1/2", Attribute::PfcEnabled), "no");
        assert_eq!(is("Eth1/2", Attribute::PfcPriorities), "<empty>");
    }

    #[test]
    fn neighbours_vlans_and_the_roce_mode() {
        let text = "Eth1/1 (Po100)\n  Remote Index: 1\n  Remote chassis id: ec:0d:9a:00:00:01 ; chassis id subtype: MAC Address (4)\n  \
                    Remote port-id: ec:0d:9a:00:00:01 ; port id subtype: MAC Address (3)\n  Remote port description: port 14 on dvSwitch\n  \
                    Remote system name: esx01\n  Remote system description: Not Advertised\n";
        let facts = run(of("onyx.lldp"), &[(text, "", 0)]);
        assert_eq!(shown(&facts, &port("Eth1/1"), Attribute::NeighbourPort), "ec:0d:9a:00:00:01");
        assert_eq!(shown(&facts, &port("Eth1/1"), Attribute::NeighbourName), "esx01");
        let text = "------------------------------------------\nInterface   Mode     Access vlan  Allowed vlans\n------------------------------------------\n\
                    Eth1/1      trunk    N/A          100, 101\nEth1/2      access   20\n";
        let facts = run(of("onyx.switchport"), &[(text, "", 0)]);
        assert_eq!(shown(&facts, &port("Eth1/1"), Attribute::AllowedVlans), "100, 101");
        assert_eq!(shown(&facts, &port("Eth1/2"), Attribute::UntaggedVlan), "20");
        let text = "RoCE mode      : lossless\nLLDP : disabled\nPort trust mode: L3\n\nPort congestion-control:\nMode: ecn, absolute\nMin : 150\n";
        let facts = run(of("onyx.roce"), &[(text, "", 0)]);
        assert_eq!(shown(&facts, &Entity::Switch, Attribute::TrustedMarking), "dscp");
        assert_eq!(shown(&facts, &Entity::Switch, Attribute::EcnEnabled), "yes");
        let facts = run(
            of("onyx.version"),
            &[("Product name:      Onyx\nProduct release:   3.8.2306\nProduct model:     x86onie\n", "", 0)],
        );
        assert_eq!(shown(&facts, &Entity::Switch, Attribute::SwitchVersion), "3.8.2306");
        let facts = run(of("onyx.version"), &[("% Unrecognized command \"version\".\n", "", 0)]);
        assert!(shown(&facts, &Entity::Switch, Attribute::SwitchVersion).starts_with("<not published"));
    }

    survives_damage!(of("onyx.pfc"), PFC);
}
