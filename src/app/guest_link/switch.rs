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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::rows;
    use super::*;
    use crate::app::{Connection, Message, Options, Target, tree, update};
    use crate::fabric::{Observation, Report, Text, Timestamp};
    use crate::probe::switch;

    const INTERFACES: &str = r#"{"interfaces": {
        "Ethernet4": {"lineProtocolStatus": "up", "interfaceStatus": "connected", "bandwidth": 100000000000, "mtu": 9214},
        "Ethernet5": {"lineProtocolStatus": "down", "interfaceStatus": "notconnect", "bandwidth": 0, "mtu": 9214}}}"#;
    const NEIGHBOURS: &str = r#"{"lldpNeighbors": {"Ethernet4": {"lldpNeighborInfo": [{"systemName": "esx01",
        "neighborInterfaceInfo": {"interfaceId_v2": "0c42.a17c.2010"}}]}}}"#;

    fn tell(model: &mut Model, target: &TargetId, name: &str, text: &str) {
        let probe = switch::probe(name).expect("a probe");
        let mut observation = Observation::of_text(name, text);
        observation.target = target.clone();
        let observations = vec![Arc::new(observation)];
        let facts = (probe.parse)(&observations);
        let report = Report { target: target.clone(), probe: SourceId::new(name), observations, facts };
        update(model, Message::Report { at: Timestamp::UNIX_EPOCH, report });
    }

    #[test]
    fn a_switch_shows_its_ports_and_what_is_behind_them() {
        let leaf = TargetId::new("leaf1");
        let targets = vec![(leaf.clone(), Target::new(TargetKind::Switch))];
        let mut model = Model::new(targets, Options::default(), Timestamp::UNIX_EPOCH);
        let connection = Connection::Connected { since: Timestamp::UNIX_EPOCH, via: Text::new("admin@leaf1") };
        update(&mut model, Message::Connection { target: leaf.clone(), at: Timestamp::UNIX_EPOCH, connection });
        assert!(rows(&model, &leaf).is_empty(), "nothing of a guest is said of it");
        tell(&mut model, &leaf, "eos.interfaces", INTERFACES);
        tell(&mut model, &leaf, "eos.lldp", NEIGHBOURS);
        let shown: Vec<String> = rows(&model, &leaf)
            .iter()
            .map(|row| {
                format!(
                    "{}: {}",
                    row.label,
                    row.cells.iter().map(|cell| cell.text.as_str()).collect::<Vec<_>>().join("  ")
                )
            })
            .collect();
        let all = shown.join("\n");
        assert!(all.contains("waits for: ") && all.contains("priority flow control of ports"), "{all}");
        assert!(!all.contains("queue pairs"), "what is read of guests is not waited for: {all}");
        let at = |text: &str| {
            shown.iter().position(|row| row.starts_with(text)).unwrap_or_else(|| panic!("{text} in {all}"))
        };
        assert!(at("Ports with a neighbour") < at("Ethernet4") && at("Ethernet4") < at("Other ports"), "{all}");
        assert!(at("Other ports") < at("Ethernet5"), "{all}");
        assert!(shown[at("Ethernet4")].contains("up") && shown[at("Ethernet4")].contains("esx01"), "{all}");
        let tree: Vec<(String, String)> =
            tree::rows(&model).into_iter().map(|row| (row.label, row.condition.word)).collect();
        assert_eq!(tree.len(), 2, "only ports with a neighbour: {tree:?}");
        assert!(tree[0].0 == "leaf1" && tree[0].1.starts_with("reading 2 of"), "{tree:?}");
        assert_eq!(tree[1], ("Ethernet4".to_owned(), "up".to_owned()));
    }
}
