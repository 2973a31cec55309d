//! PVRDMA exists since ESXi 6.5; hosts of one cluster that carry it are best of one release.

use super::bearing::{alike, carriers, why};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// The hosts know PVRDMA, and are of one release.
pub const CHECK: Check = Check {
    id: "host.esxi-version",
    title: "Hosts with PVRDMA adapters are of one release that knows them",
    gate: "hosts with a VM that has a PVRDMA adapter",
    rule: "fails below ESXi 6.5; says so where the build is not that of most of these hosts; passes otherwise",
    source: Source { text: "vSphere Networking: PVRDMA Support", weak: false },
    thresholds: &[],
    explains: &["guest.transport", "vm.host-qualifies", "host.same-driver"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let carriers = carriers(scene);
    let hosts: Vec<(&TargetId, Option<String>)> =
        carriers.iter().map(|carrier| (carrier.host, release(scene, carrier.host))).collect();
    let held: Vec<(&TargetId, String)> =
        hosts.iter().filter_map(|(host, release)| Some((*host, release.clone()?))).collect();
    let compared = alike(&held);
    let mut found = Vec::new();
    for carrier in &carriers {
        let host = carrier.host;
        let id = EntityId::new(host, Entity::Host);
        let Some(version) = scene.text(&id, Attribute::EsxiVersion) else {
            let (lack, why) = why(scene, &id, Attribute::EsxiVersion, "esxi.system-version");
            found.push(Judged::unknown(&id, lack, format!("the version of {host}: {why}"), "vmware -v"));
            continue;
        };
        if numbers(version) < Some((6, 5)) && numbers(version).is_some() {
            let step = "move the VM to a host of release 7.0 or 8.0, or upgrade this one".to_owned();
            found.push(
                carrier
                    .trouble(
                        &id,
                        Confidence::Proved,
                        format!("{host} runs ESXi {version}, which knows no PVRDMA"),
                        "PVRDMA exists since ESXi 6.5: older hosts have neither the device nor the setting for it"
                            .to_owned(),
                    )
                    .shown(&id, Attribute::EsxiVersion, format!("{host} runs {version}"))
                    .cured_by(
                        Cure::by_hand("Use a newer host", vec![Step::ByHand(step)])
                            .risking(Risk::RebootsHost)
                            .verified_by(&["host.esxi-version"]),
                    )
                    .reaching(carrier.way(scene)),
            );
            continue;
        }
        let odd = compared.as_ref().filter(|alike| alike.odd.iter().any(|(odd, _)| *odd == host));
        let own = release(scene, host).unwrap_or_default();
        found.push(match odd {
            Some(alike) => {
                let (other, theirs) = alike.model;
                let twin = EntityId::new(other, Entity::Host);
                Judged::info(
                    &id,
                    format!("{host} runs ESXi {own}, {other} runs {theirs}"),
                    "two releases under one pair of VMs work; drivers, defaults and output differ between them, so a difference \
                     between the hosts need not be a fault",
                )
                .shown(&id, Attribute::EsxiBuild, format!("{host}: {own}"))
                .shown(&twin, Attribute::EsxiBuild, format!("{other}: {theirs}"))
            }
            None => Judged::pass(&id, format!("{host} runs ESXi {own}")),
        });
    }
    found
}

/// `7.0.3 build 19482537`.
fn release(scene: &Scene<'_>, host: &TargetId) -> Option<String> {
    let id = EntityId::new(host, Entity::Host);
    let version = scene.text(&id, Attribute::EsxiVersion)?;
    Some(match scene.text(&id, Attribute::EsxiBuild) {
        Some(build) => format!("{version} build {build}"),
        None => version.to_owned(),
    })
}

fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Info,
        trouble: || Site::sound(),
        healthy: || {
            Site::sound().replacing("esx02", "esxi.system-version", "8.0.3", "7.0.3").replacing(
                "esx02",
                "esxi.system-version",
                "24022510",
                "19482537",
            )
        },
        unclear: || {
            Site::sound()
                .with("esx02", fails("esxi.system-version", 1, "Connect to localhost failed"))
                .with("esx02", fails("esxi.vmware-v", 127, "sh: vmware: not found"))
        },
    };

    #[test]
    fn a_release_before_pvrdma_fails() {
        let old = (SAMPLES.healthy)().replacing("esx02", "esxi.system-version", "Version: 7.0.3", "Version: 6.0.0");
        assert_eq!(old.statuses(&CHECK), [Status::Pass, Status::Fail]);
        let first = (SAMPLES.healthy)().replacing("esx02", "esxi.system-version", "Version: 7.0.3", "Version: 6.5.0");
        assert_eq!(first.statuses(&CHECK), [Status::Pass, Status::Info]);
    }

    #[test]
    fn two_builds_of_one_version_are_told() {
        let site = (SAMPLES.healthy)().replacing("esx02", "esxi.system-version", "19482537", "19193900");
        assert_eq!(site.statuses(&CHECK), [Status::Pass, Status::Info]);
    }
}
