//! The fabric tree: targets, and below each its RDMA ports, GPUs and network interfaces.

use super::condition::{self, Condition};
use super::model::Model;
pub use super::selection::Node;
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

/// All rows that the filter lets pass, in order. A target is shown as long as it or something on it passes.
pub fn rows(model: &Model) -> Vec<Row> {
    let mut rows = Vec::new();
    for target in &model.order {
        let children = children(model, target);
        let folded = model.screen.tree.folded.contains(&Node::Target(target.clone()));
        let row = Row {
            node: Node::Target(target.clone()),
            depth: 0,
            label: target.to_string(),
            condition: condition::of_target(model, target),
            folded: (!children.is_empty()).then_some(folded),
        };
        let screen = &model.screen;
        let passing: Vec<Row> = children.into_iter().filter(|child| screen.tree_passes(&line(target, child))).collect();
        if passing.is_empty() && !screen.tree_passes(&line(target, &row)) {
            continue;
        }
        rows.push(row);
        if !folded {
            rows.extend(passing);
        }
    }
    rows
}

fn line(target: &TargetId, row: &Row) -> String {
    format!("{target} {} {}", row.label, row.condition.word)
}

/// What lies below a target, whatever the filter says.
pub fn children(model: &Model, target: &TargetId) -> Vec<Row> {
    let wanted = model.fabric.entities(target).filter_map(|entity| match entity {
        Entity::RdmaPort { .. } => Some((0, entity)),
        Entity::PciFunction(_) => {
            let id = EntityId::new(target, entity.clone());
            model.fabric.text(&id, Attribute::FunctionKind).filter(|kind| kind.contains("GPU")).map(|_| (1, entity))
        }
        Entity::Netdev(name) if name.as_str() != "lo" => Some((2, entity)),
        _ => None,
    });
    let mut wanted: Vec<(u8, &Entity)> = wanted.collect();
    wanted.sort();
    let is_stale = condition::is_stale(model, target);
    wanted
        .into_iter()
        .map(|(_, entity)| {
            let id = EntityId::new(target, entity.clone());
            Row {
                depth: 1,
                label: match entity {
                    Entity::PciFunction(address) => format!("GPU {address}"),
                    _ => entity.name(),
                },
                condition: of_entity(model, &id, is_stale),
                node: Node::Entity(id),
                folded: None,
            }
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
