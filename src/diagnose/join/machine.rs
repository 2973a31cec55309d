//! The VMs of all hosts. A VM that two hosts know (moved without vCenter, seen before and after a move, or registered twice
//! from shared storage) is taken where it runs, and that is said. Clones and copies keep the BIOS UUID of what they were
//! made of: they stay VMs of their own, and are told by file, name and hardware addresses.

use std::collections::{BTreeMap, BTreeSet};

use super::{Basis, Gap, View, identity};
use crate::fabric::{Attribute, EntityId, TargetId, Timestamp};
use crate::probe::esxi::tail_of;

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
        // VMs of one host that share a UUID have their file behind it.
        .or_else(|| identity::uuid(id.entity.name().split(' ').next().unwrap_or_default()))
}

/// All VMs of the targets, each once.
pub(super) fn machines(view: View<'_>, targets: &[TargetId], gaps: &mut Vec<Gap>) -> Vec<Machine> {
    let mut single = Vec::new();
    let mut by_uuid: BTreeMap<[u8; 16], Vec<Machine>> = BTreeMap::new();
    for target in targets {
        for id in &view.index.on(target).vms {
            let machine = Machine { uuid: uuid(view, id), runs: runs(view, id), id: id.clone() };
            match machine.uuid {
                Some(uuid) => by_uuid.entry(uuid).or_default().push(machine),
                None => single.push(machine),
            }
        }
    }
    for same in by_uuid.into_values() {
        for one in parted(view, same) {
            single.extend(chosen(view, one, gaps));
        }
    }
    single
}

/// What tells VMs of one BIOS UUID apart.
struct Marks {
    name: Option<String>,
    /// Folder and file of the VMX: hosts may know one datastore by several names.
    file: Option<String>,
    addresses: BTreeSet<String>,
}

impl Marks {
    fn of(view: View<'_>, id: &EntityId) -> Self {
        let file = view.shown(id, Attribute::VmxPath).map(|path| tail_of(&path).to_owned());
        Self {
            name: view.shown(id, Attribute::VmName),
            file,
            addresses: view.devices(id).iter().filter_map(|device| view.mac(device)).collect(),
        }
    }

    /// True if both can be one VM: nothing that both hosts tell differs. A VM that moved to another datastore has another
    /// file, and the same name and addresses.
    fn can_be(&self, other: &Self) -> bool {
        let differ = |one: &Option<String>, other: &Option<String>| matches!((one, other), (Some(one), Some(other)) if !one.eq_ignore_ascii_case(other));
        let both_have_addresses = !self.addresses.is_empty() && !other.addresses.is_empty();
        if both_have_addresses && self.addresses != other.addresses {
            return false;
        }
        if differ(&self.name, &other.name) {
            return false;
        }
        both_have_addresses || !differ(&self.file, &other.file)
    }
}

/// VMs of one BIOS UUID by which VM they are: a host knows each of its VMs once, and two hosts may know one.
fn parted(view: View<'_>, same: Vec<Machine>) -> Vec<Vec<Machine>> {
    if same.len() < 2 {
        return vec![same];
    }
    let mut parts: Vec<(Marks, Vec<Machine>)> = Vec::new();
    for machine in same {
        let marks = Marks::of(view, &machine.id);
        let found = parts.iter_mut().find(|(known, part)| {
            known.can_be(&marks) && part.iter().all(|other| other.id.target != machine.id.target)
        });
        match found {
            Some((_, part)) => part.push(machine),
            None => parts.push((marks, vec![machine])),
        }
    }
    parts.into_iter().map(|(_, part)| part).collect()
}

/// Of two hosts that know one VM the one on which it runs; all of them where that does not tell.
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
    let basis: Vec<Basis> = same.iter().map(|machine| (machine.id.clone(), Attribute::PowerState)).collect();
    let all: Vec<&Machine> = same.iter().collect();
    // The one that is not taken is what the gap is about.
    let told = |one: &Machine, why: String| {
        let about = all.iter().find(|machine| machine.id != one.id).map_or_else(|| one.id.clone(), |m| m.id.clone());
        Gap { about, missing: "host of the VM", why, rests_on: basis.clone() }
    };
    if let [one] = running[..] {
        let why = format!(
            "{} is registered on {}: it runs on {}, so that one is taken",
            name(one),
            hosts(&all),
            one.id.target
        );
        gaps.push(told(one, why));
        return vec![one.clone()];
    }
    // One file cannot be run twice at a time: it moved between two reads. Hosts are read within seconds.
    let files: BTreeSet<Option<String>> = running.iter().map(|machine| Marks::of(view, &machine.id).file).collect();
    if files.len() == 1
        && !files.contains(&None)
        && let Some(newest) = running.iter().max_by_key(|machine| seen(view, &machine.id))
        && running.iter().filter(|machine| seen(view, &machine.id) == seen(view, &newest.id)).count() == 1
    {
        let why = format!(
            "{} was seen to run on {} from one file: it moves; {} was read last and is taken",
            name(newest),
            hosts(&running),
            newest.id.target
        );
        gaps.push(told(newest, why));
        return vec![(*newest).clone()];
    }
    let why = if running.is_empty() {
        format!("{} is registered on {}, and none of them says that it runs", name(all[0]), hosts(&all))
    } else {
        format!(
            "VMs with one BIOS UUID, one name and the same hardware addresses run on {}: copies, or one that is on its way; \
             nothing tells them apart",
            hosts(&running)
        )
    };
    gaps.push(Gap { about: same[0].id.clone(), missing: "host of the VM", why, rests_on: basis });
    same
}

/// When the host said how the VM stands.
fn seen(view: View<'_>, id: &EntityId) -> Option<Timestamp> {
    view.fabric.reading(id, Attribute::PowerState).map(|reading| reading.at)
}
