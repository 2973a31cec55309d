//! The virtual hardware decides which devices a VM can have and whom it can reach over RDMA.

use super::machine::{self, Kind, Vm};
use crate::diagnose::check::{Check, DeviceKind, Judged, Scene, Source};
use crate::diagnose::finding::Status;
use crate::diagnose::remedy::Risk;
use crate::fabric::{Attribute, TargetId};

/// The virtual hardware is new enough for the devices and the peers of the VM.
pub const CHECK: Check = Check {
    id: "vm.hardware-version",
    title: "The virtual hardware is new enough for the VM's devices and peers",
    gate: "VMs with a PVRDMA adapter or a dynamic passthrough device",
    rule: "fails below 13 with PVRDMA, below 17 with Dynamic DirectPath, and below 18 where a peer has no PVRDMA adapter; \
           passes else",
    source: Source {
        text: "vSphere Networking: PVRDMA Support; VMware vSphere blog: Para-virtual RDMA support for Native Endpoints",
        weak: false,
    },
    thresholds: &[],
    explains: &["vm.power-on-failed", "vm.configuration", "guest.rdma-device", "guest.pvrdma-driver"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    machine::with(scene, &[Kind::Pvrdma, Kind::Dynamic]).iter().map(|vm| of(scene, vm)).collect()
}

fn of(scene: &Scene<'_>, vm: &Vm) -> Judged {
    let Some(version) = scene.count(&vm.id, Attribute::HardwareVersion) else {
        return vm.unknown(scene, &vm.id, Attribute::HardwareVersion, "hardware version", "get.config | grep version");
    };
    let peer = vm.guest.as_ref().and_then(|guest| native_peer(scene, guest));
    let (needed, cause) = match (vm.has(&[Kind::Pvrdma]), vm.has(&[Kind::Dynamic]), peer) {
        (true, ..) if version < 13 => (
            13,
            "PVRDMA came with hardware 13 (vSphere 6.5): below, the adapter does not exist for the guest".to_owned(),
        ),
        (_, true, _) if version < 17 => (
            17,
            "Dynamic DirectPath came with hardware 17 (vSphere 7.0): below, the device cannot be assigned".to_owned(),
        ),
        (true, _, Some(peer)) if version < 18 => (
            18,
            format!(
                "its peer {peer} has no PVRDMA adapter, and below hardware 18 (vSphere 7.0 U1) a PVRDMA adapter has no native \
                 endpoints: the numbers of its queue pairs and keys mean something to PVRDMA VMs alone"
            ),
        ),
        _ => return vm.pass(&vm.id, &format!("hardware {version} is new enough")),
    };
    vm.fault(&vm.id, Status::Fail, &format!("virtual hardware {version}, and {needed} is needed"), &cause)
        .shown(&vm.id, Attribute::HardwareVersion, format!("hardware version {version}"))
        .cured_by(
            vm.edit(
                "Upgrade the virtual hardware",
                &["Compatibility > Upgrade VM Compatibility, while it is off".to_owned()],
            )
            .risking(Risk::RebootsGuest)
            .verified_by(&["vm.hardware-version"])
            .noting("there is no way back but a snapshot or a clone that was made before"),
        )
        .reaching(vm.way(scene))
}

/// A guest with which it is to talk and that has RDMA, but no PVRDMA adapter.
fn native_peer<'a>(scene: &Scene<'a>, guest: &TargetId) -> Option<&'a TargetId> {
    scene.pairs.iter().find_map(|(one, other)| {
        let peer = if one == guest {
            other
        } else if other == guest {
            one
        } else {
            return None;
        };
        let ports = scene.ports(peer);
        let is_native = |kind| kind == DeviceKind::Passthrough;
        let has_pvrdma = ports.iter().any(|port| port.kind == DeviceKind::Pvrdma);
        (!has_pvrdma && ports.iter().any(|port| is_native(port.kind) && !port.is_infiniband)).then_some(peer)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::check::vm::machine::tests::gpu_off;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || version("12"),
        healthy: || version("13"),
        unclear: || {
            Site::sound().with("esx01", fails("esxi.vm-configs", 1, "Connect to localhost failed: Connection failure"))
        },
    };

    fn version(number: &str) -> Site {
        Site::sound().replacing(
            "esx01",
            "esxi.vm-configs",
            "version = \"vmx-19\"",
            &format!("version = \"vmx-{number}\""),
        )
    }

    #[test]
    fn a_peer_without_pvrdma_needs_native_endpoints() {
        let mixed = |number| version(number).pair("pv-a", "hca-a");
        assert_eq!(mixed("17").statuses(&CHECK), [Status::Fail, Status::Pass]);
        let found = mixed("17").judge(&CHECK);
        assert!(found[0].cause.contains("hca-a has no PVRDMA adapter"), "{found:?}");
        assert_eq!(mixed("18").statuses(&CHECK), [Status::Pass, Status::Pass]);
    }

    #[test]
    fn other_vms_may_be_old() {
        // Only gpu-a is off and old: it has no PVRDMA adapter and no dynamic device.
        let site = gpu_off().replacing("esx01", "esxi.vm-configs", "name = \"gpu-a\"", "name = \"old\"");
        assert_eq!(site.statuses(&CHECK), [Status::Pass, Status::Pass]);
    }
}
