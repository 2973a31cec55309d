//! The rows of the *GPU* panel: what holds each GPU of a guest back, what it does now, its links, its parts and who uses it,
//! its state and its settings. What changes stands first, what never does last. A host sees nothing of a GPU that it passed
//! through, so the panel is about guests.

mod limited;
pub(super) mod link;
mod moving;
mod settled;
mod silent;

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
pub(super) fn gpus(model: &Model, target: &TargetId) -> Vec<EntityId> {
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
    count(model, gpu, Attribute::GpuIndex)
}

/// A number that was read.
pub(super) fn count(model: &Model, id: &EntityId, attribute: Attribute) -> Option<u64> {
    model.fabric.value(id, attribute).and_then(crate::fabric::Value::as_count)
}

/// `GPU 0`; without an index its PCI address.
pub(super) fn label(model: &Model, gpu: &EntityId) -> String {
    index(model, gpu).map_or_else(|| gpu.entity.name(), |index| format!("GPU {index}"))
}

/// Makes rows for the GPUs of one guest.
struct Builder<'a> {
    model: &'a Model,
    target: &'a TargetId,
    gpus: Vec<EntityId>,
}

impl Builder<'_> {
    fn label(&self, gpu: &EntityId) -> String {
        label(self.model, gpu)
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
        count(self.model, id, attribute)
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::app::message::Message;
    use crate::app::model::{Options, Target, TargetKind};
    use crate::app::update;
    use crate::fabric::{Measure, Measured, Observation, Text, Timestamp, Value};

    /// A guest with so many GPUs, measured twenty times in as many seconds.
    fn model(count: u64) -> (Model, TargetId) {
        let guest = TargetId::new("gpu-a");
        let targets = vec![(guest.clone(), Target::new(TargetKind::Linux))];
        let mut model = Model::new(targets, Options::default(), Timestamp::UNIX_EPOCH);
        let at = |second| Timestamp::from_second(second).expect("a time");
        for second in 1..=20 {
            let (mut gauges, mut facts) = (Vec::new(), Vec::new());
            let mut row = Observation::of_text("gpu.stream", "0, 97 %");
            row.target = guest.clone();
            row.at = at(second);
            for index in 0..count {
                let gpu = Entity::Gpu(Text::new(&format!("0000:{:02x}:00.0", 0x10 + index)));
                let mut fact = |attribute, value| facts.push(row.known(gpu.clone(), attribute, value, 1));
                fact(Attribute::GpuIndex, Value::Count(index));
                fact(Attribute::GpuMemory, Value::Count(40 << 30));
                fact(Attribute::PerformanceState, Value::Text(Text::new("P0")));
                gauges.push(Measure::GpuUse.of(&gpu, Some(97.0)));
                gauges.push(Measure::GpuMemoryUsed.of(&gpu, Some(30.0 * 1_073_741_824.0)));
                gauges.push(Measure::Power.of(&gpu, (index != 1).then_some(214.0)));
                gauges.push(Measure::PcieReceived.of(&gpu, Some(1.25e9)));
                gauges.push(Measure::PcieGenerationNow.of(&gpu, Some(4.0)));
                gauges.push(Measure::PcieLanesNow.of(&gpu, Some(16.0)));
            }
            let (stream, period) = (Text::new("gpu.stream"), Duration::from_secs(1));
            let row =
                Measured { target: guest.clone(), at: at(second), stream, period, gauges, facts, observation: None };
            update(&mut model, Message::Measured(Box::new(row)));
            update(&mut model, Message::Clock(at(second)));
        }
        (model, guest)
    }

    fn below(rows: &[Row], title: &str) -> Vec<(String, Vec<String>)> {
        let from = rows.iter().skip_while(|row| !row.is_section() || row.label != title).skip(1);
        let section = from.take_while(|row| !row.is_section());
        section.map(|row| (row.label.clone(), row.cells.iter().map(|cell| cell.text.clone()).collect())).collect()
    }

    #[test]
    fn each_gpu_has_a_verdict_what_it_does_now_and_its_link() {
        let (model, guest) = model(2);
        let rows = rows(&model, &guest);
        let now = below(&rows, moving::NOW);
        assert_eq!(now[0].1, ["97 %", "not told", "30G/40G", "214", "not told", "not told"]);
        assert_eq!(now[1].1[3], "gap", "a value that is missing is never a zero");
        let links = below(&rows, moving::LINKS);
        assert_eq!(links[0].1, ["1.2 GB/s", "not told", "Gen4 x16", "28.8 GB/s"]);
        assert_eq!(below(&rows, limited::TITLE).len(), 2);
    }

    #[test]
    fn sixteen_gpus_keep_to_a_line_each_in_their_order() {
        let (mut model, guest) = model(16);
        model.screen.columns = 80;
        let verdicts = below(&rows(&model, &guest), limited::TITLE);
        let labels: Vec<&str> = verdicts.iter().map(|(label, _)| label.as_str()).collect();
        assert_eq!((labels.len(), labels[1], labels[15]), (16, "GPU 1", "GPU 15"));
        assert!(verdicts.iter().all(|(_, cells)| cells.len() == 1 && cells[0].len() <= 26), "{verdicts:?}");
    }

    /// Nothing is measured for so many seconds more.
    fn silence(model: &mut Model, seconds: std::ops::RangeInclusive<i64>) {
        for second in seconds {
            update(model, Message::Clock(Timestamp::from_second(second).expect("a time")));
        }
    }

    #[test]
    fn a_verdict_ends_with_the_rows_that_it_was_made_of() {
        let (mut model, guest) = model(1);
        silence(&mut model, 21..=24);
        let verdict = |model: &Model| below(&rows(model, &guest), limited::TITLE)[0].1.join("; ");
        assert!(!verdict(&model).contains("not measured"), "{}", verdict(&model));
        silence(&mut model, 25..=27);
        assert!(verdict(&model).starts_with("not measured for 7 s (was "), "{}", verdict(&model));
        let text = Text::new("the stream of GPUs ended: nvidia-smi: No devices were found");
        let at = model.now;
        let severity = crate::app::Severity::Warning;
        update(&mut model, Message::Notice { target: Some(guest.clone()), at, severity, text });
        silence(&mut model, 28..=80);
        let said = verdict(&model);
        assert!(
            said.starts_with("not measured for ") && said.ends_with("ended: nvidia-smi: No devices were found"),
            "{said}"
        );
        let all = rows(&model, &guest);
        let state = &below(&all, "State")[0].1;
        assert!(state.iter().any(|cell| cell.ends_with(" old")), "P0 was read before: {state:?}");
        let cells = all.iter().flat_map(|row| &row.cells);
        assert!(cells.filter(|cell| cell.text == "P0").all(|cell| cell.gravity == Gravity::Stale));
        assert!(below(&all, moving::NOW)[0].1[0].ends_with("s old"));
    }

    #[test]
    fn where_there_is_none_it_is_said_why() {
        let (mut model, _) = model(1);
        let other = TargetId::new("pv-a");
        model.targets.insert(other.clone(), Target::new(TargetKind::Linux));
        assert_eq!(why_none(&model, &other), "no GPU was seen here; there are some in gpu-a");
    }
}
