//! Both sides of a pair have the same MTU.

use super::ask::{self, Facing};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk};
use crate::fabric::{Attribute, EntityId};
use crate::probe::linux::rdma_sysfs::roce_mtu;

/// Both sides of a pair have the same MTU.
pub const CHECK: Check = Check {
    id: "guest.mtu-pair",
    title: "The RoCE interfaces of a pair have the same MTU",
    gate: "pairs of guests with RoCE ports",
    rule: "warns if the MTUs of the two interfaces differ",
    source: Source {
        text: "kernel source: include/rdma/ib_addr.h (iboe_get_mtu); NetQ check roce; captures of perftest with two MTUs",
        weak: false,
    },
    thresholds: &[],
    explains: &[
        "guest.roce-mtu",
        "guest.mtu-persistence",
        "guest.queue-pairs",
        "guest.packet-loss",
        "guest.retransmits",
    ],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    ask::facing(scene)
        .into_iter()
        .filter_map(|pair| match pair {
            Ok(pair) => judge_pair(scene, &pair),
            Err(unknown) => Some(*unknown),
        })
        .collect()
}

fn judge_pair(scene: &Scene<'_>, pair: &Facing) -> Option<Judged> {
    let (one, other) = (pair.one.netdev.as_ref()?, pair.other.netdev.as_ref()?);
    let read = |netdev: &EntityId| scene.count(netdev, Attribute::Mtu);
    let (Some(first), Some(second)) = (read(one), read(other)) else {
        let silent = if read(one).is_none() { one } else { other };
        let decide = format!("cat /sys/class/net/{}/mtu", silent.entity.name());
        return Some(ask::untold(scene, silent, Attribute::Mtu, "linux.netdev-files", &decide));
    };
    let names = pair.names();
    if first == second {
        return Some(Judged::pass(&pair.one.id, format!("{names}: both have MTU {first}")));
    }
    let ((small, small_mtu), (large, large_mtu)) =
        if first < second { ((one, first), (other, second)) } else { ((other, second), (one, first)) };
    let payload = |mtu| roce_mtu(mtu).map_or_else(|| "none".to_owned(), |payload| payload.to_string());
    let name = small.entity.name();
    let set = |mtu: u64| ask::run(&["ip", "link", "set", "dev", &name, "mtu", &mtu.to_string()]);
    let lasting = ask::lasting(scene, small, ask::Lasting::Mtu(large_mtu));
    let note = if lasting.is_empty() {
        "lost at the next start: the MTU is to be set in the network settings too; ports group, switch and uplink must carry it"
    } else {
        "the port group, the switch and the uplink must carry it too"
    };
    let mut cure = Cure::on(&small.target, "Raise the MTU of the smaller side", Risk::DisruptsRdma, set(large_mtu))
        .undone_by(set(small_mtu), vec![(small.clone(), Attribute::Mtu)])
        .verified_by(&["guest.mtu-pair"]);
    cure = cure.noting(note);
    Some(
        Judged::warn(
            &pair.one.id,
            Confidence::Proved,
            format!("{names}: MTU {first} and {second}"),
            format!(
                "{} has {small_mtu} (RoCE {}), {} has {large_mtu} (RoCE {}): programs that agree on the smaller size work at its speed, those that \
                 do not (rdma_cm with the larger side asking, frames of plain IP) lose every large packet",
                small.target, payload(small_mtu), large.target, payload(large_mtu)
            ),
        )
        .shown(one, Attribute::Mtu, format!("{}: {} has {first}", one.target, one.entity.name()))
        .shown(other, Attribute::Mtu, format!("{}: {} has {second}", other.target, other.entity.name()))
        .cured_by(cure)
        .cured_by_some(ask::make_last(lasting, &["guest.mtu-persistence"]))
        .reaching(pair.here(scene)),
    )
}

#[cfg(test)]
mod tests {
    use super::super::samples::soft_roce;
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site};
    use crate::diagnose::finding::Status;
    use crate::diagnose::remedy::Step;

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || Site::sound().replacing("pv-b", "linux.netdev-files", "ens192/mtu:9000", "ens192/mtu:1500"),
        healthy: Site::sound,
        unclear: || Site::sound().silent("pv-b", "no route to host"),
    };

    #[test]
    fn the_smaller_side_is_raised_and_brought_back() {
        let judged = (SAMPLES.trouble)().judge(&CHECK);
        let warned = judged.iter().find(|judged| judged.status == Status::Warn).expect("a warning");
        let cure = &warned.cures[0];
        assert_eq!(cure.on.as_ref().map(crate::fabric::TargetId::as_str), Some("pv-b"));
        let shown = |steps: &[Step]| steps.iter().map(Step::shown).collect::<Vec<_>>();
        assert_eq!(shown(&cure.steps), ["ip link set dev ens192 mtu 9000"]);
        let lasting = "by hand: in /etc/network/interfaces: mtu 9000 (under iface ens192)";
        assert_eq!(shown(&warned.cures[1].steps), [lasting]);
        assert_eq!(shown(&cure.undo), ["ip link set dev ens192 mtu 1500"]);
    }

    #[test]
    fn soft_roce_sides_are_compared_too() {
        let pair = soft_roce(soft_roce(Site::new(), "rxe-a", 10), "rxe-b", 11).pair("rxe-a", "rxe-b");
        assert_eq!(pair.statuses(&CHECK), [Status::Pass]);
        let other = pair.replacing("rxe-b", "linux.netdev-files", "eth1/mtu:1500", "eth1/mtu:900");
        assert_eq!(other.statuses(&CHECK), [Status::Warn]);
    }
}
