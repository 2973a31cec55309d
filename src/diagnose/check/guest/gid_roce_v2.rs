//! RoCE v2, which is routed and which switches treat as they treat other IP packets; and the same type on both sides.

use super::ask::{self, Facing, GidEntry};
use crate::diagnose::check::{Check, DeviceKind, Judged, Port, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, GidType};

/// Ports speak RoCE v2, both sides of a pair the same.
pub const CHECK: Check = Check {
    id: "guest.gid-roce-v2",
    title: "The RoCE ports offer RoCE v2, and both sides of a pair offer the same",
    gate: "RoCE ports with a filled GID table",
    rule: "fails if the two sides of a pair have no type in common; warns if a port offers RoCE v1 only",
    source: Source { text: "vSphere Networking: PVRDMA Support (device protocol); perftest issue 44", weak: false },
    thresholds: &[],
    explains: &["guest.gid-index", "guest.queue-pairs", "guest.transport", "mpi.nccl-ib"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let ports = ask::ports(scene);
    let roce = |port: &&Port| !port.is_infiniband && ask::is_in_use(scene, port);
    let mut all: Vec<Judged> = ports.iter().filter(roce).filter_map(|port| judge_port(scene, port)).collect();
    for pair in ask::facing(scene).into_iter().flatten() {
        all.extend(judge_pair(scene, &pair));
    }
    all
}

fn has(entries: &[GidEntry], kind: &GidType) -> bool {
    entries.iter().any(|entry| entry.kind.as_ref() == Some(kind))
}

fn judge_port(scene: &Scene<'_>, port: &Port) -> Option<Judged> {
    let guest = &port.id.target;
    let name = port.id.entity.name();
    let entries = ask::gids(scene, port);
    let first = entries.first()?;
    if has(&entries, &GidType::RoceV2) {
        return Some(Judged::pass(&port.id, format!("{guest}: {name} offers RoCE v2")));
    }
    if !has(&entries, &GidType::RoceV1) {
        let decide = format!("grep . /sys/class/infiniband/{}/ports/*/gid_attrs/types/*", port.device.entity.name());
        return Some(ask::untold(scene, &first.id, Attribute::GidType, "linux.gids", &decide));
    }
    Some(
        Judged::warn(
            &port.id,
            Confidence::Proved,
            format!("{guest}: {name} offers RoCE v1 only"),
            "RoCE v1 is no IP: it is not routed, switches put it in no class by DSCP, and a peer that uses RoCE v2 is not reached",
        )
        .shown(&first.id, Attribute::GidType, first.words())
        .cured_by(offer_v2(port))
        .reaching(ask::way(scene, port)),
    )
}

fn judge_pair(scene: &Scene<'_>, pair: &Facing) -> Option<Judged> {
    if pair.one.is_infiniband || pair.other.is_infiniband {
        return None;
    }
    let (ones, others) = (ask::gids(scene, &pair.one), ask::gids(scene, &pair.other));
    let (one, other) = (ones.first()?, others.first()?);
    let shared = [GidType::RoceV1, GidType::RoceV2].iter().any(|kind| has(&ones, kind) && has(&others, kind));
    let told = |entries: &[GidEntry]| entries.iter().any(|entry| entry.kind.is_some());
    if shared || !told(&ones) || !told(&others) {
        return None;
    }
    Some(
        Judged::fail(
            &pair.one.id,
            Confidence::Proved,
            format!("{}: the two sides speak different versions of RoCE", pair.names()),
            "one side offers RoCE v1 only and the other RoCE v2 only; neither understands the packets of the other",
        )
        .shown(&one.id, Attribute::GidType, one.words())
        .shown(&other.id, Attribute::GidType, other.words())
        .cured_by(offer_v2(if has(&ones, &GidType::RoceV2) { &pair.other } else { &pair.one }))
        .reaching(pair.way(scene)),
    )
}

fn offer_v2(port: &Port) -> Cure {
    let step = match port.kind {
        DeviceKind::Pvrdma => {
            "vCenter: power the VM off, Edit Settings > the PVRDMA adapter > Device Protocol: RoCE v2; the host's adapter must \
             offer it (esxcli rdma device protocol list), and the guest's driver needs device version 18 or more"
        }
        _ => {
            "enable RoCE v2 of the adapter's driver on the host or in the guest (mlx5: devlink dev param, cma_roce_mode for rdma_cm)"
        }
    };
    Cure::by_hand("Let the port offer RoCE v2", vec![Step::ByHand(step.to_owned())])
        .risking(if port.kind == DeviceKind::Pvrdma { Risk::RebootsGuest } else { Risk::DisruptsRdma })
        .verified_by(&["guest.gid-roce-v2"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site};
    use crate::diagnose::finding::Status;

    fn v1(site: Site, name: &str) -> Site {
        site.replacing(name, "linux.gids", ":RoCE v2", ":IB/RoCE v1")
    }

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || v1(v1(Site::sound(), "pv-a"), "pv-b"),
        healthy: Site::sound,
        unclear: || {
            let gids = "/sys/class/infiniband/rocep11s0f1/ports/1/gid_attrs/types/";
            Site::sound().replacing("pv-a", "linux.gids", &format!("{gids}0:RoCE v2\n"), "").replacing(
                "pv-a",
                "linux.gids",
                &format!("{gids}1:RoCE v2\n"),
                "",
            )
        },
    };

    #[test]
    fn two_sides_without_a_common_type_fail() {
        let judged = v1(Site::sound(), "pv-a").judge(&CHECK);
        let failed = judged.iter().find(|judged| judged.status == Status::Fail).expect("a failure");
        assert_eq!(failed.evidence.len(), 2, "both sides show it");
    }
}
