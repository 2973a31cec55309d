//! The GID table of a RoCE port: an entry for each address of its interface. Without one for the address in use no
//! connection is made.

use std::net::IpAddr;

use super::ask;
use crate::diagnose::check::{Check, DeviceKind, Judged, Lack, Port, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::Attribute;

/// Addresses are in the GID table.
pub const CHECK: Check = Check {
    id: "guest.gid-table",
    title: "The GID table of each RoCE port holds the addresses of its interface",
    gate: "active RoCE ports",
    rule: "fails if the table is empty, or if an IPv4 address of the interface is not in it",
    source: Source {
        text: "kernel source: drivers/infiniband/core/roce_gid_mgmt.c; mlnx-tools show_gids",
        weak: false,
    },
    thresholds: &[],
    explains: &["guest.gid-roce-v2", "guest.gid-index", "guest.queue-pairs", "guest.neighbour", "guest.transport"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let ports = ask::ports(scene);
    ports
        .iter()
        .filter(|port| !port.is_infiniband && ask::is_active(scene, port))
        .map(|port| judge_port(scene, port))
        .collect()
}

fn judge_port(scene: &Scene<'_>, port: &Port) -> Judged {
    let guest = &port.id.target;
    let name = port.id.entity.name();
    let device = port.device.entity.name();
    let decide = format!("grep . /sys/class/infiniband/{device}/ports/*/gids/*");
    let entries = ask::gids(scene, port);
    if entries.is_empty() {
        if let Some((lack, why)) = ask::gids_unread(scene, port) {
            return Judged::unknown(&port.id, lack, format!("{guest}: the GID table of {name}: {why}"), decide);
        }
        // iWARP devices have one entry made of the hardware address; an empty table says that none was entered.
        return Judged::fail(
            &port.id,
            Confidence::Proved,
            format!("{guest}: the GID table of {name} is empty"),
            "the port is ACTIVE, but no address was entered: the interface has none, or the driver could not bind one; no \
             connection can be made",
        )
        .shown(&port.id, Attribute::PortState, "the port is ACTIVE and has no GID")
        .decided_by("dmesg | grep -i -e 'gid' -e 'binding'")
        .cured_by(renew(scene, port))
        .reaching(ask::way(scene, port));
    }
    let addresses = port.netdev.as_ref().map(|netdev| ask::addresses(scene, netdev)).unwrap_or_default();
    let missing: Vec<IpAddr> = addresses
        .iter()
        .map(|(address, _)| *address)
        .filter(|address| match address {
            IpAddr::V4(address) => !entries.iter().any(|entry| entry.gid.ipv4() == Some(*address)),
            // IPv6 addresses come and go with the router's announcements.
            IpAddr::V6(_) => false,
        })
        .collect();
    let Some(netdev) = port.netdev.as_ref().filter(|_| !missing.is_empty()) else {
        return Judged::pass(&port.id, format!("{guest}: {name} has {} GIDs", entries.len()));
    };
    let words: Vec<String> = missing.iter().map(ToString::to_string).collect();
    let words = words.join(", ");
    let Some(first) = entries.first() else {
        return Judged::unknown(&port.id, Lack::NotObservable, format!("{guest}: no GID of {name}"), decide);
    };
    Judged::fail(
        &port.id,
        Confidence::Proved,
        format!("{guest}: no GID of {name} stands for {words}"),
        "the interface has the address, but the driver did not enter it in the GID table: connections from it cannot be made, \
         and programs fall back to an index that the peer does not know",
    )
    .shown(netdev, Attribute::Addresses, format!("{} has {words}", netdev.entity.name()))
    .shown(&first.id, Attribute::GidValue, format!("the table holds {} entries, none of them this one", entries.len()))
    .decided_by("dmesg | grep -i -e 'gid' -e 'binding'")
    .cured_by(renew(scene, port))
    .reaching(ask::way(scene, port))
}

/// Makes the kernel enter all addresses again.
fn renew(scene: &Scene<'_>, port: &Port) -> Cure {
    let link = port.netdev.as_ref().map(|netdev| netdev.entity.name()).unwrap_or_default();
    let set = |state: &str| Step::run(&["ip", "link", "set", "dev", &link, state]);
    let has_address = port.netdev.as_ref().is_some_and(|netdev| !ask::addresses(scene, netdev).is_empty());
    let cure = match (port.kind, has_address) {
        _ if link.is_empty() => Cure::by_hand(
            "Give the interface under the port an address",
            vec![Step::ByHand("rdma link show names the interface; ip addr add ADDRESS/LENGTH dev INTERFACE".to_owned())],
        ),
        (_, false) => Cure::by_hand(
            "Give the interface an address",
            vec![Step::ByHand(format!("ip addr add ADDRESS/LENGTH dev {link}, with an address of the RDMA network"))],
        ),
        (DeviceKind::Pvrdma | DeviceKind::Software | DeviceKind::Passthrough | DeviceKind::Unclear, true) => Cure::on(
            &port.id.target,
            "Take the interface down and up, so that its addresses are entered again",
            Risk::DisruptsRdma,
            vec![set("down"), set("up")],
        )
        .without_undo("the interface is up at the end, as it was before", Vec::new())
        .noting("connections over this interface break, also an SSH session that runs over it; IPv6 addresses set by hand are lost"),
    };
    cure.verified_by(&["guest.gid-table"])
}

#[cfg(test)]
mod tests {
    use super::super::samples::soft_roce;
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::finding::Status;

    const ADDRESS: &str = "/sys/class/infiniband/rocep11s0f1/ports/1/gids/1:0000:0000:0000:0000:0000:ffff:c0a8:640b";

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || {
            let empty = "/sys/class/infiniband/rocep11s0f1/ports/1/gids/1:0000:0000:0000:0000:0000:0000:0000:0000";
            Site::sound().replacing("pv-a", "linux.gids", ADDRESS, empty)
        },
        healthy: Site::sound,
        unclear: || Site::sound().with("pv-a", fails("linux.gids", 124, "timeout")),
    };

    #[test]
    fn a_table_without_any_entry_is_empty() {
        let none = "/sys/class/infiniband/rxe0/ports/1/gids/0:0000:0000:0000:0000:0000:0000:0000:0000\n";
        let site = soft_roce(Site::new(), "rxe-a", 10);
        assert_eq!(site.statuses(&CHECK), [Status::Pass]);
        let judged = &site.with("rxe-a", says("linux.gids", none)).judge(&CHECK)[0];
        assert_eq!(judged.status, Status::Fail);
        assert!(judged.title.ends_with("is empty"), "{}", judged.title);
    }

    #[test]
    fn a_port_that_is_down_has_no_table_to_judge() {
        let site =
            super::super::samples::port_state(Site::sound(), "pv-a", "DOWN", "DISABLED", ("1: DOWN", "3: Disabled"));
        assert!(!site.judge(&CHECK).iter().any(|judged| judged.subject.target.as_str() == "pv-a"));
    }
}
