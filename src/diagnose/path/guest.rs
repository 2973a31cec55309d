//! The hop of a guest: its RDMA port with the interface under it.

use super::draft::{Draft, rate};
use super::ends::{End, netdevs};
use super::{HopKind, Side};
use crate::diagnose::check::{DeviceKind, Exhibit, Port, Scene};
use crate::diagnose::finding::Status;
use crate::fabric::{Attribute, Entity, EntityId, GidType, PortState, Value};

/// The hop of an end's guest.
pub(super) fn hop(scene: &Scene<'_>, end: &End<'_>, side: Side) -> Draft {
    let Some(port) = &end.port else {
        let presence = EntityId::new(&end.guest, Entity::Guest);
        let why = match scene.text(&presence, Attribute::RdmaPresence) {
            Some(words) => format!("{} has no RDMA port: {words}", end.guest),
            None => format!("no RDMA port is known: {}", scene.silence(&end.guest).1),
        };
        let decide = format!("rdma link show on {}", end.guest);
        let kind = HopKind::GuestDevice;
        let mut draft = Draft::unknown(kind, side, &end.guest, "no RDMA device", &why, &decide);
        draft.things.insert(presence);
        return draft;
    };
    let name = match &port.id.entity {
        Entity::RdmaPort { device, port } if *port != 1 => format!("{device}/{port}"),
        _ => port.device.entity.name(),
    };
    let mut draft = Draft::new(HopKind::GuestDevice, side, &port.id, name);
    draft.covering(&port.device);
    state(scene, port, &mut draft);
    if port.is_infiniband {
        infiniband(scene, port, &mut draft);
    } else {
        ethernet(scene, port, &mut draft);
    }
    // The driver of PVRDMA and software devices report a rate that means nothing.
    if port.kind == DeviceKind::Passthrough {
        draft.shows(scene, "rate", &port.id, Attribute::PortRate, |value| value.as_count().map_or(String::new(), rate));
    }
    draft.says("kind", kind(port.kind), None);
    if !end.chosen.is_empty() {
        draft.says("chosen", end.chosen.clone(), None);
    }
    draft
}

fn kind(kind: DeviceKind) -> &'static str {
    match kind {
        DeviceKind::Pvrdma => "PVRDMA",
        DeviceKind::Passthrough => "passed through",
        DeviceKind::Software => "software",
        DeviceKind::Unclear => "not known",
    }
}

fn state(scene: &Scene<'_>, port: &Port, draft: &mut Draft) {
    let Some(Value::PortState(state)) = scene.value(&port.id, Attribute::PortState) else {
        let why = scene.lack(&port.id, Attribute::PortState).map_or_else(|| "empty".to_owned(), |(_, why)| why);
        draft.judge(Status::Unknown, &format!("its state is not known: {why}"));
        return;
    };
    draft.hop.state = state.to_string();
    if !matches!(state, PortState::Active | PortState::ActiveDefer) {
        let says = format!("{} is {state}", port.device.entity.name());
        draft.hop.evidence.push(Exhibit::of(&port.id, Attribute::PortState, says));
        draft.judge(Status::Fail, &format!("the port is {state}"));
    }
}

/// The GID that a connection would use: the first of RoCE v2 with an IPv4 address, else of RoCE v2, else any.
pub(super) fn gid(scene: &Scene<'_>, port: &Port) -> Option<(EntityId, u32, bool)> {
    let Entity::RdmaPort { device, port: number } = &port.id.entity else { return None };
    let first = Entity::Gid { device: device.clone(), port: *number, index: 0 };
    let gids: Vec<(EntityId, u32, bool, bool)> = scene
        .fabric
        .of_kind(&port.id.target, first)
        .take_while(|entity| matches!(entity, Entity::Gid { device: of, port: at, .. } if of == device && at == number))
        .filter_map(|entity| {
            let Entity::Gid { index, .. } = entity else { return None };
            let id = EntityId::new(&port.id.target, entity.clone());
            let Some(Value::Gid(gid)) = scene.value(&id, Attribute::GidValue) else { return None };
            let v2 = matches!(scene.value(&id, Attribute::GidType), Some(Value::GidType(GidType::RoceV2)));
            (!gid.is_zero()).then_some((id, *index, v2, gid.ipv4().is_some()))
        })
        .collect();
    let best = gids.iter().find(|(_, _, v2, v4)| *v2 && *v4).or_else(|| gids.iter().find(|(_, _, v2, _)| *v2));
    best.or(gids.first()).map(|(id, index, v2, _)| (id.clone(), *index, *v2))
}

fn ethernet(scene: &Scene<'_>, port: &Port, draft: &mut Draft) {
    match gid(scene, port) {
        Some((id, index, v2)) => {
            let kind = if v2 { "v2" } else { "v1" };
            draft.says("gid", format!("{index} {kind}"), Some((&id, Attribute::GidType)));
            draft.covering(&id);
        }
        None => draft.hop.traits.push(super::Trait {
            name: "gid",
            value: String::new(),
            status: Status::Unknown,
            exhibit: None,
        }),
    }
    draft.shows(scene, "roce-mtu", &port.id, Attribute::PathMtu, ToString::to_string);
    if let Some(netdev) = &port.netdev {
        draft.shows(scene, "mtu", netdev, Attribute::Mtu, ToString::to_string);
        draft.mtu = scene.count(netdev, Attribute::Mtu);
    }
    for netdev in netdevs(scene, port) {
        draft.covering(&netdev);
        if let Some(number) = scene.count(&netdev, Attribute::VlanId) {
            draft.says("vlan", number.to_string(), Some((&netdev, Attribute::VlanId)));
        }
    }
}

fn infiniband(scene: &Scene<'_>, port: &Port, draft: &mut Draft) {
    let id = &port.id;
    draft.shows(scene, "lid", id, Attribute::Lid, ToString::to_string);
    draft.shows(scene, "sm-lid", id, Attribute::SubnetManagerLid, ToString::to_string);
    draft.shows(scene, "pkey", id, Attribute::PartitionKey, ToString::to_string);
    // 0 was never given by a subnet manager, and 65535 stands for none.
    let none = |attribute| matches!(scene.count(id, attribute), Some(0 | 0xffff));
    if none(Attribute::SubnetManagerLid) {
        draft.mark(
            "sm-lid",
            Status::Fail,
            "no subnet manager rules this port: its subnet has none, or does not reach it",
        );
    } else if none(Attribute::Lid) {
        draft.mark("lid", Status::Fail, "no subnet manager has given this port a LID");
    }
}
