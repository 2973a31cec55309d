//! The rows of the *GPU* panel: what holds each GPU of a guest back, what it does now, its links, its parts and who uses it,
//! its state and its settings. What changes stands first, what never does last. A host sees nothing of a GPU that it passed
//! through, so the panel is about guests.

mod limited;
mod moving;
mod settled;

use super::condition::{self, Gravity};
use super::format;
use super::model::Model;
use super::table::{self, Cell, Heading, Origin, Row, RowKey};
use crate::fabric::{Attribute, Entity, EntityId, State, TargetId};

/// All rows for a target that the filter lets pass.
pub fn rows(model: &Model, target: &TargetId) -> Vec<Row> {
    let builder = Builder { model, gpus: gpus(model, target), target };
    if builder.gpus.is_empty() {
        return table::sections(model, vec![("Driver".to_owned(), builder.driver())]);
    }
    let sections = [
        (limited::TITLE, builder.verdicts()),
        (moving::NOW, builder.now()),
        (moving::LINKS, builder.links()),
        (limited::WHY, builder.why()),
        ("Host and VM", builder.around()),
        ("NVLink", builder.nvlinks()),
        ("MIG instances", builder.instances()),
        ("Processes", builder.processes()),
        ("Memory errors", builder.errors()),
        ("State", builder.states()),
        ("Settings", builder.settings()),
        ("Ways between devices (virtual)", builder.ways()),
        ("Driver", builder.driver()),
    ];
    table::sections(model, sections.map(|(title, rows)| (title.to_owned(), rows)).into())
}

/// Names of the columns, by section.
pub fn headings(model: &Model) -> Vec<Heading> {
    let Some(target) = model.selected_target() else { return Vec::new() };
    if gpus(model, target).is_empty() { Vec::new() } else { moving::headings() }
}

/// Why there are no rows.
pub fn why_none(model: &Model, target: &TargetId) -> String {
    if super::host_binding::is_host(model, target) {
        let joined = model.joined();
        let guests: Vec<String> = model
            .targets
            .keys()
            .filter(|guest| joined.vm_of(guest).is_some_and(|vm| vm.target == *target))
            .filter(|guest| !gpus(model, guest).is_empty())
            .map(ToString::to_string)
            .collect();
        return match &guests[..] {
            [] => "this is an ESXi host: it sees nothing of a GPU that it passed through; none of its guests that are targets has one"
                .to_owned(),
            guests => format!(
                "this is an ESXi host: it sees nothing of a GPU that it passed through; select {}",
                guests.join(", ")
            ),
        };
    }
    if super::guest_link::is_switch(model, target) {
        return "this is a switch: it has no GPU".to_owned();
    }
    let guest = EntityId::new(target, Entity::Guest);
    match model.fabric.reading(&guest, Attribute::GpuReadBy).map(|reading| &reading.state) {
        None => {
            let others: Vec<String> =
                model.targets.keys().filter(|other| !gpus(model, other).is_empty()).map(ToString::to_string).collect();
            match &others[..] {
                [] => "no GPU was seen here yet".to_owned(),
                others => format!("no GPU was seen here; there are some in {}", others.join(", ")),
            }
        }
        Some(state) => format!("no GPU is read here: {}", format::state(Attribute::GpuReadBy, state)),
    }
}

/// The GPUs of a target, by their indices.
fn gpus(model: &Model, target: &TargetId) -> Vec<EntityId> {
    let is_read = |id: &EntityId| {
        [Attribute::GpuUuid, Attribute::GpuIndex, Attribute::GpuModel, Attribute::GpuHealth]
            .iter()
            .any(|attribute| model.fabric.reading(id, *attribute).is_some())
    };
    let mut gpus: Vec<EntityId> = model
        .fabric
        .entities(target)
        .filter(|entity| matches!(entity, Entity::Gpu(_)))
        .map(|entity| EntityId::new(target, entity.clone()))
        .filter(is_read)
        .collect();
    gpus.sort_by_key(|gpu| (index(model, gpu).unwrap_or(u64::MAX), gpu.entity.name()));
    gpus
}

fn index(model: &Model, gpu: &EntityId) -> Option<u64> {
    model.fabric.value(gpu, Attribute::GpuIndex).and_then(crate::fabric::Value::as_count)
}

/// Makes rows for the GPUs of one guest.
struct Builder<'a> {
    model: &'a Model,
    target: &'a TargetId,
    gpus: Vec<EntityId>,
}

impl Builder<'_> {
    /// `GPU 0`; without an index its PCI address.
    fn label(&self, gpu: &EntityId) -> String {
        index(self.model, gpu).map_or_else(|| gpu.entity.name(), |index| format!("GPU {index}"))
    }

    /// The label of the GPU at a PCI address.
    fn label_at(&self, address: &str) -> String {
        let gpu = self.gpus.iter().find(|gpu| gpu.entity.name() == address);
        gpu.map_or_else(|| address.to_owned(), |gpu| self.label(gpu))
    }

    fn entities(&self, wanted: impl Fn(&Entity) -> bool) -> Vec<EntityId> {
        let entities = self.model.fabric.entities(self.target).filter(|entity| wanted(entity));
        entities.map(|entity| EntityId::new(self.target, entity.clone())).collect()
    }

    /// The cell of an attribute, with words before it, if anything is known of it.
    fn cell(&self, id: &EntityId, attribute: Attribute, before: &str) -> Option<Cell> {
        let reading = self.model.fabric.reading(id, attribute)?;
        let text = format::state(attribute, &reading.state);
        let text = if before.is_empty() { text } else { format!("{before} {text}") };
        Some(Cell::of(text, condition::of_value(attribute, &reading.state), id, attribute))
    }

    /// The same, left out where the value is missing.
    fn known(&self, id: &EntityId, attribute: Attribute, before: &str) -> Option<Cell> {
        self.model.fabric.value(id, attribute)?;
        self.cell(id, attribute, before)
    }

    fn count(&self, id: &EntityId, attribute: Attribute) -> Option<u64> {
        self.model.fabric.value(id, attribute).and_then(crate::fabric::Value::as_count)
    }

    fn row(id: &EntityId, word: &'static str, label: String, cells: Vec<Option<Cell>>) -> Option<Row> {
        let cells: Vec<Cell> = cells.into_iter().flatten().collect();
        (!cells.is_empty()).then(|| Row { key: RowKey::Entity(id.entity.clone(), word.into()), label, cells })
    }

    /// What of a GPU is read in the same row as what moves: the evidence of its numbers.
    fn evidence(&self, gpu: &EntityId) -> Option<Origin> {
        [Attribute::PerformanceState, Attribute::ClockReasons, Attribute::PcieLanes, Attribute::GpuHealth]
            .into_iter()
            .find(|attribute| self.model.fabric.reading(gpu, *attribute).is_some())
            .map(|attribute| Origin::Reading(gpu.clone(), attribute))
    }

    /// By what the GPUs are read, or why they are not.
    fn driver(&self) -> Vec<Row> {
        let guest = EntityId::new(self.target, Entity::Guest);
        let cells = vec![
            self.cell(&guest, Attribute::GpuReadBy, "read by"),
            self.known(&guest, Attribute::NvidiaDriver, "driver"),
            self.known(&guest, Attribute::CudaVersion, "CUDA up to"),
        ];
        Self::row(&guest, "gpu-driver", "driver".to_owned(), cells).into_iter().collect()
    }
}

/// How grave a missing value is.
fn missing<T>(state: &State<T>) -> Gravity {
    if matches!(state, State::Failed(_)) { Gravity::Bad } else { Gravity::Unknown }
}
