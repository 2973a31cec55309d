//! What the rows of a GPU say of the GPU itself and of its link.

use serde::{Deserialize, Serialize};

use super::factor::Factor;
use super::pcie;
use super::rows::{Row, Rows};
use super::verdict::{Assessed, Lack};
use super::window::{self, Seen};
use crate::config::GpuRule;
use crate::diagnose::finding::Confidence;
use crate::fabric::{Attribute, EntityId, Fabric, Measure};

/// A GPU works little below this share of multiprocessors that are busy, in percent (DCGM 1002).
const LOW_SM: f64 = 50.0;
/// Likewise by the share of time in which any kernel ran, where DCGM is absent.
const LOW_USE: f64 = 85.0;
/// It has nothing to do below this use, in percent.
const IDLE_USE: f64 = 5.0;
/// And while its link carries less than this share of what it could.
const IDLE_LINK: f64 = 0.05;
/// The link is under load from this use on.
const LOADED_USE: f64 = 50.0;
/// And while it carries at least this share.
const LOADED_LINK: f64 = 0.10;
/// Nothing is wrong with the link's share below this one, where a GPU waits for its data.
const QUIET_LINK: f64 = 0.30;
/// The published rule: a busy GPU and more than this share of the theoretical rate towards it.
const PUBLISHED_USE: f64 = 85.0;
const PUBLISHED_LINK: f64 = 0.60;

/// What holds the clocks, as NVML's bits.
const POWER_CAP: u64 = 4;
const HARDWARE_SLOWDOWN: u64 = 8;
/// The largest share of a ceiling that two counters with clocks of their own can come to.
const MOST_SHARE: f64 = 1.1;
const SOFTWARE_THERMAL: u64 = 32;
const HARDWARE_THERMAL: u64 = 64;
const POWER_BRAKE: u64 = 128;

/// Which conditions held when they were looked at last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Raised {
    low: bool,
    idle: bool,
    full: bool,
    degraded: bool,
    thermal: bool,
    hardware_thermal: bool,
    brake: bool,
    cap: bool,
    bursts: bool,
    pub(super) ready: bool,
    pub(super) stopped: bool,
    pub(super) limited: bool,
    /// By the host, and by VMware Tools.
    pub(super) taken: [bool; 2],
    pub(super) remote: bool,
    pub(super) away: bool,
    pub(super) pressure: bool,
}

/// One GPU as it is looked at.
pub(super) struct Sight<'a> {
    pub(super) id: &'a EntityId,
    pub(super) rows: &'a Rows,
    pub(super) fabric: &'a Fabric,
    pub(super) rule: GpuRule,
    /// Share of the ceiling from which on a link counts as full.
    pub(super) full_from: f64,
}

/// What a GPU does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Less than it could.
    Low,
    /// As much as it can, as far as that is told.
    Busy,
    /// Nothing.
    Idle,
    /// Nothing tells.
    Untold,
    /// There are too few rows.
    TooFew,
}

/// What its link carried in one row: each way, and the ceiling that this is measured by.
struct Traffic {
    sent: Option<f64>,
    received: Option<f64>,
    ceiling: Option<f64>,
    raw: Option<f64>,
}

impl Traffic {
    fn busier(&self) -> Option<f64> {
        match (self.sent, self.received) {
            (Some(sent), Some(received)) => Some(sent.max(received)),
            (one, other) => one.or(other),
        }
    }

    fn share(&self) -> Option<f64> {
        // More than the link can carry was not carried by it: one of the two numbers is of something else.
        Some(self.busier()? / self.ceiling?).filter(|share| *share <= MOST_SHARE)
    }
}

impl Sight<'_> {
    fn count(&self, attribute: Attribute) -> Option<u32> {
        self.fabric.value(self.id, attribute)?.as_count().and_then(|count| u32::try_from(count).ok())
    }

    /// Generation and lanes of the link in a row.
    fn link(&self, row: &Row) -> (Option<u32>, Option<u32>) {
        // Small whole numbers, whatever a stream makes of them.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let small = |value: f64| (0.0..64.5).contains(&value).then(|| value.round() as u32);
        let of = |measure, attribute| match row.get(measure) {
            Some(value) => small(value),
            None => self.count(attribute),
        };
        (of(Measure::PcieGenerationNow, Attribute::PcieGeneration), of(Measure::PcieLanesNow, Attribute::PcieLanes))
    }

    /// The same as the row itself measured it. What was read at another time says nothing of the link under load.
    fn measured_link(row: &Row) -> (Option<f64>, Option<f64>) {
        (row.get(Measure::PcieGenerationNow), row.get(Measure::PcieLanesNow))
    }

    fn traffic(&self, row: &Row) -> Traffic {
        // What the link was at another time, as when it was idle, is no ceiling of what passes now.
        let (generation, lanes) = match Self::measured_link(row) {
            (Some(_), Some(_)) => self.link(row),
            _ => (None, None),
        };
        let of = |rate: fn(u32, u32) -> Option<f64>| generation.zip(lanes).and_then(|(one, other)| rate(one, other));
        let whole = (row.get(Measure::PcieSentWhole), row.get(Measure::PcieReceivedWhole));
        // What DCGM counts has the headers in it, and is compared with what holds them too.
        let (sent, received, ceiling) = match whole {
            (None, None) => (row.get(Measure::PcieSent), row.get(Measure::PcieReceived), of(pcie::usable)),
            (sent, received) => (sent, received, of(pcie::raw)),
        };
        Traffic { sent, received, ceiling, raw: of(pcie::raw) }
    }

    /// Whether it works little in a row, by the strict limit and by the easier one.
    fn low(row: &Row) -> Option<(bool, bool)> {
        match (row.get(Measure::SmActive), row.get(Measure::GpuUse)) {
            (Some(active), _) => Some((active < LOW_SM, active < LOW_SM * 1.1)),
            (None, Some(used)) => Some((used < LOW_USE, used < LOW_USE + 5.0)),
            (None, None) => row.get(Measure::GraphicsActive).map(|active| (active < LOW_USE, active < LOW_USE + 5.0)),
        }
    }

    fn used(row: &Row) -> Option<f64> {
        row.get(Measure::GpuUse).or_else(|| row.get(Measure::GraphicsActive)).or_else(|| row.get(Measure::SmActive))
    }

    pub(super) fn work(&self, raised: &mut Raised) -> Work {
        let idle = |row: &Row| {
            let used = Self::used(row)?;
            let quiet = self.traffic(row).share().is_none_or(|share| share < IDLE_LINK);
            Some((used < IDLE_USE && quiet, used < IDLE_USE * 2.0 && quiet))
        };
        match window::GPU.look(&mut raised.idle, self.rows.iter().map(idle)) {
            Seen::Holds(..) => return Work::Idle,
            Seen::TooFew => return Work::TooFew,
            Seen::Untold => return Work::Untold,
            Seen::Clear => {}
        }
        match window::GPU.look(&mut raised.low, self.rows.iter().map(Self::low)) {
            Seen::Holds(..) => Work::Low,
            Seen::Clear => Work::Busy,
            Seen::Untold => Work::Untold,
            Seen::TooFew => Work::TooFew,
        }
    }

    /// What the work is, in words: `SM active 23 %`.
    pub(super) fn at_work(&self) -> (Measure, String) {
        for measure in [Measure::SmActive, Measure::GpuUse, Measure::GraphicsActive] {
            if let Some(mean) = self.rows.mean(measure, window::GPU.of) {
                return (measure, format!("{} {mean:.0} %", measure.label()));
            }
        }
        (Measure::GpuUse, "its use is not told".to_owned())
    }

    fn full(&self, raised: &mut Raised) -> Seen {
        let from = self.full_from;
        let rule = self.rule;
        let full = |row: &Row| {
            let traffic = self.traffic(row);
            if rule == GpuRule::Published {
                let share = traffic.received? / traffic.raw?;
                let used = row.get(Measure::GpuUse)?;
                let meets = used > PUBLISHED_USE && share > PUBLISHED_LINK;
                return Some((meets, meets));
            }
            let share = traffic.share()?;
            let (low, easy) = Self::low(row)?;
            Some((low && share >= from, easy && share >= from - 0.1))
        };
        window::GPU.look(&mut raised.full, self.rows.iter().map(full))
    }

    /// What the link carries, in words, with the means of the last rows.
    fn carried(&self) -> String {
        let traffic: Vec<Traffic> = self.rows.iter().rev().take(window::GPU.of).map(|row| self.traffic(row)).collect();
        let ceiling = traffic.first().and_then(|one| one.ceiling);
        let mean = |of: fn(&Traffic) -> Option<f64>| {
            let values: Vec<f64> = traffic.iter().filter_map(of).collect();
            // No more than eight.
            #[allow(clippy::cast_precision_loss)]
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        let (received, sent) = (mean(|one| one.received), mean(|one| one.sent));
        let told = |value: Option<f64>| value.map_or("?".to_owned(), gigabytes);
        match ceiling {
            Some(ceiling) => format!(
                "{} GB/s to the GPU and {} GB/s from it, of {} GB/s each way",
                told(received),
                told(sent),
                gigabytes(ceiling)
            ),
            None => format!("{} GB/s to the GPU and {} GB/s from it", told(received), told(sent)),
        }
    }

    fn link_now(&self) -> Option<String> {
        let (generation, lanes) = self.link(self.rows.iter().next_back()?);
        Some(format!("Gen{} x{}", generation?, lanes?))
    }

    pub(super) fn pcie_bound(&self, raised: &mut Raised, work: Work) -> Assessed {
        let (measure, works) = self.at_work();
        match self.full(raised) {
            Seen::TooFew => Assessed::unseen(Lack::TooFew),
            Seen::Untold => Assessed::unseen(Lack::Missing(self.untold_link())),
            Seen::Clear => Assessed::clear(format!("{}; {works}", self.carried())).shown(self.id, measure, works),
            Seen::Holds(met, of) => {
                let published = self.rule == GpuRule::Published;
                // A busy GPU beside a full link is what a good program looks like, too.
                let sure = if published { Confidence::Possible } else { Confidence::Likely };
                let mut assessed =
                    Assessed::holds(!published || work == Work::Low, sure, format!("{}; {works}", self.carried()))
                        .shown(self.id, Measure::PcieReceived, format!("{}, in {met} of {of} samples", self.carried()))
                        .shown(self.id, measure, format!("{works} meanwhile"));
                if let Some(link) = self.link_now() {
                    assessed = assessed.read(self.id, Attribute::PcieGeneration, format!("the link runs at {link}"));
                }
                if published && work != Work::Low {
                    assessed = assessed.but(self.id, measure, format!("the GPU is busy: {works}"));
                }
                assessed
            }
        }
    }

    fn untold_link(&self) -> String {
        match (self.low_is_told(), self.link_now()) {
            (false, _) => "its use is not published (MIG is on, or the driver does not tell it)".to_owned(),
            (true, None) => "generation and width of its link are not published".to_owned(),
            (true, Some(_)) => {
                "its PCIe throughput is not published (vGPU does not, and some drivers do not)".to_owned()
            }
        }
    }

    fn low_is_told(&self) -> bool {
        self.rows.iter().filter(|row| Self::low(row).is_some()).count() >= window::GPU.raise
    }

    pub(super) fn pcie_degraded(&self, raised: &mut Raised, is_full: bool) -> Assessed {
        let most = (self.count(Attribute::PcieGenerationMax), self.count(Attribute::PcieLanesMax));
        let degraded = |row: &Row| {
            let (Some(_), Some(_)) = Self::measured_link(row) else { return None };
            let ((generation, lanes), (most_generation, most_lanes)) = (self.link(row), most);
            let (generation, lanes) = (generation?, lanes?);
            let share = self.traffic(row).share();
            let is_loaded = match share {
                Some(share) => share >= LOADED_LINK,
                None => Self::used(row)? >= LOADED_USE,
            };
            // A virtual root port names 32 lanes, and some drivers a highest generation below the one in use.
            let slower = most_generation? > generation;
            let narrower = most_lanes.is_some_and(|most| most <= 16 && most > lanes);
            Some((is_loaded && (slower || narrower), is_loaded && (slower || narrower)))
        };
        match window::GPU.look(&mut raised.degraded, self.rows.iter().map(degraded)) {
            Seen::TooFew => Assessed::unseen(Lack::TooFew),
            Seen::Untold => {
                let is_measured = self.rows.iter().any(|row| matches!(Self::measured_link(row), (Some(_), Some(_))));
                let what = if is_measured { "highest generation and width" } else { "generation and width under load" };
                Assessed::unseen(Lack::Missing(format!("the {what} of its link are not published")))
            }
            Seen::Clear => Assessed::clear(format!("its link runs at {}", self.link_now().unwrap_or_default())),
            Seen::Holds(met, of) => {
                let could = match most {
                    (Some(generation), Some(lanes)) => format!("Gen{generation} x{lanes}"),
                    (Some(generation), None) => format!("Gen{generation}"),
                    (None, _) => String::new(),
                };
                let now = self.link_now().unwrap_or_default();
                let sure = if is_full { Confidence::Proved } else { Confidence::Likely };
                Assessed::holds(is_full, sure, format!("its link runs at {now} under load, and could at {could}"))
                    .read(
                        self.id,
                        Attribute::PcieGeneration,
                        format!("the link runs at {now} in {met} of {of} samples"),
                    )
                    .read(self.id, Attribute::PcieGenerationMax, format!("{could} is possible"))
                    .shown(self.id, Measure::PcieReceived, self.carried())
            }
        }
    }

    fn reasons(row: &Row) -> Option<u64> {
        // Bits, whole by their nature.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        row.get(Measure::ClockReasonBits).filter(|bits| (0.0..1e15).contains(bits)).map(|bits| bits as u64)
    }

    fn held_by(&self, raised: &mut bool, bits: u64, without: u64) -> Seen {
        self.held_where(raised, |_, reasons| reasons & bits != 0 && reasons & without == 0)
    }

    fn held_where(&self, raised: &mut bool, is_held: impl Fn(&Row, u64) -> bool) -> Seen {
        let held = |row: &Row| {
            let held = is_held(row, Self::reasons(row)?);
            Some((held, held))
        };
        window::GPU.look(raised, self.rows.iter().map(held))
    }

    /// True if the hardware slows down for heat. Its own protection may also be that against a lack of power; where the bits that tell the
    /// two apart are not set, as with older drivers, the temperature has to speak for heat.
    fn is_hot(&self, row: &Row, reasons: u64) -> bool {
        let is_at_limit = || {
            let limit = self.count(Attribute::SlowdownTemperature)?;
            Some(row.get(Measure::Temperature)? >= f64::from(limit))
        };
        let own = reasons & HARDWARE_SLOWDOWN != 0 && reasons & POWER_BRAKE == 0;
        reasons & HARDWARE_THERMAL != 0 || (own && is_at_limit() == Some(true))
    }

    pub(super) fn thermal(&self, raised: &mut Raised, work: Work) -> Assessed {
        let hard = self.held_where(&mut raised.hardware_thermal, |row, reasons| self.is_hot(row, reasons));
        let any = self.held_where(&mut raised.thermal, |row, reasons| {
            reasons & SOFTWARE_THERMAL != 0 || self.is_hot(row, reasons)
        });
        let warm = match (self.rows.newest(Measure::Temperature), self.count(Attribute::SlowdownTemperature)) {
            (Some(now), Some(limit)) => format!("{now:.0} °C, slows down at {limit} °C"),
            (Some(now), None) => format!("{now:.0} °C"),
            (None, _) => "its temperature is not told".to_owned(),
        };
        match any {
            Seen::TooFew => Assessed::unseen(Lack::TooFew),
            Seen::Untold => Assessed::unseen(Lack::Missing("what holds its clocks is not published".to_owned())),
            Seen::Clear => Assessed::clear(warm),
            Seen::Holds(met, of) => {
                let is_grave = matches!(hard, Seen::Holds(..));
                let by = if is_grave { "the hardware" } else { "the driver" };
                let assessed = Assessed::holds(
                    work != Work::Idle,
                    Confidence::Proved,
                    format!("{by} holds the clocks down because of heat: {warm}"),
                )
                .grave(is_grave)
                .read(self.id, Attribute::ClockReasons, format!("clocks held by heat in {met} of {of} samples"))
                .shown(self.id, Measure::Temperature, warm);
                self.with_clocks(assessed)
            }
        }
    }

    fn with_clocks(&self, assessed: Assessed) -> Assessed {
        match (self.rows.mean(Measure::SmClock, window::GPU.of), self.count(Attribute::SmClockMax)) {
            (Some(now), Some(most)) => {
                assessed.shown(self.id, Measure::SmClock, format!("SM clock {now:.0} of {most} MHz"))
            }
            (Some(now), None) => assessed.shown(self.id, Measure::SmClock, format!("SM clock {now:.0} MHz")),
            (None, _) => assessed,
        }
    }

    pub(super) fn power(&self, raised: &mut Raised) -> Assessed {
        let brake = self.held_by(&mut raised.brake, POWER_BRAKE, 0);
        let cap = self.held_by(&mut raised.cap, POWER_CAP, 0);
        let watts = |attribute| self.fabric.value(self.id, attribute).and_then(crate::fabric::Value::as_count);
        let (limit, default) = (watts(Attribute::PowerLimit), watts(Attribute::PowerLimitDefault));
        let drawn = match (self.rows.mean(Measure::Power, window::GPU.of), limit) {
            (Some(drawn), Some(limit)) => format!("{drawn:.0} of {} W", limit / 1000),
            (Some(drawn), None) => format!("{drawn:.0} W"),
            (None, _) => "its power is not told".to_owned(),
        };
        if let Seen::Holds(met, of) = brake {
            let assessed = Assessed::holds(
                true,
                Confidence::Proved,
                format!("the server's power brake holds the clocks down: {drawn}"),
            )
            .grave(true)
            .read(self.id, Attribute::ClockReasons, format!("clocks held by the power brake in {met} of {of} samples"))
            .shown(self.id, Measure::Power, drawn);
            return self.with_clocks(assessed);
        }
        match cap {
            Seen::TooFew => Assessed::unseen(Lack::TooFew),
            Seen::Untold => Assessed::unseen(Lack::Missing("what holds its clocks is not published".to_owned())),
            Seen::Clear => Assessed::clear(drawn),
            Seen::Holds(met, of) => match (limit, default) {
                (Some(limit), Some(default)) if limit < default => {
                    let low = format!(
                        "its power limit was lowered from {} W to {} W, and it draws all of that",
                        default / 1000,
                        limit / 1000
                    );
                    let assessed = Assessed::holds(true, Confidence::Proved, low)
                        .read(self.id, Attribute::PowerLimit, format!("limit {} W", limit / 1000))
                        .read(self.id, Attribute::PowerLimitDefault, format!("{} W by default", default / 1000))
                        .read(
                            self.id,
                            Attribute::ClockReasons,
                            format!("clocks held by power in {met} of {of} samples"),
                        )
                        .shown(self.id, Measure::Power, drawn);
                    self.with_clocks(assessed)
                }
                // Full load of a sound card ends at the limit that it came with.
                _ => Assessed::clear(format!(
                    "{drawn}: at the limit that the card is made for, as under full load is usual"
                )),
            },
        }
    }

    /// A GPU that works in bursts beside a quiet link. `held_up` says that something else explains it.
    pub(super) fn input(&self, raised: &mut Raised, work: Work, held_up: Option<Factor>) -> Assessed {
        let (measure, works) = self.at_work();
        let bursts = |row: &Row| {
            let (low, easy) = Self::low(row)?;
            let share = self.traffic(row).share()?;
            Some((low && share < QUIET_LINK, easy && share < QUIET_LINK + 0.1))
        };
        match window::GPU.look(&mut raised.bursts, self.rows.iter().map(bursts)) {
            Seen::TooFew => Assessed::unseen(Lack::TooFew),
            Seen::Untold => Assessed::unseen(Lack::Missing(self.untold_link())),
            Seen::Holds(met, of) if work == Work::Low && held_up.is_none() => {
                let says = format!("{works} while its link is quiet: {}", self.carried());
                Assessed::holds(true, Confidence::Possible, says)
                    .shown(self.id, measure, format!("{works}, with a quiet link in {met} of {of} samples"))
                    .shown(self.id, Measure::PcieReceived, self.carried())
            }
            _ => Assessed::clear(works),
        }
    }
}

/// Bytes per second in words: `23.4`.
pub(super) fn gigabytes(bytes: f64) -> String {
    format!("{:.1}", bytes / 1e9)
}
