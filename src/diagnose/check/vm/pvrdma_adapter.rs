//! A guest that is to talk over RDMA needs a device for it in its VM, and of PVRDMA adapters a VM can have so many only.

use super::machine::{self, CONCERNED, Kind, Vm};
use crate::diagnose::check::{Check, DeviceKind, Judged, Lack, Scene, Source};
use crate::diagnose::finding::Status;
use crate::diagnose::remedy::Risk;
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// VMs that are to talk over RDMA have a device for it.
pub const CHECK: Check = Check {
    id: "vm.pvrdma-adapter",
    title: "VMs that are to talk over RDMA have a device for it",
    gate: "VMs with a PVRDMA adapter, and VMs of guests that are to talk to each other",
    rule: "fails if the VM of a guest that is to talk has neither a PVRDMA adapter nor a device of its host, or has more than \
           ten PVRDMA adapters (on 6.5: more than one); warns where the guest does RDMA in software; passes else",
    source: Source {
        text: "vSphere Networking: PVRDMA Support; KB 328676 (one on 6.5); open-vm-tools vm_device_version.h (ten)",
        weak: false,
    },
    thresholds: &[],
    explains: &["guest.rdma-device", "guest.pvrdma-driver", "guest.software-rdma", "vm.configuration"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    machine::all(scene).iter().filter_map(|vm| of(scene, vm)).collect()
}

fn of(scene: &Scene<'_>, vm: &Vm) -> Option<Judged> {
    let adapters: Vec<_> = vm.of(&[Kind::Pvrdma]).collect();
    if let [first, ..] = &adapters[..] {
        let host = EntityId::new(&vm.host, Entity::Host);
        let is_65 = scene.text(&host, Attribute::EsxiVersion).is_some_and(|release| release.starts_with("6.5"));
        let most = if is_65 { 1 } else { 10 };
        if adapters.len() <= most {
            return Some(vm.pass(&vm.id, &format!("has {} as PVRDMA adapter", first.label)));
        }
        let over = &adapters[most..];
        let mut judged = vm.fault(
            &vm.id,
            Status::Fail,
            &format!("{} PVRDMA adapters, of which it can have {most}", adapters.len()),
            "the ones beyond that number do not come up",
        );
        for adapter in over {
            judged = judged.shown(&adapter.id, Attribute::DeviceKind, format!("{} is one too many", adapter.label));
        }
        let paths: Vec<String> = over.iter().map(|one| format!("Edit Settings > {} > Remove", one.label)).collect();
        let cure = vm.edit("Remove the adapters beyond that number", &paths).risking(Risk::DisruptsRdma);
        return Some(judged.cured_by(cure.verified_by(&["vm.pvrdma-adapter"])).reaching(vm.way(scene)));
    }
    let guest = vm.guest.as_ref()?;
    let peer = peer_of(scene, guest)?;
    if vm.devices.is_empty() {
        let unread = scene.unread(&vm.host, "esxi.vm-devices").or_else(|| scene.unread(&vm.host, "esxi.vm-configs"));
        let (lack, why) =
            unread.unwrap_or_else(|| (Lack::NotObservable, format!("{} lists no devices of it", vm.host)));
        return Some(vm.unclear(&vm.id, lack, &format!("its devices: {why}"), vm.ask(scene, "device.getdevices")));
    }
    if vm.has(CONCERNED) {
        return Some(vm.pass(&vm.id, "has a device of its host for RDMA"));
    }
    let ports = scene.ports(guest);
    let in_software = ports.iter().any(|port| port.kind == DeviceKind::Software);
    // A device that the join knows nothing about may be what it needs.
    if ports.iter().any(|port| port.kind != DeviceKind::Software) {
        return None;
    }
    let (grave, cause) = if in_software {
        (
            Status::Warn,
            "RDMA is done in software over an ordinary adapter there: it works at the cost of processor time",
        )
    } else {
        (Status::Fail, "without one the guest has no RDMA device, whatever is installed in it")
    };
    let mut judged = vm.fault(
        &vm.id,
        grave,
        &format!("no PVRDMA adapter and no device of its host, and it is to talk with {peer}"),
        cause,
    );
    for device in &vm.devices {
        let kind = scene.text(&device.id, Attribute::DeviceKind).unwrap_or("an adapter");
        judged = judged.shown(&device.id, Attribute::DeviceKind, format!("{} is {kind}", device.label));
    }
    Some(
        judged
            .cured_by(
                vm.edit(
                    "Add a PVRDMA adapter",
                    &["Edit Settings > Add New Device > Network Adapter, on a port group of the distributed switch, Adapter \
                       Type PVRDMA, Device Protocol RoCE v2"
                        .to_owned()],
                )
                .undone_by(vm.steps(&["Edit Settings > the new adapter > Remove".to_owned()]), Vec::new())
                .verified_by(&["vm.pvrdma-adapter", "guest.rdma-device"])
                .noting("up to 7.0.1 the guest must load vmw_pvrdma anew after it was added while the VM runs"),
            )
            .reaching(vm.way(scene)),
    )
}

fn peer_of<'a>(scene: &Scene<'a>, guest: &TargetId) -> Option<&'a TargetId> {
    scene.pairs.iter().find_map(|(one, other)| {
        if one == guest {
            Some(other)
        } else if other == guest {
            Some(one)
        } else {
            None
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || without_adapter().silent("pv-a", "no route to host"),
        healthy: Site::sound,
        unclear: || {
            let fault = "Connect to localhost failed: Connection failure";
            let site = Site::sound().with("esx01", fails("esxi.vm-devices", 1, fault));
            site.with("esx01", fails("esxi.vm-configs", 1, fault))
        },
    };

    /// pv-a has two ordinary adapters.
    fn without_adapter() -> Site {
        let site = Site::sound().replacing("esx01", "esxi.vm-devices", "VirtualVmxnet3Vrdma", "VirtualVmxnet3");
        site.replacing("esx01", "esxi.vm-configs", "VirtualVmxnet3Vrdma", "VirtualVmxnet3")
    }

    #[test]
    fn one_that_is_to_talk_to_nobody_needs_none() {
        let site = without_adapter().without_target("pv-a").without_target("pv-b");
        assert_eq!(site.statuses(&CHECK), [Status::Pass], "pv-b has one");
    }

    #[test]
    fn eleven_are_too_many() {
        let adapter = |key: u32| {
            format!(
                "(vim.vm.device.VirtualVmxnet3Vrdma) {{\n key = {key},\n macAddress = \"00:50:56:b2:66:{key:02x}\",\n}},\n"
            )
        };
        let devices: String = (4001..4012)
            .map(|key| adapter(key).replace(&format!("66:{key:02x}"), &format!("66:{:02x}", key - 4000)))
            .collect();
        let text = format!(
            "@item 1\nDevices:\n\n(vim.vm.VirtualHardware) {{\n   device = (vim.vm.device.VirtualDevice) [\n{devices}]\n}}\n\n@status 0\n"
        );
        let site = Site::sound().with("esx01", crate::diagnose::check::testing::says("esxi.vm-devices", &text));
        let found = site.judge(&CHECK);
        let many = found.iter().find(|judged| judged.status == Status::Fail).expect("too many");
        assert!(many.title.contains("11 PVRDMA adapters"), "{}", many.title);
    }
}
