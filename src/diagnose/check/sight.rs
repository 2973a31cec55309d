//! The questions that many checks ask of a scene: which machines there are, which RDMA ports a guest has and of what kind
//! they are, what is on their way, and why a value is missing.

use super::judged::Lack;
use super::scene::{Answer, MachineKind, Reached, Scene};
use crate::diagnose::join::Chain;
use crate::fabric::{Attribute, Entity, EntityId, State, TargetId, Text, Value};

/// What an RDMA device of a guest is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeviceKind {
    /// VMware's paravirtual adapter.
    Pvrdma,
    /// A whole adapter, or a virtual function of one, that is passed through.
    Passthrough,
    /// A device that the kernel makes in software over an interface: rxe, siw.
    Software,
    /// Nothing tells.
    Unclear,
}

/// One RDMA port of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// The port.
    pub id: EntityId,
    /// Its device.
    pub device: EntityId,
    /// What that is.
    pub kind: DeviceKind,
    /// The interface under it, where anything names it.
    pub netdev: Option<EntityId>,
    /// True if it is a native InfiniBand port.
    pub is_infiniband: bool,
}

impl<'a> Scene<'a> {
    /// Targets of this kind, in the order of their names.
    pub fn of_kind(&self, kind: MachineKind) -> impl Iterator<Item = &'a TargetId> + use<'a> {
        self.machines.iter().filter(move |(_, machine)| machine.kind == kind).map(|(target, _)| target)
    }

    /// Linux systems.
    pub fn guests(&self) -> impl Iterator<Item = &'a TargetId> + use<'a> {
        self.of_kind(MachineKind::Guest)
    }

    /// ESXi hosts.
    pub fn hosts(&self) -> impl Iterator<Item = &'a TargetId> + use<'a> {
        self.of_kind(MachineKind::Host)
    }

    /// Switches.
    pub fn switches(&self) -> impl Iterator<Item = &'a TargetId> + use<'a> {
        self.of_kind(MachineKind::Switch)
    }

    /// A known value.
    pub fn value(&self, id: &EntityId, attribute: Attribute) -> Option<&'a Value> {
        self.fabric.value(id, attribute)
    }

    /// A known text that is not empty.
    pub fn text(&self, id: &EntityId, attribute: Attribute) -> Option<&'a str> {
        self.fabric.text(id, attribute).filter(|text| !text.is_empty())
    }

    /// A known number.
    pub fn count(&self, id: &EntityId, attribute: Attribute) -> Option<u64> {
        self.value(id, attribute)?.as_count()
    }

    /// Known: yes or no.
    pub fn flag(&self, id: &EntityId, attribute: Attribute) -> Option<bool> {
        self.value(id, attribute)?.as_flag()
    }

    /// A known list.
    pub fn list(&self, id: &EntityId, attribute: Attribute) -> Option<&'a [Text]> {
        self.value(id, attribute)?.as_list()
    }

    /// True if anything at all is known of a thing.
    pub fn exists(&self, id: &EntityId) -> bool {
        self.fabric.has(id)
    }

    /// Why a value is missing, and in which words; `None` if it is known or empty.
    pub fn lack(&self, id: &EntityId, attribute: Attribute) -> Option<(Lack, String)> {
        let why = |lack, words: &Text| Some((lack, words.to_string()));
        match self.fabric.reading(id, attribute).map(|reading| &reading.state) {
            Some(State::Known(_) | State::Empty) => None,
            Some(State::Failed(words)) => why(Lack::ProbeFailed, words),
            Some(State::NotAvailable) => Some((Lack::NotObservable, "the target says N/A".to_owned())),
            Some(
                State::NotPublished(words)
                | State::NotObservable(words)
                | State::NeedsPrivilege(words)
                | State::NotInstalled(words),
            ) => why(Lack::NotObservable, words),
            None => Some(self.silence(&id.target)),
        }
    }

    /// Why a target says nothing of something that it could know.
    pub fn silence(&self, target: &TargetId) -> (Lack, String) {
        match self.machines.get(target).map(|machine| &machine.reached) {
            Some(Reached::No(why)) => (Lack::Unreached, format!("{target} was not reached: {why}")),
            Some(Reached::Partly(why)) => (Lack::Unreached, format!("{target} was not read to its end: {why}")),
            Some(Reached::Yes) => (Lack::NotObservable, format!("{target} does not say it")),
            None => (Lack::NotObservable, format!("{target} is not in the inventory")),
        }
    }

    /// Why nothing can be told from a list that a source reads: the source failed, its program is missing, it was never
    /// asked. `None` if it answered, so that what is not in its list is not there.
    pub fn unread(&self, target: &TargetId, source: &str) -> Option<(Lack, String)> {
        match self.machines.get(target)?.answers.of(source) {
            Some(Answer::Read) => None,
            Some(Answer::NotInstalled) => {
                Some((Lack::NotObservable, format!("{source} needs a program that {target} lacks")))
            }
            Some(Answer::NotPermitted(why)) => {
                Some((Lack::NotObservable, format!("{source} needs more privilege on {target}: {why}")))
            }
            Some(Answer::Failed(why)) => Some((Lack::ProbeFailed, format!("{source} failed on {target}: {why}"))),
            None => Some(self.silence(target)),
        }
    }

    /// RDMA ports of a guest, in the order of their names.
    pub fn ports(&self, guest: &TargetId) -> Vec<Port> {
        let Some(kept) = self.kept else { return self.read_ports(guest) };
        let all = || self.guests().map(|guest| (guest.clone(), self.read_ports(guest))).collect();
        match kept.ports.get_or_init(all).get(guest) {
            Some(ports) => ports.clone(),
            None => self.read_ports(guest),
        }
    }

    fn read_ports(&self, guest: &TargetId) -> Vec<Port> {
        self.fabric
            .of_kind(guest, Entity::RdmaPort { device: Text::new(""), port: 0 })
            .filter_map(|entity| {
                let Entity::RdmaPort { device, .. } = entity else { return None };
                let id = EntityId::new(guest, entity.clone());
                let device = EntityId::new(guest, Entity::RdmaDevice(device.clone()));
                let netdev =
                    self.text(&id, Attribute::PortNetdev).map(|name| EntityId::new(guest, Entity::Netdev(name.into())));
                let is_infiniband = matches!(
                    self.value(&id, Attribute::LinkLayer),
                    Some(Value::LinkLayer(crate::fabric::LinkLayer::InfiniBand))
                );
                Some(Port { kind: self.device_kind(&device), id, device, netdev, is_infiniband })
            })
            .collect()
    }

    /// What an RDMA device of a guest is: by its PCI function, else by its model and name.
    pub fn device_kind(&self, device: &EntityId) -> DeviceKind {
        let name = device.entity.name();
        if let Some(address) = self.text(device, Attribute::PciAddress) {
            let function = EntityId::new(&device.target, Entity::PciFunction(address.into()));
            let of = |attribute| self.text(&function, attribute).unwrap_or_default();
            let is_pvrdma = of(Attribute::Driver) == "vmw_pvrdma"
                || (of(Attribute::VendorId) == "15ad" && of(Attribute::DeviceId) == "0820");
            return if is_pvrdma { DeviceKind::Pvrdma } else { DeviceKind::Passthrough };
        }
        let model = self.text(device, Attribute::HardwareType).unwrap_or_default().to_ascii_lowercase();
        if model.contains("pvrdma") || name.starts_with("vmw_pvrdma") {
            DeviceKind::Pvrdma
        } else if name.starts_with("rxe") || name.starts_with("siw") {
            DeviceKind::Software
        } else {
            DeviceKind::Unclear
        }
    }

    /// The device of the VM that a thing of the guest (an RDMA device, an interface, a function) is, with all that is below
    /// it.
    pub fn chain_of(&self, thing: &EntityId) -> Option<&'a Chain> {
        self.joined.chain_of(thing)
    }

    /// Chains of PVRDMA adapters, in the order of hosts and VMs.
    pub fn pvrdma_chains(&self) -> impl Iterator<Item = &'a Chain> + use<'a> {
        self.joined.chains.iter().filter(|chain| chain.is_pvrdma())
    }

    /// Everything that a chain names, both ends of each link and the ports of the guest's RDMA devices: what stands on
    /// its way, or may stand there where one of several uplinks carries it.
    pub fn way_of(&self, chain: &Chain) -> Vec<EntityId> {
        let mut way: Vec<EntityId> = vec![chain.device.clone(), chain.vm.clone()];
        for link in chain.links.iter().chain(&chain.either) {
            way.extend([link.from.clone(), link.to.clone()]);
            if let Entity::RdmaDevice(name) = &link.from.entity {
                let first = Entity::RdmaPort { device: name.clone(), port: 0 };
                way.extend(
                    self.fabric
                        .of_kind(&link.from.target, first)
                        .filter(|entity| matches!(entity, Entity::RdmaPort { device, .. } if device == name))
                        .map(|entity| EntityId::new(&link.from.target, entity.clone())),
                );
            }
        }
        way.sort();
        way.dedup();
        way
    }

    /// True if two targets are one machine under two logins: clones share a machine id, and a boot has an id of its own.
    pub fn is_same_machine(&self, one: &TargetId, other: &TargetId) -> bool {
        [Attribute::MachineId, Attribute::BootId].into_iter().all(|attribute| {
            let of = |target: &TargetId| self.value(&EntityId::new(target, Entity::Guest), attribute);
            of(one).is_some() && of(one) == of(other)
        })
    }

    /// The host on which a guest runs, where the join knows it.
    pub fn host_of(&self, guest: &TargetId) -> Option<&'a TargetId> {
        self.joined.vm_of(guest).map(|vm| &vm.target)
    }
}
