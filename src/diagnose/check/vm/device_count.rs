//! A VM can have so many devices of its host; virtual hardware and release decide how many.

use super::machine::{self, HARDWARE, Vm};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Status;
use crate::diagnose::lint::passthrough_limit;
use crate::diagnose::remedy::Risk;
use crate::fabric::{Attribute, Entity, EntityId};

/// VMs have no more devices of their host than they can.
pub const CHECK: Check = Check {
    id: "vm.device-count",
    title: "VMs have no more devices of their host than their virtual hardware allows",
    gate: "VMs with a passthrough device or a virtual function, and hardware 13 or newer",
    rule: "warns above 16 (hardware 13 to 19), 32 (20 on 8.0), 64 (20 from 8.0 U1) or 128 (21); passes else",
    source: Source { text: "VMware configuration maximums: PCI passthrough devices in a VM", weak: false },
    thresholds: &[],
    explains: &["vm.power-on-failed", "vm.configuration"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    machine::with(scene, HARDWARE).iter().filter_map(|vm| of(scene, vm)).collect()
}

fn of(scene: &Scene<'_>, vm: &Vm) -> Option<Judged> {
    let count = vm.of(HARDWARE).count();
    let Some(version) = scene.count(&vm.id, Attribute::HardwareVersion) else {
        let what = format!("whether it can have its {count} devices of the host");
        return Some(vm.unknown(scene, &vm.id, Attribute::HardwareVersion, &what, "get.config | grep version"));
    };
    let release = scene.text(&EntityId::new(&vm.host, Entity::Host), Attribute::EsxiVersion);
    let limit = passthrough_limit(version, release)?;
    if count <= limit {
        return Some(vm.pass(&vm.id, &format!("{count} devices of its host, of at most {limit}")));
    }
    let over: Vec<_> = vm.of(HARDWARE).skip(limit).collect();
    let mut judged = vm.fault(
        &vm.id,
        Status::Warn,
        &format!("{count} devices of its host, of which hardware {version} allows {limit}"),
        "with more it does not start",
    );
    judged = judged.shown(&vm.id, Attribute::HardwareVersion, format!("hardware version {version}"));
    for device in &over {
        judged = judged.shown(&device.id, Attribute::DeviceKind, format!("{} is one too many", device.label));
    }
    let paths: Vec<String> = over.iter().map(|device| format!("Edit Settings > {} > Remove", device.label)).collect();
    Some(
        judged
            .cured_by(
                vm.edit("Remove the devices beyond that number", &paths)
                    .risking(if vm.is_on() { Risk::RebootsGuest } else { Risk::None })
                    .verified_by(&["vm.device-count"])
                    .noting("or upgrade the virtual hardware: 20 has 64 from 8.0 U1, 21 has 128"),
            )
            .reaching(vm.way(scene)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || with(17),
        healthy: || with(16),
        unclear: || {
            Site::sound().with("esx01", fails("esxi.vm-configs", 1, "Connect to localhost failed: Connection failure"))
        },
    };

    /// gpu-a with so many devices, all of them dynamic ones of the model that its host has.
    fn with(count: u32) -> Site {
        let device = |key: u32| {
            format!(
                "(vim.vm.device.VirtualPCIPassthrough) {{\n         key = {key},\n         deviceInfo = (vim.Description) {{\n            \
                 label = \"PCI device {number}\",\n         }},\n         backing = (vim.vm.device.VirtualPCIPassthrough.DynamicBackingInfo) \
                 {{\n            assignedId = <unset>,\n            allowedDevice = (vim.vm.device.VirtualPCIPassthrough.AllowedDevice) [\n               \
                 (vim.vm.device.VirtualPCIPassthrough.AllowedDevice) {{\n                  vendorId = 4318,\n                  \
                 deviceId = 8433\n               }}\n            ]\n         }}\n      }},\n      ",
                number = key - 13_000
            )
        };
        let devices: String = (13_000..13_000 + count).map(device).collect();
        let text = format!(
            "@item 5\nDevices:\n\n(vim.vm.VirtualHardware) {{\n   numCPU = 16,\n   device = (vim.vm.device.VirtualDevice) [\n      \
             {devices}]\n}}\n\n@status 0\n"
        );
        Site::sound().with("esx01", says("esxi.vm-devices", &text))
    }
}
