//! Rows about a switch: its ports, those with a neighbour first, and the switch itself.

use super::super::condition::{self, Gravity};
use super::super::model::TargetKind;
use super::{Builder, Cell, Row, RowKey};
use crate::app::model::Model;
use crate::fabric::{Attribute, Entity, SourceId, TargetId};

/// True for a switch.
pub fn is_switch(model: &Model, target: &TargetId) -> bool {
    model.targets.get(target).is_some_and(|target| target.kind == TargetKind::Switch)
}

/// How a port is set and what it is plugged into.
const OF_PORT: [Attribute; 14] = [
    Attribute::NeighbourName,
    Attribute::NeighbourPort,
    Attribute::Mtu,
    Attribute::PfcEnabled,
    Attribute::PfcPriorities,
    Attribute::EcnEnabled,
    Attribute::EcnClasses,
    Attribute::TrustedMarking,
    Attribute::PortMode,
    Attribute::AllowedVlans,
    Attribute::UntaggedVlan,
    Attribute::Speed,
    Attribute::PortChannel,
    Attribute::PfcWatchdog,
];

impl Builder<'_> {
    /// All sections of a switch.
    pub(super) fn of_switch(&self) -> Vec<(String, Vec<Row>)> {
        let ports = self.entities(|entity| matches!(entity, Entity::SwitchInterface(_)));
        let is_heard = |entity: &&&Entity| self.model.fabric.text(&self.id(entity), Attribute::NeighbourPort).is_some();
        let heard = ports.iter().filter(is_heard).filter_map(|port| self.switch_port(port)).collect();
        let others = ports.iter().filter(|port| !is_heard(port)).filter_map(|port| self.switch_port(port)).collect();
        let own = [Attribute::Hostname, Attribute::SwitchModel, Attribute::SwitchVersion];
        vec![
            ("Not read yet".to_owned(), self.unread_of_switch()),
            ("Ports with a neighbour".to_owned(), heard),
            ("Other ports".to_owned(), others),
            ("This switch".to_owned(), own.iter().filter_map(|own| self.single(&Entity::Switch, *own)).collect()),
        ]
    }

    fn switch_port(&self, entity: &Entity) -> Option<Row> {
        let mut cells = vec![self.cell(entity, Attribute::OperationalState, "")];
        cells.extend(OF_PORT.iter().map(|attribute| self.known_only(entity, *attribute)));
        Self::row(entity, "state", entity.name(), cells)
    }

    fn unread_of_switch(&self) -> Vec<Row> {
        let Some(target) = self.model.targets.get(self.target) else { return Vec::new() };
        let missing: Vec<Cell> = condition::switch_probes(target)
            .iter()
            .filter(|probe| !target.read.contains(&SourceId::new(probe.name)))
            .map(|probe| Cell { text: probe.title.to_owned(), gravity: Gravity::Unknown, source: None })
            .collect();
        if missing.is_empty() {
            return Vec::new();
        }
        let key = RowKey::Entity(Entity::Switch, "unread".into());
        vec![Row { key, label: "waits for".to_owned(), cells: missing }]
    }
}
