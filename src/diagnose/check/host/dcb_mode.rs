//! Data center bridging has two dialects; adapter and switch must both speak that of the IEEE, else flow control is off.

use super::bearing::{UsedUplink, alike, rdma_uplinks, way, why};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, EntityId};

/// The mode is that of the IEEE.
pub const CHECK: Check = Check {
    id: "host.dcb-mode",
    title: "Data center bridging is in IEEE mode",
    gate: "uplinks that PVRDMA adapters or virtual functions of VMs leave by, unless global pause takes the place of PFC",
    rule: "warns if the mode is CEE; passes if it is IEEE, or where the mode is unknown while priority flow control is on",
    source: Source { text: "KB 326624: RDMA needs DCB mode IEEE and PFC on priority 3", weak: false },
    thresholds: &[],
    explains: &["host.pfc", "host.pause-drops", "switch.drops", "switch.pfc", "guest.retransmits", "host.pvrdma-log"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let used = rdma_uplinks(scene);
    let modes: Vec<(EntityId, String)> = used
        .iter()
        .filter_map(|uplink| {
            let mode = scene.text(&uplink.id, Attribute::DcbMode)?;
            Some((uplink.id.clone(), mode.to_ascii_lowercase()))
        })
        .collect();
    let twin = modes.iter().find(|(_, mode)| mode.contains("ieee")).map(|(id, _)| id);
    let differ = alike(&modes).is_some_and(|alike| !alike.odd.is_empty());
    used.iter().filter_map(|uplink| of_uplink(scene, uplink, twin.filter(|_| differ))).collect()
}

/// True if global pause is on, both ways: it stands in for flow control by priority.
pub(super) fn pauses(scene: &Scene<'_>, uplink: &EntityId) -> bool {
    let on = |attribute| scene.flag(uplink, attribute) == Some(true);
    on(Attribute::PauseRx) && on(Attribute::PauseTx)
}

fn of_uplink(scene: &Scene<'_>, used: &UsedUplink<'_>, twin: Option<&EntityId>) -> Option<Judged> {
    let (id, host, name) = (&used.id, &used.id.target, used.id.entity.name());
    let pfc = scene.flag(id, Attribute::PfcEnabled);
    if pauses(scene, id) && pfc != Some(true) {
        return None;
    }
    let decide = format!("esxcli network nic dcb status get -n {name}");
    let Some(mode) = scene.text(id, Attribute::DcbMode) else {
        let (lack, why) = why(scene, id, Attribute::DcbMode, "esxi.nic-dcb");
        return Some(Judged::unknown(id, lack, format!("the DCB mode of {name} of {host}: {why}"), decide));
    };
    let lower = mode.to_ascii_lowercase();
    if lower.contains("ieee") {
        return Some(Judged::pass(id, format!("{name} of {host} is in {mode}")));
    }
    if !lower.contains("cee") {
        // Some releases say Unknown of adapters whose flow control is in force.
        return Some(if pfc == Some(true) {
            Judged::pass(id, format!("{name} of {host} says {mode} of its DCB mode, and its flow control is in force"))
        } else {
            let lack = crate::diagnose::check::Lack::NotObservable;
            Judged::unknown(id, lack, format!("{name} of {host} says {mode} of its DCB mode"), decide)
        });
    }
    let off = if pfc == Some(false) { ", so no priority has flow control" } else { "" };
    let mut judged = Judged::warn(
        id,
        Confidence::Proved,
        format!("{host}: {name} is in {mode}, not IEEE"),
        format!(
            "adapter and switch agreed on the older dialect of DCBX, in which the flow control that RDMA needs is not applied{off}: \
             the switch drops what it cannot hold, and every drop costs a retransmission"
        ),
    )
    .shown(id, Attribute::DcbMode, format!("{name} of {host}: {mode}"));
    if pfc == Some(false) {
        judged = judged.shown(id, Attribute::PfcEnabled, format!("{name} of {host}: PFC is off"));
    }
    if let Some(twin) = twin {
        judged = judged.shown(
            twin,
            Attribute::DcbMode,
            format!("{} of {} is in IEEE mode", twin.entity.name(), twin.target),
        );
    }
    let port = format!(
        "the switch port of {name}: DCBX in its IEEE version (EOS: dcbx mode ieee), as on the ports of the others"
    );
    let driver =
        "then firmware, driver and the options dcbx, pfctx and pfcrx of the module as on the other host".to_owned();
    Some(
        judged
            .cured_by(
                Cure::by_hand("Make both ends speak IEEE DCBX", vec![Step::ByHand(port), Step::ByHand(driver)])
                    .risking(Risk::DisruptsRdma)
                    .verified_by(&["host.dcb-mode", "host.pfc", "host.same-firmware"]),
            )
            .reaching(way(scene, &used.chains)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || {
            dcb(
                "   Mode: 2 - CEE Mode\n   Enabled: true\n   PFC Enabled: false\n   PFC Configuration: 0 0 0 0 0 0 0 0\n",
            )
        },
        healthy: || dcb("   Mode: 3 - IEEE Mode\n   PFC Enabled: true\n   PFC Configuration: 0 0 0 1 0 0 0 0\n"),
        unclear: || Site::sound().with("esx02", fails("esxi.nic-dcb", 1, "Connect to localhost failed")),
    };

    /// The lines that a report of two such hosts quotes, under the one adapter that counts.
    pub(in crate::diagnose::check::host) fn dcb(status: &str) -> Site {
        let text = format!("@item vmnic2\n{status}\n@status 0\n");
        Site::sound().with("esx02", says("esxi.nic-dcb", &text))
    }

    #[test]
    fn the_twin_that_does_it_right_is_named() {
        let judged = (SAMPLES.trouble)().judge(&CHECK).pop().expect("judged");
        assert_eq!(judged.title, "esx02: vmnic2 is in CEE Mode, not IEEE");
        assert!(judged.evidence.iter().any(|exhibit| exhibit.says == "vmnic2 of esx01 is in IEEE mode"));
    }

    #[test]
    fn mode_and_flag_are_two_facts() {
        let on = dcb("   Mode: 0 - Unknown\n   PFC Enabled: true\n   PFC Configuration: 0 0 0 1 0 0 0 0\n");
        assert_eq!(on.statuses(&CHECK), [Status::Pass, Status::Pass]);
        let off = dcb("   Mode: 0 - Unknown\n   PFC Enabled: false\n");
        assert_eq!(off.statuses(&CHECK), [Status::Pass, Status::Unknown]);
    }

    #[test]
    fn global_pause_takes_its_place() {
        let off = dcb("   Mode: 2 - CEE Mode\n   PFC Enabled: false\n");
        let site = off.replacing(
            "esx02",
            "esxi.nic-pause",
            "vmnic2                    true     false     false",
            "vmnic2                    true      true      true",
        );
        assert_eq!(site.statuses(&CHECK), [Status::Pass]);
    }
}
