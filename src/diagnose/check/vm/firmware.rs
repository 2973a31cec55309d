//! Only EFI can place BARs above 4 GiB: with BIOS the VM starts, and the guest finds a card whose BAR has no address.

use super::file;
use super::machine::{self, Vm, WHOLE};
use super::mmio_window;
use crate::diagnose::check::{Check, Judged, Lack, Scene, Source};
use crate::diagnose::finding::Status;
use crate::diagnose::remedy::Risk;
use crate::fabric::Attribute;

/// VMs with a large BAR boot with EFI.
pub const CHECK: Check = Check {
    id: "vm.firmware",
    title: "VMs with a graphics device whose BAR is large boot with EFI",
    gate: "VMs with a graphics device of NVIDIA passed through",
    rule: "fails if the firmware is BIOS and the BARs do not fit below 4 GiB; passes with EFI, or if they fit",
    source: Source { text: "KB 2142307", weak: false },
    thresholds: &[],
    explains: &["gpu.bar-unassigned", "gpu.driver-bound", "vm.configuration"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// The rule that knows which devices need it.
pub(super) const RULE: &str = "vmx.efi-missing";

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let vms = machine::with(scene, WHOLE);
    vms.iter().filter(|vm| mmio_window::has_graphics(scene, vm)).map(|vm| of(scene, vm)).collect()
}

fn of(scene: &Scene<'_>, vm: &Vm) -> Judged {
    if scene.text(&vm.id, Attribute::VmFirmware).is_some_and(|firmware| firmware.eq_ignore_ascii_case("efi")) {
        return vm.pass(&vm.id, "boots with EFI");
    }
    let vmx = match file::of(scene, vm) {
        Ok(vmx) => vmx,
        Err((lack, why)) => {
            let decide = vm.ask(scene, "get.config | grep firmware");
            return vm.unclear(&vm.id, lack, &format!("its firmware: {why}"), decide);
        }
    };
    let findings = file::findings(scene, vm, &vmx, None, |rule| rule.id == RULE);
    let Some(finding) = findings.first() else {
        // What its file says is newer than what the host's agent knew.
        return if scene.value(&vm.id, Attribute::VmFirmware).is_none() && vmx.get("firmware").is_none() {
            let decide = vm.ask(scene, "get.config | grep firmware");
            vm.unclear(&vm.id, Lack::NotObservable, "its firmware: neither the host nor the file says it", decide)
        } else {
            vm.pass(&vm.id, "its firmware can place the BARs of its devices")
        };
    };
    let mut judged =
        vm.fault(&vm.id, Status::Fail, "boots with BIOS, and its device has a large BAR", &finding.found.message);
    if scene.value(&vm.id, Attribute::VmFirmware).is_some() {
        judged = judged.shown(&vm.id, Attribute::VmFirmware, "the firmware is BIOS");
    }
    judged
        .shown_by([file::exhibit(vm, finding)])
        .cured_by(
            vm.edit("Install the guest anew with EFI firmware", &[
                "a new VM with Edit Settings > VM Options > Boot Options > Firmware: EFI, and its guest installed there".to_owned(),
            ])
            .risking(Risk::RebootsGuest)
            .verified_by(&["vm.firmware", "gpu.bar-unassigned"])
            .noting("the firmware of a guest that was installed with BIOS is not just switched: it does not boot then"),
        )
        .reaching(vm.way(scene))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, says};

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || bios(Site::sound()),
        healthy: || {
            // The BARs of a T4 fit below 4 GiB.
            bios(Site::sound()).replacing("esx01", "esxi.vmx-files", "deviceId = \"0x20f1\"", "deviceId = \"0x1eb8\"")
        },
        unclear: || bios(Site::sound()).with("esx01", says("esxi.vmx-files", "")),
    };

    fn bios(site: Site) -> Site {
        site.replacing("esx01", "esxi.vm-configs", "firmware = \"efi\"", "firmware = \"bios\"").replacing(
            "esx01",
            "esxi.vmx-files",
            "firmware = \"efi\"",
            "firmware = \"bios\"",
        )
    }
}
