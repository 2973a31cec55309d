//! What changes from second to second: use, memory, power, temperature and clock of each GPU, what passes its PCIe link against
//! what that link can carry, and what the host takes from the VM around them.

use super::super::condition::Gravity;
use super::super::table::{Cell, Heading, Row};
use super::{Builder, format, link};
use crate::fabric::{Attribute, EntityId, Measure, SeriesKey, Value};

/// The title above use, memory, power, temperature and clock.
pub(super) const NOW: &str = "Now";
/// The title above the links.
pub(super) const LINKS: &str = "PCIe";

/// A value that is older says nothing of now, in seconds: three rows of the slowest stream, and some.
const OLD_SECONDS: f64 = 20.0;

/// Names of the columns.
pub(super) fn headings() -> Vec<Heading> {
    let heading = |section: &str, names: &[[&str; 2]]| Heading {
        section: section.to_owned(),
        names: names.iter().map(|names| names.map(str::to_owned)).collect(),
    };
    vec![
        heading(
            NOW,
            &[
                ["use", "use"],
                ["SM active", "SM"],
                ["memory", "mem"],
                ["power", "W"],
                ["temperature", "temp"],
                ["SM clock", "MHz"],
            ],
        ),
        heading(LINKS, &[["to the GPU", "to"], ["from the GPU", "from"], ["link", "link"], ["ceiling", "ceiling"]]),
    ]
}

/// A number in so few letters as it can be read in.
fn short(value: f64) -> String {
    if value.abs() >= 100.0 || value.fract().abs() < 0.05 { format!("{value:.0}") } else { format!("{value:.1}") }
}

/// A size in GiB, or MiB where it is small.
fn size(bytes: f64) -> String {
    const GIB: f64 = 1_073_741_824.0;
    if bytes >= GIB { format!("{}G", short(bytes / GIB)) } else { format!("{}M", short(bytes / GIB * 1024.0)) }
}

/// A value that is measured, or how it is missing.
enum Now {
    Value(f64),
    /// There is no series of it: nothing tells it here.
    NotTold,
    /// It was told, and is not now.
    Gap,
    /// So many seconds ago.
    Old(i64),
}

impl Builder<'_> {
    fn now_of(&self, id: &EntityId, measure: Measure) -> Now {
        let key: SeriesKey = measure.key(id);
        let Some(point) = self.model.series.get(&key).and_then(|series| series.at(self.model.now)) else {
            return Now::NotTold;
        };
        let age = self.model.now.duration_since(point.at);
        match point.value {
            Some(_) if age.as_secs_f64() > OLD_SECONDS || self.silent_since(id).is_some() => Now::Old(age.as_secs()),
            Some(value) => Now::Value(value),
            None => Now::Gap,
        }
    }

    /// The number of a measure, while it is fresh.
    fn number(&self, id: &EntityId, measure: Measure) -> Option<f64> {
        match self.now_of(id, measure) {
            Now::Value(value) => Some(value),
            _ => None,
        }
    }

    /// A cell of a measure; its words for what is missing are as short as its column.
    fn measured(&self, gpu: &EntityId, measure: Measure, shown: impl Fn(f64) -> (String, Gravity)) -> Cell {
        let (text, gravity) = match self.now_of(gpu, measure) {
            Now::Value(value) => shown(value),
            Now::NotTold => ("not told".to_owned(), Gravity::Unknown),
            Now::Gap => ("gap".to_owned(), Gravity::Unknown),
            Now::Old(seconds) => (format!("{seconds} s old"), Gravity::Stale),
        };
        Cell { source: self.evidence(gpu), ..Cell::said(text, gravity) }
    }

    /// Use, memory, power, temperature and clock of each GPU.
    pub(super) fn now(&self) -> Vec<Row> {
        let row = |gpu: &EntityId| {
            let total = self.count(gpu, Attribute::GpuMemory).map(|bytes| bytes as f64);
            let limit = self.count(gpu, Attribute::PowerLimit).map(|milliwatts| milliwatts as f64 / 1000.0);
            let slows = self.count(gpu, Attribute::SlowdownTemperature).map(|celsius| celsius as f64);
            let percent = |value: f64| (format!("{} %", short(value)), Gravity::Neutral);
            let of = |value: String, most: Option<String>, unit: &str| match most {
                Some(most) => format!("{value}/{most}{unit}"),
                None => format!("{value}{unit}"),
            };
            let cells = vec![
                Some(self.measured(gpu, Measure::GpuUse, percent)),
                Some(self.measured(gpu, Measure::SmActive, percent)),
                Some(self.measured(gpu, Measure::GpuMemoryUsed, |value| {
                    (of(size(value), total.map(size), ""), Gravity::Neutral)
                })),
                Some(self.measured(gpu, Measure::Power, |value| {
                    (of(format!("{value:.0}"), limit.map(|limit| format!("{limit:.0}")), ""), Gravity::Neutral)
                })),
                Some(self.measured(gpu, Measure::Temperature, |value| {
                    let hot = slows.is_some_and(|slows| value >= slows);
                    (format!("{value:.0} °C"), if hot { Gravity::Bad } else { Gravity::Neutral })
                })),
                Some(self.measured(gpu, Measure::SmClock, |value| (format!("{value:.0}"), Gravity::Neutral))),
            ];
            Self::row(gpu, "now", self.label(gpu), cells)
        };
        let is_measured = |gpu: &&EntityId| {
            [Measure::GpuUse, Measure::SmActive, Measure::GpuMemoryUsed, Measure::Power, Measure::Temperature]
                .iter()
                .any(|measure| !matches!(self.now_of(gpu, *measure), Now::NotTold))
        };
        self.gpus.iter().filter(is_measured).filter_map(row).collect()
    }

    /// What passes each link against what it can carry as it is trained now.
    pub(super) fn links(&self) -> Vec<Row> {
        let row = |gpu: &EntityId| {
            let link = link::of(self.model, gpu, |measure| self.number(gpu, measure));
            let full = |value: f64| {
                let is_full = link.carries.is_some_and(|ceiling| value >= ceiling * 0.8);
                (format::bytes_per_second(value), if is_full { Gravity::Warning } else { Gravity::Neutral })
            };
            let trained = link.trained.map_or_else(
                || Cell::said("not told", Gravity::Unknown),
                |(generation, lanes)| Cell {
                    source: self.evidence(gpu),
                    ..Cell::said(format!("Gen{generation} x{lanes}"), Gravity::Neutral)
                },
            );
            let most = link.carries.map_or_else(
                || Cell::said("not known", Gravity::Unknown),
                |ceiling| {
                    // What DCGM counts is held against another number than what NVML counts.
                    let headers = if link.with_headers { " with headers" } else { "" };
                    Cell::said(format!("{}{headers}", format::bytes_per_second(ceiling)), Gravity::Neutral)
                },
            );
            let cells = vec![
                Some(self.measured(gpu, link.received, full)),
                Some(self.measured(gpu, link.sent, full)),
                Some(trained),
                Some(most),
            ];
            Self::row(gpu, "link", self.label(gpu), cells)
        };
        let is_seen = |gpu: &&EntityId| {
            self.model.fabric.reading(gpu, Attribute::PcieLanes).is_some()
                || !matches!(self.now_of(gpu, Measure::PcieReceived), Now::NotTold)
        };
        self.gpus.iter().filter(is_seen).filter_map(row).collect()
    }

    /// What the host takes from the VM: balloon, swap, waiting; and what VMware Tools say of it in the guest.
    pub(super) fn around(&self) -> Vec<Row> {
        let joined = self.model.joined();
        let Some(vm) = joined.vm_of(self.target) else { return Vec::new() };
        let Some(group) = crate::diagnose::join::group_of(&self.model.fabric, vm) else { return Vec::new() };
        let number = |measure: Measure| self.number(&group, measure);
        let bytes = |measure: Measure, word: &str| {
            number(measure).map(|value| {
                let gravity = if value > 0.0 { Gravity::Bad } else { Gravity::Good };
                Cell::said(format!("{word} {}", size(value)), gravity)
            })
        };
        let processors = number(Measure::VmProcessors).filter(|processors| *processors >= 1.0);
        let waits = |measure: Measure, word: &str| {
            // All virtual processors are added up there.
            number(measure).zip(processors).map(|(value, processors)| {
                let each = value / processors;
                let gravity = if each >= 5.0 { Gravity::Warning } else { Gravity::Good };
                Cell::said(format!("{word} {} % a CPU", short(each)), gravity)
            })
        };
        let cells = vec![
            bytes(Measure::VmBalloon, "balloon"),
            bytes(Measure::VmSwapped, "swapped"),
            waits(Measure::Ready, "ready"),
            waits(Measure::CoStop, "co-stop"),
            number(Measure::NumaLocal).map(|local| {
                let gravity = if local < 90.0 { Gravity::Warning } else { Gravity::Good };
                Cell::said(format!("NUMA local {} %", short(local)), gravity)
            }),
        ];
        let name = super::super::vm_devices::name(self.model, vm);
        Self::row(&group, "around", format!("VM {name}"), cells).into_iter().collect()
    }

    /// How many bytes a value of a fact is, in words.
    pub(super) fn bytes_of(&self, id: &EntityId, attribute: Attribute) -> Option<String> {
        self.model.fabric.value(id, attribute).and_then(Value::as_count).map(format::bytes)
    }
}
