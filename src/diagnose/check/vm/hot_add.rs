//! Adding processors to a VM that runs costs it its virtual NUMA; adding memory is not possible beside a device of the host.

use super::machine::{self, CONCERNED, HARDWARE, Vm};
use crate::diagnose::check::{Check, Judged, Scene, Source, Threshold};
use crate::diagnose::finding::Status;
use crate::diagnose::remedy::Risk;
use crate::fabric::Attribute;

/// From how many processors on a VM has virtual NUMA.
const PROCESSORS: Threshold = Threshold {
    key: "vm.hot-add.processors",
    default: 9.0,
    unit: "processors",
    meaning: "from so many processors on a VM has virtual NUMA, which CPU hot-add switches off",
    source: "vSphere Resource Management: numa.vcpu.min",
};

/// Hot-add takes nothing from VMs with RDMA or devices of the host.
pub const CHECK: Check = Check {
    id: "vm.hot-add",
    title: "Hot-add is off on VMs with PVRDMA, passthrough or vGPU",
    gate: "VMs with a PVRDMA adapter, a passthrough device, a virtual function or a vGPU",
    rule: "warns if processors can be added to a VM that is large enough for virtual NUMA, or memory to one with a device of \
           its host; passes else",
    source: Source { text: "KB 2040375; vSphere Resource Management: numa.vcpu.min", weak: false },
    thresholds: &[PROCESSORS],
    explains: &["vm.configuration", "guest.numa"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    machine::with(scene, CONCERNED).iter().map(|vm| of(scene, vm)).collect()
}

fn of(scene: &Scene<'_>, vm: &Vm) -> Judged {
    let processors = scene.count(&vm.id, Attribute::ProcessorCount);
    let cpu = scene.flag(&vm.id, Attribute::CpuHotAdd);
    let memory = scene.flag(&vm.id, Attribute::MemoryHotAdd);
    // Neither is set on most VMs, and the host words that by leaving them empty.
    let Some(processors) = processors else {
        let command = "get.config | grep -i HotAdd";
        return vm.unknown(scene, &vm.id, Attribute::ProcessorCount, "hot-add", command);
    };
    let is_large = processors as f64 >= scene.thresholds.of(&PROCESSORS);
    let loses_numa = cpu == Some(true) && is_large;
    let in_vain = memory == Some(true) && vm.has(HARDWARE);
    let (title, cause) = match (loses_numa, in_vain) {
        (true, false) => (
            format!("CPU hot-add is on with {processors} processors"),
            "CPU hot-add switches virtual NUMA off: the guest sees one node and cannot place work near its device",
        ),
        (false, true) => (
            "memory hot-add is on beside a device of its host".to_owned(),
            "all memory is reserved and mapped for the device at power-on: none can be added while the VM runs",
        ),
        (true, true) => (
            format!("hot-add of processors and memory is on with {processors} processors and a device of its host"),
            "CPU hot-add switches virtual NUMA off, and memory cannot be added, since all of it is mapped for the device at \
             power-on",
        ),
        (false, false) => return vm.pass(&vm.id, "hot-add takes nothing from it"),
    };
    let mut judged = vm.fault(&vm.id, Status::Warn, &title, cause);
    let mut paths = Vec::new();
    for (is_wrong, attribute, name) in [
        (loses_numa, Attribute::CpuHotAdd, "CPU > CPU Hot Plug"),
        (in_vain, Attribute::MemoryHotAdd, "Memory > Memory Hot Plug"),
    ] {
        if is_wrong {
            judged = judged.shown(&vm.id, attribute, "on");
            paths.push((attribute, format!("Edit Settings > Virtual Hardware > {name}")));
        }
    }
    let steps = |state: &str| paths.iter().map(|(_, path)| format!("{path}: {state}")).collect::<Vec<_>>();
    let basis = paths.iter().map(|(attribute, _)| (vm.id.clone(), *attribute)).collect();
    judged
        .cured_by(
            vm.edit("Switch it off, while the VM is off", &steps("uncheck Enable"))
                .risking(if vm.is_on() { Risk::RebootsGuest } else { Risk::None })
                .undone_by(vm.steps(&steps("check Enable")), basis)
                .verified_by(&["vm.hot-add"]),
        )
        .reaching(vm.way(scene))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || on("cpu"),
        // Eight processors have no virtual NUMA to lose, and gpu-a is small there.
        healthy: || on("cpu").replacing("esx01", "esxi.vm-configs", "numCPU = 16", "numCPU = 8"),
        unclear: || {
            Site::sound().with("esx01", fails("esxi.vm-configs", 1, "Connect to localhost failed: Connection failure"))
        },
    };

    fn on(what: &str) -> Site {
        let text = format!("{what}HotAddEnabled = ");
        Site::sound().replacing("esx01", "esxi.vm-configs", &format!("{text}false"), &format!("{text}true"))
    }

    #[test]
    fn memory_matters_beside_a_device_only() {
        assert_eq!(on("memory").statuses(&CHECK), [Status::Warn, Status::Pass, Status::Pass], "gpu-a, pv-a, pv-b");
    }

    #[test]
    fn a_site_may_set_how_large_a_vm_must_be() {
        let site = on("cpu").with_threshold(PROCESSORS.key, 17.0);
        assert_eq!(site.statuses(&CHECK), [Status::Pass; 3]);
    }
}
