//! The profile of a vGPU says which share of which model a VM gets. It is spelt in its own way.

use super::machine::{self, Kind, Vm};
use crate::diagnose::check::{Check, Judged, Lack, Scene, Source};
use crate::diagnose::finding::Status;
use crate::diagnose::lint::{Severity, Subject, lint_by};
use crate::diagnose::remedy::Risk;
use crate::fabric::Attribute;
use crate::probe::vmx::Dictionary;

/// The profiles of vGPUs are profiles.
pub const CHECK: Check = Check {
    id: "vm.vgpu-profile",
    title: "The profiles of vGPUs exist for a model",
    gate: "VMs with a vGPU",
    rule: "fails if the profile is no name of a profile, or a MIG geometry; warns if the model has no such profile or the name is \
           spelt as the client shows it; passes else",
    source: Source { text: "NVIDIA vGPU user guide; vhpc-toolkit (grid_p100-4q); stackhpc roles/vgpu", weak: false },
    thresholds: &[],
    explains: &["vm.power-on-failed", "gpu.driver-bound"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let vms = machine::with(scene, &[Kind::Share]);
    vms.iter().flat_map(|vm| vm.of(&[Kind::Share]).map(|device| of(scene, vm, device))).collect()
}

fn of(scene: &Scene<'_>, vm: &Vm, device: &machine::Device) -> Judged {
    let id = &device.id;
    let Some(profile) = scene.text(id, Attribute::VgpuProfile) else {
        let (lack, why) = scene
            .lack(id, Attribute::VgpuProfile)
            .unwrap_or((Lack::NotObservable, "the configuration leaves it empty".to_owned()));
        let what = format!("the profile of {}: {why}", device.label);
        return vm.unclear(id, lack, &what, vm.ask(scene, "device.getdevices"));
    };
    // The rules for a VMX know profiles; what the host's agent says of the device is put to them as a file would say it.
    let quoted = profile.replace(['"', '|'], "?");
    let text = format!("pciPassthru0.present = \"TRUE\"\npciPassthru0.vgpu = \"{quoted}\"\n");
    let vmx = Dictionary::parse(text.as_bytes());
    let subject = Subject { vmx: &vmx, host: None, snapshots: None };
    let findings = lint_by(&subject, |rule| rule.id.starts_with("vmx.vgpu-"));
    let [first, ..] = &findings[..] else {
        return vm.pass(id, &format!("{profile} is a profile"));
    };
    let grave = if first.rule.severity == Severity::Error { Status::Fail } else { Status::Warn };
    let path = |profile: &str| vec![format!("Edit Settings > {} > NVIDIA GRID vGPU Profile: {profile}", device.label)];
    vm.fault(id, grave, &format!("{profile} of {} is no profile of a vGPU", device.label), &first.found.message)
        .shown(id, Attribute::VgpuProfile, format!("vGPU profile {profile}"))
        .cured_by(
            vm.edit("Choose a profile from the list", &path("one of those that the host offers (nvidia-smi vgpu -c)"))
                .risking(if vm.is_on() { Risk::RebootsGuest } else { Risk::None })
                .undone_by(vm.steps(&path(profile)), vec![(id.clone(), Attribute::VgpuProfile)])
                .verified_by(&["vm.vgpu-profile"]),
        )
        .reaching(vm.way_of(scene, id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site};

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || shared("\"1g.5gb\""),
        healthy: || shared("\"grid_a100-1-5c\""),
        unclear: || shared("<unset>"),
    };

    /// gpu-a with a share of a GPU in the place of the whole.
    fn shared(profile: &str) -> Site {
        // The host shares its graphics devices, as a vGPU needs it.
        let site = Site::sound().replacing("esx01", "esxi.graphics-devices", "Type: Basic", "Type: SharedPassthru");
        let backing = "(vim.vm.device.VirtualPCIPassthrough.DeviceBackingInfo) {";
        let share =
            format!("(vim.vm.device.VirtualPCIPassthrough.VmiopBackingInfo) {{\n               vgpu = {profile},");
        site.replacing("esx01", "esxi.vm-devices", backing, &share).replacing(
            "esx01",
            "esxi.vm-configs",
            backing,
            &share,
        )
    }

    #[test]
    fn a_profile_that_the_model_does_not_have() {
        assert_eq!(shared("\"grid_a100-7c\"").statuses(&CHECK), [Status::Warn]);
        // What is hostile stays a value.
        assert_eq!(shared("\"x|22y=z\"").judge(&CHECK).len(), 1);
    }
}
