//! Without VMware Tools the host can neither shut a guest down nor tell its addresses.

use super::machine::{self, CONCERNED};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Status;
use crate::fabric::Attribute;

/// VMware Tools run in VMs with RDMA or devices of the host.
pub const CHECK: Check = Check {
    id: "vm.tools",
    title: "VMware Tools run in VMs with PVRDMA, passthrough or vGPU",
    gate: "VMs that run and have a PVRDMA adapter, a passthrough device, a virtual function or a vGPU",
    rule: "tells if VMware Tools do not run; passes if they do",
    source: Source { text: "VMware Tools: open-vm-tools in Linux guests", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// What the host calls Tools that run, by its two fields for it.
pub(super) fn run(status: &str) -> bool {
    ["guestToolsRunning", "guestToolsExecutingScripts", "toolsOk", "toolsOld"].contains(&status)
}

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let vms = machine::with(scene, CONCERNED);
    vms.iter()
        .filter(|vm| vm.is_on())
        .map(|vm| match scene.text(&vm.id, Attribute::ToolsStatus) {
            Some(status) if run(status) => vm.pass(&vm.id, "VMware Tools run"),
            Some(status) => vm
                .fault(
                    &vm.id,
                    Status::Info,
                    "VMware Tools do not run",
                    "RDMA works without; the host cannot shut the guest down in order, shows none of its addresses, and what \
                     the Tools tell (ballooned and swapped memory) stays unknown",
                )
                .shown(&vm.id, Attribute::ToolsStatus, format!("the host says {status}"))
                .decided_by("in the guest: systemctl status open-vm-tools (vmtoolsd on RHEL)"),
            None => vm.unknown(scene, &vm.id, Attribute::ToolsStatus, "VMware Tools", "get.summary | grep toolsRunningStatus"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::check::vm::machine::tests::gpu_off;

    pub const SAMPLES: Samples = Samples {
        says: Status::Info,
        trouble: || with("guestToolsNotRunning"),
        healthy: || with("guestToolsExecutingScripts"),
        unclear: || {
            Site::sound().with("esx02", fails("esxi.vm-summary", 1, "Connect to localhost failed: Connection failure"))
        },
    };

    fn with(status: &str) -> Site {
        Site::sound().replacing("esx02", "esxi.vm-summary", "guestToolsRunning", status)
    }

    #[test]
    fn in_a_vm_that_is_off_nothing_runs() {
        assert_eq!(gpu_off().statuses(&CHECK).len(), 2);
    }
}
