//! With Secure Boot the guest's kernel loads modules only whose signature it knows: a driver that was built there is refused.

use super::machine::{self, Vm, WHOLE};
use super::mmio_window;
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::{Confidence, Status};
use crate::diagnose::join::LinkKind;
use crate::diagnose::remedy::Risk;
use crate::fabric::{Attribute, Entity, EntityId};

/// Secure Boot does not keep the driver of a graphics device out.
pub const CHECK: Check = Check {
    id: "vm.secure-boot",
    title: "Secure Boot does not keep the GPU driver out of the guest",
    gate: "VMs with a graphics device of NVIDIA passed through",
    rule: "warns if Secure Boot is on and no driver is bound to the device in the guest; tells if it is on and the guest was not \
           read; passes if it is off, or a driver is bound",
    source: Source { text: "field report: EFI with Secure Boot on, the NVIDIA module is not loaded", weak: true },
    thresholds: &[],
    explains: &["gpu.driver-bound"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let vms = machine::with(scene, WHOLE);
    vms.iter().filter(|vm| mmio_window::has_graphics(scene, vm)).map(|vm| of(scene, vm)).collect()
}

/// The graphics devices of NVIDIA that the guest sees.
fn in_guest(scene: &Scene<'_>, vm: &Vm) -> Vec<EntityId> {
    let is_one = |id: &EntityId| {
        matches!(id.entity, Entity::PciFunction(_))
            && scene.text(id, Attribute::VendorId) == Some("10de")
            && scene.text(id, Attribute::ClassCode).is_none_or(|class| class.trim_start_matches("0x").starts_with("03"))
    };
    let mut found: Vec<EntityId> = scene
        .joined
        .chains
        .iter()
        .filter(|chain| chain.vm == vm.id)
        .flat_map(|chain| &chain.links)
        .filter(|link| link.kind == LinkKind::GuestDevice && is_one(&link.from))
        .map(|link| link.from.clone())
        .collect();
    found.dedup();
    found
}

fn of(scene: &Scene<'_>, vm: &Vm) -> Judged {
    match scene.flag(&vm.id, Attribute::SecureBoot) {
        Some(false) => return vm.pass(&vm.id, "boots without Secure Boot"),
        Some(true) => {}
        None => {
            let command = "get.config | grep efiSecureBootEnabled";
            return vm.unknown(scene, &vm.id, Attribute::SecureBoot, "Secure Boot", command);
        }
    }
    let devices = in_guest(scene, vm);
    let driver = |id: &EntityId| scene.text(id, Attribute::Driver).filter(|driver| *driver != "nouveau");
    if !devices.is_empty() && devices.iter().all(|device| driver(device).is_some()) {
        return vm.pass(&vm.id, "boots with Secure Boot, and the driver of its GPU is loaded");
    }
    let cause = "its kernel refuses modules whose signature it does not know: the GPU driver must be signed, and its key be \
                 enrolled in the guest (mokutil --import), or nvidia-smi finds no device";
    let bare: Vec<&EntityId> = devices.iter().filter(|device| driver(device).is_none()).collect();
    let mut judged = if bare.is_empty() {
        vm.fault(&vm.id, Status::Info, "boots with Secure Boot", cause)
    } else {
        vm.fault(&vm.id, Status::Warn, "boots with Secure Boot, and no driver is bound to its GPU", cause)
    };
    judged = judged.shown(&vm.id, Attribute::SecureBoot, "Secure Boot is on");
    for device in bare {
        // The module may be missing for another reason, too.
        judged.confidence = Confidence::Likely;
        judged = judged
            .shown(
                device,
                Attribute::DeviceId,
                format!("{} in the guest has no driver of its own", device.entity.name()),
            )
            .decided_by("in the guest: modprobe nvidia; 'Key was rejected by service' is the answer of Secure Boot");
    }
    let path = |state: &str| vec![format!("Edit Settings > VM Options > Boot Options > Secure Boot: {state} Enabled")];
    judged
        .cured_by(
            vm.edit("Switch Secure Boot off, while the VM is off", &path("uncheck"))
                .risking(Risk::RebootsGuest)
                .undone_by(vm.steps(&path("check")), vec![(vm.id.clone(), Attribute::SecureBoot)])
                .verified_by(&["vm.secure-boot", "gpu.driver-bound"])
                .noting("or sign the driver and enroll its key in the guest; Secure Boot is a protection"),
        )
        .reaching(vm.way(scene))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::check::vm::machine::tests::gpu_missed;

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || guest(secure(), ""),
        healthy: || guest(secure(), "nvidia"),
        unclear: || {
            Site::sound().with("esx01", fails("esxi.vm-configs", 1, "Connect to localhost failed: Connection failure"))
        },
    };

    fn secure() -> Site {
        Site::sound().replacing("esx01", "esxi.vm-configs", "SecureBootEnabled = false", "SecureBootEnabled = true")
    }

    /// The guest of gpu-a, with this driver bound to its GPU.
    fn guest(site: Site, driver: &str) -> Site {
        let link = format!("'/sys/bus/pci/devices/0000:13:00.0/driver' -> '../../../../bus/pci/drivers/{driver}'\n");
        let at = "/sys/bus/pci/devices/0000:13:00.0";
        let functions = format!(
            "{at}/vendor:0x10de\n{at}/device:0x20f1\n{at}/class:0x030200\n/sys/bus/pci/devices/0000:03:00.0/vendor:0x15ad\n\
             /sys/bus/pci/devices/0000:03:00.0/device:0x07b0\n/sys/bus/pci/devices/0000:03:00.0/class:0x020000\n"
        );
        site.guest(
            "gpu-a",
            &[
                says("linux.pci-functions", &functions),
                says("linux.pci-drivers", if driver.is_empty() { "" } else { &link }),
                says(
                    "linux.system-files",
                    "/proc/sys/kernel/hostname:gpu-a\n/sys/class/dmi/id/sys_vendor:VMware, Inc.\n\
                     /sys/class/dmi/id/product_uuid:14cf766a-0165-654b-a2c3-910960f3dfd5\n",
                ),
                says("linux.netdev-files", "/sys/class/net/ens192/address:00:50:56:b2:20:11\n"),
            ],
        )
    }

    #[test]
    fn a_guest_that_was_not_read_may_have_signed_its_driver() {
        assert_eq!(secure().statuses(&CHECK), [Status::Info]);
        let off =
            gpu_missed().replacing("esx01", "esxi.vm-configs", "SecureBootEnabled = false", "SecureBootEnabled = true");
        assert_eq!(off.statuses(&CHECK), [Status::Info]);
    }

    #[test]
    fn nouveau_is_not_its_driver() {
        assert_eq!(guest(secure(), "nouveau").statuses(&CHECK), [Status::Warn]);
    }
}
