//! The rows of the *Guest link* panel: all that is known of one guest, what is wrong first, static things last. Of a switch
//! they are its ports.

mod machine;
mod rdma;
mod switch;

use super::condition::{self, Gravity};
use super::format;
use super::model::Model;
pub use super::table::{Cell, Origin, Row, RowKey, moved};
use crate::fabric::{Attribute, Entity, EntityId, SourceId, TargetId};
use crate::probe::linux::PROBES;
pub use switch::is_switch;

/// All rows for a target that the filter lets pass. A heading is shown if a row below it passes.
pub fn rows(model: &Model, target: &TargetId) -> Vec<Row> {
    if super::host_binding::is_host(model, target) {
        return Vec::new(); // its facts stand in panels of their own
    }
    let builder = Builder { model, target };
    if is_switch(model, target) {
        return super::table::sections(model, builder.of_switch());
    }
    let (ports, queue_pairs) = (builder.ports(), builder.queue_pairs());
    let (netdevs, messages) = (builder.netdevs(), builder.kernel_messages());
    let sections: [(&'static str, Vec<Row>); 13] = [
        ("Attention", builder.attention(&ports, &queue_pairs, &netdevs, &messages)),
        ("Not read yet", builder.unread()),
        ("RDMA ports", ports),
        ("Queue pairs", queue_pairs),
        ("GIDs", builder.gids()),
        ("Network interfaces", netdevs),
        ("Limits, memory, placement", builder.limits()),
        ("Kernel messages", messages),
        ("PCI functions", builder.pci_functions()),
        ("Software", builder.software()),
        ("Device nodes", builder.device_nodes()),
        ("Environment", builder.environment()),
        ("This machine", builder.machine()),
    ];
    super::table::sections(model, sections.map(|(title, rows)| (title.to_owned(), rows)).into())
}

/// Makes rows for one target.
struct Builder<'a> {
    model: &'a Model,
    target: &'a TargetId,
}

impl Builder<'_> {
    fn id(&self, entity: &Entity) -> EntityId {
        EntityId::new(self.target, entity.clone())
    }

    fn entities(&self, wanted: impl Fn(&Entity) -> bool) -> Vec<&Entity> {
        self.model.fabric.entities(self.target).filter(|entity| wanted(entity)).collect()
    }

    /// The cell of one attribute, if anything is known of it; `prefix` stands in front of the value.
    fn cell(&self, entity: &Entity, attribute: Attribute, prefix: &str) -> Option<Cell> {
        let id = self.id(entity);
        let reading = self.model.fabric.reading(&id, attribute)?;
        let text = format::state(attribute, &reading.state);
        let text = if prefix.is_empty() { text } else { format!("{prefix} {text}") };
        Some(Cell {
            text,
            gravity: condition::of_value(attribute, &reading.state),
            source: Some(Origin::Reading(id, attribute)),
        })
    }

    /// Like [`Self::cell`] with the attribute's own label in front.
    fn labelled(&self, entity: &Entity, attribute: Attribute) -> Option<Cell> {
        self.cell(entity, attribute, attribute.label())
    }

    /// A row of one labelled attribute of an entity.
    fn single(&self, entity: &Entity, attribute: Attribute) -> Option<Row> {
        let cell = self.cell(entity, attribute, "")?;
        Some(Row {
            key: RowKey::Entity(entity.clone(), attribute.name().into()),
            label: attribute.label().to_owned(),
            cells: vec![cell],
        })
    }

    fn row(entity: &Entity, word: &'static str, label: String, cells: Vec<Option<Cell>>) -> Option<Row> {
        let cells: Vec<Cell> = cells.into_iter().flatten().collect();
        (!cells.is_empty()).then(|| Row { key: RowKey::Entity(entity.clone(), word.into()), label, cells })
    }

    /// What no probe has told yet: on a slow guest an empty section must not look like an empty table.
    fn unread(&self) -> Vec<Row> {
        let Some(target) = self.model.targets.get(self.target) else { return Vec::new() };
        if target.read.is_empty() {
            return Vec::new();
        }
        let missing: Vec<Cell> = PROBES
            .iter()
            .filter(|probe| !target.read.contains(&SourceId::new(probe.name)))
            .map(|probe| Cell { text: probe.title.to_owned(), gravity: Gravity::Unknown, source: None })
            .collect();
        if missing.is_empty() {
            return Vec::new();
        }
        vec![Row { key: RowKey::Entity(Entity::Guest, "unread".into()), label: "waits for".to_owned(), cells: missing }]
    }

    /// What is wrong, before everything else: ports that are not active, queue pairs in error, interfaces under an
    /// RDMA port that are down, grave kernel messages.
    fn attention(&self, ports: &[Row], queue_pairs: &[Row], netdevs: &[Row], messages: &[Row]) -> Vec<Row> {
        let grave = |row: &&Row| row.gravity() >= Gravity::Warning;
        let under = self.model.fabric.netdevs_under_ports(self.target);
        let carries_rdma =
            |row: &&Row| matches!(&row.key, RowKey::Entity(Entity::Netdev(name), _) if under.contains(&name.as_str()));
        let mut rows: Vec<Row> = ports
            .iter()
            .chain(queue_pairs)
            .filter(grave)
            .chain(netdevs.iter().filter(grave).filter(carries_rdma))
            .chain(messages.iter().rev().filter(|row| row.gravity() >= Gravity::Bad).take(3))
            .cloned()
            .collect();
        // What sudo refused is a line that somebody has to add.
        rows.extend(self.single(&Entity::Guest, Attribute::ReadByRoot).filter(|row| row.gravity() > Gravity::Neutral));
        for row in &mut rows {
            if let RowKey::Entity(_, word) = &mut row.key {
                match &**word {
                    "state" => *word = "attention-state".into(),
                    "message" => *word = "attention-message".into(),
                    "read-by-root" => *word = "attention-privilege".into(),
                    _ => {}
                }
            }
        }
        rows
    }
}
