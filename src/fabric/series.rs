//! How counters move: samples become rates over the true time between them. A wrap, a reset and a reboot are told
//! apart; where no rate can be said there is a gap, never a zero.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Timestamp;
use super::counter::Role;
use super::entity::{Entity, TargetId};
use super::fact::Fact;
use super::measure::Measured;
use super::observation::Observation;
use super::text::Text;

/// How many points a series keeps: ten minutes at one a second.
pub const KEPT_POINTS: usize = 600;

/// A series that got no value for so long is forgotten: what it belonged to is gone.
const FORGOTTEN_AFTER_SECONDS: i64 = 3600;

/// How often series are looked through for such.
const LOOKED_THROUGH_SECONDS: i64 = 60;

/// Values above this can only come from a 64-bit counter, so a fall from there is a reset, not a wrap of 32 bits.
const WRAP_32: u64 = 1 << 32;

/// One tick of a stream: all counters of a target at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Where it was read.
    pub target: TargetId,
    /// When the answer came, by our own clock.
    pub at: Timestamp,
    /// From sending the tick to reading the answer.
    pub round_trip: Duration,
    /// Seconds the target has been up, in hundredths (`/proc/uptime`): the true clock between two samples.
    pub uptime_centiseconds: u64,
    /// Id of the target's boot, where it could be read: after a slow reconnect the uptime of a new boot can be above
    /// that of the one before, so the uptime alone does not show every reboot.
    pub boot_id: Option<Text>,
    /// Raw counter values.
    pub counters: Vec<CounterValue>,
    /// Values that are measured as they are, such as numbers of queue pairs.
    pub gauges: Vec<GaugeValue>,
    /// States read in the same tick (port state, MTU, carrier).
    pub facts: Vec<Fact>,
    /// The raw tick, `path:value` a line: what the facts and counters were read from.
    pub observation: Option<Arc<Observation>>,
    /// How far the target's wall clock is ahead of ours, in milliseconds, where this tick measured it.
    pub clock_offset_ms: Option<i64>,
}

/// One raw counter of one entity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CounterValue {
    /// What it belongs to.
    pub entity: Entity,
    /// Name of the counter as the target calls it.
    pub name: Text,
    /// What it counts, where that is known.
    pub role: Option<Role>,
    /// Things per unit of the raw value.
    pub scale: u64,
    /// The raw value.
    pub raw: u64,
}

/// One measured number of one entity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GaugeValue {
    /// What it belongs to.
    pub entity: Entity,
    /// Name of the number.
    pub name: Text,
    /// The number; `None` where it could not be read.
    pub value: Option<f64>,
}

/// Names one series.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SeriesKey {
    /// Where it is read.
    pub target: TargetId,
    /// What it belongs to.
    pub entity: Entity,
    /// Name of the counter or gauge.
    pub name: Text,
}

/// One point of a series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// When it was read, by our own clock.
    pub at: Timestamp,
    /// Per second for counters (already scaled), plain for gauges; `None` where nothing can be said.
    pub value: Option<f64>,
}

/// What became of one sample of a counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// The first value: no rate yet.
    First,
    /// Things per second since the last sample.
    Rate(f64),
    /// The counter passed its 32-bit end; the rate is right all the same.
    Wrapped(f64),
    /// The counter started again without a reboot (driver reloaded, counters cleared).
    Reset,
    /// No time passed since the last sample.
    TooSoon,
}

impl Step {
    /// The rate, where there is one.
    pub fn rate(self) -> Option<f64> {
        match self {
            Self::Rate(rate) | Self::Wrapped(rate) => Some(rate),
            _ => None,
        }
    }
}

/// The rate between two readings of one counter; times are uptimes in hundredths of a second.
pub fn step(before: Option<(u64, u64)>, uptime: u64, raw: u64, scale: u64) -> Step {
    let Some((uptime_before, raw_before)) = before else { return Step::First };
    if uptime <= uptime_before {
        return Step::TooSoon;
    }
    let seconds = (uptime - uptime_before) as f64 / 100.0;
    let per_second = |things: u64| things as f64 * scale as f64 / seconds;
    if raw >= raw_before {
        return Step::Rate(per_second(raw - raw_before));
    }
    // Only a fall from the top half of 32 bits into the bottom half looks like a wrap; anything else is a reset.
    if (WRAP_32 / 2..WRAP_32).contains(&raw_before) && raw < WRAP_32 / 2 {
        return Step::Wrapped(per_second(WRAP_32 - raw_before + raw));
    }
    Step::Reset
}

/// One series: the last raw value and the points that are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// What it counts, where that is known. Gauges have none.
    pub role: Option<Role>,
    /// The last raw value, unscaled (counters only).
    pub raw: Option<u64>,
    /// Points, oldest first.
    #[serde(with = "columns")]
    pub points: VecDeque<Point>,
    last: Option<(u64, u64)>,
    /// The stream that measures it, where that is not the one of ticks.
    #[serde(default)]
    stream: Option<Text>,
}

impl Series {
    fn push(&mut self, point: Point) {
        // Two gaps in a row say no more than one.
        if point.value.is_none() && self.points.back().is_some_and(|last| last.value.is_none()) {
            return;
        }
        if self.points.len() == KEPT_POINTS {
            self.points.pop_front();
        }
        // Doubling once more would take room for points that are never kept.
        if self.points.len() == self.points.capacity() && self.points.len() * 2 > KEPT_POINTS {
            self.points.reserve_exact(KEPT_POINTS - self.points.len());
        }
        self.points.push_back(point);
    }

    /// The newest value, if the series does not end in a gap.
    pub fn newest(&self) -> Option<f64> {
        self.points.back().and_then(|point| point.value)
    }

    /// The newest point at or before `at`.
    pub fn at(&self, at: Timestamp) -> Option<Point> {
        let end = self.points.partition_point(|point| point.at <= at);
        end.checked_sub(1).and_then(|index| self.points.get(index)).copied()
    }
}

/// What happened to a target as a whole between two samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incident {
    /// The target was rebooted: another boot id, or its uptime started again.
    Reboot,
    /// Counters of an entity started again without a reboot.
    Reset(Entity),
}

/// The boot of a target that the last sample came from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Boot {
    uptime_centiseconds: u64,
    id: Option<Text>,
}

impl Boot {
    /// Takes in where a sample came from; true if that is another boot than before.
    fn is_another(&mut self, sample: &Sample) -> bool {
        let another_id = self.id.is_some() && sample.boot_id.is_some() && self.id != sample.boot_id;
        let another = another_id || sample.uptime_centiseconds < self.uptime_centiseconds;
        self.uptime_centiseconds = sample.uptime_centiseconds;
        if another || sample.boot_id.is_some() {
            self.id.clone_from(&sample.boot_id);
        }
        another
    }
}

/// All series of all targets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeriesStore {
    series: BTreeMap<SeriesKey, Series>,
    boots: BTreeMap<TargetId, Boot>,
    looked_through: BTreeMap<TargetId, Timestamp>,
}

impl SeriesStore {
    /// Takes in one sample and tells what it revealed about the target.
    pub fn apply(&mut self, sample: &Sample) -> Vec<Incident> {
        self.forget_old(&sample.target, sample.at);
        let mut incidents = Vec::new();
        let rebooted = self.boots.entry(sample.target.clone()).or_default().is_another(sample);
        if rebooted {
            incidents.push(Incident::Reboot);
            // Counters of two boots have nothing to do with each other, whatever their values and uptimes are.
            self.gap(&sample.target, sample.at);
        }
        for counter in &sample.counters {
            let key =
                SeriesKey { target: sample.target.clone(), entity: counter.entity.clone(), name: counter.name.clone() };
            let series = self.series.entry(key).or_default();
            series.role = counter.role;
            series.raw = Some(counter.raw);
            let step = step(series.last, sample.uptime_centiseconds, counter.raw, counter.scale);
            if step == Step::TooSoon {
                continue;
            }
            series.last = Some((sample.uptime_centiseconds, counter.raw));
            if step == Step::Reset && !incidents.contains(&Incident::Reset(counter.entity.clone())) {
                incidents.push(Incident::Reset(counter.entity.clone()));
            }
            if step != Step::First || !series.points.is_empty() {
                series.push(Point { at: sample.at, value: step.rate() });
            }
        }
        self.gap_where_missing(sample);
        self.gauges(&sample.target, sample.at, &sample.gauges);
        incidents
    }

    /// A counter that could not be read this time has no rate now, whatever it had before.
    fn gap_where_missing(&mut self, sample: &Sample) {
        let series = self.series.iter_mut().filter(|(key, _)| key.target == sample.target);
        for (_, series) in series {
            if series.last.is_some_and(|(uptime, _)| uptime != sample.uptime_centiseconds) {
                series.last = None;
                series.push(Point { at: sample.at, value: None });
            }
        }
    }

    /// Interfaces of containers come and go by the thousand; their series must not stay for ever.
    fn forget_old(&mut self, target: &TargetId, now: Timestamp) {
        let seconds = |since: Timestamp| now.duration_since(since).as_secs();
        match self.looked_through.get(target) {
            Some(last) if seconds(*last) < LOOKED_THROUGH_SECONDS => return,
            _ => self.looked_through.insert(target.clone(), now),
        };
        self.series.retain(|key, series| {
            let last = series.points.back().map(|point| point.at);
            key.target != *target || last.is_none_or(|last| seconds(last) < FORGOTTEN_AFTER_SECONDS)
        });
    }

    /// Takes in numbers that are measured as they are.
    pub fn gauges(&mut self, target: &TargetId, at: Timestamp, gauges: &[GaugeValue]) {
        for gauge in gauges {
            let key = SeriesKey { target: target.clone(), entity: gauge.entity.clone(), name: gauge.name.clone() };
            self.series.entry(key).or_default().push(Point { at, value: gauge.value });
        }
    }

    /// Takes in one row of a stream beside the ticks. What the stream told before and does not tell now has a gap.
    pub fn measured(&mut self, row: &Measured) {
        self.forget_old(&row.target, row.at);
        for gauge in &row.gauges {
            let key = SeriesKey { target: row.target.clone(), entity: gauge.entity.clone(), name: gauge.name.clone() };
            let series = self.series.entry(key).or_default();
            series.stream = Some(row.stream.clone());
            series.push(Point { at: row.at, value: gauge.value });
        }
        // Those of one target stand together: rows come often, and from many targets.
        let first = SeriesKey { target: row.target.clone(), entity: Entity::Guest, name: Text::new("") };
        let of_target = self.series.range_mut(first..).take_while(|(key, _)| key.target == row.target);
        for (_, series) in of_target.filter(|(_, series)| series.stream.as_ref() == Some(&row.stream)) {
            if series.points.back().is_some_and(|last| last.at != row.at) {
                series.push(Point { at: row.at, value: None });
            }
        }
    }

    /// Forgets all series of a target.
    pub fn forget(&mut self, target: &TargetId) {
        self.series.retain(|key, _| key.target != *target);
        self.boots.remove(target);
        self.looked_through.remove(target);
    }

    /// Marks a gap in every series of a target: samples were lost or the connection ended. Rates start anew after it.
    pub fn gap(&mut self, target: &TargetId, at: Timestamp) {
        for (_, series) in self.series.iter_mut().filter(|(key, _)| key.target == *target) {
            series.last = None;
            series.push(Point { at, value: None });
        }
    }

    /// One series.
    pub fn get(&self, key: &SeriesKey) -> Option<&Series> {
        self.series.get(key)
    }

    /// All series of one entity, by name.
    pub fn of<'a>(
        &'a self,
        target: &'a TargetId,
        entity: &'a Entity,
    ) -> impl Iterator<Item = (&'a SeriesKey, &'a Series)> {
        let start = SeriesKey { target: target.clone(), entity: entity.clone(), name: Text::new("") };
        self.series.range(start..).take_while(move |(key, _)| key.target == *target && key.entity == *entity)
    }

    /// All series in order of target, entity and name.
    pub fn iter(&self) -> impl Iterator<Item = (&SeriesKey, &Series)> {
        self.series.iter()
    }
}

/// Points as two columns: nanoseconds since 1970, each but the first as the distance from the one before, and values. A
/// recording holds them by the hundred thousand, and as texts the times alone would be ten times as long.
mod columns {
    use std::collections::VecDeque;

    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

    use super::{KEPT_POINTS, Point, Timestamp};

    #[derive(Serialize, Deserialize)]
    struct Columns {
        at: Vec<i64>,
        value: Vec<Option<f64>>,
    }

    pub fn serialize<S: Serializer>(points: &VecDeque<Point>, serializer: S) -> Result<S::Ok, S::Error> {
        let mut before = 0;
        let at = points.iter().map(|point| {
            // Times beyond the year 2262 do not fit; no clock of a running system says such.
            let now = i64::try_from(point.at.as_nanosecond()).unwrap_or(i64::MAX);
            now.wrapping_sub(std::mem::replace(&mut before, now))
        });
        Columns { at: at.collect(), value: points.iter().map(|point| point.value).collect() }.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<VecDeque<Point>, D::Error> {
        let Columns { at, value } = Columns::deserialize(deserializer)?;
        if at.len() != value.len() || at.len() > KEPT_POINTS {
            return Err(D::Error::custom("columns of points that do not belong together"));
        }
        let mut now = 0i64;
        let points = at.into_iter().zip(value).map(|(step, value)| {
            now = now.wrapping_add(step);
            let at = Timestamp::from_nanosecond(i128::from(now)).map_err(D::Error::custom)?;
            Ok(Point { at, value })
        });
        points.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{EntityId, Measure};

    #[test]
    fn rates_follow_the_true_time() {
        assert_eq!(step(None, 100, 5, 1), Step::First);
        assert_eq!(step(Some((100, 5)), 200, 105, 1), Step::Rate(100.0));
        assert_eq!(step(Some((100, 5)), 350, 255, 1), Step::Rate(100.0));
        assert_eq!(step(Some((100, 0)), 200, 250, 4), Step::Rate(1000.0));
        assert_eq!(step(Some((100, 5)), 100, 105, 1), Step::TooSoon);
        assert_eq!(step(Some((100, 5)), 200, 5, 1), Step::Rate(0.0));
    }

    #[test]
    fn wrap_and_reset_are_told_apart() {
        assert_eq!(step(Some((100, (1 << 32) - 50)), 200, 50, 1), Step::Wrapped(100.0));
        assert_eq!(step(Some((100, 5000)), 200, 3, 1), Step::Reset);
        assert_eq!(step(Some((100, 1 << 40)), 200, 3, 1), Step::Reset);
    }

    fn sample(second: i64, uptime: u64, raw: u64) -> Sample {
        Sample {
            target: TargetId::new("t"),
            at: Timestamp::from_second(second).expect("a small number"),
            round_trip: Duration::from_millis(1),
            uptime_centiseconds: uptime,
            boot_id: None,
            counters: vec![CounterValue {
                entity: Entity::port("rxe0", 1),
                name: Text::new("sent_pkts"),
                role: Some(Role::TransmitPackets),
                scale: 1,
                raw,
            }],
            gauges: vec![GaugeValue { entity: Entity::Guest, name: Text::new("queue-pairs"), value: Some(2.0) }],
            facts: vec![],
            observation: None,
            clock_offset_ms: None,
        }
    }

    fn values(store: &SeriesStore) -> Vec<Option<f64>> {
        let (target, port) = (TargetId::new("t"), Entity::port("rxe0", 1));
        let (_, series) = store.of(&target, &port).next().expect("one series");
        series.points.iter().map(|point| point.value).collect()
    }

    #[test]
    fn a_reboot_is_a_gap_and_then_goes_on() {
        let mut store = SeriesStore::default();
        assert!(store.apply(&sample(1, 1000, 0)).is_empty());
        assert!(store.apply(&sample(2, 1100, 10)).is_empty());
        assert_eq!(store.apply(&sample(30, 50, 3)), vec![Incident::Reboot]);
        assert!(store.apply(&sample(31, 150, 23)).is_empty());
        assert_eq!(values(&store), vec![Some(10.0), None, Some(20.0)]);
    }

    #[test]
    fn a_reboot_shows_in_the_boot_id_even_if_the_uptime_and_the_counters_went_up() {
        let mut store = SeriesStore::default();
        let of_boot = |id: Option<&str>, second, uptime, raw| Sample {
            boot_id: id.map(Text::new),
            ..sample(second, uptime, raw)
        };
        store.apply(&of_boot(Some("a"), 1, 1000, 0));
        store.apply(&of_boot(Some("a"), 2, 1100, 10));
        // A boot id that could not be read this time says nothing.
        assert!(store.apply(&of_boot(None, 3, 1200, 20)).is_empty());
        assert_eq!(store.apply(&of_boot(Some("b"), 90, 6000, 5000)), vec![Incident::Reboot]);
        assert!(store.apply(&of_boot(Some("b"), 91, 6100, 5010)).is_empty());
        assert_eq!(values(&store), vec![Some(10.0), Some(10.0), None, Some(10.0)]);
    }

    #[test]
    fn a_reset_names_its_entity_and_a_lost_connection_leaves_a_gap() {
        let mut store = SeriesStore::default();
        store.apply(&sample(1, 1000, 100));
        assert_eq!(store.apply(&sample(2, 1100, 3)), vec![Incident::Reset(Entity::port("rxe0", 1))]);
        store.apply(&sample(3, 1200, 13));
        store.gap(&TargetId::new("t"), Timestamp::from_second(4).expect("a small number"));
        store.gap(&TargetId::new("t"), Timestamp::from_second(5).expect("a small number"));
        store.apply(&sample(9, 1800, 1000));
        store.apply(&sample(10, 1900, 1001));
        assert_eq!(values(&store), vec![None, Some(10.0), None, Some(1.0)]);
    }

    #[test]
    fn series_of_what_is_gone_are_forgotten() {
        let mut store = SeriesStore::default();
        let gone = |second: i64, uptime: u64| {
            let mut sample = sample(second, uptime, uptime);
            sample.counters[0].entity = Entity::Netdev(Text::new("veth1"));
            sample
        };
        store.apply(&gone(1, 100));
        store.apply(&gone(2, 200));
        for second in 3..3700i64 {
            let uptime = 100 * u64::try_from(second).expect("positive");
            store.apply(&sample(second, uptime, uptime));
        }
        assert!(store.iter().all(|(key, _)| key.name.as_str() != "sent_pkts" || key.entity == Entity::port("rxe0", 1)));
        assert_eq!(values(&store).len(), KEPT_POINTS);
    }

    #[test]
    fn a_counter_that_is_missing_from_a_sample_leaves_a_gap() {
        let mut store = SeriesStore::default();
        store.apply(&sample(1, 1000, 0));
        store.apply(&sample(2, 1100, 10));
        let mut without = sample(3, 1200, 0);
        without.counters.clear();
        store.apply(&without);
        assert_eq!(values(&store), vec![Some(10.0), None]);
        store.apply(&sample(4, 1300, 30));
        store.apply(&sample(5, 1400, 40));
        assert_eq!(values(&store), vec![Some(10.0), None, Some(10.0)]);
    }

    fn row(stream: &str, second: i64, gauges: &[(u32, Option<f64>)]) -> Measured {
        Measured {
            target: TargetId::new("t"),
            at: Timestamp::from_second(second).expect("a small number"),
            stream: Text::new(stream),
            period: Duration::from_secs(1),
            gauges: gauges.iter().map(|(gpu, value)| Measure::Power.of(&gpu_at(*gpu), *value)).collect(),
            facts: vec![],
            observation: None,
        }
    }

    fn gpu_at(number: u32) -> Entity {
        Entity::Gpu(Text::new(&format!("0000:0{number}:00.0")))
    }

    #[test]
    fn what_a_stream_does_not_tell_any_more_has_a_gap_and_other_streams_go_on() {
        let mut store = SeriesStore::default();
        let values = |store: &SeriesStore, gpu: u32| -> Vec<Option<f64>> {
            let key = Measure::Power.key(&EntityId::new(&TargetId::new("t"), gpu_at(gpu)));
            store.get(&key).expect("a series").points.iter().map(|point| point.value).collect()
        };
        store.measured(&row("gpu.nvml", 1, &[(1, Some(100.0)), (2, Some(70.0))]));
        store.measured(&row("esxi.esxtop", 1, &[(3, Some(5.0))]));
        store.measured(&row("gpu.nvml", 2, &[(1, Some(110.0)), (2, None)]));
        store.measured(&row("gpu.nvml", 3, &[(2, Some(0.0))]));
        assert_eq!(values(&store, 1), [Some(100.0), Some(110.0), None]);
        assert_eq!(values(&store, 2), [Some(70.0), None, Some(0.0)]);
        assert_eq!(values(&store, 3), [Some(5.0)], "another stream");
        // A tick of counters ends none of them; the end of the stream is a row without numbers.
        store.apply(&sample(4, 1000, 0));
        store.measured(&row("gpu.nvml", 5, &[]));
        assert_eq!(values(&store, 2), [Some(70.0), None, Some(0.0), None]);
    }

    #[test]
    fn old_points_go() {
        let mut store = SeriesStore::default();
        for second in 0..1000i64 {
            let uptime = 100 * u64::try_from(second).expect("positive");
            store.apply(&sample(second, uptime, uptime));
        }
        assert_eq!(values(&store).len(), KEPT_POINTS);
    }
}
