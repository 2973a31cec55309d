//! What holds for the whole switch: policies of queues (marking) and of the network (lossless classes), and its version.

use crate::fabric::{Attribute, Entity, Fact, Observation, State};
use crate::probe::switch::answer::{Facts, nothing, text, trouble};
use crate::probe::switch::names::{listed, priorities};

pub(super) fn parse_queuing(observation: &Observation) -> Vec<Fact> {
    if let Some(state) = trouble(observation) {
        return nothing(observation, &state, &[Attribute::EcnEnabled, Attribute::EcnClasses]);
    }
    let mut facts = Facts::of(observation);
    let mut queue: Option<u8> = None;
    let mut classes: Vec<u8> = Vec::new();
    let (mut at, mut is_read) = (0, false);
    for (line, raw) in observation.lines() {
        let raw = raw.trim();
        if raw.starts_with("Class-map") || raw.starts_with("class type queuing") {
            is_read = true;
            at = if at == 0 { line } else { at };
            queue = class_of(raw);
        } else if raw.starts_with("random-detect") && raw.split_whitespace().any(|word| word == "ecn") {
            at = if classes.is_empty() { line } else { at };
            classes.push(queue.unwrap_or(0));
        }
    }
    if is_read {
        facts.say(&Entity::Switch, Attribute::EcnEnabled, Some(State::Known((!classes.is_empty()).into())), at);
        facts.say(&Entity::Switch, Attribute::EcnClasses, Some(listed(classes)), at);
    }
    facts.said
}

/// The queue that a class is named after: 3 of `c-out-8q-q3`, 0 of `c-out-8q-q-default`.
fn class_of(line: &str) -> Option<u8> {
    let name = line.split_whitespace().find(|word| word.starts_with("c-out"))?;
    if name.ends_with("default") {
        return Some(0);
    }
    name.rsplit_once('q')?.1.parse().ok().filter(|queue| *queue < 8)
}

pub(super) fn parse_network(observation: &Observation) -> Vec<Fact> {
    if let Some(state) = trouble(observation) {
        return nothing(observation, &state, &[Attribute::PfcPriorities]);
    }
    let mut facts = Facts::of(observation);
    let (mut first, mut found) = (0, None);
    for (line, raw) in observation.lines() {
        let raw = raw.trim();
        if raw.starts_with("class type network-qos") && first == 0 {
            first = line;
        }
        if let Some(list) = raw.strip_prefix("pause pfc-cos ") {
            found = Some((line, list));
        }
    }
    match found {
        Some((line, list)) => facts.say(&Entity::Switch, Attribute::PfcPriorities, Some(priorities(list)), line),
        None if first > 0 => facts.say(&Entity::Switch, Attribute::PfcPriorities, Some(State::Empty), first),
        None => {}
    }
    facts.said
}

pub(super) fn parse_version(observation: &Observation) -> Vec<Fact> {
    let attributes = [Attribute::Hostname, Attribute::SwitchModel, Attribute::SwitchVersion];
    if let Some(state) = trouble(observation) {
        return nothing(observation, &state, &attributes);
    }
    let mut facts = Facts::of(observation);
    for (line, raw) in observation.lines() {
        let raw = raw.trim();
        let version =
            ["NXOS: version ", "system:    version ", "system: version "].iter().find_map(|key| raw.strip_prefix(key));
        let model = raw
            .strip_prefix("cisco ")
            .and_then(|rest| rest.split(" Chassis").next().filter(|name| name.len() < rest.len()));
        let said = [
            (Attribute::Hostname, raw.strip_prefix("Device name: ")),
            (Attribute::SwitchVersion, version),
            (Attribute::SwitchModel, model),
        ];
        for (attribute, word) in said {
            facts.say(&Entity::Switch, attribute, word.map(text), line);
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

    const QUEUING: &str = "  Service-policy output:   QOS_EGRESS_PORT
    Class-map (queuing):   c-out-8q-q7 (match-any)
      priority level 1
    Class-map (queuing):   c-out-8q-q3 (match-any)
      bandwidth remaining percent 50
      random-detect minimum-threshold 950 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0 ecn
    Class-map (queuing):   c-out-8q-q-default (match-any)
      bandwidth remaining percent 50
";

    #[test]
    fn policies_of_the_switch() {
        let facts = run(of("nxos.queuing-policy"), &[(QUEUING, "", 0)]);
        assert_eq!(shown(&facts, &Entity::Switch, Attribute::EcnEnabled), "yes");
        assert_eq!(shown(&facts, &Entity::Switch, Attribute::EcnClasses), "3");
        let facts = run(of("nxos.queuing-policy"), &[(&QUEUING.replace(" ecn", ""), "", 0)]);
        assert_eq!(shown(&facts, &Entity::Switch, Attribute::EcnEnabled), "no", "without the word it drops");
        let network = "  Type network-qos policy-maps\n  ============================\n  policy-map type network-qos qos_network\n    \
                       class type network-qos c-8q-nq3\n      mtu 9216\n      pause pfc-cos 3\n    class type network-qos c-8q-nq-default\n      mtu 9216\n";
        let facts = run(of("nxos.network-qos"), &[(network, "", 0)]);
        assert_eq!(shown(&facts, &Entity::Switch, Attribute::PfcPriorities), "3");
        let facts = run(of("nxos.network-qos"), &[(&network.replace("pause pfc-cos 3", ""), "", 0)]);
        assert_eq!(shown(&facts, &Entity::Switch, Attribute::PfcPriorities), "<empty>");
    }

    #[test]
    fn the_switch() {
        let text = "Cisco Nexus Operating System (NX-OS) Software\n\nSoftware\n  BIOS: version 05.47\n  NXOS: version 10.3(8)\n\nHardware\n  \
                    cisco Nexus9000 C93180YC-EX Chassis \n  Processor Board ID FDO0000\n\n  Device name: leaf2\n  bootflash: 53298520 kB\n";
        let facts = run(of("nxos.version"), &[(text, "", 0)]);
        assert_eq!(shown(&facts, &Entity::Switch, Attribute::Hostname), "leaf2");
        assert_eq!(shown(&facts, &Entity::Switch, Attribute::SwitchModel), "Nexus9000 C93180YC-EX");
        assert_eq!(shown(&facts, &Entity::Switch, Attribute::SwitchVersion), "10.3(8)");
    }

    survives_damage!(of("nxos.queuing-policy"), QUEUING);
}
