//! What the checks found on a hop decides how it stands.

use std::collections::BTreeSet;

use super::draft::Draft;
use super::ends::End;
use super::{HopKind, Side};
use crate::diagnose::cause::Found;
use crate::diagnose::check::Scene;
use crate::diagnose::finding::Status;
use crate::diagnose::qualify::{Requirement, row_of};
use crate::fabric::{Entity, EntityId};

/// Checks that judge the way as a whole: they follow from a path, and no path follows from them.
const OF_THE_WAY: [&str; 6] =
    ["guest.transport", "guest.vlan-pair", "vm.host-qualifies", "vm.migration-targets", "vm.placement", "vm.same-host"];

/// Which checks judge a property that hops are compared by: where they pass, the comparison claims nothing else.
const JUDGE: [(&str, &[&str]); 7] = [
    ("mtu", &["guest.mtu-pair", "host.mtu", "switch.mtu"]),
    ("roce-mtu", &["guest.mtu-pair", "guest.roce-mtu"]),
    ("vlan", &["switch.vlan"]),
    ("pfc", &["host.pfc", "switch.pfc", "switch.pfc-priority"]),
    ("gid", &["guest.gid-roce-v2"]),
    ("subnet", &["guest.same-subnet"]),
    ("pkey", &["guest.partition-key"]),
];

/// Applies what the checks found.
pub(super) fn settle(found: &[Found], hops: &mut [Draft]) {
    let way: BTreeSet<EntityId> =
        hops.iter().flat_map(|draft| draft.things.iter().filter(|thing| !is_whole(&thing.entity)).cloned()).collect();
    let mut in_order: Vec<Vec<&str>> = vec![Vec::new(); hops.len()];
    for one in found {
        let judged = &one.judged;
        if OF_THE_WAY.contains(&one.check.id) || !matches!(one.check.layer(), "switch" | "host" | "vm" | "guest") {
            continue;
        }
        for index in places(one, hops, &way) {
            let Some(draft) = hops.get_mut(index) else { continue };
            match judged.status {
                Status::Fail | Status::Warn => {
                    draft.judge(judged.status, &judged.title);
                    draft.hop.evidence.extend(judged.evidence.iter().cloned());
                }
                Status::Unknown if is_needed(one.check.id) => {
                    draft.judge(Status::Unknown, &format!("{}; what would tell: {}", judged.title, judged.decide));
                }
                Status::Pass => {
                    let named = JUDGE.iter().filter(|(_, ids)| ids.contains(&one.check.id));
                    in_order[index].extend(named.map(|(name, _)| *name));
                }
                Status::Info | Status::Unknown => {}
            }
        }
    }
    for (draft, in_order) in hops.iter_mut().zip(&in_order) {
        draft.apply_marks(in_order);
        draft.hop.evidence.sort();
        draft.hop.evidence.dedup();
    }
}

/// Marks the hops that lack what a host needs for RDMA, where no check looked at it: the verdict follows from the same.
pub(super) fn require(scene: &Scene<'_>, found: &[Found], end: &End<'_>, side: Side, hops: &mut [Draft]) {
    let Some(row) = end.chain.filter(|chain| chain.is_pvrdma()).and_then(|chain| row_of(scene, found, chain)) else {
        return;
    };
    for cell in row.cells.iter().filter(|cell| cell.requirement.is_needed() && cell.check.is_none()) {
        let kind = match cell.requirement {
            Requirement::Hca => HopKind::Uplink,
            Requirement::SoleUplink => HopKind::VirtualSwitch,
            _ => HopKind::Host,
        };
        let Some(draft) = hops.iter_mut().find(|draft| draft.hop.kind == kind && draft.hop.side == side) else {
            continue;
        };
        match cell.status {
            Status::Fail => {
                draft.judge(Status::Fail, &cell.says);
                draft.hop.evidence.extend(cell.exhibits.clone());
            }
            Status::Unknown => {
                draft.judge(Status::Unknown, &format!("{}; what would tell: {}", cell.says, cell.decide));
            }
            _ => {}
        }
    }
}

/// True for a check without whose answer nobody can say that a hop is in order.
fn is_needed(id: &str) -> bool {
    Requirement::ALL.iter().any(|one| one.is_needed() && one.checks().contains(&id))
}

/// True for what a check is about when it speaks of a machine as a whole.
fn is_whole(entity: &Entity) -> bool {
    matches!(entity, Entity::Guest | Entity::Host | Entity::Switch | Entity::Vm(_))
}

/// The hops that a finding is about: those that stand for its subject; where that is a machine as a whole or stands beside
/// the way, and the finding reaches the way, the hop of its layer.
fn places(found: &Found, hops: &[Draft], way: &BTreeSet<EntityId>) -> Vec<usize> {
    let subject = &found.judged.subject;
    let of = |wanted: &dyn Fn(&Draft) -> bool| -> Vec<usize> {
        hops.iter().enumerate().filter(|(_, draft)| wanted(draft)).map(|(index, _)| index).collect()
    };
    if !is_whole(&subject.entity) {
        let own = of(&|draft| draft.things.contains(subject));
        if !own.is_empty() {
            return own;
        }
    }
    if !found.judged.reaches.iter().any(|thing| way.contains(thing)) {
        return Vec::new();
    }
    let kind = match found.check.layer() {
        "switch" => HopKind::SwitchInterface,
        "host" => HopKind::Host,
        "vm" => HopKind::VmAdapter,
        _ => HopKind::GuestDevice,
    };
    let is_vm = matches!(subject.entity, Entity::Vm(_));
    of(&|draft| {
        draft.hop.kind == kind && draft.hop.target == subject.target && (!is_vm || draft.things.contains(subject))
    })
}
