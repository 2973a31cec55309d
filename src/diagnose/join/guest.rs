//! Which guest runs in which VM: by hardware addresses, confirmed by the BIOS UUID where both sides know it.

use std::collections::{BTreeMap, BTreeSet};

use super::machine::Machine;
use super::{Basis, Gap, Joined, Link, LinkKind, Pair, View, identity};
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// Adapters of VMs by hardware address, each with the place of its VM.
type ByAddress = BTreeMap<String, Vec<(usize, EntityId)>>;

/// Pairs guests with VMs.
pub(super) fn pair(view: View<'_>, targets: &[TargetId], machines: &[Machine], joined: &mut Joined) {
    let mut by_address: ByAddress = BTreeMap::new();
    for (at, machine) in machines.iter().enumerate() {
        for device in view.devices(&machine.id) {
            if let Some(mac) = view.mac(device).filter(|mac| mac != "00:00:00:00:00:00") {
                by_address.entry(mac).or_default().push((at, device.clone()));
            }
        }
    }
    for guest in targets {
        let id = EntityId::new(guest, Entity::Guest);
        if !view.exists(&id) {
            continue;
        }
        match vm_of(view, guest, &id, machines, &by_address) {
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
fn vm_of(
    view: View<'_>,
    guest: &TargetId,
    id: &EntityId,
    machines: &[Machine],
    by_address: &ByAddress,
) -> Result<Option<Found>, Gap> {
    let on_vmware = view.text(id, Attribute::Virtualization).is_none_or(|word| word.eq_ignore_ascii_case("vmware"));
    if machines.is_empty() || !on_vmware {
        return Ok(None);
    }
    let uuid = view.shown(id, Attribute::BiosUuid).and_then(|text| identity::uuid(&text));
    let by_uuid = |machine: &&Machine| matches!((uuid, machine.uuid), (Some(guest), Some(vm)) if guest == vm || identity::swapped(guest) == vm);
    let mut matches: BTreeMap<usize, Vec<Basis>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for netdev in &view.index.on(guest).netdevs {
        let Some(mac) = view.mac(netdev) else { continue };
        for (at, device) in by_address.get(&mac).into_iter().flatten() {
            if seen.insert((netdev, device)) {
                let basis = matches.entry(*at).or_default();
                basis.push((netdev.clone(), Attribute::HardwareAddress));
                basis.push((device.clone(), Attribute::HardwareAddress));
            }
        }
    }
    let matches: Vec<(&Machine, Vec<Basis>)> =
        matches.into_iter().filter_map(|(at, basis)| Some((machines.get(at)?, basis))).collect();
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
            let mut same: Vec<&Machine> = machines.iter().filter(by_uuid).collect();
            // A guest that answers runs: of clones it is the one that does, if the hosts say of all others that they are off.
            if same.len() > 1 && same.iter().all(|machine| machine.runs.is_some()) {
                let running: Vec<&Machine> =
                    same.iter().copied().filter(|machine| machine.runs == Some(true)).collect();
                if running.len() == 1 {
                    same = running;
                }
            }
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
            let sure_and_running: Vec<&Machine> =
                sure.iter().copied().filter(|machine| machine.runs == Some(true)).collect();
            match (&sure[..], &running[..]) {
                // Copies that kept address and UUID: a guest that answers is the one that runs.
                ([_, _, ..], _) if sure_and_running.len() == 1 => {
                    Ok(Some(Found { vm: sure_and_running[0].id.clone(), confirmed: true, rests_on: basis }))
                }
                ([machine], _) => Ok(Some(Found { vm: machine.id.clone(), confirmed: true, rests_on: basis })),
                ([], [machine]) if uuid.is_none() => {
                    Ok(Some(Found { vm: machine.id.clone(), confirmed: false, rests_on: basis }))
                }
                _ => Err(gap(format!("{} VMs have its hardware addresses", several.len()), basis)),
            }
        }
    }
}
