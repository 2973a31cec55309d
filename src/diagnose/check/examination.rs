//! A scene that owns what it shows: put together from the reports of one collection, target by target, for whoever has no
//! model of a console.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::examine;
use super::scene::{Answers, Machine, MachineKind, Moved, Movements, Reached, Scene};
use super::sight::DeviceKind;
use super::site::SiteSays;
use crate::diagnose::cause::Found;
use crate::diagnose::join::{Joined, join_declared};
use crate::diagnose::limit::Limits;
use crate::fabric::{Attribute, Entity, EntityId, Fabric, Report, TargetId, Timestamp, Value};

/// Of so many guests of a kind each is to talk to each; of more, each to the next one.
const MOST_PAIRED: usize = 6;

/// Values above this can only come from a 64-bit counter, so a fall from there is a reset, not a wrap of 32 bits.
const WRAP_32: u64 = 1 << 32;

/// Everything that checks want to know, owned.
#[derive(Clone, Debug)]
pub struct Examination {
    /// What is known.
    pub fabric: Fabric,
    /// What belongs together.
    pub joined: Joined,
    /// The targets.
    pub machines: BTreeMap<TargetId, Machine>,
    /// Guests that are to talk to each other.
    pub pairs: Vec<(TargetId, TargetId)>,
    /// Counters that were read twice.
    pub movements: Movements,
    /// What the site says of itself.
    pub says: SiteSays,
    /// When it is.
    pub now: Timestamp,
}

/// What one target gave.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// Its name.
    pub target: &'a TargetId,
    /// What it is.
    pub kind: MachineKind,
    /// Whether it answered.
    pub reached: &'a Reached,
    /// What it said.
    pub reports: &'a [Report],
    /// What its counters said some seconds later.
    pub again: &'a [Report],
    /// By how many milliseconds its clock is ahead of ours, and by how much that may be wrong.
    pub clock: Option<(i64, u64)>,
}

impl Examination {
    /// Takes in what the targets gave, in their order.
    pub fn of(given: &[Given<'_>], says: SiteSays, now: Timestamp) -> Self {
        let mut fabric = Fabric::default();
        let mut machines = BTreeMap::new();
        let mut movements = Movements::default();
        let mut order = Vec::new();
        for one in given {
            let mut answers = Answers::default();
            for report in one.reports {
                fabric.apply(report);
                report.observations.iter().for_each(|observation| answers.take(observation));
            }
            movements.take(one.reports, one.again);
            let machine = Machine { kind: one.kind, reached: one.reached.clone(), answers, clock: one.clock };
            machines.insert(one.target.clone(), machine);
            order.push(one.target.clone());
        }
        let joined = join_declared(&fabric, &order, &says.cables);
        let mut examination = Self { fabric, joined, machines, pairs: Vec::new(), movements, says, now };
        examination.pairs = pairs(&examination.scene());
        examination
    }

    /// It as checks see it.
    pub fn scene(&self) -> Scene<'_> {
        Scene {
            fabric: &self.fabric,
            joined: &self.joined,
            machines: &self.machines,
            pairs: &self.pairs,
            movements: &self.movements,
            thresholds: &self.says.thresholds,
            declared: &self.says.declared,
            // One collection has no streams: what only they tell is not judged.
            limits: Limits::NONE,
            now: self.now,
            judged: None,
            kept: None,
        }
    }

    /// What all checks say.
    pub fn examine(&self) -> Vec<Found> {
        examine(&self.scene())
    }
}

impl Movements {
    /// Takes in two reads of the counters of a target. What was read only once, or began anew in between, did not move as
    /// far as anybody can tell.
    pub fn take(&mut self, first: &[Report], again: &[Report]) {
        for later in again {
            let Some(earlier) = first.iter().find(|report| report.probe == later.probe) else { continue };
            let before: BTreeMap<&Entity, (u64, Timestamp)> = counters(earlier).collect();
            for (entity, (now, at)) in counters(later) {
                let Some((was, then)) = before.get(entity) else { continue };
                let (Some(by), Ok(over)) = (grown(*was, now), Duration::try_from(at.duration_since(*then))) else {
                    continue;
                };
                self.0.insert(EntityId::new(&later.target, entity.clone()), Moved { by, over });
            }
        }
    }
}

fn counters(report: &Report) -> impl Iterator<Item = (&Entity, (u64, Timestamp))> {
    report.facts.iter().filter_map(|fact| match (&fact.entity, fact.attribute, fact.reading.state.known()) {
        (Entity::Counter { .. }, Attribute::CounterValue, Some(Value::Count(value))) => {
            Some((&fact.entity, (*value, fact.reading.at)))
        }
        _ => None,
    })
}

/// By how much a counter grew; `None` if it began anew. A fall from the top half of 32 bits into the bottom half is a wrap.
fn grown(before: u64, now: u64) -> Option<u64> {
    match now.checked_sub(before) {
        Some(by) => Some(by),
        None if (WRAP_32 / 2..WRAP_32).contains(&before) && now < WRAP_32 / 2 => Some(WRAP_32 - before + now),
        None => None,
    }
}

/// The guests that are to talk to each other, each pair once: those with RDMA of the same kind. Nobody says which jobs run
/// where, so of few guests all pairs are looked at, of many only neighbours.
pub fn pairs(scene: &Scene<'_>) -> Vec<(TargetId, TargetId)> {
    let mut groups: BTreeMap<(DeviceKind, bool), Vec<&TargetId>> = BTreeMap::new();
    for guest in scene.guests() {
        let mut kinds: BTreeSet<(DeviceKind, bool)> =
            scene.ports(guest).iter().map(|port| (port.kind, port.is_infiniband)).collect();
        // A guest whose PVRDMA adapter is not to be seen is to talk to its like all the same.
        if scene.pvrdma_chains().any(|chain| chain.guest.as_ref() == Some(guest)) {
            kinds.insert((DeviceKind::Pvrdma, false));
        }
        for kind in kinds {
            groups.entry(kind).or_default().push(guest);
        }
    }
    let mut pairs = BTreeSet::new();
    for guests in groups.values() {
        for (place, one) in guests.iter().enumerate() {
            let others = if guests.len() <= MOST_PAIRED { guests.len() } else { (place + 2).min(guests.len()) };
            let others = guests[place + 1..others].iter().filter(|other| !scene.is_same_machine(one, other));
            pairs.extend(others.map(|other| ((*one).clone(), (*other).clone())));
        }
    }
    pairs.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Site, says};
    use crate::fabric::Observation;

    fn report(seconds: i64, values: &[(&str, u64)]) -> Report {
        let mut observation = Observation::of_text("t.counters", "");
        observation.at = Timestamp::from_second(seconds).expect("a small number");
        let counter = |name: &str| Entity::Counter { of: "vmnic2".into(), name: name.into() };
        let facts = values
            .iter()
            .map(|(name, value)| observation.known(counter(name), Attribute::CounterValue, Value::Count(*value), 1));
        Report { target: TargetId::new("t"), probe: "t.counters".into(), facts: facts.collect(), observations: vec![] }
    }

    #[test]
    fn a_counter_that_was_read_twice_moved() {
        let mut movements = Movements::default();
        let first = report(10, &[("a", 5), ("b", 7), ("wrapped", WRAP_32 - 3), ("reset", 90), ("gone", 1)]);
        let again = report(14, &[("a", 9), ("b", 7), ("wrapped", 2), ("reset", 3), ("new", 1)]);
        movements.take(&[first], &[again]);
        let moved = |name: &str| {
            let counter = Entity::Counter { of: "vmnic2".into(), name: name.into() };
            movements.of(&EntityId::new(&TargetId::new("t"), counter)).map(|moved| (moved.by, moved.over.as_secs()))
        };
        assert_eq!((moved("a"), moved("b"), moved("wrapped")), (Some((4, 4)), Some((0, 4)), Some((5, 4))));
        assert_eq!((moved("reset"), moved("gone"), moved("new")), (None, None, None), "these say nothing");
        let before = movements.clone();
        movements.take(&[], &[report(20, &[("a", 1)])]);
        assert_eq!(movements, before, "what was read once did not move");
    }

    fn named(pairs: &[(TargetId, TargetId)]) -> Vec<String> {
        pairs.iter().map(|(one, other)| format!("{one} {other}")).collect()
    }

    #[test]
    fn guests_of_a_kind_are_pairs() {
        let site = Site::sound();
        let joined = site.joined();
        assert_eq!(named(&pairs(&site.scene(&joined))), ["hca-a hca-b", "hca-a vf-a", "hca-b vf-a", "pv-a pv-b"]);
        let gone = Site::sound().with("pv-b", says("linux.rdma-link", "[]\n"));
        let joined = gone.joined();
        assert!(named(&pairs(&gone.scene(&joined))).contains(&"pv-a pv-b".to_owned()), "the host knows its adapter");
    }

    #[test]
    fn of_many_guests_neighbours_are_pairs() {
        let link = r#"[{"ifindex":0,"ifname":"rxe0","port":1,"state":"ACTIVE","physical_state":"LINK_UP","netdev":"eth1","netdev_index":3}]"#;
        let many = |count: usize| {
            let site = (0..count)
                .fold(Site::new(), |site, number| site.guest(&format!("g{number}"), &[says("linux.rdma-link", link)]));
            let joined = site.joined();
            pairs(&site.scene(&joined)).len()
        };
        assert_eq!((many(1), many(2), many(6), many(7)), (0, 1, 15, 6));
    }
}
