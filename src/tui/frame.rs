//! When the next frame may be drawn. Frames are drawn on demand only: none while nothing changes, at most thirty a second,
//! and three a second where bandwidth is dear (a key is answered sooner than that). A terminal that takes its time gets
//! fewer frames, each one new: nothing is ever queued. No clock in here: time comes in from outside.

use std::time::Duration;

use tokio::time::Instant;

/// How often frames may follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The least time between two frames that show news.
    pub news: Duration,
    /// The least time before a frame that answers a key.
    pub answer: Duration,
}

impl Pace {
    /// Thirty frames a second.
    pub const NORMAL: Self = Self { news: Duration::from_nanos(33_333_333), answer: Duration::from_nanos(33_333_333) };
    /// Three frames a second, ten while keys are typed: for slow and metered lines.
    pub const LOW_BANDWIDTH: Self =
        Self { news: Duration::from_nanos(333_333_333), answer: Duration::from_millis(100) };

    /// The pace while another window has the focus: four frames a second at most are enough for the corner of an eye.
    #[must_use]
    pub fn unwatched(self) -> Self {
        Self { news: self.news.max(Duration::from_millis(250)), ..self }
    }
}

/// The longest rest after a slow frame.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// Why a frame is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Something changed.
    News,
    /// The user did something.
    Answer,
}

/// The limiter.
#[derive(Debug)]
pub struct FrameLimiter {
    pace: Pace,
    wanted: Option<Reason>,
    last: Last,
}

/// The frame before.
#[derive(Clone, Copy, Debug)]
enum Last {
    None { since: Instant },
    OnItsWay { began: Instant },
    Written { began: Instant, written: Instant },
}

impl FrameLimiter {
    /// A limiter that has drawn nothing: the first frame is due as soon as it is asked for.
    pub fn new(pace: Pace, now: Instant) -> Self {
        Self { pace, wanted: None, last: Last::None { since: now } }
    }

    /// Frames follow one another at another pace from now on.
    pub fn set_pace(&mut self, pace: Pace) {
        self.pace = pace;
    }

    /// Asks for a frame. Many requests make one frame.
    pub fn request(&mut self, reason: Reason) {
        self.wanted = self.wanted.max(Some(reason));
    }

    /// When the next frame is due; `None` while none was asked for or the one before is still on its way to the terminal.
    pub fn due(&self) -> Option<Instant> {
        let interval = match self.wanted? {
            Reason::News => self.pace.news,
            Reason::Answer => self.pace.answer,
        };
        match self.last {
            Last::None { since } => Some(since),
            Last::OnItsWay { .. } => None,
            Last::Written { began, written } => {
                // A line that needs a time for a frame gets the same time of rest, so that never more than half of it is used;
                // but one that stood still for minutes and comes back is used at once.
                let rest = written.saturating_duration_since(began).min(LONGEST_REST);
                Some((began + interval).max(written + rest))
            }
        }
    }

    /// A frame was begun, which answers all requests so far.
    pub fn began(&mut self, now: Instant) {
        self.wanted = None;
        self.last = Last::OnItsWay { began: now };
    }

    /// The terminal has taken the whole frame.
    pub fn written(&mut self, now: Instant) {
        if let Last::OnItsWay { began } = self.last {
            self.last = Last::Written { began, written: now };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    /// A limiter that drew its first frame at `now`, in no time.
    fn drawn(pace: Pace, now: Instant) -> FrameLimiter {
        let mut limiter = FrameLimiter::new(pace, now);
        limiter.request(Reason::News);
        limiter.began(now);
        limiter.written(now);
        limiter
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_due_unless_it_was_asked_for() {
        let now = Instant::now();
        let mut limiter = FrameLimiter::new(Pace::NORMAL, now);
        assert_eq!(limiter.due(), None);
        limiter.request(Reason::News);
        assert_eq!(limiter.due(), Some(now), "the first frame waits for nothing");
        assert_eq!(drawn(Pace::NORMAL, now).due(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn many_requests_make_one_frame_at_the_rate_of_the_pace() {
        let now = Instant::now();
        let mut limiter = drawn(Pace::NORMAL, now);
        for _ in 0..1000 {
            limiter.request(Reason::News);
        }
        assert_eq!(limiter.due(), Some(now + Pace::NORMAL.news));
        limiter.began(now + Pace::NORMAL.news);
        limiter.written(now + Pace::NORMAL.news);
        assert_eq!(limiter.due(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn on_a_dear_line_a_key_is_answered_sooner_than_news_are_shown() {
        let now = Instant::now();
        let mut limiter = drawn(Pace::LOW_BANDWIDTH, now);
        limiter.request(Reason::News);
        assert_eq!(limiter.due(), Some(now + Pace::LOW_BANDWIDTH.news));
        limiter.request(Reason::Answer);
        limiter.request(Reason::News);
        assert_eq!(limiter.due(), Some(now + Pace::LOW_BANDWIDTH.answer));
    }

    #[tokio::test(start_paused = true)]
    async fn while_a_frame_is_on_its_way_none_is_due_and_a_slow_one_is_followed_by_as_long_a_rest() {
        let now = Instant::now();
        let mut limiter = drawn(Pace::NORMAL, now);
        limiter.request(Reason::News);
        limiter.began(now);
        limiter.request(Reason::News);
        assert_eq!(limiter.due(), None);
        limiter.written(now + 200 * MILLISECOND);
        assert_eq!(limiter.due(), Some(now + 400 * MILLISECOND), "what was asked for meanwhile is not forgotten");
        limiter.began(now);
        limiter.request(Reason::News);
        limiter.written(now + 300_000 * MILLISECOND);
        assert_eq!(limiter.due(), Some(now + 301_000 * MILLISECOND), "a line that comes back is used again soon");
    }
}
