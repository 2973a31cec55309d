//! Devices that reach the memory of a VM by themselves need all of it to stay where it is: it must be reserved.

use super::machine::{self, CONCERNED, Kind, Vm};
use super::memory;
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Status;
use crate::diagnose::remedy::Risk;
use crate::fabric::Attribute;

/// All memory of VMs with PVRDMA or a device of the host is reserved.
pub const CHECK: Check = Check {
    id: "vm.memory-reservation",
    title: "All memory of VMs with PVRDMA, passthrough or vGPU is reserved",
    gate: "VMs with a PVRDMA adapter, a passthrough device, a virtual function or a vGPU",
    rule: "fails if less memory is reserved than the VM has; passes if all is, or if the reservation is locked to the maximum",
    source: Source {
        text: "vSphere 6.5 Networking: PVRDMA, memory reservation; KB 2002779; vSphere: Add a PCI Device to a Virtual Machine",
        weak: false,
    },
    thresholds: &[],
    explains: &["vm.power-on-failed", "vm.balloon", "vm.configuration", "guest.balloon"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    machine::with(scene, CONCERNED).iter().map(|vm| of(scene, vm)).collect()
}

fn of(scene: &Scene<'_>, vm: &Vm) -> Judged {
    let (Some((is_reserved, amount)), Some(size)) = (memory::reserved(scene, vm), memory::size(scene, vm)) else {
        let command = "get.config | grep -A1 memoryAllocation";
        return vm.unknown(scene, &vm.id, Attribute::MemoryReservation, "memory reservation", command);
    };
    if is_reserved {
        return vm.pass(&vm.id, &format!("all of its {size} MB are reserved"));
    }
    let what = if vm.has(&[Kind::Pvrdma]) {
        "the RDMA adapter reads and writes the memory of the VM by itself, so none of it may be taken back or moved"
    } else {
        "the device reads and writes the memory of the VM by itself, so all of it is mapped at power-on; without the \
         reservation that fails: 'Invalid memory setting: memory reservation (sched.mem.min) should be equal to memsize'"
    };
    let lock = "Edit Settings > Virtual Hardware > Memory > check Reserve all guest memory (All locked)";
    let back = format!(
        "Edit Settings > Virtual Hardware > Memory > uncheck Reserve all guest memory, Reservation: {amount} MB"
    );
    let risk = if vm.is_on() { Risk::RebootsGuest } else { Risk::None };
    vm.fault(&vm.id, Status::Fail, &format!("{amount} of its {size} MB of memory are reserved"), what)
        .shown(&vm.id, Attribute::MemoryReservation, format!("memory reservation {amount} MB"))
        .shown(&vm.id, Attribute::MemoryTotal, format!("memory {size} MB"))
        .cured_by(
            vm.edit("Reserve all memory", &[lock.to_owned()])
                .risking(risk)
                .undone_by(vm.steps(&[back]), vec![(vm.id.clone(), Attribute::MemoryReservation)])
                .verified_by(&["vm.memory-reservation"])
                .noting("in the VMX: sched.mem.min equal to memSize, and sched.mem.pin = \"TRUE\""),
        )
        .reaching(vm.way(scene))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::check::vm::machine::tests::{gpu_missed, gpu_off};

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || partly(Site::sound()),
        healthy: || Site::sound().replacing("esx01", "esxi.vm-configs", "LockedToMax = true", "LockedToMax = false"),
        unclear: || {
            Site::sound().with("esx02", fails("esxi.vm-configs", 1, "Connect to localhost failed: Connection failure"))
        },
    };

    /// Of the 64 GiB of gpu-a 16 are reserved.
    fn partly(site: Site) -> Site {
        site.replacing("esx01", "esxi.vm-configs", "reservation = 65536", "reservation = 16384").replacing(
            "esx01",
            "esxi.vm-configs",
            "LockedToMax = true",
            "LockedToMax = false",
        )
    }

    fn gpu(site: &Site) -> Judged {
        let found = site.judge(&CHECK);
        found.into_iter().find(|judged| judged.title.starts_with("gpu-a")).expect("it has a GPU")
    }

    #[test]
    fn one_that_is_off_bites_at_its_next_power_on() {
        let missed = gpu(&partly(gpu_missed()));
        assert_eq!(missed.status, Status::Warn);
        assert!(missed.cause.ends_with("It is powered off: this bites at its next power-on"), "{}", missed.cause);
        assert_eq!(gpu(&partly(gpu_off())).status, Status::Info, "nobody uses it");
    }

    #[test]
    fn pvrdma_needs_it_too_and_other_vms_do_not() {
        let site = Site::sound()
            .replacing("esx02", "esxi.vm-configs", "reservation = 32768", "reservation = 0")
            .replacing("esx02", "esxi.vm-configs", "LockedToMax = true", "LockedToMax = false");
        assert_eq!(site.statuses(&CHECK), [Status::Pass, Status::Pass, Status::Fail]);
        let found = site.judge(&CHECK);
        assert!(found[2].title.contains("0 of its 32768 MB"), "{}", found[2].title);
        let ordinary = site.replacing("esx02", "esxi.vm-devices", "VirtualVmxnet3Vrdma", "VirtualVmxnet3").replacing(
            "esx02",
            "esxi.vm-configs",
            "VirtualVmxnet3Vrdma",
            "VirtualVmxnet3",
        );
        assert_eq!(ordinary.statuses(&CHECK), [Status::Pass, Status::Pass]);
    }
}
