//! The interface under a RoCE port has an address of its own, and one that nobody else has.

use super::ask;
use crate::diagnose::check::{Check, Judged, Port, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::Attribute;

/// Interfaces under RoCE ports have an address.
pub const CHECK: Check = Check {
    id: "guest.address",
    title: "The interfaces under the RoCE ports have an address, each its own",
    gate: "RoCE ports in use that are ACTIVE",
    rule: "fails if two guests have the same address there; warns if there is none but link-local ones",
    source: Source { text: "kernel source: drivers/infiniband/core/roce_gid_mgmt.c, cma.c", weak: false },
    thresholds: &[],
    explains: &["guest.same-subnet", "guest.neighbour", "guest.gid-index", "guest.queue-pairs"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let ports: Vec<Port> = ask::ports(scene)
        .into_iter()
        .filter(|port| {
            !port.is_infiniband && port.netdev.is_some() && ask::is_in_use(scene, port) && ask::is_active(scene, port)
        })
        .collect();
    ports.iter().filter_map(|port| judge_port(scene, port, &ports)).collect()
}

fn judge_port(scene: &Scene<'_>, port: &Port, all: &[Port]) -> Option<Judged> {
    let netdev = port.netdev.as_ref()?;
    let guest = &netdev.target;
    let name = netdev.entity.name();
    let addresses = ask::addresses(scene, netdev);
    if let Some((address, _)) = addresses.first() {
        let is_other = |other: &&Port| other.id.target != *guest && !scene.is_same_machine(&other.id.target, guest);
        let twin = all.iter().filter(is_other).find_map(|other| {
            let netdev = other.netdev.as_ref()?;
            let shared =
                ask::addresses(scene, netdev).iter().any(|(theirs, _)| addresses.iter().any(|(own, _)| own == theirs));
            shared.then_some(netdev)
        });
        let Some(twin) = twin else {
            return Some(Judged::pass(netdev, format!("{guest}: {name} has {address}")));
        };
        return Some(
            Judged::fail(
                netdev,
                Confidence::Proved,
                format!("{guest} and {}: both have {address}", twin.target),
                "two machines of one network answer for the same address (a VM was cloned, or an address was typed twice): what \
                 is sent there reaches now the one and now the other",
            )
            .shown(netdev, Attribute::Addresses, format!("{guest}: {name}"))
            .shown(twin, Attribute::Addresses, format!("{}: {}", twin.target, twin.entity.name()))
            .decided_by("whether the two are in the same network: the VLANs of their adapters")
            .cured_by(Cure::by_hand(
                "Give one of the two another address",
                vec![Step::ByHand(format!("ip addr del {address}/LENGTH dev {name}; ip addr add ANOTHER/LENGTH dev {name}, and in the file that sets it"))],
            ))
            .reaching([ask::way(scene, port), vec![twin.clone()]].concat()),
        );
    }
    if scene.fabric.reading(netdev, Attribute::Addresses).is_none()
        || scene.lack(netdev, Attribute::Addresses).is_some()
    {
        let decide = format!("ip addr show dev {name}");
        return Some(ask::untold(scene, netdev, Attribute::Addresses, "linux.ip-addresses", &decide));
    }
    // The address may stand on a bond or a VLAN of it.
    let above = stacked_on(scene, port);
    if let Some(above) = above {
        return Some(Judged::pass(netdev, format!("{guest}: {above} over {name} has the address")));
    }
    Some(
        Judged::warn(
            netdev,
            Confidence::Proved,
            format!("{guest}: {name} has no IP address"),
            format!("the RDMA port {} has only link-local GIDs: programs that connect by address (rdma_cm, MPI, NCCL) find no way over it", port.id.entity.name()),
        )
        .shown(netdev, Attribute::Addresses, format!("{name} has no address but link-local ones"))
        .shown(netdev, Attribute::OperationalState, "the interface is up")
        .cured_by(
            Cure::by_hand(
                "Give the interface an address of the RDMA network",
                vec![Step::ByHand(format!("ip addr add ADDRESS/LENGTH dev {name}, and in the file that sets it at boot"))],
            )
            .verified_by(&["guest.address", "guest.gid-table"]),
        )
        .reaching(ask::way(scene, port)),
    )
}

/// An interface that rides on this one and has an address.
fn stacked_on(scene: &Scene<'_>, port: &Port) -> Option<String> {
    let netdev = port.netdev.as_ref()?;
    let name = netdev.entity.name();
    let all = scene.fabric.of_kind(&netdev.target, crate::fabric::Entity::Netdev("".into()));
    let parent = scene.text(netdev, Attribute::ParentNetdev);
    all.map(|entity| crate::fabric::EntityId::new(&netdev.target, entity.clone()))
        .filter(|other| {
            scene.text(other, Attribute::ParentNetdev) == Some(name.as_str())
                || parent == Some(other.entity.name().as_str())
        })
        .find(|other| !ask::addresses(scene, other).is_empty())
        .map(|other| other.entity.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    const ADDRESS: &str = "{\"family\":\"inet\",\"local\":\"192.168.100.11\",\"prefixlen\":24,\"scope\":\"global\",\"label\":\"ens192\",\"valid_life_time\":4294967295,\"preferred_life_time\":4294967295},";

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || {
            let empty = "ports/1/gids/1:0000:0000:0000:0000:0000:0000:0000:0000";
            Site::sound().replacing("pv-a", "linux.ip-addresses", ADDRESS, "").replacing(
                "pv-a",
                "linux.gids",
                "ports/1/gids/1:0000:0000:0000:0000:0000:ffff:c0a8:640b",
                empty,
            )
        },
        healthy: Site::sound,
        unclear: || Site::sound().with("pv-a", fails("linux.ip-addresses", 127, "ip: not found")),
    };

    #[test]
    fn the_same_address_on_two_guests_fails() {
        let site = Site::sound().replacing("hca-a", "linux.ip-addresses", "192.168.100.21", "192.168.100.11");
        let judged = site.judge(&CHECK);
        assert_eq!(judged.iter().filter(|judged| judged.status == Status::Fail).count(), 2, "{judged:#?}");
    }

    #[test]
    fn an_address_on_a_vlan_of_the_interface_counts() {
        let vlan = ",{\"ifindex\":9,\"ifname\":\"ens192.100\",\"link\":\"ens192\",\"linkinfo\":{\"info_kind\":\"vlan\",\"info_data\":{\"id\":100}},\"addr_info\":[{\"local\":\"10.1.1.1\",\"prefixlen\":24}]}]";
        let site =
            (SAMPLES.trouble)().replacing("pv-a", "linux.ip-addresses", "}]}]", &format!("}}]}}{vlan}")).replacing(
                "pv-a",
                "linux.netdev-files",
                "/sys/class/net/lo/mtu:65536\n",
                "/sys/class/net/lo/mtu:65536\n/sys/class/net/ens192.100/mtu:9000\n",
            );
        assert!(!site.statuses(&CHECK).contains(&Status::Warn), "{:#?}", site.judge(&CHECK));
    }
}
