//! A native InfiniBand port works only once a subnet manager has given it a local identifier.

use super::ask;
use crate::diagnose::check::{Check, Judged, Port, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::{Attribute, PhysicalState, Value};

/// InfiniBand ports have a subnet manager.
pub const CHECK: Check = Check {
    id: "guest.infiniband-subnet-manager",
    title: "InfiniBand ports have a subnet manager and a local identifier",
    gate: "InfiniBand ports whose physical link is not switched off",
    rule: "fails if the LID of the subnet manager is 0, or the port's own is 0 or 65535",
    source: Source {
        text: "openshift/sriov-network-operator issue 635; InfiniBand specification: PortInfo",
        weak: false,
    },
    thresholds: &[],
    explains: &["guest.port-active", "guest.partition-key", "guest.queue-pairs"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// True for a native InfiniBand port: by its link layer, or because only those have a subnet prefix.
pub fn is_infiniband(scene: &Scene<'_>, port: &Port) -> bool {
    port.is_infiniband || scene.text(&port.id, Attribute::SubnetPrefix).is_some()
}

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let ports = ask::ports(scene);
    ports.iter().filter(|port| is_infiniband(scene, port)).filter_map(|port| judge_port(scene, port)).collect()
}

fn judge_port(scene: &Scene<'_>, port: &Port) -> Option<Judged> {
    let guest = &port.id.target;
    let name = port.id.entity.name();
    let physical = scene.value(&port.id, Attribute::PhysicalState);
    if matches!(
        physical,
        Some(Value::PhysicalState(PhysicalState::Disabled | PhysicalState::Polling | PhysicalState::Sleep))
    ) {
        return None;
    }
    let Some(manager) = scene.count(&port.id, Attribute::SubnetManagerLid) else {
        return Some(ask::untold(
            scene,
            &port.id,
            Attribute::SubnetManagerLid,
            "linux.rdma-sysfs",
            "rdma link show; sminfo",
        ));
    };
    let own = scene.count(&port.id, Attribute::Lid);
    if manager != 0 && !matches!(own, Some(0 | 65_535)) {
        return Some(Judged::pass(&port.id, format!("{guest}: {name} is run by the subnet manager at LID {manager}")));
    }
    let mut judged = Judged::fail(
        &port.id,
        Confidence::Proved,
        format!("{guest}: no subnet manager has configured {name}"),
        "the port has no local identifier, so nothing can be sent to it: no subnet manager runs in this fabric, or, for a virtual \
         function, it does not know virtualization or the function was given no GUID",
    )
    .shown(&port.id, Attribute::SubnetManagerLid, format!("LID of the subnet manager is {manager}"))
    .decided_by("sminfo on a node of the fabric, and the GUID of the virtual function on its host")
    .cured_by(
        Cure::by_hand(
            "Run a subnet manager that knows virtual functions",
            vec![Step::ByHand(
                "start opensm (virt_enabled 2) or the subnet manager of the switch; give the virtual function a GUID on its host".to_owned(),
            )],
        )
        .verified_by(&["guest.infiniband-subnet-manager", "guest.port-active"]),
    )
    .reaching(ask::way(scene, port));
    if let Some(own) = own {
        judged = judged.shown(&port.id, Attribute::Lid, format!("LID of the port is {own}"));
    }
    Some(judged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, says};
    use crate::diagnose::finding::Status;

    // Links of a real machine: InfiniBand and RoCE mixed, virtual functions without GUID.
    const MIXED: &str = include_str!("../../../../tests/fixtures/public/42-rdma-link-mixed-ib-and-roce.txt");

    fn with_manager(lid: u32) -> Site {
        let link = format!(
            "[{{\"ifname\":\"mlx5_2\",\"port\":1,\"subnet_prefix\":\"fe80:0000:0000:0000\",\"lid\":35,\"sm_lid\":{lid},\"lmc\":0,\"state\":\"ACTIVE\",\"physical_state\":\"LINK_UP\"}}]\n"
        );
        Site::new().guest("ib-a", &[says("linux.rdma-link", &link)])
    }

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || with_manager(0),
        healthy: || with_manager(1),
        unclear: || {
            let link = "[{\"ifname\":\"mlx5_2\",\"port\":1,\"subnet_prefix\":\"fe80:0000:0000:0000\",\"state\":\"ACTIVE\",\"physical_state\":\"LINK_UP\"}]\n";
            Site::new().guest("ib-a", &[says("linux.rdma-link", link)])
        },
    };

    #[test]
    fn the_ports_of_a_real_machine() {
        let site = Site::new().guest("ib-a", &[says("linux.rdma-link", MIXED)]);
        // The three that carry InfiniBand pass; those that are switched off are another check's, and RoCE has no manager.
        assert_eq!(site.statuses(&CHECK), [Status::Pass; 3]);
    }
}
