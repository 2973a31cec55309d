//! Where a VM with RDMA could run, and what a move there would do: by hand (vMotion), by the cluster (DRS), after a host
//! failed (HA). An adapter that PVRDMA makes up moves with its VM and falls back to TCP in silence where the host does not
//! qualify; a function that is passed through does not move.

use super::{Row, distributed_switch, row, same_switch};
use crate::diagnose::cause::Found;
use crate::diagnose::check::{Exhibit, Lack, Scene};
use crate::diagnose::finding::Status;
use crate::diagnose::join::{Chain, LinkKind};
use crate::fabric::{Attribute, Entity, EntityId, TargetId, Text};

/// How a VM has RDMA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Device {
    /// PVRDMA adapters only.
    Pvrdma,
    /// A function of an adapter that is passed through.
    Passthrough,
    /// Likewise, and which one is chosen at power-on.
    DynamicPassthrough,
    /// A virtual function.
    VirtualFunction,
}

/// What a move of a VM to one host would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The host.
    pub host: TargetId,
    /// Passes where the VM would keep RDMA, fails where it would not, is unknown where that cannot be told.
    pub keeps: Status,
    /// Why, a few words; empty where it passes.
    pub why: String,
    /// What shows it.
    pub exhibits: Vec<Exhibit>,
    /// What would tell, where it is not known.
    pub decide: String,
    /// Why it is not known.
    pub lack: Option<Lack>,
    /// What a vMotion would do.
    pub vmotion: String,
    /// What DRS could do.
    pub drs: String,
    /// What HA would do after the host of the VM failed.
    pub ha: String,
}

/// One VM with RDMA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The VM, on the host where it is.
    pub vm: EntityId,
    /// Its name.
    pub name: String,
    /// How it has RDMA.
    pub device: Device,
    /// Whether its own host qualifies, where it has PVRDMA adapters.
    pub here: Option<Row>,
    /// One move for each other host of the inventory.
    pub moves: Vec<Move>,
    /// What holds a move back wherever it goes; empty if nothing does.
    pub condition: String,
}

/// All VMs with RDMA, in the order of hosts and names.
pub fn places(scene: &Scene<'_>, found: &[Found]) -> Vec<Place> {
    let mut vms: Vec<&EntityId> = Vec::new();
    for chain in &scene.joined.chains {
        if device_of(scene, chain).is_some() && !vms.contains(&&chain.vm) {
            vms.push(&chain.vm);
        }
    }
    let mut places: Vec<Place> = vms.into_iter().filter_map(|vm| place(scene, found, vm)).collect();
    places.sort_by(|one, other| (&one.vm.target, &one.name).cmp(&(&other.vm.target, &other.name)));
    places
}

/// How a device of a VM is RDMA; `None` if it is not.
fn device_of(scene: &Scene<'_>, chain: &Chain) -> Option<Device> {
    if chain.is_pvrdma() {
        return Some(Device::Pvrdma);
    }
    let has = |kind| chain.links.iter().find(|link| link.kind == kind);
    let function = has(LinkKind::DeviceFunction)?;
    let in_guest = chain
        .links
        .iter()
        .any(|link| link.kind == LinkKind::GuestDevice && matches!(link.from.entity, Entity::RdmaDevice(_)));
    let is_capable = scene.text(&function.to, Attribute::FunctionKind) == Some("RDMA-capable NIC");
    if !in_guest && !is_capable && has(LinkKind::FunctionVirtual).is_none() {
        return None;
    }
    let kind = chain.kind.to_ascii_lowercase();
    Some(if has(LinkKind::FunctionVirtual).is_some() || kind.contains("sr-iov") {
        Device::VirtualFunction
    } else if kind.contains("dynamic") {
        Device::DynamicPassthrough
    } else {
        Device::Passthrough
    })
}

fn place(scene: &Scene<'_>, found: &[Found], vm: &EntityId) -> Option<Place> {
    let chains: Vec<(&Chain, Device)> = scene
        .joined
        .chains
        .iter()
        .filter(|chain| chain.vm == *vm)
        .filter_map(|chain| Some((chain, device_of(scene, chain)?)))
        .collect();
    // What is passed through holds the whole VM.
    let (chain, device) = chains.iter().max_by_key(|(_, device)| *device)?;
    let name = scene.text(vm, Attribute::VmName).map_or_else(|| vm.entity.name(), str::to_owned);
    let switch = distributed_switch(scene, chain);
    let here = switch.filter(|_| *device == Device::Pvrdma).map(|switch| row(scene, found, &vm.target, switch));
    let moves = scene
        .hosts()
        .filter(|host| **host != vm.target)
        .map(|host| match device {
            Device::Pvrdma => paravirtual(scene, found, host, switch),
            other => fixed(scene, *other, host, chain),
        })
        .collect();
    let condition = if *device == Device::Pvrdma { condition(scene, vm) } else { String::new() };
    Some(Place { vm: vm.clone(), name, device: *device, here, moves, condition })
}

/// What a vMotion with PVRDMA needs of the VM.
fn condition(scene: &Scene<'_>, vm: &EntityId) -> String {
    match scene.count(vm, Attribute::HardwareVersion) {
        Some(version) if version < 17 => format!(
            "hardware version {version} has no RDMA namespaces (17 on ESXi 7.0 has them): numbers of queue pairs and keys may \
             be taken on the other host"
        ),
        _ => String::new(),
    }
}

fn paravirtual(scene: &Scene<'_>, found: &[Found], host: &TargetId, switch: Option<&EntityId>) -> Move {
    let unknown = |lack: Option<Lack>, why: String, decide: String| Move {
        host: host.clone(),
        keeps: Status::Unknown,
        why,
        exhibits: Vec::new(),
        decide,
        lack,
        vmotion: "not known".to_owned(),
        drs: "not known".to_owned(),
        ha: "not known".to_owned(),
    };
    let Some(switch) = switch else {
        let why = "the switch of its adapter is not known".to_owned();
        return unknown(Some(Lack::NotObservable), why, "net-dvs -l on its host".to_owned());
    };
    let row = row(scene, found, host, switch);
    let bad: Vec<&super::Cell> = row.needed(Status::Fail).collect();
    let open: Vec<&super::Cell> = row.needed(Status::Unknown).collect();
    let says = |cells: &[&super::Cell]| cells.iter().map(|cell| cell.says.clone()).collect::<Vec<_>>().join("; ");
    if same_switch(scene, host, switch).is_none() && bad.iter().any(|cell| cell.requirement == super::Requirement::Hca)
    {
        let refused = format!("refused: {host} is no member of {}", switch.entity.name());
        return Move {
            host: host.clone(),
            keeps: Status::Fail,
            why: format!("{host} is no member of {}", switch.entity.name()),
            exhibits: bad.iter().flat_map(|cell| cell.exhibits.clone()).collect(),
            decide: String::new(),
            lack: None,
            vmotion: refused.clone(),
            drs: refused.clone(),
            ha: refused,
        };
    }
    if !bad.is_empty() {
        return Move {
            host: host.clone(),
            keeps: Status::Fail,
            why: says(&bad),
            exhibits: bad.iter().flat_map(|cell| cell.exhibits.clone()).collect(),
            decide: String::new(),
            lack: None,
            vmotion: "moves, and its RDMA becomes TCP without a message".to_owned(),
            drs: "may move it, and its RDMA becomes TCP without a message".to_owned(),
            ha: "starts it there, and it has TCP in the place of RDMA".to_owned(),
        };
    }
    if let Some(first) = open.first() {
        return unknown(first.lack, says(&open), first.decide.clone());
    }
    Move {
        host: host.clone(),
        keeps: Status::Pass,
        why: String::new(),
        exhibits: row.cells.iter().flat_map(|cell| cell.exhibits.clone()).collect(),
        decide: String::new(),
        lack: None,
        vmotion: "moves and keeps RDMA".to_owned(),
        drs: "may move it; it keeps RDMA".to_owned(),
        ha: "starts it there with RDMA; its connections are made anew".to_owned(),
    }
}

/// A VM with a function that is passed through.
fn fixed(scene: &Scene<'_>, device: Device, host: &TargetId, chain: &Chain) -> Move {
    let exhibits = vec![Exhibit::of(&chain.device, Attribute::DeviceKind, chain.kind.clone())];
    let stays = |what: &str| format!("not possible: {what} stays with its host");
    let of = |keeps, why: String, vmotion: String, drs: String, ha: String| Move {
        host: host.clone(),
        keeps,
        why,
        exhibits: exhibits.clone(),
        decide: String::new(),
        lack: None,
        vmotion,
        drs,
        ha,
    };
    match device {
        Device::VirtualFunction => {
            let what = stays("a virtual function");
            of(Status::Fail, "a virtual function does not move".to_owned(), what.clone(), what.clone(), what)
        }
        Device::DynamicPassthrough => {
            let spare = free_function(scene, host, &chain.device);
            let (keeps, why) = match &spare {
                Some(_) => (Status::Pass, String::new()),
                None => (Status::Fail, format!("{host} has no free function of the kinds that it allows")),
            };
            let ha = match &spare {
                Some(function) => format!("starts it there with {}", function.entity.name()),
                None => format!("not possible: {why}"),
            };
            let drs = "places it at power-on; does not move it while it runs".to_owned();
            of(keeps, why, stays("a function that is passed through"), drs, ha)
        }
        _ => {
            let what = stays("a function that is passed through");
            let why = "it is bound to one function of its host".to_owned();
            of(Status::Fail, why, what.clone(), what.clone(), what)
        }
    }
}

/// A function of a host that a dynamic device may become: of an allowed kind, and free to be passed through.
fn free_function(scene: &Scene<'_>, host: &TargetId, device: &EntityId) -> Option<EntityId> {
    let allowed = scene.list(device, Attribute::AllowedDevices)?;
    let functions = scene.fabric.of_kind(host, Entity::PciFunction(Text::new("")));
    functions.map(|entity| EntityId::new(host, entity.clone())).find(|id| {
        let of = |attribute| scene.text(id, attribute).unwrap_or_default();
        let pair = format!("{}:{}", of(Attribute::VendorId), of(Attribute::DeviceId));
        let is_taken = scene.joined.chains.iter().any(|chain| chain.links.iter().any(|link| link.to == *id));
        scene.flag(id, Attribute::PassthroughEnabled) == Some(true)
            && !is_taken
            && allowed.iter().any(|one| one.to_ascii_lowercase().replace("0x", "") == pair)
    })
}
