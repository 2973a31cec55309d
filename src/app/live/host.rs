//! Graphs of what a host counts: for a host those of its uplinks, for a guest with PVRDMA those of the uplink that its
//! adapter leads to. They count all VMs of the uplink, and every graph says so; they are never the guest's own. They are
//! means over the time between two reads, drawn as steps.

use std::collections::BTreeMap;

use super::{Ceiling, GAP_PERIODS, Graph, GraphUnit, Line, LinePoint};
use crate::app::connection::Connection;
use crate::app::format;
use crate::app::model::Model;
use crate::diagnose::join::SHARED_COUNTERS;
use crate::fabric::counter::SharedRole::{
    self, Discard, Drop, Error, ReceiveBytes, ReceivePackets, ReceivePause, TransmitBytes, TransmitPackets,
    TransmitPause,
};
use crate::fabric::slow::Mean;
use crate::fabric::{Attribute, Entity, EntityId, SeriesKey, State, TargetId, Text, Timestamp, Value};
use crate::probe::esxi::counting;

/// A mean stands for the time after it, in words, for so many times its own length and so many seconds more.
const SLACK_SECONDS: f64 = 10.0;

/// The graphs of a host: its uplinks with an RDMA device first. One that has no link and
/// never carried anything is left out.
pub(super) fn of_host(model: &Model, host: &TargetId) -> Vec<Graph> {
    let mut uplinks: Vec<EntityId> = model
        .fabric
        .entities(host)
        .filter(|entity| matches!(entity, Entity::Uplink(_)))
        .map(|entity| EntityId::new(host, entity.clone()))
        .filter(|uplink| !is_idle(model, uplink))
        .collect();
    uplinks.sort_by_key(|uplink| devices(model, uplink).is_empty());
    uplinks.iter().flat_map(|uplink| of_uplink(model, uplink)).collect()
}

/// The graphs of the uplinks behind the PVRDMA adapters of a guest, where the join leads to them.
pub(super) fn of_guest(model: &Model, guest: &TargetId) -> Vec<Graph> {
    let joined = model.joined();
    let mut graphs = Vec::new();
    let mut seen: Vec<&EntityId> = Vec::new();
    let own = |guest_of: &Option<TargetId>| guest_of.as_ref() == Some(guest);
    for chain in joined.chains.iter().filter(|chain| own(&chain.guest) && chain.is_pvrdma()) {
        let before = seen.len();
        for link in &chain.links {
            if matches!(link.to.entity, Entity::Uplink(_)) && !seen.contains(&&link.to) {
                seen.push(&link.to);
                graphs.extend(of_uplink(model, &link.to));
            }
        }
        if seen.len() == before && seen.is_empty() {
            let gap = joined.gaps.iter().find(|gap| chain.links.iter().any(|link| link.to == gap.about));
            let why = gap.map_or_else(String::new, |gap| format!(": no {}: {}", gap.missing, gap.why));
            let sentence = format!("this adapter leads to no uplink whose counters could be shown{why}");
            let id = chain.device.clone();
            graphs.push(without_lines(id, format!("{} uplink", chain.device.target), Attribute::OnSwitch, sentence));
        }
    }
    graphs
}

/// RDMA devices of the host that work on an uplink.
fn devices(model: &Model, uplink: &EntityId) -> Vec<EntityId> {
    let name = uplink.entity.name();
    model
        .fabric
        .entities(&uplink.target)
        .filter(|entity| matches!(entity, Entity::RdmaDevice(_)))
        .map(|entity| EntityId::new(&uplink.target, entity.clone()))
        .filter(|id| model.fabric.text(id, Attribute::PairedUplink) == Some(&*name))
        .collect()
}

fn is_idle(model: &Model, uplink: &EntityId) -> bool {
    let has_link = model.fabric.value(uplink, Attribute::Carrier) != Some(&Value::Flag(false));
    let things = [vec![uplink.clone()], devices(model, uplink)].concat();
    let moved = |id: &EntityId| {
        model
            .slow
            .of(&id.target)
            .filter(|(key, _)| key.entity == id.entity)
            .any(|(_, series)| series.means.iter().any(|mean| mean.value > 0.0))
    };
    !has_link && !things.iter().any(moved)
}

/// RDMA, all that the adapter counts itself, and what went wrong on it.
fn of_uplink(model: &Model, uplink: &EntityId) -> Vec<Graph> {
    let (host, name) = (&uplink.target, uplink.entity.name());
    let mut graphs: Vec<Graph> = devices(model, uplink)
        .iter()
        .map(|device| traffic(model, device, uplink, format!("{host} {name} {}", device.entity.name())))
        .collect();
    graphs.push(traffic(model, uplink, uplink, format!("{host} {name}")));
    graphs.extend(trouble(model, uplink));
    graphs
}

/// Octets each way, else packets, else the sentence why there is neither.
fn traffic(model: &Model, thing: &EntityId, uplink: &EntityId, title: String) -> Graph {
    let both = |transmit, receive, factor| -> Vec<Line> {
        [line(model, thing, "tx", transmit, factor), line(model, thing, "rx", receive, factor)]
            .into_iter()
            .flatten()
            .collect()
    };
    let (mut lines, mut unit) = (both(TransmitBytes, ReceiveBytes, 8.0), GraphUnit::BitsPerSecond);
    if lines.is_empty() {
        (lines, unit) = (both(TransmitPackets, ReceivePackets, 1.0), GraphUnit::PacketsPerSecond);
    }
    let of = Text::new(&thing.entity.name());
    let named = |name: Text| EntityId::new(&thing.target, Entity::Counter { of: of.clone(), name });
    let Some(key) = lines.first().and_then(|line| line.keys.first()).cloned() else {
        let whole = named(Text::new("*"));
        let why = model.fabric.reading(&whole, Attribute::CounterValue).map(|reading| &reading.state);
        let sentence = match why.and_then(State::why) {
            Some(why) => format!("{SHARED_COUNTERS}; counters {why}"),
            None if is_saved(model, &thing.target) => SAVED.to_owned(),
            None => format!("{SHARED_COUNTERS}; not read yet"),
        };
        return without_lines(whole, title, Attribute::CounterValue, sentence);
    };
    let id = named(key.name.clone());
    if !lines.iter().any(|line| is_drawn(model, line)) {
        let sentence = if is_saved(model, &thing.target) {
            SAVED.to_owned()
        } else {
            format!("{SHARED_COUNTERS}; read once, a rate needs two reads")
        };
        return without_lines(id, title, Attribute::CounterValue, sentence);
    }
    let mut sentence = told(model, &key);
    // No public sample says which drivers fill the counters of RDMA devices, so standing still proves nothing.
    if matches!(thing.entity, Entity::RdmaDevice(_)) && !lines.iter().any(|line| has_moved(model, line)) {
        sentence.push_str("; none has moved yet, and not every driver fills them");
    }
    let ceiling = match model.fabric.value(uplink, Attribute::Speed).and_then(Value::as_count) {
        Some(bits) if unit == GraphUnit::BitsPerSecond => {
            Ceiling::Known(bits as f64, format!("{} link", format::bits_per_second(bits as f64)))
        }
        _ => Ceiling::None,
    };
    Graph { id, title, unit, lines, ceiling, sentence: Some(sentence), attribute: Attribute::CounterValue }
}

/// What is said of a target whose values were saved earlier.
const SAVED: &str = "its values were saved earlier: there is nothing live to draw";

fn without_lines(id: EntityId, title: String, attribute: Attribute, sentence: String) -> Graph {
    Graph {
        id,
        title,
        unit: GraphUnit::BitsPerSecond,
        lines: Vec::new(),
        ceiling: Ceiling::None,
        sentence: Some(sentence),
        attribute,
    }
}

/// Pause frames, errors and drops of an uplink.
fn trouble(model: &Model, uplink: &EntityId) -> Option<Graph> {
    let of_devices =
        devices(model, uplink).into_iter().filter_map(|device| line(model, &device, "RDMA errors", Error, 1.0));
    let lines: Vec<Line> = [
        ("pause tx", TransmitPause),
        ("pause rx", ReceivePause),
        ("errors", Error),
        ("drops", Drop),
        ("discards", Discard),
    ]
    .into_iter()
    .filter_map(|(label, role)| line(model, uplink, label, role, 1.0))
    .chain(of_devices)
    .filter(|line| is_drawn(model, line))
    .collect();
    let key = lines.first()?.keys.first()?.clone();
    let counter = Entity::Counter { of: Text::new(&key.entity.name()), name: key.name.clone() };
    Some(Graph {
        id: EntityId::new(&uplink.target, counter),
        title: format!("{} {} pause and errors", uplink.target, uplink.entity.name()),
        unit: GraphUnit::PerSecond,
        lines,
        ceiling: Ceiling::None,
        sentence: Some(told(model, &key)),
        attribute: Attribute::CounterValue,
    })
}

/// The sum of all counters of a thing that count the same. Where two probes do, the driver's own account is taken.
fn line(model: &Model, thing: &EntityId, label: &'static str, role: SharedRole, factor: f64) -> Option<Line> {
    let all = || model.slow.of(&thing.target).filter(|(key, series)| key.entity == thing.entity && series.role == role);
    let probe = all()
        .map(|(_, series)| &series.probe)
        .min_by_key(|probe| (probe.as_str() != counting::PRIVATE, probe.as_str()))?;
    let keys = all().filter(|(_, series)| series.probe == *probe).map(|(key, _)| key.clone()).collect();
    Some(Line { label, keys, factor, slow: true })
}

fn is_drawn(model: &Model, line: &Line) -> bool {
    line.keys.iter().any(|key| model.slow.get(key).is_some_and(|series| !series.means.is_empty()))
}

fn has_moved(model: &Model, line: &Line) -> bool {
    let moved = |key| model.slow.get(key).is_some_and(|series| series.means.iter().any(|mean| mean.value > 0.0));
    line.keys.iter().any(moved)
}

/// Whose counters they are, over how long they are means, and how old the newest is: `all VMs of this uplink; mean of
/// 31 s, 12 s old`.
fn told(model: &Model, key: &SeriesKey) -> String {
    let at = model.cursor_time();
    let Some(mean) = model.slow.get(key).and_then(|series| series.at(at)) else { return SHARED_COUNTERS.to_owned() };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive time, rounded")]
    let length = format::span(mean.seconds().round().max(1.0) as u64);
    if model.screen.live.cursor.is_some() || model.screen.live.frozen.is_some() {
        return format!("{SHARED_COUNTERS}; mean of {length}");
    }
    let age = format::age(mean.until, model.now);
    let age = if age == "now" { "new".to_owned() } else { format!("{age} old") };
    if stands_for(model, &mean, at) {
        format!("{SHARED_COUNTERS}; mean of {length}, {age}")
    } else {
        format!("{SHARED_COUNTERS}; not read any more, the last mean is {age}")
    }
}

/// True if the mean may be shown as the value of a moment: the moment lies in it, or shortly after it. Under a cursor only
/// what was measured counts.
fn stands_for(model: &Model, mean: &Mean, at: Timestamp) -> bool {
    let since = at.duration_since(mean.until).as_secs_f64();
    since <= 0.0 || (model.screen.live.cursor.is_none() && since <= GAP_PERIODS * mean.seconds() + SLACK_SECONDS)
}

/// The value of a line at a moment; `None` where one of its counters has none.
pub(super) fn value(model: &Model, line: &Line, at: Timestamp) -> Option<f64> {
    let values = line.keys.iter().map(|key| {
        let mean = model.slow.get(key)?.at(at).filter(|mean| stands_for(model, mean, at))?;
        Some(mean.value * line.factor)
    });
    values.sum()
}

/// The points of a line as steps: each mean at both ends of its time, and a gap where the next does not follow at once.
pub(super) fn points(model: &Model, line: &Line, from: Timestamp, until: Timestamp) -> Vec<LinePoint> {
    let mut sums: BTreeMap<(Timestamp, Timestamp), (usize, f64)> = BTreeMap::new();
    for series in line.keys.iter().filter_map(|key| model.slow.get(key)) {
        for mean in series.means.iter().filter(|mean| mean.until >= from && mean.from <= until) {
            let sum = sums.entry((mean.from, mean.until)).or_default();
            *sum = (sum.0 + 1, sum.1 + mean.value * line.factor);
        }
    }
    let mut points: Vec<LinePoint> = Vec::new();
    // Where one of the added counters has no mean, the sum has none.
    for ((begins, ends), (_, value)) in sums.into_iter().filter(|(_, (count, _))| *count == line.keys.len()) {
        if let Some((before, _)) = points.last().copied().filter(|(before, _)| *before < begins) {
            points.push((before, None));
        }
        points.extend([(begins, Some(value)), (ends, Some(value))]);
    }
    points
}

/// True for a target that is a file: its values are older than the connection to it, and nothing of it ever moved.
pub(super) fn is_saved(model: &Model, id: &TargetId) -> bool {
    let Some(target) = model.targets.get(id) else { return false };
    let Connection::Connected { since, .. } = target.connection else { return false };
    target.last_sample.is_none()
        && target.last_report.is_some_and(|at| at < since)
        && model.slow.of(id).all(|(_, series)| series.means.is_empty())
}
