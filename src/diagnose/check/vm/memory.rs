//! How much memory a VM has, and how much of it is its own whatever the host lacks.

use super::machine::Vm;
use crate::diagnose::check::Scene;
use crate::fabric::Attribute;

/// Memory of a VM in MB; `None` if it is not known.
pub(super) fn size(scene: &Scene<'_>, vm: &Vm) -> Option<u64> {
    Some(scene.count(&vm.id, Attribute::MemoryTotal)? >> 20)
}

/// Whether all memory is reserved, and how much is, in MB; `None` if that is not known.
pub(super) fn reserved(scene: &Scene<'_>, vm: &Vm) -> Option<(bool, u64)> {
    let size = size(scene, vm)?;
    let amount = scene.count(&vm.id, Attribute::MemoryReservation);
    match (scene.flag(&vm.id, Attribute::ReservationLocked), amount) {
        (Some(true), amount) => Some((true, amount.unwrap_or(size))),
        (_, Some(amount)) => Some((amount >= size, amount)),
        _ => None,
    }
}
