//! RDMA devices of a host: driver, state, MTU, speed, the adapter that each is paired with, protocols, VMkernel adapters.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::reply::{self, Facts, command};
use crate::fabric::{Attribute, Entity, Fact, Observation, PortState, State, Text, Value};
use crate::probe::{Pace, Probe, Rhythm};

/// RDMA devices.
pub const PROBE: Probe = Probe {
    name: "esxi.rdma",
    title: "RDMA devices: paired uplink, state, MTU, speed, protocols, VMkernel adapters",
    privilege_adds: "",
    pace: Pace::Medium,
    rhythm: Rhythm::leading(&["esxi.rdma-devices"], &["esxi.nics", "esxi.dcb"]).deciding(),
    sources: &[
        command!("esxi.rdma-devices", "esxcli" "rdma" "device" "list"),
        command!("esxi.rdma-vmknics", "esxcli" "rdma" "device" "vmknic" "list"),
        command!("esxi.rdma-protocols", "esxcli" "rdma" "device" "protocol" "list"),
    ],
    parse,
};

/// Titles of the list of devices.
pub(super) const TITLES: &[&str] = &["Name", "Driver", "State", "MTU", "Speed", "Paired Uplink", "Description"];

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [devices, vmknics, protocols] = observations else { return Vec::new() };
    let mut facts = device_facts(devices);
    let names: Vec<Text> = facts
        .iter()
        .filter_map(|fact| if let Entity::RdmaDevice(name) = &fact.entity { Some(name.clone()) } else { None })
        .collect::<BTreeSet<Text>>()
        .into_iter()
        .collect();
    facts.extend(vmknic_facts(vmknics, &names));
    facts.extend(protocol_facts(protocols, &names));
    facts
}

fn device_facts(observation: &Observation) -> Vec<Fact> {
    let mut facts = Facts::of(observation);
    let table = match reply::table(observation, TITLES, &["Name", "Device"]) {
        Ok(table) => table,
        Err(state) => {
            facts.say(&Entity::Host, Attribute::RdmaPresence, Some(state), 0);
            return facts.said;
        }
    };
    let mut count = 0;
    for row in table.rows() {
        let name = table.get(row, &["Name", "Device"]).unwrap_or("");
        if name.is_empty() {
            continue;
        }
        count += 1;
        let entity = Entity::RdmaDevice(Text::new(name));
        let of = |names: &[&str]| table.get(row, names);
        let mut say = |attribute, state| facts.say(&entity, attribute, state, row.line);
        say(Attribute::Driver, of(&["Driver"]).map(reply::text));
        say(
            Attribute::PortState,
            of(&["State"])
                .map(|word| reply::missing(word).unwrap_or_else(|| State::Known(PortState::from_word(word).into()))),
        );
        say(Attribute::Mtu, of(&["MTU"]).map(reply::count));
        say(Attribute::Speed, of(&["Speed"]).map(speed));
        say(Attribute::PairedUplink, of(&["Paired Uplink", "Uplink"]).map(reply::text));
        say(Attribute::DeviceName, of(&["Description"]).map(reply::text));
    }
    let sentence = match count {
        0 => "no RDMA device: no driver that speaks RoCE is bound to an adapter".to_owned(),
        1 => "1 device".to_owned(),
        many => format!("{many} devices"),
    };
    facts.say(&Entity::Host, Attribute::RdmaPresence, Some(State::Known(sentence.as_str().into())), 0);
    facts.said
}

/// Bits per second of `50 Gbps`; a number alone is in Mbit/s, as all of ESXi counts.
fn speed(word: &str) -> State<Value> {
    reply::missing(word).unwrap_or_else(|| {
        let digits = word.find(|character: char| !character.is_ascii_digit()).unwrap_or(word.len());
        let unit: u64 = match word[digits..].trim().to_ascii_lowercase().as_str() {
            "" | "mbps" | "mbit/s" | "mb/s" => 1_000_000,
            "gbps" | "gbit/s" | "gb/s" => 1_000_000_000,
            _ => return reply::not_understood(word),
        };
        match word[..digits].parse::<u64>().ok().and_then(|number| number.checked_mul(unit)) {
            Some(0) => State::NotObservable(Text::new("without a link there is no speed")),
            Some(bits) => State::Known(bits.into()),
            None => reply::not_understood(word),
        }
    })
}

fn vmknic_facts(observation: &Observation, devices: &[Text]) -> Vec<Fact> {
    let mut facts = Facts::of(observation);
    let table = match reply::table(observation, &["Device", "Vmknic", "NetStack"], &["Device", "Name"]) {
        Ok(table) => table,
        Err(state) => {
            for device in devices {
                let entity = Entity::RdmaDevice(device.clone());
                facts.say(&entity, Attribute::RdmaVmknics, Some(state.clone()), 0);
            }
            return facts.said;
        }
    };
    let mut bound: BTreeMap<Text, (u32, Vec<Text>)> =
        devices.iter().map(|device| (device.clone(), (0, Vec::new()))).collect();
    for row in table.rows() {
        let (Some(device), Some(vmknic)) = (table.get(row, &["Device", "Name"]), table.get(row, &["Vmknic"])) else {
            continue;
        };
        if !device.is_empty() && !vmknic.is_empty() {
            let entry = bound.entry(Text::new(device)).or_default();
            entry.0 = row.line;
            entry.1.push(Text::new(vmknic));
        }
    }
    for (device, (line, vmknics)) in bound {
        let state = if vmknics.is_empty() { State::Empty } else { State::Known(Value::List(vmknics)) };
        facts.say(&Entity::RdmaDevice(device), Attribute::RdmaVmknics, Some(state), line);
    }
    facts.said
}

/// Protocols with the titles of their columns.
const PROTOCOLS: [(Attribute, &[&str]); 3] =
    [(Attribute::RoceV1, &["RoCE v1"]), (Attribute::RoceV2, &["RoCE v2"]), (Attribute::Iwarp, &["iWARP"])];

fn protocol_facts(observation: &Observation, devices: &[Text]) -> Vec<Fact> {
    let mut facts = Facts::of(observation);
    let table = match reply::table(observation, &["Device", "RoCE v1", "RoCE v2", "iWARP"], &["Device", "Name"]) {
        Ok(table) => table,
        Err(state) => {
            for device in devices {
                for (attribute, _) in PROTOCOLS {
                    facts.say(&Entity::RdmaDevice(device.clone()), attribute, Some(state.clone()), 0);
                }
            }
            return facts.said;
        }
    };
    for row in table.rows() {
        let device = table.get(row, &["Device", "Name"]).unwrap_or("");
        if device.is_empty() {
            continue;
        }
        let entity = Entity::RdmaDevice(Text::new(device));
        for (attribute, titles) in PROTOCOLS {
            facts.say(&entity, attribute, table.get(row, titles).map(reply::flag), row.line);
        }
    }
    facts.said
}

#[cfg(test)]
mod tests {
    use super::super::reply::testing::{HOSTD_DEAD, UNKNOWN, reordered, run, shown, survives_damage, wrapped};
    use super::*;

    /// The tables of a Cisco host, cut out of a paste: a rule shorter than its titles, a speed with a blank.
    const DEVICES: &str = include_str!("../../../tests/fixtures/esxi/15-rdma-device-list.txt");
    const VMKNICS: &str = include_str!("../../../tests/fixtures/esxi/15-rdma-vmknic-list.txt");
    const PROTOCOLS: &str = include_str!("../../../tests/fixtures/esxi/15-rdma-protocol-list.txt");
    /// As it was published of a host with nenic.
    const TEMPLATE: &str = "\
Name     Driver      State   MTU   Speed     Paired Uplink  Description
-------  ----------  ------  ----  --------  -------------  -----------------------------------
vmrdma0  nmlx5_rdma  Active  4096  100 Gbps  vmnic2         MT28800 Family [ConnectX-5 Ex]
vmrdma1  nmlx5_rdma  Down    1024  0         vmnic3         MT28800 Family [ConnectX-5 Ex]
";

    fn device(name: &str) -> Entity {
        Entity::RdmaDevice(Text::new(name))
    }

    #[test]
    fn a_real_host() {
        let facts = run(&PROBE, &[(DEVICES, "", 0), (VMKNICS, "", 0), (PROTOCOLS, "", 0)]);
        let of = |attribute| shown(&facts, &device("vmrdma0"), attribute);
        assert_eq!(of(Attribute::Driver), "nenic");
        assert_eq!(of(Attribute::PortState), "ACTIVE");
        assert_eq!(of(Attribute::Mtu), "4096");
        assert_eq!(of(Attribute::Speed), "50000000000");
        assert_eq!(of(Attribute::PairedUplink), "vmnic1");
        assert_eq!(of(Attribute::DeviceName), "Cisco UCS VIC 15XXX (A0)");
        assert_eq!(of(Attribute::RdmaVmknics), "vmk1");
        assert_eq!(of(Attribute::RoceV1), "no");
        assert_eq!(of(Attribute::RoceV2), "yes");
        assert_eq!(of(Attribute::Iwarp), "no");
        assert_eq!(shown(&facts, &Entity::Host, Attribute::RdmaPresence), "2 devices");
    }

    #[test]
    fn any_layout_says_the_same() {
        for text in [
            TEMPLATE.to_owned(),
            super::super::reply::testing::with_carriage_returns(TEMPLATE),
            wrapped(TEMPLATE),
            reordered(TEMPLATE),
            wrapped(&reordered(TEMPLATE)),
        ] {
            let facts = run(&PROBE, &[(&text, "", 0), ("", "", 0), ("", "", 0)]);
            assert_eq!(shown(&facts, &device("vmrdma0"), Attribute::PairedUplink), "vmnic2", "{text}");
            assert_eq!(shown(&facts, &device("vmrdma1"), Attribute::PortState), "DOWN", "{text}");
            assert_eq!(shown(&facts, &device("vmrdma0"), Attribute::Speed), "100000000000", "{text}");
            assert_eq!(shown(&facts, &device("vmrdma0"), Attribute::DeviceName), "MT28800 Family [ConnectX-5 Ex]");
            assert!(shown(&facts, &device("vmrdma1"), Attribute::Speed).starts_with("<not observable"));
            assert_eq!(shown(&facts, &device("vmrdma1"), Attribute::RdmaVmknics), "<empty>");
        }
    }

    #[test]
    fn a_renamed_title_leaves_only_its_value_out() {
        let text = TEMPLATE.replace("Paired Uplink", "Next Neighbor");
        let facts = run(&PROBE, &[(&text, "", 0), ("", "", 0), ("", "", 0)]);
        assert_eq!(shown(&facts, &device("vmrdma0"), Attribute::PairedUplink), "absent");
        assert_eq!(shown(&facts, &device("vmrdma0"), Attribute::Driver), "nmlx5_rdma");
    }

    #[test]
    fn no_device_no_command_and_no_agent_are_three_things() {
        let of = |said, stderr, status| {
            let facts = run(&PROBE, &[(said, stderr, status), ("", "", 0), ("", "", 0)]);
            shown(&facts, &Entity::Host, Attribute::RdmaPresence)
        };
        assert!(of("", "", 0).starts_with("no RDMA device"));
        assert!(of(UNKNOWN, "", 1).starts_with("<not published by this version of ESXi"));
        assert!(of("", UNKNOWN, 1).starts_with("<not published by this version of ESXi"));
        assert_eq!(
            of(HOSTD_DEAD, "", 1),
            "<failed: the management agent hostd does not answer: Connect to localhost failed: Connection failure>"
        );
        assert_eq!(of("", "esxcli: not found\n", 127), "<esxi.rdma-devices is not installed>");
    }

    survives_damage!(PROBE, DEVICES, VMKNICS, PROTOCOLS);
}
