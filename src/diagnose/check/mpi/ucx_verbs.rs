//! UCX finds the RDMA adapter, or it goes over TCP and shared memory in silence.

use super::jobs::{ground, hardware_ports, has_component, is_active, system, transports};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::{Attribute, TargetId};

/// UCX can open the RDMA adapter.
pub const CHECK: Check = Check {
    id: "mpi.ucx-verbs",
    title: "UCX can open the RDMA adapter of the guest",
    gate: "guests with UCX and an active port of an RDMA adapter",
    rule: "fails if UCX lists no transport on any active port; passes if it lists one",
    source: Source { text: "UCX src/tools/info; UCX issue 9610", weak: false },
    thresholds: &[],
    explains: &["mpi.ucx-tls", "mpi.ucx-net-devices"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    scene.guests().filter_map(|guest| of_guest(scene, guest)).collect()
}

fn of_guest(scene: &Scene<'_>, guest: &TargetId) -> Option<Judged> {
    let ports: Vec<_> = hardware_ports(scene, guest).into_iter().filter(|port| is_active(scene, port)).collect();
    let (id, first) = (system(guest), ports.first()?);
    scene.text(&id, Attribute::UcxVersion)?;
    let Some(transports) = transports(scene, guest) else {
        if scene.lack(&id, Attribute::UcxTransports).is_some() {
            let (lack, why) = scene.lack(&id, Attribute::UcxTransports)?;
            return Some(Judged::unknown(&id, lack, format!("transports of UCX on {guest}: {why}"), "ucx_info -d"));
        }
        return Some(nothing(scene, guest, &[]));
    };
    let on_port =
        |device: &str| ports.iter().any(|port| device.split(':').next() == Some(port.device.entity.name().as_str()));
    if let Some((transport, device)) = transports.iter().find(|(_, device)| on_port(device)) {
        return Some(Judged::pass(&first.id, format!("UCX of {guest} opens {transport} on {device}")));
    }
    Some(nothing(scene, guest, &transports))
}

fn nothing(scene: &Scene<'_>, guest: &TargetId, transports: &[(&str, &str)]) -> Judged {
    let id = system(guest);
    let mut names: Vec<&str> = transports.iter().map(|(transport, _)| *transport).collect();
    names.dedup();
    let has = if names.is_empty() { "none at all".to_owned() } else { names.join(", ") };
    let mut judged = Judged::fail(
        &id,
        Confidence::Proved,
        format!("{guest}: UCX opens no transport on the RDMA adapter"),
        format!(
            "the port is active, but of all transports UCX has {has}: this build was made without verbs, its part for verbs is \
             not installed (ucx-ib), or the login may not open /dev/infiniband/uverbs*. Jobs over UCX go over TCP or end with \
             \"no usable transports/devices\""
        ),
    )
    .shown(&id, Attribute::UcxTransports, format!("UCX lists {has}"))
    .decided_by("ucx_info -v (is --with-verbs among the options?); ls -l /dev/infiniband; ibv_devinfo")
    .cured_by(
        Cure::by_hand(
            "Install UCX with verbs",
            vec![Step::ByHand(format!(
                "{guest}: Red Hat: dnf install ucx-ib; own build: configure --with-verbs, with rdma-core-devel installed"
            ))],
        )
        .undone_by(vec![Step::ByHand(format!("{guest}: Red Hat: dnf remove ucx-ib; or the build from before"))], Vec::new())
        .verified_by(&["mpi.ucx-verbs"]),
    )
    .reaching(ground(scene, guest));
    if has_component(scene, guest, "btl openib") == Some(true) {
        judged = judged.shown(&id, Attribute::MpiComponents, "Open MPI has btl openib, which needs no UCX");
    }
    judged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || Site::sound().with("hca-a", says("linux.ucx-transports", WITHOUT_VERBS)),
        healthy: Site::sound,
        unclear: || Site::sound().with("hca-a", fails("linux.ucx-transports", 1, "sh: 1: Cannot fork")),
    };

    const WITHOUT_VERBS: &str = include_str!("../../../../tests/fixtures/guest-probes/linux.ucx-transports.txt");

    #[test]
    fn a_port_that_is_down_is_not_the_fault_of_ucx() {
        let site = (SAMPLES.trouble)().replacing("hca-a", "linux.rdma-link", "ACTIVE", "DOWN").replacing(
            "hca-a",
            "linux.rdma-sysfs",
            "4: ACTIVE",
            "1: DOWN",
        );
        assert!(!site.statuses(&CHECK).contains(&Status::Fail));
    }

    #[test]
    fn nothing_is_said_without_ucx() {
        let site = Site::sound().with("hca-a", fails("linux.ucx-version", 127, "ucx_info: not found"));
        assert_eq!(site.statuses(&CHECK).len(), Site::sound().statuses(&CHECK).len() - 1);
    }
}
