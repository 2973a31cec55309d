//! The last rows of each thing that is measured: GPUs, VMs, hosts. Kept short, and only what the verdict asks for.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::fabric::{Measure, Measured, Text, Timestamp};

/// How many rows are kept of each thing.
pub const KEPT: usize = 8;

/// Rows that are further apart than this many periods have nothing to do with each other.
const APART: u32 = 5;

/// What was not told for so many periods is not known any more, but at least for so long.
const STALE_PERIODS: u32 = 4;
const STALE: Duration = Duration::from_secs(12);

/// One row of one thing: its numbers at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// When, by our own clock.
    pub at: Timestamp,
    numbers: Vec<(Measure, f64)>,
}

impl Row {
    /// A number of it; `None` where it was not told.
    pub fn get(&self, measure: Measure) -> Option<f64> {
        self.numbers.iter().find(|(of, _)| *of == measure).map(|(_, value)| *value)
    }
}

/// What another stream told last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Beside {
    at: Timestamp,
    period: Duration,
    numbers: Vec<(Measure, f64)>,
}

/// The last rows of one thing. Where several streams tell of it (`nvidia-smi` and DCGM), the one that came first gives the
/// beat, and what the others told last is put into its rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rows {
    last: VecDeque<Row>,
    beat: Option<Text>,
    period: Duration,
    beside: BTreeMap<Text, Beside>,
}

impl Rows {
    /// Takes in what a row of a stream tells of this thing.
    pub fn take(&mut self, row: &Measured, numbers: Vec<(Measure, f64)>) {
        let gives_beat = match &self.beat {
            Some(beat) => *beat == row.stream || self.is_stale(row.at),
            None => true,
        };
        if !gives_beat {
            self.beside.insert(row.stream.clone(), Beside { at: row.at, period: row.period, numbers });
            return;
        }
        let before = self.last.back().map(|last| last.at);
        if before.is_some_and(|before| older(before, row.at, row.period.saturating_mul(APART))) {
            self.last.clear();
        }
        if before.is_some_and(|before| row.at < before) {
            self.last.clear(); // the clock was set back
        }
        self.beat = Some(row.stream.clone());
        self.beside.remove(&row.stream);
        self.period = row.period;
        let mut numbers = numbers;
        for other in self.beside.values() {
            if older(other.at, row.at, other.period.saturating_mul(STALE_PERIODS)) {
                continue;
            }
            for (measure, value) in &other.numbers {
                if !numbers.iter().any(|(of, _)| of == measure) {
                    numbers.push((*measure, *value));
                }
            }
        }
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back(Row { at: row.at, numbers });
    }

    /// True if nothing was told for so long that what was told says nothing of now.
    pub fn is_stale(&self, now: Timestamp) -> bool {
        let limit = STALE.max(self.period.saturating_mul(STALE_PERIODS));
        self.last.back().is_none_or(|last| older(last.at, now, limit))
    }

    /// The rows, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Row> + ExactSizeIterator {
        self.last.iter()
    }

    /// When the last row was.
    pub fn last_at(&self) -> Option<Timestamp> {
        self.last.back().map(|row| row.at)
    }

    /// The newest value of a measure within the rows that are kept.
    pub fn newest(&self, measure: Measure) -> Option<f64> {
        self.last.iter().rev().find_map(|row| row.get(measure))
    }

    /// The mean of a measure over the last so many rows that tell it.
    pub fn mean(&self, measure: Measure, rows: usize) -> Option<f64> {
        let values: Vec<f64> = self.last.iter().rev().take(rows).filter_map(|row| row.get(measure)).collect();
        // No more than eight.
        #[allow(clippy::cast_precision_loss)]
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }
}

/// True if `then` is further back than `limit`.
fn older(then: Timestamp, now: Timestamp, limit: Duration) -> bool {
    Duration::try_from(now.duration_since(then)).is_ok_and(|age| age > limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::TargetId;

    fn row(stream: &str, second: i64) -> Measured {
        Measured {
            target: TargetId::new("t"),
            at: Timestamp::from_second(second).expect("a small number"),
            stream: Text::new(stream),
            period: Duration::from_secs(1),
            gauges: vec![],
            facts: vec![],
            observation: None,
        }
    }

    #[test]
    fn two_streams_make_one_row_and_a_pause_ends_what_was_before() {
        let mut rows = Rows::default();
        rows.take(&row("gpu.stream", 1), vec![(Measure::GpuUse, 90.0)]);
        rows.take(&row("gpu.dcgm", 1), vec![(Measure::SmActive, 40.0), (Measure::GpuUse, 1.0)]);
        rows.take(&row("gpu.stream", 2), vec![(Measure::GpuUse, 91.0)]);
        assert_eq!(rows.iter().len(), 2, "the other stream gives no beat");
        let last = rows.iter().next_back().expect("a row");
        assert_eq!((last.get(Measure::GpuUse), last.get(Measure::SmActive)), (Some(91.0), Some(40.0)));
        rows.take(&row("gpu.stream", 8), vec![(Measure::GpuUse, 92.0)]);
        let last = rows.iter().next_back().expect("a row");
        assert_eq!((rows.iter().len(), last.get(Measure::SmActive)), (1, None), "what is old is not now");
        assert_eq!(rows.mean(Measure::GpuUse, 4), Some(92.0));
        let at = |second| Timestamp::from_second(second).expect("a small number");
        assert!(!rows.is_stale(at(20)) && rows.is_stale(at(21)));
        // The first stream is gone: the other one gives the beat.
        rows.take(&row("gpu.dcgm", 30), vec![(Measure::SmActive, 41.0)]);
        assert_eq!(rows.newest(Measure::SmActive), Some(41.0));
    }
}
