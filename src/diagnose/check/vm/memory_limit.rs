//! A limit below the memory of a VM makes the host take memory back although it has enough.

use super::machine::{self, CONCERNED, Vm};
use super::memory;
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Status;
use crate::fabric::Attribute;

/// The memory of VMs with PVRDMA or a device of the host has no limit below its size.
pub const CHECK: Check = Check {
    id: "vm.memory-limit",
    title: "No limit stands below the memory of VMs with PVRDMA, passthrough or vGPU",
    gate: "VMs with a PVRDMA adapter, a passthrough device, a virtual function or a vGPU",
    rule: "fails if a limit is below the memory of the VM; passes without one",
    source: Source { text: "vSphere Resource Management: Memory Limit; vSphere Networking: SR-IOV", weak: false },
    thresholds: &[],
    explains: &["vm.memory-reservation", "vm.power-on-failed", "vm.balloon", "guest.balloon"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    machine::with(scene, CONCERNED).iter().map(|vm| of(scene, vm)).collect()
}

fn of(scene: &Scene<'_>, vm: &Vm) -> Judged {
    let limit = scene.count(&vm.id, Attribute::MemoryLimit);
    // The host words "no limit" by leaving it out beside the reservation.
    let is_read = limit.is_some() || scene.value(&vm.id, Attribute::MemoryReservation).is_some();
    let (Some(size), true) = (memory::size(scene, vm), is_read) else {
        let command = "get.config | grep -A4 memoryAllocation";
        return vm.unknown(scene, &vm.id, Attribute::MemoryReservation, "memory limit", command);
    };
    let Some(limit) = limit.filter(|limit| *limit < size) else {
        return vm.pass(&vm.id, "no limit below its memory");
    };
    let path = |limit: &str| vec![format!("Edit Settings > Virtual Hardware > Memory > Limit: {limit}")];
    vm.fault(
        &vm.id,
        Status::Fail,
        &format!("its memory is limited to {limit} of {size} MB"),
        "what is beyond the limit is ballooned or swapped even on an empty host, and a reservation of all memory is not \
         possible below it",
    )
    .shown(&vm.id, Attribute::MemoryLimit, format!("memory limit {limit} MB"))
    .shown(&vm.id, Attribute::MemoryTotal, format!("memory {size} MB"))
    .cured_by(
        vm.edit("Take the limit away", &path("Unlimited"))
            .undone_by(vm.steps(&path(&format!("{limit} MB"))), vec![(vm.id.clone(), Attribute::MemoryLimit)])
            .verified_by(&["vm.memory-limit"]),
    )
    .reaching(vm.way(scene))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};

    const OPEN: &str = "reservation = 65536,\n      expandableReservation = false,\n      limit = -1";

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || limited(32_768),
        healthy: || limited(65_536),
        unclear: || {
            Site::sound().with("esx01", fails("esxi.vm-configs", 1, "Connect to localhost failed: Connection failure"))
        },
    };

    fn limited(limit: u32) -> Site {
        Site::sound().replacing("esx01", "esxi.vm-configs", OPEN, &OPEN.replace("-1", &limit.to_string()))
    }
}
