//! What came out of a benchmark: a table for people, and the document of `schema/bench-1.json`.

use std::fmt::Write as _;

use crate::collect::bench::End;
use crate::engine::bench::{Outcome, Ran};
use crate::fabric::Timestamp;
use crate::probe::perftest::{Column, Row};
use crate::tune::bench::ceiling::{Ceiling, ceilings, stated};
use crate::tune::bench::{Kind, Length, Place, Plan, Size};

/// Columns of times, with their titles.
const TIMES: [(Column, &str); 7] = [
    (Column::Least, "min"),
    (Column::Typical, "typical"),
    (Column::Mean, "average"),
    (Column::Deviation, "stdev"),
    (Column::Percentile99, "99 %"),
    (Column::Percentile999, "99.9 %"),
    (Column::Most, "max"),
];

/// All that there is to say of a benchmark.
pub(super) struct Report<'a> {
    plan: &'a Plan,
    all: &'a [Ran],
    at: Timestamp,
    ceilings: Vec<Ceiling>,
}

/// A bandwidth: small ones keep their digits.
pub(super) fn rate(gigabits: f64) -> String {
    let digits = if gigabits < 1.0 { 4 } else { 2 };
    format!("{gigabits:.digits$} Gb/s")
}

/// A row of results, in words.
pub(super) fn row_words(row: &Row) -> String {
    let result = match (row.gigabits, row.latency()) {
        (Some(gigabits), _) => rate(gigabits),
        (None, Some(time)) => format!("{time:.2} us"),
        (None, None) => "no figure".to_owned(),
    };
    format!("{} octets: {result}", row.bytes)
}

/// How both sides of a run ended, in words.
pub(super) fn ended(ran: &Ran) -> String {
    let words = |end: &Option<End>| match end {
        None => "was never started".to_owned(),
        Some(End::Tool(0)) => "has ended".to_owned(),
        Some(End::Tool(status)) if *status > 128 => format!("was ended (signal {})", status - 128),
        Some(End::Tool(status)) => format!("has ended (status {status})"),
        Some(End::NotStarted(why)) => format!("was never started ({why})"),
        Some(End::Cut(why)) => format!("was cut off ({why})"),
    };
    format!("the server {}, the client {}", words(&ran.ends[0]), words(&ran.ends[1]))
}

/// Results of one size over all repeats.
struct Repeats {
    bytes: u64,
    values: Vec<f64>,
}

impl Repeats {
    fn median(&self) -> f64 {
        let mut sorted = self.values.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        match (sorted.len() % 2, sorted.get(middle)) {
            (_, None) => f64::NAN,
            (1, Some(value)) => *value,
            (_, Some(value)) => f64::midpoint(sorted[middle - 1], *value),
        }
    }

    fn ends(&self) -> (f64, f64) {
        let fold = |start: f64, pick: fn(f64, f64) -> f64| self.values.iter().copied().fold(start, pick);
        (fold(f64::INFINITY, f64::min), fold(f64::NEG_INFINITY, f64::max))
    }
}

impl<'a> Report<'a> {
    pub(super) fn new(plan: &'a Plan, all: &'a [Ran], at: Timestamp) -> Self {
        let directions = if plan.asked.bidirectional { 2 } else { 1 };
        Self { plan, all, at, ceilings: ceilings(&plan.pair, plan.mtu(), directions) }
    }

    fn is_latency(&self) -> bool {
        self.plan.asked.kind == Kind::Latency
    }

    fn value(&self, row: &Row) -> Option<f64> {
        if self.is_latency() { row.latency() } else { row.gigabits }
    }

    fn repeats(&self) -> Vec<Repeats> {
        let mut found: Vec<Repeats> = Vec::new();
        for row in self.all.iter().filter(|ran| ran.outcome == Outcome::Completed).flat_map(|ran| &ran.rows) {
            let Some(value) = self.value(row) else { continue };
            match found.iter_mut().find(|repeats| repeats.bytes == row.bytes) {
                Some(repeats) => repeats.values.push(value),
                None => found.push(Repeats { bytes: row.bytes, values: vec![value] }),
            }
        }
        found
    }

    /// The best median of a bandwidth.
    fn best(&self) -> Option<f64> {
        self.repeats().iter().map(Repeats::median).filter(|value| value.is_finite()).max_by(f64::total_cmp)
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        if self.all.iter().all(|ran| ran.rows.is_empty()) {
            return text;
        }
        if self.is_latency() {
            let _ = write!(text, "{:>9} {:>9}", "octets", "messages");
            for (_, title) in TIMES {
                let _ = write!(text, " {title:>9}");
            }
            text.push_str("  (us)\n");
        } else {
            let _ = writeln!(
                text,
                "{:>9} {:>9} {:>12} {:>12} {:>14}",
                "octets", "messages", "peak Gb/s", "average Gb/s", "messages/s"
            );
        }
        for row in self.all.iter().flat_map(|ran| &ran.rows) {
            let messages = row.iterations.map_or_else(|| "-".to_owned(), |iterations| iterations.to_string());
            let _ = write!(text, "{:>9} {messages:>9}", row.bytes);
            if self.is_latency() {
                for (column, _) in TIMES {
                    let time = row.time(column).map_or_else(|| "-".to_owned(), |time| format!("{time:.2}"));
                    let _ = write!(text, " {time:>9}");
                }
                text.push('\n');
            } else {
                let figure = |value: Option<f64>| match value {
                    Some(value) if value < 1.0 => format!("{value:.6}"),
                    Some(value) => format!("{value:.2}"),
                    None => "-".to_owned(),
                };
                let rate = row.messages.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}"));
                let _ = writeln!(text, " {:>12} {:>12} {rate:>14}", figure(row.peak_gigabits), figure(row.gigabits));
            }
        }
        let unit = if self.is_latency() { "us" } else { "Gb/s" };
        for repeats in self.repeats().iter().filter(|repeats| repeats.values.len() > 1) {
            let (least, most) = repeats.ends();
            let _ = writeln!(
                text,
                "{} octets, {} times: median {:.4} {unit}, from {least:.4} to {most:.4}",
                repeats.bytes,
                repeats.values.len(),
                repeats.median()
            );
        }
        if let Some(best) = self.best().filter(|_| !self.is_latency()) {
            let _ = writeln!(text, "{}: {}", rate(best), stated(best, &self.ceilings, &self.plan.pair));
        }
        text
    }

    pub(super) fn document(&self) -> serde_json::Value {
        let Plan { asked, pair, .. } = self.plan;
        let place = |place: &Place| {
            serde_json::json!({
                "target": place.target, "device": place.device, "port": place.port,
                "gid_index": asked.gid_index.unwrap_or(place.gid_index),
                "address": place.address.to_string(), "mtu": place.mtu,
            })
        };
        let runs: Vec<_> = self.all.iter().map(run_document).collect();
        let repeats: Vec<_> = self
            .repeats()
            .iter()
            .map(|repeats| {
                let (least, most) = repeats.ends();
                serde_json::json!({
                    "bytes": repeats.bytes, "count": repeats.values.len(), "median": repeats.median(),
                    "least": least, "most": most,
                })
            })
            .collect();
        let best = self.best().filter(|_| !self.is_latency());
        serde_json::json!({
            "schema": "rdmascope.bench/1",
            "at": self.at,
            "rdmascope": env!("CARGO_PKG_VERSION"),
            "verb": asked.verb.word(),
            "kind": asked.kind.word(),
            "unit": if self.is_latency() { "microseconds" } else { "gigabits-per-second" },
            "bidirectional": asked.bidirectional,
            "queue_pairs": asked.queue_pairs,
            "exchange": if asked.by_connection_manager { "rdma_cm" } else { "sockets" },
            "server": place(&pair.server),
            "client": place(&pair.client),
            "mtu": self.plan.mtu(),
            "completed": self.all.len() == self.plan.runs.len() && self.all.iter().all(|ran| ran.outcome == Outcome::Completed),
            "runs": runs,
            "results": repeats,
            "ceilings": self.ceilings.iter().map(|ceiling| serde_json::json!({
                "name": ceiling.name, "gigabits_per_second": ceiling.gigabits,
            })).collect::<Vec<_>>(),
            "against": best.map(|best| stated(best, &self.ceilings, pair)),
        })
    }
}

fn run_document(ran: &Ran) -> serde_json::Value {
    let rows: Vec<_> = ran
        .rows
        .iter()
        .map(|row| {
            let times: serde_json::Map<String, serde_json::Value> = row
                .times
                .iter()
                .filter_map(|(column, time)| Some((time_name(*column)?.to_owned(), (*time).into())))
                .collect();
            serde_json::json!({
                "bytes": row.bytes, "iterations": row.iterations, "gigabits_per_second": row.gigabits,
                "peak_gigabits_per_second": row.peak_gigabits, "messages_per_second": row.messages,
                "microseconds": times, "processor_percent": row.processor, "line": row.line,
            })
        })
        .collect();
    let samples: Vec<_> = ran
        .samples
        .iter()
        .map(|sample| {
            serde_json::json!({
                "seconds": sample.at.as_secs_f64(), "packets_per_second": sample.packets,
                "gigabits_per_second": sample.gigabits,
            })
        })
        .collect();
    let (status, problem) = match &ran.outcome {
        Outcome::Completed => ("completed", None),
        Outcome::Stopped => ("stopped", None),
        Outcome::Failed(_, problem) => ("failed", Some(problem)),
    };
    let bytes = if let Size::One(octets) = ran.run.size { Some(octets) } else { None };
    let (seconds, iterations) = match ran.run.length {
        Length::Seconds(seconds) => (Some(seconds), None),
        Length::Iterations(iterations) => (None, Some(iterations)),
        Length::Usual => (None, None),
    };
    serde_json::json!({
        "status": status,
        "problem": problem,
        "bytes": bytes,
        "seconds": seconds,
        "iterations": iterations,
        "commands": { "server": ran.commands[0], "client": ran.commands[1] },
        "ended": ended(ran),
        "rows": rows,
        "samples": samples,
    })
}

fn time_name(column: Column) -> Option<&'static str> {
    Some(match column {
        Column::Least => "min",
        Column::Most => "max",
        Column::Typical => "typical",
        Column::Mean => "average",
        Column::Deviation => "stdev",
        Column::Percentile99 => "p99",
        Column::Percentile999 => "p99.9",
        _ => return None,
    })
}
