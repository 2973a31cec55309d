//! Ports: state, MTU, speed; neighbours; VLANs.

use super::json;
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text, Value};
use crate::probe::switch::answer::{Facts, as_switch, duplex, not_understood, nothing, port, speed, text};
use crate::probe::switch::lined::Node;
use crate::probe::switch::names::is_port;

/// Ports of an answer; it may hold what is operational and what is applied beside each other.
fn ports(root: &Node) -> impl Iterator<Item = (Entity, &Node)> {
    let root = root.at(&["operational", "interface"]).or_else(|| root.get("interface")).unwrap_or(root);
    let is_cabled = |name: &str| ["swp", "bond", "eth"].iter().any(|beginning| name.starts_with(beginning));
    root.fields().filter(move |(name, _)| is_port(name) && is_cabled(name)).map(|(name, node)| (port(name), node))
}

pub(super) fn parse(observation: &Observation) -> Vec<Fact> {
    let root = match json(observation) {
        Ok(root) => root,
        Err(state) => {
            return nothing(observation, &state, &[Attribute::OperationalState, Attribute::Mtu, Attribute::Speed]);
        }
    };
    let mut facts = Facts::of(observation);
    for (entity, node) in ports(&root) {
        let link = node.get("link").unwrap_or(node);
        // Older versions print the state as an object with one key.
        let state = link.get("oper-status").or_else(|| link.get("state"));
        let word = state.and_then(|state| state.word().or_else(|| state.fields().next().map(|(name, _)| name)));
        let up = word.and_then(as_switch);
        if let (Some(state), Some(word)) = (state, word) {
            facts.say(&entity, Attribute::OperationalState, Some(text(word)), state.line);
        }
        let of_link = |state: State<Value>| {
            if up == Some(false) { State::NotObservable(Text::new("without a link there is none")) } else { state }
        };
        let mut say = |attribute, key: &str, convert: &dyn Fn(&str) -> State<Value>| {
            if let Some((found, word)) = link.get(key).and_then(|found| Some((found, found.word()?))) {
                facts.say(&entity, attribute, Some(convert(word)), found.line);
            }
        };
        say(Attribute::AdminUp, "admin-status", &|word| {
            as_switch(word).map_or_else(|| not_understood(word), |up| State::Known(up.into()))
        });
        say(Attribute::Mtu, "mtu", &|word| {
            word.parse::<u64>().map_or_else(|_| not_understood(word), |mtu| State::Known(mtu.into()))
        });
        say(Attribute::Speed, "speed", &|word| of_link(speed(word)));
        say(Attribute::Duplex, "duplex", &|word| of_link(duplex(word)));
        if let Some((found, word)) = node.get("description").and_then(|found| Some((found, found.word()?))) {
            facts.say(&entity, Attribute::PortDescription, Some(text(word)), found.line);
        }
    }
    // A bond names its members.
    for (entity, node) in ports(&root) {
        let Some(members) = node.at(&["bond", "member"]) else { continue };
        for (name, member) in members.fields().filter(|(name, _)| is_port(name)) {
            facts.say(&port(name), Attribute::PortChannel, Some(text(&entity.name())), member.line);
        }
    }
    facts.said
}

pub(super) fn parse_lldp(observation: &Observation) -> Vec<Fact> {
    let root = match json(observation) {
        Ok(root) => root,
        Err(state) => return nothing(observation, &state, &[Attribute::NeighbourName, Attribute::NeighbourPort]),
    };
    let mut facts = Facts::of(observation);
    for (entity, node) in ports(&root) {
        let Some(neighbours) = node.at(&["lldp", "neighbor"]).or_else(|| node.get("neighbor")) else { continue };
        let Some((name, neighbour)) = neighbours.fields().next() else { continue };
        let mut say = |attribute, ways: &[&[&str]]| {
            let found = ways.iter().find_map(|way| neighbour.at(way));
            if let Some((found, word)) = found.and_then(|found| Some((found, found.word()?))) {
                facts.say(&entity, attribute, Some(text(word)), found.line);
            }
        };
        say(Attribute::NeighbourChassis, &[&["chassis", "chassis-id"], &["chassis", "id"]]);
        say(Attribute::NeighbourPort, &[&["port", "name"], &["port", "id"]]);
        say(Attribute::NeighbourPortDescription, &[&["port", "description"]]);
        let named = neighbour.at(&["chassis", "system-name"]).and_then(|found| Some((found.word()?, found.line)));
        let (name, line) = named.unwrap_or((name, neighbour.line));
        facts.say(&entity, Attribute::NeighbourName, Some(text(name)), line);
    }
    facts.said
}

pub(super) fn parse_vlans(observation: &Observation) -> Vec<Fact> {
    let root = match json(observation) {
        Ok(root) => root,
        Err(state) => return nothing(observation, &state, &[Attribute::UntaggedVlan, Attribute::AllowedVlans]),
    };
    let mut facts = Facts::of(observation);
    // `[{"ifname": "swp1", "vlans": [...]}]`; older versions print `{"swp1": [...]}`.
    let listed = root.items().iter().filter_map(|node| Some((node.get("ifname")?.word()?, node.get("vlans")?)));
    for (name, vlans) in listed.chain(root.fields()).filter(|(name, _)| is_port(name)) {
        let entity = port(name);
        let mut tagged: Vec<Text> = Vec::new();
        for vlan in vlans.items() {
            let Some(first) = vlan.get("vlan").and_then(Node::number) else { continue };
            let last = vlan.get("vlanEnd").and_then(Node::number).unwrap_or(first);
            let has = |flag: &str| {
                vlan.get("flags").is_some_and(|flags| flags.items().iter().any(|item| item.word() == Some(flag)))
            };
            if has("PVID") {
                facts.say(&entity, Attribute::UntaggedVlan, Some(State::Known(first.into())), vlan.line);
            }
            if !has("Egress Untagged") {
                let range = if last > first { format!("{first}-{last}") } else { first.to_string() };
                tagged.push(Text::new(&range));
            }
        }
        let state = if tagged.is_empty() { State::Empty } else { State::Known(Value::List(tagged)) };
        facts.say(&entity, Attribute::AllowedVlans, Some(state), vlans.line);
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

    const INTERFACES: &str = r#"{
  "bond1": {"type": "bond", "link": {"oper-status": "up", "mtu": 9216}, "bond": {"member": {"swp49": {}, "swp50": {}}}},
  "swp1": {
    "link": {
      "admin-status": "up",
      "auto-negotiate": "on",
      "duplex": "full",
      "mtu": 9216,
      "oper-status": "up",
      "speed": "100G"
    },
    "type": "swp"
  },
  "swp2": {"link": {"mtu": 1500, "state": {"down": {}}, "speed": "100G"}, "type": "swp"},
  "vlan110": {"type": "svi", "link": {"oper-status": "up"}}
}
"#;

    #[test]
    fn ports_and_bundles() {
        let facts = run(of("cumulus.interfaces"), &[(INTERFACES, "", 0)]);
        let is = |name, attribute| shown(&facts, &port(name), attribute);
        assert_eq!(is("swp1", Attribute::OperationalState), "up");
        assert_eq!(is("swp1", Attribute::Mtu), "9216");
        assert_eq!(is("swp1", Attribute::Speed), "100000000000");
        assert_eq!(is("swp1", Attribute::AdminUp), "yes");
        assert_eq!(is("swp2", Attribute::OperationalState), "down");
        assert!(is("swp2", Attribute::Speed).starts_with("<not observable"));
        assert_eq!(is("swp49", Attribute::PortChannel), "bond1");
        assert_eq!(is("vlan110", Attribute::OperationalState), "absent");
    }

    #[test]
    fn neighbours_and_vlans() {
        let text = r#"{"swp1": {"lldp": {"neighbor": {"esx01": {"chassis": {"chassis-id": "ec:0d:9a:00:00:01", "system-name": "esx01.lab"},
 "port": {"name": "ec:0d:9a:00:00:01", "description": "port 14 on dvSwitch", "type": "mac"}}}}}, "swp2": {"lldp": {}}}"#;
        let facts = run(of("cumulus.lldp"), &[(text, "", 0)]);
        assert_eq!(shown(&facts, &port("swp1"), Attribute::NeighbourName), "esx01.lab");
        assert_eq!(shown(&facts, &port("swp1"), Attribute::NeighbourPort), "ec:0d:9a:00:00:01");
        let text =
            r#"[{"ifname":"swp1","vlans":[{"vlan":1,"flags":["PVID","Egress Untagged"]},{"vlan":100,"vlanEnd":200}]}]"#;
        let facts = run(of("cumulus.vlans"), &[(text, "", 0)]);
        assert_eq!(shown(&facts, &port("swp1"), Attribute::UntaggedVlan), "1");
        assert_eq!(shown(&facts, &port("swp1"), Attribute::AllowedVlans), "100-200");
    }

    survives_damage!(of("cumulus.interfaces"), INTERFACES);
}
