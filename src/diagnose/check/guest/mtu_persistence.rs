//! Whether the MTU is there after the next start: one that was set by hand is gone, and RDMA with it.

use super::ask;
use crate::diagnose::check::{Check, Judged, Port, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::{Attribute, EntityId, State};

/// MTUs last.
pub const CHECK: Check = Check {
    id: "guest.mtu-persistence",
    title: "The MTU of the RoCE interfaces is set for the next start too",
    gate: "interfaces under RoCE ports in use",
    rule: "warns if the MTU of now is not 1500 and no file sets it, or if a file sets another one",
    source: Source { text: "netplan, NetworkManager, ifcfg, ifupdown and systemd-networkd manuals", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// What drivers of Ethernet begin with.
const DEFAULT: u64 = 1500;

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let ports = ask::ports(scene);
    let fits = |port: &&Port| !port.is_infiniband && ask::is_in_use(scene, port);
    ports.iter().filter(fits).filter_map(|port| judge_netdev(scene, port.netdev.as_ref()?, port)).collect()
}

fn judge_netdev(scene: &Scene<'_>, netdev: &EntityId, port: &Port) -> Option<Judged> {
    let guest = &netdev.target;
    let name = netdev.entity.name();
    let mtu = scene.count(netdev, Attribute::Mtu)?;
    let reading = scene.fabric.reading(netdev, Attribute::MtuPersistence)?;
    let (title, cause) = match &reading.state {
        State::Known(text) => {
            let text = text.to_string();
            let set: Vec<u64> = text.split("; ").filter_map(|one| one.split(' ').next()?.parse().ok()).collect();
            if set.contains(&mtu) || set.is_empty() {
                return Some(Judged::pass(
                    netdev,
                    format!("{guest}: MTU {mtu} of {name} is set for the next start: {text}"),
                ));
            }
            (
                format!("{guest}: {name} has MTU {mtu} now and will have another one after the next start"),
                format!("the settings say {text}: what works now changes with the next start"),
            )
        }
        State::Empty if mtu == DEFAULT => {
            return Some(Judged::pass(netdev, format!("{guest}: {name} has the MTU that its driver begins with")));
        }
        State::Empty => (
            format!("{guest}: MTU {mtu} of {name} is lost at the next start"),
            format!(
                "no file of the network settings sets it: it was set by hand, and the driver begins with {DEFAULT}"
            ),
        ),
        _ => {
            let decide = format!(
                "grep -r -i -e mtu /etc/netplan /etc/NetworkManager /etc/sysconfig /etc/network /etc/systemd/network; the settings of {name}"
            );
            return Some(ask::untold(
                scene,
                netdev,
                Attribute::MtuPersistence,
                "linux.persistence-interfaces",
                &decide,
            ));
        }
    };
    let steps = ask::lasting(scene, netdev, ask::Lasting::Mtu(mtu));
    let steps = if steps.is_empty() {
        vec![Step::ByHand(format!("in the network settings of {name}: MTU {mtu}"))]
    } else {
        steps.into_iter().filter(|step| matches!(step, Step::ByHand(_))).collect()
    };
    Some(
        Judged::warn(netdev, Confidence::Proved, title, cause)
            .shown(netdev, Attribute::Mtu, format!("MTU {mtu} now"))
            .shown(netdev, Attribute::MtuPersistence, "what the settings say of the MTU")
            .cured_by(
                Cure::by_hand("Set the MTU in the network settings", steps).verified_by(&["guest.mtu-persistence"]),
            )
            .reaching(ask::here(scene, port)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    const SET: &str = "\n/etc/network/interfaces:\tmtu 9000";

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || Site::sound().replacing("pv-a", "linux.persistence-ifupdown", SET, ""),
        healthy: Site::sound,
        unclear: || {
            let denied = "grep: /etc/network/interfaces: Permission denied\n";
            Site::sound().with("pv-a", fails("linux.persistence-ifupdown", 2, denied))
        },
    };

    #[test]
    fn a_file_that_sets_another_one_is_named() {
        let site =
            Site::sound().replacing("pv-a", "linux.persistence-ifupdown", SET, "\n/etc/network/interfaces:\tmtu 1500");
        let judged = site.judge(&CHECK);
        let warned = judged.iter().find(|judged| judged.status == Status::Warn).expect("a warning");
        assert!(warned.cause.contains("1500 in /etc/network/interfaces"), "{}", warned.cause);
        assert_eq!(
            warned.cures[0].steps[0].shown(),
            "by hand: in /etc/network/interfaces: mtu 9000 (under iface ens192)"
        );
    }
}
