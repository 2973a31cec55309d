//! The MTU of RoCE follows from that of the interface: 1500 gives 1024, 4200 and 9000 give 4096.

use super::ask;
use crate::diagnose::check::{Check, DeviceKind, Judged, Port, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk};
use crate::fabric::{Attribute, Entity, EntityId};
use crate::probe::linux::rdma_sysfs::roce_mtu;

/// RoCE ports use their largest MTU, where the path carries it.
pub const CHECK: Check = Check {
    id: "guest.roce-mtu",
    title: "The RoCE MTU is not held down by the interface",
    gate: "RoCE ports in use of PVRDMA and hardware adapters",
    rule: "warns if the MTU of the interface gives less than 4096 although the virtual switch below carries 4192 or more; informs where the \
           switch is not known; passes where the switch carries no more",
    source: Source {
        text: "kernel source: include/rdma/ib_addr.h (iboe_get_mtu); Azure/azhpc-images pull request 44",
        weak: false,
    },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// The least MTU of an interface that gives a RoCE MTU of 4096.
const ENOUGH: u64 = 4192;

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let fits = |port: &Port| {
        !port.is_infiniband && ask::kind(scene, &port.device) != DeviceKind::Software && ask::is_in_use(scene, port)
    };
    ask::ports(scene).iter().filter(|port| fits(port)).filter_map(|port| judge_port(scene, port)).collect()
}

/// The MTU of the virtual switch that the adapter of this port is on.
fn below(scene: &Scene<'_>, port: &Port) -> Option<(EntityId, u64)> {
    ask::way(scene, port)
        .into_iter()
        .filter(|id| matches!(id.entity, Entity::VirtualSwitch(_)))
        .find_map(|id| Some((id.clone(), scene.count(&id, Attribute::Mtu)?)))
}

fn judge_port(scene: &Scene<'_>, port: &Port) -> Option<Judged> {
    let netdev = port.netdev.as_ref()?;
    let guest = &port.id.target;
    let name = netdev.entity.name();
    let Some(mtu) = scene.count(netdev, Attribute::Mtu) else {
        let decide = format!("cat /sys/class/net/{name}/mtu");
        return Some(ask::untold(scene, netdev, Attribute::Mtu, "linux.netdev-files", &decide));
    };
    let payload = roce_mtu(mtu).unwrap_or(0);
    if payload >= 4096 {
        return Some(Judged::pass(netdev, format!("{guest}: MTU {mtu} of {name} gives a RoCE MTU of {payload}")));
    }
    let title = format!("{guest}: MTU {mtu} of {name} holds RoCE at {payload}");
    let cause = "RoCE takes the largest of 256, 512, 1024, 2048 and 4096 octets that fits into the MTU of the interface less 96; \
                 small packets cost throughput and processor time on both ends";
    let switch = below(scene, port);
    let target = match &switch {
        Some((_, carried)) if *carried < ENOUGH => {
            return Some(Judged::pass(
                netdev,
                format!("{guest}: MTU {mtu} of {name}, as large as the switch lets through"),
            ));
        }
        Some((_, carried)) => (*carried).min(9000),
        None => return Some(Judged::info(netdev, title, cause).shown(netdev, Attribute::Mtu, format!("MTU {mtu}"))),
    };
    let set = |mtu: u64| ask::run(&["ip", "link", "set", "dev", &name, "mtu", &mtu.to_string()]);
    let lasting = ask::lasting(scene, netdev, ask::Lasting::Mtu(target));
    let mut judged = Judged::warn(netdev, Confidence::Proved, title, cause)
        .shown(netdev, Attribute::Mtu, format!("{name} has {mtu}"))
        .cured_by(
            Cure::on(guest, "Raise the MTU of the interface", Risk::DisruptsRdma, set(target))
                .undone_by(set(mtu), vec![(netdev.clone(), Attribute::Mtu)])
                .verified_by(&["guest.roce-mtu", "guest.mtu-pair"])
                .noting(
                    "the command alone is lost at the next start; the peers and the physical switch must have it too",
                ),
        )
        .cured_by_some(ask::make_last(lasting, &["guest.mtu-persistence"]))
        .reaching(ask::here(scene, port));
    if let Some((switch, carried)) = switch {
        judged = judged.shown(&switch, Attribute::Mtu, format!("the virtual switch carries {carried}"));
    }
    Some(judged)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{only, soft_roce};
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    fn small(site: Site, name: &str) -> Site {
        site.replacing(name, "linux.netdev-files", "ens192/mtu:9000", "ens192/mtu:1500")
    }

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || small(small(Site::sound(), "pv-a"), "pv-b"),
        healthy: Site::sound,
        unclear: || Site::sound().with("pv-a", fails("linux.netdev-files", 124, "timeout")),
    };

    #[test]
    fn without_the_host_it_is_only_told() {
        assert_eq!(small(only(&["pv-a"]), "pv-a").statuses(&CHECK), [Status::Info]);
        assert!(soft_roce(Site::new(), "rxe-a", 10).judge(&CHECK).is_empty(), "soft-RoCE lives with what it has");
    }
}
