//! A vGPU needs a graphics device that the host shares directly, with the vendor's driver in the host.

use std::collections::BTreeMap;

use super::bearing::{is_running, names, passed, trouble, way};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::join::Chain;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// A graphics device is shared directly.
pub const CHECK: Check = Check {
    id: "host.graphics-type",
    title: "A graphics device of the host is shared for vGPU",
    gate: "hosts with a VM that has a vGPU",
    rule: "fails if no graphics device is of type SharedPassthru (Shared Direct); passes if one is",
    source: Source {
        text: "vSphere: Configuring Virtual Graphics on vSphere, host graphics; esxcli graphics",
        weak: false,
    },
    thresholds: &[],
    explains: &["vm.vgpu-profile", "vm.power-on-failed"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let mut hosts: BTreeMap<&TargetId, Vec<&Chain>> = BTreeMap::new();
    for chain in passed(scene) {
        if chain.kind.to_ascii_lowercase().contains("vgpu") {
            hosts.entry(&chain.vm.target).or_default().push(chain);
        }
    }
    hosts.into_iter().map(|(host, chains)| of_host(scene, host, &chains)).collect()
}

fn of_host(scene: &Scene<'_>, host: &TargetId, chains: &[&Chain]) -> Judged {
    let id = EntityId::new(host, Entity::Host);
    let devices: Vec<(EntityId, &str)> = scene
        .fabric
        .of_kind(host, Entity::PciFunction("".into()))
        .filter_map(|entity| {
            let id = EntityId::new(host, entity.clone());
            let kind = scene.text(&id, Attribute::GraphicsType)?;
            Some((id, kind))
        })
        .collect();
    let is_shared =
        |kind: &str| kind.eq_ignore_ascii_case("SharedPassthru") || kind.eq_ignore_ascii_case("Shared Direct");
    if let Some((device, _)) = devices.iter().find(|(_, kind)| is_shared(kind)) {
        return Judged::pass(&id, format!("{} of {host} is shared for vGPU", device.entity.name()));
    }
    if devices.is_empty()
        && let Some((lack, why)) = scene.unread(host, "esxi.graphics-devices")
    {
        let title = format!("the graphics devices of {host}: {why}");
        return Judged::unknown(&id, lack, title, "esxcli graphics device list");
    }
    let vms = names(scene, chains);
    let runs = chains.iter().any(|chain| is_running(scene, &chain.vm));
    let known = scene.text(&id, Attribute::DefaultGraphicsType);
    let default = known.unwrap_or("not known");
    let set = |kind: &str| vec![Step::run(&["esxcli", "graphics", "host", "set", "--default-type", kind])];
    let cause = if devices.iter().all(|(_, kind)| kind.eq_ignore_ascii_case("Basic")) {
        "without the vendor's vGPU driver in the host a graphics device is Basic and carries no vGPU: the VM does not power on"
    } else {
        "devices that are shared for virtual 3D carry no vGPU: the VM does not power on"
    };
    let mut judged = trouble(
        runs,
        &id,
        Confidence::Proved,
        format!("{host} shares no graphics device for the vGPU of {vms}"),
        cause.to_owned(),
    );
    for (device, kind) in &devices {
        judged = judged.shown(device, Attribute::GraphicsType, format!("{} is {kind}", device.entity.name()));
    }
    if scene.text(&id, Attribute::DefaultGraphicsType).is_some() {
        judged = judged.shown(&id, Attribute::DefaultGraphicsType, format!("the default of {host} is {default}"));
    }
    let rests_on = vec![(id.clone(), Attribute::DefaultGraphicsType)];
    // What was not read cannot be restored.
    let back = |cure: Cure| match known {
        Some(known) => cure.undone_by(set(known), rests_on),
        None => cure.without_undo("the default of before was not read: esxcli graphics host get", rests_on),
    };
    judged
        .cured_by(
            back(Cure::on(host, "Share graphics devices directly", Risk::RebootsHost, set("SharedPassthru")))
                .verified_by(&["host.graphics-type"])
                .noting(
                    "with the vGPU driver of the vendor installed (esxcli software component list); in force after \
                     /etc/init.d/xorg restart, or when the host starts anew",
                ),
        )
        .reaching(way(scene, chains))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || vgpu().replacing("esx01", "esxi.graphics-devices", "Graphics Type: Basic", "Graphics Type: Shared"),
        healthy: || {
            vgpu().replacing("esx01", "esxi.graphics-devices", "Graphics Type: Basic", "Graphics Type: SharedPassthru")
        },
        unclear: || vgpu().with("esx01", fails("esxi.graphics-devices", 1, "Connect to localhost failed")),
    };

    /// The VM with a GPU has a vGPU in its place, and the host keeps the GPU.
    fn vgpu() -> Site {
        let backing = "VirtualPCIPassthrough.DeviceBackingInfo) {\n            deviceName = \"GA100 [A100 PCIe 40GB]\",\n            \
                       useAutoDetect = false,\n            id = \"00000:175:00.0\",\n            deviceId = \"20f1\",\n            \
                       systemId = \"4cd786e8-d2f6-417d-ae53-16a7ed99c7cb\",\n            vendorId = 4318,\n";
        let shared = "VirtualPCIPassthrough.VmiopBackingInfo) {\n            vgpu = \"grid_a100-10c\",\n            migrateSupported \
                      = true,\n";
        Site::sound()
            .replacing("esx01", "esxi.vm-devices", backing, shared)
            .replacing(
                "esx01",
                "esxi.vmx-files",
                "pciPassthru0.id = \"00000:175:00.0\"\n",
                "pciPassthru0.vgpu = \"grid_a100-10c\"\n",
            )
            .replacing(
                "esx01",
                "esxi.pci-list",
                "   Configured Owner: VM Passthru\n   Current Owner: VM Passthru\n   Vendor ID: 0x10de\n",
                "   Configured Owner: VMkernel\n   Current Owner: VMkernel\n   Vendor ID: 0x10de\n",
            )
            .replacing("esx01", "esxi.pci-passthrough", "0000:af:00.0     true", "0000:af:00.0    false")
    }

    #[test]
    fn the_default_before_comes_back() {
        let judged = (SAMPLES.trouble)().judge(&CHECK).pop().expect("judged");
        assert_eq!(judged.cures[0].steps[0].shown(), "esxcli graphics host set --default-type SharedPassthru");
        let basic = vgpu().judge(&CHECK).pop().expect("judged");
        assert!(basic.cause.starts_with("without the vendor's vGPU driver"), "{}", basic.cause);
    }

    #[test]
    fn a_gpu_that_is_passed_through_needs_no_sharing() {
        assert!(Site::sound().judge(&CHECK).is_empty());
    }
}
