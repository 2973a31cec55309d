//! Which hosts are watched by `esxtop` now. It costs a host more than everything else that is read of it, so it runs only
//! while somebody looks at what it tells, or while a verdict on a GPU of one of its VMs rests on it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::effect::Effect;
use super::model::{Model, TargetKind};
use super::screen::Panel;
use super::tree::host_of;
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// Time between two rows.
pub const PERIOD: Duration = Duration::from_secs(5);

/// The same where somebody looks closely: the graphs are at their shortest window.
pub const CLOSE: Duration = Duration::from_secs(2);

/// Asks for what has changed in that since the last message.
pub(super) fn ask(model: &mut Model, effects: &mut Vec<Effect>) {
    // Whoever is opened anew knows nothing of what was asked for before.
    for effect in &*effects {
        if let Effect::Open(target) | Effect::Close(target) = effect {
            model.watched.remove(target);
        }
    }
    let wanted = wanted(model);
    if wanted == model.watched {
        return;
    }
    let before = std::mem::replace(&mut model.watched, wanted);
    let ended =
        before.keys().filter(|target| !model.watched.contains_key(target) && model.targets.contains_key(target));
    effects.extend(ended.map(|target| Effect::Watch { target: target.clone(), period: None }));
    let begun = model.watched.iter().filter(|(target, period)| before.get(target) != Some(period));
    effects.extend(begun.map(|(target, period)| Effect::Watch { target: target.clone(), period: Some(*period) }));
}

/// The hosts that are to be watched, and how often a row is wanted of each.
fn wanted(model: &Model) -> BTreeMap<TargetId, Duration> {
    let mut wanted = BTreeMap::new();
    if !model.targets.values().any(|target| target.kind == TargetKind::Esxi) {
        return wanted;
    }
    for guest in model.targets.keys().filter(|guest| has_gpu(model, guest)) {
        if let Some(host) = host_of(model, guest) {
            wanted.insert(host.clone(), PERIOD);
        }
    }
    if model.screen.panel == Panel::Live
        && let Some(shown) = model.selected_target()
    {
        let period = if model.screen.live.zoom == 0 { CLOSE } else { PERIOD };
        wanted.insert(host_of(model, shown).unwrap_or(shown).clone(), period);
    }
    wanted.retain(|target, _| model.targets.get(target).is_some_and(|target| target.kind == TargetKind::Esxi));
    wanted
}

/// True for a guest that has a GPU which is read.
fn has_gpu(model: &Model, guest: &TargetId) -> bool {
    model.fabric.entities(guest).any(|entity| match entity {
        Entity::Gpu(_) => true,
        Entity::PciFunction(_) => {
            let id = EntityId::new(guest, entity.clone());
            model.fabric.text(&id, Attribute::FunctionKind).is_some_and(|kind| kind.contains("GPU"))
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::message::Message;
    use crate::app::model::{Options, Target};
    use crate::app::tree::Node;
    use crate::app::update;
    use crate::fabric::{Text, Timestamp};

    fn id(name: &str) -> TargetId {
        TargetId::new(name)
    }

    fn model() -> Model {
        let targets = [("esx01", TargetKind::Esxi), ("pv-a", TargetKind::Linux)];
        let targets = targets.map(|(name, kind)| (id(name), Target::new(kind))).to_vec();
        Model::new(targets, Options::default(), Timestamp::UNIX_EPOCH)
    }

    fn watches(effects: Vec<Effect>) -> Vec<(String, Option<u64>)> {
        let of = |effect| match effect {
            Effect::Watch { target, period } => Some((target.to_string(), period.map(|period| period.as_secs()))),
            _ => None,
        };
        effects.into_iter().filter_map(of).collect()
    }

    fn clock(model: &mut Model) -> Vec<(String, Option<u64>)> {
        watches(update(model, Message::Clock(model.now)))
    }

    #[test]
    fn a_host_is_watched_while_its_graphs_are_shown_and_no_longer() {
        let mut model = model();
        assert_eq!(clock(&mut model), []);
        model.screen.panel = Panel::Live;
        model.screen.tree.selected = Some(Node::Target(id("esx01")));
        assert_eq!(clock(&mut model), [("esx01".to_owned(), Some(5))]);
        assert_eq!(clock(&mut model), [], "it is asked for once");
        model.screen.live.zoom = 0;
        assert_eq!(clock(&mut model), [("esx01".to_owned(), Some(2))]);
        model.screen.tree.selected = Some(Node::Entity(EntityId::new(&id("esx01"), Entity::Vm(Text::new("u")))));
        assert_eq!(clock(&mut model), [], "its VMs are read by the same stream");
        model.screen.tree.selected = Some(Node::Target(id("pv-a")));
        assert_eq!(clock(&mut model), [("esx01".to_owned(), None)], "no host is known of this guest");
    }

    #[test]
    fn what_is_opened_anew_is_asked_again() {
        let mut model = model();
        model.screen.panel = Panel::Live;
        model.screen.tree.selected = Some(Node::Target(id("esx01")));
        assert_eq!(clock(&mut model).len(), 1);
        let mut effects = vec![Effect::Close(id("esx01")), Effect::Open(id("esx01"))];
        ask(&mut model, &mut effects);
        assert_eq!(watches(effects), [("esx01".to_owned(), Some(5))]);
        model.forget(&id("esx01"));
        assert_eq!(clock(&mut model), [], "who is gone is not told");
    }
}
