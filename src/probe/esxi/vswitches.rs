//! Virtual switches of a host: standard ones with their port groups, distributed ones with the ports in use. A host knows
//! port groups of a distributed switch by key only.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::block::Block;
use super::reply::{self, Facts, command};
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text, Value};
use crate::probe::{Pace, Probe, Rhythm};

/// Virtual switches.
pub const PROBE: Probe = Probe {
    name: "esxi.vswitches",
    title: "virtual switches, port groups, ports",
    privilege_adds: "",
    pace: Pace::Medium,
    rhythm: Rhythm::every(300).deciding(),
    sources: &[
        command!("esxi.standard-switches", "esxcli" "network" "vswitch" "standard" "list"),
        command!("esxi.port-groups", "esxcli" "network" "vswitch" "standard" "portgroup" "list"),
        command!("esxi.distributed-switches", "esxcli" "network" "vswitch" "dvs" "vmware" "list"),
    ],
    parse,
};

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [standard, groups, distributed] = observations else { return Vec::new() };
    let mut facts = switches(standard, "standard");
    facts.extend(port_groups(groups));
    facts.extend(switches(distributed, "distributed"));
    facts
}

fn switches(observation: &Observation, kind: &str) -> Vec<Fact> {
    let mut facts = Facts::of(observation);
    let blocks = match reply::blocks(observation) {
        Ok(blocks) => blocks,
        Err(state) => {
            facts.say(&Entity::Host, Attribute::SwitchKind, Some(state), 0);
            return facts.said;
        }
    };
    for block in blocks {
        let name = block.get(&["Name"]).filter(|name| !name.is_empty()).unwrap_or(block.title);
        if name.is_empty() || block.all().is_empty() {
            continue;
        }
        let entity = Entity::VirtualSwitch(Text::new(name));
        facts.say(&entity, Attribute::SwitchKind, Some(State::Known(kind.into())), block.line);
        let mut say = |attribute, keys: &[&str], read: fn(&str) -> State<Value>| {
            if let Some(field) = block.field(keys) {
                facts.say(&entity, attribute, Some(read(&field.value)), field.line);
            }
        };
        say(Attribute::Mtu, &["MTU"], reply::count);
        say(Attribute::Uplinks, &["Uplinks"], list);
        say(Attribute::SwitchId, &["VDS ID", "DVS ID"], reply::text);
        facts.said.extend(ports(observation, &block, name));
    }
    facts.said
}

/// The ports of a distributed switch that something is connected to.
fn ports(observation: &Observation, switch: &Block<'_>, name: &str) -> Vec<Fact> {
    let mut facts = Facts::of(observation);
    let mut groups: BTreeSet<String> = BTreeSet::new();
    for record in switch.nested("DVPort") {
        let Some(port) = record.get(&["Port ID", "Port"]).filter(|port| !port.is_empty()) else { continue };
        let entity = Entity::SwitchPort { switch: Text::new(name), port: Text::new(port) };
        let mut say = |attribute, keys: &[&str], read: fn(&str) -> State<Value>| {
            if let Some(field) = record.field(keys) {
                facts.say(&entity, attribute, Some(read(&field.value)), field.line);
            }
        };
        say(Attribute::PortClient, &["Client"], reply::text);
        say(Attribute::PortGroupKey, &["DVPortgroup ID", "Portgroup ID"], reply::text);
        say(Attribute::PortInUse, &["In Use"], reply::flag);
        if let Some(field) = record.field(&["DVPortgroup ID", "Portgroup ID"])
            && reply::missing(&field.value).is_none()
            && groups.insert(field.value.to_string())
        {
            let group = Entity::PortGroup(Text::new(&field.value));
            facts.say(&group, Attribute::OnSwitch, Some(State::Known(name.into())), field.line);
        }
    }
    facts.said
}

fn port_groups(observation: &Observation) -> Vec<Fact> {
    let mut facts = Facts::of(observation);
    let titles = &["Name", "Virtual Switch", "Active Clients", "VLAN ID"];
    let table = match reply::table(observation, titles, &["Name", "Portgroup"]) {
        Ok(table) => table,
        Err(state) => {
            facts.say(&Entity::Host, Attribute::OnSwitch, Some(state), 0);
            return facts.said;
        }
    };
    for row in table.rows() {
        let Some(name) = table.get(row, &["Name", "Portgroup"]).filter(|name| !name.is_empty()) else { continue };
        let entity = Entity::PortGroup(Text::new(name));
        let of = |names: &[&str]| table.get(row, names);
        facts.say(
            &entity,
            Attribute::OnSwitch,
            of(&["Virtual Switch", "vSwitch", "Switch"]).map(reply::text),
            row.line,
        );
        facts.say(&entity, Attribute::VlanId, of(&["VLAN ID", "VLAN"]).map(reply::count), row.line);
    }
    facts.said
}

/// `vmnic4, vmnic5` as a list.
fn list(words: &str) -> State<Value> {
    reply::missing(words).unwrap_or_else(|| {
        let names: Vec<Text> = words.split(',').map(Text::new).filter(|name| !name.is_empty()).collect();
        State::Known(names.into())
    })
}

#[cfg(test)]
mod tests {
    use super::super::reply::testing::{HOSTD_DEAD, reordered, run, shown, survives_damage, with_carriage_returns};
    use super::*;

    /// As it was published, as were the next two.
    const STANDARD: &str = "vSwitch0\n   Name: vSwitch0\n   Class: cswitch\n   Num Ports: 8570\n   Used Ports: 5\n   MTU: 1500\n   \
        CDP Status: listen\n   Beacon Required By:\n   Uplinks: vmnic0\n   Portgroups: defmng, VM Network, Management Network\n";
    const GROUPS: &str = "Name                Virtual Switch  Active Clients  VLAN ID\n\
                          ------------------  --------------  --------------  -------\n\
                          Management Network  vSwitch0                     1        0\n";
    const DISTRIBUTED: &str = "DSwitch_078\n   Name: DSwitch_078\n   VDS ID: 50 1e 81 57 81 ea ba d3-94 e9 0f 7b c9 1b da 81\n   \
        Class: cswitch\n   MTU: 9000\n   Uplinks: vmnic4, vmnic5\n   VMware Branded: true\n   DVPort:\n         \
        Client: vmnic4\n         DVPortgroup ID: dvportgroup-117200\n         In Use: true\n         Port ID: 0\n\n         \
        Client: vm001.eth1\n         DVPortgroup ID: dvportgroup-117201\n         In Use: true\n         Port ID: 2\n";

    #[test]
    fn switches_groups_and_ports() {
        let changes: [fn(&str) -> String; 2] = [str::to_owned, with_carriage_returns];
        for change in changes {
            let facts =
                run(&PROBE, &[(&change(STANDARD), "", 0), (&change(GROUPS), "", 0), (&change(DISTRIBUTED), "", 0)]);
            let switch = |name| Entity::VirtualSwitch(Text::new(name));
            let port = |port| Entity::SwitchPort { switch: Text::new("DSwitch_078"), port: Text::new(port) };
            for (entity, attribute, wanted) in [
                (switch("vSwitch0"), Attribute::SwitchKind, "standard"),
                (switch("vSwitch0"), Attribute::Mtu, "1500"),
                (switch("vSwitch0"), Attribute::Uplinks, "vmnic0"),
                (switch("DSwitch_078"), Attribute::SwitchKind, "distributed"),
                (switch("DSwitch_078"), Attribute::Uplinks, "vmnic4, vmnic5"),
                (switch("DSwitch_078"), Attribute::SwitchId, "50 1e 81 57 81 ea ba d3-94 e9 0f 7b c9 1b da 81"),
                (port("0"), Attribute::PortClient, "vmnic4"),
                (port("2"), Attribute::PortClient, "vm001.eth1"),
                (port("2"), Attribute::PortGroupKey, "dvportgroup-117201"),
                (port("2"), Attribute::PortInUse, "yes"),
                (Entity::PortGroup(Text::new("dvportgroup-117201")), Attribute::OnSwitch, "DSwitch_078"),
                (Entity::PortGroup(Text::new("Management Network")), Attribute::OnSwitch, "vSwitch0"),
                (Entity::PortGroup(Text::new("Management Network")), Attribute::VlanId, "0"),
            ] {
                assert_eq!(shown(&facts, &entity, attribute), wanted, "{entity} {attribute:?}");
            }
        }
        let facts = run(&PROBE, &[("", "", 0), (&reordered(GROUPS), "", 0), ("", "", 0)]);
        assert_eq!(shown(&facts, &Entity::PortGroup(Text::new("Management Network")), Attribute::VlanId), "0");
    }

    #[test]
    fn a_dead_agent_is_no_empty_host() {
        let facts = run(&PROBE, &[(HOSTD_DEAD, "", 1), (HOSTD_DEAD, "", 1), (HOSTD_DEAD, "", 1)]);
        assert!(shown(&facts, &Entity::Host, Attribute::SwitchKind).contains("hostd"));
    }

    survives_damage!(PROBE, STANDARD, GROUPS, DISTRIBUTED);
}
