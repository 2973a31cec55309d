//! The tables of `nvidia-smi dmon -s t` and of `dcgmi dmon`: a header that names the columns, one with their units, a row a GPU.

use std::collections::BTreeMap;

use crate::fabric::{Measure, Timestamp};
use crate::probe::gpu::cells;

/// What a table said of one GPU, and when. A value that it does not have is `None`.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    at: Timestamp,
    values: Vec<(Measure, Option<f64>)>,
}

/// The last row of each GPU, and the columns of a table.
#[derive(Debug, Default)]
pub(super) struct Table {
    columns: Vec<Option<(Measure, f64)>>,
    rows: BTreeMap<u32, Row>,
}

/// The most GPUs of a table.
const MOST: usize = 64;

impl Table {
    /// The values of a GPU, if its row is not older than so many milliseconds; where it is, all that it told are gaps.
    pub fn of(&self, gpu: u32, now: Timestamp, oldest_ms: i64) -> Vec<(Measure, Option<f64>)> {
        let Some(row) = self.rows.get(&gpu) else { return Vec::new() };
        let is_fresh = now.as_millisecond().saturating_sub(row.at.as_millisecond()) <= oldest_ms;
        row.values.iter().map(|(measure, value)| (*measure, value.filter(|_| is_fresh))).collect()
    }

    fn take(&mut self, gpu: u32, words: &[&str], at: Timestamp) {
        // A row that was torn or mixed with another one has other columns than the header.
        if words.len() != self.columns.len() || !self.rows.contains_key(&gpu) && self.rows.len() >= MOST {
            return;
        }
        let cells = self.columns.iter().zip(words);
        let values: Option<Vec<(Measure, Option<f64>)>> = cells
            .filter_map(|(column, word)| Some(((*column)?, word)))
            .map(|((measure, scale), word)| match *word {
                "-" | "N/A" => Some((measure, None)),
                word => {
                    let number = word.parse::<f64>().ok()? * scale;
                    is_possible(measure, number).then_some((measure, Some(number)))
                }
            })
            .collect();
        if let Some(values) = values {
            self.rows.insert(gpu, Row { at, values });
        }
    }

    /// A line of `nvidia-smi dmon`; true if it is one.
    pub fn dmon(&mut self, line: &str, at: Timestamp) -> bool {
        if let Some(header) = line.strip_prefix('#') {
            let mut names = header.split_whitespace();
            match names.next() {
                Some("gpu") => {
                    self.columns = names
                        .map(|name| match name {
                            "rxpci" => Some((Measure::PcieReceived, 1e6)),
                            "txpci" => Some((Measure::PcieSent, 1e6)),
                            _ => None,
                        })
                        .collect();
                    return true;
                }
                // The units.
                Some("Idx") => return true,
                _ => return false,
            }
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some((Ok(gpu), rest)) = words.split_first().map(|(gpu, rest)| (gpu.parse::<u32>(), rest)) else {
            return false;
        };
        if line.contains(',') {
            return false;
        }
        self.take(gpu, rest, at);
        true
    }

    /// A line of `dcgmi dmon`; true if it is one.
    pub fn dcgmi(&mut self, line: &str, at: Timestamp) -> bool {
        if let Some(names) = line.strip_prefix("#Entity") {
            self.columns = names.split_whitespace().map(column).collect();
            return true;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["ID", ..] => true,
            ["GPU", gpu, ref rest @ ..] => match gpu.parse() {
                Ok(gpu) => {
                    self.take(gpu, rest, at);
                    true
                }
                Err(_) => false,
            },
            // Instances are counted apart.
            ["GPU-I" | "GPU-CI" | "Switch" | "CPU" | "Core", ..] => true,
            _ => false,
        }
    }
}

/// What a column of DCGM is: its short name, or one of its newer ones.
fn column(name: &str) -> Option<(Measure, f64)> {
    Some(match name {
        "GRACT" => (Measure::GraphicsActive, 100.0),
        "SMACT" => (Measure::SmActive, 100.0),
        "TENSO" => (Measure::TensorActive, 100.0),
        "DRAMA" => (Measure::DramActive, 100.0),
        "PCITX" => (Measure::PcieSentWhole, 1.0),
        "PCIRX" => (Measure::PcieReceivedWhole, 1.0),
        "NVLTX" => (Measure::NvLinkSent, 1.0),
        "NVLRX" => (Measure::NvLinkReceived, 1.0),
        _ => return None,
    })
}

/// True for what a GPU can be like. Drivers have printed numbers of an unset memory; as values they would prove anything.
pub(super) fn is_possible(measure: Measure, value: f64) -> bool {
    let most = match measure {
        Measure::GpuUse
        | Measure::GpuMemoryBusy
        | Measure::GraphicsActive
        | Measure::SmActive
        | Measure::TensorActive
        | Measure::DramActive => 100.5,
        Measure::GpuMemoryUsed => 1.8e13,
        Measure::Power => 20_000.0,
        Measure::SmClock | Measure::MemoryClock => 50_000.0,
        Measure::Temperature | Measure::MemoryTemperature => 250.0,
        Measure::PcieGenerationNow => 8.0,
        Measure::PcieLanesNow => 32.0,
        // More than the widest link of the newest generation carries.
        Measure::PcieSent | Measure::PcieReceived | Measure::PcieSentWhole | Measure::PcieReceivedWhole => 1.3e11,
        Measure::NvLinkSent | Measure::NvLinkReceived => 1e13,
        _ => f64::MAX,
    };
    (0.0..=most).contains(&value)
}

/// A number of the CSV; a missing one and one that is none are both gaps.
pub(super) fn number(text: &str) -> Option<f64> {
    if cells::absent(text).is_some() {
        return None;
    }
    cells::amount(text).map(|(number, _)| number).filter(|number| *number >= 0.0)
}
