//! Which thing of one target is which thing of another: guest device, VM adapter, port, switch, uplink, RDMA device, PCI
//! function. Pure: the fabric in, chains of links out, each link with the facts it rests on. What could not be joined is
//! said with its reason; nothing is guessed.

mod adapter;
mod function;
mod group;
mod guest;
pub mod identity;
mod index;
mod machine;
#[cfg(test)]
mod tests;
mod uplink;
mod wire;

use std::collections::BTreeMap;

use crate::fabric::{Attribute, Entity, EntityId, Fabric, TargetId, Value};
use crate::probe::esxi::address::PciAddress;
pub use group::{group_of, group_of_guest, vm_of_group};
pub use wire::{NamedCable, cables};

/// What is said of counters of a host's RDMA device wherever they stand for a guest.
pub const SHARED_COUNTERS: &str = "all VMs of this uplink";

/// What a link says of its two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkKind {
    /// A guest runs in a VM.
    GuestVm,
    /// A device of a guest is a device of its VM.
    GuestDevice,
    /// A device belongs to a VM.
    VmDevice,
    /// An adapter of a VM is connected to a port or a port group.
    AdapterPort,
    /// A port or port group is one of a switch.
    PortSwitch,
    /// What a switch is given leaves by this uplink.
    SwitchUplink,
    /// An RDMA device of the host works on this uplink.
    UplinkRdma,
    /// An uplink is this PCI function.
    UplinkFunction,
    /// A device of a VM is backed by this function of the host.
    DeviceFunction,
    /// A function is this virtual function.
    FunctionVirtual,
    /// A virtual function is one of this uplink.
    VirtualUplink,
    /// A function is near this NUMA node.
    FunctionNuma,
    /// An uplink is plugged into this port of a physical switch.
    UplinkInterface,
}

impl LinkKind {
    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::GuestVm => "guest-vm",
            Self::GuestDevice => "guest-device",
            Self::VmDevice => "vm-device",
            Self::AdapterPort => "adapter-port",
            Self::PortSwitch => "port-switch",
            Self::SwitchUplink => "switch-uplink",
            Self::UplinkRdma => "uplink-rdma",
            Self::UplinkFunction => "uplink-function",
            Self::DeviceFunction => "device-backing",
            Self::FunctionVirtual => "function-vf",
            Self::VirtualUplink => "vf-uplink",
            Self::FunctionNuma => "function-numa",
            Self::UplinkInterface => "uplink-interface",
        }
    }
}

/// A fact that something rests on.
pub type Basis = (EntityId, Attribute);

/// Two things that belong together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// How.
    pub kind: LinkKind,
    /// The end nearer to the guest.
    pub from: EntityId,
    /// The end nearer to the wire.
    pub to: EntityId,
    /// The facts that say so.
    pub rests_on: Vec<Basis>,
}

/// What could not be joined.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    /// From which thing nothing leads on.
    pub about: EntityId,
    /// What is missing, in two or three words: `switch port`.
    pub missing: &'static str,
    /// Why.
    pub why: String,
    /// The facts that say so, if any do.
    pub rests_on: Vec<Basis>,
}

/// One device of a VM, from the guest as far down as anything tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The VM.
    pub vm: EntityId,
    /// The device of the VM.
    pub device: EntityId,
    /// What kind of device it is, as the host words it; empty if it does not say.
    pub kind: String,
    /// The guest in it, if it is a target too.
    pub guest: Option<TargetId>,
    /// The links, from the guest to the wire.
    pub links: Vec<Link>,
    /// Where one of several uplinks carries it and nothing tells which: a link to each of them, and from each to the port
    /// that it is plugged into. None of them stands among the links, as none of them is known to be its way.
    pub either: Vec<Link>,
    /// The RDMA device of the host whose counters are the nearest to this device. They count all VMs of the uplink.
    pub counters: Option<EntityId>,
}

impl Chain {
    /// The first thing of this kind below the device.
    pub fn reaches(&self, wanted: impl Fn(&Entity) -> bool) -> Option<&EntityId> {
        self.links.iter().map(|link| &link.to).find(|id| wanted(&id.entity))
    }

    /// The uplinks of which one carries it, where nothing tells which.
    pub fn possible_uplinks(&self) -> impl Iterator<Item = &EntityId> {
        self.either.iter().filter(|link| link.kind == LinkKind::SwitchUplink).map(|link| &link.to)
    }

    /// True if it is a PVRDMA adapter.
    pub fn is_pvrdma(&self) -> bool {
        self.kind.as_bytes().windows(6).any(|word| word.eq_ignore_ascii_case(b"pvrdma"))
    }
}

/// A guest and the VM it runs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The guest.
    pub guest: TargetId,
    /// The VM, on the host where it runs.
    pub vm: EntityId,
    /// True if both sides know the BIOS UUID and say the same.
    pub confirmed: bool,
}

/// Where an uplink is plugged in, by each of the two ways to know it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cable {
    /// The uplink of a host.
    pub uplink: EntityId,
    /// The port of a switch that hears it by LLDP.
    pub heard: Option<EntityId>,
    /// The port that the inventory names.
    pub declared: Option<EntityId>,
}

impl Cable {
    /// The port: what is heard now stands above what someone wrote down.
    pub fn port(&self) -> Option<&EntityId> {
        self.heard.as_ref().or(self.declared.as_ref())
    }
}

/// What was joined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Joined {
    /// Guests and their VMs.
    pub pairs: Vec<Pair>,
    /// One chain for each device of a VM that leads somewhere.
    pub chains: Vec<Chain>,
    /// What could not be joined, and why.
    pub gaps: Vec<Gap>,
    /// Links that belong to no chain: a guest and its VM.
    pub links: Vec<Link>,
    /// Where the uplinks of the chains are plugged in, as far as anything tells.
    pub cables: Vec<Cable>,
    /// For each thing of a guest that is a device of its VM the place of its chain, the first one.
    of_guest: BTreeMap<EntityId, usize>,
}

impl Joined {
    /// All links, each once.
    pub fn all_links(&self) -> Vec<&Link> {
        let mut links: Vec<&Link> =
            self.links.iter().chain(self.chains.iter().flat_map(|chain| &chain.links)).collect();
        links.sort();
        links.dedup_by(|a, b| (a.kind, &a.from, &a.to) == (b.kind, &b.from, &b.to));
        links
    }

    /// The chain of the device of a VM that a thing of the guest is.
    pub fn chain_of(&self, thing: &EntityId) -> Option<&Chain> {
        self.of_guest.get(thing).and_then(|place| self.chains.get(*place))
    }

    /// Makes the chains known by the things of guests on them.
    fn index(&mut self) {
        for (place, chain) in self.chains.iter().enumerate() {
            for link in chain.links.iter().filter(|link| link.kind == LinkKind::GuestDevice) {
                self.of_guest.entry(link.from.clone()).or_insert(place);
            }
        }
    }

    /// The VM in which a guest runs.
    pub fn vm_of(&self, guest: &TargetId) -> Option<&EntityId> {
        self.pairs.iter().find(|pair| pair.guest == *guest).map(|pair| &pair.vm)
    }

    /// The guest that runs in a VM.
    pub fn guest_of(&self, vm: &EntityId) -> Option<&TargetId> {
        self.pairs.iter().find(|pair| pair.vm == *vm).map(|pair| &pair.guest)
    }
}

/// Joins what these targets say.
pub fn join(fabric: &Fabric, targets: &[TargetId]) -> Joined {
    join_declared(fabric, targets, &[])
}

/// The same, with the cables that the inventory names where no switch hears a host.
pub fn join_declared(fabric: &Fabric, targets: &[TargetId], declared: &[NamedCable]) -> Joined {
    let index = index::Index::of(fabric, targets);
    let view = View { fabric, index: &index };
    let mut joined = Joined::default();
    let machines = machine::machines(view, targets, &mut joined.gaps);
    guest::pair(view, targets, &machines, &mut joined);
    let guests: BTreeMap<EntityId, TargetId> =
        joined.pairs.iter().rev().map(|pair| (pair.vm.clone(), pair.guest.clone())).collect();
    for machine in &machines {
        let guest = guests.get(&machine.id).cloned();
        let first = joined.chains.len();
        for device in view.devices(&machine.id) {
            let chain = adapter::chain(view, machine, device, guest.as_ref(), &mut joined.gaps);
            joined.chains.extend(chain);
        }
        if let Some(guest) = &guest {
            function::of_guest(view, guest, first, &mut joined);
        }
    }
    wire::lead_on(view, targets, declared, &mut joined);
    joined.gaps.sort();
    joined.gaps.dedup();
    joined.index();
    joined
}

/// The fabric with the few questions that the join asks of it.
#[derive(Clone, Copy)]
struct View<'a> {
    fabric: &'a Fabric,
    index: &'a index::Index,
}

impl<'a> View<'a> {
    fn shown(self, id: &EntityId, attribute: Attribute) -> Option<String> {
        self.fabric.value(id, attribute).map(ToString::to_string).filter(|text| !text.is_empty())
    }

    fn text(self, id: &EntityId, attribute: Attribute) -> Option<&'a str> {
        self.fabric.text(id, attribute).filter(|text| !text.is_empty())
    }

    /// A list, or a text of names parted by commas.
    fn list(self, id: &EntityId, attribute: Attribute) -> Option<Vec<String>> {
        match self.fabric.value(id, attribute)? {
            Value::List(list) => Some(list.iter().map(ToString::to_string).collect()),
            other => Some(
                other
                    .to_string()
                    .split(',')
                    .map(|name| name.trim().to_owned())
                    .filter(|name| !name.is_empty())
                    .collect(),
            ),
        }
    }

    fn exists(self, id: &EntityId) -> bool {
        self.fabric.has(id)
    }

    /// Hardware address in one spelling.
    fn mac(self, id: &EntityId) -> Option<String> {
        self.shown(id, Attribute::HardwareAddress).map(|mac| mac.to_ascii_lowercase().replace('-', ":"))
    }

    /// Devices of a VM.
    fn devices(self, vm: &EntityId) -> &'a [EntityId] {
        let Entity::Vm(wanted) = &vm.entity else { return &[] };
        self.index.on(&vm.target).devices.get(wanted).map_or(&[], Vec::as_slice)
    }

    /// The PCI function of a target at this address, however it is spelled.
    fn function(self, target: &TargetId, address: &str) -> Option<EntityId> {
        self.index.on(target).function_at.get(&PciAddress::of(address)?).cloned()
    }
}
