//! VMkernel adapters of a host: switch, port, MTU, addresses. One of them is tagged for PVRDMA.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use super::reply::{self, Facts, command};
use crate::fabric::{Attribute, Entity, Fact, MacAddress, Observation, State, Text, Value};
use crate::probe::{Pace, Probe, Rhythm};

/// VMkernel adapters.
pub const PROBE: Probe = Probe {
    name: "esxi.vmknics",
    title: "VMkernel adapters: switch, port, MTU, addresses",
    privilege_adds: "",
    pace: Pace::Medium,
    rhythm: Rhythm::every(300).deciding(),
    sources: &[
        command!("esxi.vmknic-list", "esxcli" "network" "ip" "interface" "list"),
        command!("esxi.vmknic-addresses", "esxcli" "network" "ip" "interface" "ipv4" "get"),
    ],
    parse,
};

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [interfaces, addresses] = observations else { return Vec::new() };
    let mut facts = Facts::of(interfaces);
    match reply::blocks(interfaces) {
        Err(state) => facts.say(&Entity::Host, Attribute::Netstack, Some(state), 0),
        Ok(blocks) => {
            for block in blocks {
                let name = block.get(&["Name"]).filter(|name| !name.is_empty()).unwrap_or(block.title);
                if name.is_empty() || block.all().is_empty() {
                    continue;
                }
                let entity = Entity::Vmknic(Text::new(name));
                let mut say = |attribute, keys: &[&str], read: fn(&str) -> State<Value>| {
                    if let Some(field) = block.field(keys) {
                        facts.say(&entity, attribute, Some(read(&field.value)), field.line);
                    }
                };
                say(Attribute::HardwareAddress, &["MAC Address", "MAC"], mac);
                say(Attribute::AdminUp, &["Enabled"], reply::flag);
                say(Attribute::Mtu, &["MTU"], reply::count);
                say(Attribute::Netstack, &["Netstack Instance", "Netstack"], reply::text);
                say(Attribute::PortGroupKey, &["Portgroup"], reply::text);
                let distributed =
                    block.get(&["VDS Name", "VDS UUID", "DVS Name"]).is_some_and(|name| reply::missing(name).is_none());
                if distributed {
                    say(Attribute::OnSwitch, &["VDS Name", "DVS Name"], reply::text);
                    say(Attribute::SwitchId, &["VDS UUID", "DVS UUID"], reply::text);
                    say(Attribute::PortId, &["VDS Port", "DVS Port"], reply::text);
                    say(Attribute::ConnectionId, &["VDS Connection", "DVS Connection"], reply::text);
                } else {
                    // On a standard switch the set of ports is the switch.
                    say(Attribute::OnSwitch, &["Portset"], reply::text);
                }
            }
        }
    }
    let mut said = facts.said;
    said.extend(address_facts(addresses));
    said
}

fn mac(word: &str) -> State<Value> {
    match word.parse::<MacAddress>() {
        Ok(address) => State::Known(address.into()),
        Err(_) => reply::missing(word).unwrap_or_else(|| reply::not_understood(word)),
    }
}

fn address_facts(observation: &Observation) -> Vec<Fact> {
    let mut facts = Facts::of(observation);
    let titles = &["Name", "IPv4 Address", "IPv4 Netmask", "IPv4 Broadcast", "Address Type", "Gateway", "DHCP DNS"];
    let table = match reply::table(observation, titles, &["Name", "Interface"]) {
        Ok(table) => table,
        Err(state) => {
            facts.say(&Entity::Host, Attribute::AddressType, Some(state), 0);
            return facts.said;
        }
    };
    // An adapter with several addresses has several rows.
    let mut addresses: BTreeMap<&str, (Vec<Text>, u32)> = BTreeMap::new();
    for row in table.rows() {
        let Some(name) = table.get(row, &["Name", "Interface"]).filter(|name| !name.is_empty()) else { continue };
        let entity = Entity::Vmknic(Text::new(name));
        facts.say(
            &entity,
            Attribute::AddressType,
            table.get(row, &["Address Type", "Type"]).map(reply::text),
            row.line,
        );
        let entry = addresses.entry(name).or_insert((Vec::new(), row.line));
        let Some(address) =
            table.get(row, &["IPv4 Address", "IP Address"]).and_then(|word| word.parse::<Ipv4Addr>().ok())
        else {
            continue;
        };
        let mask = table.get(row, &["IPv4 Netmask", "Netmask"]).and_then(|word| word.parse::<Ipv4Addr>().ok());
        // An adapter that waits for its address has 0.0.0.0.
        if !address.is_unspecified() {
            entry.0.push(Text::new(&match mask.and_then(prefix) {
                Some(length) => format!("{address}/{length}"),
                None => address.to_string(),
            }));
        }
    }
    for (name, (addresses, line)) in addresses {
        let state = if addresses.is_empty() { State::Empty } else { State::Known(addresses.into()) };
        facts.say(&Entity::Vmknic(Text::new(name)), Attribute::Addresses, Some(state), line);
    }
    facts.said
}

/// Length of a mask; `None` for one with holes.
fn prefix(mask: Ipv4Addr) -> Option<u32> {
    let bits = u32::from(mask);
    (bits.leading_ones() + bits.trailing_zeros() == 32 || bits == 0).then(|| bits.leading_ones())
}

#[cfg(test)]
mod tests {
    use super::super::reply::testing::{HOSTD_DEAD, reordered, run, shown, survives_damage, with_carriage_returns};
    use super::*;

    /// As it was published.
    const LIST: &str = "vmk0\n   Name: vmk0\n   MAC Address: 00:50:56:00:00:00\n   Enabled: true\n   Portset: vSwitch0\n   \
        Portgroup: Management Network\n   Netstack Instance: defaultTcpipStack\n   VDS Name: N/A\n   VDS UUID: N/A\n   VDS Port: N/A\n   \
        VDS Connection: -1\n   MTU: 1500\n\nvmk1\n   Name: vmk1\n   MAC Address: 00:50:56:00:00:01\n   Enabled: true\n   Portset: DvsPortset-1\n   \
        Portgroup: N/A\n   Netstack Instance: defaultTcpipStack\n   VDS Name: DSwitch_078\n   VDS UUID: 50 1e 81 57 81 ea ba d3-94 e9 0f 7b c9 1b da 81\n   \
        VDS Port: 10\n   VDS Connection: 123456789\n   MTU: 9000\n   TSO MSS: 65535\n   Port ID: 67108873\n";
    const ADDRESSES: &str = "Name  IPv4 Address   IPv4 Netmask   IPv4 Broadcast  Address Type  Gateway     DHCP DNS\n\
                             ----  -------------  -------------  --------------  ------------  ----------  --------\n\
                             vmk1  192.0.2.11     255.255.255.0  192.0.2.255     STATIC        0.0.0.0        false\n\
                             vmk2  0.0.0.0        0.0.0.0        0.0.0.0         DHCP          0.0.0.0        false\n";

    #[test]
    fn adapters_on_both_kinds_of_switches() {
        for text in [ADDRESSES.to_owned(), with_carriage_returns(ADDRESSES), reordered(ADDRESSES)] {
            let facts = run(&PROBE, &[(&with_carriage_returns(LIST), "", 0), (&text, "", 0)]);
            let of = |name, attribute| shown(&facts, &Entity::Vmknic(Text::new(name)), attribute);
            assert_eq!(of("vmk0", Attribute::OnSwitch), "vSwitch0");
            assert_eq!(of("vmk0", Attribute::PortGroupKey), "Management Network");
            assert_eq!(of("vmk0", Attribute::PortId), "absent");
            assert_eq!(of("vmk1", Attribute::OnSwitch), "DSwitch_078");
            assert_eq!(of("vmk1", Attribute::PortId), "10");
            assert_eq!(of("vmk1", Attribute::ConnectionId), "123456789");
            assert_eq!(of("vmk1", Attribute::Mtu), "9000");
            assert_eq!(of("vmk1", Attribute::HardwareAddress), "00:50:56:00:00:01");
            assert_eq!(of("vmk1", Attribute::Addresses), "192.0.2.11/24");
            assert_eq!(of("vmk1", Attribute::AddressType), "STATIC");
            assert_eq!(of("vmk2", Attribute::Addresses), "<empty>");
        }
    }

    #[test]
    fn no_answer_is_said() {
        let facts = run(&PROBE, &[(HOSTD_DEAD, "", 1), ("", "", 127)]);
        assert!(shown(&facts, &Entity::Host, Attribute::Netstack).contains("hostd"));
        assert!(shown(&facts, &Entity::Host, Attribute::AddressType).contains("not installed"));
    }

    survives_damage!(PROBE, LIST, ADDRESSES);
}
