//! The fabric tree: targets, and below each its RDMA ports, GPUs and network interfaces, below a switch its ports with a
//! neighbour; below a host its VMs, and in
//! the place of a VM the guest in it.

use super::condition::{self, Condition};
use super::host_binding::is_host;
use super::model::Model;
pub use super::selection::Node;
use super::vm_devices;
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// A row of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What it stands for.
    pub node: Node,
    /// How deep it lies: 0 for targets.
    pub depth: u16,
    /// Its name.
    pub label: String,
    /// How it stands.
    pub condition: Condition,
    /// Whether it has rows below it, and whether they are hidden.
    pub folded: Option<bool>,
}

/// All rows that the filter lets pass, in order. A target is shown as long as it or something on it passes; a guest
/// stands below the host on which its VM runs, where the join says so, in the place of the VM.
pub fn rows(model: &Model) -> Vec<Row> {
    let mut rows = Vec::new();
    for target in model.order.iter().filter(|target| host_of(model, target).is_none()) {
        if !is_host(model, target) {
            rows.extend(block(model, target, 0, target.to_string()));
            continue;
        }
        let mut below = Vec::new();
        for vm in vm_devices::vms_of(model, target) {
            let name = vm_devices::name(model, &vm);
            if let Some(guest) = model.joined().guest_of(&vm).filter(|guest| model.order.contains(guest)) {
                let label = if guest.as_str() == name { name } else { format!("{guest} ({name})") };
                below.extend(block(model, guest, 1, label));
            } else {
                let row = entity_row(model, vm, 1, name);
                below.extend(Some(row).filter(|row| model.screen.tree_passes(&line(target, row))));
            }
        }
        let things = children(model, target);
        let has_children = !things.is_empty() || !vm_devices::vms_of(model, target).is_empty();
        below.extend(things.into_iter().filter(|child| model.screen.tree_passes(&line(target, child))));
        let folded = model.screen.tree.folded.contains(&Node::Target(target.clone()));
        let row = target_row(model, target, 0, target.to_string(), has_children.then_some(folded));
        if below.is_empty() && !model.screen.tree_passes(&line(target, &row)) {
            continue;
        }
        rows.push(row);
        if !folded {
            rows.extend(below);
        }
    }
    rows
}

/// The host under which a guest stands.
pub fn host_of<'a>(model: &'a Model, guest: &TargetId) -> Option<&'a TargetId> {
    let host = &model.joined().vm_of(guest)?.target;
    (host != guest && model.targets.contains_key(host)).then_some(host)
}

/// A target with what lies below it, as far as the filter lets it pass.
fn block(model: &Model, target: &TargetId, depth: u16, label: String) -> Vec<Row> {
    let children = children(model, target);
    let folded = model.screen.tree.folded.contains(&Node::Target(target.clone()));
    let row = target_row(model, target, depth, label, (!children.is_empty()).then_some(folded));
    let passes = |row: &Row| model.screen.tree_passes(&line(target, row));
    let passing: Vec<Row> =
        children.into_iter().filter(passes).map(|child| Row { depth: child.depth + depth, ..child }).collect();
    if passing.is_empty() && !passes(&row) {
        return Vec::new();
    }
    let mut rows = vec![row];
    if !folded {
        rows.extend(passing);
    }
    rows
}

fn target_row(model: &Model, target: &TargetId, depth: u16, label: String, folded: Option<bool>) -> Row {
    Row { node: Node::Target(target.clone()), depth, label, condition: condition::of_target(model, target), folded }
}

fn entity_row(model: &Model, id: EntityId, depth: u16, label: String) -> Row {
    let is_stale = condition::is_stale(model, &id.target);
    Row { depth, label, condition: of_entity(model, &id, is_stale), node: Node::Entity(id), folded: None }
}

fn line(target: &TargetId, row: &Row) -> String {
    format!("{target} {} {}", row.label, row.condition.word)
}

/// What lies below a target, whatever the filter says.
pub fn children(model: &Model, target: &TargetId) -> Vec<Row> {
    let is_host = is_host(model, target);
    let wanted = model.fabric.entities(target).filter_map(|entity| match entity {
        Entity::RdmaPort { .. } => Some((0, entity)),
        Entity::RdmaDevice(_) if is_host => Some((0, entity)),
        Entity::PciFunction(_) => {
            let id = EntityId::new(target, entity.clone());
            model.fabric.text(&id, Attribute::FunctionKind).filter(|kind| kind.contains("GPU")).map(|_| (1, entity))
        }
        Entity::Netdev(name) if name.as_str() != "lo" => Some((2, entity)),
        // A switch has many ports; those count here behind which somebody is heard.
        Entity::SwitchInterface(_) => {
            let id = EntityId::new(target, entity.clone());
            model.fabric.text(&id, Attribute::NeighbourPort).map(|_| (3, entity))
        }
        _ => None,
    });
    let mut wanted: Vec<(u8, &Entity)> = wanted.collect();
    wanted.sort();
    wanted
        .into_iter()
        .map(|(_, entity)| {
            let label = match entity {
                Entity::PciFunction(address) => format!("GPU {address}"),
                _ => entity.name(),
            };
            entity_row(model, EntityId::new(target, entity.clone()), 1, label)
        })
        .collect()
}

/// How a thing stands; of a target that does not answer only how it stood, which a question mark says in any colours.
fn of_entity(model: &Model, id: &EntityId, is_stale: bool) -> Condition {
    let condition = condition::of_entity(model, id);
    if is_stale && !condition.word.is_empty() && condition.word != "?" {
        return Condition::new(format!("{}?", condition.word), condition.gravity);
    }
    condition
}
