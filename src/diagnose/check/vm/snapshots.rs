//! Snapshots and devices of the host do not go together.

use super::machine::{self, HARDWARE, Vm};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Status;
use crate::fabric::Attribute;

/// VMs with a device of the host have no snapshots.
pub const CHECK: Check = Check {
    id: "vm.snapshots",
    title: "VMs with a device of their host have no snapshots",
    gate: "VMs with a passthrough device or a virtual function",
    rule: "warns if the VM has snapshots; passes if it has none. PVRDMA alone allows them",
    source: Source {
        text: "vSphere: DirectPath I/O, what is not available; vSphere Networking: PVRDMA Support",
        weak: false,
    },
    thresholds: &[],
    explains: &["vm.configuration"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    machine::with(scene, HARDWARE).iter().map(|vm| of(scene, vm)).collect()
}

fn of(scene: &Scene<'_>, vm: &Vm) -> Judged {
    let count = match scene.count(&vm.id, Attribute::SnapshotCount) {
        Some(0) => return vm.pass(&vm.id, "no snapshots"),
        Some(count) => count,
        None => {
            let unread = scene.unread(&vm.host, "esxi.vm-snapshots");
            let (lack, why) = unread
                .or_else(|| scene.lack(&vm.id, Attribute::SnapshotCount))
                .unwrap_or_else(|| (crate::diagnose::check::Lack::NotObservable, format!("{} does not say", vm.host)));
            return vm.unclear(&vm.id, lack, &format!("its snapshots: {why}"), vm.ask(scene, "snapshot.get"));
        }
    };
    let noun = if count == 1 { "snapshot" } else { "snapshots" };
    vm.fault(
        &vm.id,
        Status::Warn,
        &format!("{count} {noun}, and a device of its host"),
        "with such a device no snapshot can be taken, and to go back to one that was made without it takes the device away; \
         while there are some the size of the disks and the hardware cannot be changed",
    )
    .shown(&vm.id, Attribute::SnapshotCount, format!("{count} {noun}"))
    .cured_by(
        vm.edit("Remove the snapshots", &["Snapshots > Manage Snapshots > Delete All".to_owned()])
            .verified_by(&["vm.snapshots"])
            .noting("this keeps the present state of the disks and cannot be undone"),
    )
    .reaching(vm.way(scene))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::check::vm::machine::tests::gpu_off;

    const TREE: &str = "@item 1\nGet Snapshot:\n\n@status 0\n@item 5\nGet Snapshot:\n|-ROOT\n--Snapshot Name        : before driver\n\
                        --Snapshot Id        : 1\n--|-CHILD\n----Snapshot Name        : after driver\n\n@status 0\n";

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || Site::sound().with("esx01", says("esxi.vm-snapshots", TREE)),
        healthy: || {
            // The one with PVRDMA alone may have some.
            let text = TREE.replace("@item 1\n", "@item 9\n").replace("@item 5\n", "@item 1\n");
            Site::sound().with("esx01", says("esxi.vm-snapshots", &text.replace("@item 9\n", "@item 5\n")))
        },
        unclear: || {
            Site::sound()
                .with("esx01", fails("esxi.vm-snapshots", 1, "Connect to localhost failed: Connection failure"))
        },
    };

    #[test]
    fn of_a_vm_that_nobody_uses_they_are_only_told() {
        assert_eq!(gpu_off().with("esx01", says("esxi.vm-snapshots", TREE)).statuses(&CHECK), [Status::Info]);
    }
}
