//! Which port of which physical switch an uplink is plugged into: the switch hears the host by LLDP, or the inventory says
//! it. An ESXi host sends the hardware address of the adapter as the id of its port.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Basis, Cable, Chain, Gap, Joined, Link, LinkKind, View};
use crate::config::Inventory;
use crate::config::Kind;
use crate::fabric::{Attribute, Entity, EntityId, TargetId};
use crate::probe::switch::names::{full_name, same_port};

/// A cable that the inventory names: the links of a host, or of a guest that names its host, its uplink, its switch and the
/// port there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NamedCable {
    /// The host.
    pub host: TargetId,
    /// Its uplink, `vmnic4`.
    pub uplink: String,
    /// The switch.
    pub switch: TargetId,
    /// The port of the switch, as the inventory spells it.
    pub port: String,
}

/// The cables that an inventory names.
pub fn cables(inventory: &Inventory) -> Vec<NamedCable> {
    let mut all: Vec<NamedCable> = inventory
        .targets
        .iter()
        .filter_map(|target| {
            let links = &target.links;
            let host = match target.kind {
                Some(Kind::Esxi) => &target.name,
                _ => links.host.as_ref()?,
            };
            Some(NamedCable {
                host: TargetId::new(host),
                uplink: links.uplink.clone()?,
                switch: TargetId::new(links.switch.as_ref()?),
                port: links.port.clone()?,
            })
        })
        .collect();
    all.sort();
    all.dedup();
    all
}

/// A port of a switch and the facts that name what is behind it.
type Heard = (EntityId, Vec<Basis>);

/// Leads every uplink of the chains on to its port.
pub(super) fn lead_on(view: View<'_>, targets: &[TargetId], declared: &[NamedCable], joined: &mut Joined) {
    let ports: Vec<EntityId> = targets
        .iter()
        .flat_map(|target| {
            let all = view.fabric.entities(target).filter(|entity| matches!(entity, Entity::SwitchInterface(_)));
            all.map(|entity| EntityId::new(target, entity.clone()))
        })
        .collect();
    if ports.is_empty() && declared.is_empty() {
        return;
    }
    let by_address = by_address(view, &ports);
    let uplinks: BTreeSet<EntityId> = joined.chains.iter().flat_map(uplinks_of).cloned().collect();
    let mut links: BTreeMap<EntityId, Link> = BTreeMap::new();
    for uplink in uplinks {
        let heard = heard(view, &uplink, &ports, &by_address);
        let named = declared.iter().find(|cable| cable.host == uplink.target && cable.uplink == uplink.entity.name());
        let by_inventory = named.and_then(|cable| {
            ports
                .iter()
                .find(|port| port.target == cable.switch && same_port(&port.entity.name(), &cable.port))
                .cloned()
        });
        let cable = Cable {
            uplink: uplink.clone(),
            heard: if let Ok(Some((port, _))) = &heard { Some(port.clone()) } else { None },
            declared: by_inventory.clone(),
        };
        let found = match heard {
            Ok(Some(found)) => Some(found),
            Ok(None) => by_inventory.map(|port| {
                let basis = vec![(port.clone(), Attribute::OperationalState)];
                (port, basis)
            }),
            Err((why, rests_on)) => {
                joined.gaps.push(Gap { about: uplink.clone(), missing: "switch port", why, rests_on });
                continue;
            }
        };
        match found {
            Some((port, rests_on)) => {
                let link = Link { kind: LinkKind::UplinkInterface, from: uplink.clone(), to: port, rests_on };
                links.insert(uplink, link);
                joined.cables.push(cable);
            }
            // Where the others are plugged in nobody needs to know.
            None if named.is_some() || carries_rdma(joined, &uplink) => {
                joined.gaps.push(gap(view, &uplink, named, !ports.is_empty()));
            }
            None => {}
        }
    }
    for chain in &mut joined.chains {
        let further: Vec<Link> = chain.possible_uplinks().filter_map(|uplink| links.get(uplink)).cloned().collect();
        chain.either.extend(further);
        let Some(link) = uplink_of(&chain.links).and_then(|uplink| links.get(uplink)).cloned() else { continue };
        chain.links.push(link);
    }
}

/// The uplink that a chain ends in; where nothing tells which, those of which it is one.
fn uplinks_of(chain: &Chain) -> impl Iterator<Item = &EntityId> {
    uplink_of(&chain.links).into_iter().chain(chain.possible_uplinks())
}

/// The uplink that a chain ends in.
fn uplink_of(links: &[Link]) -> Option<&EntityId> {
    let leads = |link: &&Link| matches!(link.kind, LinkKind::SwitchUplink | LinkKind::VirtualUplink);
    links.iter().find(leads).map(|link| &link.to)
}

/// True if an adapter of a VM uses an uplink for RDMA.
fn carries_rdma(joined: &Joined, uplink: &EntityId) -> bool {
    joined.chains.iter().any(|chain| {
        let is_function = chain.links.iter().any(|link| link.kind == LinkKind::VirtualUplink);
        (chain.is_pvrdma() || is_function) && uplinks_of(chain).any(|one| one == uplink)
    })
}

/// Why nothing says where an uplink is plugged in.
fn gap(view: View<'_>, uplink: &EntityId, named: Option<&NamedCable>, are_read: bool) -> Gap {
    let name = uplink.entity.name();
    let why = match named {
        Some(cable) if are_read => format!(
            "the inventory says that {name} is plugged into {} of {}, and {} has no such port",
            full_name(&cable.port),
            cable.switch,
            cable.switch
        ),
        Some(cable) => {
            format!("{name} is plugged into {} of {}, which was not read", full_name(&cable.port), cable.switch)
        }
        None => format!(
            "no switch of the inventory says that {name} is plugged into it: the host must send LLDP (on a distributed switch: \
             operation Both or Advertise), or the inventory name its switch and port"
        ),
    };
    let rests_on = view.exists(uplink).then(|| (uplink.clone(), Attribute::HardwareAddress)).into_iter().collect();
    Gap { about: uplink.clone(), missing: "switch port", why, rests_on }
}

/// Twelve hexadecimal digits of a hardware address in any spelling: `0c42.a17c.2010`, `0c:42:a1:7c:20:10`.
fn address(text: &str) -> Option<String> {
    let is_part = |character: char| character.is_ascii_hexdigit() || ":.-".contains(character);
    let digits: String = text.trim().chars().filter(char::is_ascii_hexdigit).collect();
    (digits.len() == 12 && text.trim().chars().all(is_part)).then(|| digits.to_ascii_lowercase())
}

/// Ports by the address that is behind them, as the id of the neighbour's port, else as that of its chassis.
fn by_address(view: View<'_>, ports: &[EntityId]) -> BTreeMap<(String, bool), Vec<EntityId>> {
    let mut found: BTreeMap<(String, bool), Vec<EntityId>> = BTreeMap::new();
    for port in ports {
        for (attribute, is_port) in [(Attribute::NeighbourPort, true), (Attribute::NeighbourChassis, false)] {
            if let Some(address) = view.text(port, attribute).and_then(address) {
                found.entry((address, is_port)).or_default().push(port.clone());
            }
        }
    }
    found
}

/// The port that hears an uplink; why it cannot be told where several do.
fn heard(
    view: View<'_>,
    uplink: &EntityId,
    ports: &[EntityId],
    by_address: &BTreeMap<(String, bool), Vec<EntityId>>,
) -> Result<Option<Heard>, (String, Vec<Basis>)> {
    let several = |found: &[EntityId], attribute| {
        let names: Vec<String> =
            found.iter().map(|port| format!("{} of {}", port.entity.name(), port.target)).collect();
        let why = format!(
            "{} hear {}: a neighbour that moved is remembered for a while; which of them it is now is not observable",
            names.join(" and "),
            uplink.entity.name()
        );
        (why, found.iter().map(|port| (port.clone(), attribute)).collect())
    };
    let own = view.mac(uplink).and_then(|mac| address(&mac));
    for (is_port, attribute) in [(true, Attribute::NeighbourPort), (false, Attribute::NeighbourChassis)] {
        let Some(own) = &own else { break };
        match by_address.get(&(own.clone(), is_port)).map(Vec::as_slice) {
            Some([port]) => {
                let basis = vec![(port.clone(), attribute), (uplink.clone(), Attribute::HardwareAddress)];
                return Ok(Some((port.clone(), basis)));
            }
            Some(found) => return Err(several(found, attribute)),
            None => {}
        }
    }
    let host = EntityId::new(&uplink.target, Entity::Host);
    let Some(hostname) = view.text(&host, Attribute::Hostname) else { return Ok(None) };
    let name = uplink.entity.name();
    let mut found: Vec<Heard> = Vec::new();
    for port in ports {
        let is_host = view.text(port, Attribute::NeighbourName).is_some_and(|heard| same_host(heard, hostname));
        let says = [Attribute::NeighbourPort, Attribute::NeighbourPortDescription, Attribute::PortDescription];
        let named =
            says.into_iter().find(|attribute| view.text(port, *attribute).is_some_and(|text| has_word(text, &name)));
        if let (true, Some(attribute)) = (is_host, named) {
            let basis = vec![
                (port.clone(), Attribute::NeighbourName),
                (port.clone(), attribute),
                (host.clone(), Attribute::Hostname),
            ];
            found.push((port.clone(), basis));
        }
    }
    match found.len() {
        0 | 1 => Ok(found.pop()),
        _ => {
            let ports: Vec<EntityId> = found.into_iter().map(|(port, _)| port).collect();
            Err(several(&ports, Attribute::NeighbourName))
        }
    }
}

/// True if two names are of one host: with or without its domain.
fn same_host(one: &str, other: &str) -> bool {
    let first = |name: &str| name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    !one.is_empty() && first(one) == first(other)
}

/// True if a text holds a name as a word of its own.
fn has_word(text: &str, name: &str) -> bool {
    text.split(|character: char| !character.is_ascii_alphanumeric()).any(|word| word.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_hosts_and_words() {
        assert_eq!(address("0C42.a17c.2010"), address("0c:42:a1:7c:20:10"));
        assert_eq!(address("Ethernet1/1"), None);
        assert_eq!(address("0c:42:a1:7c:20"), None);
        assert!(same_host("esx01.lab.example", "ESX01") && !same_host("esx01", "esx011"));
        assert!(has_word("esx01 vmnic4, rack 2", "vmnic4") && !has_word("vmnic40", "vmnic4"));
    }

    #[test]
    fn cables_of_an_inventory() {
        use crate::config::{Links, SwitchSystem, Target};
        let target = |name: &str, kind, links| Target {
            name: name.to_owned(),
            kind: Some(kind),
            address: None,
            tags: Vec::new(),
            links,
            by: crate::probe::privilege::Become::None,
            access: crate::config::Access::default(),
            line: 0,
        };
        let to = |host: Option<&str>| Links {
            vm: None,
            host: host.map(str::to_owned),
            uplink: Some("vmnic4".to_owned()),
            switch: Some("leaf1".to_owned()),
            port: Some("Et1".to_owned()),
        };
        let inventory = Inventory {
            targets: vec![
                target("esx01", Kind::Esxi, to(None)),
                target("vm-a", Kind::Linux, to(Some("esx01"))),
                target("vm-b", Kind::Linux, to(None)),
                target("leaf1", Kind::Switch(SwitchSystem::Eos), Links::default()),
            ],
        };
        let all = cables(&inventory);
        assert_eq!(all.len(), 1, "said twice, and once of no host: {all:?}");
        assert_eq!((all[0].host.as_str(), all[0].port.as_str()), ("esx01", "Et1"));
    }
}
