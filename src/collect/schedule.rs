//! Which probes are due when. Pure: time comes in as the time since the connection came up.

use std::time::Duration;

use super::governor::{self, Governor};
use crate::probe::{Pace, Probe};

/// A probe that is due this soon is read with those that are due now, so that one batch serves both.
const TOGETHER: Duration = Duration::from_millis(500);

/// The shortest rest between two batches.
const REST: Duration = Duration::from_secs(1);

/// A probe that did not answer in time is not asked again before this: what hangs on the target may not pile up there.
const AFTER_LATE: Duration = Duration::from_mins(1);

/// When each probe of one connection is due.
#[derive(Debug)]
pub struct Schedule {
    paces: Vec<Pace>,
    due: Vec<Duration>,
    late: Vec<bool>,
    not_before: Duration,
    /// Of a host that is to be spared: the rest it is owed.
    governor: Option<Governor>,
    costs: Vec<usize>,
    /// When each was read last.
    read: Vec<Option<Duration>>,
    /// What the batch that runs now reads.
    taken: Vec<usize>,
}

/// While a host is under load, what is least pressing may become this many times its pace old.
const OLDEST_UNDER_LOAD: u64 = 4;

impl Schedule {
    /// Everything is due at once.
    pub fn new(probes: &[Probe]) -> Self {
        Self {
            paces: probes.iter().map(|probe| probe.pace).collect(),
            due: vec![Duration::ZERO; probes.len()],
            late: vec![false; probes.len()],
            not_before: Duration::ZERO,
            governor: None,
            costs: probes.iter().map(governor::cost).collect(),
            read: vec![None; probes.len()],
            taken: Vec::new(),
        }
    }

    /// The same for a target that is to be spared: a tenth of its time is for reads, a few probes a batch.
    pub fn sparing(probes: &[Probe]) -> Self {
        Self { governor: Some(Governor::new(probes.len())), ..Self::new(probes) }
    }

    /// When the next batch starts; `None` if there is nothing to read.
    pub fn next(&self) -> Option<Duration> {
        let rest = self.governor.as_ref().map_or(self.not_before, Governor::not_before);
        self.due.iter().min().map(|&due| due.max(rest))
    }

    /// Places of the probes to read at `now`: the most pressing ones first, and those that did not answer in time last,
    /// so that they hold up none of the others.
    pub fn take(&mut self, now: Duration) -> Vec<usize> {
        self.taken = if self.governor.is_some() { self.take_sparing(now) } else { self.take_all(now) };
        self.taken.clone()
    }

    fn take_all(&self, now: Duration) -> Vec<usize> {
        let mut due: Vec<usize> =
            self.due.iter().enumerate().filter(|&(_, &due)| due <= now + TOGETHER).map(|(index, _)| index).collect();
        due.sort_by_key(|&index| (self.late[index], self.paces[index]));
        due
    }

    /// Of what is due as much as one batch may read: what waits for the longest comes first, and what presses more counts
    /// its wait more.
    fn take_sparing(&self, now: Duration) -> Vec<usize> {
        let is_wanted = |index: usize| self.governor.as_ref().is_none_or(|governor| governor.is_in_pass(index));
        let mut due: Vec<usize> =
            (0..self.due.len()).filter(|&index| self.due[index] <= now + TOGETHER && is_wanted(index)).collect();
        let waits = |index: usize| {
            let weight = match self.paces[index] {
                Pace::Fast => 4,
                Pace::Medium => 2,
                Pace::Slow => 1,
            };
            // What was never read goes by pace alone.
            self.read[index].map_or(Duration::MAX, |_| now.saturating_sub(self.due[index]) * weight)
        };
        due.sort_by_key(|&index| (self.late[index], std::cmp::Reverse(waits(index)), self.paces[index]));
        due.truncate(governor::part(due.iter().map(|&index| self.costs[index])));
        due
    }

    /// Everything is due now, whatever rest the target was promised: somebody asked.
    pub fn read_all(&mut self) {
        self.due.fill(Duration::ZERO);
        self.not_before = Duration::ZERO;
        if let Some(governor) = &mut self.governor {
            governor.read_all(self.paces.len());
        }
    }

    /// A probe was read in the batch that began at `began`; `late` if it did not answer in time.
    pub fn read(&mut self, index: usize, began: Duration, late: bool) {
        let (Some(pace), Some(due), Some(was_late)) =
            (self.paces.get(index), self.due.get_mut(index), self.late.get_mut(index))
        else {
            return;
        };
        let pace = Duration::from_secs(pace.seconds());
        *due = began + if late { pace.max(AFTER_LATE) } else { pace };
        *was_late = late;
        if let Some(read) = self.read.get_mut(index) {
            *read = Some(began);
        }
    }

    /// A batch ended. A target on which it took long gets at least as long a rest.
    pub fn ended(&mut self, began: Duration, now: Duration) {
        self.not_before = now + REST.max(now.saturating_sub(began));
        let Some(governor) = &mut self.governor else { return };
        governor.ended(std::mem::take(&mut self.taken), began, now);
        if governor.is_loaded() {
            for index in 0..self.due.len() {
                let Some(read) = self.read[index].filter(|_| self.paces[index] == Pace::Slow) else { continue };
                let pace = Duration::from_secs(self.paces[index].seconds());
                let oldest = read + Duration::from_secs(self.paces[index].seconds() * OLDEST_UNDER_LOAD);
                self.due[index] = self.due[index].max((now + pace).min(oldest));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Pace;

    fn probes() -> Vec<Probe> {
        [Pace::Fast, Pace::Medium, Pace::Slow]
            .map(|pace| Probe { name: "p", title: "", privilege_adds: "", pace, sources: &[], parse: |_| vec![] })
            .to_vec()
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Runs batches of `length` until `until`; gives when each began and what it read.
    fn run(schedule: &mut Schedule, length: Duration, until: Duration) -> Vec<(Duration, Vec<usize>)> {
        let mut batches = Vec::new();
        while let Some(began) = schedule.next().filter(|&at| at <= until) {
            let due = schedule.take(began);
            assert!(!due.is_empty());
            for &index in &due {
                schedule.read(index, began, false);
            }
            schedule.ended(began, began + length);
            batches.push((began, due));
        }
        batches
    }

    #[test]
    fn the_first_batch_reads_everything_and_then_each_its_pace() {
        let batches = run(&mut Schedule::new(&probes()), Duration::from_millis(200), seconds(600));
        assert_eq!(batches[0], (Duration::ZERO, vec![0, 1, 2]));
        assert_eq!(batches[1], (seconds(5), vec![0]));
        let count = |index| batches.iter().filter(|(_, due)| due.contains(&index)).count();
        assert_eq!((count(0), count(1), count(2)), (121, 21, 3));
    }

    #[test]
    fn a_slow_target_rests_as_long_as_it_worked() {
        let batches = run(&mut Schedule::new(&probes()), seconds(8), seconds(100));
        for pair in batches.windows(2) {
            assert!(pair[1].0 >= pair[0].0 + seconds(16), "{pair:?}");
        }
    }

    #[test]
    fn what_is_asked_for_is_read_at_once() {
        let mut schedule = Schedule::new(&probes());
        run(&mut schedule, seconds(8), Duration::ZERO);
        schedule.read_all();
        assert_eq!(schedule.next(), Some(Duration::ZERO));
        assert_eq!(schedule.take(seconds(9)), [0, 1, 2]);
    }

    #[test]
    fn what_was_late_comes_last() {
        let mut schedule = Schedule::new(&probes());
        schedule.read(0, Duration::ZERO, true);
        assert!(schedule.due[0] >= seconds(60));
        schedule.read_all();
        assert_eq!(schedule.take(Duration::ZERO), [1, 2, 0]);
    }

    #[test]
    fn what_presses_most_comes_first() {
        let mut probes = probes();
        probes.reverse();
        assert_eq!(Schedule::new(&probes).take(Duration::ZERO), [2, 1, 0]);
    }

    fn many(count: usize, pace: Pace) -> Vec<Probe> {
        vec![Probe { name: "p", title: "", privilege_adds: "", pace, sources: &[], parse: |_| vec![] }; count]
    }

    /// Seconds of work between two times.
    fn work(batches: &[(Duration, Vec<usize>)], length: Duration, from: Duration, to: Duration) -> f64 {
        let spent = |began: Duration| (began + length).min(to).saturating_sub(began.max(from));
        batches.iter().map(|(began, _)| spent(*began).as_secs_f64()).sum()
    }

    #[test]
    fn a_spared_host_works_a_tenth_of_its_time() {
        for (milliseconds, count) in [(100, 3), (700, 20), (8000, 60), (30_000, 15)] {
            let mut probes = many(count, Pace::Fast);
            probes.extend(many(count, Pace::Medium));
            probes.extend(many(count, Pace::Slow));
            let length = Duration::from_millis(milliseconds);
            let batches = run(&mut Schedule::sparing(&probes), length, seconds(7200));
            // The first reads follow one another; the rest of them is given before anything else is read.
            let first = (3 * count).div_ceil(governor::MOST_COST);
            assert!(batches.len() > first);
            assert_eq!(batches[first].0, (length * u32::try_from(10 * first).expect("few")).max(seconds(5)));
            let end = batches.last().expect("some").0;
            assert!(work(&batches, length, Duration::ZERO, end) <= end.as_secs_f64() * 0.1001, "from the start");
            // Once the first reads are paid for: at most a minute in any ten.
            let steady = batches[first].0;
            for (began, _) in batches.iter().skip(first) {
                let to = *began + seconds(600);
                assert!(
                    work(&batches, length, *began, to) <= 60.0 + length.as_secs_f64(),
                    "{began:?} after {steady:?}"
                );
            }
            // And nobody starves.
            let read: std::collections::BTreeSet<usize> =
                batches.iter().skip(first).flat_map(|(_, due)| due.clone()).collect();
            if end > seconds(3600) && milliseconds < 30_000 {
                assert_eq!(read.len(), probes.len(), "{milliseconds} ms");
            }
        }
    }

    #[test]
    fn what_is_asked_of_a_spared_host_is_read_at_once_and_paid_for() {
        let mut schedule = Schedule::sparing(&many(20, Pace::Fast));
        let batches = run(&mut schedule, seconds(4), seconds(4));
        assert_eq!(batches.iter().map(|(_, due)| due.len()).collect::<Vec<_>>(), [16, 4]);
        assert_eq!(schedule.next(), Some(seconds(80)));
        schedule.read_all();
        assert_eq!(schedule.next(), Some(Duration::ZERO));
        for began in [10, 14] {
            let due = schedule.take(seconds(began));
            assert!(!due.is_empty());
            for index in due {
                schedule.read(index, seconds(began), false);
            }
            schedule.ended(seconds(began), seconds(began + 4));
        }
        assert_eq!(schedule.next(), Some(seconds(160)), "sixteen seconds of work");
    }

    #[test]
    fn under_load_the_slow_ones_go_first() {
        let mut probes = many(1, Pace::Fast);
        probes.extend(many(1, Pace::Slow));
        let mut schedule = Schedule::sparing(&probes);
        let mut batch = |began: u64, length: u64| {
            let due = schedule.take(seconds(began));
            for &index in &due {
                schedule.read(index, seconds(began), false);
            }
            schedule.ended(seconds(began), seconds(began + length));
            due
        };
        assert_eq!(batch(0, 3), [0, 1]);
        assert_eq!(batch(50, 3), [0]);
        assert_eq!(batch(290, 20), [0], "it takes much longer than before");
        assert_eq!(batch(600, 3), [0], "the slow one is put off");
        assert_eq!(batch(700, 3), [0, 1], "and comes back when the host is at ease");
    }

    #[test]
    fn a_batch_that_read_nothing_of_a_spared_host_is_followed_by_a_rest() {
        let mut schedule = Schedule::sparing(&many(1, Pace::Fast));
        assert_eq!(schedule.take(Duration::ZERO), [0]);
        schedule.ended(Duration::ZERO, seconds(90));
        assert_eq!(schedule.next(), Some(seconds(900)));
    }

    #[test]
    fn nothing_to_read_is_never_due() {
        assert_eq!(Schedule::new(&[]).next(), None);
    }
}
