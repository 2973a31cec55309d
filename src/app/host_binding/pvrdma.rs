//! PVRDMA adapters that are alone in their VLAN: their VMs have nobody to talk to, whether they are targets or not. Only
//! adapters of VMs that run count. What their hosts lack the checks tell.

use std::collections::{BTreeMap, BTreeSet};

use super::super::condition::Gravity;
use super::super::model::Model;
use super::super::table::{Cell, Row, RowKey};
use super::super::vm_devices;
use crate::diagnose::join::Chain;
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// The chains of PVRDMA adapters of VMs that run, as far as the host says whether they do.
fn adapters(model: &Model) -> impl Iterator<Item = &Chain> {
    model.joined().chains.iter().filter(|chain| chain.is_pvrdma()).filter(|chain| {
        model.fabric.text(&chain.vm, Attribute::PowerState).is_none_or(|state| state.eq_ignore_ascii_case("poweredOn"))
    })
}

/// What concerns all PVRDMA adapters of a host.
pub(super) fn of_host(model: &Model, host: &TargetId) -> Vec<Row> {
    lonely(model).into_iter().filter(|lone| lone.chain.vm.target == *host).map(|lone| lone.row).collect()
}

/// What concerns the PVRDMA adapters of a VM.
pub(in crate::app) fn of_vm(model: &Model, vm: &EntityId) -> Vec<Row> {
    let mut rows = super::judged::of_vm(model, vm);
    rows.extend(lonely(model).into_iter().filter(|lone| lone.chain.vm == *vm).map(|lone| lone.row));
    rows
}

/// An adapter that is the only one in its VLAN, while others of its switch are in another.
struct Lone<'a> {
    chain: &'a Chain,
    row: Row,
}

/// One VLAN on one switch: where that is read, and the adapters in it.
type InVlan<'a> = Vec<(&'a Chain, EntityId)>;

/// Adapters whose VM has nobody to talk to in its VLAN. VLANs with several VMs each are separate on purpose.
fn lonely(model: &Model) -> Vec<Lone<'_>> {
    let mut switches: BTreeMap<String, BTreeMap<u16, InVlan<'_>>> = BTreeMap::new();
    for chain in adapters(model) {
        let Some(switch) = chain.reaches(|entity| matches!(entity, Entity::VirtualSwitch(_))) else { continue };
        let port = chain.reaches(|entity| matches!(entity, Entity::SwitchPort { .. } | Entity::PortGroup(_)));
        let Some((port, vlan)) = port.and_then(|port| {
            // A trunk is no VLAN of its own.
            let vlan = model.fabric.value(port, Attribute::VlanId)?.to_string().parse().ok()?;
            Some((port.clone(), vlan))
        }) else {
            continue;
        };
        // A distributed switch has one id on all of its hosts; any other ends at its host.
        let of = model.fabric.text(switch, Attribute::SwitchId).filter(|id| !id.is_empty());
        let key = of.map_or_else(|| format!("{} {}", switch.target, switch.entity), str::to_owned);
        switches.entry(key).or_default().entry(vlan).or_default().push((chain, port));
    }
    let mut lonely = Vec::new();
    for vlans in switches.values().filter(|vlans| vlans.len() > 1) {
        for (vlan, adapters) in vlans {
            let vms: BTreeSet<&EntityId> = adapters.iter().map(|(chain, _)| &chain.vm).collect();
            let (Some((chain, port)), true) = (adapters.first(), vms.len() == 1) else { continue };
            let others: Vec<String> = vlans
                .iter()
                .filter(|(other, _)| *other != vlan)
                .map(|(other, adapters)| (other, elsewhere(model, adapters, &chain.vm)))
                .filter(|(_, names)| !names.is_empty())
                .map(|(other, names)| format!("{} in VLAN {other}", names.join(", ")))
                .collect();
            if others.is_empty() {
                continue;
            }
            let name = vm_devices::name(model, &chain.vm);
            let text = format!(
                "{name} is alone in VLAN {vlan}, on the same switch {}: they do not reach each other",
                others.join("; ")
            );
            let cell = Cell::of(text, Gravity::Warning, port, Attribute::VlanId);
            let key = RowKey::Entity(chain.device.entity.clone(), "vlan".into());
            lonely.push(Lone { chain, row: Row { key, label: "VLAN for PVRDMA".into(), cells: vec![cell] } });
        }
    }
    lonely
}

/// The VMs of these adapters other than `vm`, with their hosts; of many the first few.
fn elsewhere(model: &Model, adapters: &InVlan<'_>, vm: &EntityId) -> Vec<String> {
    const SHOWN: usize = 3;
    let vms: BTreeSet<&EntityId> = adapters.iter().map(|(chain, _)| &chain.vm).filter(|other| *other != vm).collect();
    let mut names: Vec<String> =
        vms.iter().take(SHOWN).map(|vm| format!("{} on {}", vm_devices::name(model, vm), vm.target)).collect();
    if vms.len() > SHOWN {
        names.push(format!("{} more", vms.len() - SHOWN));
    }
    names
}
