//! Between which devices of two guests a benchmark runs: chosen from what is known of both, with reasons.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use crate::fabric::{Attribute, Entity, EntityId, Fabric, GidType, PortState, QueuePairState, TargetId, Text, Value};

/// A port of a guest over which IPv4 addresses are reached by RoCE v2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The guest.
    pub target: TargetId,
    /// Its RDMA device.
    pub device: String,
    /// Port of that device, from 1.
    pub port: u32,
    /// Index of the RoCE v2 entry with this address in the table of GIDs.
    pub gid_index: u32,
    /// The address that the other guest connects to.
    pub address: Ipv4Addr,
    /// Length of the prefix of its subnet, if it is known.
    pub prefix: Option<u8>,
    /// The RoCE MTU in force, in octets.
    pub mtu: Option<u64>,
    /// The rate that the wire really has, in bits a second, where anything honest tells it.
    pub wire: Option<u64>,
    /// PCIe of the device: speed as sysfs words it, and lanes. `None` where there is no such device, or it is virtual.
    pub pcie: Option<(Text, u64)>,
    /// True on a VLAN.
    pub has_vlan: bool,
    /// True for the paravirtual device of VMware.
    pub is_pvrdma: bool,
    /// True for soft-RoCE, which has no rate of its own.
    pub is_soft: bool,
    /// What uses the device already, a sentence each.
    pub users: Vec<String>,
}

/// The places of a guest, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// Places that can be used, by name.
    pub usable: Vec<Place>,
    /// What was left out, and why: a sentence each.
    pub left_out: Vec<String>,
}

/// The two places of a benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Where the server runs.
    pub server: Place,
    /// Where the client runs.
    pub client: Place,
    /// What there is to say about the choice.
    pub notes: Vec<String>,
}

/// Chooses between whom it runs; `device` names one on each side, where somebody does.
pub fn pair(guests: [(&TargetId, &Fabric); 2], device: [Option<&str>; 2]) -> Result<Pair, String> {
    let [server, client] = guests.map(|(target, _)| target);
    let found = guests.map(|(target, fabric)| Places::of(fabric, target));
    let mut usable: Vec<Vec<Place>> = Vec::new();
    for ((target, places), device) in [server, client].into_iter().zip(found).zip(device) {
        let named: Vec<Place> =
            places.usable.into_iter().filter(|place| device.is_none_or(|device| place.device == device)).collect();
        if named.is_empty() {
            let device = device.map(|device| format!(" named {device}")).unwrap_or_default();
            let why = if places.left_out.is_empty() {
                "it has no RDMA device that could be read".to_owned()
            } else {
                places.left_out.join("; ")
            };
            return Err(format!("{target}: no active port{device} with an IPv4 address by RoCE v2: {why}"));
        }
        usable.push(named);
    }
    let [servers, clients] = usable.as_slice() else { return Err("two guests are needed".into()) };
    let both = || servers.iter().flat_map(|one| clients.iter().map(move |other| (one, other)));
    let mut notes = Vec::new();
    let (one, other) = if let Some(pair) = both().find(|(one, other)| is_one_subnet(one, other)) {
        let more = both().filter(|(one, other)| is_one_subnet(one, other)).count() - 1;
        if more > 0 {
            notes.push(format!("{more} more pair(s) of devices share a subnet; the first was taken"));
        }
        pair
    } else if let ([one], [other]) = (servers.as_slice(), clients.as_slice()) {
        notes.push(format!("{} and {} are not known to share a subnet", one.address, other.address));
        (one, other)
    } else {
        let shown = |places: &[Place]| {
            places.iter().map(|place| format!("{} ({})", place.device, place.address)).collect::<Vec<_>>().join(", ")
        };
        return Err(format!(
            "no devices share a subnet, and there are several: {server} has {}, {client} has {}; name one on each side with --device",
            shown(servers),
            shown(clients)
        ));
    };
    if let (Some(first), Some(second)) = (one.mtu, other.mtu)
        && first != second
    {
        notes.push(format!("the RoCE MTU is {first} on {server} and {second} on {client}: the lower one is in force"));
    }
    Ok(Pair { server: one.clone(), client: other.clone(), notes })
}

fn is_one_subnet(one: &Place, other: &Place) -> bool {
    let (Some(prefix), Some(same)) = (one.prefix, other.prefix) else { return false };
    let mask = u32::MAX.checked_shl(u32::from(32 - prefix.min(32))).unwrap_or(0);
    prefix == same && one.address != other.address && one.address.to_bits() & mask == other.address.to_bits() & mask
}

impl Places {
    /// All places of a guest.
    pub fn of(fabric: &Fabric, target: &TargetId) -> Self {
        let mut places = Self { usable: Vec::new(), left_out: Vec::new() };
        for (device, port) in fabric.ports(target) {
            let name = format!("{device}/{port}");
            let id = EntityId::new(target, Entity::RdmaPort { device: device.clone(), port });
            match fabric.value(&id, Attribute::PortState) {
                Some(Value::PortState(PortState::Active)) => {}
                Some(state) => {
                    places.left_out.push(format!("{name} is {state}"));
                    continue;
                }
                None => {
                    places.left_out.push(format!("the state of {name} is not known"));
                    continue;
                }
            }
            let entries = entries(fabric, target, device, port);
            if entries.is_empty() {
                places.left_out.push(format!("{name} has no RoCE v2 entry with an IPv4 address in its table of GIDs"));
            }
            for (gid_index, address, gid_netdev) in entries {
                places.usable.push(place(fabric, target, (device, port), (gid_index, address, gid_netdev)));
            }
        }
        places
    }
}

type Entry = (u32, Ipv4Addr, Option<String>);

fn entries(fabric: &Fabric, target: &TargetId, device: &Text, port: u32) -> Vec<Entry> {
    let first = Entity::Gid { device: Text::new(""), port: 0, index: 0 };
    fabric
        .of_kind(target, first)
        .filter_map(|entity| {
            let Entity::Gid { device: of, port: at, index } = entity else { return None };
            if of != device || *at != port {
                return None;
            }
            let id = EntityId::new(target, entity.clone());
            let Some(Value::GidType(GidType::RoceV2)) = fabric.value(&id, Attribute::GidType) else { return None };
            let Some(Value::Gid(gid)) = fabric.value(&id, Attribute::GidValue) else { return None };
            let netdev = fabric.text(&id, Attribute::GidNetdev).map(str::to_owned);
            gid.ipv4().map(|address| (*index, address, netdev))
        })
        .collect()
}

fn place(
    fabric: &Fabric,
    target: &TargetId,
    (device, port): (&Text, u32),
    (gid_index, address, gid_netdev): Entry,
) -> Place {
    let of_port = EntityId::new(target, Entity::RdmaPort { device: device.clone(), port });
    let of_device = EntityId::new(target, Entity::RdmaDevice(device.clone()));
    let netdev = gid_netdev.or_else(|| fabric.text(&of_port, Attribute::PortNetdev).map(str::to_owned));
    let of_netdev = netdev.as_deref().map(|name| EntityId::new(target, Entity::Netdev(Text::new(name))));
    let driver = fabric.text(&of_device, Attribute::Driver).unwrap_or_default();
    let is_pvrdma = driver.contains("pvrdma");
    let is_soft = driver.contains("rxe") || driver.contains("siw");
    let function = fabric
        .text(&of_device, Attribute::PciAddress)
        .map(|at| EntityId::new(target, Entity::PciFunction(Text::new(at))));
    let pcie = function.filter(|_| !is_pvrdma && !is_soft).and_then(|function| {
        let speed = fabric.text(&function, Attribute::LinkSpeed)?;
        Some((Text::new(speed), fabric.value(&function, Attribute::LinkWidth)?.as_count()?))
    });
    Place {
        target: target.clone(),
        device: device.to_string(),
        port,
        gid_index,
        address,
        prefix: of_netdev.as_ref().and_then(|netdev| prefix(fabric, netdev, address)),
        mtu: fabric.value(&of_port, Attribute::PathMtu).and_then(Value::as_count),
        wire: fabric.value(&of_port, Attribute::Ceiling).and_then(Value::as_count),
        pcie,
        has_vlan: of_netdev.is_some_and(|netdev| fabric.value(&netdev, Attribute::VlanId).is_some()),
        is_pvrdma,
        is_soft,
        users: users(fabric, target, device),
    }
}

/// The length of the prefix with which an interface has this address.
fn prefix(fabric: &Fabric, netdev: &EntityId, address: Ipv4Addr) -> Option<u8> {
    let addresses = fabric.value(netdev, Attribute::Addresses)?.as_list()?;
    addresses.iter().find_map(|text| {
        let (known, length) = text.split_once('/')?;
        (known.parse() == Ok(address)).then(|| length.parse().ok())?
    })
}

/// Processes that have queue pairs in RTS on a device.
fn users(fabric: &Fabric, target: &TargetId, device: &Text) -> Vec<String> {
    let first = Entity::QueuePair { device: Text::new(""), port: None, number: 0 };
    let mut found: BTreeMap<&str, (BTreeSet<String>, usize)> = BTreeMap::new();
    for entity in fabric.of_kind(target, first) {
        let Entity::QueuePair { device: of, .. } = entity else { continue };
        let id = EntityId::new(target, entity.clone());
        let is_rts = matches!(
            fabric.value(&id, Attribute::QueuePairState),
            Some(Value::QueuePairState(QueuePairState::ReadyToSend))
        );
        let owner = fabric.text(&id, Attribute::OwnerCommand).unwrap_or_default();
        // Those of the kernel are always there.
        if of != device || !is_rts || owner.is_empty() || owner.starts_with('[') {
            continue;
        }
        let (processes, count) = found.entry(owner).or_default();
        processes.extend(fabric.value(&id, Attribute::OwnerProcess).map(ToString::to_string));
        *count += 1;
    }
    let plural =
        |number: usize, one: &str, several: &str| format!("{number} {}", if number == 1 { one } else { several });
    found
        .into_iter()
        .map(|(name, (processes, count))| {
            let who = match processes.len() {
                0 => String::new(),
                1 => processes.first().map(|process| format!(" (process {process})")).unwrap_or_default(),
                several => format!(" ({several} processes)"),
            };
            format!(
                "{name}{who} uses {device} already with {}: it will be slowed down, and the result be lower",
                plural(count, "connected queue pair", "connected queue pairs")
            )
        })
        .collect()
}
