//! Ports as `show interfaces` prints them for people: a block for each port. The labels of counters are those of the JSON
//! form, so both mean the same.

use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text, Value};
use crate::probe::switch::answer::{Facts, count, duplex, not_understood, port, speed, text};
use crate::probe::switch::names::{full_name, is_port};

/// What stands before the comma in lines of counters, and the label that the JSON form has for it.
const COUNTERS: &[(&str, &str)] = &[
    ("input errors", "totalInErrors"),
    ("CRC", "fcsErrors"),
    ("symbol", "symbolErrors"),
    ("input discards", "inDiscards"),
    ("PAUSE input", "rxPause"),
    ("output errors", "totalOutErrors"),
    ("output discards", "outDiscards"),
    ("PAUSE output", "txPause"),
    ("link status changes since last clear", "linkStatusChanges"),
];

/// The port whose block begins with this line, its state and the state of the protocol, with the word in brackets.
fn begin(line: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = line.split_once(" is ")?;
    let (state, protocol) = rest.split_once(", line protocol is ")?;
    let is_cabled = ["Ethernet", "Port-Channel", "Management"].iter().any(|beginning| name.starts_with(beginning));
    (is_cabled && is_port(name)).then_some((name, state, protocol.trim()))
}

/// The facts of the text form; nothing if this is none.
pub(super) fn parse(observation: &Observation) -> Option<Vec<Fact>> {
    if !observation.stdout.contains(", line protocol is ") {
        return None;
    }
    let mut facts = Facts::of(observation);
    let mut now: Option<(Entity, bool)> = None;
    for (line, raw) in observation.lines() {
        if let Some((name, state, protocol)) = begin(raw.trim()) {
            let entity = port(name);
            let is_up = state == "up" && protocol.starts_with("up");
            let why = protocol.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or("", |(why, _)| why);
            let is_shut = state.starts_with("admin") || why == "disabled";
            facts.say(&entity, Attribute::AdminUp, Some(State::Known((!is_shut).into())), line);
            let said = match (is_up, why) {
                (true, _) => "up".to_owned(),
                (false, "notconnect") => "down (not connected)".to_owned(),
                (false, "errdisabled") => "down (err-disabled)".to_owned(),
                (false, "") => "down".to_owned(),
                (false, why) => format!("down ({why})"),
            };
            facts.say(&entity, Attribute::OperationalState, Some(State::Known(Value::Text(Text::new(&said)))), line);
            now = Some((entity, is_up));
            continue;
        }
        // An interface of a VLAN has no cable.
        if raw.contains(", line protocol is ") {
            now = None;
        }
        let Some((entity, is_up)) = &now else { continue };
        let raw = raw.trim();
        let of_link =
            |state| if *is_up { state } else { State::NotObservable(Text::new("without a link there is none")) };
        if let Some(description) = raw.strip_prefix("Description: ") {
            facts.say(entity, Attribute::PortDescription, Some(text(description)), line);
        } else if let Some(channel) = raw.strip_prefix("Member of ") {
            facts.say(entity, Attribute::PortChannel, Some(text(&full_name(channel))), line);
        } else if let Some((_, rest)) = raw.split_once("MTU ").filter(|(before, _)| before.len() < 12) {
            let word = rest.split(' ').next().unwrap_or(rest);
            let state = word.parse::<u64>().map_or_else(|_| not_understood(word), |mtu| State::Known(mtu.into()));
            facts.say(entity, Attribute::Mtu, Some(state), line);
        } else if let Some((kind, rest)) = raw.split_once("-duplex, ") {
            facts.say(entity, Attribute::Duplex, Some(of_link(duplex(kind))), line);
            facts.say(entity, Attribute::Speed, Some(of_link(speed(rest.split(',').next().unwrap_or(rest)))), line);
        } else {
            counters(&mut facts, entity, raw, line);
        }
    }
    (!facts.said.is_empty()).then_some(facts.said)
}

fn counters(facts: &mut Facts<'_>, entity: &Entity, raw: &str, line: u32) {
    // `280155 packets input, 805263482 bytes`
    for (begin, label) in [(" packets input, ", "inOctets"), (" packets output, ", "outOctets")] {
        if let Some((_, bytes)) = raw.split_once(begin) {
            count(facts, entity, label, bytes.trim_end_matches(" bytes"), line);
        }
    }
    for piece in raw.split(", ") {
        let Some((number, what)) = piece.trim().split_once(' ') else { continue };
        if let Some((_, label)) = COUNTERS.iter().find(|(meant, _)| *meant == what) {
            count(facts, entity, label, number, line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::PROBES;
    use super::*;
    use crate::probe::linux::guest_testing::{run, shown, survives_damage};

    const INTERFACES: &str = "Ethernet4 is up, line protocol is up (connected)
  Hardware is Ethernet, address is 2899.3a00.0004 (bia 2899.3a00.0004)
  Description: esx01 vmnic4
  Member of Port-Channel10
  Ethernet MTU 9214 bytes , BW 100000000 kbit
  Full-duplex, 100Gb/s, auto negotiation: off, uni-link: n/a
  Up 3 days, 5 hours, 2 minutes, 1 seconds
  5 link status changes since last clear
  5 minutes input rate 1.2 kbps (0.0% with framing overhead), 1 packets/sec
     280155 packets input, 805263482 bytes
     0 runts, 0 giants
     7 input errors, 6 CRC, 0 alignment, 1 symbol, 2 input discards
     3 PAUSE input
     221485 packets output, 48727720 bytes
     0 output errors, 0 collisions
     0 late collision, 0 deferred, 45941 output discards
     4 PAUSE output
Ethernet5 is down, line protocol is down (notconnect)
  Ethernet MTU 1500 bytes
  Full-duplex, Unconfigured, auto negotiation: off, uni-link: unknown
Ethernet6 is administratively down, line protocol is down (disabled)
Vlan100 is up, line protocol is up (connected)
  IP MTU 1500 bytes
";

    #[test]
    fn ports_with_their_counters() {
        let probe = PROBES.iter().find(|probe| probe.name == "eos.interfaces").expect("a probe");
        let facts = run(probe, &[(INTERFACES, "", 0)]);
        let is = |name, attribute| shown(&facts, &port(name), attribute);
        assert_eq!(is("Et4", Attribute::OperationalState), "up");
        assert_eq!(is("Et4", Attribute::AdminUp), "yes");
        assert_eq!(is("Et4", Attribute::Mtu), "9214");
        assert_eq!(is("Et4", Attribute::Speed), "100000000000");
        assert_eq!(is("Et4", Attribute::Duplex), "Full");
        assert_eq!(is("Et4", Attribute::PortDescription), "esx01 vmnic4");
        assert_eq!(is("Et4", Attribute::PortChannel), "Port-Channel10");
        let counter = |name: &str| {
            let id = Entity::Counter { of: Text::new("Ethernet4"), name: Text::new(name) };
            shown(&facts, &id, Attribute::CounterValue)
        };
        let labels = ["inOctets", "totalInErrors", "fcsErrors", "symbolErrors", "inDiscards", "rxPause"];
        assert_eq!(labels.map(counter), ["805263482", "7", "6", "1", "2", "3"]);
        assert_eq!(
            ["outOctets", "totalOutErrors", "outDiscards", "txPause"].map(counter),
            ["48727720", "0", "45941", "4"]
        );
        assert_eq!(is("Et5", Attribute::OperationalState), "down (not connected)");
        assert!(is("Et5", Attribute::Speed).starts_with("<not observable"));
        assert_eq!(is("Et6", Attribute::AdminUp), "no");
        assert_eq!(is("Et6", Attribute::Mtu), "absent", "an interface of a VLAN has no cable");
    }

    survives_damage!(PROBES.iter().find(|probe| probe.name == "eos.interfaces").expect("a probe"), INTERFACES);
}
