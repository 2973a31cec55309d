//! The two sides of a pair see each other in one network, or through a router that both know.

use std::net::IpAddr;

use super::ask::{self, Facing};
use crate::diagnose::check::{Check, DeviceKind, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::Attribute;

/// Both sides of a pair are in one network.
pub const CHECK: Check = Check {
    id: "guest.same-subnet",
    title: "The RoCE interfaces of a pair are in one network",
    gate: "pairs of guests whose RoCE interfaces have IPv4 addresses",
    rule: "fails if the prefixes disagree (one side sees the other in its network, the other does not); warns if PVRDMA or soft-RoCE sides are in different networks, informs for adapters of the hardware",
    source: Source {
        text: "vSphere Networking: PVRDMA Support; RoCE v2 (Annex A17 of the InfiniBand specification)",
        weak: false,
    },
    thresholds: &[],
    explains: &["guest.neighbour", "guest.queue-pairs"],
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
    let v4 = |netdev| -> Vec<(IpAddr, u8)> {
        ask::addresses(scene, netdev).into_iter().filter(|(address, _)| address.is_ipv4()).collect()
    };
    let (ones, others) = (v4(one), v4(other));
    let ((first, length), (second, other_length)) = (*ones.first()?, *others.first()?);
    let seen = |from: &[(IpAddr, u8)], to: &[(IpAddr, u8)]| {
        from.iter().any(|network| to.iter().any(|(address, _)| ask::holds(*network, *address)))
    };
    let names = pair.names();
    let told = |judged: Judged| {
        judged
            .shown(one, Attribute::Addresses, format!("{}: {first}/{length}", one.target))
            .shown(other, Attribute::Addresses, format!("{}: {second}/{other_length}", other.target))
            .reaching(pair.way(scene))
    };
    match (seen(&ones, &others), seen(&others, &ones)) {
        (true, true) => Some(Judged::pass(&pair.one.id, format!("{names}: one network, {first}/{length}"))),
        (false, false) if [&pair.one, &pair.other].iter().any(|port| matches!(port.kind, DeviceKind::Pvrdma | DeviceKind::Software)) => Some(
            told(Judged::warn(
                &pair.one.id,
                Confidence::Likely,
                format!("{names}: the RoCE interfaces are in different networks"),
                "a connection needs a router between them and a route over this interface on each side; RDMA between such \
                 guests is meant for one network",
            ))
            .decided_by(format!("on {}: ip route get {second}", one.target))
            .cured_by(Cure::by_hand(
                "Put both in one network",
                vec![Step::ByHand(format!("give {} an address of the network of {first}/{length}", other.entity.name()))],
            )),
        ),
        (false, false) => Some(told(Judged::info(
            &pair.one.id,
            format!("{names}: the RoCE interfaces are in different networks"),
            "RoCE v2 is routed; both sides need a route over this interface, and the lossless class on every hop",
        ))),
        _ => Some(
            told(Judged::fail(
                &pair.one.id,
                Confidence::Proved,
                format!("{names}: the lengths of the prefixes disagree"),
                "one side sends straight to the other, and that one answers by a router or not at all",
            ))
            .cured_by(Cure::by_hand(
                "Give both the same length of the prefix",
                vec![Step::ByHand(format!("{}: {first}/{length}; {}: {second}/{other_length}: correct the wrong one", one.target, other.target))],
            )),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site};
    use crate::diagnose::finding::Status;

    fn moved(address: &str, gid: &str) -> Site {
        Site::sound().replacing("pv-b", "linux.ip-addresses", "192.168.100.12", address).replacing(
            "pv-b",
            "linux.gids",
            "c0a8:640c",
            gid,
        )
    }

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || moved("192.168.101.12", "c0a8:650c"),
        healthy: Site::sound,
        unclear: || Site::sound().silent("pv-b", "no route to host"),
    };

    #[test]
    fn prefixes_that_disagree_fail() {
        let site = Site::sound().replacing(
            "pv-b",
            "linux.ip-addresses",
            "\"local\":\"192.168.100.12\",\"prefixlen\":24",
            "\"local\":\"192.168.100.212\",\"prefixlen\":27",
        );
        assert!(site.statuses(&CHECK).contains(&Status::Fail), "{:#?}", site.judge(&CHECK));
    }

    #[test]
    fn adapters_of_the_hardware_may_be_routed() {
        let site = Site::sound().replacing("hca-b", "linux.ip-addresses", "192.168.100.22", "192.168.102.22");
        assert!(site.statuses(&CHECK).contains(&Status::Info), "{:#?}", site.judge(&CHECK));
    }
}
