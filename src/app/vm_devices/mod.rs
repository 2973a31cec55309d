//! The rows of the *VM devices* panel: what would fail or is wrong, the devices of a VM with the way of each to the wire
//! or to the host's function, what the VM is, the shared counters, and the VMX with its findings at their lines.

mod counters;
mod unread;
mod vmx;

pub use vmx::Cache as VmxCache;

use std::collections::{BTreeMap, BTreeSet};

use super::condition::{self, Gravity};
use super::host_binding::{aged, cell, entity_row, is_host, pvrdma};
use super::model::Model;
use super::table::{Cell, Row, RowKey, sections};
use crate::diagnose::join::{Chain, Gap, LinkKind, SHARED_COUNTERS};
use crate::diagnose::lint::HostView;
use crate::fabric::{Attribute, Entity, EntityId};

pub use unread::why_none;

/// The VMs that are meant by what is selected: the VM, that of the device or of the guest, or all of the host.
pub fn shown_vms(model: &Model) -> Vec<EntityId> {
    let Some(target) = model.selected_target() else { return Vec::new() };
    if let Some(super::tree::Node::Entity(id)) = &model.screen.tree.selected {
        match &id.entity {
            Entity::Vm(_) => return vec![id.clone()],
            Entity::VmDevice { vm, .. } => return vec![EntityId::new(target, Entity::Vm(vm.clone()))],
            _ => {}
        }
    }
    if is_host(model, target) {
        return vms_of(model, target);
    }
    model.joined().vm_of(target).cloned().into_iter().collect()
}

/// All VMs of a host, by name.
pub fn vms_of(model: &Model, host: &crate::fabric::TargetId) -> Vec<EntityId> {
    let mut vms: Vec<EntityId> =
        model.fabric.of_kind(host, Entity::Vm("".into())).map(|entity| EntityId::new(host, entity.clone())).collect();
    vms.sort_by_cached_key(|id| name(model, id));
    vms
}

/// The name of a VM; its id where the host told none.
pub fn name(model: &Model, vm: &EntityId) -> String {
    model
        .fabric
        .text(vm, Attribute::VmName)
        .filter(|name| !name.is_empty())
        .map_or_else(|| vm.entity.name(), str::to_owned)
}

/// All rows that the filter lets pass.
pub fn rows(model: &Model) -> Vec<Row> {
    let vms = shown_vms(model);
    let several = vms.len() > 1;
    let ways = Ways::of(model);
    let mut hosts = BTreeMap::new();
    let mut all = Vec::new();
    for vm in &vms {
        let host = hosts.entry(&vm.target).or_insert_with(|| HostView::of(&model.fabric, &vm.target));
        let prefix = if several { format!("{}: ", name(model, vm)) } else { String::new() };
        for (title, rows) in aged(model, of_vm(model, &ways, vm, host.as_ref())) {
            // Of many VMs the text of the files is left to the panel of the one.
            if !(several && title.starts_with("VMX")) {
                all.push((format!("{prefix}{title}"), rows));
            }
        }
    }
    sections(model, all)
}

/// All sections of a VM, on the host of this view.
fn of_vm(model: &Model, ways: &Ways<'_>, vm: &EntityId, host: Option<&HostView>) -> Vec<(String, Vec<Row>)> {
    let file = vmx::File::of(model, vm);
    let findings = file.as_ref().map(|file| file.findings(model, vm, host));
    let findings = findings.as_deref().unwrap_or_default();
    let devices = devices(model, ways, vm);
    let mut attention: Vec<Row> = vmx::attention(findings);
    attention.extend(pvrdma::of_vm(model, vm));
    attention.extend(devices.iter().filter(|row| row.gravity() >= Gravity::Warning).cloned());
    for (number, row) in attention.iter_mut().enumerate() {
        if let RowKey::Entity(_, word) = &mut row.key {
            *word = format!("attention-{word}-{number}").into();
        }
    }
    vec![
        ("Attention".to_owned(), attention),
        ("Not read".to_owned(), unread::rows(model, vm)),
        ("Devices and their way to the wire".to_owned(), devices),
        ("This VM".to_owned(), machine(model, ways, vm)),
        ("VMX".to_owned(), file.map(|file| file.rows(model, vm, findings)).unwrap_or_default()),
        (format!("Counters ({SHARED_COUNTERS})"), counters::rows(model, ways, vm)),
    ]
}

/// Devices: those that lead somewhere first, each with its chain and what is missing of it below it.
fn devices(model: &Model, ways: &Ways<'_>, vm: &EntityId) -> Vec<Row> {
    let Entity::Vm(uuid) = &vm.entity else { return Vec::new() };
    let mut ids: Vec<EntityId> = model
        .fabric
        .of_kind(&vm.target, Entity::VmDevice { vm: uuid.clone(), key: 0 })
        .take_while(|entity| matches!(entity, Entity::VmDevice { vm, .. } if vm == uuid))
        .map(|entity| EntityId::new(&vm.target, entity.clone()))
        .collect();
    let chain_of = |id: &EntityId| ways.chains.get(id).copied();
    let rank = |id: &EntityId| match chain_of(id) {
        Some(chain) if chain.is_pvrdma() => 0,
        Some(chain) if chain.links.iter().any(|link| link.kind == LinkKind::DeviceFunction) => 1,
        Some(_) => 2,
        None if model.fabric.text(id, Attribute::DeviceKind).is_some_and(|kind| !kind.is_empty()) => 3,
        None => 4,
    };
    ids.sort_by_key(|id| (rank(id), id.clone()));
    let mut rows = Vec::new();
    for id in &ids {
        let label = model.fabric.text(id, Attribute::DeviceLabel).map_or_else(
            || match &id.entity {
                Entity::VmDevice { key, .. } => format!("device {key}"),
                other => other.name(),
            },
            str::to_owned,
        );
        let first = [
            Attribute::DeviceKind,
            Attribute::DeviceConnected,
            Attribute::DeviceProtocol,
            Attribute::HardwareAddress,
            Attribute::VgpuProfile,
            Attribute::BackingFunction,
        ];
        let omit = [
            Attribute::DeviceLabel,
            Attribute::DeviceType,
            Attribute::ConnectionId,
            Attribute::BackingSystem,
            Attribute::OnSwitch,
        ];
        rows.extend(entity_row(model, id, label, &first, &omit));
        let Some(chain) = chain_of(id) else { continue };
        let mut cells = way(model, chain);
        for gap in ways.gaps_of(chain) {
            cells.push(gap_cell(model, gap));
        }
        if !cells.is_empty() {
            let key = RowKey::Entity(id.entity.clone(), "way".into());
            rows.push(Row { key, label: "  leads to".to_owned(), cells });
        }
    }
    rows
}

/// The things that a device leads to, in order, each with the fact that says so.
fn way(model: &Model, chain: &Chain) -> Vec<Cell> {
    let mut cells = Vec::new();
    for link in chain.links.iter().filter(|link| link.kind != LinkKind::VmDevice) {
        let (shown, prefix) = if link.kind == LinkKind::GuestDevice { (&link.from, "guest") } else { (&link.to, "") };
        let words = words(model, shown);
        let text = match prefix {
            "" => words,
            prefix => format!("{prefix} {} {words}", shown.target),
        };
        let source = link
            .rests_on
            .iter()
            .find(|(id, attribute)| model.fabric.reading(id, *attribute).is_some())
            .map(|(id, attribute)| super::table::Origin::Reading(id.clone(), *attribute));
        cells.push(Cell { text, gravity: Gravity::Neutral, source });
    }
    cells
}

/// A thing in words, with what one wants to know of it in passing.
fn words(model: &Model, id: &EntityId) -> String {
    let shown = |attribute: Attribute| {
        model
            .fabric
            .value(id, attribute)
            .map(|value| super::format::value(attribute, value))
            .filter(|text| !text.is_empty())
    };
    let extra: Vec<String> = match &id.entity {
        Entity::SwitchPort { .. } | Entity::PortGroup(_) => {
            shown(Attribute::VlanId).map(|vlan| format!("VLAN {vlan}")).into_iter().collect()
        }
        Entity::RdmaDevice(_) => [Attribute::Driver, Attribute::PortState, Attribute::OperationalState]
            .into_iter()
            .filter_map(shown)
            .collect(),
        Entity::Uplink(_) => [Attribute::OperationalState, Attribute::Speed].into_iter().filter_map(shown).collect(),
        Entity::PciFunction(_) => shown(Attribute::DeviceName).into_iter().collect(),
        _ => Vec::new(),
    };
    let name = match &id.entity {
        Entity::SwitchPort { port, .. } => format!("port {port}"),
        Entity::PortGroup(name) => format!("port group {name}"),
        Entity::VirtualSwitch(name) => format!("switch {name}"),
        Entity::PciFunction(address) => format!("function {address}"),
        Entity::NumaNode(number) => format!("NUMA node {number}"),
        Entity::VirtualFunction { uplink, index } => format!("virtual function {index} of {uplink}"),
        other => other.name(),
    };
    if extra.is_empty() { name } else { format!("{name} ({})", extra.join(", ")) }
}

/// What the join made, to be looked up for each of many VMs and devices.
struct Ways<'a> {
    /// By the device of a VM.
    chains: BTreeMap<&'a EntityId, &'a Chain>,
    /// By what they are told of.
    gaps: BTreeMap<&'a EntityId, Vec<&'a Gap>>,
    /// VMs, and the RDMA devices of the host whose counters are the nearest to them.
    counters: BTreeMap<&'a EntityId, BTreeSet<&'a EntityId>>,
}

impl<'a> Ways<'a> {
    fn of(model: &'a Model) -> Self {
        let joined = model.joined();
        let mut ways = Self { chains: BTreeMap::new(), gaps: BTreeMap::new(), counters: BTreeMap::new() };
        for chain in &joined.chains {
            ways.chains.entry(&chain.device).or_insert(chain);
            if let Some(device) = &chain.counters {
                ways.counters.entry(&chain.vm).or_default().insert(device);
            }
        }
        for gap in &joined.gaps {
            ways.gaps.entry(&gap.about).or_default().push(gap);
        }
        ways
    }

    /// What could not be joined of a chain: what is told of its device, or of the last things that it leads to.
    fn gaps_of(&self, chain: &Chain) -> Vec<&'a Gap> {
        let about: BTreeSet<&EntityId> = chain.links.iter().map(|link| &link.to).chain([&chain.device]).collect();
        let about = about.into_iter().filter(|about| **about != chain.vm);
        about.filter_map(|about| self.gaps.get(about)).flatten().copied().collect()
    }
}

/// What could not be joined. While the host is read for the first time, what is missing may only not have come yet.
fn gap_cell(model: &Model, gap: &Gap) -> Cell {
    let is_reading = condition::first_read(model, &gap.about.target).is_some();
    let gravity = if is_reading { Gravity::Unknown } else { Gravity::Warning };
    let source = gap.rests_on.first().map(|(id, attribute)| super::table::Origin::Reading(id.clone(), *attribute));
    Cell { text: format!("no {}: {}", gap.missing, gap.why), gravity, source }
}

/// What has rows of its own (the lines of the file), and what is for checks, which say when it matters.
const ELSEWHERE: [Attribute; 5] =
    [Attribute::VmName, Attribute::VmxLines, Attribute::IsTemplate, Attribute::Balloon, Attribute::HostSwap];

/// What the VM is, in groups of what belongs together.
fn machine(model: &Model, ways: &Ways<'_>, vm: &EntityId) -> Vec<Row> {
    let groups: [(&str, &[Attribute]); 8] = [
        ("state", &[Attribute::PowerState, Attribute::ToolsStatus, Attribute::WorldId, Attribute::CartelId]),
        ("hardware", &[Attribute::HardwareVersion, Attribute::VmFirmware, Attribute::SecureBoot, Attribute::GuestId]),
        (
            "memory",
            &[
                Attribute::MemoryTotal,
                Attribute::MemoryReservation,
                Attribute::ReservationLocked,
                Attribute::MemoryLimit,
            ],
        ),
        (
            "processors",
            &[Attribute::ProcessorCount, Attribute::CpuReservation, Attribute::CpuLimit, Attribute::LatencySensitivity],
        ),
        ("hot-add", &[Attribute::CpuHotAdd, Attribute::MemoryHotAdd]),
        ("nested virtualization", &[Attribute::NestedVirtualization]),
        ("snapshots", &[Attribute::SnapshotCount]),
        ("file", &[Attribute::VmxPath, Attribute::VmNumber, Attribute::BiosUuid]),
    ];
    let mut rows: Vec<Row> = groups
        .iter()
        .filter_map(|(label, attributes)| {
            let cells: Vec<Cell> = attributes
                .iter()
                .enumerate()
                .filter_map(|(place, attribute)| {
                    let same = attribute.label().eq_ignore_ascii_case(label) || (place == 0 && attributes.len() == 1);
                    cell(model, vm, *attribute, if same { "" } else { attribute.label() })
                })
                .collect();
            let key = RowKey::Entity(vm.entity.clone(), (*label).into());
            (!cells.is_empty()).then(|| Row { key, label: (*label).to_owned(), cells })
        })
        .collect();
    let told: Vec<Attribute> = groups.iter().flat_map(|(_, attributes)| attributes.iter().copied()).collect();
    let others = model.fabric.readings(vm).into_keys().filter(|attribute| !told.contains(attribute));
    for attribute in others.filter(|attribute| !ELSEWHERE.contains(attribute)) {
        if let Some(cell) = cell(model, vm, attribute, "") {
            let key = RowKey::Entity(vm.entity.clone(), attribute.name().into());
            rows.push(Row { key, label: attribute.label().to_owned(), cells: vec![cell] });
        }
    }
    if let Some(guest) = model.joined().pairs.iter().find(|pair| pair.vm == *vm) {
        let text = format!(
            "{}, {}",
            guest.guest,
            if guest.confirmed {
                "confirmed by the BIOS UUID"
            } else {
                "by its hardware address; the BIOS UUID was not read on both sides"
            }
        );
        let link = model.joined().links.iter().find(|link| link.to == *vm && link.from.target == guest.guest);
        let source = link
            .and_then(|link| link.rests_on.first())
            .map(|(id, attribute)| super::table::Origin::Reading(id.clone(), *attribute));
        let key = RowKey::Entity(vm.entity.clone(), "guest".into());
        rows.insert(
            0,
            Row { key, label: "guest".to_owned(), cells: vec![Cell { text, gravity: Gravity::Neutral, source }] },
        );
    }
    for gap in ways.gaps.get(vm).into_iter().flatten() {
        let key = RowKey::Entity(vm.entity.clone(), format!("gap-{}", gap.missing).into());
        rows.insert(0, Row { key, label: "join".to_owned(), cells: vec![gap_cell(model, gap)] });
    }
    rows
}
