//! How a snapshot is printed: the JSON document of `schema/snapshot-1.json`, and text at 80 columns. Both show every
//! missing value as missing, with the reason.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap as _, Serializer};

use super::text::{Row, rows, wrap};
use crate::app::Problem;
use crate::app::format::milliseconds;
use crate::diagnose::since::may_be_secret;
use crate::fabric::{
    Attribute, Entity, EntityId, Fabric, Observation, ObservationRef, Reading, State, TargetId, Text, Timestamp, Unit,
    Value,
};
use crate::probe::linux::counters::{VALUES, values};

/// Longest line that is kept, in characters.
const LONGEST_LINE: usize = 200;

/// How one target fared.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetStatus {
    /// Its name.
    pub name: TargetId,
    /// What it is: `linux`, `esxi`, `switch`, `local`, or `unknown` where that was not found out.
    pub kind: String,
    /// True if it could be read at all.
    pub reachable: bool,
    /// What went wrong, if something did.
    pub problem: Option<Problem>,
}

/// All that one collection gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Collected {
    /// When it began, by our own clock.
    pub at: Timestamp,
    /// The fold of all reports.
    pub fabric: Fabric,
    /// What was read, raw: tells the command of each fact.
    pub observations: Vec<Arc<Observation>>,
    /// The targets in the order in which they were asked for.
    pub targets: Vec<TargetStatus>,
}

/// The document as it is written; fields stand in the order of the schema.
#[derive(Debug, serde::Serialize)]
pub struct Document<'a> {
    schema: &'static str,
    at: Timestamp,
    rdmascope: &'static str,
    targets: Vec<TargetDocument<'a>>,
    links: Vec<Link>,
}

#[derive(Debug, serde::Serialize)]
struct TargetDocument<'a> {
    name: &'a TargetId,
    kind: &'a str,
    reachable: bool,
    problem: Option<&'a Problem>,
    facts: Ordered<String, Ordered<&'static str, FactDocument<'a>>>,
    /// Raw values as the kernel prints them; what they count, and in which unit, depends on the driver.
    counters: BTreeMap<String, BTreeMap<Text, u64>>,
}

#[derive(Debug, serde::Serialize)]
struct FactDocument<'a> {
    state: &'static str,
    value: serde_json::Value,
    unit: Option<&'static str>,
    why: Option<String>,
    at: Timestamp,
    source: &'a str,
    command: Option<&'a str>,
    line: Option<u32>,
    /// The line itself, where it is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    said: Option<Text>,
}

/// What the lines of each read say.
type Lines<'a> = BTreeMap<ObservationRef, Vec<&'a str>>;

/// A relation between two entities, both in the facts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
struct Link {
    kind: &'static str,
    from: End,
    to: End,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
struct End {
    target: TargetId,
    entity: String,
}

/// A JSON object whose members keep their order.
#[derive(Debug)]
struct Ordered<K, V>(Vec<(K, V)>);

impl<K: Serialize, V: Serialize> Serialize for Ordered<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl Collected {
    /// True if every target was reached and no reading failed.
    pub fn is_complete(&self) -> bool {
        self.targets.iter().all(|target| target.reachable && target.problem.is_none()) && !self.has_failed_reading()
    }

    fn has_failed_reading(&self) -> bool {
        self.targets.iter().any(|target| {
            self.fabric.entities(&target.name).any(|entity| {
                let id = EntityId::new(&target.name, entity.clone());
                self.fabric.readings(&id).values().any(|reading| matches!(reading.state, State::Failed(_)))
            })
        })
    }

    /// The document of schema `rdmascope.snapshot/1`.
    pub fn document(&self) -> Document<'_> {
        self.document_with(&Lines::default())
    }

    /// The same with the line that each value was read from, unless that may hold a secret.
    pub fn document_with_lines(&self) -> Document<'_> {
        let lines = self.observations.iter().map(|read| (read.reference(), read.stdout.lines().collect()));
        self.document_with(&lines.collect())
    }

    fn document_with(&self, lines: &Lines<'_>) -> Document<'_> {
        let commands: BTreeMap<ObservationRef, &str> =
            self.observations.iter().map(|read| (read.reference(), &*read.command)).collect();
        let targets = self.targets.iter().map(|target| TargetDocument {
            name: &target.name,
            kind: &target.kind,
            reachable: target.reachable,
            problem: target.problem.as_ref(),
            facts: Ordered(
                self.fabric.entities(&target.name).map(|entity| self.facts(target, entity, &commands, lines)).collect(),
            ),
            counters: self.counters(&target.name),
        });
        Document {
            schema: "rdmascope.snapshot/1",
            at: self.at,
            rdmascope: env!("CARGO_PKG_VERSION"),
            targets: targets.collect(),
            links: self.links(),
        }
    }

    fn counters(&self, target: &TargetId) -> BTreeMap<String, BTreeMap<Text, u64>> {
        let mut counters: BTreeMap<String, BTreeMap<Text, u64>> = BTreeMap::new();
        let read = self.observations.iter().filter(|read| read.target == *target && read.source.as_str() == VALUES);
        for (entity, name, value) in read.flat_map(|read| values(read)) {
            counters.entry(key(&entity)).or_default().insert(name, value);
        }
        counters
    }

    fn facts<'a>(
        &'a self,
        target: &TargetStatus,
        entity: &Entity,
        commands: &BTreeMap<ObservationRef, &'a str>,
        lines: &Lines<'_>,
    ) -> (String, Ordered<&'static str, FactDocument<'a>>) {
        let readings = self.fabric.readings(&EntityId::new(&target.name, entity.clone()));
        let facts = readings.into_iter().map(|(attribute, reading)| {
            let known = reading.state.known();
            let fact = FactDocument {
                state: reading.state.name(),
                value: known.map_or(serde_json::Value::Null, |value| json_value(attribute, value)),
                unit: attribute.unit().name(),
                why: reading.state.why(),
                at: reading.at,
                source: reading.source.source.as_str(),
                command: commands.get(&reading.source).copied(),
                line: (reading.line != 0).then_some(reading.line),
                said: said(lines, reading),
            };
            (attribute.name(), fact)
        });
        (key(entity), Ordered(facts.collect()))
    }

    /// Relations that facts state between entities that are both there.
    fn links(&self) -> Vec<Link> {
        let mut links = Vec::new();
        for target in &self.targets {
            for entity in self.fabric.entities(&target.name) {
                let id = EntityId::new(&target.name, entity.clone());
                for (attribute, kind, to) in relations(entity) {
                    let Some(name) = self.fabric.text(&id, attribute) else { continue };
                    let other = EntityId::new(&target.name, to(name));
                    if self.fabric.readings(&other).is_empty() || !self.is_first_of_pair(attribute, &id, &other) {
                        continue;
                    }
                    let end = |id: &EntityId| End { target: id.target.clone(), entity: key(&id.entity) };
                    links.push(Link { kind, from: end(&id), to: end(&other) });
                }
            }
        }
        links.extend(self.joined_links());
        links.sort();
        links.dedup();
        links
    }

    /// What the join of hosts, VMs and guests found, between entities that are both in the facts.
    fn joined_links(&self) -> Vec<Link> {
        let targets: Vec<TargetId> = self.targets.iter().map(|target| target.name.clone()).collect();
        let joined = crate::diagnose::join::join(&self.fabric, &targets);
        let end = |id: &EntityId| End { target: id.target.clone(), entity: key(&id.entity) };
        joined
            .all_links()
            .into_iter()
            .filter(|link| [&link.from, &link.to].iter().all(|id| !self.fabric.readings(id).is_empty()))
            .map(|link| Link { kind: link.kind.name(), from: end(&link.from), to: end(&link.to) })
            .collect()
    }

    /// A pair that both functions state is told once, from the PVRDMA function.
    fn is_first_of_pair(&self, attribute: Attribute, id: &EntityId, other: &EntityId) -> bool {
        if attribute != Attribute::PairedFunction || self.fabric.text(other, attribute).is_none() {
            return true;
        }
        let is_pvrdma = |id: &EntityId| self.fabric.text(id, Attribute::FunctionKind) == Some("PVRDMA");
        match (is_pvrdma(id), is_pvrdma(other)) {
            (true, false) => true,
            (false, true) => false,
            _ => id < other,
        }
    }

    /// The same for people.
    pub fn text(&self) -> String {
        let mut text = format!("rdmascope {}  snapshot of {:.0}\n", env!("CARGO_PKG_VERSION"), self.at);
        for target in &self.targets {
            let _ = writeln!(text, "\n{} ({})", target.name, target.kind);
            if let Some(problem) = &target.problem {
                let heading = if target.reachable { "problem" } else { "not reachable" };
                text.push_str(&rows(&[Row::new(heading, &problem.to_string())], 2));
            }
            let mut listed: Option<&'static str> = None;
            let entities: Vec<&Entity> = self.fabric.entities(&target.name).collect();
            for entity in entities {
                let readings = self.fabric.readings(&EntityId::new(&target.name, entity.clone()));
                if is_listed(entity) {
                    if listed != Some(entity.kind()) {
                        let _ = writeln!(text, "\n  {}", entity.kind());
                        listed = Some(entity.kind());
                    }
                    text.push_str(&listed_entity(entity, &readings));
                    continue;
                }
                listed = None;
                let _ = writeln!(text, "\n  {entity}");
                let facts: Vec<Row> = readings
                    .iter()
                    .map(|(attribute, reading)| Row::new(attribute.label(), &shown(*attribute, reading)))
                    .collect();
                text.push_str(&rows(&facts, 4));
            }
        }
        let links = self.links();
        if !links.is_empty() {
            text.push_str("\nlinks\n");
            for link in links {
                let there =
                    if link.to.target == link.from.target { String::new() } else { format!("{} ", link.to.target) };
                let line = format!("{} {} -> {there}{}", link.from.target, link.from.entity, link.to.entity);
                for (number, piece) in wrap(&line, 76).iter().enumerate() {
                    let _ = writeln!(text, "{}{piece}", if number == 0 { "  " } else { "    " });
                }
            }
        }
        text
    }
}

/// The line that a value was read from.
fn said(lines: &Lines<'_>, reading: &Reading<Value>) -> Option<Text> {
    let index = usize::try_from(reading.line).ok()?.checked_sub(1)?;
    let line = lines.get(&reading.source)?.get(index)?;
    let short: String = line.chars().take(LONGEST_LINE).collect();
    (!may_be_secret(line)).then(|| Text::new(&short))
}

/// The attribute that names another entity, the kind of link, and what the name stands for.
type Relation = (Attribute, &'static str, fn(&str) -> Entity);

/// Which attributes of an entity name another one.
fn relations(entity: &Entity) -> Vec<Relation> {
    let function: fn(&str) -> Entity = |name| Entity::PciFunction(name.into());
    match entity {
        Entity::RdmaPort { .. } => vec![(Attribute::PortNetdev, "port-netdev", |name| Entity::Netdev(name.into()))],
        Entity::RdmaDevice(_) => vec![(Attribute::PciAddress, "device-function", function)],
        Entity::Netdev(_) => vec![(Attribute::PciAddress, "netdev-function", function)],
        Entity::PciFunction(_) => vec![(Attribute::PairedFunction, "pvrdma-pair", function)],
        _ => Vec::new(),
    }
}

/// The key of an entity in documents: `rdma-port/rxe0/1`; `guest` for the system itself.
fn key(entity: &Entity) -> String {
    entity.key()
}

/// Entities of which there are many with little to say stand one a line.
fn is_listed(entity: &Entity) -> bool {
    matches!(
        entity,
        Entity::Gid { .. }
            | Entity::QueuePair { .. }
            | Entity::Process(_)
            | Entity::Module(_)
            | Entity::Package(_)
            | Entity::DeviceNode(_)
            | Entity::Variable(_)
            | Entity::Service(_)
            | Entity::MpiParameter(_)
            | Entity::KernelMessage { .. }
            | Entity::Counter { .. }
            | Entity::FileLine { .. }
            | Entity::LogMessage { .. }
            | Entity::Ruleset(_)
            | Entity::KernelSetting(_)
            | Entity::ModuleParameter { .. }
            | Entity::VirtualFunction { .. }
    )
}

fn listed_entity(entity: &Entity, readings: &BTreeMap<Attribute, &Reading<Value>>) -> String {
    let alone = readings.len() == 1;
    let words: Vec<String> = readings
        .iter()
        .map(|(attribute, reading)| {
            let value = shown(*attribute, reading);
            if alone { value } else { format!("{} {value}", attribute.label()) }
        })
        .collect();
    rows(&[Row::new(&entity.name(), &words.join("; "))], 4)
}

/// A reading in words: the value with its unit, or why there is none.
fn shown(attribute: Attribute, reading: &Reading<Value>) -> String {
    match &reading.state {
        // A whole file is not for a row.
        State::Known(Value::List(lines)) if attribute == Attribute::VmxLines => format!("{}", lines.len()),
        State::Known(value) => quantity(attribute, value),
        missing => missing.why().unwrap_or_default(),
    }
}

/// True for the number that stands for "no limit".
fn is_unlimited(attribute: Attribute, value: &Value) -> bool {
    let has_limit = matches!(
        attribute,
        Attribute::MemlockSoft | Attribute::MemlockHard | Attribute::MemoryLimit | Attribute::CpuLimit
    );
    has_limit && *value == Value::Count(u64::MAX)
}

/// A value in words, with its unit.
pub(super) fn quantity(attribute: Attribute, value: &Value) -> String {
    if is_unlimited(attribute, value) {
        return "unlimited".to_owned();
    }
    let (Value::Count(number), unit) = (value, attribute.unit()) else { return value.to_string() };
    match unit {
        Unit::None | Unit::Count => number.to_string(),
        Unit::Bytes => bytes(*number),
        Unit::BitsPerSecond => scaled(*number, 1000, &["bit/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"]),
        Unit::Megahertz => format!("{number} MHz"),
        Unit::Mebibytes => format!("{number} MiB"),
        Unit::Milliseconds => milliseconds(*number),
        Unit::Milliwatts => format!("{} W", *number as f64 / 1000.0),
        Unit::Celsius => format!("{number} °C"),
    }
}

/// Small sizes exactly (an MTU is not "1.5 KiB"), large ones in the unit that is read easily.
fn bytes(number: u64) -> String {
    if number < 64 * 1024 {
        format!("{number} bytes")
    } else {
        scaled(number, 1024, &["bytes", "KiB", "MiB", "GiB", "TiB"])
    }
}

/// A number in the largest unit that leaves at least one of it; one decimal where it is not whole.
fn scaled(number: u64, step: u64, units: &[&str]) -> String {
    let (mut divisor, mut at) = (1_u64, 0);
    while at + 1 < units.len() && number / divisor >= step {
        divisor *= step;
        at += 1;
    }
    if number.is_multiple_of(divisor) {
        format!("{} {}", number / divisor, units[at])
    } else {
        format!("{:.1} {}", number as f64 / divisor as f64, units[at])
    }
}

/// A value as documents print it.
pub(super) fn json_value(attribute: Attribute, value: &Value) -> serde_json::Value {
    if is_unlimited(attribute, value) {
        return "unlimited".into();
    }
    match value {
        Value::Count(number) => (*number).into(),
        Value::Signed(number) => (*number).into(),
        Value::Flag(flag) => (*flag).into(),
        Value::List(list) => list.iter().map(Text::as_str).collect(),
        other => other.to_string().into(),
    }
}

#[cfg(test)]
pub(super) mod tests;
