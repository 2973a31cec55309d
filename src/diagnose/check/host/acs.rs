//! Whether the host checks that devices of VMs are kept apart on the PCIe bus.

use super::bearing::{passed, set_kernel, why};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::remedy::{Cure, Risk};
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// The check of access control is on.
pub const CHECK: Check = Check {
    id: "host.acs",
    title: "The host checks the access control of PCIe before it passes devices through",
    gate: "hosts with a VM that has a device that is passed through",
    rule: "says so if disableACSCheck is in force; passes if it is not",
    source: Source {
        text: "ESXi boot options: disableACSCheck (Bypass ACS capability checks on all PCIE devices)",
        weak: false,
    },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

const NAME: &str = "disableACSCheck";

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let mut hosts: Vec<&TargetId> = passed(scene).iter().map(|chain| &chain.vm.target).collect();
    hosts.sort();
    hosts.dedup();
    hosts
        .into_iter()
        .map(|host| {
            let id = EntityId::new(host, Entity::KernelSetting(NAME.into()));
            match scene.flag(&id, Attribute::SettingRuntime) {
                Some(false) => Judged::pass(&id, format!("{host} checks the access control of PCIe")),
                Some(true) => Judged::info(
                    &id,
                    format!("{host} does not check the access control of PCIe ({NAME})"),
                    "devices behind one PCIe switch may reach each other past the IOMMU, so VMs with such devices are not fully kept \
                     apart; some want that for peer-to-peer traffic, some set it once to get a device through",
                )
                .shown(&id, Attribute::SettingRuntime, format!("{NAME} is in force"))
                .cured_by(
                    Cure::on(host, "Check it again", Risk::RebootsHost, set_kernel(NAME, "FALSE"))
                        .undone_by(set_kernel(NAME, "TRUE"), vec![(id.clone(), Attribute::SettingValue)])
                        .verified_by(&["host.acs"])
                        .noting("a device whose path has no access control can then not be passed through any more; takes effect when the host starts anew"),
                ),
                None => {
                    let (lack, why) = why(scene, &id, Attribute::SettingRuntime, "esxi.kernel-setting-list");
                    let title = format!("{NAME} of {host}: {why}");
                    Judged::unknown(&id, lack, title, format!("esxcli system settings kernel list -o {NAME}"))
                }
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Info,
        trouble: || {
            Site::sound().replacing(
                "esx01",
                "esxi.kernel-setting-list",
                "disableACSCheck      Bool    FALSE       FALSE    FALSE",
                "disableACSCheck      Bool    TRUE        TRUE     FALSE",
            )
        },
        healthy: || Site::sound(),
        unclear: || Site::sound().with("esx01", fails("esxi.kernel-setting-list", 1, "Connect to localhost failed")),
    };

    #[test]
    fn a_host_without_passthrough_is_not_asked() {
        let hosts: Vec<String> =
            Site::sound().judge(&CHECK).iter().map(|judged| judged.subject.target.to_string()).collect();
        assert_eq!(hosts, ["esx01"]);
    }
}
