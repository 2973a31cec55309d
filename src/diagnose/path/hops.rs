//! The hops of one side, from the guest to the wire.

use super::draft::{Draft, rate};
use super::ends::End;
use super::vlan::{Vlan, port_of};
use super::{HopKind, Side, guest};
use crate::diagnose::check::{MachineKind, Scene};
use crate::diagnose::finding::Status;
use crate::diagnose::join::{Chain, LinkKind};
use crate::diagnose::qualify;
use crate::fabric::{Attribute, Entity, EntityId, TargetId, Value};

/// The hops of a side, from the guest to the wire.
pub(super) fn side(scene: &Scene<'_>, end: &End<'_>, side: Side) -> Vec<Draft> {
    let mut hops = vec![guest::hop(scene, end, side)];
    match end.chain {
        Some(chain) => {
            hops.push(adapter(scene, chain, side));
            let is_function = chain.links.iter().any(|link| link.kind == LinkKind::DeviceFunction);
            if !is_function {
                hops.push(virtual_switch(scene, chain, side));
            }
            hops.push(host(scene, chain, side));
            if chain.either.is_empty() {
                hops.push(uplink(scene, chain, side, is_function));
                let uplink = chain.reaches(|entity| matches!(entity, Entity::Uplink(_)));
                let port = chain.reaches(|entity| matches!(entity, Entity::SwitchInterface(_)));
                hops.push(interface(scene, side, uplink, &chain.vm.target, port));
            } else {
                hops.extend(either(scene, chain, side));
            }
        }
        None => hops.extend(below_nothing(scene, end, side)),
    }
    hops
}

/// Why nothing is known below a guest, in a hop; none for a guest that is no VM of VMware's.
fn below_nothing(scene: &Scene<'_>, end: &End<'_>, side: Side) -> Option<Draft> {
    let system = EntityId::new(&end.guest, Entity::Guest);
    let on = scene.text(&system, Attribute::Virtualization);
    if on.is_some_and(|word| !word.eq_ignore_ascii_case("vmware")) {
        return None;
    }
    let about = |id: &EntityId| {
        *id == system || end.port.as_ref().is_some_and(|port| *id == port.device || Some(id) == port.netdev.as_ref())
    };
    let gap = scene.joined.gaps.iter().find(|gap| about(&gap.about)).or_else(|| {
        scene.joined.gaps.iter().find(|gap| gap.about.target == end.guest && gap.missing == "device of the VM")
    });
    let why = match (gap, end.host) {
        (Some(gap), _) => gap.why.clone(),
        (None, Some(host)) => format!("{host} runs it, and does not say which of its devices this is"),
        (None, None) if scene.hosts().next().is_none() => "no ESXi host is in the inventory".to_owned(),
        (None, None) => "none of the hosts in the inventory says that it runs this VM".to_owned(),
    };
    let decide = match end.host {
        Some(host) => format!("vim-cmd vmsvc/device.getdevices on {host}"),
        None => "the ESXi host of this VM in the inventory".to_owned(),
    };
    let target = end.host.unwrap_or(&end.guest);
    Some(Draft::unknown(HopKind::VmAdapter, side, target, "VM and host not known", &why, &decide))
}

fn gap_of<'a>(scene: &Scene<'a>, about: &EntityId) -> Option<&'a str> {
    scene.joined.gaps.iter().find(|gap| gap.about == *about).map(|gap| gap.why.as_str())
}

/// How the configuration of a VM calls a device.
fn adapter_name(chain: &Chain) -> String {
    match &chain.device.entity {
        Entity::VmDevice { key, .. } if (4000..4100).contains(key) => format!("ethernet{}", key - 4000),
        Entity::VmDevice { key, .. } if *key >= 13_000 => format!("pciPassthru{}", key - 13_000),
        other => other.name(),
    }
}

fn adapter(scene: &Scene<'_>, chain: &Chain, side: Side) -> Draft {
    let mut draft = Draft::new(HopKind::VmAdapter, side, &chain.device, adapter_name(chain));
    draft.covering(&chain.vm);
    chain.kind.clone_into(&mut draft.hop.state);
    if let Some(name) = scene.text(&chain.vm, Attribute::VmName) {
        draft.says("vm", name, Some((&chain.vm, Attribute::VmName)));
    }
    if chain.is_pvrdma() {
        draft.shows(scene, "protocol", &chain.device, Attribute::DeviceProtocol, ToString::to_string);
    }
    if scene.flag(&chain.device, Attribute::DeviceConnected) == Some(false) {
        draft.says("connected", "no", Some((&chain.device, Attribute::DeviceConnected)));
        draft.mark("connected", Status::Fail, "the adapter is not connected");
    }
    for link in &chain.links {
        if link.kind == LinkKind::DeviceFunction {
            draft.says("function", link.to.entity.name(), Some((&link.to, Attribute::CurrentOwner)));
            draft.covering(&link.to);
        }
        if link.kind == LinkKind::FunctionVirtual {
            draft.says("vf", link.to.entity.name(), Some((&link.to, Attribute::PciAddress)));
            draft.covering(&link.to);
        }
    }
    draft
}

fn virtual_switch(scene: &Scene<'_>, chain: &Chain, side: Side) -> Draft {
    let host = &chain.vm.target;
    let Some(port) = port_of(chain) else {
        let why = gap_of(scene, &chain.device).unwrap_or("the port of the adapter is not known");
        let decide = format!("net-dvs -l on {host}");
        return Draft::unknown(HopKind::VirtualSwitch, side, host, "switch port not known", why, &decide);
    };
    let switch = chain.reaches(|entity| matches!(entity, Entity::VirtualSwitch(_)));
    let name = switch.map_or_else(|| port.entity.name(), |switch| switch.entity.name());
    let mut draft = Draft::new(HopKind::VirtualSwitch, side, port, name);
    let link = scene.text(port, Attribute::PortLink);
    draft.hop.state = link.map_or_else(|| "connected".to_owned(), str::to_owned);
    if let Entity::SwitchPort { port: number, .. } = &port.entity {
        draft.says("port", number.as_str(), Some((port, Attribute::PortClient)));
    }
    if let Some(group) = scene.text(port, Attribute::PortGroupKey) {
        let name = scene.declared.port_group(group).unwrap_or(group);
        draft.says("group", name, Some((port, Attribute::PortGroupKey)));
        draft.covering(&EntityId::new(host, Entity::PortGroup(group.into())));
    }
    let vlan = |value: &Value| Vlan::of(value).map_or_else(|| value.to_string(), |vlan| vlan.to_string());
    draft.shows(scene, "vlan", port, Attribute::VlanId, vlan);
    if let Some(word @ ("down" | "blocked")) = link {
        draft.says("link", word, Some((port, Attribute::PortLink)));
        draft.mark("link", Status::Fail, &format!("the port is {word}"));
    }
    if let Some(switch) = switch {
        draft.covering(switch);
        draft.shows(scene, "uplinks", switch, Attribute::Uplinks, ToString::to_string);
        draft.shows(scene, "mtu", switch, Attribute::Mtu, ToString::to_string);
        draft.mtu = scene.count(switch, Attribute::Mtu);
    }
    draft
}

fn host(scene: &Scene<'_>, chain: &Chain, side: Side) -> Draft {
    let host = &chain.vm.target;
    let id = EntityId::new(host, Entity::Host);
    let mut draft = Draft::new(HopKind::Host, side, &id, host.as_str());
    "runs the VM".clone_into(&mut draft.hop.state);
    if let Some(version) = scene.text(&id, Attribute::EsxiVersion) {
        draft.says("esxi", version, Some((&id, Attribute::EsxiVersion)));
    }
    if !chain.is_pvrdma() {
        return draft;
    }
    // Adapters that are no PVRDMA need neither tag nor ruleset.
    let tag = qualify::tag_setting(host);
    let ruleset = qualify::ruleset(host);
    draft.covering(&tag);
    draft.covering(&ruleset);
    if let Some(vmknic) = qualify::tagged(scene, host) {
        draft.covering(&vmknic);
        draft.hop.state = format!("Net.PVRDMAVmknic = {}", vmknic.entity.name());
        draft.says("tag", vmknic.entity.name(), Some((&tag, Attribute::SettingValue)));
        if let Some(port) = qualify::port_of_vmknic(scene, &vmknic) {
            draft.covering(&port);
        }
    } else {
        let is_empty = scene.lack(&tag, Attribute::SettingValue).is_none();
        draft.hop.state = format!("Net.PVRDMAVmknic = {}", if is_empty { "(empty)" } else { "(not read)" });
        draft.says("tag", "", Some((&tag, Attribute::SettingValue)));
    }
    let word = |value: &Value| if value.as_flag() == Some(true) { "open".to_owned() } else { "closed".to_owned() };
    draft.shows(scene, "ruleset", &ruleset, Attribute::RulesetEnabled, word);
    draft
}

fn uplink(scene: &Scene<'_>, chain: &Chain, side: Side, is_function: bool) -> Draft {
    let host = &chain.vm.target;
    let Some(uplink) = chain.reaches(|entity| matches!(entity, Entity::Uplink(_))) else {
        if is_function {
            // A whole adapter of the guest: the host has no part in it any more.
            return match chain.links.iter().find(|link| link.kind == LinkKind::DeviceFunction) {
                Some(link) => {
                    let mut draft = Draft::new(HopKind::Uplink, side, &link.to, link.to.entity.name());
                    let owner = scene.text(&link.to, Attribute::CurrentOwner).unwrap_or("passed through");
                    owner.clone_into(&mut draft.hop.state);
                    draft
                }
                None => Draft::unknown(
                    HopKind::Uplink,
                    side,
                    host,
                    "function not known",
                    gap_of(scene, &chain.device).unwrap_or("which function of the host it is was not told"),
                    &format!("vim-cmd vmsvc/device.getdevices on {host}"),
                ),
            };
        }
        let switch = chain.reaches(|entity| matches!(entity, Entity::VirtualSwitch(_)));
        let why = port_of(chain)
            .and_then(|port| gap_of(scene, port))
            .or_else(|| switch.and_then(|switch| gap_of(scene, switch)))
            .or_else(|| gap_of(scene, &chain.device))
            .unwrap_or("which uplink carries the adapter is not known");
        let decide = format!("esxtop, panel n, column TEAM-PNIC on {host}");
        return Draft::unknown(HopKind::Uplink, side, host, "uplink not known", why, &decide);
    };
    let device = chain.reaches(|entity| matches!(entity, Entity::RdmaDevice(_)));
    let mut draft = known_uplink(scene, chain, side, uplink, device);
    for link in &chain.links {
        if link.kind == LinkKind::UplinkFunction {
            draft.covering(&link.to);
        }
    }
    draft
}

/// One of several uplinks carries the adapter, and nothing tells which: each of them and the port behind it stand on the
/// way, so that what is wrong with one of them is seen.
fn either(scene: &Scene<'_>, chain: &Chain, side: Side) -> Vec<Draft> {
    let names: Vec<String> = chain.possible_uplinks().map(|uplink| uplink.entity.name()).collect();
    let one_of = names.join(", ");
    let mut hops = Vec::new();
    for place in chain.possible_uplinks() {
        let device = qualify::rdma_device(scene, place);
        let mut draft = known_uplink(scene, chain, side, place, device.as_ref());
        draft.says("one-of", &*one_of, None);
        hops.push(draft);
        let port = chain.either.iter().find(|link| link.kind == LinkKind::UplinkInterface && link.from == *place);
        hops.push(interface(scene, side, Some(place), &chain.vm.target, port.map(|link| &link.to)));
    }
    hops
}

fn known_uplink(scene: &Scene<'_>, chain: &Chain, side: Side, uplink: &EntityId, device: Option<&EntityId>) -> Draft {
    let name = device.filter(|_| chain.is_pvrdma()).unwrap_or(uplink).entity.name();
    let mut draft = Draft::new(HopKind::Uplink, side, uplink, name);
    match scene.flag(uplink, Attribute::Carrier) {
        Some(up) => {
            if up { "up" } else { "down" }.clone_into(&mut draft.hop.state);
            if !up {
                draft.says("link", "down", Some((uplink, Attribute::Carrier)));
                draft.mark("link", Status::Fail, &format!("{} has no link", uplink.entity.name()));
            }
        }
        None => draft.judge(Status::Unknown, "its link state is not known"),
    }
    if let Some(device) = device.filter(|_| chain.is_pvrdma()) {
        draft.covering(device);
        let driver = scene.text(device, Attribute::Driver).unwrap_or("RDMA device");
        let state = scene.value(device, Attribute::PortState);
        draft.hop.state = match state {
            Some(state) => format!("{driver} {state}"),
            None => driver.to_owned(),
        };
        if let Some(Value::PortState(state)) = state
            && *state != crate::fabric::PortState::Active
        {
            draft.says("state", state.to_string(), Some((device, Attribute::PortState)));
            draft.mark("state", Status::Fail, &format!("{} is {state}", device.entity.name()));
        }
        draft.says("uplink", uplink.entity.name(), Some((device, Attribute::PairedUplink)));
    } else if chain.is_pvrdma() {
        let why = gap_of(scene, uplink).unwrap_or("no RDMA device of the host is paired with it").to_owned();
        draft.says("rdma", "none", Some((uplink, Attribute::Driver)));
        let unread = scene.unread(&uplink.target, "esxi.rdma-devices");
        draft.mark("rdma", if unread.is_some() { Status::Unknown } else { Status::Fail }, &why);
    }
    draft.shows(scene, "rate", uplink, Attribute::Speed, |value| value.as_count().map_or(String::new(), rate));
    draft.shows(scene, "mtu", uplink, Attribute::Mtu, ToString::to_string);
    draft.mtu = scene.count(uplink, Attribute::Mtu);
    classes(scene, uplink, &mut draft);
    draft
}

/// The lossless class of an uplink or an interface.
fn classes(scene: &Scene<'_>, id: &EntityId, draft: &mut Draft) {
    if scene.flag(id, Attribute::PfcEnabled) == Some(false) {
        draft.says("pfc", "off", Some((id, Attribute::PfcEnabled)));
        draft.lossless = Some(Vec::new());
        return;
    }
    let priorities = scene.list(id, Attribute::PfcPriorities);
    let is_empty = scene.exists(id) && scene.lack(id, Attribute::PfcPriorities).is_none();
    match priorities {
        Some(priorities) => {
            let priorities: Vec<String> = priorities.iter().map(ToString::to_string).collect();
            draft.says("pfc", priorities.join(","), Some((id, Attribute::PfcPriorities)));
            draft.lossless = Some(priorities);
        }
        None if is_empty => {
            draft.says("pfc", "off", Some((id, Attribute::PfcPriorities)));
            draft.lossless = Some(Vec::new());
        }
        None => draft.hop.traits.push(super::Trait {
            name: "pfc",
            value: String::new(),
            status: Status::Unknown,
            exhibit: None,
        }),
    }
}

/// The port of a physical switch that an uplink is plugged into.
fn interface(
    scene: &Scene<'_>,
    side: Side,
    uplink: Option<&EntityId>,
    host: &TargetId,
    port: Option<&EntityId>,
) -> Draft {
    let Some(id) = port else {
        let why = uplink.and_then(|uplink| {
            let gap = scene.joined.gaps.iter().find(|gap| gap.about == *uplink && gap.missing == "switch port");
            gap.map(|gap| gap.why.clone())
        });
        let has_switch = scene.of_kind(MachineKind::Switch).next().is_some();
        let why = why.unwrap_or_else(|| {
            let what = if has_switch {
                "no switch of the inventory says"
            } else {
                "no switch is in the inventory, so nothing says"
            };
            format!("{what} which of its ports this uplink is plugged into")
        });
        let decide = match uplink {
            Some(uplink) => format!(
                "the switch in the inventory, or vim-cmd hostsvc/net/query_networkhint --pnic-name={} on {host}",
                uplink.entity.name()
            ),
            None => "the switch in the inventory, with LLDP on".to_owned(),
        };
        return Draft::unknown(HopKind::SwitchInterface, side, host, "switch port not known", &why, &decide);
    };
    let mut draft = Draft::new(HopKind::SwitchInterface, side, id, id.entity.name());
    match scene.text(id, Attribute::OperationalState) {
        Some(state) => {
            state.clone_into(&mut draft.hop.state);
            if state.to_ascii_lowercase().contains("down") {
                draft.says("link", state, Some((id, Attribute::OperationalState)));
                draft.mark("link", Status::Fail, &format!("the port is {state}"));
            }
        }
        None => match scene.flag(id, Attribute::Carrier) {
            Some(true) => "up".clone_into(&mut draft.hop.state),
            Some(false) => {
                "down".clone_into(&mut draft.hop.state);
                draft.says("link", "down", Some((id, Attribute::Carrier)));
                draft.mark("link", Status::Fail, "the port has no link");
            }
            None => draft.judge(Status::Unknown, &scene.silence(&id.target).1),
        },
    }
    draft.shows(scene, "mtu", id, Attribute::Mtu, ToString::to_string);
    draft.mtu = scene.count(id, Attribute::Mtu);
    draft.shows(scene, "rate", id, Attribute::Speed, |value| value.as_count().map_or(String::new(), rate));
    match scene.text(id, Attribute::PortMode) {
        Some(mode) if mode.starts_with("trunk") => {
            let list = scene.list(id, Attribute::AllowedVlans).unwrap_or_default();
            draft.says("vlan", format!("trunk {}", list.join(",")).trim(), Some((id, Attribute::AllowedVlans)));
        }
        _ => draft.shows(scene, "vlan", id, Attribute::UntaggedVlan, ToString::to_string),
    }
    classes(scene, id, &mut draft);
    if let Some(ecn) = scene.flag(id, Attribute::EcnEnabled) {
        draft.says("ecn", if ecn { "on" } else { "off" }, Some((id, Attribute::EcnEnabled)));
    }
    draft
}
