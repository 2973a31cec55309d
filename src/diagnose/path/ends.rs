//! The two ends of a path: which RDMA port of each guest can talk to which of the other, and what is joined to it.

use std::net::IpAddr;

use crate::diagnose::check::{Port, Scene};
use crate::diagnose::join::Chain;
use crate::fabric::{Attribute, Entity, EntityId, PortState, TargetId, Text, Value};

/// One end of a path.
#[derive(Clone, Debug)]
pub struct End<'a> {
    /// The guest.
    pub guest: TargetId,
    /// Its RDMA port; `None` if it has none that is known.
    pub port: Option<Port>,
    /// The device of its VM, with all that is below it.
    pub chain: Option<&'a Chain>,
    /// The host that it runs on, where that is known.
    pub host: Option<&'a TargetId>,
    /// Why this port, where the guest has several: `1 of 3, subnet 192.168.100.0/24`; empty otherwise.
    pub chosen: String,
}

impl End<'_> {
    /// The RDMA device of the host whose counters are the nearest.
    pub fn host_device(&self) -> Option<&EntityId> {
        self.chain.and_then(|chain| chain.counters.as_ref())
    }
}

/// An address with the length of its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Network {
    address: IpAddr,
    length: u8,
}

impl Network {
    pub(super) fn read(text: &str) -> Option<Self> {
        let (address, length) = text.split_once('/')?;
        let address: IpAddr = address.parse().ok()?;
        let length: u8 = length.parse().ok()?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        (length <= longest).then_some(Self { address, length })
    }

    fn bits(self) -> (u128, u32) {
        match self.address {
            IpAddr::V4(address) => (u128::from(address.to_bits()), 32),
            IpAddr::V6(address) => (address.to_bits(), 128),
        }
    }

    fn prefix(self) -> u128 {
        let (bits, width) = self.bits();
        let host = width - u32::from(self.length);
        if host >= 128 { 0 } else { bits >> host << host }
    }

    /// True if both are in one subnet. Link-local ones always are, and say nothing.
    pub(super) fn shares_subnet(self, other: Self) -> bool {
        let local = |one: Self| matches!(one.address, IpAddr::V6(address) if address.is_unicast_link_local());
        self.address.is_ipv4() == other.address.is_ipv4()
            && self.length == other.length
            && self.prefix() == other.prefix()
            && !local(self)
            && !local(other)
    }

    /// The subnet in words.
    pub(super) fn subnet(self) -> String {
        match self.address {
            IpAddr::V4(_) => {
                let bits = u32::try_from(self.prefix()).unwrap_or_default();
                format!("{}/{}", std::net::Ipv4Addr::from_bits(bits), self.length)
            }
            IpAddr::V6(_) => format!("{}/{}", std::net::Ipv6Addr::from_bits(self.prefix()), self.length),
        }
    }
}

/// The subnets of addresses, each in words.
pub fn subnets(addresses: &[Text]) -> Vec<String> {
    addresses.iter().filter_map(|text| Network::read(text)).map(Network::subnet).collect()
}

/// The interfaces of a port: the one under it, and those that its GIDs name (VLANs on it have GIDs of their own).
pub(super) fn netdevs(scene: &Scene<'_>, port: &Port) -> Vec<EntityId> {
    let mut netdevs: Vec<EntityId> = port.netdev.iter().cloned().collect();
    let Entity::RdmaPort { device, port: number } = &port.id.entity else { return netdevs };
    let first = Entity::Gid { device: device.clone(), port: *number, index: 0 };
    for entity in scene.fabric.of_kind(&port.id.target, first) {
        let Entity::Gid { device: of, port: at, .. } = entity else { break };
        if of != device || at != number {
            break;
        }
        let gid = EntityId::new(&port.id.target, entity.clone());
        if let Some(name) = scene.text(&gid, Attribute::GidNetdev) {
            let netdev = EntityId::new(&port.id.target, Entity::Netdev(name.into()));
            if !netdevs.contains(&netdev) {
                netdevs.push(netdev);
            }
        }
    }
    netdevs
}

/// Addresses of a port, each with its interface.
pub(super) fn addresses(scene: &Scene<'_>, port: &Port) -> Vec<(EntityId, Network)> {
    let mut found = Vec::new();
    for netdev in netdevs(scene, port) {
        let list = scene.list(&netdev, Attribute::Addresses).unwrap_or_default();
        found.extend(list.iter().filter_map(|text| Some((netdev.clone(), Network::read(text)?))));
    }
    found
}

/// A subnet that two ports share: the address of each in it, with its interface.
pub(super) fn shared_subnet(
    scene: &Scene<'_>,
    one: &Port,
    other: &Port,
) -> Option<((EntityId, Network), (EntityId, Network))> {
    let others = addresses(scene, other);
    addresses(scene, one).into_iter().find_map(|first| {
        let second = others.iter().find(|(_, network)| network.shares_subnet(first.1))?;
        Some((first, second.clone()))
    })
}

/// How well two ports go together; `None` if they never can.
fn fit(scene: &Scene<'_>, one: &Port, other: &Port) -> Option<u32> {
    if one.is_infiniband != other.is_infiniband {
        return None;
    }
    let mut fit = 0;
    if one.is_infiniband {
        let prefix = |port: &Port| scene.value(&port.id, Attribute::SubnetPrefix).map(ToString::to_string);
        match (prefix(one), prefix(other)) {
            (Some(one), Some(other)) if one != other => {}
            _ => fit += 8,
        }
    } else if shared_subnet(scene, one, other).is_some() {
        fit += 8;
    }
    let active = |port: &Port| matches!(scene.value(&port.id, Attribute::PortState), Some(Value::PortState(state)) if *state == PortState::Active);
    fit += if one.kind == other.kind { 4 } else { 0 };
    fit += u32::from(active(one)) + u32::from(active(other));
    Some(fit)
}

/// The two ends: the pair of ports that goes together best, the first such in the order of names.
pub fn ends<'a>(scene: &Scene<'a>, one: &TargetId, other: &TargetId) -> (End<'a>, End<'a>) {
    let (firsts, seconds) = (scene.ports(one), scene.ports(other));
    let mut best: Option<(u32, &Port, &Port)> = None;
    for first in &firsts {
        for second in &seconds {
            if let Some(fit) = fit(scene, first, second)
                && best.is_none_or(|(known, _, _)| fit > known)
            {
                best = Some((fit, first, second));
            }
        }
    }
    let subnet = best.and_then(|(_, one, other)| shared_subnet(scene, one, other)).map(|((_, one), _)| one.subnet());
    let end = |guest: &TargetId, ports: &[Port], port: Option<&Port>| {
        // Ports that cannot talk to each other are shown all the same: that is what is wrong.
        let port = port.or(ports.first()).cloned();
        let place = port.as_ref().and_then(|port| ports.iter().position(|one| one.id == port.id));
        let chosen = match place {
            Some(place) if ports.len() > 1 => {
                let why = match (&subnet, port.as_ref().is_some_and(|port| port.is_infiniband)) {
                    (Some(subnet), false) => format!("subnet {subnet}"),
                    (_, true) => "InfiniBand on both sides".to_owned(),
                    (None, false) => "no port shares a subnet with the other side".to_owned(),
                };
                format!("{} of {}, {why}", place + 1, ports.len())
            }
            _ => String::new(),
        };
        let chain = match &port {
            Some(port) => chain_of_port(scene, port),
            // Without a driver there is no port; where its adapter leads to is known all the same.
            None => only_adapter(scene, guest),
        };
        let host = chain.map(|chain| &chain.vm.target).or_else(|| scene.host_of(guest));
        End { guest: guest.clone(), port, chain, host, chosen }
    };
    (end(one, &firsts, best.map(|(_, first, _)| first)), end(other, &seconds, best.map(|(_, _, second)| second)))
}

/// The device of the VM that a port is: by its RDMA device, its interface or its PCI function.
fn chain_of_port<'a>(scene: &Scene<'a>, port: &Port) -> Option<&'a Chain> {
    let function = scene
        .text(&port.device, Attribute::PciAddress)
        .map(|address| EntityId::new(&port.device.target, Entity::PciFunction(address.into())));
    std::iter::once(&port.device).chain(&port.netdev).chain(&function).find_map(|thing| scene.chain_of(thing))
}

/// The PVRDMA adapter of the VM of a guest, where it has one only.
fn only_adapter<'a>(scene: &Scene<'a>, guest: &TargetId) -> Option<&'a Chain> {
    let mut chains = scene.pvrdma_chains().filter(|chain| chain.guest.as_ref() == Some(guest));
    chains.next().filter(|_| chains.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subnets_are_compared_by_their_prefix() {
        let read = |text| Network::read(text).expect("a network");
        assert!(read("192.168.100.11/24").shares_subnet(read("192.168.100.12/24")));
        assert_eq!(read("192.168.100.11/24").subnet(), "192.168.100.0/24");
        assert_eq!(read("2001:db8::5/64").subnet(), "2001:db8::/64");
        assert_eq!(read("10.0.0.1/0").subnet(), "0.0.0.0/0");
        for (one, other) in [
            ("192.168.100.11/24", "192.168.101.12/24"),
            ("192.168.100.11/24", "192.168.100.12/16"),
            ("fe80::1/64", "fe80::2/64"),
            ("192.168.100.11/24", "2001:db8::5/64"),
        ] {
            assert!(!read(one).shares_subnet(read(other)), "{one} {other}");
        }
        for wrong in ["", "10.0.0.1", "10.0.0.1/33", "10.0.0/8", "10.0.0.1/-1", "::1/129"] {
            assert_eq!(Network::read(wrong), None, "{wrong}");
        }
    }
}
