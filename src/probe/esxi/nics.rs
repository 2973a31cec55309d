//! Physical adapters of a host: address, driver, link, speed, MTU; what each driver tells of itself; global pause.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::address::PciAddress;
use super::block;
use super::each::{self, Item};
use super::reply::{self, Facts, command, for_each};
use super::table::Table;
use crate::fabric::{Attribute, Entity, Fact, MacAddress, Observation, State, Text, Value};
use crate::probe::{Pace, Probe, Rhythm};

/// Physical adapters.
pub const PROBE: Probe = Probe {
    name: "esxi.nics",
    title: "physical adapters: driver, firmware, link, MTU, pause",
    privilege_adds: "",
    pace: Pace::Medium,
    rhythm: Rhythm::leading(&["esxi.nic-list"], &["esxi.rdma", "esxi.dcb", "esxi.net-dvs", "esxi.vswitches"]),
    sources: &[
        command!("esxi.nic-list", "esxcli" "network" "nic" "list"),
        command!("esxi.nic-pause", "esxcli" "network" "nic" "pauseParams" "list"),
        for_each!("esxi.nic-get", Uplinks, "esxcli" "network" "nic" "get" "-n"),
    ],
    parse,
};

/// The NUMA node of each adapter, which only the tree of the VMkernel tells.
pub const NODES: Probe = Probe {
    name: "esxi.nic-nodes",
    title: "NUMA nodes of physical adapters",
    privilege_adds: "",
    pace: Pace::Slow,
    rhythm: Rhythm::PACE.last(),
    sources: &[crate::probe::Source {
        name: "esxi.nic-properties",
        read: crate::probe::Read::Each {
            of: crate::probe::Listing::Uplinks,
            argv: &[
                crate::probe::Word::Plain("vsish"),
                crate::probe::Word::Plain("-e"),
                crate::probe::Word::Plain("get"),
                crate::probe::Word::Item("/net/pNics/", "/properties"),
            ],
            masked: false,
            timed: false,
        },
    }],
    parse: parse_nodes,
};

/// Titles of the list, the first of which begins its line.
pub(super) const TITLES: &[&str] = &[
    "Name",
    "PCI Device",
    "PCI",
    "Driver",
    "Admin Status",
    "Link Status",
    "Speed",
    "Duplex",
    "MAC Address",
    "MTU",
    "Description",
];

/// Titles of the list of pause parameters.
pub(super) const PAUSE: [&str; 5] = ["NIC", "Pause Params Supported", "Pause RX", "Pause TX", "Auto Negotiation"];

/// The adapters of `network nic list` with their PCI functions.
pub(super) fn addresses(output: &str) -> BTreeMap<PciAddress, (Text, u32)> {
    let table = Table::read(output, 1, TITLES).unwrap_or_default();
    table
        .rows()
        .iter()
        .filter_map(|row| {
            let address = PciAddress::of(table.get(row, &["PCI Device", "PCI"])?)?;
            Some((address, (Text::new(table.get(row, &["Name"])?), row.line)))
        })
        .collect()
}

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [list, pause, details] = observations else { return Vec::new() };
    let mut facts = Facts::of(list);
    let mut names: Vec<Text> = Vec::new();
    match reply::table(list, TITLES, &["Name"]) {
        Err(state) => facts.say(&Entity::Host, Attribute::Uplinks, Some(state), 0),
        Ok(table) => {
            for row in table.rows() {
                let of = |titles: &[&str]| table.get(row, titles);
                let Some(name) = of(&["Name"]).filter(|name| !name.is_empty()) else { continue };
                let entity = Entity::Uplink(Text::new(name));
                names.push(Text::new(name));
                let up = of(&["Link Status", "Link"]).and_then(is_up);
                let mut say = |attribute, state| facts.say(&entity, attribute, state, row.line);
                say(Attribute::PciAddress, of(&["PCI Device", "PCI"]).map(address));
                say(Attribute::Driver, of(&["Driver"]).map(reply::text));
                say(Attribute::AdminUp, of(&["Admin Status"]).map(up_or_down));
                say(Attribute::Carrier, of(&["Link Status", "Link"]).map(up_or_down));
                say(Attribute::Speed, of(&["Speed"]).map(|word| speed(word, up)));
                say(Attribute::Duplex, of(&["Duplex"]).map(|word| of_link(reply::text(word), up)));
                say(Attribute::HardwareAddress, of(&["MAC Address"]).map(hardware_address));
                say(Attribute::Mtu, of(&["MTU"]).map(reply::count));
                say(Attribute::DeviceName, of(&["Description"]).map(reply::text));
            }
            let listed = if names.is_empty() { State::Empty } else { State::Known(Value::List(names.clone())) };
            facts.say(&Entity::Host, Attribute::Uplinks, Some(listed), 0);
        }
    }
    let mut all = facts.said;
    let paused = pause_facts(pause, &names);
    let with_pause: BTreeSet<Entity> =
        paused.iter().filter(|fact| fact.reading.state.known().is_some()).map(|fact| fact.entity.clone()).collect();
    let (items, left_out) = each::items(details);
    for item in &items {
        let is_told = with_pause.contains(&Entity::Uplink(Text::new(item.name)));
        all.extend(detail_facts(details, item, is_told));
    }
    let mut facts = Facts::of(details);
    reply::say_left_out(&mut facts, Attribute::Firmware, left_out);
    all.extend(facts.said);
    // What `nic get` says of pause stands where the list says nothing.
    let by_driver: BTreeSet<(Entity, Attribute)> = all
        .iter()
        .filter(|fact| matches!(fact.attribute, Attribute::PauseRx | Attribute::PauseTx))
        .map(|fact| (fact.entity.clone(), fact.attribute))
        .collect();
    all.extend(paused.into_iter().filter(|fact| {
        fact.reading.state.known().is_some() || !by_driver.contains(&(fact.entity.clone(), fact.attribute))
    }));
    all
}

fn pause_facts(observation: &Observation, names: &[Text]) -> Vec<Fact> {
    let mut facts = Facts::of(observation);
    if let Some(state) = reply::trouble(observation) {
        for name in names {
            for attribute in [Attribute::PauseRx, Attribute::PauseTx] {
                facts.say(&Entity::Uplink(name.clone()), attribute, Some(state.clone()), 0);
            }
        }
        return facts.said;
    }
    let [nic, supports, rx, tx, _] = PAUSE;
    for table in Table::all(&observation.stdout, 1) {
        for row in table.rows() {
            let Some(name) = table.get(row, &[nic, "Name"]).filter(|name| !name.is_empty()) else { continue };
            let entity = Entity::Uplink(Text::new(name));
            let supported = table.get(row, &[supports]).and_then(reply::as_flag);
            for (attribute, title) in [(Attribute::PauseRx, rx), (Attribute::PauseTx, tx)] {
                let state = match supported {
                    Some(false) => Some(State::NotPublished(Text::new("this driver (no pause parameters)"))),
                    _ => table.get(row, &[title]).map(reply::flag),
                };
                facts.say(&entity, attribute, state, row.line);
            }
        }
    }
    facts.said
}

fn detail_facts(observation: &Observation, item: &Item<'_>, with_pause: bool) -> Vec<Fact> {
    let mut facts = Facts::of(observation);
    let entity = Entity::Uplink(Text::new(item.name));
    if let Some(state) = reply::trouble_of(item, &observation.command) {
        facts.say(&entity, Attribute::Firmware, Some(state), 0);
        return facts.said;
    }
    let block = block::block(item.output, item.first);
    let mut say = |attribute, keys: &[&str], convert: fn(&str) -> State<Value>| {
        if let Some(field) = block.anywhere(keys) {
            facts.say(&entity, attribute, Some(convert(&field.value)), field.line);
        }
    };
    say(Attribute::Firmware, &["Firmware Version"], reply::text);
    say(Attribute::CableType, &["Cable Type"], reply::text);
    if !with_pause {
        say(Attribute::PauseRx, &["Pause RX"], reply::flag);
        say(Attribute::PauseTx, &["Pause TX"], reply::flag);
    }
    // `Version` alone is a word that other keys could carry, too: only the driver's own is taken.
    if let Some(driver) = block.nested("Driver Info").first()
        && let Some(field) = driver.field(&["Version"])
    {
        facts.say(&entity, Attribute::DriverVersion, Some(reply::text(&field.value)), field.line);
    }
    facts.said
}

fn parse_nodes(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [properties] = observations else { return Vec::new() };
    let mut facts = Facts::of(properties);
    let (items, left_out) = each::items(properties);
    reply::say_left_out(&mut facts, Attribute::NumaNode, left_out);
    for item in items {
        let entity = Entity::Uplink(Text::new(item.name));
        if let Some(state) = reply::trouble_of(&item, "vsish") {
            facts.say(&entity, Attribute::NumaNode, Some(state), 0);
            continue;
        }
        let found = (item.first..).zip(item.output.lines()).find_map(|(number, line)| {
            let (_, node) = line.split_once("NUMA Node:").or_else(|| line.split_once("NUMA node:"))?;
            Some((number, node.trim()))
        });
        let (line, state) = match found {
            Some((line, node)) => match node.parse::<i64>() {
                Ok(node) => (line, State::Known(node.into())),
                Err(_) => (line, reply::missing(node).unwrap_or_else(|| reply::not_understood(node))),
            },
            None => (0, State::NotPublished(Text::new("the VMkernel for this adapter"))),
        };
        facts.say(&entity, Attribute::NumaNode, Some(state), line);
    }
    facts.said
}

fn address(word: &str) -> State<Value> {
    reply::missing(word).unwrap_or_else(|| match PciAddress::of(word) {
        Some(address) => State::Known(address.to_string().as_str().into()),
        None => State::Known(word.into()),
    })
}

fn hardware_address(word: &str) -> State<Value> {
    reply::missing(word)
        .unwrap_or_else(|| State::Known(word.parse::<MacAddress>().map_or_else(|_| word.into(), Value::from)))
}

fn is_up(word: &str) -> Option<bool> {
    if word.eq_ignore_ascii_case("up") {
        Some(true)
    } else if word.eq_ignore_ascii_case("down") {
        Some(false)
    } else {
        None
    }
}

fn up_or_down(word: &str) -> State<Value> {
    reply::missing(word).unwrap_or_else(|| match is_up(word) {
        Some(up) => State::Known(up.into()),
        None => reply::not_understood(word),
    })
}

/// Without a link the host prints 0 and `Half`, which are no measurements.
fn of_link(state: State<Value>, up: Option<bool>) -> State<Value> {
    if up == Some(false) { State::NotObservable(Text::new("without a link there is none")) } else { state }
}

/// Mbit/s as bits per second.
fn speed(word: &str, up: Option<bool>) -> State<Value> {
    let state = reply::missing(word).unwrap_or_else(|| match word.parse::<u64>().ok() {
        Some(0) => State::NotObservable(Text::new("the driver says 0")),
        Some(megabits) => match megabits.checked_mul(1_000_000) {
            Some(bits) => State::Known(bits.into()),
            None => reply::not_understood(word),
        },
        None => reply::not_understood(word),
    });
    of_link(state, up)
}

#[cfg(test)]
mod tests {
    use super::super::reply::testing::{
        HOSTD_DEAD, UNKNOWN, item, reordered, run, shown, survives_damage, with_carriage_returns, wrapped,
    };
    use super::*;

    /// A Cisco host's list from which the rule was lost on the way.
    const LIST: &str = include_str!("../../../tests/fixtures/esxi/15-nic-list.txt");
    const PAUSE: &str = include_str!("../../../tests/fixtures/esxi/16-pause-params-list.txt");
    /// As public test code of an adapter's vendor has them.
    const TEMPLATE: &str = "\
Name    PCI Device    Driver      Admin Status  Link Status   Speed  Duplex  MAC Address         MTU  Description
------  ------------  ----------  ------------  -----------  ------  ------  -----------------  ----  -----------
vmnic0  0000:18:00.0  ixgben      Up            Down              0  Half    00:00:00:00:00:00  1500  Intel(R) Ethernet Controller X550
vmnic2  0000:5e:00.0  nmlx5_core  Up            Up           100000  Full    ec:0d:9a:00:00:01  9000  Mellanox Technologies MT28800 Family [ConnectX-5 Ex]
";
    const GET: &str = "   Advertised Auto Negotiation: true
   Advertised Link Modes: Auto, 1000BaseT/Full, 10000BaseT/Full, 25000BaseCR/Full, 40000BaseSR4/Full
   Auto Negotiation: true
   Backing DPUId: N/A
   Cable Type: DA
   Current Message Level: 0
   Driver Info:
         Bus Info: 0000:4b:00:0
         Driver: i40en
         Firmware Version: 8.15 0x80009621 1.2829.0
         Version: 2.5.0.28
   Link Detected: true
   Link Status: Up
   Name: vmnic0
   Pause Autonegotiate: false
   Pause RX: false
   Pause TX: true
   Transceiver:
   Virtual Address: 00:00:00:00:00:00
   Wakeon: None
";

    fn uplink(name: &str) -> Entity {
        Entity::Uplink(Text::new(name))
    }

    #[test]
    fn a_real_list_without_its_rule() {
        let facts = run(&PROBE, &[(LIST, "", 0), ("", "", 0), ("", "", 0)]);
        let of = |name, attribute| shown(&facts, &uplink(name), attribute);
        assert_eq!(of("vmnic1", Attribute::PciAddress), "0000:36:00.1");
        assert_eq!(of("vmnic2", Attribute::Driver), "nenic");
        assert_eq!(of("vmnic2", Attribute::Speed), "50000000000");
        assert_eq!(of("vmnic2", Attribute::HardwareAddress), "02:00:00:00:00:bc");
        assert_eq!(of("vmnic4", Attribute::Carrier), "no");
        assert!(of("vmnic4", Attribute::Speed).starts_with("<not observable"));
        assert_eq!(of("vmnic3", Attribute::DeviceName), "Cisco Systems Inc Cisco VIC Ethernet NIC");
    }

    #[test]
    fn any_layout_says_the_same() {
        for change in [str::to_owned, with_carriage_returns, wrapped, |text: &str| wrapped(&reordered(text))] {
            let details = item("vmnic0", &wrapped(GET), 0) + &item("vmnic2", "", 1);
            let facts = run(&PROBE, &[(&change(TEMPLATE), "", 0), ("", UNKNOWN, 1), (&details, "", 0)]);
            let of = |name, attribute| shown(&facts, &uplink(name), attribute);
            assert_eq!(of("vmnic2", Attribute::Mtu), "9000");
            assert_eq!(of("vmnic2", Attribute::Duplex), "Full");
            assert_eq!(of("vmnic2", Attribute::DeviceName), "Mellanox Technologies MT28800 Family [ConnectX-5 Ex]");
            assert_eq!(of("vmnic0", Attribute::Firmware), "8.15 0x80009621 1.2829.0");
            assert_eq!(of("vmnic0", Attribute::DriverVersion), "2.5.0.28");
            assert_eq!(of("vmnic0", Attribute::PauseTx), "yes");
            assert_eq!(of("vmnic0", Attribute::CableType), "DA");
            assert!(of("vmnic2", Attribute::PauseRx).starts_with("<not published by this version"));
            assert!(of("vmnic2", Attribute::Firmware).starts_with("<failed"));
            assert_eq!(shown(&facts, &Entity::Host, Attribute::Uplinks), "vmnic0, vmnic2");
        }
    }

    #[test]
    fn pause_of_the_list_goes_before_pause_of_the_driver() {
        let second = PAUSE.split("[root@hostB").nth(1).expect("two hosts");
        for (text, expected) in [(PAUSE.split("[root@hostB").next().expect("two"), "yes"), (second, "no")] {
            let details = item("vmnic0", GET, 0);
            let facts = run(&PROBE, &[(TEMPLATE, "", 0), (text, "", 0), (&details, "", 0)]);
            assert_eq!(shown(&facts, &uplink("vmnic0"), Attribute::PauseRx), expected);
            assert_eq!(shown(&facts, &uplink("vmnic0"), Attribute::PauseTx), expected);
        }
    }

    #[test]
    fn a_dead_agent_is_no_host_without_adapters() {
        let facts = run(&PROBE, &[("", HOSTD_DEAD, 1), ("", HOSTD_DEAD, 1), ("", HOSTD_DEAD, 1)]);
        assert!(shown(&facts, &Entity::Host, Attribute::Uplinks).contains("hostd does not answer"));
    }

    #[test]
    fn nodes_of_adapters() {
        let text = item(
            "vmnic0",
            "properties {\n   Module Interface Used By The Driver:vmklinux\n   Device NUMA Node:1\n}",
            0,
        ) + &item("vmnic1", "properties {\n}", 0)
            + &item("vmnic2", "VSISHPath_Form():Extraneous '/' in path or missing instance\n", 255);
        let facts = run(&NODES, &[(&text, "", 0)]);
        assert_eq!(shown(&facts, &uplink("vmnic0"), Attribute::NumaNode), "1");
        assert!(shown(&facts, &uplink("vmnic1"), Attribute::NumaNode).starts_with("<not published"));
        assert!(shown(&facts, &uplink("vmnic2"), Attribute::NumaNode).starts_with("<failed"));
    }

    survives_damage!(
        PROBE,
        TEMPLATE,
        PAUSE,
        "@item vmnic0\n   Driver Info:\n         Version: 1\n   Pause RX: false\n\n@status 0\n"
    );
}
