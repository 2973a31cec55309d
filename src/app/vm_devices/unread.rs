//! What is not known of a VM, and why: not read yet, or not readable while the host's agent does not answer.

use super::super::condition::{self, Gravity};
use super::super::model::Model;
use super::super::table::{Cell, Row, RowKey};
use crate::fabric::{Attribute, Entity, EntityId, SourceId, TargetId};

/// The probes that tell of VMs, and what.
const TELLING: [(&str, &str); 3] = [
    ("esxi.vms", "name, power state and tools"),
    ("esxi.vm-config", "hardware, reservations and devices"),
    ("esxi.vmx", "the VMX file"),
];

/// What the host says instead of its list of VMs, with where that is read.
fn refused(model: &Model, host: &TargetId) -> Option<(String, EntityId)> {
    let id = EntityId::new(host, Entity::Host);
    let why = model.fabric.reading(&id, Attribute::VmNumber)?.state.why()?;
    Some((why, id))
}

/// What of a VM was not read yet or cannot be read; nothing once all was.
pub(super) fn rows(model: &Model, vm: &EntityId) -> Vec<Row> {
    let row = |word: &'static str, label: &str, cells| Row {
        key: RowKey::Entity(vm.entity.clone(), word.into()),
        label: label.to_owned(),
        cells,
    };
    if let Some((why, id)) = refused(model, &vm.target) {
        let text = format!("{why}; devices, settings and the VMX are told by vim-cmd, which needs it");
        return vec![row("refused", "vim-cmd", vec![Cell::of(text, Gravity::Unknown, &id, Attribute::VmNumber)])];
    }
    if condition::first_read(model, &vm.target).is_none() {
        return Vec::new();
    }
    let is_read =
        |probe: &str| model.targets.get(&vm.target).is_some_and(|target| target.read.contains(&SourceId::new(probe)));
    let missing: Vec<Cell> = TELLING
        .iter()
        .filter(|(probe, _)| !is_read(probe))
        .map(|(_, what)| Cell::said(format!("{what}: not read yet"), Gravity::Unknown))
        .collect();
    if missing.is_empty() { Vec::new() } else { vec![row("unread", "first read", missing)] }
}

/// Why no VM of a host is shown.
pub fn why_none(model: &Model, host: &TargetId) -> String {
    if let Some((why, _)) = refused(model, host) {
        return format!("no VM of this host is known: {why}");
    }
    let is_read = model.targets.get(host).is_some_and(|target| target.read.contains(&SourceId::new(TELLING[0].0)));
    if is_read { "this host has no VM".to_owned() } else { "the VMs of this host were not read yet".to_owned() }
}
