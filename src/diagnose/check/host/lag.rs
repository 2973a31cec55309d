//! Teaming that spreads one adapter over several uplinks (LACP, IP hash, load of the adapter) and RDMA exclude each other.

use super::bearing::{is_running, trouble, vm_name, why};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::join::Chain;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId};

/// The ports of RDMA adapters do not team.
pub const CHECK: Check = Check {
    id: "host.lag",
    title: "The teaming of the PVRDMA adapters is none that RDMA cannot use",
    gate: "PVRDMA adapters whose port of a distributed switch is known",
    rule: "fails if the port uses a link aggregation group or is balanced by IP hash; warns if it is balanced by the load of the \
           adapters; passes for every other teaming",
    source: Source {
        text: "KB 382163, KB 326624: LACP, IP hash and physical NIC load are unsupported for RDMA",
        weak: false,
    },
    thresholds: &[],
    explains: &["guest.transport", "host.pvrdma-log"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let mut found: Vec<Judged> = scene.pvrdma_chains().filter_map(|chain| of_adapter(scene, chain)).collect();
    found.sort_by(|one, other| one.subject.cmp(&other.subject));
    found
}

fn of_adapter(scene: &Scene<'_>, chain: &Chain) -> Option<Judged> {
    let port = chain.reaches(|to| matches!(to, Entity::SwitchPort { .. }))?;
    let (host, vm) = (&port.target, vm_name(scene, &chain.vm));
    let active = names(scene, port, Attribute::ActiveUplinks);
    let Some(policy) = scene.text(port, Attribute::TeamingPolicy) else {
        let (lack, why) = why(scene, port, Attribute::TeamingPolicy, "esxi.net-dvs-list");
        let title = format!("the teaming of {vm}'s port on {host}: {why}");
        return Some(Judged::unknown(
            port,
            lack,
            title,
            "vCenter: the port group > Edit Settings > Teaming and failover",
        ));
    };
    let lower = policy.to_ascii_lowercase();
    let lag = active.iter().find(|name| name.to_ascii_lowercase().starts_with("lag"));
    let (is_bad, is_hash) = (lag.is_some() || lower.contains("hash"), lag.is_none());
    let by_load = lower.contains("load") && lower.contains("nic");
    if !is_bad && !by_load {
        return Some(Judged::pass(port, format!("{vm}'s port on {host} is balanced by {policy}")));
    }
    let what = match lag {
        Some(lag) => format!("the link aggregation group {lag}"),
        None => policy.to_owned(),
    };
    let title = format!("{host}: {vm}'s PVRDMA adapter is teamed by {what}");
    let cause =
        "RDMA of one adapter stays on one uplink: LACP, IP hash and balancing by the load of the adapters are not \
                 supported with it, and the host falls back to TCP"
            .to_owned();
    let judged = if is_bad {
        trouble(is_running(scene, &chain.vm), port, Confidence::Proved, title, cause)
    } else {
        Judged::warn(port, Confidence::Proved, title, cause)
    };
    let judged = match lag {
        Some(lag) => judged.shown(port, Attribute::ActiveUplinks, format!("active is {lag}")),
        None => judged.shown(port, Attribute::TeamingPolicy, format!("load balancing = {policy}")),
    };
    Some(judged.cured_by(cure(scene, chain, &what, is_hash)).reaching(scene.way_of(chain)))
}

fn names(scene: &Scene<'_>, port: &EntityId, attribute: Attribute) -> Vec<String> {
    scene.list(port, attribute).unwrap_or_default().iter().map(ToString::to_string).collect()
}

fn cure(scene: &Scene<'_>, chain: &Chain, old: &str, by_policy: bool) -> Cure {
    let group = scene.text(&chain.device, Attribute::PortGroupKey).unwrap_or("of the adapter");
    let path = format!("vCenter: Networking > the port group {group} > Edit Settings > Teaming and failover");
    let (to, back) = if by_policy {
        ("load balancing: Route based on originating virtual port".to_owned(), format!("load balancing: {old}"))
    } else {
        ("one uplink active, all others and the group unused".to_owned(), format!("active: {old}"))
    };
    Cure::by_hand("Take the port group out of the team", vec![Step::ByHand(format!("{path}: {to}"))])
        .risking(Risk::DisruptsRdma)
        .undone_by(vec![Step::ByHand(format!("{path}: {back}"))], Vec::new())
        .verified_by(&["host.lag"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || balanced("source ip hash"),
        healthy: || Site::sound(),
        unclear: || Site::sound().with("esx02", fails("esxi.net-dvs-list", 127, "sh: net-dvs: not found")),
    };

    fn balanced(policy: &str) -> Site {
        Site::sound().replacing("esx02", "esxi.net-dvs-list", "= source virtual port id", &format!("= {policy}"))
    }

    #[test]
    fn groups_and_load() {
        let site = Site::sound().replacing("esx02", "esxi.net-dvs-list", "active = Uplink 1;", "active = lag1;");
        let judged = site.judge(&CHECK).pop().expect("judged");
        assert_eq!(judged.title, "esx02: pv-b's PVRDMA adapter is teamed by the link aggregation group lag1");
        assert_eq!(balanced("physical nic load").statuses(&CHECK), [Status::Pass, Status::Warn]);
        assert_eq!(balanced("explicit failover order").statuses(&CHECK), [Status::Pass, Status::Pass]);
    }
}
