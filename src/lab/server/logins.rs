//! Logins by questions, as an ESXi host asks them, the lock after failures, and the account of what a machine was asked
//! to do.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// What a machine was asked to do since the lab began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Logins that were admitted.
    pub logins: u32,
    /// Logins with a wrong secret.
    pub failures: u32,
    /// Logins that were refused because the account is locked.
    pub refused_locked: u32,
    /// Commands and files that were read.
    pub reads: u64,
    /// Questions to the management agent of an ESXi host.
    pub by_agent: u64,
    /// Time that the commands took.
    pub busy: Duration,
}

/// What is counted of one machine.
#[derive(Debug, Default)]
pub struct Count(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    served: Served,
    /// Failures since the last login that was admitted.
    in_a_row: u32,
    locked_until: Option<Instant>,
}

impl Count {
    fn change<T>(&self, change: impl FnOnce(&mut Counted) -> T) -> T {
        // A poisoned lock only says that a reader panicked; a change is made in one step.
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What was counted.
    pub fn told(&self) -> Served {
        self.change(|counted| counted.served)
    }

    /// A command was answered.
    pub fn served(&self, by_agent: u32, took: Duration) {
        self.change(|counted| {
            counted.served.reads += 1;
            counted.served.by_agent += u64::from(by_agent);
            counted.served.busy += took;
        });
    }

    /// Somebody tries to log in; true if it is admitted. `right` says whether what was given is right, `locks` after how
    /// many failures in a row the account is locked and for how long, `locked` that it is locked anyway.
    pub fn admits(&self, right: bool, locks: Option<(u32, Duration)>, locked: bool, now: Instant) -> bool {
        self.change(|counted| {
            if locked || counted.locked_until.is_some_and(|until| now < until) {
                counted.served.refused_locked += 1;
                return false;
            }
            if right {
                counted.served.logins += 1;
                counted.in_a_row = 0;
                counted.locked_until = None;
                return true;
            }
            counted.served.failures += 1;
            counted.in_a_row += 1;
            if let Some((most, length)) = locks
                && counted.in_a_row >= most
            {
                counted.in_a_row = 0;
                counted.locked_until = Some(now + length);
            }
            false
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_failures_in_a_row_lock_the_account_for_a_while() {
        let (count, locks) = (Count::default(), Some((5, Duration::from_mins(15))));
        let now = Instant::now();
        let later = |seconds| now + Duration::from_secs(seconds);
        for _ in 0..4 {
            assert!(!count.admits(false, locks, false, now));
        }
        assert!(count.admits(true, locks, false, now), "four are forgiven");
        for _ in 0..5 {
            assert!(!count.admits(false, locks, false, now));
        }
        assert!(!count.admits(true, locks, false, later(899)), "the right secret does not help");
        assert!(count.admits(true, locks, false, later(900)));
        assert!(!count.admits(true, locks, true, later(901)), "locked by hand");
        let served = count.told();
        assert_eq!((served.logins, served.failures, served.refused_locked), (2, 9, 2));
    }
}
