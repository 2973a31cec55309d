//! The clock of the lab: seconds since its machines were made. It is injected, so that the same seed and the same moment
//! give the same answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;

/// Wall clock at which a lab with a set clock begins, in seconds since 1970: 30 November 2026, 00:00 UTC.
const SET_WALL: i64 = 1_795_996_800;

/// What the machines of one lab go by.
#[derive(Clone, Debug)]
pub struct Clock(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Real { began: Instant, wall: Timestamp },
    Set(Arc<AtomicU64>),
}

impl Clock {
    /// The real clock; the lab begins now.
    pub fn real() -> Self {
        Self(Kind::Real { began: Instant::now(), wall: Timestamp::now() })
    }

    /// A clock that stands until [`Clock::set`] moves it; it begins at zero and at a fixed wall clock.
    pub fn standing() -> Self {
        Self(Kind::Set(Arc::default()))
    }

    /// Sets a standing clock (and its clones) to this time since the lab began. A real clock goes on as it does.
    pub fn set(&self, elapsed: Duration) {
        if let Kind::Set(millis) = &self.0 {
            millis.store(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX), Ordering::SeqCst);
        }
    }

    /// Time since the lab began.
    pub fn elapsed(&self) -> Duration {
        match &self.0 {
            Kind::Real { began, .. } => began.elapsed(),
            Kind::Set(millis) => Duration::from_millis(millis.load(Ordering::SeqCst)),
        }
    }

    /// The wall clock at which the lab began.
    pub fn began(&self) -> Timestamp {
        match &self.0 {
            Kind::Real { wall, .. } => *wall,
            Kind::Set(_) => Timestamp::from_second(SET_WALL).unwrap_or(Timestamp::UNIX_EPOCH),
        }
    }
}
