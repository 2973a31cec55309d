//! How much of an ESXi host's time reading it may take: a tenth. Every command there starts an interpreter and asks the
//! management agent that also serves everybody else, so after each batch comes a rest of nine times its length. A batch
//! that takes much longer than it once did means that the host is busy: its rest is wider, and what is least pressing
//! waits.
//!
//! What was never read, what the user asks for, and what hangs on something that changed is read at once. The rest that
//! this cuts short is a debt. It is paid with the batches that follow: each is followed by twice its rest until nothing
//! is owed. So at any time the work since the connection came up is at most a tenth of that time and of what is owed, and
//! in any ten minutes without debt it is a minute, and one batch.
//!
//! What that means at 0.7 s a command, for a host with four adapters, two RDMA devices and three VMs, of which everything
//! is some 80 commands of that cost (proved by the tests of [`super::schedule`]; what leads is said in [`super::rhythm`]):
//!
//! - Everything is there after a minute. What presses is then read once more, as it is a minute old.
//! - What presses (state and uplink of RDMA devices, links, running VMs and where they are, PFC, rulesets, the adapter
//!   tagged for PVRDMA, passthrough and boot-time settings, ports of distributed switches, messages of the VMkernel) is
//!   never older than four minutes, on average some two. It is twelve commands, of which a tenth of the time allows one in
//!   7 s: 84 s if nothing else were read, so less than a minute is out of reach there.
//! - Counters are never older than 25 minutes, everything else never than an hour, unless something that leads changes:
//!   then what hangs on it is read at once. That is more than the pace of its probes; the age of a value that is older
//!   than ten minutes stands beside it.
//! - The first reads are paid for after half an hour; in its first ten minutes it is up to 100 s of work.
//!
//! Where commands are cheaper, everything comes round sooner, down to its own pace.
//!
//! Pure: time comes in as the time since the connection came up.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::probe::{Read, Source};

/// A batch of this length is followed by so many times its length of rest: a tenth of the time is work.
pub const REST_TIMES: u32 = 9;

/// The most that one batch reads, in commands, where everything is read at once.
pub const MOST_COST: usize = 16;

/// The same, where batches follow at their rests: a long batch is followed by a long rest, in which nothing presses on.
pub const STEADY_COST: usize = 6;

/// What a command that is run for each of many things counts.
const EACH_COST: usize = 8;

/// A batch that takes this many times as long as it did at its best, and is not a short one anyway, was under load.
const LOADED: u32 = 2;
const SHORT: Duration = Duration::from_secs(2);

/// The widest that a rest becomes, in times of the usual one.
const WIDEST: u32 = 4;

/// While more than this is owed nothing is read out of turn because something changed.
const MOST_DEBT: Duration = Duration::from_mins(15);

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

/// The rest that a host is owed.
#[derive(Debug, Default)]
pub struct Governor {
    /// No batch before then.
    rest: Duration,
    /// What is owed on top of that.
    debt: Duration,
    /// What is read without a rest before it: everything at first, and everything when the user asks.
    pass: BTreeSet<usize>,
    /// The shortest time that reading these took.
    best: BTreeMap<Vec<usize>, Duration>,
    /// How much wider than usual the last rest is.
    wider: u32,
}

impl Governor {
    /// Of a host that was not read yet: all of these may be read.
    pub fn new(all: impl IntoIterator<Item = usize>) -> Self {
        Self { pass: all.into_iter().collect(), wider: 1, ..Self::default() }
    }

    /// All of these are read at once, in several batches: somebody asked.
    pub fn read_all(&mut self, all: impl IntoIterator<Item = usize>) {
        self.pass.extend(all);
    }

    /// This hangs on something that changed: it is read at once, unless the host is owed too much already.
    pub fn hurry(&mut self, index: usize) {
        if self.debt <= MOST_DEBT {
            self.pass.insert(index);
        }
    }

    /// The earliest time of the next batch.
    pub fn not_before(&self) -> Duration {
        if self.pass.is_empty() { self.rest } else { Duration::ZERO }
    }

    /// True while what is read is read without a rest before it.
    pub fn is_passing(&self) -> bool {
        !self.pass.is_empty()
    }

    /// True if a batch that begins now reads only what somebody asked for, or what was never read.
    pub fn is_in_pass(&self, index: usize) -> bool {
        self.pass.is_empty() || self.pass.contains(&index)
    }

    /// True if the last batch was under load.
    pub fn is_loaded(&self) -> bool {
        self.wider > 1
    }

    /// A batch of these is over.
    pub fn ended(&mut self, mut read: Vec<usize>, began: Duration, now: Duration) {
        read.sort_unstable();
        for index in &read {
            self.pass.remove(index);
        }
        let spent = now.saturating_sub(began);
        let best = self.best.get(&read).copied();
        self.wider = match best {
            Some(best) if spent > SHORT && spent >= best.saturating_mul(LOADED) => {
                let times = spent.as_millis() / best.as_millis().max(1);
                u32::try_from(times).unwrap_or(WIDEST).clamp(LOADED, WIDEST)
            }
            _ => 1,
        };
        if best.is_some() || self.best.len() < MOST_REMEMBERED {
            self.best.insert(read, best.map_or(spent, |best| best.min(spent)));
        }
        // What was still owed when it began stays owed, and is given bit by bit: as much with each batch as that costs
        // anyway, so that what presses is read in the meantime, if half as often.
        self.debt = (self.debt + self.rest.saturating_sub(began)).saturating_sub(began.saturating_sub(self.rest));
        let paid = self.debt.min(spent.saturating_mul(REST_TIMES + 1));
        self.debt -= paid;
        self.rest = now + spent.saturating_mul(REST_TIMES.saturating_mul(self.wider)) + paid;
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

    #[test]
    fn the_rest_is_nine_times_the_work_and_debts_are_paid_batch_by_batch() {
        let mut governor = Governor::new([0, 1]);
        governor.ended(vec![0], seconds(0), seconds(4));
        assert_eq!(governor.not_before(), Duration::ZERO, "the first pass goes on");
        governor.ended(vec![1], seconds(4), seconds(6));
        // Of 36 seconds that are owed 20 are given with this batch.
        assert_eq!(governor.not_before(), seconds(6 + 18 + 20));
        governor.ended(vec![0], seconds(44), seconds(48));
        assert_eq!(governor.not_before(), seconds(48 + 36 + 16), "ten seconds of work in a hundred");
        governor.read_all([0, 1]);
        assert_eq!(governor.not_before(), Duration::ZERO);
        governor.ended(vec![0, 1], seconds(50), seconds(52));
        assert_eq!(governor.not_before(), seconds(52 + 18 + 20));
        governor.ended(vec![0], seconds(90), seconds(94));
        assert_eq!(governor.not_before(), seconds(94 + 36 + 30), "sixteen seconds of work in a hundred and sixty");
    }

    #[test]
    fn what_hangs_on_a_change_is_read_at_once_until_too_much_is_owed() {
        let mut governor = Governor::new([]);
        let mut hurried = 0;
        // Something changes all the time.
        let mut now = Duration::ZERO;
        let mut work = Duration::ZERO;
        for _ in 0..1000 {
            let began = now.max(governor.not_before());
            governor.ended(vec![0], began, began + seconds(4));
            governor.hurry(1);
            now = began + seconds(4);
            work += seconds(4);
            if governor.is_passing() {
                hurried += 1;
                governor.ended(vec![1], now, now + seconds(9));
                now += seconds(9);
                work += seconds(9);
            }
        }
        assert!(hurried > 100, "{hurried}");
        let most = (now + MOST_DEBT + seconds(300)) / 10;
        assert!(work <= most, "{work:?} in {now:?}");
    }

    #[test]
    fn under_load_the_rest_is_wider_and_then_as_before() {
        let mut governor = Governor::new([]);
        governor.ended(vec![0], seconds(0), seconds(3));
        assert!(!governor.is_loaded());
        governor.ended(vec![0], seconds(100), seconds(109));
        assert!(governor.is_loaded());
        assert_eq!(governor.not_before(), seconds(109 + 9 * 9 * 3));
        governor.ended(vec![0], seconds(1000), seconds(1090));
        assert_eq!(governor.not_before(), seconds(1090 + 90 * 9 * u64::from(WIDEST)));
        governor.ended(vec![0], seconds(9000), seconds(9003));
        assert!(!governor.is_loaded());
        // What is short anyway is not called load.
        governor.ended(vec![1], seconds(10_000), seconds(10_000) + Duration::from_millis(100));
        governor.ended(vec![1], seconds(20_000), seconds(20_001));
        assert!(!governor.is_loaded());
    }
}
