//! The fold of all facts: what is known of every entity of every target, by which probe, and what changed when a newer
//! report came in.

use std::collections::{BTreeMap, BTreeSet};

use super::attribute::Attribute;
use super::entity::{Entity, EntityId, TargetId};
use super::fact::{Fact, Report};
use super::observation::SourceId;
use super::reading::{Reading, State};
use super::value::Value;

/// What one probe last said of one entity.
type Said = BTreeMap<Attribute, Reading<Value>>;

/// Everything known of one entity, by probe: two probes may state the same attribute.
#[derive(Clone, Debug, Default, PartialEq)]
struct Record {
    by_probe: BTreeMap<SourceId, Said>,
}

impl Record {
    /// The reading to believe: a known one before a missing one, then the newest, then the one of the first probe by
    /// name.
    fn best(&self, attribute: Attribute) -> Option<&Reading<Value>> {
        self.by_probe.values().filter_map(|said| said.get(&attribute)).reduce(|best, other| {
            let rank = |reading: &Reading<Value>| (reading.state.known().is_some(), reading.at);
            if rank(other) > rank(best) { other } else { best }
        })
    }
}

/// Something that a report changed.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// An entity that was not there before.
    Appeared(EntityId),
    /// An entity that is gone.
    Vanished(EntityId),
    /// An attribute whose state is another one now.
    Changed {
        /// Of what.
        id: EntityId,
        /// Which property.
        attribute: Attribute,
        /// What was believed before; `None` if nothing was.
        before: Option<State<Value>>,
        /// What is believed now.
        now: State<Value>,
    },
}

/// The fold of all facts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fabric {
    records: BTreeMap<EntityId, Record>,
    /// Probes that have reported at least once, by target: their first report is a discovery, not a change.
    reported: BTreeSet<(TargetId, SourceId)>,
}

impl Fabric {
    /// Takes in a report: it replaces all that the same probe said of that target before. Returns what changed; the
    /// first report of a probe changes nothing, it only tells what there is.
    pub fn apply(&mut self, report: &Report) -> Vec<Change> {
        let first = self.reported.insert((report.target.clone(), report.probe.clone()));
        let mut said: BTreeMap<&Entity, Said> = BTreeMap::new();
        for fact in &report.facts {
            said.entry(&fact.entity).or_default().insert(fact.attribute, fact.reading.clone());
        }
        let mut changes = Vec::new();
        let gone: Vec<EntityId> = self
            .of_target(&report.target)
            .filter(|(id, record)| record.by_probe.contains_key(&report.probe) && !said.contains_key(&id.entity))
            .map(|(id, _)| id.clone())
            .collect();
        for id in gone {
            if let Some(record) = self.records.get_mut(&id) {
                record.by_probe.remove(&report.probe);
                if record.by_probe.is_empty() {
                    self.records.remove(&id);
                    changes.push(Change::Vanished(id));
                }
            }
        }
        for (entity, now) in said {
            let id = EntityId::new(&report.target, entity.clone());
            if !self.records.contains_key(&id) {
                changes.push(Change::Appeared(id.clone()));
            }
            let record = self.records.entry(id.clone()).or_default();
            let attributes: BTreeSet<Attribute> = now
                .keys()
                .copied()
                .chain(record.by_probe.get(&report.probe).into_iter().flat_map(|said| said.keys().copied()))
                .collect();
            let before: Vec<Option<State<Value>>> =
                attributes.iter().map(|a| record.best(*a).map(|reading| reading.state.clone())).collect();
            record.by_probe.insert(report.probe.clone(), now);
            for (attribute, before) in attributes.into_iter().zip(before) {
                let Some(now) = record.best(attribute).map(|reading| reading.state.clone()) else { continue };
                if before.as_ref() != Some(&now) {
                    changes.push(Change::Changed { id: id.clone(), attribute, before, now });
                }
            }
        }
        if first { Vec::new() } else { changes }
    }

    /// Takes in single facts beside what the probe said before (the states that a stream reads each second).
    pub fn apply_facts(&mut self, target: &TargetId, probe: &SourceId, facts: &[Fact]) -> Vec<Change> {
        let mut changes = Vec::new();
        for fact in facts {
            let id = EntityId::new(target, fact.entity.clone());
            let record = self.records.entry(id.clone()).or_default();
            let before = record.best(fact.attribute).map(|reading| reading.state.clone());
            record.by_probe.entry(probe.clone()).or_default().insert(fact.attribute, fact.reading.clone());
            if before.as_ref() != Some(&fact.reading.state)
                && let Some(before) = before
            {
                changes.push(Change::Changed {
                    id,
                    attribute: fact.attribute,
                    before: Some(before),
                    now: fact.reading.state.clone(),
                });
            }
        }
        changes
    }

    /// Forgets what one probe said of a target (its stream ended).
    pub fn forget(&mut self, target: &TargetId, probe: &SourceId) {
        for (_, record) in self.records.iter_mut().filter(|(id, _)| id.target == *target) {
            record.by_probe.remove(probe);
        }
        self.records.retain(|_, record| !record.by_probe.is_empty());
        self.reported.remove(&(target.clone(), probe.clone()));
    }

    /// The reading to believe for one attribute of one entity.
    pub fn reading(&self, id: &EntityId, attribute: Attribute) -> Option<&Reading<Value>> {
        self.records.get(id)?.best(attribute)
    }

    /// The value, if it is known.
    pub fn value(&self, id: &EntityId, attribute: Attribute) -> Option<&Value> {
        self.reading(id, attribute)?.state.known()
    }

    /// The text of a value, if it is known and a text.
    pub fn text(&self, id: &EntityId, attribute: Attribute) -> Option<&str> {
        self.value(id, attribute)?.as_text().map(super::Text::as_str)
    }

    /// All readings to believe for one entity, in the order of attributes.
    pub fn readings(&self, id: &EntityId) -> BTreeMap<Attribute, &Reading<Value>> {
        let Some(record) = self.records.get(id) else { return BTreeMap::new() };
        let attributes: BTreeSet<Attribute> = record.by_probe.values().flat_map(|said| said.keys().copied()).collect();
        attributes.into_iter().filter_map(|attribute| Some((attribute, record.best(attribute)?))).collect()
    }

    /// All readings of one attribute of one entity, by probe: where two probes disagree, both are here.
    pub fn opinions(&self, id: &EntityId, attribute: Attribute) -> Vec<(&SourceId, &Reading<Value>)> {
        self.records
            .get(id)
            .into_iter()
            .flat_map(|record| record.by_probe.iter())
            .filter_map(|(probe, said)| Some((probe, said.get(&attribute)?)))
            .collect()
    }

    /// All entities of a target, in the order of drawing.
    pub fn entities<'a>(&'a self, target: &'a TargetId) -> impl Iterator<Item = &'a Entity> {
        self.of_target(target).map(|(id, _)| &id.entity)
    }

    /// All ports of all RDMA devices of a target.
    pub fn ports<'a>(&'a self, target: &'a TargetId) -> impl Iterator<Item = (&'a super::Text, u32)> {
        self.entities(target).filter_map(|entity| match entity {
            Entity::RdmaPort { device, port } => Some((device, *port)),
            _ => None,
        })
    }

    fn of_target<'a>(&'a self, target: &'a TargetId) -> impl Iterator<Item = (&'a EntityId, &'a Record)> {
        let start = EntityId::new(target, Entity::Guest);
        self.records.range(start..).take_while(move |(id, _)| id.target == *target)
    }
}

#[cfg(test)]
mod tests {
    use super::super::observation::Observation;
    use super::super::value::PortState;
    use super::*;

    fn report(probe: &str, facts: &[(&str, Attribute, Value)]) -> Report {
        let observation = Observation::of_text(probe, "");
        Report {
            target: TargetId::new("test"),
            probe: SourceId::new(probe),
            observations: vec![],
            facts: facts
                .iter()
                .map(|(device, attribute, value)| {
                    observation.known(Entity::port(device, 1), *attribute, value.clone(), 1)
                })
                .collect(),
        }
    }

    fn id(device: &str) -> EntityId {
        EntityId::new(&TargetId::new("test"), Entity::port(device, 1))
    }

    #[test]
    fn the_first_report_is_no_change_and_the_next_is() {
        let mut fabric = Fabric::default();
        let up = report("p", &[("rxe0", Attribute::PortState, PortState::Active.into())]);
        assert!(fabric.apply(&up).is_empty());
        assert!(fabric.apply(&up).is_empty());
        let down = report("p", &[("rxe0", Attribute::PortState, PortState::Down.into())]);
        assert_eq!(
            fabric.apply(&down),
            vec![Change::Changed {
                id: id("rxe0"),
                attribute: Attribute::PortState,
                before: Some(State::Known(PortState::Active.into())),
                now: State::Known(PortState::Down.into()),
            }]
        );
    }

    #[test]
    fn what_a_probe_no_longer_mentions_is_gone_unless_another_still_does() {
        let mut fabric = Fabric::default();
        let both = [
            ("rxe0", Attribute::PortState, PortState::Active.into()),
            ("rxe1", Attribute::PortState, PortState::Active.into()),
        ];
        fabric.apply(&report("p", &both));
        fabric.apply(&report("q", &both[..1]));
        assert_eq!(fabric.apply(&report("p", &[])), vec![Change::Vanished(id("rxe1"))]);
        assert!(fabric.value(&id("rxe0"), Attribute::PortState).is_some());
        assert_eq!(fabric.apply(&report("q", &[])), vec![Change::Vanished(id("rxe0"))]);
        assert_eq!(fabric.entities(&TargetId::new("test")).count(), 0);
    }

    #[test]
    fn a_known_value_is_believed_before_a_missing_one() {
        let mut fabric = Fabric::default();
        fabric.apply(&report("b", &[("rxe0", Attribute::PortState, PortState::Active.into())]));
        let observation = Observation::of_text("a", "");
        fabric.apply(&Report {
            target: TargetId::new("test"),
            probe: SourceId::new("a"),
            observations: vec![],
            facts: vec![observation.fact(Entity::port("rxe0", 1), Attribute::PortState, State::Empty, 0)],
        });
        assert_eq!(fabric.value(&id("rxe0"), Attribute::PortState), Some(&PortState::Active.into()));
        assert_eq!(fabric.opinions(&id("rxe0"), Attribute::PortState).len(), 2);
    }

    #[test]
    fn targets_do_not_mix() {
        let mut fabric = Fabric::default();
        fabric.apply(&report("p", &[("rxe0", Attribute::PortState, PortState::Active.into())]));
        assert_eq!(fabric.entities(&TargetId::new("tes")).count(), 0);
        assert_eq!(fabric.entities(&TargetId::new("test2")).count(), 0);
        assert_eq!(fabric.ports(&TargetId::new("test")).count(), 1);
    }
}
