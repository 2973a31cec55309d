//! Lines of the stream become rows of measures, one a second and all GPUs together.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::tables::{Table, is_possible, number};
use super::{FIELDS, SOURCE};
use crate::fabric::{
    Attribute, Entity, Fact, Measure, Measured, Observation, Outcome, SourceId, State, TargetId, Text, Timestamp, Value,
};
use crate::probe::gpu::cells::{self, address};

/// The rhythm that is asked for.
const PERIOD: Duration = Duration::from_secs(1);

/// A row of another table belongs to a moment if it is not older than this.
const OLDEST_MS: i64 = 2_500;

/// The most GPUs of a guest.
const MOST: usize = 64;

/// What a line completed.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The programs were started.
    Ready,
    /// There is nothing to be read: why.
    Nothing(Text),
    /// All GPUs at one moment.
    Row(Box<Measured>),
}

/// Turns the lines of one stream into events.
#[derive(Debug)]
pub struct StreamParser {
    target: TargetId,
    nonce: String,
    header: String,
    names: Vec<String>,
    /// The rows of this round, each with its index and its line.
    round: Vec<(u32, String)>,
    pcie: Table,
    dcgm: Table,
    last: Option<Timestamp>,
    command: Arc<str>,
}

impl StreamParser {
    /// A parser for a stream whose block was made with this nonce.
    pub fn new(target: &TargetId, nonce: &str) -> Self {
        Self {
            target: target.clone(),
            nonce: format!("{nonce} "),
            header: String::new(),
            names: Vec::new(),
            round: Vec::new(),
            pcie: Table::default(),
            dcgm: Table::default(),
            last: None,
            command: Arc::from(format!("nvidia-smi --query-gpu={} --format=csv,nounits", FIELDS[0])),
        }
    }

    /// Takes in one line, which came at this time by our own clock. `sequence` numbers the reads of the target.
    pub fn line(&mut self, line: &str, at: Timestamp, sequence: impl FnOnce() -> u64) -> Option<Event> {
        let line = line.trim_end();
        if let Some(own) = line.strip_prefix(self.nonce.as_str()) {
            return match own.split_once(' ').unwrap_or((own, "")) {
                ("R", _) => Some(Event::Ready),
                ("N", why) => Some(Event::Nothing(Text::new(why))),
                _ => None,
            };
        }
        if self.dcgm.dcgmi(line, at) || self.pcie.dmon(line, at) {
            return None;
        }
        self.query(line, at, sequence)
    }

    fn query(&mut self, line: &str, at: Timestamp, sequence: impl FnOnce() -> u64) -> Option<Event> {
        let row = cells::cells(line);
        if row.first() == Some(&"index") {
            line.clone_into(&mut self.header);
            self.names = row.iter().map(|name| name.split(" [").next().unwrap_or(name).to_owned()).collect();
            self.round.clear();
            return None;
        }
        if row.len() != self.names.len() || row.len() < 2 {
            return None;
        }
        let of =
            |name: &str| self.names.iter().position(|other| other == name).and_then(|place| row.get(place).copied());
        let index: u32 = of("index")?.parse().ok()?;
        let count: usize = of("count")?.parse().ok()?;
        of("pci.bus_id").and_then(address)?;
        // A GPU of the next round before this one was whole: one of them said nothing.
        let begins_anew = self.round.last().is_some_and(|(last, _)| *last >= index);
        let ended = begins_anew.then(|| std::mem::take(&mut self.round));
        if self.round.len() < MOST {
            self.round.push((index, line.to_owned()));
        }
        let whole = ended.or_else(|| (self.round.len() >= count.max(1)).then(|| std::mem::take(&mut self.round)))?;
        Some(Event::Row(Box::new(self.measured(&whole, at, sequence()))))
    }

    /// All rows of a round as one.
    fn measured(&mut self, round: &[(u32, String)], at: Timestamp, sequence: u64) -> Measured {
        let since = self.last.replace(at).map(|last| at.as_millisecond().saturating_sub(last.as_millisecond()));
        let period = since.and_then(|ms| u64::try_from(ms).ok()).filter(|ms| *ms > 0);
        let mut text = format!("{}\n", self.header);
        for (_, line) in round {
            text.push_str(line);
            text.push('\n');
        }
        let observation = Observation {
            target: self.target.clone(),
            source: SourceId::new(SOURCE),
            sequence,
            command: Arc::clone(&self.command),
            at,
            duration: None,
            outcome: Outcome::Exit(0),
            stdout: Arc::from(text),
            stderr: Arc::from(""),
            cut: 0,
        };
        let mut gauges = Vec::new();
        let mut facts = Vec::new();
        for ((index, line), number) in round.iter().zip(2..) {
            let values: BTreeMap<&str, &str> = self.names.iter().map(String::as_str).zip(cells::cells(line)).collect();
            let Some(gpu) = values.get("pci.bus_id").and_then(|bus| address(bus)) else { continue };
            let gpu = Entity::Gpu(gpu);
            gauges.extend(
                gauges_of(&values)
                    .into_iter()
                    .chain(self.pcie.of(*index, at, OLDEST_MS))
                    .chain(self.dcgm.of(*index, at, OLDEST_MS))
                    .map(|(measure, value)| measure.of(&gpu, value)),
            );
            facts.extend(states_of(&observation, &gpu, &values, number));
        }
        Measured {
            target: self.target.clone(),
            at,
            stream: Text::new(SOURCE),
            period: period.map_or(PERIOD, Duration::from_millis),
            gauges,
            facts,
            observation: Some(Arc::new(observation)),
        }
    }
}

/// Names of a column over the releases of the driver.
fn any<'a>(values: &BTreeMap<&str, &'a str>, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| values.get(name).copied())
}

const REASONS: [&str; 2] = ["clocks_event_reasons.active", "clocks_throttle_reasons.active"];
const GENERATION: [&str; 2] = ["pcie.link.gen.gpucurrent", "pcie.link.gen.current"];
const WIDTH: [&str; 1] = ["pcie.link.width.current"];

/// `0x0000000000000048`, `Not Active` in some releases.
fn bits(text: &str) -> Option<u64> {
    match text {
        "Not Active" => Some(0),
        text => u64::from_str_radix(text.strip_prefix("0x")?, 16).ok(),
    }
}

fn gauges_of(values: &BTreeMap<&str, &str>) -> Vec<(Measure, Option<f64>)> {
    const COLUMNS: [(Measure, &[&str], f64); 10] = [
        (Measure::GpuUse, &["utilization.gpu"], 1.0),
        (Measure::GpuMemoryBusy, &["utilization.memory"], 1.0),
        (Measure::GpuMemoryUsed, &["memory.used"], 1_048_576.0),
        (Measure::Power, &["power.draw"], 1.0),
        (Measure::SmClock, &["clocks.current.sm", "clocks.sm"], 1.0),
        (Measure::MemoryClock, &["clocks.current.memory", "clocks.mem"], 1.0),
        (Measure::Temperature, &["temperature.gpu"], 1.0),
        (Measure::MemoryTemperature, &["temperature.memory"], 1.0),
        (Measure::PcieGenerationNow, &GENERATION, 1.0),
        (Measure::PcieLanesNow, &WIDTH, 1.0),
    ];
    let numbers = COLUMNS.iter().filter_map(|(measure, names, scale)| {
        let text = any(values, names)?;
        Some((*measure, number(text).map(|number| number * scale).filter(|number| is_possible(*measure, *number))))
    });
    // All bits of NVML fit into the whole numbers of a float.
    let reasons = any(values, &REASONS).map(|text| (Measure::ClockReasonBits, bits(text).map(|bits| bits as f64)));
    numbers.chain(reasons).collect()
}

fn states_of(observation: &Observation, gpu: &Entity, values: &BTreeMap<&str, &str>, line: u32) -> Vec<Fact> {
    let count = |text: &str| cells::count(text).map(Value::Count);
    let mut facts = Vec::new();
    let mut tell = |attribute, state: State<Value>| facts.push(observation.fact(gpu.clone(), attribute, state, line));
    if let Some(text) = values.get("pstate") {
        tell(Attribute::PerformanceState, cells::state(text, |text| Some(text.into())));
    }
    if let Some(text) = any(values, &REASONS) {
        let state = match bits(text).map(cells::clock_reasons) {
            Some(reasons) if reasons.is_empty() => State::Empty,
            Some(reasons) => State::Known(Value::List(reasons)),
            None => cells::state(text, |_| None),
        };
        tell(Attribute::ClockReasons, state);
    }
    for (attribute, names) in [(Attribute::PcieGeneration, &GENERATION[..]), (Attribute::PcieLanes, &WIDTH[..])] {
        if let Some(text) = any(values, names) {
            tell(attribute, cells::state(text, count));
        }
    }
    facts
}

#[cfg(test)]
mod tests;
