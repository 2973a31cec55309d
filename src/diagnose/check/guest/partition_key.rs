//! The partition keys of ports: 0xffff on RoCE, and on InfiniBand the same partition on both sides, one of them as a full
//! member.

use super::ask::{self, Facing};
use super::infiniband_subnet_manager::is_infiniband;
use crate::diagnose::check::{Check, Judged, Port, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::Attribute;

/// Partition keys fit.
pub const CHECK: Check = Check {
    id: "guest.partition-key",
    title: "The partition keys of the RDMA ports fit",
    gate: "RDMA ports, and pairs of InfiniBand ports",
    rule: "fails if the first partition key is 0, or if two InfiniBand sides have other partitions or are both limited members",
    source: Source {
        text: "InfiniBand specification: partitioning; kernel documentation: infiniband/ipoib",
        weak: false,
    },
    thresholds: &[],
    explains: &["guest.queue-pairs"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// Set for full members.
const FULL: u16 = 0x8000;

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let mut all: Vec<Judged> = ask::ports(scene).iter().map(|port| judge_port(scene, port)).collect();
    let pairs = ask::facing(scene).into_iter().flatten();
    all.extend(pairs.filter_map(|pair| judge_pair(scene, &pair)));
    all
}

fn key(scene: &Scene<'_>, port: &Port) -> Option<u16> {
    let text = scene.text(&port.id, Attribute::PartitionKey)?;
    u16::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}

fn judge_port(scene: &Scene<'_>, port: &Port) -> Judged {
    let guest = &port.id.target;
    let name = port.id.entity.name();
    match key(scene, port) {
        Some(key) if key & !FULL != 0 => Judged::pass(&port.id, format!("{guest}: partition key of {name} is {key:#06x}")),
        Some(key) => Judged::fail(
            &port.id,
            Confidence::Proved,
            format!("{guest}: {name} is in no partition"),
            "the first entry of the table of partition keys is invalid: no queue pair can be used, since each packet carries the key",
        )
        .shown(&port.id, Attribute::PartitionKey, format!("{key:#06x} at index 0"))
        .cured_by(Cure::by_hand("Put the port into the default partition", vec![Step::ByHand("in the subnet manager (partitions.conf: Default=0x7fff, ipoib: ALL=full;); a RoCE port always has 0xffff, there load its driver again".to_owned())]))
        .reaching(ask::way(scene, port)),
        None => {
            let decide = format!("cat /sys/class/infiniband/{}/ports/1/pkeys/0", port.device.entity.name());
            ask::untold(scene, &port.id, Attribute::PartitionKey, "linux.rdma-sysfs", &decide)
        }
    }
}

fn judge_pair(scene: &Scene<'_>, pair: &Facing) -> Option<Judged> {
    if !is_infiniband(scene, &pair.one) || !is_infiniband(scene, &pair.other) {
        return None;
    }
    let (one, other) = (key(scene, &pair.one)?, key(scene, &pair.other)?);
    let names = pair.names();
    let (title, cause) = if one & !FULL != other & !FULL {
        (
            format!("{names}: the InfiniBand ports are in different partitions"),
            "a packet whose key is of another partition is dropped by the receiver, which counts it as a violation",
        )
    } else if (one | other) & FULL == 0 {
        (
            format!("{names}: both InfiniBand ports are limited members of their partition"),
            "limited members talk to full members only, not to each other",
        )
    } else {
        return Some(Judged::pass(&pair.one.id, format!("{names}: both are in partition {:#06x}", one & !FULL)));
    };
    Some(
        Judged::fail(&pair.one.id, Confidence::Proved, title, cause)
            .shown(&pair.one.id, Attribute::PartitionKey, format!("{}: {one:#06x}", pair.one.id.target))
            .shown(&pair.other.id, Attribute::PartitionKey, format!("{}: {other:#06x}", pair.other.id.target))
            .cured_by(Cure::by_hand(
                "Make both members of one partition, one of them at least full",
                vec![Step::ByHand("in the partitions of the subnet manager (partitions.conf); on vSphere the P_Key of a virtual function is set there too".to_owned())],
            ))
            .reaching(pair.way(scene)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, says};
    use crate::diagnose::finding::Status;

    fn port(site: Site, name: &str, key: &str, lid: u32) -> Site {
        let files = format!(
            "/sys/class/infiniband/mlx5_0/node_type:1: CA\n/sys/class/infiniband/mlx5_0/ports/1/state:4: ACTIVE\n\
            /sys/class/infiniband/mlx5_0/ports/1/phys_state:5: LinkUp\n/sys/class/infiniband/mlx5_0/ports/1/link_layer:InfiniBand\n\
            /sys/class/infiniband/mlx5_0/ports/1/lid:{lid:#x}\n/sys/class/infiniband/mlx5_0/ports/1/sm_lid:0x1\n{key}"
        );
        site.guest(name, &[says("linux.rdma-sysfs", &files)])
    }

    fn pair(one: &str, other: &str) -> Site {
        let line = |key: &str| format!("/sys/class/infiniband/mlx5_0/ports/1/pkeys/0:{key}\n");
        port(port(Site::new(), "ib-a", &line(one), 3), "ib-b", &line(other), 4).pair("ib-a", "ib-b")
    }

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || pair("0x7fff", "0x7fff"),
        healthy: || pair("0x7fff", "0xffff"),
        unclear: || port(Site::new(), "ib-a", "", 3),
    };

    #[test]
    fn other_partitions_and_none_fail() {
        assert!(pair("0x8001", "0xffff").statuses(&CHECK).contains(&Status::Fail));
        assert!(pair("0x0000", "0xffff").statuses(&CHECK).contains(&Status::Fail));
        assert!(pair("0x8001", "0x8001").statuses(&CHECK).iter().all(|status| *status == Status::Pass));
    }
}
