//! Graphs of what `esxtop` measures: memory and processors of a host and of its VMs. They are shown for a host, for each of
//! its VMs, and for a guest, which cannot see any of it by itself: what the host took from its VM, and how it stands in
//! line for processors.

use super::{Ceiling, Graph, GraphUnit, Line};
use crate::app::format;
use crate::app::model::Model;
use crate::app::tree::{Node, host_of};
use crate::diagnose::join::{group_of, group_of_guest};
use crate::fabric::{Attribute, Entity, EntityId, Measure, TargetId};
use crate::probe::esxi::esxtop::{NOT_READ, state_name};

/// VMs of a host that have graphs.
const MOST_VMS: usize = 32;

/// The graphs of a host: its memory, what it swaps, its processors.
pub(super) fn of_host(model: &Model, host: &TargetId) -> Vec<Graph> {
    let id = EntityId::new(host, Entity::Host);
    let memory = lines(model, &id, &[("ballooned", Measure::HostBalloon), ("swapped", Measure::HostSwapUsed)]);
    if memory.is_empty() && !has_rows(model, &id) {
        let waits = model.watched.contains_key(host);
        return if waits {
            vec![without_lines(id, format!("{host} memory"), &awaited(model, host))]
        } else {
            Vec::new()
        };
    }
    let mut graphs = Vec::new();
    let none = Ceiling::None;
    let sentence = Some(state(model, &id)).filter(|text| !text.is_empty());
    graphs.extend(graph(&id, format!("{host} memory of VMs"), GraphUnit::Bytes, memory, none.clone(), sentence));
    let swap = lines(model, &id, &[("swap in", Measure::HostSwapIn), ("swap out", Measure::HostSwapOut)]);
    graphs.extend(graph(&id, format!("{host} swap"), GraphUnit::BytesPerSecond, swap, none, None));
    let processors = lines(model, &id, &[("use", Measure::ProcessorUse)]);
    graphs.extend(graph(&id, format!("{host} processors"), GraphUnit::Percent, processors, whole(), None));
    graphs
}

/// The graphs of the VMs of a host, the selected one first.
pub(super) fn of_vms(model: &Model, host: &TargetId) -> Vec<Graph> {
    let mut groups: Vec<EntityId> = model
        .series
        .iter()
        .filter(|(key, _)| key.target == *host && key.name.as_str() == Measure::Ready.name())
        .filter(|(key, _)| matches!(key.entity, Entity::Group(_)))
        .map(|(key, _)| EntityId::new(host, key.entity.clone()))
        .collect();
    let selected = match &model.screen.tree.selected {
        Some(Node::Entity(id)) if matches!(id.entity, Entity::Vm(_)) => group_of(&model.fabric, id),
        _ => None,
    };
    groups.sort_by_key(|group| Some(group) != selected.as_ref());
    groups.iter().take(MOST_VMS).flat_map(|group| of_group(model, group)).collect()
}

/// The graphs of the VM in which a guest runs.
pub(super) fn of_guest(model: &Model, guest: &TargetId) -> Vec<Graph> {
    let Some(group) = group_of_guest(&model.fabric, model.joined(), guest) else { return Vec::new() };
    let host = host_of(model, guest);
    if host.is_some_and(|host| model.watched.contains_key(host)) && !has_rows(model, &group) {
        let title = format!("{} VM {}", group.target, group.entity.name());
        let sentence = awaited(model, &group.target);
        return vec![without_lines(group, title, &sentence)];
    }
    of_group(model, &group)
}

/// Why there are no rows of a host that is watched: the newest complaint about it, if there is one.
fn awaited(model: &Model, host: &TargetId) -> String {
    let complaint = model.events.iter().rev().filter(|event| event.target.as_ref() == Some(host));
    match complaint.map(|event| event.text.as_str()).find(|text| text.starts_with(NOT_READ)) {
        Some(complaint) => format!("{complaint}; it is tried again"),
        None => format!("`esxtop` runs on {host} while these graphs are shown: its first rows are on their way"),
    }
}

/// How a VM stands in line for processors, what was taken of its memory, and where that lies.
fn of_group(model: &Model, group: &EntityId) -> Vec<Graph> {
    let title = |what: &str| format!("{} VM {} {what}", group.target, group.entity.name());
    let waits = lines(
        model,
        group,
        &[
            ("ready", Measure::Ready),
            ("co-stop", Measure::CoStop),
            ("limited", Measure::MaxLimited),
            ("swap wait", Measure::SwapWait),
        ],
    );
    let processors = newest(model, group, Measure::VmProcessors).filter(|count| *count >= 1.0);
    let sentence = processors.map(|count| format!("all {count:.0} virtual processors added up"));
    let mut graphs = Vec::new();
    graphs.extend(graph(group, title("waits"), GraphUnit::Percent, waits, Ceiling::None, sentence));
    let taken = lines(model, group, &[("ballooned", Measure::VmBalloon), ("swapped", Measure::VmSwapped)]);
    graphs.extend(graph(group, title("memory taken"), GraphUnit::Bytes, taken, Ceiling::None, None));
    let local = lines(model, group, &[("local", Measure::NumaLocal)]);
    graphs.extend(graph(group, title("NUMA"), GraphUnit::Percent, local, whole(), None));
    graphs
}

/// All of it.
pub(super) fn whole() -> Ceiling {
    Ceiling::Known(100.0, "all".to_owned())
}

fn has_rows(model: &Model, id: &EntityId) -> bool {
    model.series.of(&id.target, &id.entity).any(|(key, _)| Measure::from_name(key.name.as_str()).is_some())
}

/// The measures of which there is a series.
pub(super) fn lines(model: &Model, id: &EntityId, wanted: &[(&'static str, Measure)]) -> Vec<Line> {
    let line = |&(label, measure): &(&'static str, Measure)| {
        let key = measure.key(id);
        model.series.get(&key).is_some().then(|| Line { label, keys: vec![key], factor: 1.0, slow: false })
    };
    wanted.iter().filter_map(line).collect()
}

fn graph(
    id: &EntityId,
    title: String,
    unit: GraphUnit,
    lines: Vec<Line>,
    ceiling: Ceiling,
    sentence: Option<String>,
) -> Option<Graph> {
    let attribute = Attribute::Balloon;
    (!lines.is_empty()).then(|| Graph { id: id.clone(), title, unit, lines, ceiling, sentence, attribute })
}

fn without_lines(id: EntityId, title: String, sentence: &str) -> Graph {
    Graph {
        id,
        title,
        unit: GraphUnit::Bytes,
        lines: Vec::new(),
        ceiling: Ceiling::None,
        sentence: Some(sentence.to_owned()),
        attribute: Attribute::MemoryState,
    }
}

/// The value at the cursor.
fn newest(model: &Model, id: &EntityId, measure: Measure) -> Option<f64> {
    model.series.get(&measure.key(id))?.at(model.cursor_time())?.value
}

/// How short the memory of a host is, in words: `memory state soft; overcommit 0.35; 4.6 GiB free`.
fn state(model: &Model, host: &EntityId) -> String {
    let mut parts = Vec::new();
    if let Some(number) = newest(model, host, Measure::MemoryState) {
        parts.extend(state_name(number).map(|name| format!("memory state {name}")));
    }
    if let Some(more) = newest(model, host, Measure::Overcommit) {
        parts.push(format!("overcommit {more:.2}"));
    }
    if let Some(free) = newest(model, host, Measure::HostMemoryFree) {
        parts.push(format!("{} free", bytes(free)));
    }
    parts.join("; ")
}

/// A number of bytes.
pub(super) fn bytes(value: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size, rounded")]
    format::bytes(value.round().max(0.0) as u64)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::app::live::graphs;
    use crate::app::message::{Message, Severity};
    use crate::app::model::{Options, Target, TargetKind};
    use crate::app::update;
    use crate::fabric::{Measured, Text, Timestamp};

    const MEBIBYTE: f64 = 1_048_576.0;

    fn model() -> (Model, TargetId) {
        let host = TargetId::new("esx01");
        let mut target = Target::new(TargetKind::Esxi);
        target.last_sample = None;
        (Model::new(vec![(host.clone(), target)], Options::default(), Timestamp::UNIX_EPOCH), host)
    }

    fn row(model: &mut Model, host: &TargetId, second: i64, state: f64, ready: Option<f64>) {
        let vm = Entity::Group(Text::new("gpu-a"));
        let gauges = vec![
            Measure::MemoryState.of(&Entity::Host, Some(state)),
            Measure::HostBalloon.of(&Entity::Host, Some(512.0 * MEBIBYTE)),
            Measure::HostMemoryFree.of(&Entity::Host, Some(4096.0 * MEBIBYTE)),
            Measure::Ready.of(&vm, ready),
            Measure::VmProcessors.of(&vm, Some(4.0)),
            Measure::VmBalloon.of(&vm, Some(0.0)),
        ];
        let row = Measured {
            target: host.clone(),
            at: Timestamp::from_second(second).expect("a time"),
            stream: Text::new("esxi.esxtop"),
            period: Duration::from_secs(5),
            gauges,
            facts: Vec::new(),
            observation: None,
        };
        update(model, Message::Measured(Box::new(row)));
    }

    #[test]
    fn a_host_shows_its_memory_and_its_vms() {
        let (mut model, host) = model();
        assert!(graphs(&model, &host).is_empty(), "nobody watches it");
        model.watched.insert(host.clone(), Duration::from_secs(5));
        let [waiting] = &graphs(&model, &host)[..] else { panic!("one sentence") };
        assert!(
            waiting.lines.is_empty() && waiting.sentence.as_ref().is_some_and(|text| text.contains("on their way"))
        );
        let (severity, text) =
            (Severity::Warning, Text::new("esxtop is not read: there is no esxtop (sh: esxtop: not found)"));
        let (target, at) = (Some(host.clone()), Timestamp::UNIX_EPOCH);
        update(&mut model, Message::Notice { target, at, severity, text });
        model.watched.insert(host.clone(), Duration::from_secs(5));
        let said = graphs(&model, &host)[0].sentence.clone().expect("a sentence");
        assert_eq!(said, "esxtop is not read: there is no esxtop (sh: esxtop: not found); it is tried again");
        row(&mut model, &host, 5, 2.0, Some(80.0));
        row(&mut model, &host, 10, 2.0, None);
        let all = graphs(&model, &host);
        let titles: Vec<&str> = all.iter().map(|graph| graph.title.as_str()).collect();
        assert_eq!(titles, ["esx01 memory of VMs", "esx01 VM gpu-a waits", "esx01 VM gpu-a memory taken"]);
        assert_eq!(all[0].sentence.as_deref(), Some("memory state soft; 4 GiB free"));
        let at = |second| Timestamp::from_second(second).expect("a time");
        assert_eq!(all[0].lines[0].value_at(&model, at(5)), Some(512.0 * MEBIBYTE));
        assert_eq!(all[1].sentence.as_deref(), Some("all 4 virtual processors added up"));
        let points = all[1].lines[0].points(&model, at(0), at(20));
        assert_eq!(points, [(at(5), Some(80.0)), (at(10), None)], "a cell that was empty is a gap");
        assert!(all[2].is_quiet(&model, at(0), at(20)) && !all[0].is_quiet(&model, at(0), at(20)));
    }
}
