//! Ports: state, MTU, speed, what they count; their VLANs.

use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text, Value};
use crate::probe::switch::answer::{
    Facts, as_switch, count, duplex, not_understood, nothing, on_or_off, port, speed, text, trouble,
};
use crate::probe::switch::names::{full_name, is_port, vlans};

/// Counters that are kept, by their labels below `RX` and `TX`.
const COUNTERS: &[&str] = &[
    "input error",
    "CRC",
    "input discard",
    "Rx pause",
    "output error",
    "output discard",
    "Tx pause",
    "runts",
    "giants",
];

/// The port whose block begins with this line, and what it is: `Ethernet1/1 is down (Link not connected)`.
fn begin(line: &str) -> Option<(&str, &str)> {
    let (name, state) = line.split_once(" is ")?;
    (!line.starts_with(' ') && is_port(name) && (state.starts_with("up") || state.starts_with("down")))
        .then_some((name, state.trim_end()))
}

/// True for a port with a cable or a bundle of them.
fn is_cabled(name: &str) -> bool {
    let name = full_name(name);
    ["Ethernet", "Port-Channel", "mgmt"].iter().any(|beginning| name.starts_with(beginning))
}

pub(super) fn parse(observation: &Observation) -> Vec<Fact> {
    let attributes = [Attribute::OperationalState, Attribute::Mtu, Attribute::Speed];
    if let Some(state) = trouble(observation) {
        return nothing(observation, &state, &attributes);
    }
    // A person pastes the list with one line for each port, too.
    if let Some(facts) = crate::probe::switch::status::parse(observation) {
        return facts;
    }
    let mut facts = Facts::of(observation);
    let mut now: Option<(Entity, bool)> = None;
    // `RX` or `TX`, below which the counters stand.
    let mut section = "";
    for (line, raw) in observation.lines() {
        if let Some((name, state)) = begin(raw) {
            now = is_cabled(name).then(|| (port(name), state.starts_with("up")));
            section = "";
            if let Some((entity, _)) = &now {
                let state = state.split(',').next().unwrap_or(state);
                facts.say(entity, Attribute::OperationalState, Some(text(state)), line);
            }
            continue;
        }
        let Some((entity, is_up)) = &now else { continue };
        let raw = raw.trim();
        if raw == "RX" || raw == "TX" {
            section = raw;
        } else if !section.is_empty() {
            for (number, label) in pairs(raw) {
                let label = match label.as_str() {
                    "bytes" if section == "RX" => "input bytes",
                    "bytes" => "output bytes",
                    label => label,
                };
                if COUNTERS.contains(&label) || label.ends_with("put bytes") {
                    count(&mut facts, entity, label, number, line);
                }
            }
        } else {
            say(&mut facts, entity, *is_up, raw, line);
        }
    }
    if facts.said.is_empty() {
        let first = observation.stdout.lines().map(str::trim).find(|line| !line.is_empty());
        return nothing(observation, &first.map_or(State::Empty, not_understood), &attributes);
    }
    facts.said
}

fn say(facts: &mut Facts<'_>, entity: &Entity, is_up: bool, raw: &str, line: u32) {
    let mut say = |attribute, state: State<Value>| facts.say(entity, attribute, Some(state), line);
    let of_link = |state| {
        if is_up { state } else { State::NotObservable(Text::new("without a link there is none")) }
    };
    if let Some(state) = raw.strip_prefix("admin state is ") {
        let word = state.split([',', ' ']).next().unwrap_or(state);
        say(Attribute::AdminUp, as_switch(word).map_or_else(|| not_understood(word), |up| State::Known(up.into())));
    } else if let Some(channel) = raw.strip_prefix("Belongs to ") {
        say(Attribute::PortChannel, text(&full_name(channel)));
    } else if let Some(description) = raw.strip_prefix("Description: ") {
        say(Attribute::PortDescription, text(description));
    } else if let Some(rest) = raw.strip_prefix("MTU ") {
        let word = rest.split(' ').next().unwrap_or(rest);
        say(Attribute::Mtu, word.parse::<u64>().map_or_else(|_| not_understood(word), |mtu| State::Known(mtu.into())));
    } else if let Some((kind, rest)) = raw.split_once("-duplex, ") {
        let rate = rest.split(',').next().unwrap_or(rest);
        say(Attribute::Duplex, of_link(duplex(kind)));
        say(Attribute::Speed, of_link(speed(rate)));
    } else if let Some(rest) = raw.strip_prefix("Input flow-control is ") {
        let (input, output) = rest.split_once(", output flow-control is ").unwrap_or((rest, ""));
        say(Attribute::PauseRx, on_or_off(input));
        say(Attribute::PauseTx, on_or_off(output));
    }
}

/// Numbers with what they count: `0 input error  0 short frame`.
fn pairs(text: &str) -> Vec<(&str, String)> {
    let mut pairs: Vec<(&str, String)> = Vec::new();
    for word in text.split_whitespace() {
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            pairs.push((word, String::new()));
        } else if let Some((_, label)) = pairs.last_mut() {
            if !label.is_empty() {
                label.push(' ');
            }
            label.push_str(word);
        }
    }
    pairs
}

pub(super) fn parse_vlans(observation: &Observation) -> Vec<Fact> {
    if let Some(state) = trouble(observation) {
        return nothing(observation, &state, &[Attribute::PortMode, Attribute::UntaggedVlan, Attribute::AllowedVlans]);
    }
    let mut facts = Facts::of(observation);
    let mut now: Option<(Entity, bool)> = None;
    for (line, raw) in observation.lines() {
        let Some((key, value)) = raw.trim().split_once(':') else { continue };
        let value = value.trim();
        if key == "Name" {
            now = is_port(value).then(|| (port(value), false));
            continue;
        }
        let Some((entity, is_trunk)) = &mut now else { continue };
        // `3 (Vlan not created)`
        let number = || value.split(' ').next().and_then(|word| word.parse::<u64>().ok());
        let vlan = number().map_or_else(|| not_understood(value), |vlan| State::Known(vlan.into()));
        let said = match key {
            "Switchport" if value.eq_ignore_ascii_case("disabled") => {
                Some((Attribute::PortMode, State::Known("routed".into())))
            }
            "Operational Mode" => {
                *is_trunk = value.starts_with("trunk");
                Some((Attribute::PortMode, text(value)))
            }
            "Access Mode VLAN" if !*is_trunk => Some((Attribute::UntaggedVlan, vlan)),
            "Trunking Native Mode VLAN" if *is_trunk => Some((Attribute::UntaggedVlan, vlan)),
            "Trunking VLANs Allowed" if *is_trunk => Some((Attribute::AllowedVlans, vlans(value))),
            _ => None,
        };
        if let Some((attribute, state)) = said {
            facts.say(entity, attribute, Some(state), line);
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

    const INTERFACES: &str = "Ethernet1/4 is up
admin state is up, Dedicated Interface
  Belongs to Po7
  Hardware: 1000/10000/25000/40000/50000/100000 Ethernet, address: 706d.15d3.9844 (bia 706d.15d3.9844)
  Description: esx01 vmnic4
  MTU 9216 bytes, BW 100000000 Kbit , DLY 10 usec
  reliability 255/255, txload 1/255, rxload 1/255
  Encapsulation ARPA, medium is broadcast
  Port mode is trunk
  full-duplex, 100 Gb/s, media type is 100G
  Auto-Negotiation is turned on  FEC mode is Auto
  Input flow-control is off, output flow-control is off
  Last link flapped 3d05h
  Load-Interval #1: 30 seconds
    30 seconds input rate 2208 bits/sec, 2 packets/sec
  RX
    280155 unicast packets  9145497 multicast packets  250236 broadcast packets
    9675855 input packets  805263482 bytes
    0 jumbo packets  0 storm suppression bytes
    0 runts  0 giants  7 CRC  0 no buffer
    7 input error  0 short frame  0 overrun   0 underrun  0 ignored
    0 input with dribble  0 input discard
    12 Rx pause
  TX
    4 unicast packets  221445 multicast packets  0 broadcast packets
    221485 output packets  48727720 bytes
    0 output error  0 collision  0 deferred  0 late collision
    0 lost carrier  0 no carrier  0 babble  3 output discard
    1 Tx pause

Ethernet1/5 is down (Link not connected)
admin state is up, Dedicated Interface
  MTU 1500 bytes, BW 25000000 Kbit , DLY 10 usec
  auto-duplex, auto-speed
Vlan100 is up, line protocol is up
  MTU 1500 bytes
";

    #[test]
    fn ports_with_their_counters() {
        let facts = run(of("nxos.interfaces"), &[(INTERFACES, "", 0)]);
        let four = port("Eth1/4");
        let is = |entity: &Entity, attribute| shown(&facts, entity, attribute);
        assert_eq!(is(&four, Attribute::OperationalState), "up");
        assert_eq!(is(&four, Attribute::AdminUp), "yes");
        assert_eq!(is(&four, Attribute::PortChannel), "Port-Channel7");
        assert_eq!(is(&four, Attribute::PortDescription), "esx01 vmnic4");
        assert_eq!(is(&four, Attribute::Mtu), "9216");
        assert_eq!(is(&four, Attribute::Speed), "100000000000");
        assert_eq!(is(&four, Attribute::Duplex), "Full");
        assert_eq!(is(&four, Attribute::PauseRx), "no");
        let counter = |name: &str| {
            let id = Entity::Counter { of: Text::new("Ethernet1/4"), name: Text::new(name) };
            is(&id, Attribute::CounterValue)
        };
        assert_eq!(counter("CRC"), "7");
        assert_eq!(counter("Rx pause"), "12");
        assert_eq!(counter("output discard"), "3");
        assert_eq!(counter("input bytes"), "805263482");
        assert_eq!(counter("output bytes"), "48727720");
        let five = port("Eth1/5");
        assert_eq!(is(&five, Attribute::OperationalState), "down (Link not connected)");
        assert!(is(&five, Attribute::Speed).starts_with("<not observable"));
        assert!(facts.iter().all(|fact| fact.entity != port("Vlan100")));
        let facts = run(of("nxos.interfaces"), &[("% Invalid command at '^' marker.\n", "", 0)]);
        assert!(shown(&facts, &Entity::Switch, Attribute::Mtu).starts_with("<not published"));
    }

    #[test]
    fn vlans_of_ports() {
        let text = "Name: Ethernet1/4\n  Switchport: Enabled\n  Operational Mode: trunk\n  Access Mode VLAN: 1 (default)\n  \
                    Trunking Native Mode VLAN: 5 (Vlan not created)\n  Trunking VLANs Allowed: 1,100-200\n  Voice VLAN: none\n\
                    Name: Ethernet1/5\n  Switchport: Enabled\n  Operational Mode: access\n  Access Mode VLAN: 3 (Vlan not created)\n  \
                    Trunking Native Mode VLAN: 1 (default)\n  Trunking VLANs Allowed: 1-4094\nName: Ethernet1/6\n  Switchport: Disabled\n";
        let facts = run(of("nxos.switchport"), &[(text, "", 0)]);
        let is = |name, attribute| shown(&facts, &port(name), attribute);
        assert_eq!(is("Eth1/4", Attribute::UntaggedVlan), "5");
        assert_eq!(is("Eth1/4", Attribute::AllowedVlans), "1, 100-200");
        assert_eq!(is("Eth1/5", Attribute::UntaggedVlan), "3");
        assert_eq!(is("Eth1/5", Attribute::AllowedVlans), "absent");
        assert_eq!(is("Eth1/6", Attribute::PortMode), "routed");
    }

    survives_damage!(of("nxos.interfaces"), INTERFACES);
}
