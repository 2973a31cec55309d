//! Whether the console shows what happens now or what a recording holds, and what of that the header and the footer say.

use std::fmt;
use std::time::Duration;

use super::screen::Editing;

/// Where the messages come from.
#[derive(Clone, Debug)]
pub enum Mode {
    /// From the targets, now.
    Live {
        /// True while they are recorded.
        recording: bool,
    },
    /// From a recording.
    Replay(Box<Replay>),
}

impl Default for Mode {
    fn default() -> Self {
        Self::Live { recording: false }
    }
}

impl Mode {
    /// The replay, if this is one.
    pub fn replay(&self) -> Option<&Replay> {
        match self {
            Self::Replay(replay) => Some(replay),
            Self::Live { .. } => None,
        }
    }
}

/// How a replay stands.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Time from the start of the recording to what is shown.
    pub position: Duration,
    /// Time from the start to the last message.
    pub length: Duration,
    /// How fast it runs.
    pub speed: Speed,
    /// True while it stands still.
    pub paused: bool,
    /// True while the screen moves as it did for whoever recorded it; false once the viewer went ways of his own.
    pub following: bool,
    /// The time to go to, while it is typed.
    pub entry: Option<Editing>,
    /// A sentence about what just happened to the replay.
    pub notice: Option<String>,
}

/// How many seconds of a recording pass in one second: a power of two from 1/4 to 64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Speed(i8);

impl Speed {
    const SLOWEST: i8 = -2;
    const FASTEST: i8 = 6;

    /// Twice as fast, up to 64 times.
    #[must_use]
    pub fn faster(self) -> Self {
        Self((self.0 + 1).min(Self::FASTEST))
    }

    /// Half as fast, down to a quarter.
    #[must_use]
    pub fn slower(self) -> Self {
        Self((self.0 - 1).max(Self::SLOWEST))
    }

    /// How much of the recording passes in a time.
    pub fn of(self, time: Duration) -> Duration {
        if self.0 >= 0 { time * (1 << self.0) } else { time / (1 << -self.0) }
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 >= 0 { write!(formatter, "{}x", 1 << self.0) } else { write!(formatter, "1/{}x", 1 << -self.0) }
    }
}

/// What a viewer can do with a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Stand still, or go on; at the end: begin anew.
    Pause,
    /// Twice as fast.
    Faster,
    /// Half as fast.
    Slower,
    /// So many seconds forward, or back if negative.
    Seek(i32),
    /// To the start.
    Start,
    /// To the end.
    End,
    /// Type a time to go to.
    Enter,
    /// To the next moment at which something broke, or to the previous one.
    Landmark {
        /// Which of them.
        forward: bool,
    },
    /// Stand still and take in one message.
    StepMessage,
    /// Stand still and go one second forward.
    StepSecond,
    /// Show the screen as it was recorded, or leave it for a view of one's own.
    Follow,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_double_and_halve_within_their_limits() {
        let mut speed = Speed::default();
        assert_eq!(speed.to_string(), "1x");
        for expected in ["2x", "4x", "8x", "16x", "32x", "64x", "64x"] {
            speed = speed.faster();
            assert_eq!(speed.to_string(), expected);
        }
        assert_eq!(speed.of(Duration::from_millis(100)), Duration::from_millis(6400));
        for _ in 0..20 {
            speed = speed.slower();
        }
        assert_eq!(speed.to_string(), "1/4x");
        assert_eq!(speed.of(Duration::from_millis(100)), Duration::from_millis(25));
    }
}
