//! Counters of the host's RDMA devices below the PVRDMA adapters of a VM. They are never the VM's own.

use super::super::model::Model;
use super::super::table::{Cell, Row, RowKey};
use super::super::{condition::Gravity, format};
use super::Ways;
use crate::fabric::{Attribute, Entity, EntityId, Text, Value};

/// One row for each counter that moved at all, and one for those of a device that stand at zero.
pub(super) fn rows(model: &Model, ways: &Ways<'_>, vm: &EntityId) -> Vec<Row> {
    let mut rows = Vec::new();
    for device in ways.counters.get(vm).into_iter().flatten() {
        let named: Text = device.entity.name().as_str().into();
        let mut zeros: Vec<Cell> = Vec::new();
        let mut told: Vec<Row> = Vec::new();
        for entity in model.fabric.of_kind(&device.target, Entity::Counter { of: named.clone(), name: "".into() }) {
            let Entity::Counter { of, name } = entity else { break };
            if *of != named {
                break;
            }
            let id = EntityId::new(&device.target, entity.clone());
            let Some(mut cell) = super::cell(model, &id, Attribute::CounterValue, "") else { continue };
            match model.fabric.value(&id, Attribute::CounterValue) {
                Some(Value::Count(0)) => {
                    cell.text = name.to_string();
                    zeros.push(cell);
                    continue;
                }
                Some(Value::Count(count)) => {
                    let unit = if name.to_ascii_lowercase().contains("bytes") { " B" } else { "" };
                    cell.text = format!("{}{unit}", format::grouped(*count));
                }
                _ => {}
            }
            told.push(Row {
                key: RowKey::Entity(entity.clone(), "counter".into()),
                label: name.to_string(),
                cells: vec![cell],
            });
        }
        if !zeros.is_empty() {
            let key = RowKey::Entity(device.entity.clone(), "counters-at-zero".into());
            told.push(Row { key, label: "at 0".to_owned(), cells: zeros });
        }
        if !told.is_empty() {
            let source = told.iter().flat_map(|row| &row.cells).find_map(|cell| cell.source.clone());
            let cell = Cell { text: format!("{named} on {}", device.target), gravity: Gravity::Neutral, source };
            let key = RowKey::Entity(device.entity.clone(), "counters-of".into());
            rows.push(Row { key, label: "of".to_owned(), cells: vec![cell] });
            rows.append(&mut told);
        }
    }
    rows
}
