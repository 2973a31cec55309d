//! What a host itself says of each requirement, where no check looked.

use super::{Cell, Requirement, Row, port_of_vmknic, ruleset, tag_setting, tagged};
use crate::diagnose::check::{Exhibit, Lack, Scene};
use crate::diagnose::finding::Status;
use crate::diagnose::path::Vlan;
use crate::fabric::{Attribute, Entity, EntityId, PortState, TargetId, Text, Value};

/// Where a requirement is read.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// The host.
    pub(super) host: &'a TargetId,
    /// The switch on it.
    pub(super) switch: Option<&'a EntityId>,
    /// The switch as another host knows it; nothing where nothing tells which it is.
    pub(super) wanted: Option<&'a EntityId>,
    /// Whether the host is a member of it.
    pub(super) is_member: Option<bool>,
}

fn cell(requirement: Requirement, status: Status, says: impl Into<String>) -> Cell {
    Cell {
        requirement,
        status,
        applies: true,
        says: says.into(),
        exhibits: Vec::new(),
        decide: String::new(),
        lack: None,
        check: None,
    }
}

impl Cell {
    fn shown(mut self, about: &EntityId, attribute: Attribute) -> Self {
        self.exhibits.push(Exhibit::of(about, attribute, self.says.clone()));
        self
    }

    /// Not known: why, and what would tell.
    fn open(requirement: Requirement, (lack, why): (Lack, String), decide: String) -> Self {
        Self { lack: Some(lack), decide, ..cell(requirement, Status::Unknown, why) }
    }

    /// There is nothing to look at: why.
    fn idle(requirement: Requirement, why: impl Into<String>) -> Self {
        Self { applies: false, ..cell(requirement, Status::Info, why) }
    }
}

/// The uplinks of a switch; `None` where they were not read.
pub(super) fn uplinks(scene: &Scene<'_>, switch: &EntityId) -> Option<Vec<EntityId>> {
    if let Some(list) = scene.list(switch, Attribute::Uplinks) {
        let id = |name: &Text| EntityId::new(&switch.target, Entity::Uplink(name.clone()));
        return Some(list.iter().map(id).collect());
    }
    let is_empty = scene.exists(switch) && scene.lack(switch, Attribute::Uplinks).is_none();
    is_empty.then(Vec::new)
}

/// The RDMA device that is paired with an uplink.
pub(in crate::diagnose) fn rdma_device(scene: &Scene<'_>, uplink: &EntityId) -> Option<EntityId> {
    let name = uplink.entity.name();
    let devices = scene.fabric.of_kind(&uplink.target, Entity::RdmaDevice(Text::new("")));
    let mut devices = devices.map(|entity| EntityId::new(&uplink.target, entity.clone()));
    devices.find(|device| scene.text(device, Attribute::PairedUplink) == Some(name.as_str()))
}

/// Reads one requirement of a host; `before` are those that stand before it.
pub(super) fn read(scene: &Scene<'_>, requirement: Requirement, place: Place<'_>, before: &[Cell]) -> Cell {
    let Place { host, switch, .. } = place;
    let without = || without_switch(scene, requirement, place);
    let fails = |of: Requirement| before.iter().any(|cell| cell.requirement == of && cell.status == Status::Fail);
    match requirement {
        Requirement::Hca => switch.map_or_else(without, |switch| hca(scene, switch)),
        Requirement::SoleUplink => switch.map_or_else(without, |switch| sole_uplink(scene, switch)),
        Requirement::Tag => tag(scene, host, switch),
        Requirement::Ruleset => open(scene, host),
        Requirement::Vlan => vlan(scene, host, before),
        Requirement::Pfc if fails(Requirement::Hca) => {
            Cell::idle(requirement, format!("{host} has no RDMA device in use that could have a lossless class"))
        }
        Requirement::Pfc => switch.map_or_else(without, |switch| pfc(scene, switch)),
        Requirement::Namespace | Requirement::Version => release(scene, host, requirement),
    }
}

/// A requirement of the switch, where the host has none of that name, or nothing tells which it is.
fn without_switch(scene: &Scene<'_>, requirement: Requirement, place: Place<'_>) -> Cell {
    let Place { host, wanted, is_member, .. } = place;
    let name = wanted.map_or_else(|| "the switch of the adapter".to_owned(), |wanted| wanted.entity.name());
    if is_member == Some(false) {
        let says = format!("{host} is no member of {name}");
        if requirement != Requirement::Hca {
            return Cell::idle(requirement, says);
        }
        return cell(requirement, Status::Fail, says).shown(&EntityId::new(host, Entity::Host), Attribute::EsxiVersion);
    }
    // Whatever the switch is: without an RDMA device that works no uplink of it has one.
    if requirement == Requirement::Hca
        && let Some(cell) = no_device(scene, host)
    {
        return cell;
    }
    let list = format!("esxcli network vswitch dvs vmware list on {host}");
    if let Some(why) = scene.unread(host, "esxi.distributed-switches") {
        return Cell::open(requirement, why, list);
    }
    if wanted.is_none() && !scene.pvrdma_chains().any(|chain| chain.vm.target == *host) {
        return Cell::idle(
            requirement,
            format!("{host} has no PVRDMA adapter, and no switch that could carry one is known"),
        );
    }
    let (lack, why) = scene
        .unread(host, "esxi.net-dvs-list")
        .unwrap_or((Lack::NotObservable, format!("which port of a switch of {host} the adapter is on is not known")));
    Cell::open(requirement, (lack, why), format!("net-dvs -l on {host}"))
}

/// That a host has no RDMA device that works, where that is known.
fn no_device(scene: &Scene<'_>, host: &TargetId) -> Option<Cell> {
    if scene.unread(host, "esxi.rdma-devices").is_some() {
        return None;
    }
    let of = |says: String| cell(Requirement::Hca, Status::Fail, says);
    let devices: Vec<EntityId> = scene
        .fabric
        .of_kind(host, Entity::RdmaDevice(Text::new("")))
        .map(|entity| EntityId::new(host, entity.clone()))
        // The lists of protocols and of VMkernel adapters name devices too; the list of devices tells their state.
        .filter(|device| scene.fabric.reading(device, Attribute::PortState).is_some())
        .collect();
    let Some(first) = devices.first() else {
        let system = EntityId::new(host, Entity::Host);
        return Some(of(format!("{host} has no RDMA device")).shown(&system, Attribute::RdmaPresence));
    };
    let is_idle = |device: &EntityId| scene.value(device, Attribute::PortState).is_some_and(|state| !is_active(state));
    devices
        .iter()
        .all(is_idle)
        .then(|| of(format!("no RDMA device of {host} is active")).shown(first, Attribute::PortState))
}

/// Why a property is not known.
fn lack(scene: &Scene<'_>, id: &EntityId, attribute: Attribute) -> (Lack, String) {
    scene.lack(id, attribute).unwrap_or((Lack::NotObservable, "the target says nothing of it".to_owned()))
}

fn unread_uplinks(scene: &Scene<'_>, requirement: Requirement, switch: &EntityId) -> Cell {
    let (lack, why) = lack(scene, switch, Attribute::Uplinks);
    let why = format!("the uplinks of {} were not read: {why}", switch.entity.name());
    Cell::open(requirement, (lack, why), format!("esxcli network vswitch dvs vmware list on {}", switch.target))
}

fn hca(scene: &Scene<'_>, switch: &EntityId) -> Cell {
    let host = &switch.target;
    let of = |status, says: String| cell(Requirement::Hca, status, says);
    let Some(uplinks) = uplinks(scene, switch) else {
        return unread_uplinks(scene, Requirement::Hca, switch);
    };
    let Some((uplink, device)) = uplinks.iter().find_map(|uplink| Some((uplink, rdma_device(scene, uplink)?))) else {
        if let Some(why) = scene.unread(host, "esxi.rdma-devices") {
            return Cell::open(Requirement::Hca, why, format!("esxcli rdma device list on {host}"));
        }
        let names: Vec<String> = uplinks.iter().map(|uplink| uplink.entity.name()).collect();
        let says = format!("no RDMA device is paired with {}", names.join(", "));
        return of(Status::Fail, says).shown(switch, Attribute::Uplinks);
    };
    let name = device.entity.name();
    match scene.value(&device, Attribute::PortState) {
        Some(state) if is_active(state) => {
            of(Status::Pass, format!("{name} on {}", uplink.entity.name())).shown(&device, Attribute::PortState)
        }
        Some(state) => of(Status::Fail, format!("{name} is {state}")).shown(&device, Attribute::PortState),
        None => Cell::open(
            Requirement::Hca,
            lack(scene, &device, Attribute::PortState),
            format!("esxcli rdma device list on {host}"),
        ),
    }
}

/// True for the states in which a device carries RDMA.
fn is_active(state: &Value) -> bool {
    match state {
        Value::PortState(state) => matches!(state, PortState::Active | PortState::ActiveDefer),
        other => other.to_string().eq_ignore_ascii_case("active"),
    }
}

fn sole_uplink(scene: &Scene<'_>, switch: &EntityId) -> Cell {
    let of = |status, says: String| cell(Requirement::SoleUplink, status, says);
    let Some(uplinks) = uplinks(scene, switch) else {
        return unread_uplinks(scene, Requirement::SoleUplink, switch);
    };
    let names: Vec<String> = uplinks.iter().map(|uplink| uplink.entity.name()).collect();
    match &names[..] {
        [one] => of(Status::Pass, one.clone()),
        [] => of(Status::Fail, format!("{} has no uplink", switch.entity.name())),
        several => of(Status::Fail, format!("{} has several uplinks: {}", switch.entity.name(), several.join(", "))),
    }
    .shown(switch, Attribute::Uplinks)
}

fn tag(scene: &Scene<'_>, host: &TargetId, switch: Option<&EntityId>) -> Cell {
    let setting = tag_setting(host);
    let of = |status, says: String| cell(Requirement::Tag, status, says);
    if let Some((lack, why)) = scene.lack(&setting, Attribute::SettingValue) {
        let why = format!("Net.PVRDMAVmknic was not read: {why}");
        let decide = format!("esxcli system settings advanced list -o /Net/PVRDMAVmknic on {host}");
        return Cell::open(Requirement::Tag, (lack, why), decide);
    }
    let Some(vmknic) = tagged(scene, host) else {
        return of(Status::Fail, "Net.PVRDMAVmknic is empty".to_owned()).shown(&setting, Attribute::SettingValue);
    };
    let name = vmknic.entity.name();
    if !scene.exists(&vmknic) {
        return match scene.unread(host, "esxi.vmknic-list") {
            Some(why) => Cell::open(Requirement::Tag, why, format!("esxcli network ip interface list on {host}")),
            None => of(Status::Fail, format!("Net.PVRDMAVmknic names {name}, which {host} does not have"))
                .shown(&setting, Attribute::SettingValue),
        };
    }
    let on = scene.text(&vmknic, Attribute::OnSwitch);
    match (switch, on) {
        (Some(switch), Some(on)) if switch.entity.name() != on => {
            of(Status::Fail, format!("{name} is on {on}, not on {}", switch.entity.name()))
                .shown(&vmknic, Attribute::OnSwitch)
        }
        _ => of(Status::Pass, name).shown(&setting, Attribute::SettingValue),
    }
}

fn open(scene: &Scene<'_>, host: &TargetId) -> Cell {
    let ruleset = ruleset(host);
    let of = |status, says: &str| cell(Requirement::Ruleset, status, says);
    match scene.flag(&ruleset, Attribute::RulesetEnabled) {
        Some(true) => of(Status::Pass, "open").shown(&ruleset, Attribute::RulesetEnabled),
        Some(false) => of(Status::Fail, "ruleset pvrdma is closed").shown(&ruleset, Attribute::RulesetEnabled),
        None => Cell::open(
            Requirement::Ruleset,
            scene
                .unread(host, "esxi.firewall-rulesets")
                .unwrap_or_else(|| lack(scene, &ruleset, Attribute::RulesetEnabled)),
            format!("esxcli network firewall ruleset list on {host}"),
        ),
    }
}

/// The VLAN of the tagged VMkernel adapter, and what says so.
fn tag_vlan(scene: &Scene<'_>, host: &TargetId) -> Option<(Vlan, EntityId, EntityId)> {
    let vmknic = tagged(scene, host)?;
    let port = port_of_vmknic(scene, &vmknic)?;
    Some((Vlan::of(scene.value(&port, Attribute::VlanId)?)?, port, vmknic))
}

fn vlan(scene: &Scene<'_>, host: &TargetId, before: &[Cell]) -> Cell {
    let is_untagged = |cell: &Cell| cell.requirement == Requirement::Tag && cell.status == Status::Fail;
    match tag_vlan(scene, host) {
        None if before.iter().any(is_untagged) && tagged(scene, host).is_none_or(|vmknic| !scene.exists(&vmknic)) => {
            Cell::idle(Requirement::Vlan, "no VMkernel adapter is tagged whose VLAN could be told")
        }
        Some((vlan, port, _)) => {
            cell(Requirement::Vlan, Status::Pass, vlan.to_string()).shown(&port, Attribute::VlanId)
        }
        None => Cell::open(
            Requirement::Vlan,
            (Lack::NotObservable, "the VLAN of the tagged VMkernel adapter is not known".to_owned()),
            format!("net-dvs -l on {host}, or vCenter: the port group of the adapter"),
        ),
    }
}

/// Tagged VMkernel adapters that believe to be in one subnet, and are in different VLANs, do not reach each other.
pub(super) fn compare_vlans(scene: &Scene<'_>, rows: &mut [Row]) {
    let subnet = |vmknic: &EntityId| -> Vec<String> {
        scene.list(vmknic, Attribute::Addresses).map(crate::diagnose::path::subnets).unwrap_or_default()
    };
    let known: Vec<Option<(Vlan, Vec<String>)>> =
        rows.iter().map(|row| tag_vlan(scene, &row.host).map(|(vlan, _, vmknic)| (vlan, subnet(&vmknic)))).collect();
    for (index, row) in rows.iter_mut().enumerate() {
        let Some(Some((own, networks))) = known.get(index) else { continue };
        let differing = known.iter().flatten().find(|(other, others)| {
            own.meets(other) == Some(false) && networks.iter().any(|network| others.contains(network))
        });
        if let Some((other, _)) = differing
            && let Some(cell) = row.cells.iter_mut().find(|cell| cell.requirement == Requirement::Vlan)
        {
            cell.status = Status::Fail;
            cell.says = format!("{own}, where another host of its subnet is in {other}");
            for exhibit in &mut cell.exhibits {
                exhibit.says.clone_from(&cell.says);
            }
        }
    }
}

fn pfc(scene: &Scene<'_>, switch: &EntityId) -> Cell {
    let of = |status, says: String| cell(Requirement::Pfc, status, says);
    let uplinks = uplinks(scene, switch).unwrap_or_default();
    let Some(uplink) = uplinks.iter().find(|uplink| rdma_device(scene, uplink).is_some()) else {
        let why = (Lack::NotObservable, "no uplink with an RDMA device is known".to_owned());
        return Cell::open(Requirement::Pfc, why, format!("esxcli rdma device list on {}", switch.target));
    };
    match scene.flag(uplink, Attribute::PfcEnabled) {
        Some(true) => {
            let list = scene.list(uplink, Attribute::PfcPriorities).unwrap_or_default();
            of(Status::Pass, format!("priority {}", list.join(","))).shown(uplink, Attribute::PfcEnabled)
        }
        Some(false) => of(Status::Warn, format!("priority flow control is off on {}", uplink.entity.name()))
            .shown(uplink, Attribute::PfcEnabled),
        None => {
            let decide = format!("esxcli network nic dcb status get -n {} on {}", uplink.entity.name(), switch.target);
            Cell::open(Requirement::Pfc, lack(scene, uplink, Attribute::PfcEnabled), decide)
        }
    }
}

/// Major and minor number of a release.
pub(super) fn version(scene: &Scene<'_>, host: &TargetId) -> Option<(u32, u32)> {
    let text = scene.text(&EntityId::new(host, Entity::Host), Attribute::EsxiVersion)?;
    let mut parts = text.split('.').map(|part| part.trim().parse::<u32>().ok());
    Some((parts.next()??, parts.next()??))
}

fn release(scene: &Scene<'_>, host: &TargetId, requirement: Requirement) -> Cell {
    let system = EntityId::new(host, Entity::Host);
    let Some((major, minor)) = version(scene, host) else {
        return Cell::open(requirement, scene.silence(host), format!("vmware -v on {host}"));
    };
    let release = format!("{major}.{minor}");
    let (status, says) = match requirement {
        Requirement::Namespace if (major, minor) >= (7, 0) => {
            (Status::Pass, format!("ESXi {release} has them; the adapter must support them too"))
        }
        Requirement::Namespace => (Status::Warn, format!("ESXi {release} has no RDMA namespaces, 7.0 is the first")),
        _ if (major, minor) >= (6, 5) => (Status::Pass, format!("ESXi {release}")),
        _ => (Status::Fail, format!("ESXi {release} has no PVRDMA, 6.5 is the first")),
    };
    cell(requirement, status, says).shown(&system, Attribute::EsxiVersion)
}
