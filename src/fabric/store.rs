//! The fold of all facts: what is known of every entity of every target, by which probe, and what changed when a newer
//! report came in.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::attribute::Attribute;
use super::entity::{Entity, EntityId, TargetId};
use super::fact::{Fact, Report};
use super::observation::SourceId;
use super::reading::{Reading, State};
use super::records::Records;
use super::value::Value;

/// The source that reads GPUs of the machine it runs on without a tool between.
const LIBRARY: &str = "gpu.nvml";

/// What one probe last said of one entity.
type Said = BTreeMap<Attribute, Told>;

/// What one probe last said of one attribute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Told {
    reading: Reading<Value>,
    /// Which report this state first came with, counted over all of them: clocks jump, this does not.
    since: u64,
}

/// Everything known of one entity, by probe: two probes may state the same attribute.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Record {
    by_probe: BTreeMap<SourceId, Said>,
}

impl Record {
    /// The reading to believe: a known one before a missing one, then the state that a probe turned to last; of the
    /// probes that agree on it, the newest, then the first by name. (Were the newest of all believed, two probes that keep to different answers
    /// would make a change of every read.)
    fn best(&self, attribute: Attribute) -> Option<&Reading<Value>> {
        let told = || self.by_probe.values().rev().filter_map(move |said| said.get(&attribute));
        // Nearly always there is one probe that tells it.
        let mut all = told();
        let only = all.next()?;
        if all.next().is_none() {
            return Some(&only.reading);
        }
        // The driver's own library stands before the tool that prints what it says.
        let is_library = |told: &Told| told.reading.source.source.as_str() == LIBRARY;
        let best = told().max_by_key(|told| (told.reading.state.known().is_some(), is_library(told), told.since))?;
        told().map(|told| &told.reading).filter(|reading| reading.state == best.reading.state).max_by_key(|one| one.at)
    }

    /// Since when a probe says this, if it says it already; else since `now`.
    fn since(&self, probe: &SourceId, attribute: Attribute, state: &State<Value>, now: u64) -> u64 {
        let told = self.by_probe.get(probe).and_then(|said| said.get(&attribute));
        told.filter(|told| told.reading.state == *state).map_or(now, |told| told.since)
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fabric {
    records: Records<Record>,
    /// Probes that have reported at least once, by target: their first report is a discovery, not a change.
    reported: BTreeSet<(TargetId, SourceId)>,
    /// How many reports were taken in.
    count: u64,
    /// What was believed before the first report of a probe moved it silently.
    untold: BTreeMap<(EntityId, Attribute), State<Value>>,
}

/// True for a fact that says: the list of what there is could not be read.
fn is_unread_list(fact: &Fact) -> bool {
    fact.entity == Entity::Guest
        && matches!(fact.attribute, Attribute::RdmaPresence | Attribute::ForeignQueuePairs)
        && matches!(fact.reading.state, State::Failed(_))
}

impl Fabric {
    /// Takes in a report: it replaces all that the same probe said of that target before. Returns what changed; the
    /// first report of a probe changes nothing, it only tells what there is. A report that was cut short, or whose list
    /// could not be parsed to its end, says nothing about what it does not mention: that stays, and grows old.
    pub fn apply(&mut self, report: &Report) -> Vec<Change> {
        let whole = report.observations.iter().all(|observation| observation.is_whole())
            && !report.facts.iter().any(is_unread_list);
        self.take_in(&report.target, &report.probe, &report.facts, whole)
    }

    /// Takes in all the states that one tick of a stream told, like a report of a probe of that name.
    pub fn apply_facts(&mut self, target: &TargetId, probe: &SourceId, facts: &[Fact]) -> Vec<Change> {
        self.take_in(target, probe, facts, true)
    }

    /// True once a probe was read whole: what it says then is a change, before it is a discovery.
    pub fn has_reported(&self, target: &TargetId, probe: &SourceId) -> bool {
        self.reported.contains(&(target.clone(), probe.clone()))
    }

    /// Forgets all that is known of a target.
    pub fn forget(&mut self, target: &TargetId) {
        self.records.forget(target);
        self.reported.retain(|(other, _)| other != target);
        self.untold.retain(|(id, _), _| id.target != *target);
    }

    fn take_in(&mut self, target: &TargetId, probe: &SourceId, facts: &[Fact], whole: bool) -> Vec<Change> {
        let key = (target.clone(), probe.clone());
        let first = !self.reported.contains(&key);
        if whole {
            self.reported.insert(key);
        }
        self.count += 1;
        let mut said: BTreeMap<&Entity, Said> = BTreeMap::new();
        for fact in facts {
            let told = Told { reading: fact.reading.clone(), since: self.count };
            said.entry(&fact.entity).or_default().insert(fact.attribute, told);
        }
        let mut changes = Vec::new();
        if whole {
            self.drop_unsaid(target, probe, &said, &mut changes);
        }
        for (entity, mut now) in said {
            let id = EntityId::new(target, entity.clone());
            let records = self.records.of_mut(target);
            if !records.contains_key(entity) {
                changes.push(Change::Appeared(id.clone()));
            }
            let record = records.entry(entity.clone()).or_default();
            let own = record.by_probe.get(probe).cloned().unwrap_or_default();
            let attributes: BTreeSet<Attribute> = now.keys().chain(own.keys()).copied().collect();
            let before: Vec<Option<State<Value>>> =
                attributes.iter().map(|a| record.best(*a).map(|reading| reading.state.clone())).collect();
            if !whole {
                for (attribute, told) in &own {
                    now.entry(*attribute).or_insert_with(|| told.clone());
                }
            }
            for (attribute, told) in &mut now {
                told.since = record.since(probe, *attribute, &told.reading.state, self.count);
            }
            record.by_probe.insert(probe.clone(), now);
            let state = |said: Option<&Said>, attribute| said?.get(&attribute).map(|told| told.reading.state.clone());
            for (attribute, before) in attributes.into_iter().zip(before) {
                // Where probes disagree, each repeats its own word: that is no change.
                if state(Some(&own), attribute) == state(record.by_probe.get(probe), attribute) {
                    continue;
                }
                let Some(now) = record.best(attribute).map(|reading| reading.state.clone()) else { continue };
                // What a first report moved silently was believed until this probe turned as well.
                let untold =
                    if own.contains_key(&attribute) { self.untold.remove(&(id.clone(), attribute)) } else { None };
                let before = untold.map_or(before, Some);
                if first {
                    // Where it moved what another probe had told, that one will turn too, and then it is told.
                    if let Some(before) = before.filter(|before| *before != now && !own.contains_key(&attribute)) {
                        self.untold.entry((id.clone(), attribute)).or_insert(before);
                    }
                } else if before.as_ref() != Some(&now) {
                    changes.push(Change::Changed { id: id.clone(), attribute, before, now });
                }
            }
        }
        // What a first report tells is a discovery.
        if first {
            changes.clear();
        }
        changes
    }

    /// Takes back what a probe said of entities that it no longer mentions.
    fn drop_unsaid(
        &mut self,
        target: &TargetId,
        probe: &SourceId,
        said: &BTreeMap<&Entity, Said>,
        changes: &mut Vec<Change>,
    ) {
        let gone: Vec<Entity> = self
            .of_target(target)
            .filter(|(entity, record)| record.by_probe.contains_key(probe) && !said.contains_key(entity))
            .map(|(entity, _)| entity.clone())
            .collect();
        if gone.is_empty() {
            return;
        }
        let records = self.records.of_mut(target);
        for entity in gone {
            if let Some(record) = records.get_mut(&entity) {
                record.by_probe.remove(probe);
                if record.by_probe.is_empty() {
                    records.remove(&entity);
                    changes.push(Change::Vanished(EntityId::new(target, entity)));
                }
            }
        }
        if records.is_empty() {
            self.records.forget(target);
        }
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

    /// True if anything at all was said of an entity.
    pub fn has(&self, id: &EntityId) -> bool {
        self.records.get(id).is_some_and(|record| record.by_probe.values().any(|said| !said.is_empty()))
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
            .filter_map(|(probe, said)| Some((probe, &said.get(&attribute)?.reading)))
            .collect()
    }

    /// All entities of a target, in the order of drawing.
    pub fn entities<'a>(&'a self, target: &'a TargetId) -> impl Iterator<Item = &'a Entity> {
        self.of_target(target).map(|(entity, _)| entity)
    }

    /// The entities of a target that are of the same kind as `first`, from it on: the others are not looked at.
    pub fn of_kind<'a>(&'a self, target: &'a TargetId, first: Entity) -> impl Iterator<Item = &'a Entity> {
        let kind = std::mem::discriminant(&first);
        let of_target = self.records.of(target).into_iter();
        of_target
            .flat_map(move |records| records.range(first.clone()..))
            .map(|(entity, _)| entity)
            .take_while(move |entity| std::mem::discriminant(*entity) == kind)
    }

    /// All ports of all RDMA devices of a target.
    pub fn ports<'a>(&'a self, target: &'a TargetId) -> impl Iterator<Item = (&'a super::Text, u32)> {
        self.entities(target).filter_map(|entity| match entity {
            Entity::RdmaPort { device, port } => Some((device, *port)),
            _ => None,
        })
    }

    /// Names of the interfaces under the RDMA ports of a target.
    pub fn netdevs_under_ports(&self, target: &TargetId) -> Vec<&str> {
        let first = Entity::RdmaPort { device: super::Text::new(""), port: 0 };
        self.of_kind(target, first)
            .filter_map(|entity| self.text(&EntityId::new(target, entity.clone()), Attribute::PortNetdev))
            .collect()
    }

    fn of_target<'a>(&'a self, target: &TargetId) -> impl Iterator<Item = (&'a Entity, &'a Record)> + use<'a> {
        self.records.of(target).into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::super::observation::{Observation, Outcome};
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
    fn the_library_of_gpus_stands_before_the_tool_that_reads_it_too() {
        let mut fabric = Fabric::default();
        let driver = |version: &str| [("rxe0", Attribute::Driver, Value::from(version))];
        fabric.apply(&report("gpu.nvml", &driver("library")));
        fabric.apply(&report("gpu.states", &driver("tool")));
        assert_eq!(fabric.value(&id("rxe0"), Attribute::Driver), Some(&Value::from("library")));
        fabric.apply(&report("gpu.nvml", &[]));
        assert_eq!(fabric.value(&id("rxe0"), Attribute::Driver), Some(&Value::from("tool")));
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
    fn a_list_that_could_not_be_parsed_takes_nothing_back() {
        let mut fabric = Fabric::default();
        let up = report("p", &[("rxe0", Attribute::PortState, PortState::Active.into())]);
        fabric.apply(&up);
        let observation = Observation::of_text("p", "[{\"ifname\":\"rx");
        let broken = |attribute, state| Report {
            facts: vec![observation.fact(Entity::Guest, attribute, state, 0)],
            ..report("p", &[])
        };
        let failed = || State::Failed(crate::fabric::Text::new("no whole JSON"));
        fabric.apply(&broken(Attribute::RdmaPresence, failed()));
        assert!(fabric.value(&id("rxe0"), Attribute::PortState).is_some());
        // What failed besides the list says nothing about the list.
        let changes = fabric.apply(&broken(Attribute::BootId, failed()));
        assert!(changes.contains(&Change::Vanished(id("rxe0"))), "{changes:?}");
    }

    #[test]
    fn a_report_that_was_cut_short_takes_nothing_back() {
        let mut fabric = Fabric::default();
        let up = ("rxe0", Attribute::PortState, PortState::Active.into());
        let mtu = ("rxe0", Attribute::PathMtu, Value::Count(1024));
        let mut short = report("p", &[("rxe0", Attribute::PathMtu, Value::Count(4096))]);
        short.observations = vec![std::sync::Arc::new(Observation::of_text("p", "").with_outcome(Outcome::TimedOut))];
        assert!(fabric.apply(&short).is_empty());
        // What came before was no discovery yet.
        assert!(fabric.apply(&report("p", &[up.clone(), mtu, ("rxe1", up.1, up.2.clone())])).is_empty());
        let changes = fabric.apply(&short);
        assert!(matches!(&changes[..], [Change::Changed { attribute: Attribute::PathMtu, .. }]), "{changes:?}");
        assert_eq!(fabric.value(&id("rxe0"), Attribute::PortState), Some(&PortState::Active.into()));
        assert!(fabric.value(&id("rxe1"), Attribute::PortState).is_some());
        short.observations.clear();
        assert_eq!(fabric.apply(&short)[0], Change::Vanished(id("rxe1")));
        assert_eq!(fabric.value(&id("rxe0"), Attribute::PortState), None);
    }

    #[test]
    fn what_neither_batch_nor_stream_mentions_is_gone() {
        let mut fabric = Fabric::default();
        let (target, stream) = (TargetId::new("test"), SourceId::new("stream"));
        let both =
            report("p", &["rxe0", "rxe1"].map(|device| (device, Attribute::PortState, PortState::Active.into())));
        fabric.apply(&both);
        assert!(fabric.apply_facts(&target, &stream, &both.facts).is_empty());
        assert!(fabric.apply_facts(&target, &stream, &both.facts[..1]).is_empty(), "the batch still mentions it");
        let one = Report { facts: both.facts[..1].to_vec(), ..both.clone() };
        assert_eq!(fabric.apply(&one), [Change::Vanished(id("rxe1"))]);
        assert_eq!(fabric.apply_facts(&target, &stream, &both.facts)[0], Change::Appeared(id("rxe1")));
    }

    #[test]
    fn probes_that_disagree_for_good_are_no_change() {
        let mut fabric = Fabric::default();
        let mut word = |probe: &str, second: i64, mtu: u64| {
            let mut report = report(probe, &[("rxe0", Attribute::PathMtu, Value::Count(mtu))]);
            report.facts[0].reading.at = crate::fabric::Timestamp::from_second(second).expect("a small number");
            fabric.apply(&report).len()
        };
        let changes = [(1, 1024), (2, 1024), (3, 1024), (4, 2048)]
            .map(|(round, mtu)| word("p", 10 * round, mtu) + word("q", 10 * round + 1, 4096));
        assert_eq!(changes, [0, 0, 0, 1]);
    }

    #[test]
    fn a_state_that_a_first_report_moved_is_told_when_the_other_probe_turns_too() {
        let mut fabric = Fabric::default();
        let said = |probe, state: PortState| report(probe, &[("rxe0", Attribute::PortState, state.into())]);
        fabric.apply(&said("stream", PortState::Active));
        assert_eq!(fabric.apply(&said("probe", PortState::Down)), vec![], "a discovery");
        let changes = fabric.apply(&said("stream", PortState::Down));
        assert!(
            matches!(&changes[..], [Change::Changed { before: Some(State::Known(before)), .. }]
                if *before == PortState::Active.into()),
            "{changes:?}"
        );
        assert_eq!(fabric.apply(&said("stream", PortState::Down)), vec![], "once");
    }

    #[test]
    fn probes_that_keep_to_different_answers_change_nothing_and_one_that_turns_does() {
        let mut fabric = Fabric::default();
        let said = |probe, state: PortState| report(probe, &[("rxe0", Attribute::PortState, state.into())]);
        let told = |fabric: &Fabric| fabric.value(&id("rxe0"), Attribute::PortState).cloned();
        for _ in 0..3 {
            assert_eq!(fabric.apply(&said("p", PortState::Active)), vec![]);
            assert_eq!(fabric.apply(&said("q", PortState::Down)), vec![]);
            assert_eq!(told(&fabric), Some(PortState::Down.into()));
        }
        assert_eq!(fabric.apply(&said("q", PortState::Init)).len(), 1);
        assert_eq!(fabric.apply(&said("p", PortState::Active)), vec![]);
        // A stream that sees the link come back is not hidden by a slower probe that never saw it go.
        let active = said("s", PortState::Active).facts;
        assert_eq!(fabric.apply_facts(&TargetId::new("test"), &SourceId::new("s"), &active), vec![]);
        assert_eq!(told(&fabric), Some(PortState::Active.into()));
        let down = said("s", PortState::Down).facts;
        assert_eq!(fabric.apply_facts(&TargetId::new("test"), &SourceId::new("s"), &down).len(), 1);
        assert_eq!(fabric.apply(&said("p", PortState::Active)), vec![]);
        assert_eq!(fabric.apply_facts(&TargetId::new("test"), &SourceId::new("s"), &active).len(), 1);
    }

    #[test]
    fn of_probes_that_agree_the_newest_is_cited() {
        let mut fabric = Fabric::default();
        let said = |probe, second| {
            let mut said = report(probe, &[("rxe0", Attribute::PortState, PortState::Active.into())]);
            for fact in &mut said.facts {
                fact.reading.at = crate::fabric::Timestamp::from_second(second).expect("a time");
            }
            said
        };
        for (probe, second) in [("p", 1), ("q", 2), ("p", 9)] {
            fabric.apply(&said(probe, second));
        }
        let reading = fabric.reading(&id("rxe0"), Attribute::PortState).expect("known");
        assert_eq!(reading.at.as_second(), 9);
    }

    #[test]
    fn the_entities_of_a_kind_are_found_without_the_others() {
        let mut fabric = Fabric::default();
        let port = || Attribute::PortState;
        let names = [("rxe0", port(), PortState::Active.into()), ("rxe1", port(), PortState::Active.into())];
        let mut told = report("p", &names);
        let observation = Observation::of_text("p", "");
        for entity in [Entity::Guest, Entity::RdmaDevice("rxe0".into()), Entity::Netdev("eth0".into())] {
            told.facts.push(observation.known(entity, Attribute::Driver, "x", 1));
        }
        fabric.apply(&told);
        let target = TargetId::new("test");
        let of = |first| fabric.of_kind(&target, first).cloned().collect::<Vec<_>>();
        assert_eq!(of(Entity::port("", 0)), [Entity::port("rxe0", 1), Entity::port("rxe1", 1)]);
        assert_eq!(of(Entity::port("rxe1", 0)), [Entity::port("rxe1", 1)]);
        assert_eq!(of(Entity::Guest), [Entity::Guest]);
        assert!(of(Entity::Vm("".into())).is_empty());
        assert_eq!(fabric.of_kind(&TargetId::new("other"), Entity::Guest).count(), 0);
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
