//! Benchmarks from the console: what is asked for, which run, what they have measured so far, and how they ended. A run
//! loads links that others use, so it is shown with what it will load and begins only when that is confirmed; there is never
//! more than one under way.

mod rows;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

pub use rows::{curve, rows, why_none};

use super::connection::Connection;
use super::effect::Effect;
use super::events::Event;
use super::message::Severity;
use super::model::Model;
use super::path;
use crate::fabric::{TargetId, Text, Timestamp};
use crate::tune::bench::ceiling::{ceilings, stated};
use crate::tune::bench::{Asked, Kind, Plan, Verb, pair, plan};

/// Runs that are kept.
const MOST_RUNS: usize = 50;
/// Samples of a run that are kept: an hour at one a second.
const MOST_SAMPLES: usize = 3600;
/// Rows of a run that are kept: `-a` prints 23 a time.
const MOST_ROWS: usize = 1000;

/// What is asked of the outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BenchAsked {
    /// Run this.
    Start {
        /// Number of the benchmark.
        number: u64,
        /// What.
        plan: Box<Plan>,
    },
    /// End it on both sides.
    Stop {
        /// Number of the benchmark.
        number: u64,
    },
}

/// A line of results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchRow {
    /// Octets of a message.
    pub bytes: u64,
    /// Average bandwidth in 10^9 bits a second, if that was measured.
    pub gigabits: Option<f64>,
    /// Typical latency in microseconds, if that was measured.
    pub microseconds: Option<f64>,
    /// The line as it was printed.
    pub line: Text,
}

/// What the outside says of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BenchNews {
    /// How far it is, in words.
    Phase(Text),
    /// What the ports carry now, in 10^9 bits a second.
    Rate(f64),
    /// The same in packets a second, where ports count no octets.
    Packets(f64),
    /// A line of results.
    Row(BenchRow),
    /// It is over; what went wrong, with what helps, if it did not run to its end.
    Over(Option<Text>),
}

/// How a run stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It goes on.
    Running,
    /// It was told to end.
    Ending,
    /// It ran to its end.
    Done,
    /// It did not; why.
    Failed(Text),
}

impl Standing {
    /// True while something runs on the targets.
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Running | Self::Ending)
    }
}

/// One benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchRun {
    /// Its number.
    pub number: u64,
    /// Who waits, and who connects.
    pub ends: (TargetId, TargetId),
    /// What it is, in a few words: `write bandwidth`.
    pub title: String,
    /// What it loads, in sentences.
    pub words: Vec<String>,
    /// When it began.
    pub began: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// How far it is.
    pub phase: Text,
    /// Live samples; in packets a second where `in_packets` says so, else in 10^9 bits a second.
    pub samples: VecDeque<(Timestamp, f64)>,
    /// True if the ports count no octets.
    pub in_packets: bool,
    /// Results.
    pub rows: Vec<BenchRow>,
    /// The best result against the lowest ceiling, once there is one.
    pub stated: Option<String>,
    /// The lowest ceiling in 10^9 bits a second, with its name.
    pub ceiling: Option<(f64, String)>,
    /// How it stands.
    pub standing: Standing,
}

/// All benchmarks of this console.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tune {
    /// What the next one is to be.
    pub asked: Asked,
    /// Those that ran, the oldest first.
    pub runs: VecDeque<BenchRun>,
    /// How many were begun.
    pub begun: u64,
}

impl Tune {
    /// The one that is under way.
    pub fn running(&self) -> Option<&BenchRun> {
        self.runs.iter().rev().find(|run| run.standing.is_busy())
    }
}

/// The benchmark that would run now, or why none can.
pub fn planned(model: &Model) -> Result<Plan, String> {
    let (one, other) = path::ends(model)
        .ok_or("a benchmark needs two guests: select one, and choose the other end of its path with o")?;
    let pair = pair([(&one, &model.fabric), (&other, &model.fabric)], [None, None])?;
    plan(model.tune.asked.clone(), pair)
}

/// Why nothing can begin now.
pub fn obstacle(model: &Model) -> Option<String> {
    if model.mode.replay().is_some() {
        return Some("this is a recording: nothing is run".to_owned());
    }
    if let Some(run) = model.tune.running() {
        return Some(format!("benchmark {} is under way: one at a time, or they measure each other", run.number));
    }
    let (one, other) = path::ends(model)?;
    let away = [one, other].into_iter().find(|target| {
        !matches!(model.targets.get(target).map(|target| &target.connection), Some(Connection::Connected { .. }))
    })?;
    Some(format!("{away} is not connected"))
}

/// Begins what is planned; the notice says why not.
pub fn start(model: &mut Model) -> Vec<Effect> {
    let planned = match obstacle(model) {
        Some(why) => Err(why),
        None => planned(model),
    };
    let plan = match planned {
        Ok(plan) => plan,
        Err(why) => {
            model.screen.notice = Some((why, model.now));
            return Vec::new();
        }
    };
    model.tune.begun += 1;
    let number = model.tune.begun;
    let directions = if plan.asked.bidirectional { 2 } else { 1 };
    let ceiling = ceilings(&plan.pair, plan.mtu(), directions).into_iter().next();
    let title = format!("{} {}", plan.asked.verb.word(), plan.asked.kind.word());
    let ends = (plan.pair.server.target.clone(), plan.pair.client.target.clone());
    say(model, number, &ends.1, Severity::Info, &format!("{title} to {} begins", ends.0));
    model.tune.runs.push_back(BenchRun {
        number,
        title,
        words: plan.words(),
        began: model.now,
        ended: None,
        phase: Text::new("begins"),
        samples: VecDeque::new(),
        in_packets: false,
        rows: Vec::new(),
        stated: ceiling.is_none().then(|| stated(0.0, &[], &plan.pair)),
        ceiling: ceiling.map(|ceiling| (ceiling.gigabits, ceiling.name)),
        standing: Standing::Running,
        ends,
    });
    if model.tune.runs.len() > MOST_RUNS {
        model.tune.runs.pop_front();
    }
    vec![Effect::Bench(BenchAsked::Start { number, plan: Box::new(plan) })]
}

/// Ends the one that is under way.
pub fn stop(model: &mut Model) -> Vec<Effect> {
    let Some(run) = model.tune.runs.iter_mut().rev().find(|run| run.standing.is_busy()) else {
        model.screen.notice = Some(("no benchmark is under way".to_owned(), model.now));
        return Vec::new();
    };
    run.standing = Standing::Ending;
    vec![Effect::Bench(BenchAsked::Stop { number: run.number })]
}

/// The next verb, or the first after the last.
pub fn next_verb(model: &mut Model) {
    let asked = &mut model.tune.asked;
    asked.verb = match asked.verb {
        Verb::Write => Verb::Read,
        Verb::Read => Verb::Send,
        Verb::Send => Verb::Write,
    };
}

/// Bandwidth or latency.
pub fn other_kind(model: &mut Model) {
    let asked = &mut model.tune.asked;
    asked.kind = match asked.kind {
        Kind::Bandwidth => Kind::Latency,
        Kind::Latency => Kind::Bandwidth,
    };
    // Both directions at once are for bandwidths only.
    asked.bidirectional &= asked.kind == Kind::Bandwidth;
}

/// One direction or both.
pub fn other_direction(model: &mut Model) {
    let asked = &mut model.tune.asked;
    asked.bidirectional = !asked.bidirectional && asked.kind == Kind::Bandwidth;
}

/// Takes news of a benchmark in.
pub(super) fn news(model: &mut Model, number: u64, at: Timestamp, news: BenchNews) {
    let Some(run) = model.tune.runs.iter_mut().find(|run| run.number == number) else { return };
    // What comes after its end is of no run.
    if !run.standing.is_busy() {
        return;
    }
    match news {
        BenchNews::Phase(phase) => run.phase = phase,
        BenchNews::Rate(value) | BenchNews::Packets(value) if !value.is_finite() => {}
        BenchNews::Rate(value) => sample(run, at, value, false),
        BenchNews::Packets(value) => sample(run, at, value, true),
        BenchNews::Row(row) => {
            if run.rows.len() < MOST_ROWS {
                run.rows.push(row);
            }
            run.stated = run.against_ceiling().or(run.stated.take());
        }
        BenchNews::Over(why) => {
            let was_told = run.standing == Standing::Ending;
            run.ended = Some(at);
            run.standing = match why {
                None => Standing::Done,
                Some(why) => Standing::Failed(why),
            };
            let (severity, said) = match &run.standing {
                Standing::Failed(why) if !was_told => (Severity::Warning, format!("{} failed: {why}", run.title)),
                Standing::Failed(_) => (Severity::Info, format!("{} was ended on both sides", run.title)),
                _ => (Severity::Info, format!("{}: {}", run.title, run.result())),
            };
            let client = run.ends.1.clone();
            say(model, number, &client, severity, &said);
        }
    }
}

fn sample(run: &mut BenchRun, at: Timestamp, value: f64, in_packets: bool) {
    // One run has one unit.
    if run.samples.is_empty() {
        run.in_packets = in_packets;
    }
    if run.in_packets != in_packets {
        return;
    }
    if run.samples.len() == MOST_SAMPLES {
        run.samples.pop_front();
    }
    run.samples.push_back((at, value));
}

fn say(model: &mut Model, number: u64, target: &TargetId, severity: Severity, text: &str) {
    model.events.push(Event {
        number: 0,
        at: model.now,
        target: Some(target.clone()),
        severity,
        text: format!("benchmark {number}: {text}"),
        entity: None,
        evidence: None,
        line: 0,
    });
}

impl BenchRun {
    /// The best bandwidth of its rows, in 10^9 bits a second.
    pub fn best(&self) -> Option<f64> {
        self.rows.iter().filter_map(|row| row.gigabits).max_by(f64::total_cmp)
    }

    /// What came of it, in a few words.
    pub fn result(&self) -> String {
        let latency = self.rows.iter().filter_map(|row| row.microseconds).min_by(f64::total_cmp);
        match (self.best(), latency) {
            (Some(gigabits), _) => format!("{gigabits:.2} Gb/s"),
            (None, Some(microseconds)) => format!("{microseconds:.2} us"),
            (None, None) => "no result".to_owned(),
        }
    }

    fn against_ceiling(&self) -> Option<String> {
        let (ceiling, name) = self.ceiling.as_ref()?;
        let best = self.best()?;
        Some(format!("{:.1} % of the lowest ceiling: {name}, {ceiling:.2} Gb/s", 100.0 * best / ceiling))
    }
}
