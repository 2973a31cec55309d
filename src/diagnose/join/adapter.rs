//! The way of one device of a VM to the wire: adapter, port, switch, uplink, RDMA device, PCI function, NUMA node; or
//! device, function of the host, NUMA node.

use super::machine::Machine;
use super::{Basis, Chain, Gap, Link, LinkKind, View, function, uplink};
use crate::fabric::{Attribute, Entity, EntityId, TargetId, Text};

/// The chain of a device; `None` for one that leads nowhere by its nature (a disk, a keyboard).
pub(super) fn chain(
    view: View<'_>,
    machine: &Machine,
    device: &EntityId,
    guest: Option<&TargetId>,
    gaps: &mut Vec<Gap>,
) -> Option<Chain> {
    let kind = view.text(device, Attribute::DeviceKind).unwrap_or_default().to_owned();
    let lower = kind.to_ascii_lowercase();
    let is_function = ["passthrough", "vgpu", "sr-iov"].iter().any(|word| lower.contains(word));
    let has_mac = view.mac(device).is_some();
    if !is_function && !has_mac {
        return None;
    }
    let mut chain = Chain {
        vm: machine.id.clone(),
        device: device.clone(),
        kind,
        guest: guest.cloned(),
        links: Vec::new(),
        either: Vec::new(),
        counters: None,
    };
    if let Some(guest) = guest
        && has_mac
    {
        chain.links.extend(from_guest(view, guest, device, chain.is_pvrdma(), gaps));
    }
    chain.links.push(Link {
        kind: LinkKind::VmDevice,
        from: device.clone(),
        to: machine.id.clone(),
        rests_on: vec![(device.clone(), Attribute::DeviceKind)],
    });
    if is_function {
        function::below(view, device, &mut chain, gaps);
    } else {
        to_the_wire(view, device, &mut chain, gaps);
    }
    Some(chain)
}

/// The guest's interface with the adapter's address, and the RDMA device that is paired with it.
fn from_guest(view: View<'_>, guest: &TargetId, device: &EntityId, is_pvrdma: bool, gaps: &mut Vec<Gap>) -> Vec<Link> {
    let mac = view.mac(device);
    let things = view.index.on(guest);
    // VLAN interfaces and bonds have the address of the one they ride on.
    let netdev = things
        .netdevs
        .iter()
        .filter(|netdev| view.mac(netdev) == mac)
        .min_by_key(|netdev| view.shown(netdev, Attribute::PciAddress).is_none());
    let Some(netdev) = netdev else {
        gaps.push(Gap {
            about: device.clone(),
            missing: "interface in the guest",
            why: format!("no interface of {guest} has the hardware address of this adapter"),
            rests_on: vec![(device.clone(), Attribute::HardwareAddress)],
        });
        return Vec::new();
    };
    let by_mac: Vec<Basis> =
        vec![(netdev.clone(), Attribute::HardwareAddress), (device.clone(), Attribute::HardwareAddress)];
    let mut links =
        vec![Link { kind: LinkKind::GuestDevice, from: netdev.clone(), to: device.clone(), rests_on: by_mac.clone() }];
    let mut found = false;
    for rdma in &things.rdma {
        let Some(basis) = rdma_on(view, guest, rdma, netdev) else { continue };
        found = true;
        links.insert(
            0,
            Link {
                kind: LinkKind::GuestDevice,
                from: rdma.clone(),
                to: device.clone(),
                rests_on: basis.into_iter().chain(by_mac.clone()).collect(),
            },
        );
    }
    if is_pvrdma && !found {
        gaps.push(Gap {
            about: device.clone(),
            missing: "RDMA device in the guest",
            why: format!("{guest} has no RDMA device on {}, the vmxnet3 of this adapter", netdev.entity.name()),
            rests_on: by_mac,
        });
    }
    links
}

/// The facts that say that an RDMA device works on an interface: its port names it, or their functions are a pair, or
/// they are one function.
fn rdma_on(view: View<'_>, guest: &TargetId, rdma: &EntityId, netdev: &EntityId) -> Option<Vec<Basis>> {
    let of_netdev = view.shown(netdev, Attribute::PciAddress);
    if let Some(address) = view.shown(rdma, Attribute::PciAddress)
        && let Some(function) = view.function(guest, &address)
        && let Some(of_netdev) = &of_netdev
    {
        let paired = view.shown(&function, Attribute::PairedFunction);
        if paired.as_ref() == Some(of_netdev) {
            return Some(vec![
                (rdma.clone(), Attribute::PciAddress),
                (function, Attribute::PairedFunction),
                (netdev.clone(), Attribute::PciAddress),
            ]);
        }
        if address == *of_netdev {
            return Some(vec![(rdma.clone(), Attribute::PciAddress), (netdev.clone(), Attribute::PciAddress)]);
        }
    }
    let Entity::RdmaDevice(device) = &rdma.entity else { return None };
    let name = netdev.entity.name();
    let ports = view.index.on(guest).rdma_ports.get(device)?;
    let port = ports.iter().find(|port| view.text(port, Attribute::PortNetdev).is_some_and(|of| of == name))?;
    Some(vec![(port.clone(), Attribute::PortNetdev)])
}

/// Port, switch, uplink, RDMA device, function, node.
fn to_the_wire(view: View<'_>, device: &EntityId, chain: &mut Chain, gaps: &mut Vec<Gap>) {
    let Some((port, switch)) = port_and_switch(view, device, chain, gaps) else { return };
    let (uplink, basis) = match uplink::of_port(view, port.as_ref(), &switch, gaps) {
        Ok(known) => known,
        Err(several) => {
            chain.either = several
                .into_iter()
                .map(|uplink| {
                    let rests_on = vec![(switch.clone(), Attribute::Uplinks)];
                    Link { kind: LinkKind::SwitchUplink, from: switch.clone(), to: uplink, rests_on }
                })
                .collect();
            return;
        }
    };
    chain.links.push(Link { kind: LinkKind::SwitchUplink, from: switch, to: uplink.clone(), rests_on: basis });
    match view.index.on(&device.target).paired.get(&uplink.entity.name()) {
        Some(rdma) => {
            chain.links.push(Link {
                kind: LinkKind::UplinkRdma,
                from: uplink.clone(),
                to: rdma.clone(),
                rests_on: vec![(rdma.clone(), Attribute::PairedUplink)],
            });
            if chain.is_pvrdma() {
                chain.counters = Some(rdma.clone());
            }
        }
        None if chain.is_pvrdma() => gaps.push(Gap {
            about: uplink.clone(),
            missing: "RDMA device of the host",
            why: format!("no RDMA device of {} is paired with {}", device.target, uplink.entity.name()),
            rests_on: view.exists(&uplink).then(|| (uplink.clone(), Attribute::PciAddress)).into_iter().collect(),
        }),
        None => {}
    }
    function::of_uplink(view, &uplink, chain, gaps);
}

/// True if a text names the switch: its name or its id.
fn names_switch(view: View<'_>, switch: &EntityId, text: &str) -> bool {
    let squeezed =
        |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    switch.entity.name() == text
        || view.shown(switch, Attribute::SwitchId).is_some_and(|id| squeezed(&id) == squeezed(text))
}

fn port_and_switch(
    view: View<'_>,
    device: &EntityId,
    chain: &mut Chain,
    gaps: &mut Vec<Gap>,
) -> Option<(Option<EntityId>, EntityId)> {
    let host = &device.target;
    let things = view.index.on(host);
    let switches = &things.switches;
    let mut gap = |missing, why: String, rests_on| gaps.push(Gap { about: device.clone(), missing, why, rests_on });
    if switches.is_empty() {
        gap("switch", format!("the switches of {host} were not read"), Vec::new());
        return None;
    }
    // The configuration of a VM names the switch by its id; other sources by its name.
    let by = [Attribute::OnSwitch, Attribute::SwitchId].into_iter().find(|by| view.shown(device, *by).is_some());
    let named = by.and_then(|by| view.shown(device, by));
    let port_id = view.shown(device, Attribute::PortId);
    let connection = view.shown(device, Attribute::ConnectionId);
    let on = named.as_ref().and_then(|named| switches.iter().find(|switch| names_switch(view, switch, named)));
    let belongs = |port: &EntityId| {
        let Entity::SwitchPort { switch, .. } = &port.entity else { return false };
        on.is_none_or(|on| on.entity.name() == switch.as_str())
    };
    let mut basis = vec![(device.clone(), Attribute::PortId)];
    basis.extend(by.map(|by| (device.clone(), by)));
    let on_switch = |ports: Option<&'_ Vec<EntityId>>| -> Vec<EntityId> {
        ports.into_iter().flatten().filter(|port| belongs(port)).cloned().collect()
    };
    let same_port = if let Some(id) = &port_id {
        on_switch(things.ports.get(&Text::new(id)))
    } else {
        // Without a port number the port still says who is on it: `vm001.eth1` is the adapter of key 4001.
        let client = client_name(view, &chain.vm, device);
        basis = vec![(device.clone(), Attribute::DeviceLabel)];
        on_switch(client.and_then(|client| things.by_client.get(&client)))
    };
    if let [port] = &same_port[..] {
        let of_port = view.shown(port, Attribute::ConnectionId);
        if let (Some(one), Some(other)) = (&connection, &of_port)
            && one != other
        {
            gap(
                "switch port",
                format!(
                    "the adapter names connection {one} and port {} carries connection {other}: the adapter is not on it now",
                    port.entity.name()
                ),
                vec![(device.clone(), Attribute::ConnectionId), (port.clone(), Attribute::ConnectionId)],
            );
            return None;
        }
        if connection.is_some() && connection == of_port {
            basis.push((device.clone(), Attribute::ConnectionId));
            basis.push((port.clone(), Attribute::ConnectionId));
        }
        if view.fabric.value(port, Attribute::PortClient).is_some() {
            basis.push((port.clone(), Attribute::PortClient));
        }
        chain.links.push(Link { kind: LinkKind::AdapterPort, from: device.clone(), to: port.clone(), rests_on: basis });
        let Entity::SwitchPort { switch, .. } = &port.entity else { return None };
        let switch = EntityId::new(host, Entity::VirtualSwitch(switch.clone()));
        chain.links.push(Link {
            kind: LinkKind::PortSwitch,
            from: port.clone(),
            to: switch.clone(),
            rests_on: vec![(switch.clone(), Attribute::SwitchId)],
        });
        return Some((Some(port.clone()), switch));
    }
    // A standard switch has port groups by name, and no ports that could be told apart.
    if let Some(group) = view.shown(device, Attribute::PortGroupKey) {
        let id = EntityId::new(host, Entity::PortGroup(group.as_str().into()));
        let of_group = view.shown(&id, Attribute::OnSwitch);
        let switch = of_group
            .as_ref()
            .and_then(|name| switches.iter().find(|switch| names_switch(view, switch, name)))
            .or_else(|| {
                switches.iter().find(|switch| {
                    view.list(switch, Attribute::PortGroupKey).is_some_and(|groups| groups.contains(&group))
                })
            })
            .filter(|switch| view.text(switch, Attribute::SwitchKind) != Some("distributed"));
        if let Some(switch) = switch {
            let by_group = (device.clone(), Attribute::PortGroupKey);
            let link = |kind, from: &EntityId, to: &EntityId, rests_on| Link {
                kind,
                from: from.clone(),
                to: to.clone(),
                rests_on,
            };
            chain.links.push(link(LinkKind::AdapterPort, device, &id, vec![by_group]));
            chain.links.push(link(LinkKind::PortSwitch, &id, switch, vec![(id.clone(), Attribute::OnSwitch)]));
            return Some((Some(id.clone()), switch.clone()));
        }
    }
    let why = match (&port_id, &named) {
        (Some(port), _) if same_port.is_empty() => {
            format!("{host} has no port {port} on {}", named.as_deref().unwrap_or("any of its switches"))
        }
        (Some(port), _) => format!("several switches of {host} have a port {port}, and the adapter does not say which"),
        (None, Some(named)) => {
            format!("the adapter is on {named}, but no port there is known to carry it (a VM that is off has none)")
        }
        (None, None) => "the configuration names neither a port nor a port group that this host has".to_owned(),
    };
    gap("switch port", why, vec![(device.clone(), Attribute::PortId)]);
    None
}

/// How a port names an adapter: `vm001.eth1`, of which the first adapter, of key 4000, is `eth0`.
fn client_name(view: View<'_>, vm: &EntityId, device: &EntityId) -> Option<String> {
    let Entity::VmDevice { key, .. } = &device.entity else { return None };
    let name = view.shown(vm, Attribute::VmName)?;
    Some(format!("{name}.eth{}", key.checked_sub(4000)?))
}
