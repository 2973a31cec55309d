//! Adapters of one model behave alike only with one firmware.

use std::collections::BTreeMap;

use super::bearing::{UsedUplink, alike, driver_of, rdma_uplinks, way, why};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, EntityId};

/// One firmware for one model.
pub const CHECK: Check = Check {
    id: "host.same-firmware",
    title: "RDMA adapters of one model have one firmware on all hosts",
    gate: "two or more hosts with uplinks of one model that PVRDMA adapters or virtual functions of VMs leave by",
    rule: "warns if the firmware of an adapter is not that of most adapters of its model, with two hosts: if the two differ; \
           passes if all are the same",
    source: Source {
        text: "field report: one of two hosts with other firmware negotiated no flow control",
        weak: true,
    },
    thresholds: &[],
    explains: &["host.dcb-mode", "host.pfc"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// Uplinks by model; those models of which several hosts have one.
pub(super) fn by_model<'u, 'a>(
    scene: &Scene<'_>,
    used: &'u [UsedUplink<'a>],
) -> Vec<(String, Vec<&'u UsedUplink<'a>>)> {
    let mut models: BTreeMap<String, Vec<&UsedUplink<'a>>> = BTreeMap::new();
    for uplink in used {
        if let Some(model) = scene.text(&uplink.id, Attribute::DeviceName) {
            models.entry(model.to_owned()).or_default().push(uplink);
        }
    }
    models.retain(|_, uplinks| uplinks.iter().any(|one| one.id.target != uplinks[0].id.target));
    models.into_iter().collect()
}

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let used = rdma_uplinks(scene);
    let mut found = Vec::new();
    for (model, uplinks) in by_model(scene, &used) {
        let mut held: Vec<(&UsedUplink<'_>, String)> = Vec::new();
        for uplink in &uplinks {
            if let Some(firmware) = scene.text(&uplink.id, Attribute::Firmware) {
                held.push((uplink, firmware.to_owned()));
            } else {
                let (lack, why) = why(scene, &uplink.id, Attribute::Firmware, "esxi.nic-get");
                let name = uplink.id.entity.name();
                let title = format!("the firmware of {name} of {}: {why}", uplink.id.target);
                let decide = format!("esxcli network nic get -n {name}");
                found.push(Judged::unknown(&uplink.id, lack, title, decide));
            }
        }
        let Some(alike) = alike(&held) else { continue };
        for (uplink, firmware) in &held {
            let (id, name) = (&uplink.id, uplink.id.entity.name());
            let (other, wanted) = alike.model;
            if firmware == wanted {
                found.push(Judged::pass(id, format!("{name} of {} has firmware {firmware}", id.target)));
            } else {
                found.push(odd(scene, uplink, firmware, &other.id, wanted, &model));
            }
        }
    }
    found
}

fn odd(
    scene: &Scene<'_>,
    uplink: &UsedUplink<'_>,
    firmware: &str,
    other: &EntityId,
    wanted: &str,
    model: &str,
) -> Judged {
    let (id, host, name) = (&uplink.id, &uplink.id.target, uplink.id.entity.name());
    let twin = format!("{} of {}", other.entity.name(), other.target);
    let module = driver_of(scene, id).map(|module| module.entity.name()).unwrap_or_default();
    let tool = if module.starts_with("nmlx") {
        "mlxfwmanager of the vendor's tools, or the server's own updater"
    } else {
        "the server's own updater"
    };
    Judged::warn(
        id,
        Confidence::Proved,
        format!("{host} and {}: {name} has firmware {firmware}, {twin} has {wanted}", other.target),
        format!(
            "{model} with two firmwares: flow control, congestion control and defaults can differ between the two ends of one \
             connection"
        ),
    )
    .shown(id, Attribute::Firmware, format!("{name} of {host}: firmware {firmware}"))
    .shown(other, Attribute::Firmware, format!("{twin}: firmware {wanted}"))
    .cured_by(
        Cure::by_hand(
            "Bring both to one firmware that the VMware Compatibility Guide lists with the driver",
            vec![Step::ByHand(format!(
                "maintenance mode on the host with the older firmware, then {tool}, then a cold start"
            ))],
        )
        .risking(Risk::RebootsHost)
        .verified_by(&["host.same-firmware"]),
    )
    .reaching(way(scene, &uplink.chains))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || Site::sound().replacing("esx02", "esxi.nic-get", "20.35.1012", "20.33.1048"),
        healthy: || Site::sound(),
        unclear: || Site::sound().with("esx02", fails("esxi.nic-get", 1, "Connect to localhost failed")),
    };

    #[test]
    fn two_that_differ_are_told_once_and_both_are_named() {
        let judged = (SAMPLES.trouble)().judge(&CHECK);
        assert_eq!(judged.iter().map(|one| one.status).collect::<Vec<_>>(), [Status::Pass, Status::Warn]);
        let title = &judged[1].title;
        assert_eq!(title, "esx02 and esx01: vmnic2 has firmware 20.33.1048, vmnic2 of esx01 has 20.35.1012");
    }

    #[test]
    fn another_model_has_its_own_firmware_and_one_host_no_twin() {
        let other = (SAMPLES.trouble)().replacing("esx02", "esxi.nic-list", "MT28908 Family", "MT27800 Family");
        assert!(other.judge(&CHECK).is_empty());
        assert!((SAMPLES.trouble)().without_target("esx01").judge(&CHECK).is_empty());
    }
}
