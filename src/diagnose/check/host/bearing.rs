//! What of a host matters here: the PVRDMA adapters it carries, the uplinks that RDMA of VMs leaves by, the functions given
//! to VMs. Where there is none, the checks of hosts have nothing to say. What only a VM that is off needs weighs less.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnose::check::{Judged, Lack, Moved, Scene};
use crate::diagnose::finding::Confidence;
use crate::diagnose::join::{Chain, LinkKind};
use crate::diagnose::remedy::Step;
use crate::fabric::{Attribute, Entity, EntityId, State, TargetId, Value};

/// A host with PVRDMA adapters: those of VMs that run, or those of VMs that are off where none runs.
pub(super) struct Carrier<'a> {
    /// The host.
    pub(super) host: &'a TargetId,
    /// The adapters.
    pub(super) chains: Vec<&'a Chain>,
    /// The virtual switches under its adapters. An adapter on a standard switch does no RDMA at all, which is told of the VM.
    pub(super) switches: BTreeSet<&'a EntityId>,
    /// True if a VM with such an adapter runs.
    pub(super) runs: bool,
}

/// An uplink that RDMA of VMs leaves by: under PVRDMA adapters, or under a virtual function that is given to a VM.
pub(super) struct UsedUplink<'a> {
    /// The uplink.
    pub(super) id: EntityId,
    /// The devices of VMs that use it.
    pub(super) chains: Vec<&'a Chain>,
    /// True if a VM that uses it runs.
    pub(super) runs: bool,
}

/// True unless the host says that the VM is off.
pub(super) fn is_running(scene: &Scene<'_>, vm: &EntityId) -> bool {
    scene.text(vm, Attribute::PowerState).is_none_or(|state| state.eq_ignore_ascii_case("poweredOn"))
}

/// The switch under an adapter, unless it is a standard one, on which PVRDMA does not work.
pub(super) fn switch_of<'a>(scene: &Scene<'_>, chain: &'a Chain) -> Option<&'a EntityId> {
    let switch = chain.reaches(|to| matches!(to, Entity::VirtualSwitch(_)))?;
    (scene.text(switch, Attribute::SwitchKind) != Some("standard")).then_some(switch)
}

/// Hosts with PVRDMA adapters.
pub(super) fn carriers<'a>(scene: &Scene<'a>) -> Vec<Carrier<'a>> {
    scene
        .hosts()
        .filter_map(|host| {
            let all: Vec<&'a Chain> = scene.pvrdma_chains().filter(|chain| chain.vm.target == *host).collect();
            let running: Vec<&'a Chain> = all.iter().copied().filter(|chain| is_running(scene, &chain.vm)).collect();
            let runs = !running.is_empty();
            let chains = if runs { running } else { all };
            let switches = chains.iter().filter_map(|chain| switch_of(scene, chain)).collect();
            (!chains.is_empty()).then_some(Carrier { host, chains, switches, runs })
        })
        .collect()
}

/// Devices that a host gives away to VMs as they are: functions and virtual functions.
pub(super) fn passed<'a>(scene: &Scene<'a>) -> Vec<&'a Chain> {
    let is_passed = |chain: &&Chain| {
        let kind = chain.kind.to_ascii_lowercase();
        ["passthrough", "vgpu", "sr-iov"].iter().any(|word| kind.contains(word))
    };
    scene.joined.chains.iter().filter(is_passed).collect()
}

impl Carrier<'_> {
    /// The VMs with these adapters: `pv-a, pv-b and 3 more`.
    pub(super) fn names(&self, scene: &Scene<'_>) -> String {
        names(scene, &self.chains)
    }

    /// What is on the way of its adapters.
    pub(super) fn way(&self, scene: &Scene<'_>) -> Vec<EntityId> {
        way(scene, &self.chains)
    }

    /// A failure; a warning where no VM that it concerns runs.
    pub(super) fn trouble(&self, subject: &EntityId, sure: Confidence, title: String, cause: String) -> Judged {
        trouble(self.runs, subject, sure, title, cause)
    }
}

/// A failure; a warning where no VM that it concerns runs.
pub(super) fn trouble(runs: bool, subject: &EntityId, sure: Confidence, title: String, cause: String) -> Judged {
    if runs {
        Judged::fail(subject, sure, title, cause)
    } else {
        Judged::warn(subject, sure, title, format!("{cause}. The VMs that it concerns are off now"))
    }
}

/// Names of VMs, each once; of many the first few.
pub(super) fn names(scene: &Scene<'_>, chains: &[&Chain]) -> String {
    const SHOWN: usize = 3;
    let vms: BTreeSet<&EntityId> = chains.iter().map(|chain| &chain.vm).collect();
    let mut names: Vec<String> = vms.iter().take(SHOWN).map(|vm| vm_name(scene, vm)).collect();
    if vms.len() > SHOWN {
        let last = format!("{} more", vms.len() - SHOWN);
        return format!("{} and {last}", names.join(", "));
    }
    match names.pop() {
        Some(last) if !names.is_empty() => format!("{} and {last}", names.join(", ")),
        Some(last) => last,
        None => String::new(),
    }
}

/// The name of a VM, else its id.
pub(super) fn vm_name(scene: &Scene<'_>, vm: &EntityId) -> String {
    scene.text(vm, Attribute::VmName).map_or_else(|| vm.entity.name(), str::to_owned)
}

/// What is on the way of these devices.
pub(super) fn way(scene: &Scene<'_>, chains: &[&Chain]) -> Vec<EntityId> {
    let all: BTreeSet<EntityId> = chains.iter().flat_map(|chain| scene.way_of(chain)).collect();
    all.into_iter().collect()
}

/// Uplinks that RDMA of VMs leaves by, in the order of hosts and names.
pub(super) fn rdma_uplinks<'a>(scene: &Scene<'a>) -> Vec<UsedUplink<'a>> {
    let mut used: BTreeMap<EntityId, Vec<&'a Chain>> = BTreeMap::new();
    for chain in &scene.joined.chains {
        let is_virtual = chain.links.iter().any(|link| link.kind == LinkKind::VirtualUplink);
        let is_used = is_virtual || (chain.is_pvrdma() && switch_of(scene, chain).is_some());
        if !is_used {
            continue;
        }
        let uplink = chain.reaches(|to| matches!(to, Entity::Uplink(_)));
        let uplinks: Vec<EntityId> = match uplink {
            // A virtual function of an adapter that speaks no RDMA is an ordinary interface.
            Some(uplink) if chain.is_pvrdma() || rdma_of(scene, uplink).is_some() => vec![uplink.clone()],
            Some(_) => Vec::new(),
            // Which of several carries the adapter is not known: any of them may.
            None => chain
                .reaches(|to| matches!(to, Entity::VirtualSwitch(_)))
                .map(|switch| uplinks_of(scene, switch))
                .unwrap_or_default(),
        };
        for uplink in uplinks {
            used.entry(uplink).or_default().push(chain);
        }
    }
    used.into_iter()
        .map(|(id, chains)| {
            let running: Vec<&Chain> = chains.iter().copied().filter(|chain| is_running(scene, &chain.vm)).collect();
            let runs = !running.is_empty();
            UsedUplink { id, chains: if runs { running } else { chains }, runs }
        })
        .collect()
}

/// The uplinks of a virtual switch.
pub(super) fn uplinks_of(scene: &Scene<'_>, switch: &EntityId) -> Vec<EntityId> {
    let names = scene.list(switch, Attribute::Uplinks).unwrap_or_default();
    names.iter().map(|name| EntityId::new(&switch.target, Entity::Uplink(name.clone()))).collect()
}

/// RDMA devices of a host.
pub(super) fn rdma_devices(scene: &Scene<'_>, host: &TargetId) -> Vec<EntityId> {
    let devices = scene.fabric.of_kind(host, Entity::RdmaDevice("".into()));
    devices.map(|entity| EntityId::new(host, entity.clone())).collect()
}

/// The RDMA device of the host that works on an uplink.
pub(super) fn rdma_of(scene: &Scene<'_>, uplink: &EntityId) -> Option<EntityId> {
    let name = uplink.entity.name();
    rdma_devices(scene, &uplink.target)
        .into_iter()
        .find(|device| scene.text(device, Attribute::PairedUplink).is_some_and(|paired| paired == name))
}

/// The setting that names the VMkernel adapter for PVRDMA.
pub(super) fn tag(host: &TargetId) -> EntityId {
    EntityId::new(host, Entity::AdvancedSetting("/Net/PVRDMAVmknic".into()))
}

/// The VMkernel adapter that is tagged for PVRDMA, if the host says so and has it.
pub(super) fn tagged(scene: &Scene<'_>, host: &TargetId) -> Option<EntityId> {
    let name = scene.text(&tag(host), Attribute::SettingValue)?;
    let id = EntityId::new(host, Entity::Vmknic(name.into()));
    scene.exists(&id).then_some(id)
}

/// VMkernel adapters of a host.
pub(super) fn vmknics(scene: &Scene<'_>, host: &TargetId) -> Vec<EntityId> {
    let adapters = scene.fabric.of_kind(host, Entity::Vmknic("".into()));
    adapters.map(|entity| EntityId::new(host, entity.clone())).collect()
}

/// True if a VMkernel adapter is connected to this switch: by its id, else by its name.
pub(super) fn is_on(scene: &Scene<'_>, vmknic: &EntityId, switch: &EntityId) -> bool {
    let squeezed = |text: &str| -> String {
        text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
    };
    let id = |of: &EntityId| scene.text(of, Attribute::SwitchId).map(squeezed);
    match (id(vmknic), id(switch)) {
        (Some(own), Some(wanted)) => own == wanted,
        _ => scene.text(vmknic, Attribute::OnSwitch).is_some_and(|name| name == switch.entity.name()),
    }
}

/// Why something is not known: what its reading says, else why the source that would tell it did not.
pub(super) fn why(scene: &Scene<'_>, id: &EntityId, attribute: Attribute, source: &str) -> (Lack, String) {
    let is_read = scene.fabric.reading(id, attribute).is_some();
    let told = if is_read { scene.lack(id, attribute) } else { scene.unread(&id.target, source) };
    told.or_else(|| scene.lack(id, attribute))
        .unwrap_or_else(|| (Lack::NotObservable, format!("{} does not say it", id.target)))
}

/// True if a value was read and is nothing.
pub(super) fn is_empty(scene: &Scene<'_>, id: &EntityId, attribute: Attribute) -> bool {
    match scene.fabric.reading(id, attribute).map(|reading| &reading.state) {
        Some(State::Empty) => true,
        Some(State::Known(Value::List(list))) => list.is_empty(),
        Some(State::Known(value)) => value.to_string().trim().is_empty(),
        _ => false,
    }
}

/// The counters of a thing that are meant and were read twice, each with how it moved.
pub(super) fn moved(
    scene: &Scene<'_>,
    host: &TargetId,
    of: &str,
    is_meant: impl Fn(&str) -> bool,
) -> Vec<(EntityId, Moved)> {
    let first = Entity::Counter { of: of.into(), name: "".into() };
    scene
        .fabric
        .of_kind(host, first)
        .take_while(|entity| matches!(entity, Entity::Counter { of: own, .. } if *own == *of))
        .filter(|entity| matches!(entity, Entity::Counter { name, .. } if is_meant(name)))
        .filter_map(|entity| {
            let id = EntityId::new(host, entity.clone());
            scene.movements.of(&id).map(|moved| (id, moved))
        })
        .collect()
}

/// The label of a counter.
pub(super) fn label(counter: &EntityId) -> String {
    match &counter.entity {
        Entity::Counter { name, .. } => name.to_string(),
        other => other.name(),
    }
}

/// The options of a module, taken apart.
pub(super) fn options(scene: &Scene<'_>, module: &EntityId) -> BTreeMap<String, String> {
    let text = scene.text(module, Attribute::ModuleOptions).unwrap_or_default();
    let parts = text.split_whitespace().filter_map(|part| part.split_once('='));
    parts.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// A number as options write it, `8` and `0x08` alike.
pub(super) fn number(word: &str) -> Option<u64> {
    let word = word.trim();
    match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

/// The priorities of a mask of 8 bits.
pub(super) fn priorities(mask: u64) -> BTreeSet<u64> {
    (0..8).filter(|bit| mask & (1 << bit) != 0).collect()
}

/// The module that drives an uplink.
pub(super) fn driver_of(scene: &Scene<'_>, uplink: &EntityId) -> Option<EntityId> {
    let driver = scene.text(uplink, Attribute::Driver)?;
    Some(EntityId::new(&uplink.target, Entity::Module(driver.into())))
}

/// Sets all options of a module at once: whatever is left out would be wiped.
pub(super) fn set_options(module: &str, options: &str) -> Vec<Step> {
    vec![Step::run(&["esxcli", "system", "module", "parameters", "set", "-m", module, "-p", options])]
}

/// Sets a boot-time setting.
pub(super) fn set_kernel(name: &str, value: &str) -> Vec<Step> {
    vec![Step::run(&["esxcli", "system", "settings", "kernel", "set", "-s", name, "-v", value])]
}

/// What stands behind every remedy that a new start of the host completes.
pub(super) const THEN_REBOOT: &str =
    "takes effect when the host starts anew: move its VMs or shut them down, enter maintenance mode, reboot";

/// A yes or no as boot-time settings write it.
pub(super) fn written(flag: bool) -> &'static str {
    if flag { "TRUE" } else { "FALSE" }
}

/// Values of things that should be alike, against what most of them have: the one that stands for the many, and those that
/// have another. Of two the first stands for both.
pub(super) struct Alike<'v, T> {
    /// The one to compare with.
    pub(super) model: &'v (T, String),
    /// Those with another value.
    pub(super) odd: Vec<&'v (T, String)>,
}

/// Compares; `None` where there are fewer than two.
pub(super) fn alike<T>(held: &[(T, String)]) -> Option<Alike<'_, T>> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, value) in held {
        *counts.entry(value).or_default() += 1;
    }
    let most = counts.values().copied().max().filter(|_| held.len() > 1)?;
    let model = held.iter().find(|(_, value)| counts.get(value.as_str()) == Some(&most))?;
    let odd = held.iter().filter(|(_, value)| *value != model.1).collect();
    Some(Alike { model, odd })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::Site;

    #[test]
    fn the_many_stand_against_the_odd_one() {
        let held = |values: &[&str]| -> Vec<(usize, String)> {
            values.iter().enumerate().map(|(place, value)| (place, (*value).to_owned())).collect()
        };
        let odd = |values: &[&str]| -> Option<Vec<usize>> {
            let held = held(values);
            alike(&held).map(|alike| alike.odd.iter().map(|(place, _)| *place).collect())
        };
        assert_eq!(odd(&["a"]), None);
        assert_eq!(odd(&["a", "a"]), Some(vec![]));
        assert_eq!(odd(&["a", "b"]), Some(vec![1]), "of two the pair is told once");
        assert_eq!(odd(&["b", "a", "a"]), Some(vec![0]));
    }

    #[test]
    fn a_mask_is_the_same_in_both_spellings() {
        assert_eq!((number("8"), number("0x08"), number("x")), (Some(8), Some(8), None));
        assert_eq!(priorities(0x28).into_iter().collect::<Vec<_>>(), [3, 5]);
    }

    #[test]
    fn a_vm_that_is_off_weighs_less() {
        let site = Site::sound().replacing("esx02", "esxi.vm-summary", "\"poweredOn\"", "\"poweredOff\"");
        let joined = site.joined();
        let scene = site.scene(&joined);
        let runs: Vec<bool> = carriers(&scene).iter().map(|carrier| carrier.runs).collect();
        assert_eq!(runs, [true, false]);
        let uplinks: Vec<(String, bool)> =
            rdma_uplinks(&scene).iter().map(|used| (used.id.to_string(), used.runs)).collect();
        assert_eq!(uplinks, [("esx01 uplink vmnic2".to_owned(), true), ("esx02 uplink vmnic2".to_owned(), false)]);
    }
}
