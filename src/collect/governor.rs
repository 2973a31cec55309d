//! How much of an ESXi host's time reading it may take: in any ten minutes one, and less in the long run. Every command
//! there starts an interpreter and asks the management agent that also serves everybody else, so after each batch comes a
//! rest of several times its length.
//!
//! The minute holds in every ten minutes, the first ones included, and over connections that drop and come back: the
//! governor of a target stays. Three things go beyond it. What the user asks for is read at once; it is charged, so that
//! rests are longer until it is paid for. A batch that takes longer than its probes took before is over when it is over. A
//! probe that takes more than a minute by itself (the configurations of thirty VMs) is read when nothing was for so long.
//!
//! What hangs on something that changed is read next, and at once as long as there is room. The rest that this cuts short
//! is a debt, which is paid in parts with the batches that follow. A batch that takes much longer than it once did means
//! that the host is busy: its rest is wider, and what is least pressing waits.
//!
//! What that means at 0.7 s a command, for a host with four adapters, two RDMA devices and three VMs, of which everything
//! is some 65 commands of that cost, as several sources read the same lists (proved by the tests of [`super::schedule`]; what
//! leads is said in [`super::rhythm`]):
//!
//! - What decides whether a pair of guests has RDMA is there after ten seconds, as four shells work side by side (see
//!   [`super::lanes`]; what they work is charged as if one had), what presses after fifteen, passthrough after five minutes, and
//!   everything after seventeen: until then the panel says what was not read yet. Where commands are cheaper, everything is
//!   there after the first minute.
//! - What presses (state and uplink of RDMA devices, links, running VMs and where they are, PFC, rulesets, the adapter
//!   tagged for PVRDMA, passthrough and boot-time settings, ports of distributed switches, messages of the VMkernel) is
//!   never older than four minutes. It is twelve commands: 84 s if a tenth of the time were for nothing else.
//! - Counters are never older than 25 minutes, everything else never than an hour, unless something that leads changes:
//!   then what hangs on it is read next. That is more than the pace of its probes; the age of a value that is older than
//!   ten minutes stands beside it.
//!
//! Pure: time comes in as the time since the target was first connected.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::window::Window;
use crate::probe::{Read, Source};

/// A batch is followed by so many times its length of rest, as long as not everything was read yet: a tenth of the time
/// is work.
pub const FIRST_REST: u32 = 9;

/// The same later on: an eleventh. What that leaves of the minute is for what hangs on something that changed.
pub const REST: u32 = 10;

/// What is owed is given in parts: with each batch at most so many times its length.
const PAID: u32 = 8;

/// While this would be owed nothing is read without the rest before it.
const MOST_OWED: Duration = Duration::from_secs(266);

/// The most that one batch reads, in commands, where everything is read at once.
pub const MOST_COST: usize = 16;

/// The same, where batches follow at their rests: a long batch is followed by a long rest, in which nothing presses on.
pub const STEADY_COST: usize = 6;

/// What a command that is run for each of many things counts.
const EACH_COST: usize = 5;

/// A batch that takes this many times as long as it did at its best, and is not a short one anyway, was under load.
const LOADED: u32 = 2;
const SHORT: Duration = Duration::from_secs(2);

/// What counts as the best follows what batches take by one part in so many: a host with more VMs than once is no busy one.
const FOLLOWS: u32 = 8;

/// The widest that a rest becomes, in times of the usual one.
const WIDEST: u32 = 4;

/// So many different batches are remembered.
const MOST_REMEMBERED: usize = 64;

/// What reading these sources costs, in commands; at least one.
pub fn cost<'a>(sources: impl IntoIterator<Item = &'a Source>) -> usize {
    let of = |read: &Read| if matches!(read, Read::Each { .. }) { EACH_COST } else { 1 };
    sources.into_iter().map(|source| of(&source.read)).sum::<usize>().max(1)
}

/// How many of the things that cost so much one batch reads that may cost `most`, from the first: at least one of those
/// that there are.
pub fn part(costs: impl Iterator<Item = usize>, most: usize) -> usize {
    let mut sum = 0_usize;
    let fitting = costs.take_while(|cost| {
        let first = sum == 0;
        sum = sum.saturating_add(*cost);
        first || sum <= most
    });
    fitting.count()
}

/// Why items are read without the rest before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Somebody asked: whatever is owed, and beyond the minute.
    Asked,
    /// Something changed on which they hang.
    Changed,
    /// The target has just been connected.
    Fresh,
}

/// The rest that a host is owed.
#[derive(Debug, Default)]
pub struct Governor {
    /// No batch before then.
    rest: Duration,
    /// What is owed on top of that.
    debt: Duration,
    /// When it worked of late, but for what was asked for.
    window: Window,
    asked: BTreeSet<usize>,
    changed: BTreeSet<usize>,
    fresh: BTreeSet<usize>,
    /// The time that reading these took, at about its shortest.
    best: BTreeMap<Vec<usize>, Duration>,
    /// How many times the usual one the last rest is.
    wider: u32,
}

impl Governor {
    /// These are to be read at once.
    pub fn want(&mut self, indices: impl IntoIterator<Item = usize>, cause: Cause) {
        self.of(cause).extend(indices);
    }

    fn of(&mut self, cause: Cause) -> &mut BTreeSet<usize> {
        match cause {
            Cause::Asked => &mut self.asked,
            Cause::Changed => &mut self.changed,
            Cause::Fresh => &mut self.fresh,
        }
    }

    /// Why this is to be read at once, if that is so.
    pub fn cause(&self, index: usize) -> Option<Cause> {
        [(&self.asked, Cause::Asked), (&self.changed, Cause::Changed), (&self.fresh, Cause::Fresh)]
            .into_iter()
            .find_map(|(indices, cause)| indices.contains(&index).then_some(cause))
    }

    /// True if the host is owed so little at a time that work which takes so long may cut its rest short.
    pub fn may_cut(&self, at: Duration, length: Duration) -> bool {
        self.debt + self.rest.saturating_sub(at) + length * FIRST_REST <= MOST_OWED
    }

    /// Nothing is read at once any more because the target has just been connected.
    pub fn end_fresh(&mut self) {
        self.fresh.clear();
    }

    /// The earliest time from `at` on of a batch that takes so long.
    pub fn not_before(&self, at: Duration, length: Duration, cause: Option<Cause>) -> Duration {
        match cause {
            Some(Cause::Asked) => at,
            Some(_) if self.may_cut(at, length) => self.window.room_from(at, length),
            _ => self.window.room_from(at.max(self.rest), length),
        }
    }

    /// How long work that takes so long takes with its rest, as long as not everything was read.
    pub fn with_rest(&self, length: Duration) -> Duration {
        let paid = if self.debt.is_zero() { 0 } else { PAID };
        length * (1 + FIRST_REST + paid)
    }

    /// True if the last batch was under load.
    pub fn is_loaded(&self) -> bool {
        self.wider > 1
    }

    /// Something was read besides the batches because somebody waits for it, which is charged as what was asked for: so many
    /// times what it took is owed, and paid with the batches that follow.
    pub fn owes(&mut self, worked: Duration, rest: u32) {
        self.debt += worked.saturating_mul(rest);
    }

    /// A batch of these is over, for which the shells of the host worked so long: as long as if they had done it one after
    /// the other. So many times that is the rest that comes after it. Where no work was measured, all of the time was.
    pub fn ended(&mut self, mut read: Vec<usize>, began: Duration, now: Duration, worked: Duration, rest: u32) {
        read.sort_unstable();
        let asked = read.iter().any(|index| self.asked.contains(index));
        for index in &read {
            for cause in [Cause::Asked, Cause::Changed, Cause::Fresh] {
                self.of(cause).remove(index);
            }
        }
        let spent = if worked.is_zero() { now.saturating_sub(began) } else { worked };
        let now = now.max(began + spent);
        if !asked {
            self.window.worked(began, began + spent);
        }
        // What was not measured says nothing of load: a shell that was refused is done at once, and would be the best.
        self.wider = if worked.is_zero() { 1 } else { self.load(read, spent) };
        // What was still owed when it began stays owed, and is given bit by bit, so that what presses is read in the
        // meantime, if less often.
        self.debt = (self.debt + self.rest.saturating_sub(began)).saturating_sub(began.saturating_sub(self.rest));
        let paid = self.debt.min(spent.saturating_mul(PAID));
        self.debt -= paid;
        self.rest = now + spent.saturating_mul(rest.saturating_mul(self.wider)) + paid;
    }

    /// How many times longer than it should a batch took, if the host was under load; else 1.
    fn load(&mut self, read: Vec<usize>, spent: Duration) -> u32 {
        let Some(best) = self.best.get_mut(&read) else {
            if self.best.len() < MOST_REMEMBERED {
                self.best.insert(read, spent);
            }
            return 1;
        };
        let times = spent.as_millis() / best.as_millis().max(1);
        *best = if spent < *best { spent } else { *best + spent.saturating_sub(*best) / FOLLOWS };
        if spent <= SHORT || times < u128::from(LOADED) {
            return 1;
        }
        u32::try_from(times).unwrap_or(WIDEST).min(WIDEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_part_holds_what_fits_and_at_least_one() {
        let of = |costs: &[usize]| part(costs.iter().copied(), MOST_COST);
        assert_eq!(of(&[]), 0);
        assert_eq!(of(&[100, 1]), 1);
        assert_eq!(of(&[8, 8, 1]), 2);
        assert_eq!(of(&[1; 40]), MOST_COST);
        assert_eq!(of(&[1, 16, 1]), 1);
    }

    fn next(governor: &Governor, cause: Option<Cause>) -> Duration {
        governor.not_before(Duration::ZERO, seconds(1), cause)
    }

    fn ended(governor: &mut Governor, index: usize, began: u64, now: u64) {
        governor.ended(vec![index], seconds(began), seconds(now), seconds(now - began), 9);
    }

    #[test]
    fn what_was_read_besides_is_owed_and_no_load() {
        let mut governor = Governor::default();
        ended(&mut governor, 0, 0, 3);
        governor.owes(seconds(20), 9);
        assert_eq!(governor.debt, seconds(180));
        // It waited for half a minute while the host did the other thing.
        governor.ended(vec![0], seconds(30), seconds(63), seconds(3), 9);
        assert!(!governor.is_loaded());
        assert_eq!(governor.rest, seconds(63 + 27 + 24), "its own rest, and a part of what is owed");
        assert_eq!(governor.debt, seconds(180 - 24));
        assert_eq!(governor.window.work_since(Duration::ZERO), seconds(6));
    }

    #[test]
    fn a_batch_in_which_no_shell_worked_is_no_measure_of_load() {
        let mut governor = Governor::default();
        governor.ended(vec![0], seconds(0), Duration::from_millis(10), Duration::ZERO, 9);
        ended(&mut governor, 0, 10, 14);
        assert!(!governor.is_loaded());
        governor.ended(vec![0], seconds(100), seconds(190), Duration::ZERO, 9);
        assert_eq!(governor.rest, seconds(190 + 810), "it rests all the same");
    }

    #[test]
    fn debts_are_paid_batch_by_batch() {
        let mut governor = Governor::default();
        ended(&mut governor, 0, 0, 4);
        assert_eq!(next(&governor, None), seconds(4 + 36));
        assert_eq!(next(&governor, Some(Cause::Fresh)), Duration::ZERO);
        ended(&mut governor, 1, 4, 6);
        // Of 36 seconds that are owed 16 are given with this batch.
        assert_eq!(next(&governor, None), seconds(6 + 18 + 16));
        ended(&mut governor, 0, 40, 44);
        assert_eq!(next(&governor, None), seconds(44 + 36 + 20), "ten seconds of work in a hundred");
    }

    #[test]
    fn what_is_asked_for_is_read_beyond_the_minute_and_charged() {
        let mut governor = Governor::default();
        ended(&mut governor, 0, 0, 60);
        for cause in [None, Some(Cause::Changed), Some(Cause::Fresh)] {
            assert_eq!(next(&governor, cause), seconds(600), "{cause:?}");
        }
        governor.want([1], Cause::Asked);
        assert_eq!(governor.cause(1), Some(Cause::Asked));
        assert_eq!(next(&governor, Some(Cause::Asked)), Duration::ZERO);
        ended(&mut governor, 1, 60, 70);
        assert_eq!(governor.cause(1), None);
        assert_eq!(next(&governor, None), seconds(600), "the minute is none the longer for it");
        assert_eq!(governor.rest, seconds(70 + 90 + 80));
        assert_eq!(governor.debt, seconds(540 - 80));
    }

    #[test]
    fn under_load_the_rest_is_wider_until_that_is_how_long_it_takes() {
        let mut governor = Governor::default();
        let mut batch = |began: u64, length: u64| {
            ended(&mut governor, 0, began, began + length);
            (governor.is_loaded(), governor.rest.saturating_sub(seconds(began + length)))
        };
        assert_eq!(batch(0, 3), (false, seconds(27)));
        assert_eq!(batch(100, 9), (true, seconds(9 * 9 * 3)));
        assert_eq!(batch(1000, 90), (true, seconds(90 * 9 * u64::from(WIDEST))));
        assert_eq!(batch(9000, 3), (false, seconds(27)));
        // More VMs than before: for a while that looks like load, and then it is how long it takes.
        let loaded: Vec<bool> = (0..12).map(|round| batch(10_000 + 1000 * round, 12).0).collect();
        assert!(loaded[0], "{loaded:?}");
        assert!(!loaded[6..].contains(&true), "{loaded:?}");
    }
}
