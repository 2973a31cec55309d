//! What is due when. Pure: time comes in as the time since the connection came up.
//!
//! What is read together is an item: a probe, or on a host that is to be spared the sources of a probe that lead (see
//! [`super::rhythm`]). There not all that is due can be read at once: what is latest, measured by its own period, comes
//! first, so that nothing starves and what has a short period comes round more often.

use std::time::Duration;

use super::governor::{self, Governor};
use super::rhythm;
use crate::probe::{Pace, Probe};

/// What is due this soon is read with what is due now, so that one batch serves both.
const TOGETHER: Duration = Duration::from_millis(500);

/// The shortest rest between two batches.
const REST: Duration = Duration::from_secs(1);

/// A probe that did not answer in time is not asked again before this: what hangs on the target may not pile up there.
const AFTER_LATE: Duration = Duration::from_mins(1);

/// While a host is under load, what is least pressing may become this many times its period old.
const OLDEST_UNDER_LOAD: u32 = 4;

/// When everything was read at once and that took this long, what presses is read once more: it was the first.
const LONG_PASS: Duration = Duration::from_secs(20);

/// That costs less than one part in so many of what all of it does.
const LITTLE: usize = 3;

/// How a probe is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// With all of its sources.
    Whole,
    /// Only with those that lead, after all of them were read.
    Leading,
}

/// One thing to read.
#[derive(Debug)]
struct Item {
    /// Place of its probe.
    probe: usize,
    part: Part,
    /// What comes first where everything is read.
    pace: Pace,
    period: Duration,
    cost: usize,
    /// Never as long as there is nothing that it could lead.
    due: Duration,
    late: bool,
    /// When it was read last.
    read: Option<Duration>,
}

impl Item {
    /// How late it is at `now`, in thousandths of its period.
    fn lateness(&self, now: Duration) -> u128 {
        now.saturating_sub(self.due).as_millis() * 1000 / self.period.as_millis().max(1)
    }
}

/// When each thing of one connection is due.
#[derive(Debug)]
pub struct Schedule {
    items: Vec<Item>,
    not_before: Duration,
    /// Of a host that is to be spared: the rest it is owed.
    governor: Option<Governor>,
    /// What the batch that runs now reads.
    taken: Vec<usize>,
    /// When everything began to be read at once, for as long as that goes on.
    passing: Option<Duration>,
}

impl Schedule {
    /// Everything is due at once.
    pub fn new(probes: &[Probe]) -> Self {
        let items = probes.iter().enumerate().map(|(place, probe)| Item {
            probe: place,
            part: Part::Whole,
            pace: probe.pace,
            period: Duration::from_secs(probe.pace.seconds()),
            cost: governor::cost(probe.sources),
            due: Duration::ZERO,
            late: false,
            read: None,
        });
        Self { items: items.collect(), not_before: Duration::ZERO, governor: None, taken: Vec::new(), passing: None }
    }

    /// The same for a target that is to be spared: a tenth of its time is for reads, a few probes a batch.
    pub fn sparing(probes: &[Probe]) -> Self {
        let mut schedule = Self::new(probes);
        for (place, probe) in probes.iter().enumerate() {
            schedule.items[place].period = rhythm::period_of_all(probe);
            if rhythm::has_leading(probe) {
                schedule.items[place].pace = Pace::Medium;
                schedule.items.push(Item {
                    probe: place,
                    part: Part::Leading,
                    pace: Pace::Medium,
                    period: rhythm::period(probe),
                    cost: governor::cost(probe.sources.iter().filter(|source| rhythm::is_leading(probe, source))),
                    due: Duration::MAX,
                    late: false,
                    read: None,
                });
            }
        }
        schedule.governor = Some(Governor::new(schedule.wholes()));
        schedule.passing = Some(Duration::ZERO);
        schedule
    }

    fn wholes(&self) -> Vec<usize> {
        (0..self.items.len()).filter(|&index| self.items[index].part == Part::Whole).collect()
    }

    /// The place of the probe of an item, and how it is read.
    pub fn item(&self, index: usize) -> Option<(usize, Part)> {
        self.items.get(index).map(|item| (item.probe, item.part))
    }

    /// When the next batch starts; `None` if there is nothing to read.
    pub fn next(&self) -> Option<Duration> {
        let rest = self.governor.as_ref().map_or(self.not_before, Governor::not_before);
        self.items.iter().map(|item| item.due).min().map(|due| due.max(rest))
    }

    /// The items to read at `now`: the most pressing ones first, and those that did not answer in time last, so that they
    /// hold up none of the others.
    pub fn take(&mut self, now: Duration) -> Vec<usize> {
        self.taken = if self.governor.is_some() { self.take_sparing(now) } else { self.take_all(now) };
        self.taken.clone()
    }

    fn due(&self, now: Duration) -> Vec<usize> {
        (0..self.items.len()).filter(|&index| self.items[index].due <= now + TOGETHER).collect()
    }

    fn take_all(&self, now: Duration) -> Vec<usize> {
        let mut due = self.due(now);
        due.sort_by_key(|&index| (self.items[index].late, self.items[index].pace));
        due
    }

    /// Of what is due as much as one batch may read, the latest first. What is read without a rest goes by pace alone.
    fn take_sparing(&self, now: Duration) -> Vec<usize> {
        let Some(governor) = &self.governor else { return Vec::new() };
        let mut due = self.due(now);
        due.retain(|&index| governor.is_in_pass(index));
        due.sort_by_key(|&index| {
            let item = &self.items[index];
            let lateness = if governor.is_passing() { 0 } else { item.lateness(now) };
            (item.late, std::cmp::Reverse(lateness), item.pace, item.part == Part::Leading)
        });
        // What is read whole leads, too.
        let mut wholes = Vec::new();
        due.retain(|&index| {
            let Item { probe, part, .. } = self.items[index];
            if part == Part::Whole {
                wholes.push(probe);
            }
            part == Part::Whole || !wholes.contains(&probe)
        });
        let most = if governor.is_passing() { governor::MOST_COST } else { governor::STEADY_COST };
        due.truncate(governor::part(due.iter().map(|&index| self.items[index].cost), most));
        due
    }

    /// Everything is due now, whatever rest the target was promised: somebody asked.
    pub fn read_all(&mut self, now: Duration) {
        let wholes = self.wholes();
        for &index in &wholes {
            self.items[index].due = Duration::ZERO;
        }
        self.not_before = Duration::ZERO;
        if let Some(governor) = &mut self.governor {
            governor.read_all(wholes);
            self.passing = Some(now);
        }
    }

    /// Something changed on which this probe hangs: it is read next, all of it.
    pub fn hurry(&mut self, probe: usize) {
        let whole = self.items.iter().position(|item| item.probe == probe && item.part == Part::Whole);
        let Some((index, item)) = whole.and_then(|index| Some((index, self.items.get_mut(index)?))) else { return };
        item.due = Duration::ZERO;
        if let Some(governor) = &mut self.governor {
            governor.hurry(index);
        }
    }

    /// An item was read in the batch that began at `began`; `late` if it did not answer in time.
    pub fn read(&mut self, index: usize, began: Duration, late: bool) {
        let Some(&Item { probe, part, .. }) = self.items.get(index) else { return };
        for item in self.items.iter_mut().filter(|item| item.probe == probe) {
            if item.part == part || item.part == Part::Leading {
                item.due = began + if late { item.period.max(AFTER_LATE) } else { item.period };
                item.late = late;
                item.read = Some(began);
            }
        }
    }

    /// A batch ended. A target on which it took long gets at least as long a rest.
    pub fn ended(&mut self, began: Duration, now: Duration) {
        self.not_before = now + REST.max(now.saturating_sub(began));
        let Some(governor) = &mut self.governor else { return };
        governor.ended(std::mem::take(&mut self.taken), began, now);
        if governor.is_loaded() {
            for item in &mut self.items {
                let Some(read) = item.read.filter(|_| item.pace == Pace::Slow) else { continue };
                let oldest = read + item.period * OLDEST_UNDER_LOAD;
                item.due = item.due.max((now + item.period).min(oldest));
            }
        }
        if !governor.is_passing()
            && let Some(since) = self.passing.take()
            && now.saturating_sub(since) >= LONG_PASS
        {
            self.press_again();
        }
    }

    /// What presses is read once more, if it is little of everything.
    fn press_again(&mut self) {
        let leads = |probe: usize| self.items.iter().any(|item| item.probe == probe && item.part == Part::Leading);
        let pressing: Vec<usize> = (0..self.items.len())
            .filter(|&index| {
                let item = &self.items[index];
                let is_pressing = item.period <= Duration::from_secs(rhythm::PRESSING);
                is_pressing && item.due < Duration::MAX && (item.part == Part::Leading || !leads(item.probe))
            })
            .collect();
        let cost = |indices: &[usize]| indices.iter().map(|&index| self.items[index].cost).sum::<usize>();
        if cost(&pressing) * LITTLE >= cost(&self.wholes()) {
            return;
        }
        for &index in &pressing {
            self.items[index].due = Duration::ZERO;
        }
        if let Some(governor) = &mut self.governor {
            governor.read_all(pressing);
        }
    }
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
