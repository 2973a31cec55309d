//! The VMs of all hosts. A VM that two hosts know (moved without vCenter, or seen before and after a move) is taken
//! where it runs, and that is said.

use std::collections::BTreeMap;

use super::{Gap, View, identity};
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// A VM.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    /// On which host, and which.
    pub(super) id: EntityId,
    /// Its BIOS UUID, if the host told it.
    pub(super) uuid: Option<[u8; 16]>,
    /// How it stands on its host.
    pub(super) runs: Option<bool>,
}

/// True if the host says that a VM runs, false if it says that it does not; `None` if it says nothing.
fn runs(view: View<'_>, id: &EntityId) -> Option<bool> {
    match view.shown(id, Attribute::PowerState) {
        Some(word) => Some(word.eq_ignore_ascii_case("poweredOn") || word.eq_ignore_ascii_case("powered on")),
        None => view.fabric.value(id, Attribute::WorldId).map(|_| true),
    }
}

fn uuid(view: View<'_>, id: &EntityId) -> Option<[u8; 16]> {
    view.shown(id, Attribute::BiosUuid)
        .and_then(|text| identity::uuid(&text))
        .or_else(|| identity::uuid(&id.entity.name()))
}

/// All VMs of the targets, each once.
pub(super) fn machines(view: View<'_>, targets: &[TargetId], gaps: &mut Vec<Gap>) -> Vec<Machine> {
    let mut single = Vec::new();
    let mut by_uuid: BTreeMap<[u8; 16], Vec<Machine>> = BTreeMap::new();
    for target in targets {
        for entity in view.entities(target).filter(|entity| matches!(entity, Entity::Vm(_))) {
            let id = EntityId::new(target, entity.clone());
            let machine = Machine { uuid: uuid(view, &id), runs: runs(view, &id), id };
            match machine.uuid {
                Some(uuid) => by_uuid.entry(uuid).or_default().push(machine),
                None => single.push(machine),
            }
        }
    }
    for same in by_uuid.into_values() {
        single.extend(chosen(view, same, gaps));
    }
    single
}

/// Of VMs with one UUID the one that runs; all of them where that does not tell them apart.
fn chosen(view: View<'_>, same: Vec<Machine>, gaps: &mut Vec<Gap>) -> Vec<Machine> {
    if same.len() < 2 {
        return same;
    }
    let running: Vec<&Machine> = same.iter().filter(|machine| machine.runs == Some(true)).collect();
    let name =
        |machine: &Machine| view.shown(&machine.id, Attribute::VmName).unwrap_or_else(|| machine.id.entity.name());
    let hosts = |machines: &[&Machine]| {
        machines.iter().map(|machine| machine.id.target.to_string()).collect::<Vec<_>>().join(" and ")
    };
    let basis = same.iter().map(|machine| (machine.id.clone(), Attribute::PowerState)).collect();
    let all: Vec<&Machine> = same.iter().collect();
    if let [one] = running[..] {
        let others: Vec<&Machine> = all.iter().copied().filter(|machine| machine.id != one.id).collect();
        gaps.push(Gap {
            about: others.first().map_or_else(|| one.id.clone(), |other| other.id.clone()),
            missing: "host of the VM",
            why: format!(
                "{} is registered on {}: it runs on {}, so that one is taken",
                name(one),
                hosts(&all),
                one.id.target
            ),
            rests_on: basis,
        });
        return vec![one.clone()];
    }
    let why = if running.is_empty() {
        format!("{} is registered on {}, and none of them says that it runs", name(all[0]), hosts(&all))
    } else {
        format!(
            "VMs with one BIOS UUID run on {}: clones that kept their UUID; only hardware addresses tell them apart",
            hosts(&running)
        )
    };
    gaps.push(Gap { about: same[0].id.clone(), missing: "host of the VM", why, rests_on: basis });
    same
}
