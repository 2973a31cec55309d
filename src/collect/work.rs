//! How long an ESXi host worked, as if its shells had done it one after the other. Whoever asks for a batch brings the meter,
//! so that what one of them asked for is never charged to another.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// A meter of work; it stays at nothing where no ESXi host is read.
#[derive(Debug, Default)]
pub struct Work(AtomicU64);

impl Work {
    /// A shell begins to work; it does until what is given here is dropped.
    pub fn begins(&self) -> Working<'_> {
        Working { work: self, began: Instant::now() }
    }

    /// What was worked since this was asked last.
    pub fn take(&self) -> Duration {
        Duration::from_micros(self.0.swap(0, Ordering::Relaxed))
    }
}

/// A shell that works.
#[derive(Debug)]
pub struct Working<'a> {
    work: &'a Work,
    began: Instant,
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        let length = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.work.0.fetch_add(length, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn shells_side_by_side_count_each() {
        let work = Work::default();
        let (one, other) = (work.begins(), work.begins());
        advance(Duration::from_secs(2)).await;
        drop(one);
        advance(Duration::from_secs(3)).await;
        drop(other);
        assert_eq!((work.take(), work.take()), (Duration::from_secs(7), Duration::ZERO));
    }
}
