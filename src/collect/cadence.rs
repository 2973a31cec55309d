//! What each tick of a stream asks for. Pure: time comes in as the time since the stream began.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::fabric::counter::Role;
use crate::fabric::{Attribute, Entity, Fact, State, Text, Value};
use crate::probe::linux::stream::{Tick, TickRequest};

/// Queue pairs are read this often even if nothing seems to happen.
const QUEUE_PAIRS_EVERY: Duration = Duration::from_secs(5);

/// Files are looked for anew this often.
const RESCAN_EVERY: Duration = Duration::from_mins(1);

/// After a link changed, what hangs on it is looked at anew once it has settled.
const SETTLING: Duration = Duration::from_secs(2);

/// Decides what the next tick asks for.
#[derive(Debug, Default)]
pub struct Cadence {
    queue_pairs_at: Option<Duration>,
    rescan_at: Option<Duration>,
    look_now: bool,
    packets: BTreeMap<(Entity, Text), u64>,
    moving: Option<BTreeSet<Entity>>,
    states: BTreeMap<(Entity, Attribute), State<Value>>,
}

impl Cadence {
    /// The next tick, sent at `now`, of this number.
    ///
    /// `by_root` says whether queue pairs are read by `sudo`, `None` that they cannot be read now.
    pub fn next(&mut self, number: u64, now: Duration, by_root: Option<bool>) -> TickRequest {
        let queue_pairs =
            by_root.is_some() && (std::mem::take(&mut self.look_now) || self.queue_pairs_at.is_none_or(|at| at <= now));
        if queue_pairs {
            self.queue_pairs_at = Some(now + QUEUE_PAIRS_EVERY);
        }
        // The stream itself begins with a look for files.
        let rescan_at = *self.rescan_at.get_or_insert(now + RESCAN_EVERY);
        let rescan = rescan_at <= now;
        if rescan {
            self.rescan_at = Some(now + RESCAN_EVERY);
        }
        TickRequest { number, queue_pairs, by_root: by_root == Some(true), rescan }
    }

    /// Queue pairs are to be read with the next tick.
    pub fn read_queue_pairs(&mut self) {
        self.look_now = true;
    }

    /// A tick was answered at `now`.
    pub fn answered(&mut self, tick: &Tick, now: Duration) {
        if tick.vanished > 0 {
            self.rescan_by(now);
        }
        let link_changed = self.link_changed(&tick.facts);
        if link_changed {
            self.look_now = true;
            self.rescan_by(now + SETTLING);
        }
        let mut moving = BTreeSet::new();
        let mut packets = BTreeMap::new();
        for counter in &tick.counters {
            let of_port = matches!(counter.entity, Entity::RdmaPort { .. });
            if !of_port || !matches!(counter.role, Some(Role::TransmitPackets | Role::ReceivePackets)) {
                continue;
            }
            let key = (counter.entity.clone(), counter.name.clone());
            if self.packets.get(&key).is_some_and(|&before| before != counter.raw) {
                moving.insert(counter.entity.clone());
            }
            packets.insert(key, counter.raw);
        }
        let first = self.packets.is_empty();
        self.packets = packets;
        if first {
            return;
        }
        if self.moving.as_ref().is_some_and(|before| *before != moving) {
            self.look_now = true;
        }
        self.moving = Some(moving);
    }

    fn rescan_by(&mut self, time: Duration) {
        self.rescan_at = Some(self.rescan_at.map_or(time, |at| at.min(time)));
    }

    /// True if the state of a port or an interface is another one than before. A tick says all states each time.
    fn link_changed(&mut self, facts: &[Fact]) -> bool {
        let now: BTreeMap<(Entity, Attribute), State<Value>> =
            facts.iter().map(|fact| ((fact.entity.clone(), fact.attribute), fact.reading.state.clone())).collect();
        if now.is_empty() {
            return false;
        }
        let changed = !self.states.is_empty() && self.states != now;
        self.states = now;
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::series::CounterValue;
    use crate::fabric::{Observation, PortState};

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn tick(packets: u64, state: PortState) -> Tick {
        let port = Entity::port("rxe0", 1);
        let observation = Observation::of_text("stream", "");
        Tick {
            number: 1,
            uptime_centiseconds: 1,
            counters: vec![CounterValue {
                entity: port.clone(),
                name: Text::new("sent_pkts"),
                role: Some(Role::TransmitPackets),
                scale: 1,
                raw: packets,
            }],
            facts: vec![observation.known(port, Attribute::PortState, state, 1)],
            observation,
            vanished: 0,
            wall_clock_ms: None,
        }
    }

    /// Answers one tick a second with what `give` says; gives the seconds at which queue pairs and files were asked for.
    fn run(until: u64, give: impl Fn(u64) -> Tick) -> (Vec<u64>, Vec<u64>) {
        let mut cadence = Cadence::default();
        let (mut queue_pairs, mut rescans) = (vec![], vec![]);
        for second in 0..until {
            let request = cadence.next(second, seconds(second), Some(false));
            assert_eq!(request.number, second);
            if request.queue_pairs {
                queue_pairs.push(second);
            }
            if request.rescan {
                rescans.push(second);
            }
            cadence.answered(&give(second), seconds(second));
        }
        (queue_pairs, rescans)
    }

    #[test]
    fn in_peace_queue_pairs_come_every_five_seconds_and_files_every_minute() {
        let (queue_pairs, rescans) = run(130, |_| tick(7, PortState::Active));
        assert_eq!(queue_pairs[..4], [0, 5, 10, 15]);
        assert_eq!(rescans, [60, 120]);
    }

    #[test]
    fn traffic_that_starts_or_stops_is_looked_at_at_once() {
        let (queue_pairs, _) = run(20, |second| tick(second.clamp(7, 13), PortState::Active));
        // The first tick that differs is the one at 8, the first that does not any more is the one at 14.
        assert_eq!(queue_pairs, [0, 5, 9, 14, 15]);
    }

    #[test]
    fn a_link_that_changed_is_looked_at_at_once_and_again_when_it_has_settled() {
        let state = |second| if second < 7 { PortState::Active } else { PortState::Down };
        let (queue_pairs, rescans) = run(20, |second| tick(7, state(second)));
        assert_eq!(queue_pairs, [0, 5, 8, 13, 18]);
        assert_eq!(rescans, [9]);
    }

    #[test]
    fn files_that_vanished_are_looked_for() {
        let (_, rescans) = run(20, |second| Tick { vanished: u32::from(second == 3), ..tick(7, PortState::Active) });
        assert_eq!(rescans, [4]);
    }

    #[test]
    fn a_reset_of_counters_counts_as_movement_and_breaks_nothing() {
        let (queue_pairs, _) = run(8, |second| tick(if second < 3 { u64::MAX } else { 0 }, PortState::Active));
        assert_eq!(queue_pairs, [0, 4, 5]);
    }
}
