//! Memory that the host took back from a VM. Beside a device that reaches the memory by itself there must be none.

use super::machine::{self, CONCERNED, HARDWARE, Vm};
use super::tools;
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Status;
use crate::diagnose::remedy::Risk;
use crate::fabric::Attribute;

/// The host took no memory back from VMs with RDMA or devices of the host.
pub const CHECK: Check = Check {
    id: "vm.balloon",
    title: "The host took no memory back from VMs with PVRDMA, passthrough or vGPU",
    gate: "VMs with PVRDMA, passthrough or vGPU that run, with VMware Tools running in them",
    rule: "fails if memory of a VM with a device of its host is ballooned or swapped, and warns with PVRDMA or vGPU; passes if \
           none is",
    source: Source {
        text: "vSphere Resource Management: memory reclamation; open-vm-tools: vmware-toolbox-cmd stat",
        weak: false,
    },
    thresholds: &[],
    explains: &["guest.balloon"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    machine::with(scene, CONCERNED).iter().filter(|vm| vm.is_on()).filter_map(|vm| of(scene, vm)).collect()
}

fn of(scene: &Scene<'_>, vm: &Vm) -> Option<Judged> {
    // Without Tools there is no balloon, and the figures of the host mean nothing.
    if !scene.text(&vm.id, Attribute::ToolsStatus).is_some_and(tools::run) {
        return None;
    }
    let balloon = scene.count(&vm.id, Attribute::Balloon);
    let swap = scene.count(&vm.id, Attribute::HostSwap);
    if balloon.is_none() && swap.is_none() {
        let command = "get.summary | grep -E 'ballooned|swapped'";
        return Some(vm.unknown(scene, &vm.id, Attribute::Balloon, "memory taken back", command));
    }
    let (taken, swapped) = (balloon.unwrap_or(0), swap.unwrap_or(0));
    if taken == 0 && swapped == 0 {
        return Some(vm.pass(&vm.id, "no memory ballooned or swapped"));
    }
    let what = match (taken, swapped) {
        (taken, 0) => format!("{taken} MB of its memory are ballooned"),
        (0, swapped) => format!("{swapped} MB of its memory are swapped by the host"),
        (taken, swapped) => format!("{taken} MB of its memory are ballooned and {swapped} MB swapped by the host"),
    };
    let (grave, cause) = if vm.has(HARDWARE) {
        (
            Status::Fail,
            "a device of the host reaches the memory of the VM by itself, so all of it must be reserved, and of reserved memory \
             nothing is taken back: the reservation is broken",
        )
    } else {
        (
            Status::Warn,
            "the host lacks memory, or a limit stands below that of the VM; pages that RDMA has registered must stay, so the \
             rest of the guest gets slow",
        )
    };
    let mut judged = vm.fault(&vm.id, grave, &what, cause);
    if taken > 0 {
        judged = judged.shown(&vm.id, Attribute::Balloon, format!("balloonedMemory {taken}"));
    }
    if swapped > 0 {
        judged = judged.shown(&vm.id, Attribute::HostSwap, format!("swappedMemory {swapped}"));
    }
    let reserve =
        "Edit Settings > Virtual Hardware > Memory > check Reserve all guest memory (All locked), Limit: Unlimited";
    Some(
        judged
            .cured_by(
                vm.edit("Reserve all memory and take the limit away", &[reserve.to_owned()])
                    .risking(Risk::RebootsGuest)
                    .undone_by(
                        vm.steps(&[
                            "Edit Settings > Virtual Hardware > Memory > Reservation and Limit as they were".to_owned()
                        ]),
                        vec![(vm.id.clone(), Attribute::MemoryReservation)],
                    )
                    .verified_by(&["vm.balloon", "vm.memory-reservation"]),
            )
            .reaching(vm.way(scene)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site};

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || taken(Site::sound(), "balloonedMemory", "esx02"),
        healthy: Site::sound,
        unclear: || Site::sound().replacing("esx02", "esxi.vm-summary", "quickStats", "noStats"),
    };

    fn taken(site: Site, name: &str, host: &str) -> Site {
        site.replacing(host, "esxi.vm-summary", &format!("{name} = 0"), &format!("{name} = 4096"))
    }

    #[test]
    fn beside_a_device_the_reservation_is_broken() {
        let site = taken(Site::sound(), "swappedMemory", "esx01");
        assert_eq!(site.statuses(&CHECK), [Status::Fail, Status::Warn, Status::Pass], "gpu-a, pv-a, pv-b");
    }

    #[test]
    fn without_tools_the_figures_mean_nothing() {
        let site = taken(Site::sound(), "balloonedMemory", "esx02");
        let site = site.replacing("esx02", "esxi.vm-summary", "guestToolsRunning", "guestToolsNotRunning");
        assert_eq!(site.statuses(&CHECK), [Status::Pass, Status::Pass]);
    }
}
