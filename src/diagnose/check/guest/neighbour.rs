//! Whether anyone answers for the address of the peer. The symptom of a wrong VLAN or a dead uplink below a PVRDMA port,
//! which stays ACTIVE all the same.

use super::ask::{self, Facing};
use super::counted;
use crate::diagnose::check::{Check, DeviceKind, Judged, Lack, Port, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::counter::Role;
use crate::fabric::{Attribute, EntityId, MacAddress, Text, Value};

/// The peers' addresses are resolved, to their own adapters.
pub const CHECK: Check = Check {
    id: "guest.neighbour",
    title: "The peer's address is answered for, by the peer",
    gate: "pairs of guests in one network",
    rule: "fails if the neighbour table has the peer's address as FAILED or INCOMPLETE since at most a minute, or with another \
           hardware address than the peer's; an older FAILED says nothing of now",
    source: Source {
        text: "iproute2 ip-neighbour(8); driver source: vmw_pvrdma pvrdma_main.c (the port follows the paired vmxnet3)",
        weak: false,
    },
    thresholds: &[],
    explains: &[
        "guest.queue-pairs",
        "guest.retransmits",
        "guest.packet-loss",
        "guest.transport",
        "mpi.ssh-between-nodes",
    ],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// So many packets that came in while the counters were watched are traffic.
const TRAFFIC: u64 = 100;

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let mut all = Vec::new();
    for pair in ask::facing(scene) {
        match pair {
            Ok(pair) => {
                let sides = pair.sides();
                all.extend(sides.iter().filter_map(|(from, to)| judge_side(scene, from, to, &pair)));
            }
            Err(unknown) => all.push(*unknown),
        }
    }
    all
}

fn judge_side(scene: &Scene<'_>, from: &Port, to: &Port, pair: &Facing) -> Option<Judged> {
    let (netdev, peer) = (from.netdev.as_ref()?, to.netdev.as_ref()?);
    let guest = &netdev.target;
    let name = netdev.entity.name();
    let theirs: Vec<String> = ask::addresses(scene, peer).iter().map(|(address, _)| address.to_string()).collect();
    let first = theirs.first()?;
    if let Some((lack, why)) = scene.unread(guest, "linux.neighbours") {
        return Some(Judged::unknown(netdev, lack, format!("{guest}: {why}"), format!("ip neigh show {first}")));
    }
    let entry = find(scene.list(netdev, Attribute::Neighbours), &theirs)?;
    let unresolved = find(scene.list(netdev, Attribute::UnresolvedNeighbours), &theirs);
    if let Some(words) = unresolved {
        let receives = |port| counted::total(&counted::rises(scene, port, &[Role::ReceivePackets])) >= TRAFFIC;
        if receives(from) && receives(to) {
            let title = format!("{guest}: {} did not answer for {first} when it was asked last", peer.target);
            let cause = "packets of RDMA come in on both sides all the same, so the way is there: the question or its answer was lost";
            return Some(Judged::info(netdev, title, cause).shown(netdev, Attribute::UnresolvedNeighbours, words));
        }
        return Some(no_answer(scene, (from, netdev), (to, peer), words, pair));
    }
    if entry.split(' ').nth(1) == Some("FAILED") {
        // The kernel keeps it long after the way is mended, until somebody sends something again.
        let title = format!(
            "{guest}: whether {} answers for {first} now is not known: it did not when it was last asked, more than a minute ago",
            peer.target
        );
        let decide = format!("on {guest}: ping -c 3 -I {name} {first}");
        return Some(Judged::unknown(netdev, Lack::NotObservable, title, decide));
    }
    let answering: MacAddress = entry.split(' ').nth(1)?.parse().ok()?;
    match scene.value(peer, Attribute::HardwareAddress) {
        Some(Value::Mac(own)) if *own != answering => Some(
            Judged::fail(
                netdev,
                Confidence::Likely,
                format!("{guest}: another machine answers for {first} of {}", peer.target),
                format!("{answering} answers for the address, but the adapter of {} is {own}: the address is used twice, or the entry is from before the VM was given another adapter", peer.target),
            )
            .shown(netdev, Attribute::Neighbours, entry)
            .shown(peer, Attribute::HardwareAddress, format!("{own} is the adapter of {}", peer.target))
            .decided_by(format!("on {guest}: arping -I {name} {first}"))
            .cured_by(
                Cure::on(guest, "Ask anew who has the address", Risk::None, ask::run(&["ip", "neigh", "flush", "to", first, "dev", &name]))
                    .without_undo("the entry is learned anew, whoever answers", vec![(netdev.clone(), Attribute::Neighbours)])
                    .verified_by(&["guest.neighbour"]),
            )
            .reaching(pair.way(scene)),
        ),
        _ => Some(Judged::pass(netdev, format!("{guest}: {} answers for {first}", peer.target))),
    }
}

fn no_answer(
    scene: &Scene<'_>,
    (from, netdev): (&Port, &EntityId),
    (to, peer): (&Port, &EntityId),
    words: &str,
    pair: &Facing,
) -> Judged {
    let guest = &netdev.target;
    let cause = if !ask::is_active(scene, to) {
        format!("the port of {} is not ACTIVE, so nobody is there to answer", peer.target)
    } else if from.kind == DeviceKind::Pvrdma {
        "both ports are ACTIVE, but what is sent does not arrive: a PVRDMA port shows only its virtual adapter, so the VLANs \
         of the two port groups, the uplinks below and the switch between are to be compared"
            .to_owned()
    } else {
        "both ports are ACTIVE, but what is sent does not arrive: VLAN, the switch between, or a filter on the peer"
            .to_owned()
    };
    let address = words.split(' ').next().unwrap_or_default();
    Judged::fail(
        netdev,
        Confidence::Proved,
        format!("{guest}: nobody answers for {address} of {}", peer.target),
        format!("{cause}; connections end with an address error or a retry time-out"),
    )
    .shown(netdev, Attribute::UnresolvedNeighbours, words)
    .decided_by("the hops between the two: the VLANs and uplinks of both adapters, and the ports of the switch")
    .cured_by(Cure::by_hand(
        "Find the hop that does not let it through",
        vec![Step::ByHand(format!(
            "compare VLAN and uplinks of both sides, then on {guest}: ping -c 3 -I {} {address}",
            netdev.entity.name()
        ))],
    ))
    .reaching(pair.way(scene))
}

/// The entry of one of these addresses.
fn find<'a>(table: Option<&'a [Text]>, addresses: &[String]) -> Option<&'a str> {
    let of = |entry: &&str| addresses.iter().any(|address| entry.split(' ').next() == Some(address.as_str()));
    table?.iter().map(Text::as_str).find(of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::finding::Status;

    const ANSWERED: &str = "192.168.100.12 dev ens192 lladdr 00:50:56:b2:66:9e REACHABLE";

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || Site::sound().replacing("pv-a", "linux.neighbours", ANSWERED, "192.168.100.12 dev ens192 FAILED"),
        healthy: || {
            Site::sound().replacing(
                "pv-a",
                "linux.neighbours",
                ANSWERED,
                &format!("{ANSWERED} \n192.168.100.77 dev ens192 FAILED"),
            )
        },
        unclear: || Site::sound().with("pv-a", fails("linux.neighbours", 127, "ip: not found")),
    };

    #[test]
    fn an_incomplete_entry_is_as_bad() {
        let site =
            Site::sound().replacing("pv-a", "linux.neighbours", ANSWERED, "192.168.100.12 dev ens192  INCOMPLETE");
        assert!(site.statuses(&CHECK).contains(&Status::Fail));
    }

    #[test]
    fn under_loss_a_question_is_lost_now_and_then() {
        use super::super::counted::tests::counter;
        use super::super::samples::soft_roce;
        let pair = |come_in: u64| {
            let site = soft_roce(soft_roce(Site::new(), "rxe-a", 10), "rxe-b", 11).pair("rxe-a", "rxe-b");
            let site =
                site.with("rxe-b", says("linux.neighbours", "192.168.100.10 dev eth1  used 3/41/1probes 6 FAILED \n"));
            site.moved(counter("rxe-b", "rxe0", "rcvd_pkts"), come_in, 20).moved(
                counter("rxe-a", "rxe0", "rcvd_pkts"),
                15_800,
                20,
            )
        };
        let of = |site: Site| site.judge(&CHECK).into_iter().find(|judged| judged.subject.target.as_str() == "rxe-b");
        assert_eq!(of(pair(317)).map(|judged| judged.status), Some(Status::Info));
        assert_eq!(of(pair(0)).map(|judged| judged.status), Some(Status::Fail), "nothing comes back");
    }

    #[test]
    fn a_failure_of_some_time_ago_is_no_failure_of_now() {
        // What a real guest printed after its peer's interface had been down for a while, and was up again.
        let entry = |ages: &str| format!("192.168.100.12 dev ens192  used {ages}probes 6 FAILED");
        let of = |ages: &str| {
            let site = Site::sound().replacing("pv-a", "linux.neighbours", ANSWERED, &entry(ages));
            site.judge(&CHECK).into_iter().find(|judged| judged.subject.target.as_str() == "pv-a").expect("judged")
        };
        assert_eq!(of("5/61/2").status, Status::Fail);
        let old = of("113/165/110");
        assert_eq!((old.status, old.lack), (Status::Unknown, Some(Lack::NotObservable)));
        assert_eq!(old.decide, "on pv-a: ping -c 3 -I ens192 192.168.100.12");
    }

    #[test]
    fn another_machine_that_answers_is_told() {
        let other = "192.168.100.12 dev ens192 lladdr 00:50:56:b2:ff:ff STALE";
        let site = Site::sound().replacing("pv-a", "linux.neighbours", ANSWERED, other);
        let judged = site.judge(&CHECK);
        let failed = judged.iter().find(|judged| judged.status == Status::Fail).expect("a failure");
        assert!(failed.cause.contains("00:50:56:b2:ff:ff"), "{}", failed.cause);
        assert_eq!(failed.cures[0].steps[0].shown(), "ip neigh flush to 192.168.100.12 dev ens192");
    }

    #[test]
    fn an_address_nobody_asked_for_says_nothing() {
        let site = Site::sound().replacing("pv-a", "linux.neighbours", ANSWERED, "192.168.100.77 dev ens192 FAILED");
        assert!(!site.judge(&CHECK).iter().any(|judged| judged.subject.target.as_str() == "pv-a"));
    }
}
