//! How counters move that are read now and then, as those of ESXi hosts: two reads give one rate, and that rate is the mean
//! of the whole time between them. It is kept with that time, so that nobody draws it as a moment or a slope. As with
//! samples a wrap, a reset and a gap are told apart, and where no rate can be said there is none.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::Timestamp;
use super::counter::SharedRole;
use super::entity::{Entity, TargetId};
use super::observation::SourceId;
use super::series::{Incident, SeriesKey, Step, step};
use super::text::Text;

/// How many means a series keeps: more than the longest window at the quickest rhythm.
const KEPT_MEANS: usize = 150;

/// Two clocks may disagree by so much about the time between two reads: seconds, and a part of that time. Our own sees
/// the way there and back, the host's tells whole seconds. Beyond that one of them was set, and nobody knows which.
const DISAGREE_SECONDS: f64 = 5.0;
const DISAGREE_PART: f64 = 0.1;

/// One counter as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowReading {
    /// What it belongs to: an uplink or an RDMA device.
    pub entity: Entity,
    /// Its name as the target calls it.
    pub name: Text,
    /// What it counts.
    pub role: SharedRole,
    /// The raw value.
    pub raw: u64,
    /// When it was read, by our own clock.
    pub at: Timestamp,
    /// The same by the target's clock in whole seconds since 1970, where the target told it.
    pub clock: Option<i64>,
}

/// The mean rate over the time between two reads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mean {
    /// When the time begins, by our own clock.
    pub from: Timestamp,
    /// When it ends.
    pub until: Timestamp,
    /// Things per second.
    pub value: f64,
}

impl Mean {
    /// How long the time is, in seconds.
    pub fn seconds(&self) -> f64 {
        self.until.duration_since(self.from).as_secs_f64()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Last {
    at: Timestamp,
    clock: Option<i64>,
    raw: u64,
}

/// One counter that is read now and then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlowSeries {
    /// What it counts.
    pub role: SharedRole,
    /// The probe that reads it.
    pub probe: SourceId,
    /// Means, the oldest first; where one does not begin when the one before ends, there is a gap.
    pub means: VecDeque<Mean>,
    last: Option<Last>,
}

impl SlowSeries {
    /// The mean of the time that a moment lies in, or of the last time before it.
    pub fn at(&self, at: Timestamp) -> Option<Mean> {
        let end = self.means.partition_point(|mean| mean.from < at);
        end.checked_sub(1).and_then(|index| self.means.get(index)).copied()
    }

    /// True if it was read, so that the next read gives a mean.
    pub fn is_read(&self) -> bool {
        self.last.is_some()
    }

    /// Takes in the next value; true if the counter was set back.
    fn take_in(&mut self, now: Last) -> bool {
        let Some(before) = self.last else {
            self.last = Some(now);
            return false;
        };
        if now.at <= before.at {
            return false; // the same read once more
        }
        self.last = Some(now);
        let Some(seconds) = seconds_between(before, now) else { return false };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive time, in hundredths")]
        let hundredths = (seconds * 100.0).round().max(1.0) as u64;
        let step = step(Some((0, before.raw)), hundredths, now.raw, 1);
        if let Some(value) = step.rate() {
            if self.means.len() == KEPT_MEANS {
                self.means.pop_front();
            }
            self.means.push_back(Mean { from: before.at, until: now.at, value });
        }
        step == Step::Reset
    }
}

/// The time between two reads: that of the target's clock, which tells whole seconds only, and within a second of it ours
/// says more. `None` where the clocks contradict each other.
fn seconds_between(before: Last, now: Last) -> Option<f64> {
    let ours = now.at.duration_since(before.at).as_secs_f64();
    let (Some(first), Some(second)) = (before.clock, now.clock) else { return Some(ours) };
    let theirs = second.checked_sub(first)? as f64;
    if (theirs - ours).abs() > DISAGREE_SECONDS + DISAGREE_PART * ours {
        return None;
    }
    let between = ours.clamp(theirs - 1.0, theirs + 1.0);
    (between > 0.0).then_some(between)
}

/// All counters that are read now and then.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowStore {
    series: BTreeMap<SeriesKey, SlowSeries>,
}

impl SlowStore {
    /// Takes in all that one probe read of a target at one time, and tells what that revealed. A counter of the probe that
    /// is not among it could not be read: its next value begins anew.
    pub fn apply(&mut self, target: &TargetId, probe: &SourceId, readings: &[SlowReading]) -> Vec<Incident> {
        let mut incidents = Vec::new();
        let mut read = BTreeSet::new();
        for reading in readings {
            let key = SeriesKey { target: target.clone(), entity: reading.entity.clone(), name: reading.name.clone() };
            let series = self.series.entry(key.clone()).or_insert_with(|| SlowSeries {
                role: reading.role,
                probe: probe.clone(),
                means: VecDeque::new(),
                last: None,
            });
            let reset = series.take_in(Last { at: reading.at, clock: reading.clock, raw: reading.raw });
            let incident = Incident::Reset(reading.entity.clone());
            if reset && !incidents.contains(&incident) {
                incidents.push(incident);
            }
            read.insert(key);
        }
        for (_, series) in self
            .series
            .iter_mut()
            .filter(|(key, one)| key.target == *target && one.probe == *probe && !read.contains(key))
        {
            series.last = None;
        }
        // What was never more than a first value is worth nothing once it is gone.
        self.series.retain(|_, series| series.is_read() || !series.means.is_empty());
        incidents
    }

    /// The connection to a target ended: what is read next begins anew.
    pub fn gap(&mut self, target: &TargetId) {
        for (_, series) in self.series.iter_mut().filter(|(key, _)| key.target == *target) {
            series.last = None;
        }
    }

    /// Forgets all counters of a target.
    pub fn forget(&mut self, target: &TargetId) {
        self.series.retain(|key, _| key.target != *target);
    }

    /// One counter.
    pub fn get(&self, key: &SeriesKey) -> Option<&SlowSeries> {
        self.series.get(key)
    }

    /// All counters of a target in the order of what they belong to and of their names.
    pub fn of<'a>(&'a self, target: &'a TargetId) -> impl Iterator<Item = (&'a SeriesKey, &'a SlowSeries)> {
        self.series.iter().filter(move |(key, _)| key.target == *target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_millisecond(milliseconds).expect("a small number")
    }

    fn host() -> TargetId {
        TargetId::new("esx")
    }

    fn reading(milliseconds: i64, clock: Option<i64>, raw: u64) -> SlowReading {
        SlowReading {
            entity: Entity::Uplink(Text::new("vmnic2")),
            name: Text::new("Bytes sent"),
            role: SharedRole::TransmitBytes,
            raw,
            at: at(milliseconds),
            clock,
        }
    }

    fn apply(store: &mut SlowStore, readings: &[SlowReading]) -> Vec<Incident> {
        store.apply(&host(), &SourceId::new("p"), readings)
    }

    fn means(store: &SlowStore) -> Vec<(i64, i64, f64)> {
        let host = host();
        let series = store.of(&host).next().expect("a series").1;
        series.means.iter().map(|mean| (mean.from.as_second(), mean.until.as_second(), mean.value)).collect()
    }

    #[test]
    fn two_reads_give_the_mean_of_the_time_between_them() {
        let mut store = SlowStore::default();
        apply(&mut store, &[reading(10_000, None, 1000)]);
        assert!(means(&store).is_empty(), "one read is no rate");
        apply(&mut store, &[reading(40_000, None, 4000)]);
        apply(&mut store, &[reading(40_000, None, 4000)]);
        apply(&mut store, &[reading(100_000, None, 4000)]);
        assert_eq!(means(&store), [(10, 40, 100.0), (40, 100, 0.0)]);
        let host = host();
        let series = store.of(&host).next().expect("a series").1;
        for (moment, until) in [(10, None), (11, Some(40)), (40, Some(40)), (41, Some(100)), (500, Some(100))] {
            assert_eq!(series.at(at(moment * 1000)).map(|mean| mean.until.as_second()), until, "{moment}");
        }
    }

    #[test]
    fn the_time_is_that_of_the_hosts_clock_and_ours_only_refines_it() {
        for (clock, expected) in [
            // Whole seconds fit to 30.4 of ours.
            (Some(530), Some(3040.0 / 30.4)),
            // The answer was long on its way: the host says at most 28.
            (Some(527), Some(3040.0 / 28.0)),
            (None, Some(3040.0 / 30.4)),
            // One of the two clocks was set.
            (Some(4100), None),
            (Some(100), None),
        ] {
            let mut store = SlowStore::default();
            apply(&mut store, &[reading(10_000, Some(500), 0)]);
            apply(&mut store, &[reading(40_400, clock, 3040)]);
            assert_eq!(means(&store).first().map(|mean| mean.2), expected, "{clock:?}");
            assert_eq!(means(&store).len(), usize::from(expected.is_some()));
        }
    }

    #[test]
    fn a_wrap_is_a_rate_and_a_reset_is_told_and_leaves_a_gap() {
        let mut store = SlowStore::default();
        apply(&mut store, &[reading(0, None, (1 << 32) - 50)]);
        assert!(apply(&mut store, &[reading(10_000, None, 50)]).is_empty());
        assert_eq!(means(&store), [(0, 10, 10.0)]);
        assert_eq!(
            apply(&mut store, &[reading(20_000, None, 20)]),
            [Incident::Reset(Entity::Uplink(Text::new("vmnic2")))]
        );
        apply(&mut store, &[reading(30_000, None, 120)]);
        assert_eq!(means(&store), [(0, 10, 10.0), (20, 30, 10.0)]);
    }

    #[test]
    fn after_a_lost_connection_or_a_failed_read_it_begins_anew() {
        let mut store = SlowStore::default();
        apply(&mut store, &[reading(0, None, 0)]);
        apply(&mut store, &[reading(10_000, None, 10)]);
        store.gap(&host());
        apply(&mut store, &[reading(20_000, None, 900)]);
        apply(&mut store, &[reading(30_000, None, 910)]);
        apply(&mut store, &[]);
        apply(&mut store, &[reading(50_000, None, 2000)]);
        assert_eq!(means(&store), [(0, 10, 1.0), (20, 30, 1.0)]);
        store.forget(&host());
        assert_eq!(store.of(&host()).count(), 0);
    }

    #[test]
    fn another_probe_says_nothing_of_what_it_does_not_read() {
        let mut store = SlowStore::default();
        apply(&mut store, &[reading(0, None, 0)]);
        store.apply(&host(), &SourceId::new("other"), &[]);
        apply(&mut store, &[reading(10_000, None, 10)]);
        assert_eq!(means(&store), [(0, 10, 1.0)]);
    }

    #[test]
    fn old_means_go() {
        let mut store = SlowStore::default();
        for second in 0..400 {
            apply(&mut store, &[reading(second * 1000, None, 0)]);
        }
        assert_eq!(means(&store).len(), KEPT_MEANS);
    }
}
