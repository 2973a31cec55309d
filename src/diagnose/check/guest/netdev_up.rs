//! The interfaces under RDMA ports: administratively up, with a link.

use super::ask;
use crate::diagnose::check::{Check, DeviceKind, Judged, Port, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, EntityId};

/// The interfaces under RDMA ports are up.
pub const CHECK: Check = Check {
    id: "guest.netdev-up",
    title: "The interfaces under the RDMA ports are up and have a link",
    gate: "guests whose RDMA ports have an interface",
    rule: "fails if the interface of a port in use is administratively down or has no carrier; informs of idle ones",
    source: Source { text: "driver source: vmw_pvrdma pvrdma_main.c (NETDEV_DOWN, NETDEV_UP)", weak: false },
    thresholds: &[],
    explains: &[
        "guest.port-active",
        "guest.gid-table",
        "guest.gid-roce-v2",
        "guest.gid-index",
        "guest.address",
        "guest.same-subnet",
        "guest.neighbour",
        "guest.vf-state",
        "guest.queue-pairs",
        "guest.retransmits",
        "guest.packet-loss",
        "guest.port-errors",
        "guest.transport",
    ],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let mut seen = Vec::new();
    let mut all = Vec::new();
    for port in ask::ports(scene) {
        if let Some(netdev) = port.netdev.clone()
            && !seen.contains(&netdev)
        {
            all.push(judge_netdev(scene, &port, &netdev));
            seen.push(netdev);
        }
    }
    all
}

fn judge_netdev(scene: &Scene<'_>, port: &Port, netdev: &EntityId) -> Judged {
    let guest = &netdev.target;
    let name = netdev.entity.name();
    let Some(is_up) = scene.flag(netdev, Attribute::AdminUp) else {
        return ask::untold(
            scene,
            netdev,
            Attribute::AdminUp,
            "linux.netdev-files",
            &format!("ip link show dev {name}"),
        );
    };
    let has_carrier = scene.flag(netdev, Attribute::Carrier);
    let idle = |title: &str| Judged::info(netdev, title, "nothing uses this interface for RDMA");
    if !is_up {
        let title = format!("{guest}: interface {name} is down");
        if !ask::is_in_use(scene, port) {
            return idle(&title);
        }
        let set = |state: &str| ask::run(&["ip", "link", "set", "dev", &name, state]);
        return Judged::fail(
            netdev,
            Confidence::Proved,
            title,
            format!("someone took it down, or nothing starts it at boot; the RDMA port {} goes down with it, and its GIDs are gone", port.id.entity.name()),
        )
        .shown(netdev, Attribute::AdminUp, format!("{name} is administratively down"))
        .cured_by(
            Cure::on(guest, "Bring the interface up", Risk::None, set("up"))
                .undone_by(set("down"), vec![(netdev.clone(), Attribute::AdminUp)])
                .verified_by(&["guest.netdev-up", "guest.port-active"])
                .noting("until the next start; the check guest.address-persistence tells what sets it then"),
        )
        .reaching(ask::way(scene, port));
    }
    if has_carrier != Some(false) {
        return Judged::pass(netdev, format!("{guest}: interface {name} is up"));
    }
    let title = format!("{guest}: interface {name} has no link");
    if !ask::is_in_use(scene, port) {
        return idle(&title);
    }
    let (cause, cure) = match port.kind {
        DeviceKind::Pvrdma => (
            "the virtual network adapter is not connected; the PVRDMA port goes down with it",
            Cure::by_hand(
                "Connect the virtual adapter",
                vec![Step::ByHand(
                    "vCenter: VM > Edit Settings > the PVRDMA adapter > Status: Connected, Connect At Power On"
                        .to_owned(),
                )],
            ),
        ),
        _ => (
            "no link comes in: cable, transceiver or port of the switch, or, for a virtual function, the link state that \
             its host gives it",
            Cure::by_hand(
                "Look at the link below",
                vec![Step::ByHand("the uplink on the host, the cable, and the port of the switch".to_owned())],
            ),
        ),
    };
    Judged::fail(netdev, Confidence::Proved, title, cause)
        .shown(netdev, Attribute::Carrier, format!("{name} has no carrier"))
        .cured_by(cure.verified_by(&["guest.netdev-up", "guest.port-active"]))
        .reaching(ask::way(scene, port))
}

#[cfg(test)]
mod tests {
    use super::super::samples::port_state;
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || {
            let site = port_state(Site::sound(), "pv-a", "DOWN", "DISABLED", ("1: DOWN", "3: Disabled"));
            site.replacing("pv-a", "linux.netdev-files", "ens192/flags:0x1003", "ens192/flags:0x1002")
                .replacing("pv-a", "linux.netdev-files", "ens192/operstate:up", "ens192/operstate:down")
                .replacing("pv-a", "linux.netdev-files", "/sys/class/net/ens192/carrier:1\n", "")
        },
        healthy: Site::sound,
        unclear: || Site::sound().with("pv-a", fails("linux.netdev-files", 124, "timeout")),
    };

    #[test]
    fn a_disconnected_virtual_adapter_has_no_carrier() {
        let site = Site::sound().replacing("pv-a", "linux.netdev-files", "ens192/carrier:1", "ens192/carrier:0");
        let judged = site.judge(&CHECK);
        let failed = judged.iter().find(|judged| judged.status == Status::Fail).expect("a failure");
        assert!(failed.cause.contains("not connected"), "{}", failed.cause);
        assert!(failed.cures[0].on.is_none(), "done in vCenter");
    }

    #[test]
    fn the_way_back_is_the_state_of_now() {
        let judged = (SAMPLES.trouble)().judge(&CHECK);
        let failed = judged.iter().find(|judged| judged.status == Status::Fail).expect("a failure");
        let shown = |steps: &[Step]| steps.iter().map(Step::shown).collect::<Vec<_>>();
        assert_eq!(shown(&failed.cures[0].steps), ["ip link set dev ens192 up"]);
        assert_eq!(shown(&failed.cures[0].undo), ["ip link set dev ens192 down"]);
    }
}
