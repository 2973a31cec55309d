//! What of one hop does not fit the rest of the way: a packet that is too long for it, another VLAN, another RoCE, a lossless
//! class that ends, another partition.

use super::draft::Draft;
use super::ends::{End, shared_subnet};
use super::guest::gid;
use super::vlan::{Vlan, holds, vlan_of};
use super::{HopKind, Side};
use crate::diagnose::check::{Port, Scene};
use crate::diagnose::finding::Status;
use crate::fabric::{Attribute, Entity, EntityId, Value};

/// What stands before and behind the payload of a RoCE packet, in bytes: IPv6, UDP, the base and the longest extended
/// header, two checksums.
const HEADERS: u64 = 40 + 8 + 12 + 28 + 4;

/// Marks what does not fit.
pub(super) fn along(scene: &Scene<'_>, (one, other): (&End<'_>, &End<'_>), hops: &mut [Draft]) {
    let (Some(first), Some(second)) = (&one.port, &other.port) else { return };
    if first.is_infiniband != second.is_infiniband {
        let why = format!("{} speaks InfiniBand and {} Ethernet", pick(first, second).id, pick(second, first).id);
        if let Some(hop) = guest(hops, Side::Other) {
            hop.judge(Status::Fail, &why);
        }
        return;
    }
    if first.is_infiniband {
        partitions(scene, first, second, hops);
        return;
    }
    gids(scene, first, second, hops);
    subnets(scene, first, second, hops);
    lengths(scene, first, second, hops);
    vlans(scene, one, other, hops);
    classes(hops);
}

/// The one that is InfiniBand.
fn pick<'a>(one: &'a Port, other: &'a Port) -> &'a Port {
    if one.is_infiniband { one } else { other }
}

fn guest(hops: &mut [Draft], side: Side) -> Option<&mut Draft> {
    hops.iter_mut().find(|draft| draft.hop.kind == HopKind::GuestDevice && draft.hop.side == side)
}

fn gids(scene: &Scene<'_>, one: &Port, other: &Port, hops: &mut [Draft]) {
    for (port, peer, side) in [(one, other, Side::One), (other, one, Side::Other)] {
        let (Some((_, _, v2)), Some((_, _, peer_v2))) = (gid(scene, port), gid(scene, peer)) else { continue };
        if !v2
            && peer_v2
            && let Some(hop) = guest(hops, side)
        {
            let why = format!("its GIDs are of RoCE v1 only, those of {} of v2: the two never meet", peer.id.target);
            hop.mark("gid", Status::Fail, &why);
        }
    }
}

fn subnets(scene: &Scene<'_>, one: &Port, other: &Port, hops: &mut [Draft]) {
    let v4 = |port: &Port| {
        let own = super::ends::addresses(scene, port);
        own.into_iter().find(|(_, network)| network.subnet().contains('.'))
    };
    let (Some((_, first)), Some((netdev, second))) = (v4(one), v4(other)) else { return };
    if shared_subnet(scene, one, other).is_none()
        && let Some(hop) = guest(hops, Side::Other)
    {
        hop.says("subnet", second.subnet(), Some((&netdev, Attribute::Addresses)));
        let why = format!(
            "{} is in {} and {} in {}: a router would have to stand between them",
            one.id.target,
            first.subnet(),
            other.id.target,
            second.subnet()
        );
        hop.mark("subnet", Status::Warn, &why);
    }
}

fn lengths(scene: &Scene<'_>, one: &Port, other: &Port, hops: &mut [Draft]) {
    let roce = |port: &Port| scene.count(&port.id, Attribute::PathMtu);
    if let (Some(first), Some(second)) = (roce(one), roce(other))
        && first != second
    {
        let (side, less, more) = if first < second { (Side::One, first, second) } else { (Side::Other, second, first) };
        if let Some(hop) = guest(hops, side) {
            let why =
                format!("its RoCE MTU is {less}, that of the other side {more}: the MTU of its interface is smaller");
            hop.mark("roce-mtu", Status::Warn, &why);
        }
    }
    let payload = [one, other].into_iter().filter_map(roce).min();
    let packet = [Side::One, Side::Other].into_iter().filter_map(|side| guest(hops, side)?.mtu).min();
    for draft in hops.iter_mut().filter(|draft| draft.hop.kind != HopKind::GuestDevice) {
        let Some(mtu) = draft.mtu else { continue };
        if let Some(payload) = payload
            && mtu < payload + HEADERS
            // A frame of the interface itself always carries its RoCE MTU.
            && packet.is_none_or(|packet| mtu < packet)
        {
            let why = format!("RoCE packets with {payload} bytes of payload do not fit its MTU of {mtu}");
            draft.mark("mtu", Status::Fail, &why);
        } else if let Some(packet) = packet
            && mtu < packet
        {
            let why = format!("packets of the guests have up to {packet} bytes, and it lets {mtu} pass");
            draft.mark("mtu", Status::Warn, &why);
        }
    }
}

fn vlans(scene: &Scene<'_>, one: &End<'_>, other: &End<'_>, hops: &mut [Draft]) {
    let (first, second) = (vlan_of(scene, one), vlan_of(scene, other));
    if let (Some((first, _)), Some((second, _))) = (&first, &second)
        && first.meets(second) == Some(false)
        && let Some(hop) =
            hops.iter_mut().find(|draft| draft.hop.kind == HopKind::VirtualSwitch && draft.hop.side == Side::Other)
    {
        let why = format!("its VLAN is {second}, that of the other side is {first}");
        hop.mark("vlan", Status::Fail, &why);
    }
    for (vlan, side) in [(first, Side::One), (second, Side::Other)] {
        let Some((Vlan::Number(number), _)) = vlan else { continue };
        for draft in hops.iter_mut().filter(|draft| draft.hop.side == side) {
            let Some(id) = draft.hop.id.clone() else { continue };
            if !matches!(id.entity, Entity::SwitchInterface(_)) {
                continue;
            }
            if lets_pass(scene, &id, number) == Some(false) {
                draft.mark("vlan", Status::Fail, &format!("VLAN {number} is not let through on this port"));
            }
        }
    }
}

/// Whether a port of a physical switch lets tagged frames of a VLAN pass; `None` if it does not say.
fn lets_pass(scene: &Scene<'_>, id: &EntityId, number: u64) -> Option<bool> {
    let mode = scene.text(id, Attribute::PortMode)?;
    if mode.starts_with("trunk") {
        let list = scene.list(id, Attribute::AllowedVlans)?;
        return Some(list.iter().any(|ranges| ranges.eq_ignore_ascii_case("all") || holds(ranges, number)));
    }
    // An access port takes frames without a tag only.
    mode.starts_with("access").then_some(false)
}

/// The lossless class from end to end: where one hop has it, all that tell of one must have the same.
fn classes(hops: &mut [Draft]) {
    let told: Vec<Vec<String>> = hops.iter().filter_map(|draft| draft.lossless.clone()).collect();
    let Some(wanted) = told.iter().find(|classes| !classes.is_empty()).cloned() else { return };
    for draft in hops {
        let Some(classes) = &draft.lossless else { continue };
        if *classes != wanted {
            let own = if classes.is_empty() { "none".to_owned() } else { classes.join(",") };
            let why = format!("its lossless class is {own}, elsewhere on the way it is {}", wanted.join(","));
            draft.mark("pfc", Status::Warn, &why);
        }
    }
}

fn partitions(scene: &Scene<'_>, one: &Port, other: &Port, hops: &mut [Draft]) {
    let Some(hop) = guest(hops, Side::Other) else { return };
    let shown = |port: &Port, attribute| scene.value(&port.id, attribute).map(ToString::to_string);
    if let (Some(first), Some(second)) = (shown(one, Attribute::SubnetPrefix), shown(other, Attribute::SubnetPrefix))
        && first != second
    {
        hop.says("prefix", second.clone(), Some((&other.id, Attribute::SubnetPrefix)));
        hop.mark("prefix", Status::Fail, &format!("its subnet is {second}, that of the other side is {first}"));
    }
    let managers =
        (scene.count(&one.id, Attribute::SubnetManagerLid), scene.count(&other.id, Attribute::SubnetManagerLid));
    if let (Some(first), Some(second)) = managers
        && first != second
        && !matches!(first, 0 | 0xffff)
        && !matches!(second, 0 | 0xffff)
    {
        let why = format!("its subnet manager has LID {second}, that of the other side {first}: two subnets");
        hop.mark("sm-lid", Status::Fail, &why);
    }
    let key = |port: &Port| match scene.value(&port.id, Attribute::PartitionKey)? {
        Value::Text(text) => u16::from_str_radix(text.trim_start_matches("0x"), 16).ok(),
        value => u16::try_from(value.as_count()?).ok(),
    };
    let (Some(first), Some(second)) = (key(one), key(other)) else { return };
    if first & 0x7fff != second & 0x7fff {
        hop.mark("pkey", Status::Fail, &format!("its partition is {second:#06x}, that of the other side {first:#06x}"));
    } else if first & 0x8000 == 0 && second & 0x8000 == 0 {
        let why = "both are limited members of the partition, and limited members cannot talk to each other";
        hop.mark("pkey", Status::Fail, why);
    }
}
