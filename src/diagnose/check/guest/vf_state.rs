//! Virtual functions: their link is what the host gives them.

use super::ask;
use crate::diagnose::check::{Check, Judged, Port, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::join::LinkKind;
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::{Attribute, Entity, EntityId, PhysicalState, PortState, Value};

/// Virtual functions have a link.
pub const CHECK: Check = Check {
    id: "guest.vf-state",
    title: "The virtual functions are given a link by their host",
    gate: "RDMA ports of SR-IOV virtual functions",
    rule: "fails if the port of a virtual function is DOWN and its physical state DISABLED, or if its interface is up and has no carrier",
    source: Source {
        text: "openshift/sriov-network-operator issues 382 and 635; k8snetworkplumbingwg/sriov-network-device-plugin issue 269",
        weak: false,
    },
    thresholds: &[],
    explains: &["guest.port-active", "guest.netdev-up", "guest.gid-table", "guest.neighbour", "guest.queue-pairs"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// Device ids of virtual functions of vendor 15b3.
const MELLANOX: [&str; 8] = ["1014", "1016", "1018", "101a", "101c", "101e", "1004", "a2d3"];

/// True if the port is that of a virtual function.
pub fn is_virtual_function(scene: &Scene<'_>, port: &Port) -> bool {
    let Some(address) = scene.text(&port.device, Attribute::PciAddress) else { return false };
    let function = EntityId::new(&port.id.target, Entity::PciFunction(address.into()));
    let of = |attribute| scene.text(&function, attribute).unwrap_or_default();
    let by_id = of(Attribute::VendorId) == "15b3" && MELLANOX.contains(&of(Attribute::DeviceId));
    let by_host = scene
        .chain_of(&port.device)
        .is_some_and(|chain| chain.links.iter().any(|link| link.kind == LinkKind::FunctionVirtual));
    by_id || by_host
}

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let ports = ask::ports(scene);
    ports.iter().filter(|port| is_virtual_function(scene, port)).map(|port| judge_port(scene, port)).collect()
}

fn judge_port(scene: &Scene<'_>, port: &Port) -> Judged {
    let guest = &port.id.target;
    let name = port.id.entity.name();
    let (Some(Value::PortState(state)), Some(Value::PhysicalState(physical))) =
        (scene.value(&port.id, Attribute::PortState), scene.value(&port.id, Attribute::PhysicalState))
    else {
        let attribute = if scene.value(&port.id, Attribute::PortState).is_none() {
            Attribute::PortState
        } else {
            Attribute::PhysicalState
        };
        return ask::untold(scene, &port.id, attribute, "linux.rdma-sysfs", "rdma link show");
    };
    let switched_off = *state == PortState::Down && *physical == PhysicalState::Disabled;
    let no_carrier = port.netdev.as_ref().is_some_and(|netdev| {
        scene.flag(netdev, Attribute::AdminUp) == Some(true) && scene.flag(netdev, Attribute::Carrier) == Some(false)
    });
    // An interface that the guest took down itself disables the port too.
    let by_guest = port.netdev.as_ref().is_some_and(|netdev| scene.flag(netdev, Attribute::AdminUp) == Some(false));
    if by_guest || !(switched_off || no_carrier) {
        return Judged::pass(&port.id, format!("{guest}: virtual function {name} has its link ({state}, {physical})"));
    }
    let mut judged = Judged::fail(
        &port.id,
        Confidence::Likely,
        format!("{guest}: virtual function {name} is given no link"),
        "the guest's side is in order, but the host does not give the function a link: its link state is set to disabled, or follows \
         an uplink that is down; on InfiniBand the function may lack a GUID that the subnet manager knows",
    )
    .shown(&port.id, Attribute::PhysicalState, format!("{state}, {physical}"))
    .decided_by("on the host: the link of the uplink (esxcli network nic list) and the settings of its virtual functions")
    .cured_by(
        Cure::by_hand(
            "Give the function a link on its host",
            vec![Step::ByHand(
                "bring the uplink up; set the link state of the virtual function to auto or enabled; on InfiniBand give it a GUID in the subnet manager"
                    .to_owned(),
            )],
        )
        .verified_by(&["guest.vf-state", "guest.port-active"]),
    )
    .reaching(ask::way(scene, port));
    if let Some(netdev) = &port.netdev
        && no_carrier
    {
        judged = judged.shown(netdev, Attribute::Carrier, format!("{} has no carrier", netdev.entity.name()));
    }
    judged
}

#[cfg(test)]
mod tests {
    use super::super::samples::port_state;
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || port_state(Site::sound(), "vf-a", "DOWN", "DISABLED", ("1: DOWN", "3: Disabled")),
        healthy: Site::sound,
        unclear: || {
            Site::sound().replacing("vf-a", "linux.rdma-link", ",\"physical_state\":\"LINK_UP\"", "").replacing(
                "vf-a",
                "linux.rdma-sysfs",
                "/sys/class/infiniband/rocep19s0/ports/1/phys_state:5: LinkUp\n",
                "",
            )
        },
    };

    #[test]
    fn what_the_guest_took_down_is_not_the_hosts_doing() {
        let site =
            (SAMPLES.trouble)().replacing("vf-a", "linux.netdev-files", "ens224/flags:0x1003", "ens224/flags:0x1002");
        assert_eq!(site.statuses(&CHECK), [Status::Pass]);
    }
}
