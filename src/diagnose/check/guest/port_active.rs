//! The state of RDMA ports. That of a PVRDMA port follows the link of its paired vmxnet3 and nothing else.

use super::ask;
use crate::diagnose::check::{Check, DeviceKind, Judged, Port, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, PortState, Value};

/// RDMA ports are ACTIVE.
pub const CHECK: Check = Check {
    id: "guest.port-active",
    title: "The RDMA ports are ACTIVE",
    gate: "guests with RDMA ports",
    rule: "fails if a port that is in use is not ACTIVE; informs of others (no address on the interface, and not the only port)",
    source: Source {
        text: "driver source: vmw_pvrdma pvrdma_main.c (netdevice events); LBNL NHC check_hw_ib",
        weak: false,
    },
    thresholds: &[],
    explains: &[
        "guest.gid-table",
        "guest.gid-index",
        "guest.neighbour",
        "guest.queue-pairs",
        "guest.retransmits",
        "guest.packet-loss",
        "guest.port-errors",
        "guest.transport",
        "mpi.ucx-net-devices",
    ],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    ask::ports(scene).iter().map(|port| judge_port(scene, port)).collect()
}

fn judge_port(scene: &Scene<'_>, port: &Port) -> Judged {
    let guest = &port.id.target;
    let name = port.id.entity.name();
    let Some(Value::PortState(state)) = scene.value(&port.id, Attribute::PortState) else {
        return ask::untold(scene, &port.id, Attribute::PortState, "linux.rdma-sysfs", "rdma link show");
    };
    if matches!(state, PortState::Active | PortState::ActiveDefer) {
        return Judged::pass(&port.id, format!("{guest}: port {name} is {state}"));
    }
    let title = format!("{guest}: port {name} is {state}");
    let kind = if port.kind == DeviceKind::Unclear { ask::kind(scene, &port.device) } else { port.kind };
    let waits = port.is_infiniband && matches!(state, PortState::Init | PortState::Armed);
    let cause = match kind {
        _ if waits => "the link is there, but no subnet manager has configured the port; nothing is sent before that",
        DeviceKind::Pvrdma => {
            "a PVRDMA port follows the link of its paired vmxnet3: its interface is down, the virtual network adapter is \
             disconnected, or the driver could not activate the device; a wrong VLAN or a dead uplink leaves it ACTIVE"
        }
        DeviceKind::Software => "a soft-RoCE port follows the interface that it rides on: that one is down",
        DeviceKind::Passthrough | DeviceKind::Unclear => {
            "the adapter has no link, or its interface is down: cable, transceiver, port of the switch, or the link state \
             that the host gives a virtual function"
        }
    };
    if !ask::is_in_use(scene, port) {
        return Judged::info(&port.id, title, format!("{cause}; nothing uses this port"));
    }
    let mut judged = Judged::fail(&port.id, Confidence::Proved, title, cause)
        .shown(&port.id, Attribute::PortState, format!("state {state}"))
        .reaching(ask::way(scene, port));
    if scene.value(&port.id, Attribute::PhysicalState).is_some() {
        judged = judged.shown(&port.id, Attribute::PhysicalState, "physical state");
    }
    match &port.netdev {
        // What is under it is up, and yet the port is not: a new start of the interface makes the driver try again.
        Some(netdev)
            if scene.flag(netdev, Attribute::Carrier) == Some(true)
                && matches!(kind, DeviceKind::Pvrdma | DeviceKind::Software) =>
        {
            let link = netdev.entity.name();
            let set = |state: &str| Step::run(&["ip", "link", "set", "dev", &link, state]);
            judged.cured_by(
                Cure::on(
                    guest,
                    "Take the interface down and up, so that the driver activates the device again",
                    Risk::DisruptsRdma,
                    vec![set("down"), set("up")],
                )
                .without_undo(
                    "the interface is up at the end, as it was before",
                    vec![(port.id.clone(), Attribute::PortState)],
                )
                .verified_by(&["guest.port-active"])
                .noting("connections over this interface break, also an SSH session that runs over it"),
            )
        }
        _ => judged.decided_by(match kind {
            _ if waits => "sminfo, or the state of the subnet manager",
            DeviceKind::Pvrdma | DeviceKind::Software => "ip link show, and the check guest.netdev-up",
            DeviceKind::Passthrough | DeviceKind::Unclear => {
                "ethtool on the interface, and the link of the uplink on the host or of the switch's port"
            }
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{port_state, soft_roce};
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || port_state(Site::sound(), "pv-a", "DOWN", "DISABLED", ("1: DOWN", "3: Disabled")),
        healthy: Site::sound,
        unclear: || {
            Site::sound()
                .with("pv-a", fails("linux.rdma-link", 127, "bash: line 1: rdma: command not found"))
                .replacing(
                    "pv-a",
                    "linux.rdma-sysfs",
                    "/sys/class/infiniband/rocep11s0f1/ports/1/state:4: ACTIVE\n",
                    "",
                )
        },
    };

    #[test]
    fn a_soft_roce_port_without_its_interface_is_down() {
        // What `rdma link` prints of a real one while its interface is down.
        let site =
            port_state(soft_roce(Site::new(), "rxe-a", 10), "rxe-a", "DOWN", "DISABLED", ("1: DOWN", "3: Disabled"));
        let judged = &site.judge(&CHECK)[0];
        assert_eq!(judged.status, Status::Fail);
        assert!(judged.cause.contains("soft-RoCE"), "{}", judged.cause);
    }

    #[test]
    fn idle_ports_of_a_mixed_adapter_are_no_failure() {
        // Ports of a real machine: InfiniBand and RoCE mixed, some without anything.
        let link = "[{\"ifname\":\"mlx5_0\",\"port\":1,\"state\":\"ACTIVE\",\"physical_state\":\"LINK_UP\"},\
                    {\"ifname\":\"mlx5_1\",\"port\":1,\"state\":\"DOWN\",\"physical_state\":\"DISABLED\"}]\n";
        let site = Site::new().guest("mixed", &[says("linux.rdma-link", link)]);
        assert_eq!(site.statuses(&CHECK), [Status::Pass, Status::Info]);
    }

    #[test]
    fn an_infiniband_port_that_waits_says_for_what() {
        let link = "[{\"ifname\":\"mlx5_0\",\"port\":1,\"state\":\"INIT\",\"physical_state\":\"LINK_UP\"}]\n";
        let files = "/sys/class/infiniband/mlx5_0/ports/1/link_layer:InfiniBand\n/sys/class/infiniband/mlx5_0/node_type:1: CA\n";
        let site = Site::new().guest("ib", &[says("linux.rdma-link", link), says("linux.rdma-sysfs", files)]);
        let judged = &site.judge(&CHECK)[0];
        assert!(judged.cause.contains("subnet manager"), "{}", judged.cause);
    }
}
