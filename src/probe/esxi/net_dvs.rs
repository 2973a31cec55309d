//! `net-dvs -l`: what a distributed switch is set to at each port: VLAN, teaming, link state, statistics. The vendor does
//! not support the command and promises no format: what is not recognised is passed over, and indentation does not count,
//! since published outputs have lost it.

use std::sync::Arc;

use super::reply::{self, Facts, command};
use crate::fabric::{Attribute, Entity, Fact, Observation, Outcome, State, Text, Value};
use crate::probe::{Pace, Probe, Rhythm};

/// Ports of distributed switches.
pub const PROBE: Probe = Probe {
    name: "esxi.net-dvs",
    title: "ports of distributed switches: VLAN, teaming, link, statistics",
    privilege_adds: "",
    pace: Pace::Medium,
    rhythm: Rhythm::PRESSING.deciding(),
    sources: &[command!("esxi.net-dvs-list", "net-dvs" "-l")],
    parse,
};

/// Which property the lines below it belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Property {
    Teaming,
    Vlan,
    /// The VLAN in force, told where the configured one is not.
    VlanInForce,
    Statistics,
    Other,
}

/// A port as far as it was read.
struct Port {
    entity: Entity,
    name: String,
    vlan: Option<(String, u32)>,
    ranges: Option<String>,
    in_force: Option<(String, u32)>,
    blocked: bool,
    link: Option<(State<Value>, u32)>,
}

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [observation] = observations else { return Vec::new() };
    let mut facts = Facts::of(observation);
    if let Some(state) = reply::trouble(observation) {
        let state = match observation.outcome {
            Outcome::Exit(127) => State::NotObservable(Text::new(
                "this host has no net-dvs; only vCenter tells VLAN and teaming of ports of a distributed switch",
            )),
            _ => state,
        };
        facts.say(&Entity::Host, Attribute::TeamingPolicy, Some(state), 0);
        return facts.said;
    }
    let mut switch = String::new();
    let mut port: Option<Port> = None;
    let mut property = Property::Other;
    let mut is_named = false;
    for (line, raw) in observation.lines() {
        let text = raw.trim();
        if let Some(id) = text.strip_prefix("switch ").filter(|_| port.is_none() || text.ends_with(')')) {
            finish(&mut facts, port.take());
            id.split(" (").next().unwrap_or(id).trim().clone_into(&mut switch);
            is_named = false;
            property = Property::Other;
            continue;
        }
        if let Some(name) =
            text.strip_prefix("port ").and_then(|rest| rest.strip_suffix(':')).filter(|name| !name.contains(' '))
        {
            finish(&mut facts, port.take());
            let of = Text::new(&format!("{switch}/{name}"));
            port = Some(Port {
                entity: Entity::SwitchPort { switch: Text::new(&switch), port: Text::new(name) },
                name: of.as_str().to_owned(),
                vlan: None,
                ranges: None,
                in_force: None,
                blocked: false,
                link: None,
            });
            property = Property::Other;
            continue;
        }
        if matches!(text, "host properties:" | "global properties:") {
            finish(&mut facts, port.take());
            property = Property::Other;
            continue;
        }
        let (key, value) = match text.split_once('=') {
            Some((key, value)) => (key.trim_end(), cut(value)),
            None => (text.trim_end_matches(':'), ""),
        };
        if key == "propType" {
            continue;
        }
        if !key.starts_with("com.vmware.") {
            if let Some(port) = &mut port {
                detail(&mut facts, port, property, key, value, line);
            }
            continue;
        }
        property = Property::Other;
        let Some(port) = &mut port else {
            // The name under which everything else knows the switch.
            if key == "com.vmware.common.alias" && !value.is_empty() && !is_named {
                value.clone_into(&mut switch);
                is_named = true;
            }
            continue;
        };
        property = own(&mut facts, port, key, value, line);
    }
    finish(&mut facts, port);
    facts.said
}

/// A value without what says how the property is kept.
fn cut(value: &str) -> &str {
    let value = value.split("propType").next().unwrap_or(value).trim();
    value.strip_suffix(',').unwrap_or(value).trim()
}

/// A property of a port.
fn own(facts: &mut Facts<'_>, port: &mut Port, key: &str, value: &str, line: u32) -> Property {
    let entity = &port.entity;
    match key {
        "com.vmware.common.port.alias" if !value.is_empty() => {
            facts.say(entity, Attribute::DeviceLabel, Some(reply::text(value)), line);
        }
        "com.vmware.common.port.connectid" => {
            facts.say(entity, Attribute::ConnectionId, Some(reply::text(value)), line);
        }
        "com.vmware.common.port.portgroupid" => {
            facts.say(entity, Attribute::PortGroupKey, Some(reply::text(value)), line);
        }
        "com.vmware.common.port.block" => port.blocked = value == "true",
        "com.vmware.etherswitch.port.teaming" => return Property::Teaming,
        "com.vmware.etherswitch.port.vlan" => {
            port.vlan = Some((value.to_owned(), line));
            port.ranges = None;
            return Property::Vlan;
        }
        "com.vmware.common.port.volatile.vlan" => {
            port.in_force = Some((value.to_owned(), line));
            return Property::VlanInForce;
        }
        "com.vmware.common.port.statistics" => return Property::Statistics,
        "com.vmware.common.port.volatile.status" => {
            let mut words = value.split_whitespace();
            let link = words.find_map(|word| match word {
                "linkUp" => Some("up"),
                "linkDown" => Some("down"),
                _ => None,
            });
            let state = match link {
                Some(link) => State::Known(link.into()),
                // A port that nothing uses is `free` and has no link.
                None => State::NotAvailable,
            };
            port.link = Some((state, line));
        }
        _ => {}
    }
    Property::Other
}

/// A line below a property of a port.
fn detail(facts: &mut Facts<'_>, port: &mut Port, property: Property, key: &str, value: &str, line: u32) {
    match (property, key) {
        (Property::Teaming, "load balancing") => {
            facts.say(&port.entity, Attribute::TeamingPolicy, Some(reply::text(value)), line);
        }
        (Property::Teaming, "active") => facts.say(&port.entity, Attribute::ActiveUplinks, Some(uplinks(value)), line),
        (Property::Teaming, "standby") => {
            facts.say(&port.entity, Attribute::StandbyUplinks, Some(uplinks(value)), line);
        }
        (Property::Vlan, "ranges") => port.ranges = Some(value.trim_end_matches(';').trim().to_owned()),
        (Property::Statistics, name) if !value.is_empty() && !name.contains(' ') => {
            if let Ok(number) = value.parse::<u64>() {
                let counter = Entity::Counter { of: Text::new(&port.name), name: Text::new(name) };
                facts.say(&counter, Attribute::CounterValue, Some(State::Known(number.into())), line);
            }
        }
        _ => {}
    }
}

/// `Uplink 1; Uplink 2;` as a list.
fn uplinks(value: &str) -> State<Value> {
    let names: Vec<Text> = value.split(';').map(Text::new).filter(|name| !name.is_empty()).collect();
    if names.is_empty() { State::Empty } else { State::Known(names.into()) }
}

/// States what needs the whole port.
fn finish(facts: &mut Facts<'_>, port: Option<Port>) {
    let Some(port) = port else { return };
    if let Some((state, line)) = port.link {
        let state = if port.blocked { State::Known("blocked".into()) } else { state };
        facts.say(&port.entity, Attribute::PortLink, Some(state), line);
    }
    if let Some((value, line)) = port.vlan.or(port.in_force) {
        facts.say(&port.entity, Attribute::VlanId, Some(vlan(&value, port.ranges.as_deref())), line);
    }
}

/// A number for `VLAN 98`; `trunk 100-200` where the guest tags.
fn vlan(value: &str, ranges: Option<&str>) -> State<Value> {
    if let Some(number) = value.strip_prefix("VLAN ").and_then(|number| number.trim().parse::<u64>().ok()) {
        return State::Known(number.into());
    }
    if value.eq_ignore_ascii_case("Guest VLAN tagging") {
        let trunk = format!("trunk {}", ranges.unwrap_or(""));
        return State::Known(trunk.trim().into());
    }
    reply::text(value)
}

#[cfg(test)]
mod tests {
    use super::super::reply::testing::{run, shown, survives_damage, with_carriage_returns};
    use super::*;

    /// Modelled on published outputs; the names and numbers are made up.
    const LIST: &str = include_str!("../../../tests/fixtures/esxi-net/net-dvs.txt");

    fn port(port: &str) -> Entity {
        Entity::SwitchPort { switch: Text::new("DSwitch_078"), port: Text::new(port) }
    }

    #[test]
    fn vlan_teaming_link_and_statistics_of_each_port() {
        let flat = LIST.lines().map(|line| format!("{}\n", line.trim())).collect::<Vec<_>>().concat();
        for text in [LIST.to_owned(), with_carriage_returns(LIST), flat] {
            let facts = run(&PROBE, &[(&text, "", 0)]);
            for (number, attribute, wanted) in [
                ("0", Attribute::DeviceLabel, "Uplink 1"),
                ("0", Attribute::VlanId, "trunk 0-4094"),
                ("0", Attribute::ActiveUplinks, "<empty>"),
                ("2", Attribute::VlanId, "100"),
                ("2", Attribute::PortGroupKey, "dvportgroup-117201"),
                ("2", Attribute::ConnectionId, "123456789"),
                ("2", Attribute::TeamingPolicy, "source virtual port id"),
                ("2", Attribute::ActiveUplinks, "Uplink 1, Uplink 2"),
                ("2", Attribute::StandbyUplinks, "<empty>"),
                ("2", Attribute::PortLink, "up"),
                ("9", Attribute::PortLink, "blocked"),
                ("9", Attribute::VlanId, "200"),
                ("free", Attribute::PortLink, "<not available>"),
                ("free", Attribute::VlanId, "0"),
            ] {
                let found = shown(&facts, &port(number), attribute);
                if wanted == "<not available>" {
                    assert!(found.starts_with('<'), "{found}");
                } else {
                    assert_eq!(found, wanted, "{number} {attribute:?}");
                }
            }
            let counter = Entity::Counter { of: Text::new("DSwitch_078/2"), name: Text::new("bytesInUnicast") };
            assert_eq!(shown(&facts, &counter, Attribute::CounterValue), "34335744");
        }
    }

    #[test]
    fn a_host_without_the_command_cannot_tell() {
        let facts = run(&PROBE, &[("", "sh: net-dvs: not found", 127)]);
        assert!(shown(&facts, &Entity::Host, Attribute::TeamingPolicy).starts_with("<not observable"));
        assert!(run(&PROBE, &[("", "", 0)]).is_empty(), "no distributed switch");
    }

    survives_damage!(PROBE, LIST);
}
