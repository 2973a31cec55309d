//! What is due when. Pure: time comes in as the time since the target was first connected.
//!
//! What is read together is an item: a probe, or on a host that is to be spared the sources of a probe that lead (see
//! [`super::rhythm`]). There not all that is due can be read at once. What presses is read first, then what was never read,
//! and else what is latest, measured by its own period, so that nothing starves and what has a short period comes round
//! more often. How much of it, and when, says the [`Governor`].

use std::time::Duration;

use super::governor::{self, Cause, Governor};
use super::rhythm;
use crate::probe::{Pace, Probe, Source, Turn};

mod choice;

/// What is due this soon is read with what is due now, so that one batch serves both.
const TOGETHER: Duration = Duration::from_millis(500);

/// The shortest rest between two batches.
const REST: Duration = Duration::from_secs(1);

/// A probe that did not answer in time is not asked again before this: what hangs on the target may not pile up there.
const AFTER_LATE: Duration = Duration::from_mins(1);

/// While a host is under load, what is least pressing may become this many times its period old.
const OLDEST_UNDER_LOAD: u32 = 4;

/// A connection that was down for so long may be one to a host that was started anew, or to another one.
const LONG_AWAY: Duration = Duration::from_mins(1);

/// How soon after the last time what comes first is not read at once again.
const OFTEN: Duration = Duration::from_mins(20);

/// What a command takes as long as none was seen.
const A_COMMAND: Duration = Duration::from_millis(700);

/// What an item takes follows shorter reads by one part in so many, and longer ones at once.
const FOLLOWS: u32 = 4;

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
    turn: Turn,
    pace: Pace,
    presses: bool,
    period: Duration,
    cost: usize,
    /// How many of its sources read what others read, too.
    shared: u32,
    /// How long its last reads took.
    takes: Option<Duration>,
    /// Never as long as there is nothing that it could lead.
    due: Duration,
    late: bool,
    /// When it was read last.
    read: Option<Duration>,
    /// True after the first batch that was to read it.
    tried: bool,
}

impl Item {
    fn whole(place: usize, probe: &Probe) -> Self {
        Self {
            probe: place,
            part: Part::Whole,
            turn: probe.rhythm.turn,
            pace: probe.pace,
            presses: rhythm::presses(probe),
            period: Duration::from_secs(probe.pace.seconds()),
            cost: governor::cost(probe.sources),
            shared: shared(probe.sources),
            takes: None,
            due: Duration::ZERO,
            late: false,
            read: None,
            tried: false,
        }
    }

    /// True for what no batch was to read yet.
    fn is_new(&self) -> bool {
        self.part == Part::Whole && !self.tried
    }

    /// How late it is at `now`, in thousandths of its period.
    fn lateness(&self, now: Duration) -> u128 {
        now.saturating_sub(self.due).as_millis() * 1000 / self.period.as_millis().max(1)
    }
}

/// How many sources read what others read, too.
fn shared<'a>(sources: impl IntoIterator<Item = &'a Source>) -> u32 {
    let count = sources.into_iter().filter(|source| source.read.shared().is_some()).count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// When each thing of one target is due.
#[derive(Debug)]
pub struct Schedule {
    items: Vec<Item>,
    not_before: Duration,
    /// Of a host that is to be spared: the rest it is owed.
    governor: Option<Governor>,
    /// What the batch that runs now reads.
    taken: Vec<usize>,
    /// When it began.
    began: Duration,
    /// When something was read for the first time last.
    news: Duration,
    /// When it was connected anew last.
    fresh: Duration,
    /// Commands that were read, and how long they took.
    seen: (usize, Duration),
}

impl Schedule {
    /// Everything is due at once.
    pub fn new(probes: &[Probe]) -> Self {
        let items = probes.iter().enumerate().map(|(place, probe)| Item::whole(place, probe)).collect();
        Self {
            items,
            not_before: Duration::ZERO,
            governor: None,
            taken: Vec::new(),
            began: Duration::ZERO,
            news: Duration::ZERO,
            fresh: Duration::ZERO,
            seen: (0, Duration::ZERO),
        }
    }

    /// The same for a target of which everything is read at one period, whatever the paces.
    pub fn every(probes: &[Probe], period: Duration) -> Self {
        let mut schedule = Self::new(probes);
        for item in &mut schedule.items {
            item.period = period;
        }
        schedule
    }

    /// The same for a target that is to be spared: a few probes a batch, and a rest after each.
    pub fn sparing(probes: &[Probe]) -> Self {
        let mut schedule = Self::new(probes);
        for (place, probe) in probes.iter().enumerate() {
            let whole = &mut schedule.items[place];
            whole.period = rhythm::period_of_all(probe);
            if rhythm::has_leading(probe) {
                whole.pace = Pace::Medium;
                whole.presses = false;
                schedule.items.push(Item {
                    part: Part::Leading,
                    pace: Pace::Medium,
                    period: rhythm::period(probe),
                    cost: governor::cost(probe.sources.iter().filter(|source| rhythm::is_leading(probe, source))),
                    shared: shared(probe.sources.iter().filter(|source| rhythm::is_leading(probe, source))),
                    due: Duration::MAX,
                    ..Item::whole(place, probe)
                });
            }
        }
        let mut governor = Governor::default();
        governor.want(schedule.wholes(), Cause::Fresh);
        schedule.governor = Some(governor);
        schedule
    }

    fn wholes(&self) -> Vec<usize> {
        (0..self.items.len()).filter(|&index| self.items[index].part == Part::Whole).collect()
    }

    /// The place of the probe of an item, and how it is read.
    pub fn item(&self, index: usize) -> Option<(usize, Part)> {
        self.items.get(index).map(|item| (item.probe, item.part))
    }

    /// When the next batch starts, from `now` on; `None` if there is nothing to read.
    pub fn next(&self, now: Duration) -> Option<Duration> {
        let due = self.items.iter().map(|item| item.due).min()?;
        let Some(governor) = &self.governor else { return Some(due.max(self.not_before)) };
        let mut at = due.max(now);
        // What comes first may be another thing by then.
        for _ in 0..self.items.len() {
            let Some((&first, _)) = self.wanted(governor, at).split_first() else { break };
            let then = governor.not_before(at, self.length(&[first]), governor.cause(first));
            if then <= at {
                break;
            }
            at = then;
        }
        Some(at)
    }

    /// The items to read at `now`: the most pressing ones first, and those that did not answer in time last, so that they
    /// hold up none of the others. None if it is too early.
    pub fn take(&mut self, now: Duration) -> Vec<usize> {
        self.taken = match &self.governor {
            Some(governor) => self.batch(governor, now),
            None => self.take_all(now),
        };
        self.began = now;
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

    /// How long it takes to read these, by all that is known.
    fn length(&self, indices: &[usize]) -> Duration {
        let (commands, took) = self.seen;
        let command = u32::try_from(commands).ok().and_then(|commands| took.checked_div(commands)).unwrap_or(A_COMMAND);
        // What several sources read may have been asked for by another the last time.
        let alone = |item: &Item| command.max(A_COMMAND) * item.shared;
        let of = |item: &Item| match item.takes {
            Some(takes) => takes + alone(item),
            None => command * u32::try_from(item.cost).unwrap_or(u32::MAX),
        };
        indices.iter().map(|&index| of(&self.items[index])).sum()
    }

    /// Everything is due now, whatever rest the target was promised: somebody asked.
    pub fn read_all(&mut self) {
        let wholes = self.wholes();
        for &index in &wholes {
            self.items[index].due = Duration::ZERO;
        }
        self.not_before = Duration::ZERO;
        if let Some(governor) = &mut self.governor {
            governor.want(wholes, Cause::Asked);
        }
    }

    /// Something changed on which this probe hangs: it is read next, all of it, and at once where the target can bear it.
    pub fn hurry(&mut self, probe: usize) {
        let whole = self.items.iter().position(|item| item.probe == probe && item.part == Part::Whole);
        let Some((index, item)) = whole.and_then(|index| Some((index, self.items.get_mut(index)?))) else { return };
        item.due = Duration::ZERO;
        if let Some(governor) = &mut self.governor {
            governor.want([index], Cause::Changed);
        }
    }

    /// The connection to a target that is to be spared ended: so did the batch that ran.
    pub fn broken_off(&mut self, now: Duration) {
        if !self.taken.is_empty() {
            self.ended(self.began, now);
        }
    }

    /// It is up again after such a time. A short one changes nothing; after a long one everything is due, and what comes
    /// first is read first again. What the target is owed it is owed still.
    pub fn connected_again(&mut self, now: Duration, away: Duration) {
        if away < LONG_AWAY {
            return;
        }
        let is_often = now < self.fresh + OFTEN;
        for item in &mut self.items {
            item.due = if item.part == Part::Leading { Duration::MAX } else { item.due.min(now) };
        }
        let mut first = self.wholes();
        first.retain(|&index| self.items[index].turn <= Turn::First);
        // A link that drops again and again leaves time for the rest.
        if let Some(governor) = self.governor.as_mut().filter(|_| !is_often) {
            governor.want(first, Cause::Fresh);
            self.fresh = now;
        }
    }

    /// An item was read in the batch that began at `began`, which took so long; `late` if it did not answer in time.
    pub fn read(&mut self, index: usize, began: Duration, took: Duration, late: bool) {
        let Some(own) = self.items.get_mut(index) else { return };
        own.takes = Some(match own.takes {
            Some(takes) if takes > took => takes.saturating_sub(takes.saturating_sub(took) / FOLLOWS),
            _ => took,
        });
        self.seen = (self.seen.0.saturating_add(own.cost), self.seen.1 + took);
        let &mut Item { probe, part, .. } = own;
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
        self.ended_after(began, now, now.saturating_sub(began));
    }

    /// The same, where so much was worked in that time, by several shells at once; nothing where that was not measured, or
    /// no shell began to work.
    pub fn ended_after(&mut self, began: Duration, now: Duration, worked: Duration) {
        self.not_before = now + REST.max(now.saturating_sub(began));
        let taken = std::mem::take(&mut self.taken);
        for &index in &taken {
            let item = &mut self.items[index];
            if item.is_new() {
                self.news = now;
            }
            item.tried = true;
        }
        let Some(governor) = &mut self.governor else { return };
        governor.ended(taken, began, now, worked, Self::rest(&self.items));
        self.end_pass(now);
        let Some(governor) = &self.governor else { return };
        if governor.is_loaded() {
            for item in &mut self.items {
                let Some(read) = item.read.filter(|_| item.pace == Pace::Slow) else { continue };
                let oldest = read + item.period * OLDEST_UNDER_LOAD;
                item.due = item.due.max((now + item.period).min(oldest));
            }
        }
    }

    /// How many times the length of a batch the rest after it is.
    fn rest(items: &[Item]) -> u32 {
        if items.iter().any(Item::is_new) { governor::FIRST_REST } else { governor::REST }
    }

    /// The target worked so long for what was no batch of this schedule: it is owed the rest of that.
    pub fn owes(&mut self, worked: Duration) {
        if let Some(governor) = &mut self.governor {
            governor.owes(worked, Self::rest(&self.items));
        }
    }

    /// Once nothing more fits in, the rest of what a fresh connection wants waits for its turn, so that what the target
    /// was spared is not used up again as soon as it is given.
    fn end_pass(&mut self, now: Duration) {
        let Some(governor) = &self.governor else { return };
        let fits =
            |index: usize| governor.cause(index) == Some(Cause::Fresh) && governor.may_cut(now, self.length(&[index]));
        if !(0..self.items.len()).any(fits)
            && let Some(governor) = &mut self.governor
        {
            governor.end_fresh();
        }
    }
}

#[cfg(test)]
mod tests;
