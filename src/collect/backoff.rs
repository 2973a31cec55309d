//! How long to wait before the next try.

use std::time::Duration;

/// The wait after the first failure.
const SHORTEST: Duration = Duration::from_secs(1);

/// No wait is longer.
const LONGEST: Duration = Duration::from_mins(1);

/// What was up for this long was sound: the next failure starts anew.
const SOUND: Duration = Duration::from_secs(30);

/// Counts failures in a row.
#[derive(Clone, Debug, Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Failures in a row so far.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Something was up for so long before it failed.
    pub fn was_up_for(&mut self, time: Duration) {
        if time >= SOUND {
            self.reset();
        }
    }

    /// The next failure is the first one again.
    pub fn reset(&mut self) {
        self.failures = 0;
    }

    /// Counts one more failure and says how long to wait: from one second doubling to sixty, a quarter more or less so
    /// that many targets that failed together do not come back together. `chance` is a random number from 0 to 1.
    pub fn next(&mut self, chance: f64) -> Duration {
        let wait = SHORTEST.saturating_mul(2u32.saturating_pow(self.failures)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        wait.mul_f64(0.75 + chance.clamp(0.0, 1.0) / 2.0).clamp(SHORTEST, LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_minute() {
        let mut backoff = Backoff::default();
        let waits: Vec<u64> = (0..8).map(|_| backoff.next(0.5).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(backoff.failures(), 8);
    }

    #[test]
    fn chance_moves_a_wait_by_a_quarter_and_never_out_of_bounds() {
        let mut backoff = Backoff::default();
        assert_eq!(backoff.next(0.0), SHORTEST);
        assert_eq!(backoff.next(1.0), Duration::from_millis(2500));
        assert_eq!(backoff.next(0.0), Duration::from_secs(3));
        for _ in 0..100 {
            assert!((SHORTEST..=LONGEST).contains(&backoff.next(1.0)));
        }
        assert_eq!(backoff.next(0.0), Duration::from_secs(45));
        assert_eq!(backoff.next(f64::INFINITY), LONGEST);
    }

    #[test]
    fn only_a_sound_time_up_starts_anew() {
        let mut backoff = Backoff::default();
        backoff.next(0.5);
        backoff.next(0.5);
        backoff.was_up_for(Duration::from_secs(29));
        assert_eq!(backoff.next(0.5), Duration::from_secs(4));
        backoff.was_up_for(Duration::from_secs(30));
        assert_eq!(backoff.next(0.5), Duration::from_secs(1));
    }
}
