//! What the wizard is asked about: everything, one target, a thing on it, or two guests; and which targets that concerns:
//! those on its way, so that neither more is read nor more is said.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::super::condition;
use super::super::format;
use super::super::host_binding;
use super::super::model::{Model, TargetKind};
use super::super::path;
use super::super::screen::{Focus, Panel};
use super::super::selection::{Node, RowKey};
use super::super::{table, tree};
use crate::fabric::{Entity, EntityId, TargetId};

/// What the wizard is asked about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum About {
    /// Everything.
    #[default]
    Site,
    /// One target.
    Target(TargetId),
    /// A thing on a target: a port, an uplink, a VM.
    Thing(EntityId),
    /// Two guests.
    Pair(TargetId, TargetId),
}

impl About {
    /// In words.
    pub fn words(&self, model: &Model) -> String {
        match self {
            Self::Site => "all targets".to_owned(),
            Self::Target(target) => target.to_string(),
            Self::Thing(id) if matches!(id.entity, Entity::Vm(_)) => {
                format!("{} on {}", format::named(&model.fabric, id), id.target)
            }
            Self::Thing(id) => format!("{} of {}", id.entity.name(), id.target),
            Self::Pair(one, other) => format!("{one} and {other}"),
        }
    }

    /// The targets that it names.
    pub fn named(&self) -> Vec<&TargetId> {
        match self {
            Self::Site => Vec::new(),
            Self::Target(target) => vec![target],
            Self::Thing(id) => vec![&id.target],
            Self::Pair(one, other) => vec![one, other],
        }
    }

    /// The first target that it names and that the inventory has no longer.
    pub fn gone<'a>(&'a self, model: &Model) -> Option<&'a TargetId> {
        self.named().into_iter().find(|target| !model.targets.contains_key(target))
    }
}

/// What is selected where the focus is.
pub fn selected(model: &Model) -> About {
    let of_tree = || match &model.screen.tree.selected {
        Some(Node::Target(target)) => About::Target(target.clone()),
        Some(Node::Entity(id)) => About::Thing(id.clone()),
        None => model.order.first().cloned().map_or(About::Site, About::Target),
    };
    if model.screen.focus == Focus::Tree {
        return of_tree();
    }
    match model.screen.panel {
        Panel::Path | Panel::Tune => path::ends(model).map_or_else(of_tree, |(one, other)| About::Pair(one, other)),
        // It is asked about already.
        Panel::Wizard if model.screen.wizard.about != About::Site => model.screen.wizard.about.clone(),
        Panel::Events => match model.selected_event() {
            Some(event) => match (&event.entity, &event.target) {
                (Some(id), _) if is_thing(&id.entity) => About::Thing(id.clone()),
                (Some(EntityId { target, .. }), _) | (None, Some(target)) => About::Target(target.clone()),
                (None, None) => of_tree(),
            },
            None => of_tree(),
        },
        Panel::Host | Panel::Vm | Panel::GuestLink | Panel::Gpu => {
            let host = || host_binding::selected_host(model).cloned();
            let shown = if matches!(model.screen.panel, Panel::GuestLink | Panel::Gpu) { None } else { host() };
            let Some(target) = shown.or_else(|| model.selected_target().cloned()) else { return of_tree() };
            let row = table::selected(model).map(|(row, _)| row.key);
            match row {
                Some(RowKey::Entity(entity, _)) if is_thing(&entity) => {
                    let id = EntityId::new(&target, entity);
                    if model.fabric.readings(&id).is_empty() { About::Target(target) } else { About::Thing(id) }
                }
                _ => About::Target(target),
            }
        }
        Panel::Wizard | Panel::Live => of_tree(),
    }
}

/// True for a thing that something can be wrong with by itself, and not only with its target.
fn is_thing(entity: &Entity) -> bool {
    matches!(
        entity,
        Entity::RdmaDevice(_)
            | Entity::RdmaPort { .. }
            | Entity::Netdev(_)
            | Entity::Uplink(_)
            | Entity::SwitchInterface(_)
            | Entity::PciFunction(_)
            | Entity::Vm(_)
    )
}

/// True for a guest.
pub fn is_guest(model: &Model, id: &TargetId) -> bool {
    model.targets.get(id).is_some_and(|target| matches!(target.kind, TargetKind::Linux | TargetKind::Local))
}

/// The guest that something is about, if it is about one.
fn guest_of(model: &Model, about: &About) -> Option<TargetId> {
    match about {
        About::Target(target) => is_guest(model, target).then(|| target.clone()),
        About::Thing(id) if matches!(id.entity, Entity::Vm(_)) => model.joined().guest_of(id).cloned(),
        About::Thing(id) => is_guest(model, &id.target).then(|| id.target.clone()),
        About::Site | About::Pair(..) => None,
    }
}

/// The same with the other end, where a guest alone is named and there is another one that it most likely talks to.
pub fn with_other_end(model: &Model, about: &About) -> About {
    let pair = guest_of(model, about).and_then(|one| {
        let other = path::other_of(model, &one)?;
        Some(About::Pair(one, other))
    });
    pair.unwrap_or_else(|| about.clone())
}

/// Two guests that can be prepared for each other, if it is about such or leads to such.
pub fn pair(model: &Model, about: &About) -> Option<(TargetId, TargetId)> {
    let about = match about {
        // A guest on the host, and the one that it talks to.
        About::Target(host) | About::Thing(EntityId { target: host, .. }) if host_binding::is_host(model, host) => {
            let on_host = model.order.iter().find(|guest| tree::host_of(model, guest) == Some(host));
            on_host.map_or_else(|| about.clone(), |guest| About::Target(guest.clone()))
        }
        About::Site => model
            .order
            .iter()
            .find(|target| is_guest(model, target))
            .map_or(About::Site, |guest| About::Target(guest.clone())),
        other => other.clone(),
    };
    match with_other_end(model, &about) {
        About::Pair(one, other) => Some((one, other)),
        _ => None,
    }
}

/// The targets that it concerns: what it names and what stands on the way of that. None for everything.
pub fn targets(model: &Model, about: &About) -> BTreeSet<TargetId> {
    let mut all = BTreeSet::new();
    for named in about.named() {
        around(model, named, &mut all);
    }
    if let Some(guest) = guest_of(model, about) {
        around(model, &guest, &mut all);
    }
    // What is seen of a host or a switch comes from both ends of what goes over it.
    if !matches!(about, About::Pair(..)) {
        let guests: Vec<TargetId> = all.iter().filter(|target| is_guest(model, target)).cloned().collect();
        for other in guests.iter().filter_map(|guest| path::other_of(model, guest)) {
            around(model, &other, &mut all);
        }
    }
    all
}

/// A target and those that share a way with it: the host and the switches of a guest, the guests of a host, the hosts at a
/// switch.
fn around(model: &Model, target: &TargetId, all: &mut BTreeSet<TargetId>) {
    all.insert(target.clone());
    if let Some(vm) = model.joined().vm_of(target) {
        all.insert(vm.target.clone());
    }
    let joined = model.joined();
    for chain in &joined.chains {
        let touches = chain.guest.as_ref() == Some(target)
            || chain.vm.target == *target
            || chain.links.iter().any(|link| link.to.target == *target);
        if touches {
            all.insert(chain.vm.target.clone());
            // On a host with many guests each of them is concerned by the host, and not by the others.
            all.extend(chain.guest.clone());
            all.extend(chain.links.iter().map(|link| link.to.target.clone()));
        }
    }
}

/// The targets as they are named in a line: those that answer first, the others with what they are.
pub fn listed(model: &Model, targets: &BTreeSet<TargetId>) -> String {
    let name = |target: &TargetId| {
        let is_known = model.targets.contains_key(target);
        if is_known && condition::is_stale(model, target) {
            format!("{target} (does not answer)")
        } else {
            target.to_string()
        }
    };
    targets.iter().map(name).collect::<Vec<_>>().join(", ")
}
