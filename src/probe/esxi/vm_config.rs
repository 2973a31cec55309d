//! What a VM is configured to be: hardware version, memory and its reservation, firmware, hot-add, latency; its snapshots;
//! and its devices. One probe reads it all, since only the configuration says which VM a number is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::each::{self, Item};
use super::reply::{self, Facts};
use super::vim_dump::{self, Node, Object};
use super::{vm_devices, vms};
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text, Value};
use crate::probe::{Listing, Pace, Probe, Read, Rhythm, Source, Word};

const fn of_vms(name: &'static str, argv: &'static [Word]) -> Source {
    Source { name, read: Read::Each { of: Listing::Vms, argv, masked: true, timed: false } }
}

/// Configuration, devices and snapshots of VMs.
pub const PROBE: Probe = Probe {
    name: "esxi.vm-config",
    title: "VMs: virtual hardware, memory reservation, firmware, devices, snapshots",
    privilege_adds: "",
    pace: Pace::Slow,
    rhythm: Rhythm::PACE.deciding(),
    sources: &[
        of_vms("esxi.vm-configs", &[Word::Plain("vim-cmd"), Word::Plain("vmsvc/get.config"), Word::Item("", "")]),
        of_vms(
            "esxi.vm-devices",
            &[Word::Plain("vim-cmd"), Word::Plain("vmsvc/device.getdevices"), Word::Item("", "")],
        ),
        of_vms("esxi.vm-snapshots", &[Word::Plain("vim-cmd"), Word::Plain("vmsvc/snapshot.get"), Word::Item("", "")]),
    ],
    parse,
};

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [configs, devices, snapshots] = observations else { return Vec::new() };
    let mut facts = Vec::new();
    let (config_items, left_out) = each::items(configs);
    let (device_items, _) = each::items(devices);
    let (snapshot_items, _) = each::items(snapshots);
    // All three list the same VMs.
    let mut said = Facts::of(configs);
    reply::say_left_out(&mut said, Attribute::HardwareVersion, left_out);
    facts.extend(said.said);
    let told_devices: BTreeSet<&str> =
        device_items.iter().filter(|devices| devices.status == Some(0)).map(|devices| devices.name).collect();
    let mut known: BTreeMap<&str, Entity> = BTreeMap::new();
    let nodes: Vec<(&Item<'_>, Option<Node<'_>>)> =
        config_items.iter().map(|item| (item, vim_dump::read(item.output, item.first))).collect();
    let uuids = nodes.iter().filter_map(|(_, node)| node.as_ref()?.as_object()?.text("uuid"));
    let shared = vms::Shared::of(uuids);
    for (item, node) in nodes {
        let Some(Node::Object(config)) = &node else {
            let entity = vms::vm(None, item.name);
            let state = reply::trouble_of(item, "vim-cmd")
                .unwrap_or_else(|| State::Failed(Text::new("the configuration of the VM was not understood")));
            facts.push(configs.fact(entity.clone(), Attribute::HardwareVersion, state, 0));
            known.insert(item.name, entity);
            continue;
        };
        let path = config.object("files").and_then(|files| files.text("vmPathName")).and_then(vms::path_of);
        let entity = shared.vm(config.text("uuid"), path.as_deref(), item.name);
        facts.extend(config_facts(configs, &entity, config));
        // The devices stand in the configuration too, should their own command fail.
        if let (false, Some(hardware)) = (told_devices.contains(item.name), config.object("hardware")) {
            facts.extend(vm_devices::facts(configs, &entity, &hardware.objects("device")));
        }
        known.insert(item.name, entity);
    }
    let entity_of = |number: &str| known.get(number).cloned().unwrap_or_else(|| vms::vm(None, number));
    for item in device_items.iter().filter(|item| item.status == Some(0)) {
        let Some(node) = vim_dump::read(item.output, item.first) else { continue };
        let Some(Node::Array(nodes)) =
            vim_dump::find(&node, "device").or(Some(&node)).filter(|node| matches!(node, Node::Array(_)))
        else {
            continue;
        };
        let found: Vec<&Object<'_>> = nodes.iter().filter_map(Node::as_object).collect();
        facts.extend(vm_devices::facts(devices, &entity_of(item.name), &found));
    }
    for item in &snapshot_items {
        let state = reply::trouble_of(item, "vim-cmd").unwrap_or_else(|| State::Known(snapshot_count(item).into()));
        let line = if state.known().is_some() { item.first } else { 0 };
        facts.push(snapshots.fact(entity_of(item.name), Attribute::SnapshotCount, state, line));
    }
    facts
}

/// Snapshots in the tree that `snapshot.get` draws; the depth of one shows in the dashes before its words.
fn snapshot_count(item: &Item<'_>) -> u64 {
    let is_one = |line: &&str| line.trim_start_matches(['-', '|', ' ']).starts_with("Snapshot Name");
    item.output.lines().filter(is_one).count() as u64
}

fn config_facts(observation: &Observation, entity: &Entity, config: &Object<'_>) -> Vec<Fact> {
    let mut facts = Facts::of(observation);
    let mut say = |object: Option<&Object<'_>>, name: &str, attribute, read: fn(&str) -> State<Value>| {
        let Some(object) = object else { return };
        let state = match object.get(name) {
            Some(Node::Scalar(word)) => Some(read(word)),
            Some(Node::Unset | Node::Null) => Some(State::Empty),
            _ => None,
        };
        facts.say(entity, attribute, state, object.line_of(name));
    };
    let hardware = config.object("hardware");
    say(Some(config), "version", Attribute::HardwareVersion, hardware_version);
    say(Some(config), "guestId", Attribute::GuestId, reply::text);
    say(Some(config), "firmware", Attribute::VmFirmware, reply::text);
    say(Some(config), "memoryReservationLockedToMax", Attribute::ReservationLocked, reply::flag);
    say(Some(config), "nestedHVEnabled", Attribute::NestedVirtualization, reply::flag);
    say(Some(config), "cpuHotAddEnabled", Attribute::CpuHotAdd, reply::flag);
    say(Some(config), "memoryHotAddEnabled", Attribute::MemoryHotAdd, reply::flag);
    say(hardware, "memoryMB", Attribute::MemoryTotal, mebibytes);
    say(hardware, "numCPU", Attribute::ProcessorCount, reply::count);
    say(config.object("memoryAllocation"), "reservation", Attribute::MemoryReservation, reply::count);
    say(config.object("cpuAllocation"), "reservation", Attribute::CpuReservation, reply::count);
    say(config.object("latencySensitivity"), "level", Attribute::LatencySensitivity, reply::text);
    say(config.object("bootOptions"), "efiSecureBootEnabled", Attribute::SecureBoot, reply::flag);
    let limit = config.object("memoryAllocation").filter(|memory| memory.text("limit") != Some("-1"));
    say(limit, "limit", Attribute::MemoryLimit, reply::count);
    for option in config.objects("extraConfig") {
        if option.text("key").is_some_and(|key| key.eq_ignore_ascii_case("numa.nodeAffinity")) {
            say(Some(option), "value", Attribute::NumaNode, reply::text);
        }
    }
    facts.said
}

/// 19 for `vmx-19`.
fn hardware_version(word: &str) -> State<Value> {
    match word.strip_prefix("vmx-").and_then(|number| number.parse::<u64>().ok()) {
        Some(number) => State::Known(number.into()),
        None => reply::missing(word).unwrap_or_else(|| reply::not_understood(word)),
    }
}

fn mebibytes(word: &str) -> State<Value> {
    match word.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << 20)) {
        Some(bytes) => State::Known(bytes.into()),
        None => reply::missing(word).unwrap_or_else(|| reply::not_understood(word)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::reply::testing::{item, run, shown, survives_damage, with_carriage_returns};
    use super::super::vms::tests::UUID;
    use super::*;

    /// Keys of the API's `VirtualMachineConfigInfo`; form of published dumps.
    const CONFIG: &str = "Configuration:\n\n(vim.vm.ConfigInfo) {\n   name = \"vm001\",\n   guestId = \"ubuntu64Guest\",\n   \
        version = \"vmx-19\",\n   uuid = \"564da9ac-1cee-5dd7-f1ae-a595f83d2a2d\",\n   firmware = \"efi\",\n   \
        bootOptions = (vim.vm.BootOptions) {\n      efiSecureBootEnabled = false,\n   },\n   \
        hardware = (vim.vm.VirtualHardware) {\n      numCPU = 8,\n      memoryMB = 65536,\n      device = (vim.vm.device.VirtualDevice) [\n         \
        (vim.vm.device.VirtualVmxnet3) {\n            key = 4000,\n         }\n      ],\n   },\n   \
        memoryAllocation = (vim.ResourceAllocationInfo) {\n      reservation = 65536,\n      limit = -1,\n   },\n   \
        memoryReservationLockedToMax = true,\n   nestedHVEnabled = false,\n   cpuHotAddEnabled = false,\n   memoryHotAddEnabled = <unset>,\n   \
        latencySensitivity = (vim.LatencySensitivity) {\n      level = \"high\",\n   },\n   \
        extraConfig = (vim.option.OptionValue) [\n      (vim.option.OptionValue) {\n         key = \"numa.nodeAffinity\",\n         value = \"1\"\n      }\n   ],\n}";

    const SNAPSHOTS: &str = "Get Snapshot:\n|-ROOT\n--Snapshot Name        : one\n--Snapshot Id        : 1\n--|-CHILD\n----Snapshot Name        : two";

    const DEVICES: &str = super::super::vm_devices::tests::DEVICES;

    #[test]
    fn a_configuration_is_read() {
        for change in [str::to_owned, with_carriage_returns] as [fn(&str) -> String; 2] {
            let (configs, devices, snapshots) =
                (change(&item("3", CONFIG, 0)), change(&item("3", DEVICES, 0)), change(&item("3", SNAPSHOTS, 0)));
            let facts = run(&PROBE, &[(&configs, "", 0), (&devices, "", 0), (&snapshots, "", 0)]);
            let vm = Entity::Vm(Text::new(UUID));
            for (attribute, wanted) in [
                (Attribute::HardwareVersion, "19"),
                (Attribute::GuestId, "ubuntu64Guest"),
                (Attribute::VmFirmware, "efi"),
                (Attribute::SecureBoot, "no"),
                (Attribute::MemoryTotal, "68719476736"),
                (Attribute::MemoryReservation, "65536"),
                (Attribute::MemoryLimit, "absent"),
                (Attribute::ReservationLocked, "yes"),
                (Attribute::NestedVirtualization, "no"),
                (Attribute::CpuHotAdd, "no"),
                (Attribute::MemoryHotAdd, "<empty>"),
                (Attribute::LatencySensitivity, "high"),
                (Attribute::NumaNode, "1"),
                (Attribute::SnapshotCount, "2"),
            ] {
                assert_eq!(shown(&facts, &vm, attribute), wanted, "{attribute:?}");
            }
            let adapter = Entity::VmDevice { vm: Text::new(UUID), key: 4001 };
            assert_eq!(shown(&facts, &adapter, Attribute::DeviceKind), "PVRDMA adapter");
        }
    }

    #[test]
    fn clones_with_one_uuid_have_devices_of_their_own() {
        let of = |file: &str| {
            CONFIG.replace(
                "   firmware =",
                &format!("   files = (vim.vm.FileInfo) {{\n      vmPathName = \"[ds] {file}\",\n   }},\n   firmware ="),
            )
        };
        let configs = item("3", &of("a/a.vmx"), 0) + &item("4", &of("b/b.vmx"), 0);
        let devices = item("3", DEVICES, 0) + &item("4", DEVICES, 0);
        let facts = run(&PROBE, &[(&configs, "", 0), (&devices, "", 0), ("", "", 0)]);
        for file in ["a/a.vmx", "b/b.vmx"] {
            let vm = Text::new(&format!("{UUID} /vmfs/volumes/ds/{file}"));
            assert_eq!(shown(&facts, &Entity::Vm(vm.clone()), Attribute::ProcessorCount), "8");
            let adapter = Entity::VmDevice { vm, key: 4001 };
            assert_eq!(shown(&facts, &adapter, Attribute::DeviceKind), "PVRDMA adapter");
        }
    }

    #[test]
    fn devices_come_from_the_configuration_where_their_command_fails() {
        let facts = run(
            &PROBE,
            &[(&item("3", CONFIG, 0), "", 0), (&item("3", "", 1), "", 0), (&item("3", "Get Snapshot:", 0), "", 0)],
        );
        let adapter = Entity::VmDevice { vm: Text::new(UUID), key: 4000 };
        assert_eq!(shown(&facts, &adapter, Attribute::DeviceKind), "vmxnet3 adapter");
        assert_eq!(shown(&facts, &Entity::Vm(Text::new(UUID)), Attribute::SnapshotCount), "0");
    }

    #[test]
    fn a_vm_that_cannot_be_read_says_so() {
        let facts = run(
            &PROBE,
            &[(item("9", "(vmodl.fault.ManagedObjectNotFound)", 1).as_str(), "", 0), ("", "", 0), ("", "", 0)],
        );
        assert!(shown(&facts, &Entity::Vm(Text::new("vmid-9")), Attribute::HardwareVersion).starts_with("<failed"));
    }

    static CONFIGS: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| item("3", CONFIG, 0));
    static ALL_DEVICES: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| item("3", DEVICES, 0));
    static TREES: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| item("3", SNAPSHOTS, 0));
    survives_damage!(PROBE, CONFIGS.as_str(), ALL_DEVICES.as_str(), TREES.as_str());
}
