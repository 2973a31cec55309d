//! PCI functions: of an uplink, behind a device that is passed through, and which function of a guest is which.

use super::{Chain, Gap, Joined, Link, LinkKind, View};
use crate::fabric::{Attribute, Entity, EntityId, TargetId, Value};
use crate::probe::esxi::address::PciAddress;
use crate::probe::vmx::{OnHost, PciId};

/// What VMware makes up in every guest: its own devices.
const VMWARE: &str = "15ad";

/// Network adapters of Intel that VMware makes up too (e1000, e1000e); real ones of the latter exist.
const EMULATED: [(&str, &str); 2] = [("8086", "100f"), ("8086", "10d3")];

/// Base classes of PCI that are no device to pass through but the board of the guest: memory, bridges, ports and timers
/// of the chipset.
const BOARD: [&str; 4] = ["05", "06", "07", "08"];

/// The function of an uplink, and its NUMA node.
pub(super) fn of_uplink(view: View<'_>, uplink: &EntityId, chain: &mut Chain, gaps: &mut Vec<Gap>) {
    let address = view.shown(uplink, Attribute::PciAddress);
    let found = address.as_ref().and_then(|address| view.function(&uplink.target, address)).map(|function| {
        let basis = vec![(uplink.clone(), Attribute::PciAddress)];
        (function, basis)
    });
    // The PCI list names its adapter itself on releases that fill the column.
    let found = found.or_else(|| {
        let named = view.index.on(&uplink.target).function_named.get(&uplink.entity.name())?;
        Some((named.clone(), vec![(named.clone(), Attribute::KernelName)]))
    });
    match found {
        Some((function, rests_on)) => {
            chain.links.push(Link {
                kind: LinkKind::UplinkFunction,
                from: uplink.clone(),
                to: function.clone(),
                rests_on,
            });
            node(view, &function, chain);
        }
        None => gaps.push(Gap {
            about: uplink.clone(),
            missing: "PCI function",
            why: match address {
                Some(address) => format!("the PCI list of {} has no {address}", uplink.target),
                None => format!("{} does not say at which PCI address {} is", uplink.target, uplink.entity.name()),
            },
            rests_on: Vec::new(),
        }),
    }
}

/// The NUMA node of a function, where the host says it.
fn node(view: View<'_>, function: &EntityId, chain: &mut Chain) {
    let number = match view.fabric.value(function, Attribute::NumaNode) {
        Some(Value::Text(text)) => text.as_str().trim().parse().ok(),
        Some(other) => other.as_count().and_then(|count| u32::try_from(count).ok()),
        None => None,
    };
    if let Some(number) = number {
        chain.links.push(Link {
            kind: LinkKind::FunctionNuma,
            from: function.clone(),
            to: EntityId::new(&function.target, Entity::NumaNode(number)),
            rests_on: vec![(function.clone(), Attribute::NumaNode)],
        });
    }
}

/// The function behind a device that is passed through, with its virtual function and uplink where it is one.
pub(super) fn below(view: View<'_>, device: &EntityId, chain: &mut Chain, gaps: &mut Vec<Gap>) {
    let host = &device.target;
    let mut gap = |why: String, rests_on| {
        gaps.push(Gap { about: device.clone(), missing: "PCI function of the host", why, rests_on });
    };
    let written = match written(view, device) {
        Ok(written) => written,
        Err((why, attribute)) => {
            gap(why, vec![(device.clone(), attribute)]);
            return;
        }
    };
    let (function, rests_on) = match &written {
        Some((attribute, address)) => {
            let Some(function) = view.function(host, address) else {
                // A virtual function need not stand in the list of PCI functions.
                let id = EntityId::new(host, Entity::PciFunction(address.as_str().into()));
                if !virtual_function(view, device, &id, address, *attribute, chain) {
                    gap(
                        format!("{host} has no PCI function {address}: the VM was configured for another host or slot"),
                        vec![(device.clone(), *attribute)],
                    );
                }
                return;
            };
            (function, vec![(device.clone(), *attribute)])
        }
        None => match only_candidate(view, host, device) {
            Ok(found) => found,
            Err(why) => {
                gap(why, vec![(device.clone(), Attribute::DeviceKind)]);
                return;
            }
        },
    };
    chain.links.push(Link { kind: LinkKind::DeviceFunction, from: device.clone(), to: function.clone(), rests_on });
    node(view, &function, chain);
    to_virtual(view, &function, chain);
}

/// The address that the configuration names, and where; `None` if it names none. Why not, if it cannot be told which
/// function is meant, or the host has none that could be.
fn written(view: View<'_>, device: &EntityId) -> Result<Option<(Attribute, String)>, (String, Attribute)> {
    let host = &device.target;
    let told = view.shown(device, Attribute::BackingFunction).filter(|text| PciAddress::of(text).is_some());
    if let Some(address) = told {
        return Ok(Some((Attribute::BackingFunction, address)));
    }
    let Some(id) = view.shown(device, Attribute::BackingId) else { return Ok(None) };
    let has = |address: &str| {
        let things = view.index.on(host);
        PciAddress::of(address)
            .is_some_and(|at| things.function_at.contains_key(&at) || things.virtual_at.contains_key(&at))
    };
    match PciId::read(&id).on(has) {
        OnHost::There(address) | OnHost::OnlyAsHex(address) => Ok(Some((Attribute::BackingId, address))),
        OnHost::Both { decimal, hex } => Err((
            format!(
                "the id {id} reads as {decimal} (decimal) and as {hex} (hexadecimal), and {host} has both: which is meant is \
                 not observable"
            ),
            Attribute::BackingId,
        )),
        OnHost::Absent(addresses) => Err((
            format!(
                "{host} has no PCI function {}: the VM was configured for another host or slot",
                addresses.join(" or ")
            ),
            Attribute::BackingId,
        )),
        OnHost::Unreadable => Ok(None),
    }
}

/// The one function that a device without an address can be: a vGPU on a host with one graphics device for sharing, or a
/// dynamic passthrough device of which the host has one.
fn only_candidate(view: View<'_>, host: &TargetId, device: &EntityId) -> Result<(EntityId, Vec<super::Basis>), String> {
    let functions = || view.index.on(host).functions.iter().cloned();
    if view.fabric.value(device, Attribute::VgpuProfile).is_some() {
        let shared: Vec<EntityId> = functions()
            .filter(|id| {
                view.text(id, Attribute::GraphicsType).is_some_and(|kind| {
                    kind.eq_ignore_ascii_case("SharedPassthru") || kind.eq_ignore_ascii_case("Shared Direct")
                })
            })
            .collect();
        return match &shared[..] {
            [one] => Ok((
                one.clone(),
                vec![(device.clone(), Attribute::VgpuProfile), (one.clone(), Attribute::GraphicsType)],
            )),
            [] => Err("the host shows no graphics device that is shared as vGPU".to_owned()),
            several => Err(format!(
                "{} graphics devices are shared as vGPU, and nothing says which carries this one",
                several.len()
            )),
        };
    }
    if let Some(allowed) = view.list(device, Attribute::AllowedDevices) {
        let same = |id: &EntityId| {
            let (Some(vendor), Some(number)) =
                (view.shown(id, Attribute::VendorId), view.shown(id, Attribute::DeviceId))
            else {
                return false;
            };
            allowed.iter().any(|pair| pair.to_ascii_lowercase().replace("0x", "") == format!("{vendor}:{number}"))
        };
        let fitting: Vec<EntityId> = functions().filter(same).collect();
        return match &fitting[..] {
            [one] => {
                Ok((one.clone(), vec![(device.clone(), Attribute::AllowedDevices), (one.clone(), Attribute::DeviceId)]))
            }
            [] => Err(format!("{host} has no function of the allowed devices {}", allowed.join(", "))),
            several => Err(format!(
                "{} functions of {host} are allowed for this dynamic device, and nothing says which it was given",
                several.len()
            )),
        };
    }
    Err("the configuration names no PCI function".to_owned())
}

/// Adds the virtual function at this address, if there is one.
fn virtual_function(
    view: View<'_>,
    device: &EntityId,
    function: &EntityId,
    address: &str,
    attribute: Attribute,
    chain: &mut Chain,
) -> bool {
    let before = chain.links.len();
    chain.links.push(Link {
        kind: LinkKind::DeviceFunction,
        from: device.clone(),
        to: function.clone(),
        rests_on: vec![(device.clone(), attribute)],
    });
    to_virtual(view, function, chain);
    if chain.links.len() == before + 1 {
        chain.links.pop();
        return false;
    }
    debug_assert!(PciAddress::of(address).is_some());
    true
}

fn to_virtual(view: View<'_>, function: &EntityId, chain: &mut Chain) {
    let host = &function.target;
    let found =
        PciAddress::of(&function.entity.name()).and_then(|wanted| view.index.on(host).virtual_at.get(&wanted)).cloned();
    let Some(found) = found else { return };
    let Entity::VirtualFunction { uplink, .. } = &found.entity else { return };
    let uplink = EntityId::new(host, Entity::Uplink(uplink.clone()));
    let basis = vec![(found.clone(), Attribute::PciAddress)];
    chain.links.push(Link {
        kind: LinkKind::FunctionVirtual,
        from: function.clone(),
        to: found.clone(),
        rests_on: basis.clone(),
    });
    chain.links.push(Link { kind: LinkKind::VirtualUplink, from: found, to: uplink, rests_on: basis });
}

/// True for a bridge or a part of the chipset of the guest, by its class.
fn is_board(view: View<'_>, id: &EntityId) -> bool {
    view.shown(id, Attribute::ClassCode)
        .is_some_and(|class| class.trim_start_matches("0x").get(..2).is_some_and(|base| BOARD.contains(&base)))
        && view.shown(id, Attribute::FunctionKind).is_none()
}

/// Which function of a guest is which device of its VM: by vendor and device id, where only one of each kind is there.
/// The chains of that VM begin at `first`.
pub(super) fn of_guest(view: View<'_>, guest: &TargetId, first: usize, joined: &mut Joined) {
    let ids = |id: &EntityId| {
        Some((
            view.shown(id, Attribute::VendorId)?.to_ascii_lowercase(),
            view.shown(id, Attribute::DeviceId)?.to_ascii_lowercase(),
        ))
    };
    let of_guest: Vec<EntityId> = view
        .index
        .on(guest)
        .functions
        .iter()
        .filter(|id| ids(id).is_none_or(|(vendor, _)| vendor != VMWARE) && !is_board(view, id))
        .cloned()
        .collect();
    let backed: Vec<(usize, EntityId)> = joined
        .chains
        .iter()
        .enumerate()
        .skip(first)
        .filter_map(|(index, chain)| {
            let link = chain.links.iter().find(|link| link.kind == LinkKind::DeviceFunction)?;
            Some((index, link.to.clone()))
        })
        .collect();
    for function in of_guest {
        let Some(wanted) = ids(&function) else { continue };
        let same_in_guest =
            view.index.on(guest).functions.iter().filter(|id| ids(id).as_ref() == Some(&wanted)).count();
        let same: Vec<&(usize, EntityId)> =
            backed.iter().filter(|(_, host)| ids(host).as_ref() == Some(&wanted)).collect();
        match (&same[..], same_in_guest) {
            ([(index, host)], 1) => {
                let chain = &mut joined.chains[*index];
                let link = Link {
                    kind: LinkKind::GuestDevice,
                    from: function.clone(),
                    to: chain.device.clone(),
                    rests_on: vec![(function, Attribute::DeviceId), (host.clone(), Attribute::DeviceId)],
                };
                chain.links.insert(0, link);
            }
            ([], _) if EMULATED.contains(&(&wanted.0, &wanted.1)) => {}
            ([], _) => joined.gaps.push(Gap {
                about: function.clone(),
                missing: "device of the VM",
                why: format!("no device of the VM is backed by a function {}:{} of the host", wanted.0, wanted.1),
                rests_on: vec![(function, Attribute::DeviceId)],
            }),
            (several, _) => joined.gaps.push(Gap {
                about: function.clone(),
                missing: "device of the VM",
                why: format!(
                    "{same_in_guest} functions of the guest and {} of the host are {}:{}: which is which is not observable",
                    several.len(),
                    wanted.0,
                    wanted.1
                ),
                rests_on: vec![(function, Attribute::DeviceId)],
            }),
        }
    }
}
