//! One look at the GPUs as it is handed on: a line of text for each call, which is the evidence, the facts that point at
//! their lines, and the numbers.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use super::answer::{Answer, Refusal};
use super::{STREAM, Settings};
use crate::fabric::series::GaugeValue;
use crate::fabric::{
    Attribute, Entity, Fact, Measure, Measured, Observation, Outcome, Report, SourceId, State, TargetId, Text,
    Timestamp, Value,
};

/// A page that is written.
#[derive(Debug)]
pub(super) struct Page {
    /// Whether states are written, too, and not only numbers.
    pub(super) with_states: bool,
    text: String,
    lines: u32,
    states: Vec<(Entity, Attribute, State<Value>, u32)>,
    gauges: Vec<GaugeValue>,
}

impl Page {
    /// An empty one.
    pub(super) fn new(with_states: bool) -> Self {
        Self { with_states, text: String::new(), lines: 0, states: Vec::new(), gauges: Vec::new() }
    }

    /// One line of evidence; its number.
    pub(super) fn line(&mut self, of: &str, call: &str, said: &str) -> u32 {
        // What the driver says is cleaned where it is drawn; a line it must stay.
        let said = Text::new(said);
        let _ = writeln!(self.text, "{of} {call}: {said}");
        self.lines += 1;
        self.lines
    }

    /// A state with its line.
    pub(super) fn state(&mut self, entity: &Entity, attribute: Attribute, call: &str, answer: &Answer<Value>) {
        let said = match answer {
            Ok(value) => value.to_string(),
            Err(refusal) => refusal.to_string(),
        };
        let line = self.line(name(entity), call, &said);
        self.at(entity, attribute, answer, line);
    }

    /// A state whose line is written already.
    pub(super) fn at(&mut self, entity: &Entity, attribute: Attribute, answer: &Answer<Value>, line: u32) {
        let state = match answer {
            Ok(value) => State::Known(value.clone()),
            Err(refusal) => refusal.state(),
        };
        self.states.push((entity.clone(), attribute, state, line));
    }

    /// A state that is no answer of a call.
    pub(super) fn plain(&mut self, entity: &Entity, attribute: Attribute, state: State<Value>, line: u32) {
        self.states.push((entity.clone(), attribute, state, line));
    }

    /// A number. What will never come has no series; what did not come now has a gap.
    pub(super) fn gauge(&mut self, entity: &Entity, measure: Measure, answer: &Answer<f64>) {
        let value = match answer {
            Ok(value) => Some(*value),
            Err(refusal) if refusal.is_lasting() => return,
            Err(_) => None,
        };
        self.gauges.push(measure.of(entity, value));
    }

    /// A number of a call, with its line where states are written.
    pub(super) fn number(&mut self, entity: &Entity, measure: Measure, call: &str, answer: &Answer<f64>) {
        if self.with_states {
            let said = answer.as_ref().map_or_else(Refusal::to_string, ToString::to_string);
            self.line(name(entity), call, &said);
        }
        self.gauge(entity, measure, answer);
    }

    /// The page is done.
    pub(super) fn finish(self, read: Read, settings: &Settings) -> Sheet {
        let observation = Observation {
            target: TargetId::new(""),
            source: SourceId::new(STREAM),
            sequence: read.sequence,
            command: Arc::from(format!("nvidia-smi -q  # read by NVML: {}", settings.named())),
            at: read.at,
            duration: Some(read.took),
            outcome: Outcome::Exit(0),
            stdout: Arc::from(self.text),
            stderr: Arc::from(""),
            cut: 0,
        };
        Sheet { at: read.at, observation, states: self.states, gauges: self.gauges, with_states: self.with_states }
    }
}

/// The name of an entity at the beginning of its lines.
fn name(entity: &Entity) -> &str {
    match entity {
        Entity::Gpu(address) => address.as_str(),
        Entity::MigInstance { gpu, .. } | Entity::NvLink { gpu, .. } | Entity::GpuProcess { gpu, .. } => gpu.as_str(),
        _ => "driver",
    }
}

/// When a page was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    pub(super) sequence: u64,
    pub(super) at: Timestamp,
    pub(super) took: Duration,
}

/// A page that is done, before it is known of which target it tells.
#[derive(Clone, Debug)]
pub(super) struct Sheet {
    /// When the row is of; the states may be older.
    at: Timestamp,
    observation: Observation,
    states: Vec<(Entity, Attribute, State<Value>, u32)>,
    gauges: Vec<GaugeValue>,
    pub(super) with_states: bool,
}

impl Sheet {
    fn parts(self, target: &TargetId) -> (Arc<Observation>, Vec<Fact>, Vec<GaugeValue>) {
        let observation = Observation { target: target.clone(), ..self.observation };
        let fact = |(entity, attribute, state, line)| observation.fact(entity, attribute, state, line);
        let facts = self.states.into_iter().map(fact).collect();
        (Arc::new(observation), facts, self.gauges)
    }

    /// As a row of the stream.
    pub(super) fn measured(self, target: &TargetId, period: Duration) -> Measured {
        let (at, with_states) = (self.at, self.with_states);
        let (observation, facts, gauges) = self.parts(target);
        Measured {
            target: target.clone(),
            at,
            stream: Text::new(STREAM),
            period,
            gauges,
            facts,
            observation: with_states.then_some(observation),
        }
    }

    /// The same states, but no numbers, and another word on by what the GPUs are read.
    pub(super) fn silenced(&self, state: &State<Value>, why: &str, read: Read) -> Self {
        let mut silent = self.clone();
        silent.observation.stdout = Arc::from(format!("{}driver: {why}\n", self.observation.stdout));
        silent.observation.sequence = read.sequence;
        let line = u32::try_from(silent.observation.stdout.lines().count()).unwrap_or(0);
        silent.gauges.clear();
        silent.at = read.at;
        silent.states.retain(|(_, attribute, ..)| *attribute != Attribute::GpuReadBy);
        silent.states.push((Entity::Guest, Attribute::GpuReadBy, state.clone(), line));
        silent
    }

    /// A sheet that says only why nothing is read.
    pub(super) fn of_trouble(state: &State<Value>, why: &str, read: Read, settings: &Settings) -> Self {
        let mut page = Page::new(true);
        let line = page.line("driver", "nvmlInit_v2", why);
        page.plain(&Entity::Guest, Attribute::GpuReadBy, state.clone(), line);
        page.finish(read, settings)
    }

    /// As one reading of everything.
    pub(super) fn report(self, target: &TargetId) -> Report {
        let (observation, facts, _) = self.parts(target);
        Report { target: target.clone(), probe: SourceId::new(STREAM), observations: vec![observation], facts }
    }
}
