//! Hosts of one release run one version of the driver.

use super::bearing::{UsedUplink, alike, rdma_uplinks, way, why};
use super::same_firmware::by_model;
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId};

/// One driver for one model.
pub const CHECK: Check = Check {
    id: "host.same-driver",
    title: "RDMA adapters of one model have one version of the driver on all hosts of a release",
    gate: "two or more hosts with uplinks of one model that PVRDMA adapters or virtual functions of VMs leave by",
    rule: "warns if the driver or its version is not that of most hosts of the same release of ESXi; says so where releases \
           differ, as each has drivers of its own; passes if all are the same",
    source: Source {
        text: "VMware Compatibility Guide: driver and firmware are listed in pairs for each release",
        weak: true,
    },
    thresholds: &[],
    explains: &["host.dcb-mode", "host.pfc"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let used = rdma_uplinks(scene);
    let mut found = Vec::new();
    for (_, uplinks) in by_model(scene, &used) {
        let mut held: Vec<(&UsedUplink<'_>, String)> = Vec::new();
        for uplink in &uplinks {
            if let Some(version) = scene.text(&uplink.id, Attribute::DriverVersion) {
                let driver = scene.text(&uplink.id, Attribute::Driver).unwrap_or("driver");
                held.push((uplink, format!("{driver} {version}")));
            } else {
                let (lack, why) = why(scene, &uplink.id, Attribute::DriverVersion, "esxi.nic-get");
                let name = uplink.id.entity.name();
                let title = format!("the driver of {name} of {}: {why}", uplink.id.target);
                let decide = format!("esxcli network nic get -n {name}");
                found.push(Judged::unknown(&uplink.id, lack, title, decide));
            }
        }
        let Some(compared) = alike(&held) else { continue };
        for (uplink, version) in &held {
            let (other, wanted) = compared.model;
            let (id, name) = (&uplink.id, uplink.id.entity.name());
            if version == wanted {
                found.push(Judged::pass(id, format!("{name} of {} is driven by {version}", id.target)));
                continue;
            }
            let title =
                format!("{} and {}: {name} is driven by {version}, its twin by {wanted}", id.target, other.id.target);
            let (own, theirs) = (release(scene, id), release(scene, &other.id));
            let shown = |judged: Judged| {
                judged.shown(id, Attribute::DriverVersion, format!("{name} of {}: {version}", id.target)).shown(
                    &other.id,
                    Attribute::DriverVersion,
                    format!("{} of {}: {wanted}", other.id.entity.name(), other.id.target),
                )
            };
            if own.is_none() || theirs.is_none() || own != theirs {
                let cause = "each release of ESXi has drivers of its own; that the two differ is no fault, and a thing to think of \
                             where only one of the two hosts misbehaves";
                found.push(shown(Judged::info(id, title, cause)));
                continue;
            }
            found.push(
                shown(Judged::warn(
                    id,
                    Confidence::Proved,
                    title,
                    "two hosts of one release with two drivers: defaults, module parameters and flow control can differ between \
                     the two ends of one connection",
                ))
                .cured_by(
                    Cure::by_hand(
                        "Bring both hosts to one image",
                        vec![Step::ByHand(
                            "vCenter: the cluster > Updates > Image: one image with the driver that the VMware Compatibility \
                             Guide lists with the firmware; remediate the host"
                                .to_owned(),
                        )],
                    )
                    .risking(Risk::RebootsHost)
                    .verified_by(&["host.same-driver"]),
                )
                .reaching(way(scene, &uplink.chains)),
            );
        }
    }
    found
}

/// `7.0` of `7.0.3`.
fn release(scene: &Scene<'_>, uplink: &EntityId) -> Option<String> {
    let version = scene.text(&EntityId::new(&uplink.target, Entity::Host), Attribute::EsxiVersion)?;
    let parts: Vec<&str> = version.splitn(3, '.').take(2).collect();
    Some(parts.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || Site::sound().replacing("esx02", "esxi.system-version", "8.0.3", "7.0.3"),
        healthy: || Site::sound().replacing("esx02", "esxi.nic-get", "Version: 4.23.6.4", "Version: 4.22.73.1004"),
        unclear: || Site::sound().with("esx02", fails("esxi.nic-get", 1, "Connect to localhost failed")),
    };

    #[test]
    fn releases_have_drivers_of_their_own() {
        assert_eq!(Site::sound().statuses(&CHECK), [Status::Pass, Status::Info]);
        assert_eq!((SAMPLES.trouble)().statuses(&CHECK), [Status::Pass, Status::Warn]);
    }
}
