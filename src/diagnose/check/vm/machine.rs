//! VMs as the checks of this layer look at them: which concern RDMA or passthrough, whether they run, whose they are, and
//! how a fault of their configuration weighs. What is wrong with a VM that is off bites at its next power-on only; a VM
//! that nobody uses is nobody's trouble; a template never runs.

use std::collections::BTreeSet;

use super::log;
use crate::diagnose::check::{Judged, Lack, MachineKind, Scene};
use crate::diagnose::finding::{Confidence, Status};
use crate::diagnose::join::{Chain, LinkKind};
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::{Attribute, Entity, EntityId, TargetId, Text};

/// Whether a VM runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Power {
    /// It runs.
    On,
    /// It does not.
    Off,
    /// It sleeps.
    Suspended,
    /// The host does not say.
    Unclear,
}

/// What a device of a VM is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A PVRDMA adapter.
    Pvrdma,
    /// One function of one host.
    Function,
    /// Any function of some models.
    Dynamic,
    /// A virtual function of a network adapter.
    Virtual,
    /// A share of a GPU.
    Share,
    /// Another network adapter.
    Adapter,
}

/// Hardware of the host.
pub(super) const HARDWARE: &[Kind] = &[Kind::Function, Kind::Dynamic, Kind::Virtual];
/// Whole functions of the host.
pub(super) const WHOLE: &[Kind] = &[Kind::Function, Kind::Dynamic];
/// Everything that this program is about.
pub(super) const CONCERNED: &[Kind] = &[Kind::Pvrdma, Kind::Function, Kind::Dynamic, Kind::Virtual, Kind::Share];

impl Kind {
    fn of(words: &str) -> Self {
        match words {
            "passthrough" | "Enhanced DirectPath" => Self::Function,
            "dynamic passthrough" => Self::Dynamic,
            "SR-IOV adapter" => Self::Virtual,
            "vGPU" => Self::Share,
            _ if words.to_ascii_lowercase().contains("pvrdma") => Self::Pvrdma,
            _ => Self::Adapter,
        }
    }
}

/// One device of a VM.
#[derive(Clone, Debug)]
pub(super) struct Device {
    /// The device.
    pub(super) id: EntityId,
    /// What it is.
    pub(super) kind: Kind,
    /// As vCenter calls it: `Network adapter 2`.
    pub(super) label: String,
}

/// One VM.
#[derive(Clone, Debug)]
pub(in crate::diagnose::check) struct Vm {
    /// The VM.
    pub(super) id: EntityId,
    /// Its host.
    pub(super) host: TargetId,
    /// As people call it.
    pub(super) name: String,
    /// Whether it runs.
    pub(super) power: Power,
    /// The guest in it, by the join, or because it has its name.
    pub(super) guest: Option<TargetId>,
    /// Its devices that matter here.
    pub(super) devices: Vec<Device>,
    /// True if it was started once, and that failed.
    has_failed: bool,
}

/// All VMs of all hosts that may run: no templates, and of a VM that two hosts know the one that runs.
pub(super) fn all(scene: &Scene<'_>) -> Vec<Vm> {
    match scene.kept {
        Some(kept) => kept.vms.get_or_init(|| read_all(scene)).clone(),
        None => read_all(scene),
    }
}

fn read_all(scene: &Scene<'_>) -> Vec<Vm> {
    let stale: BTreeSet<&EntityId> =
        scene.joined.gaps.iter().filter(|gap| gap.missing == "host of the VM").map(|gap| &gap.about).collect();
    let mut vms: Vec<Vm> = scene
        .hosts()
        .flat_map(|host| {
            let first = Entity::Vm(Text::new(""));
            scene.fabric.of_kind(host, first).map(|entity| EntityId::new(host, entity.clone()))
        })
        .filter(|id| !stale.contains(id) && scene.flag(id, Attribute::IsTemplate) != Some(true))
        .map(|id| Vm::read(scene, id))
        .collect();
    by_name(scene, &mut vms);
    vms
}

/// All VMs with a device of these kinds.
pub(super) fn with(scene: &Scene<'_>, kinds: &[Kind]) -> Vec<Vm> {
    let with = |vm: &&Vm| vm.has(kinds);
    match scene.kept {
        Some(kept) => kept.vms.get_or_init(|| read_all(scene)).iter().filter(with).cloned().collect(),
        None => read_all(scene).iter().filter(with).cloned().collect(),
    }
}

/// A guest that did not answer cannot be joined; a VM of its name is taken for its own if there is only one.
fn by_name(scene: &Scene<'_>, vms: &mut [Vm]) {
    let first = |name: &str| name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    for guest in scene.of_kind(MachineKind::Guest) {
        if scene.joined.vm_of(guest).is_some() {
            continue;
        }
        let wanted = first(guest.as_str());
        let mut same = vms.iter_mut().filter(|vm| first(&vm.name) == wanted);
        if let (Some(vm), None) = (same.next(), same.next()) {
            vm.guest.get_or_insert_with(|| guest.clone());
        }
    }
}

impl Vm {
    fn read(scene: &Scene<'_>, id: EntityId) -> Self {
        let host = id.target.clone();
        let own = match &id.entity {
            Entity::Vm(own) => own.clone(),
            other => Text::new(&other.name()),
        };
        let devices = scene
            .fabric
            .of_kind(&host, Entity::VmDevice { vm: own.clone(), key: 0 })
            .take_while(|entity| matches!(entity, Entity::VmDevice { vm, .. } if *vm == own))
            .map(|entity| {
                let id = EntityId::new(&host, entity.clone());
                let kind = Kind::of(scene.text(&id, Attribute::DeviceKind).unwrap_or_default());
                let label = scene.text(&id, Attribute::DeviceLabel).map_or_else(|| entity.name(), str::to_owned);
                Device { id, kind, label }
            })
            .collect();
        let power = match scene.text(&id, Attribute::PowerState).map(str::to_ascii_lowercase).as_deref() {
            Some("poweredon" | "powered on") => Power::On,
            Some("poweredoff" | "powered off") => Power::Off,
            Some("suspended") => Power::Suspended,
            _ if scene.value(&id, Attribute::WorldId).is_some() => Power::On,
            _ => Power::Unclear,
        };
        Self {
            name: scene.text(&id, Attribute::VmName).map_or_else(|| id.entity.name(), str::to_owned),
            guest: scene.joined.guest_of(&id).cloned(),
            has_failed: power == Power::Off && log::lines(scene, &id).iter().any(|line| log::is_failure(line.text)),
            host,
            power,
            devices,
            id,
        }
    }

    /// True if it runs.
    pub(super) fn is_on(&self) -> bool {
        self.power == Power::On
    }

    /// True if somebody uses it: it runs, is a guest of the inventory, or was to be started.
    pub(super) fn is_used(&self) -> bool {
        self.is_on() || self.guest.is_some() || self.has_failed
    }

    /// Its devices of these kinds.
    pub(super) fn of<'v>(&'v self, kinds: &'v [Kind]) -> impl Iterator<Item = &'v Device> {
        self.devices.iter().filter(move |device| kinds.contains(&device.kind))
    }

    /// True if it has a device of these kinds.
    pub(super) fn has(&self, kinds: &[Kind]) -> bool {
        self.of(kinds).next().is_some()
    }

    /// How a fault weighs that is this grave on a VM that runs.
    pub(super) fn weighed(&self, grave: Status) -> Status {
        match (self.is_on(), self.is_used()) {
            (true, _) => grave,
            (false, true) if matches!(grave, Status::Fail | Status::Warn) => Status::Warn,
            (false, _) => Status::Info,
        }
    }

    /// A fault of its configuration that is this grave on a VM that runs. `grave` of a fault that stops a power-on is a
    /// warning: a VM that runs was started before.
    pub(super) fn fault(&self, subject: &EntityId, grave: Status, title: &str, cause: &str) -> Judged {
        let title = format!("{} on {}: {title}", self.name, self.host);
        let cause = match self.power {
            Power::On | Power::Unclear => cause.to_owned(),
            Power::Off => format!("{cause}. It is powered off: this bites at its next power-on"),
            Power::Suspended => format!("{cause}. It is suspended: this bites when it is started anew"),
        };
        match self.weighed(grave) {
            Status::Fail => Judged::fail(subject, Confidence::Proved, title, cause),
            Status::Warn => Judged::warn(subject, Confidence::Proved, title, cause),
            _ => Judged::info(subject, title, cause),
        }
    }

    /// As it should be.
    pub(super) fn pass(&self, subject: &EntityId, title: &str) -> Judged {
        Judged::pass(subject, format!("{} on {}: {title}", self.name, self.host))
    }

    /// Why a property of the VM is missing, with what would tell: a command of the host's agent.
    pub(super) fn unknown(
        &self,
        scene: &Scene<'_>,
        subject: &EntityId,
        attribute: Attribute,
        what: &str,
        command: &str,
    ) -> Judged {
        let source = if matches!(attribute, Attribute::PowerState | Attribute::ToolsStatus | Attribute::Balloon) {
            "esxi.vm-summary"
        } else {
            "esxi.vm-configs"
        };
        let (lack, why) = scene
            .unread(&self.host, source)
            .or_else(|| scene.lack(subject, attribute))
            .unwrap_or_else(|| (Lack::NotObservable, format!("{} leaves it empty", self.host)));
        self.unclear(subject, lack, &format!("{what}: {why}"), self.ask(scene, command))
    }

    /// What cannot be told, in other words.
    pub(super) fn unclear(&self, subject: &EntityId, lack: Lack, title: &str, decide: impl Into<String>) -> Judged {
        Judged::unknown(subject, lack, format!("{} on {}: {title}", self.name, self.host), decide)
    }

    /// A command of the host's agent about this VM, to be typed on the host.
    pub(super) fn ask(&self, scene: &Scene<'_>, command: &str) -> String {
        let number = scene.count(&self.id, Attribute::VmNumber);
        let (before, behind) = command.split_once(" | ").unwrap_or((command, ""));
        let number = number.map_or_else(|| "VMID".to_owned(), |number| number.to_string());
        let behind = if behind.is_empty() { String::new() } else { format!(" | {behind}") };
        format!("on {}: vim-cmd vmsvc/{before} {number}{behind}", self.host)
    }

    /// What is the VM's own on the way of its traffic: the VM, its devices, what they are backed by alone, and all of its
    /// guest that the join knows. What it shares with other VMs is not its own.
    pub(super) fn way(&self, scene: &Scene<'_>) -> Vec<EntityId> {
        let mut way = vec![self.id.clone()];
        way.extend(self.devices.iter().map(|device| device.id.clone()));
        for chain in scene.joined.chains.iter().filter(|chain| chain.vm == self.id) {
            way.extend(own(self, scene, chain));
        }
        if let Some(guest) = &self.guest {
            way.push(EntityId::new(guest, Entity::Guest));
            way.extend(scene.ports(guest).into_iter().flat_map(|port| [port.id, port.device]));
        }
        way.sort();
        way.dedup();
        way
    }

    /// The same for one device.
    pub(super) fn way_of(&self, scene: &Scene<'_>, device: &EntityId) -> Vec<EntityId> {
        let mut way = vec![self.id.clone(), device.clone()];
        for chain in scene.joined.chains.iter().filter(|chain| chain.device == *device) {
            way.extend(own(self, scene, chain));
        }
        way.sort();
        way.dedup();
        way
    }

    /// A remedy in the settings of the VM, by its path in vCenter.
    pub(super) fn edit(&self, title: &str, paths: &[String]) -> Cure {
        Cure::by_hand(title, self.steps(paths))
    }

    /// Steps in the settings of the VM.
    pub(super) fn steps(&self, paths: &[String]) -> Vec<Step> {
        paths.iter().map(|path| Step::ByHand(format!("vCenter: {} > {path}", self.name))).collect()
    }
}

/// What of a chain belongs to this VM alone.
fn own(vm: &Vm, scene: &Scene<'_>, chain: &Chain) -> Vec<EntityId> {
    let is_own = |id: &EntityId| {
        vm.guest.as_ref() == Some(&id.target)
            || matches!(id.entity, Entity::Vm(_) | Entity::VmDevice { .. } | Entity::SwitchPort { .. })
            || chain.links.iter().any(|link| link.kind == LinkKind::DeviceFunction && link.to == *id)
    };
    scene.way_of(chain).into_iter().filter(is_own).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnose::check::testing::Site;

    /// The summary of gpu-a up to its power.
    const RUNS: &str = "vm = 'vim.VirtualMachine:5',\n   runtime = (vim.vm.RuntimeInfo) {\n      device = <unset>,\n      \
                        host = 'vim.HostSystem:ha-host',\n      connectionState = \"connected\",\n      powerState = \"poweredOn\"";
    const PROCESS: &str = "gpu-a\n   World ID: 2104002\n   Process ID: 0\n   VMX Cartel ID: 2104001\n   \
                           UUID: 6a 76 cf 14 65 01 4b 65-a2 c3 91 09 60 f3 df d5\n   Display Name: gpu-a\n   \
                           Config File: /vmfs/volumes/5b645dbf-d27a664c-e76a-1402ec67d6e6/gpu-a/gpu-a.vmx";

    /// The sound site, but the VM gpu-a is powered off; nobody uses it.
    pub fn gpu_off() -> Site {
        Site::sound().replacing("esx01", "esxi.vm-summary", RUNS, &RUNS.replace("poweredOn", "poweredOff")).replacing(
            "esx01",
            "esxi.vm-processes",
            PROCESS,
            "",
        )
    }

    /// The same, and gpu-a is a guest of the inventory, which does not answer.
    pub fn gpu_missed() -> Site {
        gpu_off().unreached("gpu-a", MachineKind::Guest, "no route to host")
    }

    fn gpu(site: &Site) -> Vm {
        let joined = site.joined();
        all(&site.scene(&joined)).into_iter().find(|vm| vm.name == "gpu-a").expect("a VM")
    }

    #[test]
    fn a_fault_weighs_by_who_uses_the_vm() {
        let running = gpu(&Site::sound());
        assert!(running.is_on() && running.has(&[Kind::Function]) && !running.has(&[Kind::Pvrdma]));
        assert_eq!(running.weighed(Status::Fail), Status::Fail);
        let missed = gpu(&gpu_missed());
        assert_eq!((missed.power, missed.weighed(Status::Fail)), (Power::Off, Status::Warn));
        let unused = gpu(&gpu_off());
        assert_eq!((unused.is_used(), unused.weighed(Status::Fail)), (false, Status::Info));
    }

    #[test]
    fn templates_are_left_out() {
        let site = Site::sound().replacing(
            "esx01",
            "esxi.vm-summary",
            "name = \"gpu-a\",\n      template = false",
            "name = \"gpu-a\",\n      template = true",
        );
        let joined = site.joined();
        let names: Vec<String> = all(&site.scene(&joined)).into_iter().map(|vm| vm.name).collect();
        assert_eq!(names, ["pv-a", "pv-b"]);
    }

    #[test]
    fn what_it_shares_with_others_is_not_its_own() {
        let site = Site::sound();
        let joined = site.joined();
        let scene = site.scene(&joined);
        let vm = all(&scene).into_iter().find(|vm| vm.name == "pv-a").expect("a VM");
        let way = vm.way(&scene);
        assert!(way.iter().any(|id| matches!(id.entity, Entity::SwitchPort { .. })), "{way:?}");
        assert!(way.iter().any(|id| matches!(id.entity, Entity::RdmaPort { .. })), "{way:?}");
        let shared = |id: &EntityId| matches!(id.entity, Entity::Uplink(_) | Entity::VirtualSwitch(_));
        assert!(!way.iter().any(shared), "{way:?}");
    }
}
