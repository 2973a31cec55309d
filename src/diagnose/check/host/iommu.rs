//! Passthrough needs the IOMMU of the host: in its firmware, and not switched off in the VMkernel.

use std::collections::BTreeSet;

use super::bearing::{THEN_REBOOT, is_running, passed, set_kernel, trouble, vm_name, why};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::join::LinkKind;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// Functions of VMs can be passed through.
pub const CHECK: Check = Check {
    id: "host.iommu",
    title: "The host can pass the functions through that its VMs are given",
    gate: "functions that stand behind a device of a VM",
    rule: "fails if the host says that the function cannot be passed through, or its IOMMU or passthrough is switched off by a \
           boot-time setting; warns where the VM is off; passes otherwise",
    source: Source { text: "VMware: DirectPath I/O requirements (Intel VT-d or AMD-Vi in the firmware)", weak: false },
    thresholds: &[],
    explains: &["host.passthrough-owner", "vm.power-on-failed", "vm.backing-function", "host.sriov-functions"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// Boot-time settings that switch passthrough off.
const OFF: [&str; 2] = ["noIOMMU", "disablePciPassthrough"];

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for chain in passed(scene) {
        if chain.kind.to_ascii_lowercase().contains("vgpu") {
            continue;
        }
        let Some(link) = chain.links.iter().find(|link| link.kind == LinkKind::DeviceFunction) else { continue };
        let function = &link.to;
        if !seen.insert(function.clone()) {
            continue;
        }
        let (host, address, vm) = (&function.target, function.entity.name(), vm_name(scene, &chain.vm));
        let runs = is_running(scene, &chain.vm);
        if let Some((setting, name)) = switched_off(scene, host) {
            found.push(
                trouble(
                    runs,
                    function,
                    Confidence::Proved,
                    format!("{host}: {name} is TRUE, so {address} cannot be given to {vm}"),
                    "the VMkernel runs without what isolates devices of VMs from each other, and passes nothing through".to_owned(),
                )
                .shown(&setting, Attribute::SettingValue, format!("{name} is TRUE"))
                .cured_by(
                    Cure::on(host, &format!("Set {name} to FALSE"), Risk::RebootsHost, set_kernel(name, "FALSE"))
                        .undone_by(set_kernel(name, "TRUE"), vec![(setting.clone(), Attribute::SettingValue)])
                        .verified_by(&["host.iommu", "host.reboot-pending"])
                        .noting(THEN_REBOOT),
                )
                .reaching(scene.way_of(chain)),
            );
            continue;
        }
        found.push(match scene.flag(function, Attribute::PassthroughCapable) {
            Some(true) => Judged::pass(function, format!("{address} of {host} can be passed through")),
            Some(false) => {
                let (cause, step) = if no_other(scene, host) {
                    (
                        "no function of the host can be passed through: the IOMMU is off in the firmware of the server",
                        "firmware of the server: Intel VT-d or AMD-Vi (IOMMU) on, with memory mapped I/O above 4 GB; then start it anew",
                    )
                } else {
                    (
                        "other functions of the host can, this one cannot: it is a bridge, lacks a way to be reset, or sits behind a \
                         switch without access control",
                        "another slot; the reset method of the device in /etc/vmware/passthru.map, where its vendor names one; \
                         VT-d or AMD-Vi and SR-IOV in the firmware of the server",
                    )
                };
                trouble(
                    runs,
                    function,
                    Confidence::Likely,
                    format!("{host}: {address}, which {vm} is given, cannot be passed through"),
                    cause.to_owned(),
                )
                .shown(function, Attribute::PassthroughCapable, format!("{address}: Passthru Capable is false"))
                .decided_by("esxcli hardware pci list: is Passthru Capable true for any function?")
                .cured_by(
                    Cure::by_hand("Let the firmware allow it", vec![Step::ByHand(step.to_owned())])
                        .risking(Risk::RebootsHost)
                        .verified_by(&["host.iommu"]),
                )
                .reaching(scene.way_of(chain))
            }
            None => {
                let (lack, why) = why(scene, function, Attribute::PassthroughCapable, "esxi.pci-list");
                let title = format!("whether {address} of {host} can be passed through: {why}");
                Judged::unknown(function, lack, title, "esxcli hardware pci list")
            }
        });
    }
    found
}

/// A setting in force that switches passthrough off.
fn switched_off(scene: &Scene<'_>, host: &TargetId) -> Option<(EntityId, &'static str)> {
    OFF.into_iter().find_map(|name| {
        let id = EntityId::new(host, Entity::KernelSetting(name.into()));
        (scene.flag(&id, Attribute::SettingRuntime) == Some(true)).then_some((id, name))
    })
}

/// True if no function of the host can be passed through.
fn no_other(scene: &Scene<'_>, host: &TargetId) -> bool {
    !scene
        .fabric
        .of_kind(host, Entity::PciFunction("".into()))
        .map(|entity| EntityId::new(host, entity.clone()))
        .any(|id| scene.flag(&id, Attribute::PassthroughCapable) == Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site};
    use crate::diagnose::finding::Status;

    const SLOT: &str = "   Slot Description: CPU1 SLOT7 PCI-E 3.0 X16\n   Passthru Capable: true\n";

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || capable("   Passthru Capable: false\n"),
        healthy: || Site::sound(),
        unclear: || capable(""),
    };

    fn capable(line: &str) -> Site {
        let text = format!("   Slot Description: CPU1 SLOT7 PCI-E 3.0 X16\n{line}");
        Site::sound().replacing("esx01", "esxi.pci-list", SLOT, &text)
    }

    #[test]
    fn one_function_and_all_functions() {
        let one = (SAMPLES.trouble)().judge(&CHECK).pop().expect("judged");
        assert!(one.cause.starts_with("other functions of the host can"), "{}", one.cause);
        let site =
            Site::sound().replacing("esx01", "esxi.pci-list", "Passthru Capable: true", "Passthru Capable: false");
        let all = site.judge(&CHECK).pop().expect("judged");
        assert!(all.cause.contains("off in the firmware"), "{}", all.cause);
    }

    #[test]
    fn switched_off_by_a_setting() {
        let row = "iovDisableIR         Bool    FALSE       FALSE    FALSE    Disable Interrupt Routing in the IOMMU\n";
        let off = format!("{row}noIOMMU              Bool    TRUE        TRUE     FALSE    Disable use of the IOMMU\n");
        let site = Site::sound().replacing("esx01", "esxi.kernel-setting-list", row, &off);
        let judged = site.judge(&CHECK).pop().expect("judged");
        assert_eq!(judged.cures[0].steps[0].shown(), "esxcli system settings kernel set -s noIOMMU -v FALSE");
    }
}
