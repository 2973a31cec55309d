//! UCX's plain RC transport makes a shared receive queue as deep as it is told, without asking what the device offers;
//! PVRDMA refuses one that is deeper.

use super::jobs::{has_mpi, set_anew, set_first, system, variable};
use crate::diagnose::check::{Check, DeviceKind, Judged, Lack, Port, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::Cure;
use crate::fabric::{Attribute, Entity, EntityId, TargetId, Text};
use crate::probe::linux::mpi::RECEIVE_QUEUE;
use crate::tune::ucx::depth_within;

/// UCX's receive queue fits the PVRDMA device.
pub const CHECK: Check = Check {
    id: "mpi.ucx-srq",
    title: "UCX's shared receive queue fits the PVRDMA device",
    gate: "guests with UCX and a PVRDMA adapter",
    rule: "fails if UCX may use RC and UCX_RC_VERBS_RX_QUEUE_LEN is above the device's max_srq_wr, or the device has no shared \
           receive queues; passes if it fits, or if UCX_TLS leaves only UD",
    source: Source { text: "driver source pvrdma_srq.c; UCX src/uct/ib/rc/verbs", weak: false },
    thresholds: &[],
    explains: &["guest.kernel-messages"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let of_guest = |guest| {
        let is_pvrdma = |port: &Port| port.kind == DeviceKind::Pvrdma;
        let ports = if has_ucx(scene, guest) { scene.ports(guest) } else { Vec::new() };
        ports.into_iter().filter(is_pvrdma).map(move |port| judged(scene, guest, &port))
    };
    scene.guests().flat_map(of_guest).collect()
}

fn has_ucx(scene: &Scene<'_>, guest: &TargetId) -> bool {
    has_mpi(scene, guest) && scene.text(&system(guest), Attribute::UcxVersion).is_some()
}

/// True if UCX may take RC by the list of the login.
fn may_use_rc(scene: &Scene<'_>, guest: &TargetId) -> bool {
    let Some(setting) = variable(scene, guest, "UCX_TLS") else { return true };
    let names: Vec<&str> = setting.value.trim_start_matches('^').split(',').map(str::trim).collect();
    let is_rc = |name: &&str| matches!(*name, "rc" | "rc_v" | "rc_verbs" | "ib" | "all");
    if setting.value.starts_with('^') { !names.iter().any(is_rc) } else { names.iter().any(is_rc) }
}

fn judged(scene: &Scene<'_>, guest: &TargetId, port: &Port) -> Judged {
    let name = port.device.entity.name();
    if !may_use_rc(scene, guest) {
        return Judged::pass(
            &port.device,
            format!("{guest}: UCX_TLS leaves only UD for {name}, which needs no shared queue"),
        );
    }
    let queue = EntityId::new(guest, Entity::MpiParameter(Text::new(RECEIVE_QUEUE)));
    let depth = scene.text(&queue, Attribute::SettingValue).and_then(|text| text.trim().parse::<u64>().ok());
    let queues = scene.count(&port.device, Attribute::MaxSharedQueues);
    let most = scene.count(&port.device, Attribute::MaxSharedRequests);
    let only_ud = || {
        let better = "ud_v,sm,self";
        match variable(scene, guest, "UCX_TLS") {
            Some(setting) => set_anew(guest, &setting, better),
            None => set_first(guest, "UCX_TLS", better),
        }
    };
    if queues == Some(0) {
        return fail(
            port,
            format!("{guest}: {name} has no shared receive queues, and UCX may use RC"),
            "RC of UCX needs one and ends with an error; only UD is left".to_owned(),
        )
        .shown(&port.device, Attribute::MaxSharedQueues, "max_srq is 0")
        .cured_by(only_ud().verified_by(&["mpi.ucx-srq"]));
    }
    let (Some(depth), Some(most)) = (depth, most) else {
        let (lack, why) = if most.is_none() {
            let source = "linux.device-limits";
            scene
                .unread(guest, source)
                .unwrap_or((Lack::NotObservable, format!("ibv_devinfo does not tell it of {name}")))
        } else {
            let source = "linux.ucx-settings";
            scene
                .unread(guest, source)
                .unwrap_or((Lack::NotObservable, format!("ucx_info does not list {RECEIVE_QUEUE}")))
        };
        let decide = format!("on {guest}: ibv_devinfo -v -d {name} | grep max_srq; ucx_info -c | grep {RECEIVE_QUEUE}");
        return Judged::unknown(
            &port.device,
            lack,
            format!("shared receive queue of {name} on {guest}: {why}"),
            decide,
        );
    };
    // As the provider of the device rounds it before the driver looks.
    if depth.checked_next_power_of_two().is_some_and(|rounded| rounded <= most) {
        return Judged::pass(&port.device, format!("{guest}: UCX asks {name} for {depth} of {most} requests"));
    }
    let Some(fitting) = depth_within(most) else {
        return fail(
            port,
            format!("{guest}: {name} offers shared receive queues of {most} requests only, and UCX may use RC"),
            "RC of UCX cannot work with so short a queue; only UD is left".to_owned(),
        )
        .shown(&port.device, Attribute::MaxSharedRequests, format!("max_srq_wr is {most}"))
        .cured_by(only_ud().verified_by(&["mpi.ucx-srq"]));
    };
    let shorter: Cure = match variable(scene, guest, RECEIVE_QUEUE) {
        Some(setting) => set_anew(guest, &setting, &fitting.to_string()),
        None => set_first(guest, RECEIVE_QUEUE, &fitting.to_string()),
    };
    fail(
        port,
        format!("{guest}: UCX asks {name} for a shared receive queue of {depth}, the device offers {most}"),
        "vmw_pvrdma refuses it (\"shared receive queue size invalid\", EINVAL); RC of UCX does not open, and the job ends or goes \
         another way"
            .to_owned(),
    )
    .shown(&queue, Attribute::SettingValue, format!("{RECEIVE_QUEUE} is {depth}"))
    .shown(&port.device, Attribute::MaxSharedRequests, format!("max_srq_wr is {most}"))
    .cured_by(shorter.verified_by(&["mpi.ucx-srq"]))
    .cured_by(only_ud().verified_by(&["mpi.ucx-srq"]))
}

fn fail(port: &Port, title: String, cause: String) -> Judged {
    let things = [Some(port.id.clone()), port.netdev.clone(), Some(system(&port.id.target))];
    Judged::fail(&port.device, Confidence::Proved, title, cause).reaching(things.into_iter().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: by_default,
        healthy: Site::sound,
        unclear: || Site::sound().with("pv-a", fails("linux.device-limits", 255, "Failed to open device")),
    };

    /// As UCX asks by itself.
    fn by_default() -> Site {
        Site::sound()
            .replacing("pv-a", "linux.ucx-settings", "UCX_RC_VERBS_RX_QUEUE_LEN=1024", "UCX_RC_VERBS_RX_QUEUE_LEN=4095")
            .replacing("pv-a", "linux.environment", "UCX_RC_VERBS_RX_QUEUE_LEN=1024\n", "")
    }

    #[test]
    fn without_rc_no_shared_queue_is_made() {
        for list in ["ud_v,sm,self", "^rc_v"] {
            let site = by_default().replacing("pv-a", "linux.environment", "rc_v,ud_v,sm,self", list);
            assert_eq!(site.statuses(&CHECK), [Status::Pass, Status::Pass], "{list}");
        }
        let site = by_default().replacing("pv-a", "linux.environment", "UCX_TLS=rc_v,ud_v,sm,self\n", "");
        assert_eq!(site.statuses(&CHECK)[0], Status::Fail, "by itself UCX takes all that there is");
    }

    #[test]
    fn a_host_without_shared_queues_leaves_ud() {
        let site = Site::sound().replacing("pv-a", "linux.device-limits", "max_srq:\t\t\t32768", "max_srq:\t\t\t0");
        let judged = site.judge(&CHECK);
        assert_eq!(judged[0].status, Status::Fail);
        assert!(judged[0].cures[0].title.contains("UCX_TLS=ud_v"), "{:?}", judged[0].cures);
    }
}
