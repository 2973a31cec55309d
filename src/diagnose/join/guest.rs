//! Which guest runs in which VM: by hardware addresses, confirmed by the BIOS UUID where both sides know it.

use std::collections::BTreeSet;

use super::machine::Machine;
use super::{Basis, Gap, Joined, Link, LinkKind, Pair, View, identity};
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// Pairs guests with VMs.
pub(super) fn pair(view: View<'_>, targets: &[TargetId], machines: &[Machine], joined: &mut Joined) {
    for guest in targets {
        let id = EntityId::new(guest, Entity::Guest);
        if !view.exists(&id) {
            continue;
        }
        match vm_of(view, guest, &id, machines) {
            Ok(Some(found)) => {
                joined.links.push(Link {
                    kind: LinkKind::GuestVm,
                    from: id,
                    to: found.vm.clone(),
                    rests_on: found.rests_on,
                });
                joined.pairs.push(Pair { guest: guest.clone(), vm: found.vm, confirmed: found.confirmed });
            }
            Ok(None) => {}
            Err(gap) => joined.gaps.push(gap),
        }
    }
}

struct Found {
    vm: EntityId,
    confirmed: bool,
    rests_on: Vec<Basis>,
}

/// The VM of a guest; `None` where there is nothing to look among, or where the guest is no VM of VMware's.
fn vm_of(view: View<'_>, guest: &TargetId, id: &EntityId, machines: &[Machine]) -> Result<Option<Found>, Gap> {
    let on_vmware = view.text(id, Attribute::Virtualization).is_none_or(|word| word.eq_ignore_ascii_case("vmware"));
    if machines.is_empty() || !on_vmware {
        return Ok(None);
    }
    let uuid = view.shown(id, Attribute::BiosUuid).and_then(|text| identity::uuid(&text));
    let by_uuid = |machine: &&Machine| matches!((uuid, machine.uuid), (Some(guest), Some(vm)) if guest == vm || identity::swapped(guest) == vm);
    let macs: BTreeSet<(String, EntityId)> = view
        .entities(guest)
        .filter(|entity| matches!(entity, Entity::Netdev(_)))
        .map(|entity| EntityId::new(guest, entity.clone()))
        .filter_map(|netdev| Some((view.mac(&netdev)?, netdev)))
        .filter(|(mac, _)| mac != "00:00:00:00:00:00")
        .collect();
    let matches: Vec<(&Machine, Vec<Basis>)> = machines
        .iter()
        .filter_map(|machine| {
            let mut basis = Vec::new();
            for device in view.devices(&machine.id) {
                let Some(mac) = view.mac(&device) else { continue };
                for (_, netdev) in macs.iter().filter(|(of_guest, _)| *of_guest == mac) {
                    basis.push((netdev.clone(), Attribute::HardwareAddress));
                    basis.push((device.clone(), Attribute::HardwareAddress));
                }
            }
            (!basis.is_empty()).then_some((machine, basis))
        })
        .collect();
    let gap = |why: String, rests_on: Vec<Basis>| Gap { about: id.clone(), missing: "VM", why, rests_on };
    let uuid_basis =
        |machine: &Machine| vec![(id.clone(), Attribute::BiosUuid), (machine.id.clone(), Attribute::BiosUuid)];
    match &matches[..] {
        [(machine, basis)] => {
            let confirmed = by_uuid(machine);
            if !confirmed && uuid.is_some() && machine.uuid.is_some() {
                return Err(gap(
                    format!(
                        "a hardware address is that of {}, but the BIOS UUIDs differ: one of the two addresses was copied",
                        machine.id
                    ),
                    basis.iter().cloned().chain(uuid_basis(machine)).collect(),
                ));
            }
            let mut rests_on = basis.clone();
            if confirmed {
                rests_on.extend(uuid_basis(machine));
            }
            Ok(Some(Found { vm: machine.id.clone(), confirmed, rests_on }))
        }
        [] => {
            let same: Vec<&Machine> = machines.iter().filter(by_uuid).collect();
            match same[..] {
                [machine] => {
                    Ok(Some(Found { vm: machine.id.clone(), confirmed: true, rests_on: uuid_basis(machine) }))
                }
                [] if uuid.is_some() => Err(gap(
                    "no VM of the hosts that are read has its BIOS UUID or one of its hardware addresses".to_owned(),
                    vec![(id.clone(), Attribute::BiosUuid)],
                )),
                [] => Err(gap(
                    "no VM of the hosts that are read has one of its hardware addresses, and its BIOS UUID was not read"
                        .to_owned(),
                    Vec::new(),
                )),
                _ => Err(gap(
                    "several VMs have its BIOS UUID, and no hardware address tells them apart".to_owned(),
                    vec![(id.clone(), Attribute::BiosUuid)],
                )),
            }
        }
        several => {
            let basis: Vec<Basis> = several.iter().flat_map(|(_, basis)| basis.clone()).collect();
            let sure: Vec<&Machine> = several.iter().map(|(machine, _)| *machine).filter(by_uuid).collect();
            let running: Vec<&Machine> =
                several.iter().map(|(machine, _)| *machine).filter(|machine| machine.runs == Some(true)).collect();
            match (&sure[..], &running[..]) {
                ([machine], _) => Ok(Some(Found { vm: machine.id.clone(), confirmed: true, rests_on: basis })),
                ([], [machine]) if uuid.is_none() => {
                    Ok(Some(Found { vm: machine.id.clone(), confirmed: false, rests_on: basis }))
                }
                _ => Err(gap(format!("{} VMs have its hardware addresses", several.len()), basis)),
            }
        }
    }
}
