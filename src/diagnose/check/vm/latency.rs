//! High latency sensitivity gives each virtual processor a core of its own, but only with all of them reserved.

use super::machine::{self, CONCERNED, Vm};
use super::memory;
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Status;
use crate::fabric::{Attribute, Entity, EntityId};

/// High latency sensitivity comes with full reservations.
pub const CHECK: Check = Check {
    id: "vm.latency-sensitivity",
    title: "High latency sensitivity comes with all processors and memory reserved",
    gate: "VMs with PVRDMA, passthrough or vGPU whose latency sensitivity is high",
    rule: "warns if no processor time or less than that of all processors is reserved, or not all memory; passes else",
    source: Source {
        text: "Deploying Extremely Latency-Sensitive Applications in VMware vSphere: CPU and memory reservation",
        weak: false,
    },
    thresholds: &[],
    explains: &["vm.configuration"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let is_high = |vm: &&Vm| {
        scene.text(&vm.id, Attribute::LatencySensitivity).is_some_and(|level| level.eq_ignore_ascii_case("high"))
    };
    machine::with(scene, CONCERNED).iter().filter(is_high).map(|vm| of(scene, vm)).collect()
}

/// What all processors can do, in MHz, where the Tools tell how fast the host is.
fn full(scene: &Scene<'_>, vm: &Vm) -> Option<u64> {
    let guest = EntityId::new(scene.joined.guest_of(&vm.id)?, Entity::Guest);
    let speed = scene.count(&guest, Attribute::HostProcessorSpeed).filter(|speed| *speed > 0)?;
    speed.checked_mul(scene.count(&vm.id, Attribute::ProcessorCount)?)
}

fn of(scene: &Scene<'_>, vm: &Vm) -> Judged {
    let Some(cpu) = scene.count(&vm.id, Attribute::CpuReservation) else {
        let command = "get.config | grep -A1 cpuAllocation";
        return vm.unknown(scene, &vm.id, Attribute::CpuReservation, "processor reservation", command);
    };
    let full = full(scene, vm);
    // The host rounds the speed of its processors.
    let lacks_cpu = cpu == 0 || full.is_some_and(|full| cpu.saturating_mul(100) < full.saturating_mul(99));
    let memory = memory::reserved(scene, vm);
    let lacks_memory = memory.is_some_and(|(is_reserved, _)| !is_reserved);
    if !lacks_cpu && !lacks_memory {
        return vm.pass(&vm.id, "high latency sensitivity, with what it needs reserved");
    }
    let mut lacking = Vec::new();
    if lacks_cpu {
        lacking.push(full.map_or_else(
            || format!("{cpu} MHz of processor time are reserved"),
            |full| format!("{cpu} of {full} MHz of processor time are reserved"),
        ));
    }
    if lacks_memory {
        lacking.push("not all of its memory is reserved".to_owned());
    }
    let mut judged = vm
        .fault(
            &vm.id,
            Status::Warn,
            &format!("latency sensitivity is high, but {}", lacking.join(" and ")),
            "only with all of it reserved each virtual processor gets a core of its own; without, the setting costs the VM its \
             interrupt coalescing and gives it no exclusive cores",
        )
        .shown(&vm.id, Attribute::LatencySensitivity, "latency sensitivity high");
    if lacks_cpu {
        judged = judged.shown(&vm.id, Attribute::CpuReservation, format!("processor reservation {cpu} MHz"));
    }
    if lacks_memory {
        judged = judged.shown(&vm.id, Attribute::MemoryReservation, "memory reservation");
    }
    let wanted = full.map_or_else(
        || "the number of processors times the speed of the host's".to_owned(),
        |full| format!("{full} MHz"),
    );
    let path = |value: &str| vec![format!("Edit Settings > Virtual Hardware > CPU > Reservation: {value}")];
    judged
        .cured_by(
            vm.edit("Reserve all processor time", &path(&wanted))
                .undone_by(vm.steps(&path(&format!("{cpu} MHz"))), vec![(vm.id.clone(), Attribute::CpuReservation)])
                .verified_by(&["vm.latency-sensitivity"])
                .noting("or set VM Options > Advanced > Latency Sensitivity to Normal"),
        )
        .reaching(vm.way(scene))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, says};

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || high(0),
        healthy: || high(15_960),
        unclear: || high(0).replacing("esx02", "esxi.vm-configs", "cpuAllocation", "cpuOther"),
    };

    fn high(reservation: u32) -> Site {
        let cpu = "cpuAllocation = (vim.ResourceAllocationInfo) {\n      reservation = ";
        Site::sound()
            .replacing(
                "esx02",
                "esxi.vm-configs",
                "level = \"normal\",\n      sensitivity",
                "level = \"high\",\n      sensitivity",
            )
            .replacing("esx02", "esxi.vm-configs", &format!("{cpu}0"), &format!("{cpu}{reservation}"))
    }

    #[test]
    fn the_speed_of_the_host_tells_how_much_is_all() {
        let with = |reservation| high(reservation).with("pv-b", says("linux.tools-speed", "1995 MHz\n"));
        assert_eq!(with(15_960).statuses(&CHECK), [Status::Pass]);
        let found = with(8_000).judge(&CHECK);
        assert!(found[0].title.contains("8000 of 15960 MHz"), "{}", found[0].title);
    }

    #[test]
    fn a_normal_vm_needs_none() {
        assert!(Site::sound().judge(&CHECK).is_empty());
    }
}
