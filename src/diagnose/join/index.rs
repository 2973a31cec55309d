//! What the join asks of the fabric again and again, gathered in one pass: which things of a kind a target has, and which
//! of them has this address, number or name.

use std::collections::BTreeMap;

use crate::fabric::{Attribute, Entity, EntityId, Fabric, TargetId, Text};
use crate::probe::esxi::address::PciAddress;

/// Segment, bus, slot and function.
type Address = PciAddress;

/// The things of one target.
#[derive(Debug, Default)]
pub(super) struct Things {
    /// VMs.
    pub(super) vms: Vec<EntityId>,
    /// Devices of VMs, by the name of the VM.
    pub(super) devices: BTreeMap<Text, Vec<EntityId>>,
    /// PCI functions in their order.
    pub(super) functions: Vec<EntityId>,
    /// The first function at each address.
    pub(super) function_at: BTreeMap<Address, EntityId>,
    /// The function that the host knows by this name of an adapter.
    pub(super) function_named: BTreeMap<String, EntityId>,
    /// Virtual functions by address.
    pub(super) virtual_at: BTreeMap<Address, EntityId>,
    /// Interfaces.
    pub(super) netdevs: Vec<EntityId>,
    /// RDMA devices.
    pub(super) rdma: Vec<EntityId>,
    /// Ports of RDMA devices, by the name of the device.
    pub(super) rdma_ports: BTreeMap<Text, Vec<EntityId>>,
    /// The first RDMA device paired with each uplink.
    pub(super) paired: BTreeMap<String, EntityId>,
    /// Virtual switches.
    pub(super) switches: Vec<EntityId>,
    /// Ports of switches, by their number.
    pub(super) ports: BTreeMap<Text, Vec<EntityId>>,
    /// Ports of switches, by what is connected to them.
    pub(super) by_client: BTreeMap<String, Vec<EntityId>>,
    /// Ports of switches that have a name, by switch and name: `Uplink 1`.
    pub(super) by_alias: BTreeMap<(Text, String), EntityId>,
}

/// All targets.
#[derive(Debug, Default)]
pub(super) struct Index {
    things: BTreeMap<TargetId, Things>,
    nothing: Things,
}

impl Index {
    /// Gathers what these targets have.
    pub(super) fn of(fabric: &Fabric, targets: &[TargetId]) -> Self {
        let mut index = Self::default();
        for target in targets {
            let mut things = Things::default();
            for entity in fabric.entities(target) {
                things.take(fabric, EntityId::new(target, entity.clone()));
            }
            index.things.insert(target.clone(), things);
        }
        index
    }

    /// The things of one target; none of one that was not asked for.
    pub(super) fn on(&self, target: &TargetId) -> &Things {
        self.things.get(target).unwrap_or(&self.nothing)
    }
}

impl Things {
    fn take(&mut self, fabric: &Fabric, id: EntityId) {
        let shown =
            |attribute| fabric.value(&id, attribute).map(ToString::to_string).filter(|text: &String| !text.is_empty());
        match &id.entity {
            Entity::Vm(_) => self.vms.push(id),
            Entity::VmDevice { vm, .. } => self.devices.entry(vm.clone()).or_default().push(id),
            Entity::PciFunction(name) => {
                if let Some(name) = shown(Attribute::KernelName) {
                    self.function_named.entry(name).or_insert_with(|| id.clone());
                }
                if let Some(address) = PciAddress::of(name.as_str()) {
                    self.function_at.entry(address).or_insert_with(|| id.clone());
                }
                self.functions.push(id);
            }
            Entity::VirtualFunction { .. } => {
                if let Some(address) = shown(Attribute::PciAddress).and_then(|text| PciAddress::of(&text)) {
                    self.virtual_at.entry(address).or_insert(id);
                }
            }
            Entity::Netdev(_) => self.netdevs.push(id),
            Entity::RdmaDevice(_) => {
                if let Some(uplink) = shown(Attribute::PairedUplink) {
                    self.paired.entry(uplink).or_insert_with(|| id.clone());
                }
                self.rdma.push(id);
            }
            Entity::RdmaPort { device, .. } => self.rdma_ports.entry(device.clone()).or_default().push(id),
            Entity::VirtualSwitch(_) => self.switches.push(id),
            Entity::SwitchPort { switch, port } => {
                if let Some(client) = shown(Attribute::PortClient) {
                    self.by_client.entry(client).or_default().push(id.clone());
                }
                if let Some(alias) = shown(Attribute::DeviceLabel) {
                    self.by_alias.entry((switch.clone(), alias)).or_insert_with(|| id.clone());
                }
                self.ports.entry(port.clone()).or_default().push(id);
            }
            _ => {}
        }
    }
}
