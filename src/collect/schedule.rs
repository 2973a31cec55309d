//! Which probes are due when. Pure: time comes in as the time since the connection came up.

use std::time::Duration;

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
}

impl Schedule {
    /// Everything is due at once.
    pub fn new(probes: &[Probe]) -> Self {
        Self {
            paces: probes.iter().map(|probe| probe.pace).collect(),
            due: vec![Duration::ZERO; probes.len()],
            late: vec![false; probes.len()],
            not_before: Duration::ZERO,
        }
    }

    /// When the next batch starts; `None` if there is nothing to read.
    pub fn next(&self) -> Option<Duration> {
        self.due.iter().min().map(|&due| due.max(self.not_before))
    }

    /// Places of the probes to read at `now`: the most pressing ones first, and those that did not answer in time last,
    /// so that they hold up none of the others.
    pub fn take(&self, now: Duration) -> Vec<usize> {
        let mut due: Vec<usize> =
            self.due.iter().enumerate().filter(|&(_, &due)| due <= now + TOGETHER).map(|(index, _)| index).collect();
        due.sort_by_key(|&index| (self.late[index], self.paces[index]));
        due
    }

    /// Everything is due now, whatever rest the target was promised: somebody asked.
    pub fn read_all(&mut self) {
        self.due.fill(Duration::ZERO);
        self.not_before = Duration::ZERO;
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
    }

    /// A batch ended. A target on which it took long gets at least as long a rest.
    pub fn ended(&mut self, began: Duration, now: Duration) {
        self.not_before = now + REST.max(now.saturating_sub(began));
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

    #[test]
    fn nothing_to_read_is_never_due() {
        assert_eq!(Schedule::new(&[]).next(), None);
    }
}
