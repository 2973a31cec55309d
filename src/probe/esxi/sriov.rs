//! Adapters with virtual functions, and the functions. Their addresses are decimal up to 8.0 U2 and hexadecimal from
//! 8.0 U3 on; which it is shows in the number of digits.

use std::sync::Arc;

use super::address::PciAddress;
use super::each;
use super::reply::{self, Facts, command, for_each};
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text};
use crate::probe::{Pace, Probe, Rhythm};

/// Virtual functions.
pub const PROBE: Probe = Probe {
    name: "esxi.sriov",
    title: "adapters with virtual functions, and who uses them",
    privilege_adds: "",
    pace: Pace::Slow,
    rhythm: Rhythm::PACE,
    sources: &[
        command!("esxi.sriov-nics", "esxcli" "network" "sriovnic" "list"),
        for_each!("esxi.sriov-vfs", SriovUplinks, "esxcli" "network" "sriovnic" "vf" "list" "-n"),
    ],
    parse,
};

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [nics, functions] = observations else { return Vec::new() };
    let mut facts = Facts::of(nics);
    match reply::table(nics, &["Name", "PCI Device", "Driver", "Link", "Speed"], &["Name"]) {
        Err(state) => facts.say(&Entity::Host, Attribute::SriovCapable, Some(state), 0),
        Ok(table) => {
            for row in table.rows() {
                if let Some(name) = table.get(row, &["Name"]).filter(|name| !name.is_empty()) {
                    let state = Some(State::Known(true.into()));
                    facts.say(&Entity::Uplink(Text::new(name)), Attribute::SriovCapable, state, row.line);
                }
            }
        }
    }
    let mut all = facts.said;
    let mut facts = Facts::of(functions);
    let (items, left_out) = each::items(functions);
    reply::say_left_out(&mut facts, Attribute::VirtualFunctionActive, left_out);
    for item in items {
        let uplink = Text::new(item.name);
        let titles = &["VF ID", "Active", "PCI Address", "Owner World ID"];
        let table = match reply::table_of(&item, &functions.command, titles, &["VF ID", "ID"]) {
            Ok(table) => table,
            Err(state) => {
                facts.say(&Entity::Uplink(uplink), Attribute::VirtualFunctionActive, Some(state), 0);
                continue;
            }
        };
        for row in table.rows() {
            let Some(index) = table.get(row, &["VF ID", "ID"]).and_then(|index| index.parse().ok()) else { continue };
            let entity = Entity::VirtualFunction { uplink: uplink.clone(), index };
            let mut say = |attribute, state| facts.say(&entity, attribute, state, row.line);
            say(Attribute::VirtualFunctionActive, table.get(row, &["Active"]).map(reply::flag));
            say(
                Attribute::PciAddress,
                table.get(row, &["PCI Address"]).map(|word| match PciAddress::of(word) {
                    Some(address) => State::Known(address.to_string().as_str().into()),
                    None => reply::missing(word).unwrap_or_else(|| reply::not_understood(word)),
                }),
            );
            let owner = table.get(row, &["Owner World ID"]);
            say(Attribute::OwnerWorld, owner.map(|word| if word == "-" { State::Empty } else { reply::text(word) }));
        }
    }
    all.extend(facts.said);
    all
}

#[cfg(test)]
mod tests {
    use super::super::reply::testing::{item, reordered, run, shown, survives_damage, with_carriage_returns};
    use super::*;

    /// As public test code has them.
    const LIST: &str = "\
Name    PCI Device    Driver      Link   Speed  Duplex  MAC Address         MTU  Description
------  ------------  ----------  ----  ------  ------  -----------------  ----  -----------
vmnic5  0000:42:00.0  nmlx5_core  Up    100000  Full    ec:0d:9a:00:00:02  1500  ConnectX
";
    const DECIMAL: &str = "\
VF ID  Active  PCI Address     Owner World ID
-----  ------  --------------  --------------
    0   false  00000:101:00.1   -
    1   true   00000:101:00.2   2103475
";
    const HEXADECIMAL: &str = "\
VF ID  Active  PCI Address   Owner World ID
-----  ------  ------------  --------------
    0   true   0000:b1:01.0  2103475
";

    fn function(index: u32) -> Entity {
        Entity::VirtualFunction { uplink: Text::new("vmnic5"), index }
    }

    #[test]
    fn decimal_and_hexadecimal_addresses() {
        for change in [str::to_owned, with_carriage_returns, reordered] {
            let facts = run(&PROBE, &[(LIST, "", 0), (&item("vmnic5", &change(DECIMAL), 0), "", 0)]);
            assert_eq!(shown(&facts, &function(1), Attribute::PciAddress), "0000:65:00.2");
            assert_eq!(shown(&facts, &function(1), Attribute::VirtualFunctionActive), "yes");
            assert_eq!(shown(&facts, &function(1), Attribute::OwnerWorld), "2103475");
            assert_eq!(shown(&facts, &function(0), Attribute::OwnerWorld), "<empty>");
            assert_eq!(shown(&facts, &Entity::Uplink(Text::new("vmnic5")), Attribute::SriovCapable), "yes");
        }
        let facts = run(&PROBE, &[(LIST, "", 0), (&item("vmnic5", HEXADECIMAL, 0), "", 0)]);
        assert_eq!(shown(&facts, &function(0), Attribute::PciAddress), "0000:b1:01.0");
    }

    #[test]
    fn an_adapter_that_has_none_says_so() {
        let text = item("vmnic6", "There is no SRIOV Nic with name vmnic6", 1);
        let facts = run(&PROBE, &[("", "", 0), (&text, "", 0)]);
        let uplink = Entity::Uplink(Text::new("vmnic6"));
        assert_eq!(
            shown(&facts, &uplink, Attribute::VirtualFunctionActive),
            "<failed: There is no SRIOV Nic with name vmnic6>"
        );
    }

    survives_damage!(
        PROBE,
        LIST,
        "@item vmnic5\nVF ID  Active  PCI Address     Owner World ID\n-----  ------  --------------  --------------\n    0   false  00000:101:00.1   -\n\n@status 0\n"
    );
}
