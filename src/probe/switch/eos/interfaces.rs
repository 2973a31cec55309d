//! Ports: state, MTU, speed, what they count; their VLANs; global pause.

use super::json;
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text, Value};
use crate::probe::switch::answer::{Facts, count, duplex, nothing, on_or_off, port, text, trouble};
use crate::probe::switch::lined::Node;
use crate::probe::switch::names::{full_name, is_port, vlans};
use crate::probe::switch::status;

/// Counters of a port, by their way below `interfaceCounters`.
const COUNTERS: &[&[&str]] = &[
    &["inOctets"],
    &["outOctets"],
    &["totalInErrors"],
    &["totalOutErrors"],
    &["inDiscards"],
    &["outDiscards"],
    &["linkStatusChanges"],
    &["inputErrorsDetail", "fcsErrors"],
    &["inputErrorsDetail", "symbolErrors"],
    &["inputErrorsDetail", "rxPause"],
    &["outputErrorsDetail", "txPause"],
];

/// The ports of an answer: what stands under this key.
fn ports<'a>(root: &'a Node, key: &str) -> Vec<(Entity, &'a Node)> {
    let all = root.get(key).into_iter().flat_map(Node::fields);
    all.filter(|(name, _)| is_port(name) && is_cabled(name)).map(|(name, node)| (port(name), node)).collect()
}

/// True for a port with a cable or a bundle of them: VLAN interfaces and loopbacks have none.
fn is_cabled(name: &str) -> bool {
    !["Vlan", "Loopback", "Vxlan", "Tunnel", "Register"].iter().any(|beginning| name.starts_with(beginning))
}

pub(super) fn parse(observation: &Observation) -> Vec<Fact> {
    // A person pastes what the switch prints for people.
    let printed = || super::interfaces_text::parse(observation).or_else(|| status::parse(observation));
    if trouble(observation).is_none()
        && let Some(facts) = printed()
    {
        return facts;
    }
    let root = match json(observation) {
        Ok(root) => root,
        Err(state) => {
            return nothing(observation, &state, &[Attribute::OperationalState, Attribute::Mtu, Attribute::Speed]);
        }
    };
    let mut facts = Facts::of(observation);
    for (entity, node) in ports(&root, "interfaces") {
        let is_up = node.get("lineProtocolStatus").and_then(Node::word).map(|word| word == "up");
        let mut say = |attribute, key: &str, state: &dyn Fn(&str) -> State<Value>| {
            if let Some((found, word)) = node.get(key).and_then(|found| Some((found, found.word()?))) {
                facts.say(&entity, attribute, Some(state(word)), found.line);
            }
        };
        say(Attribute::AdminUp, "interfaceStatus", &|word| State::Known((word != "disabled").into()));
        say(Attribute::OperationalState, "interfaceStatus", &|word| operational(word, is_up));
        say(Attribute::Mtu, "mtu", &|word| {
            word.parse::<u64>()
                .map_or_else(|_| crate::probe::switch::answer::not_understood(word), |mtu| State::Known(mtu.into()))
        });
        say(Attribute::Speed, "bandwidth", &|word| bandwidth(word, is_up));
        say(Attribute::Duplex, "duplex", &|word| of_link(duplex(word), is_up));
        say(Attribute::PortDescription, "description", &text);
        say(Attribute::PortChannel, "interfaceMembership", &|word| {
            let channel = word.strip_prefix("Member of ").unwrap_or(word);
            text(&full_name(channel))
        });
        let Some(counters) = node.get("interfaceCounters") else { continue };
        for way in COUNTERS {
            let Some(found) = counters.at(way) else { continue };
            if let (Some(word), Some(label)) = (found.word(), way.last()) {
                count(&mut facts, &entity, label, word, found.line);
            }
        }
    }
    facts.said
}

/// `connected` is up; what else it says is kept.
fn operational(word: &str, is_up: Option<bool>) -> State<Value> {
    State::Known(Value::from(match (word, is_up) {
        ("connected", Some(false)) => "down (connected, line protocol down)",
        ("connected", _) => "up",
        ("disabled", _) => "down (disabled)",
        ("notconnect", _) => "down (not connected)",
        ("errdisabled", _) => "down (err-disabled)",
        _ => return State::Known(Value::Text(Text::new(&format!("down ({word})")))),
    }))
}

/// Without a link there is neither a speed nor a duplex.
fn of_link(state: State<Value>, is_up: Option<bool>) -> State<Value> {
    if is_up == Some(false) { State::NotObservable(Text::new("without a link there is none")) } else { state }
}

fn bandwidth(word: &str, is_up: Option<bool>) -> State<Value> {
    let state = match word.parse::<u64>() {
        Ok(0) => State::NotObservable(Text::new("the switch says 0")),
        Ok(bits) => State::Known(bits.into()),
        Err(_) => crate::probe::switch::answer::not_understood(word),
    };
    of_link(state, is_up)
}

pub(super) fn parse_vlans(observation: &Observation) -> Vec<Fact> {
    let root = match json(observation) {
        Ok(root) => root,
        Err(state) => {
            return nothing(
                observation,
                &state,
                &[Attribute::PortMode, Attribute::UntaggedVlan, Attribute::AllowedVlans],
            );
        }
    };
    let mut facts = Facts::of(observation);
    for (entity, node) in ports(&root, "switchports") {
        if let Some(enabled) = node.get("enabled").filter(|enabled| enabled.flag() == Some(false)) {
            facts.say(&entity, Attribute::PortMode, Some(State::Known("routed".into())), enabled.line);
            continue;
        }
        let Some(info) = node.get("switchportInfo") else { continue };
        let Some((found, mode)) = info.get("mode").and_then(|mode| Some((mode, mode.word()?))) else { continue };
        facts.say(&entity, Attribute::PortMode, Some(text(mode)), found.line);
        let untagged = if mode == "trunk" { "trunkingNativeVlanId" } else { "accessVlanId" };
        if let Some((found, vlan)) = info.get(untagged).and_then(|found| Some((found, found.number()?))) {
            // 0 stands for a trunk that takes no untagged frames.
            let state = if vlan == 0 { State::Empty } else { State::Known(vlan.into()) };
            facts.say(&entity, Attribute::UntaggedVlan, Some(state), found.line);
        }
        if mode == "trunk"
            && let Some((found, list)) = info.get("trunkAllowedVlans").and_then(|found| Some((found, found.word()?)))
        {
            facts.say(&entity, Attribute::AllowedVlans, Some(vlans(list)), found.line);
        }
    }
    facts.said
}

pub(super) fn parse_pause(observation: &Observation) -> Vec<Fact> {
    let root = match json(observation) {
        Ok(root) => root,
        Err(state) => return nothing(observation, &state, &[Attribute::PauseRx, Attribute::PauseTx]),
    };
    let mut facts = Facts::of(observation);
    for (entity, node) in ports(&root, "interfaceFlowControls") {
        for (attribute, keys) in [
            (Attribute::PauseRx, ["rxOperState", "rxAdminState"]),
            (Attribute::PauseTx, ["txOperState", "txAdminState"]),
        ] {
            let Some((found, word)) =
                keys.iter().find_map(|key| node.get(key)).and_then(|found| Some((found, found.word()?)))
            else {
                continue;
            };
            let state = if word.starts_with("unsupp") {
                State::NotPublished(Text::new("this port (pause is not supported)"))
            } else {
                on_or_off(word)
            };
            facts.say(&entity, attribute, Some(state), found.line);
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

    /// Three ports as the switch prints them, with less beside them.
    const INTERFACES: &str = r#"{
    "interfaces": {
        "Ethernet4": {
            "name": "Ethernet4",
            "lineProtocolStatus": "up",
            "interfaceStatus": "connected",
            "hardware": "ethernet",
            "interfaceAddress": [],
            "physicalAddress": "28:99:3a:00:00:04",
            "description": "esx01 vmnic4",
            "bandwidth": 100000000000,
            "mtu": 9214,
            "duplex": "duplexFull",
            "interfaceCounters": {
                "inOctets": 901,
                "inDiscards": 0,
                "outOctets": 902,
                "outDiscards": 45941,
                "linkStatusChanges": 5,
                "totalInErrors": 7,
                "inputErrorsDetail": { "runtFrames": 0, "fcsErrors": 7, "symbolErrors": 0, "rxPause": 3 },
                "totalOutErrors": 0,
                "outputErrorsDetail": { "collisions": 0, "txPause": 4 }
            }
        },
        "Ethernet5": {
            "lineProtocolStatus": "down",
            "interfaceStatus": "errdisabled",
            "bandwidth": 0,
            "mtu": 1500,
            "duplex": "duplexUnknown",
            "description": "",
            "interfaceMembership": "Member of Port-Channel10"
        },
        "Vlan100": { "interfaceStatus": "connected", "mtu": 1500 }
    }
}
"#;

    #[test]
    fn ports_with_their_counters() {
        let facts = run(of("eos.interfaces"), &[(INTERFACES, "", 0)]);
        let four = port("Ethernet4");
        let is = |entity: &Entity, attribute| shown(&facts, entity, attribute);
        assert_eq!(is(&four, Attribute::AdminUp), "yes");
        assert_eq!(is(&four, Attribute::OperationalState), "up");
        assert_eq!(is(&four, Attribute::Mtu), "9214");
        assert_eq!(is(&four, Attribute::Speed), "100000000000");
        assert_eq!(is(&four, Attribute::Duplex), "Full");
        assert_eq!(is(&four, Attribute::PortDescription), "esx01 vmnic4");
        let counter = |name| Entity::Counter { of: Text::new("Ethernet4"), name: Text::new(name) };
        assert_eq!(is(&counter("outDiscards"), Attribute::CounterValue), "45941");
        assert_eq!(is(&counter("fcsErrors"), Attribute::CounterValue), "7");
        assert_eq!(is(&counter("txPause"), Attribute::CounterValue), "4");
        let five = port("Et5");
        assert_eq!(is(&five, Attribute::AdminUp), "yes");
        assert_eq!(is(&five, Attribute::OperationalState), "down (err-disabled)");
        assert!(is(&five, Attribute::Speed).starts_with("<not observable"));
        assert_eq!(is(&five, Attribute::PortDescription), "<empty>");
        assert_eq!(is(&five, Attribute::PortChannel), "Port-Channel10");
        assert!(facts.iter().all(|fact| fact.entity != port("Vlan100")));
        let mtu = facts.iter().find(|fact| fact.entity == four && fact.attribute == Attribute::Mtu).expect("a fact");
        assert_eq!(mtu.reading.line, 12);
    }

    #[test]
    fn vlans_of_ports() {
        let text = r#"{"switchports": {
  "Ethernet4": {"enabled": true, "switchportInfo": {"mode": "trunk", "accessVlanId": 1, "trunkingNativeVlanId": 1, "trunkAllowedVlans": "1,100-200"}},
  "Ethernet5": {"enabled": true, "switchportInfo": {"mode": "access", "accessVlanId": 20, "trunkingNativeVlanId": 1, "trunkAllowedVlans": "ALL"}},
  "Ethernet6": {"enabled": false}}}
"#;
        let facts = run(of("eos.switchport"), &[(text, "", 0)]);
        let is = |name, attribute| shown(&facts, &port(name), attribute);
        assert_eq!(is("Et4", Attribute::PortMode), "trunk");
        assert_eq!(is("Et4", Attribute::UntaggedVlan), "1");
        assert_eq!(is("Et4", Attribute::AllowedVlans), "1, 100-200");
        assert_eq!(is("Et5", Attribute::UntaggedVlan), "20");
        assert_eq!(is("Et5", Attribute::AllowedVlans), "absent");
        assert_eq!(is("Et6", Attribute::PortMode), "routed");
    }

    #[test]
    fn global_pause() {
        let text = r#"{"interfaceFlowControls": {"Ethernet4": {"rxAdminState": "off", "rxOperState": "off", "txOperState": "unsupp"},
 "Ethernet5": {"rxOperState": "on", "txOperState": "what"}}}"#;
        let facts = run(of("eos.flow-control"), &[(text, "", 0)]);
        let is = |name, attribute| shown(&facts, &port(name), attribute);
        assert_eq!(is("Et4", Attribute::PauseRx), "no");
        assert!(is("Et4", Attribute::PauseTx).starts_with("<not published"));
        assert_eq!(is("Et5", Attribute::PauseRx), "yes");
        assert!(is("Et5", Attribute::PauseTx).starts_with("<failed: not understood"));
    }

    #[test]
    fn a_cut_answer_is_no_switch_without_ports() {
        let facts = run(of("eos.interfaces"), &[(&INTERFACES[..300], "", 0)]);
        assert!(shown(&facts, &Entity::Switch, Attribute::OperationalState).starts_with("<failed: not understood"));
    }

    survives_damage!(of("eos.interfaces"), INTERFACES);
}
