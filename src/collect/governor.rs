//! How much of an ESXi host's time reading it may take: a tenth. Every command there starts an interpreter and asks the
//! management agent that also serves everybody else, so after each batch comes a rest of nine times its length. A batch
//! that takes much longer than it once did means that the host is busy: its rest is wider, and what is least pressing
//! waits. What the user asks for is read at once, and its rest comes on top of the one that it cut short.
//!
//! Pure: time comes in as the time since the connection came up.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::probe::{Probe, Read};

/// A batch of this length is followed by so many times its length of rest: a tenth of the time is work.
pub const REST_TIMES: u32 = 9;

/// The most that one batch reads, in commands.
pub const MOST_COST: usize = 16;

/// What a command that is run for each of many things counts.
const EACH_COST: usize = 8;

/// A batch that takes this many times as long as it did at its best, and is not a short one anyway, was under load.
const LOADED: u32 = 2;
const SHORT: Duration = Duration::from_secs(2);

/// The widest that a rest becomes, in times of the usual one.
const WIDEST: u32 = 4;

/// So many different batches are remembered.
const MOST_REMEMBERED: usize = 64;

/// What reading a probe costs, in commands; at least one.
pub fn cost(probe: &Probe) -> usize {
    let of = |read: &Read| if matches!(read, Read::Each { .. }) { EACH_COST } else { 1 };
    probe.sources.iter().map(|source| of(&source.read)).sum::<usize>().max(1)
}

/// How many of the probes that cost so much one batch reads, from the first: at least one of those that there are.
pub fn part(costs: impl Iterator<Item = usize>) -> usize {
    let mut sum = 0_usize;
    let fitting = costs.take_while(|cost| {
        let first = sum == 0;
        sum = sum.saturating_add(*cost);
        first || sum <= MOST_COST
    });
    fitting.count()
}

/// The rest that a host is owed.
#[derive(Debug, Default)]
pub struct Governor {
    /// Until then.
    owed: Duration,
    /// Probes that are read without a rest before them: all at first, and all when the user asks.
    pass: BTreeSet<usize>,
    /// The shortest time that reading these probes took.
    best: BTreeMap<Vec<usize>, Duration>,
    /// How much wider than usual the last rest is.
    wider: u32,
}

impl Governor {
    /// Of a host that was not read yet: all of `count` probes may be read.
    pub fn new(count: usize) -> Self {
        Self { pass: (0..count).collect(), wider: 1, ..Self::default() }
    }

    /// All of `count` probes are read at once, in several batches: somebody asked.
    pub fn read_all(&mut self, count: usize) {
        self.pass = (0..count).collect();
    }

    /// The earliest time of the next batch.
    pub fn not_before(&self) -> Duration {
        if self.pass.is_empty() { self.owed } else { Duration::ZERO }
    }

    /// True if a batch that begins now reads only what somebody asked for, or what was never read.
    pub fn is_in_pass(&self, index: usize) -> bool {
        self.pass.is_empty() || self.pass.contains(&index)
    }

    /// True if the last batch was under load.
    pub fn is_loaded(&self) -> bool {
        self.wider > 1
    }

    /// A batch of these probes is over.
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
        // What was still owed when it began stays owed.
        let left = self.owed.saturating_sub(began);
        self.owed = now + spent.saturating_mul(REST_TIMES.saturating_mul(self.wider)) + left;
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
        let of = |costs: &[usize]| part(costs.iter().copied());
        assert_eq!(of(&[]), 0);
        assert_eq!(of(&[100, 1]), 1);
        assert_eq!(of(&[8, 8, 1]), 2);
        assert_eq!(of(&[1; 40]), MOST_COST);
        assert_eq!(of(&[1, 16, 1]), 1);
    }

    #[test]
    fn the_rest_is_nine_times_the_work_and_debts_add_up() {
        let mut governor = Governor::new(2);
        governor.ended(vec![0], seconds(0), seconds(4));
        assert_eq!(governor.not_before(), Duration::ZERO, "the first pass goes on");
        governor.ended(vec![1], seconds(4), seconds(6));
        // Six seconds of work in the first sixty.
        assert_eq!(governor.not_before(), seconds(60));
        governor.read_all(2);
        assert_eq!(governor.not_before(), Duration::ZERO);
        governor.ended(vec![0, 1], seconds(10), seconds(12));
        assert_eq!(governor.not_before(), seconds(12 + 18 + 50), "eight seconds of work in eighty");
    }

    #[test]
    fn under_load_the_rest_is_wider_and_then_as_before() {
        let mut governor = Governor::new(0);
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
