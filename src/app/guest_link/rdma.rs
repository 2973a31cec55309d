//! Rows about RDMA itself: ports, queue pairs, GIDs.

use std::collections::BTreeMap;

use super::super::condition::Gravity;
use super::{Builder, Cell, Origin, Row, RowKey};
use crate::fabric::{Attribute, Entity, EntityId, QueuePairState, QueuePairType, State, Value};
use crate::probe::linux::rdma_sysfs::roce_mtu;

impl Builder<'_> {
    /// Each port with its state, then its device, then what its driver counts. Without any: the sentence why.
    pub(super) fn ports(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        let ports = self.entities(|entity| matches!(entity, Entity::RdmaPort { .. }));
        if ports.is_empty() {
            rows.extend(self.single(&Entity::Guest, Attribute::RdmaPresence));
        }
        for entity in ports {
            let Entity::RdmaPort { device, .. } = entity else { continue };
            rows.extend(Self::row(
                entity,
                "state",
                entity.name(),
                vec![
                    self.cell(entity, Attribute::PortState, ""),
                    self.cell(entity, Attribute::PhysicalState, ""),
                    self.cell(entity, Attribute::PortNetdev, "on"),
                    self.path_mtu(entity),
                    self.ceiling(entity),
                    self.infiniband(entity, Attribute::Lid),
                    self.infiniband(entity, Attribute::SubnetManagerLid),
                    self.infiniband(entity, Attribute::PartitionKey),
                ],
            ));
            let device_entity = Entity::RdmaDevice(device.clone());
            rows.extend(Self::row(
                &device_entity,
                "device",
                "  device".to_owned(),
                vec![
                    self.labelled(&device_entity, Attribute::Driver),
                    self.known_only(&device_entity, Attribute::HardwareType),
                    self.labelled(&device_entity, Attribute::Firmware),
                    self.known_only(&device_entity, Attribute::PciAddress),
                    self.known_only(&device_entity, Attribute::NumaNode),
                    self.labelled(&device_entity, Attribute::NodeGuid),
                    self.known_only(&device_entity, Attribute::Protocol),
                ],
            ));
            rows.extend(Self::row(
                entity,
                "counters",
                "  counters".to_owned(),
                vec![
                    self.counted(entity, Attribute::ByteCounters, "bytes"),
                    self.counted(entity, Attribute::PacketCounters, "packets"),
                    self.counted(entity, Attribute::ErrorCounters, "errors"),
                ],
            ));
        }
        rows
    }

    /// `ceiling 100 Gb/s`, or `ceiling unknown: ` and why.
    fn ceiling(&self, port: &Entity) -> Option<Cell> {
        let mut cell = self.cell(port, Attribute::Ceiling, "ceiling")?;
        if let Some(State::NotObservable(why)) =
            self.model.fabric.reading(&self.id(port), Attribute::Ceiling).map(|reading| &reading.state)
        {
            cell.text = format!("ceiling unknown: {why}");
        }
        Some(cell)
    }

    /// `bytes yes`, or `bytes not published by rxe`.
    fn counted(&self, entity: &Entity, attribute: Attribute, what: &str) -> Option<Cell> {
        self.cell(entity, attribute, what)
    }

    /// The RoCE path MTU that follows from the MTU of the interface under the port.
    fn path_mtu(&self, port: &Entity) -> Option<Cell> {
        let netdev = self.model.fabric.value(&self.id(port), Attribute::PortNetdev)?.as_text()?;
        let netdev = self.id(&Entity::Netdev(netdev.clone()));
        let mtu = self.model.fabric.value(&netdev, Attribute::Mtu)?.as_count()?;
        Some(match roce_mtu(mtu) {
            Some(path) => Cell {
                text: format!("RoCE MTU {path} (interface {mtu})"),
                gravity: Gravity::Neutral,
                source: Some(Origin::Reading(netdev, Attribute::Mtu)),
            },
            None => Cell {
                text: format!("interface MTU {mtu} is too small for RoCE"),
                gravity: Gravity::Bad,
                source: Some(Origin::Reading(netdev, Attribute::Mtu)),
            },
        })
    }

    /// Attributes that only InfiniBand ports have a use for.
    fn infiniband(&self, port: &Entity, attribute: Attribute) -> Option<Cell> {
        let layer = self.model.fabric.value(&self.id(port), Attribute::LinkLayer)?;
        if *layer == Value::LinkLayer(crate::fabric::LinkLayer::InfiniBand) {
            self.labelled(port, attribute)
        } else {
            None
        }
    }

    /// Queue pairs by owner, type and state; those in error one group each; then what cannot be seen.
    pub(super) fn queue_pairs(&self) -> Vec<Row> {
        let mut groups: BTreeMap<(String, String, &str), Vec<&Entity>> = BTreeMap::new();
        for entity in self.entities(|entity| matches!(entity, Entity::QueuePair { .. })) {
            let Entity::QueuePair { device, .. } = entity else { continue };
            let id = self.id(entity);
            let owner = match self.model.fabric.value(&id, Attribute::OwnerCommand) {
                Some(command) => match self.model.fabric.value(&id, Attribute::OwnerProcess) {
                    Some(process) => format!("{command} {process}"),
                    None => command.to_string(),
                },
                None => "owner not known".to_owned(),
            };
            let kind = match self.model.fabric.value(&id, Attribute::QueuePairType) {
                Some(Value::QueuePairType(QueuePairType::GeneralServices)) => "~GSI".to_owned(),
                Some(kind) => kind.to_string(),
                None => "?".to_owned(),
            };
            // The queue pair of the general services is always there: it goes last.
            groups.entry((kind, owner, device.as_str())).or_default().push(entity);
        }
        let mut rows: Vec<Row> = groups
            .into_iter()
            .map(|((kind, owner, device), members)| {
                let mut cells = vec![Cell {
                    text: format!("{} {} on {device}", members.len(), kind.trim_start_matches('~')),
                    gravity: Gravity::Neutral,
                    source: Some(Origin::Reading(self.id(members[0]), Attribute::QueuePairType)),
                }];
                cells.extend(self.states(&members));
                Row { key: RowKey::Entity(members[0].clone(), "state".into()), label: owner, cells }
            })
            .collect();
        if let Some(cell) = self.cell(&Entity::Guest, Attribute::ForeignQueuePairs, "")
            && cell.gravity != Gravity::Neutral
        {
            rows.push(Row {
                key: RowKey::Entity(Entity::Guest, "foreign".into()),
                label: "other users' QPs".to_owned(),
                cells: vec![cell],
            });
        }
        for entity in self.entities(|entity| matches!(entity, Entity::RdmaDevice(_))) {
            rows.extend(Self::row(
                entity,
                "resources",
                format!("in use on {}", entity.name()),
                [
                    Attribute::QueuePairs,
                    Attribute::CompletionQueues,
                    Attribute::MemoryRegions,
                    Attribute::ProtectionDomains,
                    Attribute::ConnectionIds,
                    Attribute::UserContexts,
                    Attribute::SharedReceiveQueues,
                ]
                .into_iter()
                .map(|attribute| self.labelled(entity, attribute))
                .collect(),
            ));
        }
        rows
    }

    /// One cell for each state that occurs: `RTS 4`.
    fn states(&self, members: &[&Entity]) -> Vec<Cell> {
        let mut counts: BTreeMap<String, (Vec<EntityId>, Gravity)> = BTreeMap::new();
        for member in members {
            let id = self.id(member);
            let (word, gravity) = match self.model.fabric.reading(&id, Attribute::QueuePairState) {
                Some(reading) => match &reading.state {
                    State::Known(Value::QueuePairState(QueuePairState::Error)) => ("ERR".to_owned(), Gravity::Bad),
                    State::Known(Value::QueuePairState(QueuePairState::ReadyToSend)) => {
                        ("RTS".to_owned(), Gravity::Good)
                    }
                    State::Known(value) => (value.to_string(), Gravity::Neutral),
                    other => (other.name().to_owned(), Gravity::Unknown),
                },
                None => ("?".to_owned(), Gravity::Unknown),
            };
            counts.entry(word).or_insert_with(|| (Vec::new(), gravity)).0.push(id);
        }
        counts
            .into_iter()
            .map(|(word, (ids, gravity))| Cell {
                text: format!("{word} {}", ids.len()),
                gravity,
                source: ids.into_iter().next().map(|id| Origin::Reading(id, Attribute::QueuePairState)),
            })
            .collect()
    }

    /// The filled entries of the GID tables.
    pub(super) fn gids(&self) -> Vec<Row> {
        self.entities(|entity| matches!(entity, Entity::Gid { .. }))
            .into_iter()
            .filter_map(|entity| {
                let Entity::Gid { device, port, index } = entity else { return None };
                Self::row(
                    entity,
                    "gid",
                    format!("{device}/{port} {index}"),
                    vec![
                        self.cell(entity, Attribute::GidValue, ""),
                        self.cell(entity, Attribute::GidType, ""),
                        self.cell(entity, Attribute::GidNetdev, ""),
                    ],
                )
            })
            .collect()
    }
}
