//! Where a VM with RDMA could run, and what a move there would do: by hand (vMotion), by the cluster (DRS), after a host
//! failed (HA). An adapter that PVRDMA makes up moves with its VM and falls back to TCP in silence where the host does not
//! qualify; a function that is passed through does not move.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;

use super::{Cell, Row, distributed_switch, is_on_standard, judgements, row};
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

impl Device {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Pvrdma => "PVRDMA",
            Self::Passthrough => "an adapter that is passed through",
            Self::DynamicPassthrough => "a dynamic passthrough device",
            Self::VirtualFunction => "a virtual function",
        }
    }
}

/// What becomes of the RDMA of a VM on another host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It is there.
    KeepsRdma,
    /// The VM runs there, and what was RDMA goes over TCP.
    Tcp,
    /// The VM does not start there with what it has.
    DoesNotStart,
    /// Nothing tells.
    NotDeterminable,
}

impl Outcome {
    /// In words, as panels print it.
    pub fn words(self) -> &'static str {
        match self {
            Self::KeepsRdma => "keeps RDMA",
            Self::Tcp => "TCP fallback",
            Self::DoesNotStart => "does not start",
            Self::NotDeterminable => "not determinable",
        }
    }
}

/// What a move of a VM to one host would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The host.
    pub host: TargetId,
    /// Passes where the VM would keep RDMA, fails where it would not, is unknown where that cannot be told.
    pub keeps: Status,
    /// What becomes of its RDMA there.
    pub outcome: Outcome,
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
    /// False if its host says that it is off.
    pub runs: bool,
    /// Whether its own host qualifies, where it has PVRDMA adapters.
    pub here: Option<Row>,
    /// One move for each other host of the inventory.
    pub moves: Vec<Move>,
    /// What holds a move back wherever it goes; empty if nothing does.
    pub condition: String,
}

/// How hosts qualify for a switch, each worked out once: many VMs ask for the same.
struct Rows<'a> {
    scene: &'a Scene<'a>,
    found: &'a [Found],
    known: RefCell<BTreeMap<(TargetId, Option<EntityId>), Row>>,
}

impl Rows<'_> {
    fn of(&self, host: &TargetId, switch: Option<&EntityId>) -> Row {
        let mut known = self.known.borrow_mut();
        let key = (host.clone(), switch.cloned());
        known.entry(key).or_insert_with(|| row(self.scene, self.found, host, switch)).clone()
    }
}

/// All VMs with RDMA, in the order of hosts and names.
pub fn places(scene: &Scene<'_>, found: &[Found]) -> Vec<Place> {
    let mut vms: Vec<&EntityId> = Vec::new();
    for chain in &scene.joined.chains {
        if device_of(scene, chain).is_some() && !vms.contains(&&chain.vm) {
            vms.push(&chain.vm);
        }
    }
    let rows = Rows { scene, found, known: RefCell::default() };
    let mut places: Vec<Place> = vms.into_iter().filter_map(|vm| place(&rows, vm)).collect();
    places.sort_by(|one, other| (&one.vm.target, &one.name).cmp(&(&other.vm.target, &other.name)));
    places
}

/// The same for a check: what one of them worked out is lent to the next.
pub fn places_of<'a>(scene: &Scene<'a>) -> Cow<'a, [Place]> {
    match (scene.kept, scene.judged) {
        (Some(kept), Some(judged)) => Cow::Borrowed(kept.places.get_or_init(|| places(scene, judged))),
        _ => Cow::Owned(places(scene, &judgements(scene))),
    }
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

fn place(rows: &Rows<'_>, vm: &EntityId) -> Option<Place> {
    let scene = rows.scene;
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
    let is_pvrdma = *device == Device::Pvrdma && !is_on_standard(scene, chain);
    let switch = distributed_switch(scene, chain);
    let here = is_pvrdma.then(|| rows.of(&vm.target, switch.as_ref()));
    let moves = scene
        .hosts()
        .filter(|host| **host != vm.target)
        .map(|host| match device {
            Device::Pvrdma if !is_pvrdma => on_standard(host, chain),
            Device::Pvrdma => paravirtual(rows, host, switch.as_ref()),
            other => fixed(scene, *other, host, chain),
        })
        .collect();
    let condition = if *device == Device::Pvrdma { condition(scene, vm) } else { String::new() };
    let runs = scene.text(vm, Attribute::PowerState).is_none_or(|state| state.eq_ignore_ascii_case("poweredOn"));
    Some(Place { vm: vm.clone(), name, device: *device, runs, here, moves, condition })
}

/// A VM whose PVRDMA adapter is on a standard switch has no RDMA that it could keep.
fn on_standard(host: &TargetId, chain: &Chain) -> Move {
    let why = "its adapter is on a standard switch, on which PVRDMA has no RDMA on any host".to_owned();
    let same = || "changes nothing: it has no RDMA before or after".to_owned();
    Move {
        host: host.clone(),
        keeps: Status::Fail,
        outcome: Outcome::Tcp,
        why,
        exhibits: vec![Exhibit::of(
            &chain.device,
            Attribute::PortGroupKey,
            "it is on a port group of a standard switch",
        )],
        decide: String::new(),
        lack: None,
        vmotion: same(),
        drs: same(),
        ha: same(),
    }
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

fn paravirtual(rows: &Rows<'_>, host: &TargetId, switch: Option<&EntityId>) -> Move {
    let row = rows.of(host, switch);
    let bad: Vec<&Cell> = row.needed(Status::Fail).collect();
    let open: Vec<&Cell> = row.needed(Status::Unknown).collect();
    let says = |cells: &[&Cell]| {
        // One thing that was not read leaves several open.
        let mut all: Vec<&str> = cells.iter().map(|cell| cell.says.as_str()).collect();
        all.dedup();
        all.join("; ")
    };
    let of = |keeps, outcome, why: String, [vmotion, drs, ha]: [&str; 3]| Move {
        host: host.clone(),
        keeps,
        outcome,
        why,
        exhibits: Vec::new(),
        decide: String::new(),
        lack: None,
        vmotion: vmotion.to_owned(),
        drs: drs.to_owned(),
        ha: ha.to_owned(),
    };
    let shown = |cells: &[&Cell]| cells.iter().flat_map(|cell| cell.exhibits.clone()).collect();
    if row.is_member == Some(false) {
        let why = format!("{host} is no member of {}", switch.map(|switch| switch.entity.name()).unwrap_or_default());
        let refused = format!("refused: {why}");
        let words = [&*refused; 3];
        return Move { exhibits: shown(&bad), ..of(Status::Fail, Outcome::DoesNotStart, why, words) };
    }
    if !bad.is_empty() {
        // Whether the VM can be there at all is another question where nothing tells the switches of the host.
        let words = if row.is_member.is_some() {
            [
                "moves, and its RDMA becomes TCP without a message",
                "may move it, and its RDMA becomes TCP without a message",
                "starts it there, and it has TCP in the place of RDMA",
            ]
        } else {
            [
                "moves if the host has its switch, and its RDMA becomes TCP without a message",
                "may move it if the host has its switch, and its RDMA becomes TCP without a message",
                "starts it there if the host has its switch, and it has TCP in the place of RDMA",
            ]
        };
        return Move { exhibits: shown(&bad), ..of(Status::Fail, Outcome::Tcp, says(&bad), words) };
    }
    if let Some(first) = open.first() {
        let unknown = of(Status::Unknown, Outcome::NotDeterminable, says(&open), ["not known"; 3]);
        return Move { decide: first.decide.clone(), lack: first.lack, ..unknown };
    }
    let words = [
        "moves and keeps RDMA",
        "may move it; it keeps RDMA",
        "starts it there with RDMA; its connections are made anew",
    ];
    let all: Vec<&Cell> = row.cells.iter().collect();
    Move { exhibits: shown(&all), ..of(Status::Pass, Outcome::KeepsRdma, String::new(), words) }
}

/// A VM with a function that is passed through.
fn fixed(scene: &Scene<'_>, device: Device, host: &TargetId, chain: &Chain) -> Move {
    let exhibits = vec![Exhibit::of(&chain.device, Attribute::DeviceKind, chain.kind.clone())];
    let stays = |what: &str| format!("not possible: {what} stays with its host");
    let of = |keeps, why: String, vmotion: String, drs: String, ha: String| Move {
        host: host.clone(),
        keeps,
        outcome: if keeps == Status::Pass { Outcome::KeepsRdma } else { Outcome::DoesNotStart },
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
            if let Some((lack, why)) = scene.unread(host, "esxi.pci-list") {
                let decide = format!("esxcli hardware pci pcipassthru list on {host}");
                let words = || "not known".to_owned();
                let unknown = of(Status::Unknown, why, stays("a function that is passed through"), words(), words());
                return Move { outcome: Outcome::NotDeterminable, decide, lack: Some(lack), ..unknown };
            }
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
