//! When a host worked for us of late, to tell whether there is room for more: in no ten minutes more than one.
//!
//! Pure: time comes in as the time since the target was first connected.

use std::collections::VecDeque;
use std::time::Duration;

/// The length of the window.
pub const WINDOW: Duration = Duration::from_mins(10);

/// How much of any window may be work.
pub const MOST_WORK: Duration = Duration::from_mins(1);

/// The stretches of work of the last ten minutes.
#[derive(Debug, Default)]
pub struct Window(VecDeque<(Duration, Duration)>);

impl Window {
    /// It worked from then to then. What several shells did side by side counts as if they had done it one after the other,
    /// so it may reach beyond the time at which it was done: what comes then counts from there on.
    pub fn worked(&mut self, began: Duration, ended: Duration) {
        let shift = self.end().saturating_sub(began);
        let (began, ended) = (began + shift, ended + shift);
        while self.0.front().is_some_and(|&(_, end)| end + WINDOW <= began) {
            self.0.pop_front();
        }
        self.0.push_back((began, ended));
    }

    /// When all the work would be done.
    fn end(&self) -> Duration {
        self.0.back().map_or(Duration::ZERO, |&(_, end)| end)
    }

    /// The work after a time.
    pub fn work_since(&self, from: Duration) -> Duration {
        self.0.iter().map(|&(began, ended)| ended.saturating_sub(began.max(from))).sum()
    }

    /// True if work that begins at a time and takes so long keeps every ten minutes below the minute. Only the window that
    /// ends with it need be looked at: no other that holds a part of it holds more. Work of more than a minute waits until
    /// the host has done nothing for ten.
    fn has_room(&self, at: Duration, length: Duration) -> bool {
        let length = length.min(MOST_WORK);
        self.work_since((at + length).saturating_sub(WINDOW)) + length <= MOST_WORK
    }

    /// The first time from `at` on at which there is room for work that takes so long.
    pub fn room_from(&self, wanted: Duration, length: Duration) -> Duration {
        let at = wanted.max(self.end());
        if self.has_room(at, length) {
            return wanted;
        }
        let length = length.min(MOST_WORK);
        // So much of the oldest work must have left the window by its end.
        let mut over = (self.work_since((at + length).saturating_sub(WINDOW)) + length).saturating_sub(MOST_WORK);
        let edge = (at + length).saturating_sub(WINDOW);
        for &(began, ended) in &self.0 {
            let inside = ended.saturating_sub(began.max(edge));
            if inside >= over {
                return (began.max(edge) + over + WINDOW).saturating_sub(length).max(at);
            }
            over -= inside;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn there_is_room_for_a_minute_in_every_ten() {
        let mut window = Window::default();
        assert_eq!(window.room_from(seconds(0), seconds(60)), seconds(0));
        window.worked(seconds(0), seconds(30));
        window.worked(seconds(100), seconds(120));
        assert_eq!(window.room_from(seconds(120), seconds(10)), seconds(120));
        // Twenty seconds: ten of the first thirty must have left by its end.
        assert_eq!(window.room_from(seconds(120), seconds(20)), seconds(610 - 20));
        assert_eq!(window.room_from(seconds(605), seconds(20)), seconds(605));
        assert_eq!(window.room_from(seconds(120), seconds(50)), seconds(710 - 50));
        // More than a minute: as a minute.
        assert_eq!(window.room_from(seconds(120), seconds(300)), seconds(720 - 60));
        window.worked(seconds(1000), seconds(1010));
        assert_eq!(window.work_since(seconds(0)), seconds(10), "what is over is forgotten");
    }

    #[test]
    fn what_was_done_side_by_side_counts_as_one_after_the_other() {
        let mut window = Window::default();
        window.worked(seconds(0), seconds(25));
        window.worked(seconds(9), seconds(34));
        assert_eq!(window.work_since(seconds(0)), seconds(50));
        assert_eq!(window.work_since(seconds(30)), seconds(20), "the second counts from 25 to 50");
        assert_eq!(window.room_from(seconds(18), seconds(10)), seconds(18));
        assert_eq!(window.room_from(seconds(18), seconds(11)), seconds(601 - 11));
    }

    proptest::proptest! {
        #[test]
        fn what_keeps_to_it_never_works_more(wishes in proptest::collection::vec((0_u64..200, 1_u64..60), 1..12)) {
            let (mut window, mut now, mut done) = (Window::default(), Duration::ZERO, Vec::new());
            for (pause, length) in wishes {
                let wanted = now + seconds(pause);
                let began = window.room_from(wanted, seconds(length));
                proptest::prop_assert!(began >= wanted && began <= wanted + WINDOW);
                now = began + seconds(length);
                window.worked(began, now);
                done.push((began, now));
            }
            for from in (0..now.as_secs()).map(seconds) {
                let inside = |&(began, ended): &(Duration, Duration)| {
                    ended.min(from + WINDOW).saturating_sub(began.max(from))
                };
                proptest::prop_assert!(done.iter().map(inside).sum::<Duration>() <= MOST_WORK, "from {from:?}");
            }
        }
    }
}
