//! What differs between two snapshots of the same targets: settings and lasting states, by layer. What moves by itself
//! (counters, loads, queue pairs, messages) is left out, and what one side could not read is no difference.

use crate::fabric::attribute::Class;
use crate::fabric::{Attribute, Entity, EntityId, Fabric, State, TargetId, Value};

/// The layers from the wire up, as documents order them.
pub const LAYERS: [&str; 7] = ["switch", "host", "vm", "guest", "gpu", "mpi", "tool"];

/// States that are another one after each start, or in each read, without anybody changing anything.
const FLEETING: [Attribute; 6] = [
    Attribute::BootId,
    Attribute::CommandLineTool,
    Attribute::WorldId,
    Attribute::CartelId,
    Attribute::ConnectionId,
    Attribute::OwnerWorld,
];

/// States that are other ones with each read of an idle machine.
pub const RESTLESS: [Attribute; 3] = [Attribute::LinkSpeed, Attribute::UnresolvedNeighbours, Attribute::OwnerCommand];

/// A property that says something else.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Of what.
    pub id: EntityId,
    /// Which property.
    pub attribute: Attribute,
    /// What it said; `None` if it was not told.
    pub before: Option<State<Value>>,
    /// What it says; `None` if it is not told any more.
    pub after: Option<State<Value>>,
}

/// All that differs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Differences {
    /// Properties of things that are on both sides.
    pub changed: Vec<Difference>,
    /// Things that were not there before.
    pub added: Vec<EntityId>,
    /// Things that are gone.
    pub removed: Vec<EntityId>,
    /// Properties that only one side could read: nothing is known of these.
    pub unread: Vec<Difference>,
}

/// A VM that is on another host now. It is among what is gone there and what was added here, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The VM where it was.
    pub from: EntityId,
    /// The VM where it is.
    pub to: EntityId,
}

impl Differences {
    /// VMs that are on another host now: those that are gone in one place and were added in one other.
    pub fn moves(&self) -> Vec<Move> {
        let vms = |all: &[EntityId]| -> Vec<EntityId> {
            all.iter().filter(|id| matches!(id.entity, Entity::Vm(_))).cloned().collect()
        };
        let added = vms(&self.added);
        let moved = vms(&self.removed).into_iter().filter_map(|from| {
            let mut there = added.iter().filter(|to| to.entity == from.entity);
            let to = there.next().filter(|_| there.next().is_none())?.clone();
            Some(Move { from, to })
        });
        moved.collect()
    }

    /// True if nothing that could be compared differs.
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.added.is_empty() && self.removed.is_empty()
    }
}

/// Compares what two collections know of these targets.
pub fn differences(before: &Fabric, after: &Fabric, targets: &[TargetId]) -> Differences {
    let mut found = Differences::default();
    for target in targets {
        let of = |fabric: &Fabric| -> Vec<EntityId> {
            let lasting = fabric.entities(target).filter(|entity| lasts(entity));
            lasting.map(|entity| EntityId::new(target, entity.clone())).filter(|id| is_settled(fabric, id)).collect()
        };
        let (old, new) = (of(before), of(after));
        found.added.extend(new.iter().filter(|id| old.binary_search(id).is_err()).cloned());
        for id in old {
            if new.binary_search(&id).is_err() {
                found.removed.push(id);
                continue;
            }
            compare(before, after, &id, &mut found);
        }
    }
    let order = |id: &EntityId| LAYERS.iter().position(|layer| *layer == layer_of(id, after));
    found.changed.sort_by_key(|one| order(&one.id));
    found.added.sort_by_key(order);
    found.removed.sort_by_key(order);
    found
}

fn compare(before: &Fabric, after: &Fabric, id: &EntityId, found: &mut Differences) {
    let (old, new) = (before.readings(id), after.readings(id));
    let both = old.keys().chain(new.keys().filter(|attribute| !old.contains_key(attribute)));
    for attribute in both.copied().filter(|attribute| is_compared(*attribute)) {
        let (was, is) = (old.get(&attribute), new.get(&attribute));
        let (was, is) = (was.map(|reading| &reading.state), is.map(|reading| &reading.state));
        if same(was, is) {
            continue;
        }
        let one = Difference { id: id.clone(), attribute, before: was.cloned(), after: is.cloned() };
        if was.is_some_and(is_unread) || is.is_some_and(is_unread) {
            found.unread.push(one);
        } else {
            found.changed.push(one);
        }
    }
}

/// The reason why a value is missing is no setting.
fn same(one: Option<&State<Value>>, other: Option<&State<Value>>) -> bool {
    match (one, other) {
        (Some(State::Known(one)), Some(State::Known(other))) => one == other,
        (Some(one), Some(other)) => one.name() == other.name(),
        (one, other) => one.is_none() && other.is_none(),
    }
}

/// True for a state that says nothing about the thing: it could not be read.
pub fn is_unread(state: &State<Value>) -> bool {
    matches!(state, State::Failed(_) | State::NeedsPrivilege(_) | State::NotInstalled(_) | State::NotObservable(_))
}

fn is_compared(attribute: Attribute) -> bool {
    attribute.class() != Class::Measure && !FLEETING.contains(&attribute)
}

/// True for what is compared at all: nothing else has to be kept for a comparison.
pub fn is_kept(entity: &Entity, attribute: Attribute) -> bool {
    lasts(entity) && is_compared(attribute)
}

/// False for things that come and go by themselves.
fn lasts(entity: &Entity) -> bool {
    !matches!(
        entity,
        Entity::QueuePair { .. }
            | Entity::Process(_)
            | Entity::KernelMessage { .. }
            | Entity::LogMessage { .. }
            | Entity::Counter { .. }
    )
}

/// True if anything is known of a thing that could be compared.
fn is_settled(fabric: &Fabric, id: &EntityId) -> bool {
    fabric.readings(id).keys().any(|attribute| is_compared(*attribute))
}

/// The layer of a thing.
pub fn layer_of(id: &EntityId, fabric: &Fabric) -> &'static str {
    let is_host = || !fabric.readings(&EntityId::new(&id.target, Entity::Host)).is_empty();
    match &id.entity {
        Entity::Switch | Entity::SwitchInterface(_) => "switch",
        Entity::Vm(_) | Entity::VmDevice { .. } => "vm",
        Entity::Variable(_) => "mpi",
        Entity::PciFunction(_) if fabric.text(id, Attribute::VendorId) == Some("10de") => "gpu",
        _ if is_host() => "host",
        _ => "guest",
    }
}

/// Parts of words behind which a secret can stand: neither kept nor compared.
const SECRET: [&str; 9] =
    ["passw", "passphrase", "secret", "token", "credential", "private-key", "private_key", "community", "guestinfo."];

/// True for a text that may hold a secret, or name one.
pub fn may_be_secret(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    SECRET.iter().any(|word| text.contains(word))
}

/// True for a property of a thing that may hold a secret.
pub fn is_secret(id: &Entity, state: &State<Value>) -> bool {
    let value = match state {
        State::Known(Value::Text(text)) => may_be_secret(text),
        State::Known(Value::List(list)) => list.iter().any(|item| may_be_secret(item)),
        _ => false,
    };
    value || may_be_secret(&id.name())
}
