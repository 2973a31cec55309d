//! Nested virtualization and passthrough exclude each other; PVRDMA needs neither.

use super::machine::{self, HARDWARE, Vm};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Status;
use crate::diagnose::remedy::Risk;
use crate::fabric::Attribute;

/// VMs with a device of the host do not expose hardware virtualization.
pub const CHECK: Check = Check {
    id: "vm.nested-virtualization",
    title: "VMs with a device of their host do not expose hardware virtualization to the guest",
    gate: "VMs with a passthrough device or a virtual function",
    rule: "warns if nested virtualization is on: the VM does not start with it; passes if it is off",
    source: Source {
        text: "field report: 'PCI passthrough devices cannot be added when Nested Hardware-Assisted Virtualization is enabled.'",
        weak: true,
    },
    thresholds: &[],
    explains: &["vm.power-on-failed", "vm.configuration"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    machine::with(scene, HARDWARE).iter().map(|vm| of(scene, vm)).collect()
}

fn of(scene: &Scene<'_>, vm: &Vm) -> Judged {
    match scene.flag(&vm.id, Attribute::NestedVirtualization) {
        Some(false) => return vm.pass(&vm.id, "nested virtualization is off"),
        Some(true) => {}
        None => {
            let command = "get.config | grep nestedHVEnabled";
            return vm.unknown(scene, &vm.id, Attribute::NestedVirtualization, "nested virtualization", command);
        }
    }
    let path = |state: &str| {
        vec![format!(
            "Edit Settings > Virtual Hardware > CPU > Hardware virtualization: {state} Expose hardware assisted virtualization \
             to the guest OS"
        )]
    };
    vm.fault(
        &vm.id,
        Status::Warn,
        "nested virtualization is on beside a device of its host",
        "the two exclude each other: 'PCI passthrough devices cannot be added when Nested Hardware-Assisted Virtualization is \
         enabled.'; RDMA does not need it",
    )
    .shown(&vm.id, Attribute::NestedVirtualization, "nestedHVEnabled is true")
    .cured_by(
        vm.edit("Switch nested virtualization off, while the VM is off", &path("uncheck"))
            .risking(if vm.is_on() { Risk::RebootsGuest } else { Risk::None })
            .undone_by(vm.steps(&path("check")), vec![(vm.id.clone(), Attribute::NestedVirtualization)])
            .verified_by(&["vm.nested-virtualization"])
            .noting("in the VMX: vhv.enable = \"FALSE\""),
    )
    .reaching(vm.way(scene))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::check::vm::machine::tests::gpu_missed;

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || nested(Site::sound()),
        healthy: || {
            // With PVRDMA alone it does no harm.
            Site::sound().replacing("esx02", "esxi.vm-configs", "nestedHVEnabled = false", "nestedHVEnabled = true")
        },
        unclear: || {
            Site::sound().with("esx01", fails("esxi.vm-configs", 1, "Connect to localhost failed: Connection failure"))
        },
    };

    #[test]
    fn one_that_is_off_does_not_start_with_it() {
        let found = nested(gpu_missed()).judge(&CHECK);
        assert!(found[0].status == Status::Warn && found[0].cause.contains("next power-on"), "{found:?}");
    }

    fn nested(site: Site) -> Site {
        site.replacing("esx01", "esxi.vm-configs", "nestedHVEnabled = false", "nestedHVEnabled = true")
    }
}
