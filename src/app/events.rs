//! Everything that happened, in order. Events are never dropped for want of a reader; only the oldest go when there are
//! more than [`KEPT_EVENTS`].

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::message::Severity;
use crate::fabric::{EntityId, ObservationRef, TargetId, Timestamp};

/// How many events are kept.
pub const KEPT_EVENTS: usize = 5000;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its number, from 1, for the whole session.
    pub number: u64,
    /// When it was seen, by our own clock.
    pub at: Timestamp,
    /// Where, if at one target.
    pub target: Option<TargetId>,
    /// How grave.
    pub severity: Severity,
    /// What, in a sentence.
    pub text: String,
    /// Of what, if of one thing.
    pub entity: Option<EntityId>,
    /// What it was read from.
    pub evidence: Option<ObservationRef>,
    /// The line of that observation, from 1; 0 for none.
    pub line: u32,
}

/// All events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventLog {
    events: VecDeque<Event>,
    last_number: u64,
}

impl EventLog {
    /// Adds an event and gives it its number, which is returned.
    pub fn push(&mut self, mut event: Event) -> u64 {
        self.last_number += 1;
        event.number = self.last_number;
        if self.events.len() == KEPT_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
        self.last_number
    }

    /// Gives an event of the user's own, a mark, another text; what was seen on targets is never reworded.
    pub fn reword(&mut self, number: u64, text: String) {
        let Some(first) = self.events.front().map(|event| event.number) else { return };
        let index = number.checked_sub(first).and_then(|index| usize::try_from(index).ok());
        if let Some(event) = index.and_then(|index| self.events.get_mut(index)) {
            event.text = text;
        }
    }

    /// Takes the newest event back, if it has this number; false, and nothing done, if others followed it.
    pub fn take_back(&mut self, number: u64) -> bool {
        let is_newest = self.events.back().is_some_and(|event| event.number == number);
        if is_newest {
            self.events.pop_back();
            self.last_number -= 1;
        }
        is_newest
    }

    /// Events, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Event> + ExactSizeIterator {
        self.events.iter()
    }

    /// The event of this number, if it is still kept.
    pub fn get(&self, number: u64) -> Option<&Event> {
        let first = self.events.front()?.number;
        self.events.get(usize::try_from(number.checked_sub(first)?).ok()?)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// True if nothing happened yet.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_when_old_events_go() {
        let mut log = EventLog::default();
        for number in 0..KEPT_EVENTS + 10 {
            log.push(Event {
                number: 0,
                at: Timestamp::UNIX_EPOCH,
                target: None,
                severity: Severity::Info,
                text: format!("event {number}"),
                entity: None,
                evidence: None,
                line: 0,
            });
        }
        assert_eq!(log.len(), KEPT_EVENTS);
        assert_eq!(log.get(10), None);
        assert_eq!(log.get(11).map(|event| event.text.as_str()), Some("event 10"));
        assert_eq!(log.iter().next_back().map(|event| event.number), Some(KEPT_EVENTS as u64 + 10));
    }
}
