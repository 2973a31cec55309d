//! What changed since nothing was wrong: the differences between the last healthy snapshot and now, the likeliest to matter
//! first. What a cause stands on comes before what lies on its way, and what someone sets before the states that follow
//! from it.

use std::collections::{BTreeMap, BTreeSet};

use super::cause::{Cause, Diagnosis, Found};
use super::difference::{Difference, Differences, Move, RESTLESS, differences, is_kept};
pub use super::difference::{is_secret, may_be_secret};
use crate::fabric::{Attribute, Entity, EntityId, Fabric, State, TargetId, Timestamp, Value};

/// States that someone sets, or that change only when someone works on the thing: as good as settings here.
const SET: [Attribute; 18] = [
    Attribute::Mtu,
    Attribute::AdminUp,
    Attribute::Addresses,
    Attribute::DcbMode,
    Attribute::PfcEnabled,
    Attribute::PfcPriorities,
    Attribute::SettingRuntime,
    Attribute::ModuleLoaded,
    Attribute::CurrentOwner,
    Attribute::VirtualFunctionActive,
    Attribute::DeviceConnected,
    Attribute::PowerState,
    Attribute::ServiceState,
    Attribute::PeerMemory,
    Attribute::RebootPending,
    Attribute::PortId,
    Attribute::NeighbourName,
    Attribute::NeighbourPort,
];

/// What changed.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A property says something else.
    Value(Difference),
    /// A thing was not there.
    Appeared(EntityId),
    /// A thing is gone.
    Gone(EntityId),
    /// A VM is on another host.
    Moved(Move),
}

impl What {
    /// Of what; of a VM that moved where it is now.
    pub fn about(&self) -> &EntityId {
        match self {
            Self::Value(one) => &one.id,
            Self::Appeared(id) | Self::Gone(id) => id,
            Self::Moved(one) => &one.to,
        }
    }

    /// Which property, if it is one.
    pub fn attribute(&self) -> Option<Attribute> {
        if let Self::Value(one) = self { Some(one.attribute) } else { None }
    }

    /// True for what someone does; false for a state that follows from something.
    pub fn is_set(&self) -> bool {
        use crate::fabric::attribute::Class;
        self.attribute().is_none_or(|attribute| attribute.class() == Class::Setting || SET.contains(&attribute))
    }

    /// What it is told by from one comparison to the next.
    pub fn key(&self) -> (EntityId, Option<Attribute>) {
        (self.about().clone(), self.attribute())
    }
}

/// How near a change is to a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Nearness {
    /// The very property is evidence of it.
    Evidence,
    /// The thing is what it is about, or its evidence.
    Thing,
    /// The thing is on its way.
    Way,
}

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub struct Changed {
    /// What.
    pub what: What,
    /// When the snapshot was made that it is compared with.
    pub since: Timestamp,
    /// When the change was first seen; `None` if it was there when its target was first compared.
    pub seen: Option<Timestamp>,
    /// The place of the first cause that it is near to, and how near.
    pub near: Option<(Nearness, usize)>,
}

/// All that changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Since {
    /// The changes, the likeliest to matter first.
    pub changes: Vec<Changed>,
    /// How many properties only one side could read: nothing is known of these.
    pub unread: usize,
}

/// Compares what was known of targets when nothing was wrong (`at` says when that was, for each) with what is known now.
/// Of targets in `whole` all is compared; of those in `partly`, which could not be read to the end, only what is there on
/// both sides.
pub fn since(
    before: &Fabric,
    after: &Fabric,
    at: &BTreeMap<TargetId, Timestamp>,
    whole: &[TargetId],
    partly: &[TargetId],
) -> Since {
    let found = differences(before, after, whole);
    let known = differences(before, after, partly);
    let unread = found.unread.len() + known.unread.len();
    let moves = found.moves();
    // What belongs to a VM that moved went with it.
    let went: BTreeSet<&EntityId> = moves.iter().flat_map(|one| [&one.from, &one.to]).collect();
    let stays = |id: &EntityId| {
        let (Entity::Vm(vm) | Entity::VmDevice { vm, .. }) = &id.entity else { return true };
        !went.contains(&EntityId::new(&id.target, Entity::Vm(vm.clone())))
    };
    let Differences { changed, added, removed, .. } = found;
    let partly = known.changed.into_iter().filter(|one| one.before.is_some() && one.after.is_some());
    let mut all: Vec<What> = moves.iter().cloned().map(What::Moved).collect();
    all.extend(changed.into_iter().chain(partly).filter(is_told).map(What::Value));
    // What has nothing but secrets is in no snapshot, so nobody knows whether it is new.
    let has_open = |fabric: &Fabric, id: &EntityId| {
        let readings = fabric.readings(id);
        let mut kept = readings.iter().filter(|(attribute, _)| is_kept(&id.entity, **attribute)).peekable();
        kept.peek().is_none() || kept.any(|(_, reading)| !is_secret(&id.entity, &reading.state))
    };
    let is_open = |id: &EntityId| {
        let has_kept = has_open(before, id) && has_open(after, id);
        stays(id) && !may_be_secret(&id.entity.name()) && has_kept
    };
    all.extend(removed.into_iter().filter(&is_open).map(What::Gone));
    all.extend(added.into_iter().filter(&is_open).map(What::Appeared));
    let when = |what: &What| at.get(&what.about().target).copied().unwrap_or(Timestamp::UNIX_EPOCH);
    let mut changes: Vec<Changed> =
        all.into_iter().map(|what| Changed { since: when(&what), what, seen: None, near: None }).collect();
    changes.sort_by_key(|one| !one.what.is_set());
    Since { changes, unread }
}

fn is_told(one: &Difference) -> bool {
    // What went through a file can come back in another shape: a number that may be negative as one that is not.
    if let (Some(State::Known(before)), Some(State::Known(after))) = (&one.before, &one.after)
        && before.to_string() == after.to_string()
    {
        return false;
    }
    let is_open = |state: &Option<State<Value>>| state.as_ref().is_none_or(|state| !is_secret(&one.id.entity, state));
    !RESTLESS.contains(&one.attribute) && is_open(&one.before) && is_open(&one.after)
}

impl Since {
    /// Brings the changes that causes stand on to the front.
    pub fn arrange(&mut self, diagnosis: &Diagnosis) {
        for one in &mut self.changes {
            let near = diagnosis.causes.iter().enumerate();
            one.near = near.filter_map(|(place, cause)| Some((nearness(cause, &one.what)?, place))).min();
        }
        let last = (Nearness::Way, usize::MAX);
        self.changes.sort_by_key(|one| (!one.what.is_set(), one.near.unwrap_or(last)));
    }

    /// The changes that the evidence of a cause stands on, those seen last first.
    pub fn under(&self, cause: &Cause) -> Vec<&Changed> {
        let stands = |one: &&Changed| {
            let near = nearness(cause, &one.what);
            // Where only the thing is the same, it must have come, gone or moved: another property of it is another story.
            let whole = one.what.attribute().is_none();
            one.what.is_set() && (near == Some(Nearness::Evidence) || (whole && near == Some(Nearness::Thing)))
        };
        let mut under: Vec<&Changed> = self.changes.iter().filter(stands).collect();
        under.sort_by_key(|one| std::cmp::Reverse(one.seen));
        under
    }
}

/// How near a change is to a cause and what it explains.
fn nearness(cause: &Cause, what: &What) -> Option<Nearness> {
    let of = |found: &Found| nearness_to(found, what);
    // What only stands on the way of a symptom may be far away from the cause.
    let symptoms = cause.symptoms.iter().filter_map(of).filter(|near| *near == Nearness::Evidence);
    symptoms.chain(of(&cause.found)).min()
}

fn nearness_to(found: &Found, what: &What) -> Option<Nearness> {
    let (about, attribute, judged) = (what.about(), what.attribute(), &found.judged);
    if judged.evidence.iter().any(|item| item.about == *about && item.attribute == attribute && attribute.is_some()) {
        return Some(Nearness::Evidence);
    }
    // A VM that moved brought its devices along.
    let is_it = |id: &EntityId| match (&id.entity, what) {
        (Entity::VmDevice { vm, .. }, What::Moved(one)) => {
            id.target == one.to.target && one.to.entity == Entity::Vm(vm.clone())
        }
        _ => id == about,
    };
    if is_it(&judged.subject) || judged.evidence.iter().any(|item| is_it(&item.about)) {
        return Some(Nearness::Thing);
    }
    judged.reaches.iter().any(is_it).then_some(match what {
        // Where a VM runs decides whether anything on its way works.
        What::Moved(_) => Nearness::Thing,
        _ => Nearness::Way,
    })
}

#[cfg(test)]
mod tests;
