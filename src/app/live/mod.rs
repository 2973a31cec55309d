//! The graphs of the *Live* panel: which there are for a target, which series feed them, what their ceiling is. A graph
//! without a source is a sentence, never a flat line.

mod gpu;
mod host;
mod measured;

use super::model::Model;
use crate::diagnose::join::SHARED_COUNTERS;
use crate::fabric::counter::Role;
use crate::fabric::{Attribute, Entity, EntityId, SeriesKey, State, TargetId, Text, Timestamp, Value};

/// Samples further apart than this many periods are not connected, and the older one says nothing of the time between.
pub const GAP_PERIODS: f64 = 3.0;
/// What is read now and then, as queue pairs, is read at least this often, in seconds.
pub const LONGEST_STEP_SECONDS: f64 = 8.0;

/// Unit of a graph's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphUnit {
    /// Bits per second.
    BitsPerSecond,
    /// Packets per second.
    PacketsPerSecond,
    /// Events per second.
    PerSecond,
    /// A plain number, read now and then: it holds until the next reading.
    Number,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Percent.
    Percent,
    /// Watts.
    Watts,
    /// Degrees Celsius.
    Celsius,
    /// Megahertz.
    Megahertz,
}

impl GraphUnit {
    /// A value with this unit.
    pub fn format(self, value: f64) -> String {
        match self {
            Self::BitsPerSecond => super::format::bits_per_second(value),
            Self::PacketsPerSecond => super::format::packets_per_second(value),
            Self::PerSecond => super::format::per_second(value),
            Self::Number => super::format::plain(value),
            Self::Bytes => measured::bytes(value),
            Self::BytesPerSecond => super::format::bytes_per_second(value),
            Self::Percent => format!("{}%", super::format::decimal(value)),
            Self::Watts => format!("{value:.0} W"),
            Self::Celsius => format!("{value:.0} °C"),
            Self::Megahertz => format!("{value:.0} MHz"),
        }
    }

    /// The unit's name for an axis.
    pub fn name(self) -> &'static str {
        match self {
            Self::BitsPerSecond => "b/s",
            Self::PacketsPerSecond => "pkt/s",
            Self::PerSecond => "/s",
            Self::Number => "",
            Self::Bytes => "B",
            Self::BytesPerSecond => "B/s",
            Self::Percent => "%",
            Self::Watts => "W",
            Self::Celsius => "°C",
            Self::Megahertz => "MHz",
        }
    }
}

/// One line of a graph: the sum of some series.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its name: `tx`, `rx`, `retransmits`.
    pub label: &'static str,
    /// The series that are added up.
    pub keys: Vec<SeriesKey>,
    /// What each value is multiplied with (8 turns bytes into bits).
    pub factor: f64,
    /// True for counters of a host, which are read now and then: each value is the mean of a time and is drawn as a step.
    pub slow: bool,
}

/// The highest value that a graph can honestly reach.
#[derive(Clone, Debug, PartialEq)]
pub enum Ceiling {
    /// No ceiling makes sense here (numbers of errors).
    None,
    /// This value; the text names it.
    Known(f64, String),
    /// Not known; the text says why.
    Unknown(String),
}

/// One graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// Of what.
    pub id: EntityId,
    /// Its title: `rxe0/1 packets`.
    pub title: String,
    /// Unit of its values.
    pub unit: GraphUnit,
    /// Its lines. None at all if nothing publishes the values: then `sentence` says so.
    pub lines: Vec<Line>,
    /// Its ceiling.
    pub ceiling: Ceiling,
    /// What there is to say: who does not publish the values, or what they are.
    pub sentence: Option<String>,
    /// The attribute that evidence is shown for.
    pub attribute: Attribute,
}

/// One value of a line, or a gap.
pub type LinePoint = (Timestamp, Option<f64>);

impl Line {
    /// True if any value above zero is bad news.
    pub fn tells_of_trouble(&self) -> bool {
        matches!(
            self.label,
            "in error"
                | "errors"
                | "retransmits"
                | "receiver not ready"
                | "RDMA errors"
                | "drops"
                | "discards"
                | "ballooned"
                | "swapped"
                | "swap in"
                | "swap out"
        )
    }

    /// The points of the line from `from` to `until`, oldest first. Where any of the added series has a gap, so has the
    /// line.
    pub fn points(&self, model: &Model, from: Timestamp, until: Timestamp) -> Vec<LinePoint> {
        if self.slow {
            return host::points(model, self, from, until);
        }
        let mut summed: std::collections::BTreeMap<Timestamp, Option<f64>> = std::collections::BTreeMap::new();
        for series in self.keys.iter().filter_map(|key| model.series.get(key)) {
            for point in series.points.iter().filter(|point| point.at >= from && point.at <= until) {
                let value = point.value.map(|value| value * self.factor);
                summed
                    .entry(point.at)
                    .and_modify(|sum| *sum = sum.zip(value).map(|(sum, value)| sum + value))
                    .or_insert(value);
            }
        }
        summed.into_iter().collect()
    }

    /// The newest value at or before `at`, unless there is a gap.
    pub fn value_at(&self, model: &Model, at: Timestamp) -> Option<f64> {
        if self.slow {
            return host::value(model, self, at);
        }
        let mut sum = None;
        for series in self.keys.iter().filter_map(|key| model.series.get(key)) {
            let value = series.at(at)?.value? * self.factor;
            sum = Some(sum.unwrap_or(0.0) + value);
        }
        sum
    }

    /// The value at a moment, unless it is too old to stand for that moment.
    pub fn fresh_value(&self, model: &Model, at: Timestamp) -> Option<f64> {
        if self.slow {
            return host::value(model, self, at);
        }
        let newest = self.keys.iter().filter_map(|key| model.series.get(key)?.at(at)).map(|point| point.at).max()?;
        let limit = GAP_PERIODS * model.options.period.as_secs_f64() + LONGEST_STEP_SECONDS;
        (at.duration_since(newest).as_secs_f64() <= limit).then(|| self.value_at(model, at)).flatten()
    }
}

impl Graph {
    /// True if it shows counters of a host, which count all VMs of an uplink.
    pub fn is_shared(&self) -> bool {
        self.lines.iter().any(|line| line.slow)
    }

    /// True if it shows rows of `esxtop`, which come every few seconds.
    pub fn is_watched(&self) -> bool {
        matches!(self.id.entity, Entity::Host | Entity::Group(_))
    }

    /// Its title, with whose counters it shows where those are not the target's own.
    pub fn whole_title(&self) -> String {
        if self.is_shared() { format!("{} ({SHARED_COUNTERS})", self.title) } else { self.title.clone() }
    }

    /// True for a graph of trouble that shows none: all its lines were zero all the time. Such a graph needs no room.
    pub fn is_quiet(&self, model: &Model, from: Timestamp, until: Timestamp) -> bool {
        let is_trouble = self.unit == GraphUnit::PerSecond || self.lines.iter().all(Line::tells_of_trouble);
        is_trouble
            && !self.lines.is_empty()
            && self.lines.iter().all(|line| {
                line.points(model, from, until).iter().all(|(_, value)| value.is_none_or(|value| value == 0.0))
            })
    }
}

/// True for a target whose values were read from a file: nothing of it moves.
pub fn is_saved(model: &Model, target: &TargetId) -> bool {
    host::is_saved(model, target)
}

/// All graphs of a target: its RDMA ports first, then what its host counts for it, its GPUs and what the host measures of its
/// VM, then queue pairs, then its network interfaces; of a host its uplinks, its memory and its VMs. A target that is a file has none.
pub fn graphs(model: &Model, target: &TargetId) -> Vec<Graph> {
    if is_saved(model, target) {
        return Vec::new();
    }
    let mut graphs = host::of_host(model, target);
    graphs.extend(measured::of_host(model, target));
    graphs.extend(measured::of_vms(model, target));
    let ports: Vec<Entity> = model.fabric.ports(target).map(|(device, port)| Entity::port(device, port)).collect();
    for port in &ports {
        let id = EntityId::new(target, port.clone());
        graphs.extend(traffic(model, &id));
        graphs.extend(trouble(model, &id));
    }
    graphs.extend(host::of_guest(model, target));
    graphs.extend(gpu::of_guest(model, target));
    graphs.extend(measured::of_guest(model, target));
    if !ports.is_empty() {
        graphs.push(queue_pairs(model, target));
    }
    let mut netdevs: Vec<EntityId> = model
        .fabric
        .entities(target)
        .filter(|entity| matches!(entity, Entity::Netdev(name) if name.as_str() != "lo"))
        .map(|entity| EntityId::new(target, entity.clone()))
        .collect();
    // Interfaces that carry RDMA come first.
    let under = model.fabric.netdevs_under_ports(target);
    netdevs.sort_by_key(|id| !under.contains(&id.entity.name().as_str()));
    graphs.extend(netdevs.iter().filter_map(|id| netdev(model, id)));
    graphs.retain(|graph| model.screen.panel_passes(&graph.title));
    graphs
}

fn line(model: &Model, id: &EntityId, label: &'static str, roles: &[Role], factor: f64) -> Option<Line> {
    let keys: Vec<SeriesKey> = model
        .series
        .of(&id.target, &id.entity)
        .filter(|(_, series)| series.role.is_some_and(|role| roles.contains(&role)))
        .map(|(key, _)| key.clone())
        .collect();
    (!keys.is_empty()).then_some(Line { label, keys, factor, slow: false })
}

/// Bytes each way where the driver counts them, else packets, else the sentence who does not publish either.
fn traffic(model: &Model, id: &EntityId) -> Vec<Graph> {
    let name = id.entity.name();
    let missing = |attribute| match model.fabric.reading(id, attribute).map(|reading| &reading.state) {
        Some(State::Known(_)) | None => None,
        Some(state) => state.why(),
    };
    let both = |transmit, receive, factor| -> Vec<Line> {
        [line(model, id, "tx", &[transmit], factor), line(model, id, "rx", &[receive], factor)]
            .into_iter()
            .flatten()
            .collect()
    };
    let bytes = both(Role::TransmitBytes, Role::ReceiveBytes, 8.0);
    if !bytes.is_empty() {
        return vec![Graph {
            id: id.clone(),
            title: format!("{name} throughput"),
            unit: GraphUnit::BitsPerSecond,
            lines: bytes,
            ceiling: ceiling(model, id),
            sentence: None,
            attribute: Attribute::ByteCounters,
        }];
    }
    let packets = both(Role::TransmitPackets, Role::ReceivePackets, 1.0);
    let no_bytes = missing(Attribute::ByteCounters).map(|why| format!("byte rate {why}"));
    if packets.is_empty() {
        return vec![Graph {
            id: id.clone(),
            title: format!("{name} traffic"),
            unit: GraphUnit::BitsPerSecond,
            lines: Vec::new(),
            ceiling: Ceiling::None,
            sentence: Some(no_bytes.unwrap_or_else(|| "no counters read yet".to_owned())),
            attribute: Attribute::ByteCounters,
        }];
    }
    let ceiling = match ceiling(model, id) {
        // A ceiling in bits says nothing about packets, but its absence is worth a word.
        Ceiling::Known(..) => Ceiling::None,
        other => other,
    };
    vec![Graph {
        id: id.clone(),
        title: format!("{name} packets"),
        unit: GraphUnit::PacketsPerSecond,
        lines: packets,
        ceiling,
        sentence: no_bytes,
        attribute: Attribute::PacketCounters,
    }]
}

fn ceiling(model: &Model, id: &EntityId) -> Ceiling {
    match model.fabric.reading(id, Attribute::Ceiling).map(|reading| &reading.state) {
        Some(State::Known(Value::Count(bits))) => {
            Ceiling::Known(*bits as f64, format!("{} link", super::format::bits_per_second(*bits as f64)))
        }
        Some(state) => Ceiling::Unknown(state.why().unwrap_or_default()),
        None => Ceiling::Unknown("not read yet".to_owned()),
    }
}

/// Retransmissions and errors, where the driver counts them.
fn trouble(model: &Model, id: &EntityId) -> Option<Graph> {
    let lines: Vec<Line> = [
        line(model, id, "retransmits", &[Role::Retransmit], 1.0),
        line(model, id, "receiver not ready", &[Role::ReceiverNotReady], 1.0),
        line(model, id, "errors", &[Role::Error], 1.0),
        line(model, id, "congestion", &[Role::Congestion], 1.0),
    ]
    .into_iter()
    .flatten()
    .collect();
    let sentence = match model.fabric.reading(id, Attribute::ErrorCounters).map(|reading| &reading.state) {
        Some(State::Known(_)) | None => None,
        Some(state) => state.why().map(|why| format!("errors and retransmissions {why}")),
    };
    if lines.is_empty() && sentence.is_none() {
        return None;
    }
    Some(Graph {
        id: id.clone(),
        title: format!("{} errors", id.entity.name()),
        unit: GraphUnit::PerSecond,
        lines,
        ceiling: Ceiling::None,
        sentence,
        attribute: Attribute::ErrorCounters,
    })
}

/// Name of the series that counts queue pairs without those of the kernel.
pub const QUEUE_PAIR_SERIES: &str = "queue-pairs";
/// Name of the series that counts queue pairs in error.
pub const QUEUE_PAIR_ERROR_SERIES: &str = "queue-pairs-in-error";

/// Numbers of queue pairs of processes, all and those in error.
fn queue_pairs(model: &Model, target: &TargetId) -> Graph {
    let id = EntityId::new(target, Entity::Guest);
    let key = |name| SeriesKey { target: target.clone(), entity: Entity::Guest, name: Text::new(name) };
    let lines = [("queue pairs", QUEUE_PAIR_SERIES), ("in error", QUEUE_PAIR_ERROR_SERIES)]
        .into_iter()
        .map(|(label, name)| Line { label, keys: vec![key(name)], factor: 1.0, slow: false })
        .filter(|line| model.series.get(&line.keys[0]).is_some())
        .collect::<Vec<_>>();
    let foreign = model.fabric.reading(&id, Attribute::ForeignQueuePairs).map(|reading| &reading.state);
    let own = matches!(foreign, Some(State::NeedsPrivilege(_)));
    let sentence = match foreign {
        Some(State::Known(_)) | None => lines.is_empty().then(|| "queue pairs not read yet".to_owned()),
        Some(state) => state.why().map(|why| format!("own ones only; others': {why}")),
    };
    Graph {
        id,
        title: if own { "queue pairs of your own processes" } else { "queue pairs of processes" }.to_owned(),
        unit: GraphUnit::Number,
        lines,
        ceiling: Ceiling::None,
        sentence,
        attribute: Attribute::ForeignQueuePairs,
    }
}

fn netdev(model: &Model, id: &EntityId) -> Option<Graph> {
    let lines: Vec<Line> =
        [line(model, id, "tx", &[Role::TransmitBytes], 8.0), line(model, id, "rx", &[Role::ReceiveBytes], 8.0)]
            .into_iter()
            .flatten()
            .collect();
    if lines.is_empty() {
        return None;
    }
    let ceiling = match model.fabric.value(id, Attribute::Speed).and_then(Value::as_count) {
        Some(speed) => {
            Ceiling::Known(speed as f64, format!("{} by the driver", super::format::bits_per_second(speed as f64)))
        }
        None => Ceiling::Unknown("the driver reports no speed".to_owned()),
    };
    Some(Graph {
        id: id.clone(),
        title: format!("{} interface", id.entity.name()),
        unit: GraphUnit::BitsPerSecond,
        lines,
        ceiling,
        sentence: None,
        attribute: Attribute::OperationalState,
    })
}
