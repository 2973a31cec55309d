//! What a batch reads of a host that is to be spared.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::time::Duration;

use super::super::governor::{self, Cause, Governor};
use super::{Item, Part, Schedule};
use crate::probe::Turn;

/// What was never read is read as long as what presses becomes no older than this by that.
const PRESSING_AGE: Duration = Duration::from_secs(235);

/// But it waits no longer than this for the next of its kind.
const NEWS_AGE: Duration = Duration::from_mins(5);

impl Schedule {
    /// Of what is due and was never read what may go before what presses.
    fn fitting_news(&self, governor: &Governor, now: Duration, due: &[usize]) -> BTreeSet<usize> {
        let mut news: Vec<usize> = due.iter().copied().filter(|&index| self.items[index].is_new()).collect();
        news.sort_by_key(|&index| (self.items[index].late, self.items[index].turn, self.items[index].pace));
        if now.saturating_sub(self.news) < NEWS_AGE {
            let fits = |count: &usize| self.leaves_time(governor, now, self.length(&news[..*count]));
            let count = (1..=news.len()).take_while(fits).count();
            news.truncate(count);
        }
        news.into_iter().collect()
    }

    /// True if what presses can be read in time after a batch that takes so long and its rest.
    fn leaves_time(&self, governor: &Governor, now: Duration, length: Duration) -> bool {
        let mut pressing: Vec<(Duration, usize)> = (0..self.items.len())
            .filter(|&index| self.items[index].presses && self.items[index].due < Duration::MAX)
            .filter_map(|index| Some((self.items[index].read?, index)))
            .collect();
        pressing.sort_unstable();
        let (mut before, mut batch, mut cost) = (length, Duration::ZERO, 0);
        for (read, index) in pressing {
            let own = self.items[index].cost;
            if cost > 0 && cost + own > governor::STEADY_COST {
                before += std::mem::take(&mut batch);
                cost = 0;
            }
            cost += own;
            batch += self.length(&[index]);
            if now + governor.with_rest(before) + batch > read + PRESSING_AGE {
                return false;
            }
        }
        true
    }

    /// All that is due and belongs into one batch, in its order.
    pub(super) fn wanted(&self, governor: &Governor, now: Duration) -> Vec<usize> {
        let mut due = self.due(now);
        let cause = |index: usize| match governor.cause(index) {
            // What is owed already leaves the rest of a fresh connection to the usual order.
            Some(Cause::Fresh) if !governor.may_cut(now, self.length(&[index])) => None,
            cause => cause,
        };
        let chosen = [Cause::Asked, Cause::Changed, Cause::Fresh]
            .into_iter()
            .find(|chosen| due.iter().any(|&index| cause(index) == Some(*chosen)));
        if let Some(chosen) = chosen {
            due.retain(|&index| cause(index) == Some(chosen));
        }
        let news = if chosen.is_some() { BTreeSet::new() } else { self.fitting_news(governor, now, &due) };
        due.sort_by_key(|&index| {
            let item = &self.items[index];
            // What all is read of has an order of its own, in which much comes first, so that it fits in; and so has what
            // was never read.
            let (rank, turn, lateness, cost) = match (chosen, item.is_new()) {
                (Some(_), _) => (0, item.turn, 0, item.cost),
                (None, true) => (if news.contains(&index) { 1 } else { 3 }, item.turn, 0, 0),
                (None, false) => (2, Turn::First, item.lateness(now), 0),
            };
            (item.late, rank, turn, Reverse(lateness), item.pace, item.part == Part::Leading, Reverse(cost))
        });
        // What is read whole leads, too.
        let mut wholes = Vec::new();
        due.retain(|&index| {
            let Item { probe, part, .. } = self.items[index];
            if part == Part::Whole {
                wholes.push(probe);
            }
            part == Part::Whole || !wholes.contains(&probe)
        });
        due
    }

    /// Of that as much as one batch may read.
    pub(super) fn batch(&self, governor: &Governor, now: Duration) -> Vec<usize> {
        let mut wanted = self.wanted(governor, now);
        let cause = wanted.first().and_then(|&first| governor.cause(first));
        let at_once = cause == Some(Cause::Asked) || cause.is_some() && governor.may_cut(now, Duration::ZERO);
        // As long as no command was seen nobody knows what many of them cost.
        let most = if at_once && self.seen.0 > 0 { governor::MOST_COST } else { governor::STEADY_COST };
        wanted.truncate(governor::part(wanted.iter().map(|&index| self.items[index].cost), most));
        let may = |count: usize| governor.not_before(now, self.length(&wanted[..count]), cause) <= now;
        let fitting = (1..=wanted.len()).take_while(|&count| may(count)).count();
        wanted.truncate(fitting);
        wanted
    }
}
