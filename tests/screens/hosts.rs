//! Two twin hosts that differ in one setting, a VM on the first with a PVRDMA adapter and a GPU, and the guest in it: facts
//! by hand, in the values that probes give.

use std::sync::Arc;

use rdmascope::app::condition::Gravity;
use rdmascope::app::table;
use rdmascope::app::{Effect, Message, Model, host_binding, tree, update};
use rdmascope::fabric::{Attribute as A, Entity, Observation, Report, SourceId, State, TargetId, Text, Value};

use rdmascope::probe::esxi::PROBES;

use super::guest::{at, connected};
use super::{act, shown};

const UUID: &str = "564da9ac-1cee-5dd7-f1ae-a595f83d2a2d";
const VDS: &str = "50 1e 81 57 81 ea ba d3-94 e9 0f 7b c9 1b da 81";
const VMX: &str = "/vmfs/volumes/ds1/hpc-a/hpc-a.vmx";

type Facts = Vec<(Entity, A, Value)>;

fn text(text: &str) -> Value {
    Value::from(text)
}

fn list(names: &[&str]) -> Value {
    Value::List(names.iter().map(|name| Text::new(name)).collect())
}

fn device(key: u32) -> Entity {
    Entity::VmDevice { vm: UUID.into(), key }
}

fn function(address: &str) -> Entity {
    Entity::PciFunction(address.into())
}

pub fn tell(model: &mut Model, target: &str, probe: &str, output: &str, facts: Facts) {
    let states: Vec<(Entity, A, State<Value>)> =
        facts.into_iter().map(|(entity, attribute, value)| (entity, attribute, State::Known(value))).collect();
    tell_all(model, target, probe, output, states);
}

fn tell_states(
    model: &mut Model,
    target: &str,
    probe: &str,
    facts: &[(Entity, A, Value)],
    states: &[(Entity, A, State<Value>)],
) {
    let known = facts.iter().cloned().map(|(entity, attribute, value)| (entity, attribute, State::Known(value)));
    tell_all(model, target, probe, "", known.chain(states.iter().cloned()).collect());
}

fn tell_all(model: &mut Model, target: &str, probe: &str, output: &str, facts: Vec<(Entity, A, State<Value>)>) {
    let mut observation = Observation::of_text(probe, output);
    observation.target = TargetId::new(target);
    observation.at = at(1);
    observation.command = Arc::from(format!("esxcli {probe}"));
    let facts = facts
        .into_iter()
        .zip(1u32..)
        .map(|((entity, attribute, state), line)| observation.fact(entity, attribute, state, line))
        .collect();
    let report = Report {
        target: TargetId::new(target),
        probe: SourceId::new(probe),
        facts,
        observations: vec![Arc::new(observation)],
    };
    update(model, Message::Report { at: at(1), report });
}

fn host_facts(tagged: bool) -> Facts {
    let (uplink, rdma) = (Entity::Uplink("vmnic4".into()), Entity::RdmaDevice("vmrdma0".into()));
    let switch = Entity::VirtualSwitch("dvs-rdma".into());
    let port = Entity::SwitchPort { switch: "dvs-rdma".into(), port: "14".into() };
    let counter = Entity::Counter { of: "vmrdma0".into(), name: "Bytes received".into() };
    let bytes = if tagged { 1_000_000 } else { 5 };
    vec![
        (Entity::Host, A::EsxiVersion, text("7.0.3")),
        (Entity::Host, A::EsxiBuild, text("19482537")),
        (rdma.clone(), A::PortState, text("Active")),
        (rdma.clone(), A::PairedUplink, text("vmnic4")),
        (rdma.clone(), A::Driver, text("nmlx5_rdma")),
        (rdma, A::Mtu, Value::Count(4096)),
        (counter, A::CounterValue, Value::Count(bytes)),
        (uplink.clone(), A::OperationalState, text("Up")),
        (uplink.clone(), A::Driver, text("nmlx5_core")),
        (uplink.clone(), A::DriverVersion, text("4.19.70.1")),
        (uplink.clone(), A::Firmware, text("16.32.1010")),
        (uplink.clone(), A::PciAddress, text("0000:3b:00.0")),
        (uplink, A::HardwareAddress, text(if tagged { "ec:0d:9a:00:00:02" } else { "ec:0d:9a:00:00:03" })),
        (switch.clone(), A::SwitchKind, text("distributed")),
        (switch.clone(), A::SwitchId, text(VDS)),
        (switch, A::Uplinks, list(&["vmnic4"])),
        (port.clone(), A::PortClient, text("hpc-a.eth1")),
        (port, A::VlanId, text("200")),
        (Entity::Vmknic("vmk1".into()), A::Mtu, Value::Count(9000)),
        (Entity::AdvancedSetting("/Net/PVRDMAVmknic".into()), A::SettingValue, text(if tagged { "vmk1" } else { "" })),
        (Entity::Ruleset("pvrdma".into()), A::RulesetEnabled, Value::Flag(true)),
        (Entity::KernelSetting("disableACSCheck".into()), A::SettingValue, text("FALSE")),
        (Entity::KernelSetting("disableACSCheck".into()), A::SettingRuntime, text("FALSE")),
        (Entity::Module("nmlx5_core".into()), A::ModuleOptions, text("max_vfs=0,8 pfctx=8 pfcrx=8")),
        (function("0000:3b:00.0"), A::NumaNode, Value::Count(0)),
        (function("0000:3b:00.0"), A::KernelName, text("vmnic4")),
        (function("0000:af:00.0"), A::DeviceName, text("A100 PCIe 40GB")),
        (function("0000:af:00.0"), A::VendorId, text("10de")),
        (function("0000:af:00.0"), A::DeviceId, text("20f1")),
        (function("0000:af:00.0"), A::CurrentOwner, text("VM Passthru")),
        (function("0000:af:00.0"), A::NumaNode, Value::Count(1)),
        (Entity::Package("nmlx5-core".into()), A::Version, text("4.19.70.1-1OEM")),
    ]
}

fn vm_facts() -> Facts {
    let vm = Entity::Vm(UUID.into());
    vec![
        (vm.clone(), A::VmName, text("hpc-a")),
        (vm.clone(), A::PowerState, text("poweredOn")),
        (vm.clone(), A::HardwareVersion, Value::Count(19)),
        (vm.clone(), A::MemoryReservation, Value::Count(65536)),
        (vm, A::VmxPath, text("[ds1] hpc-a/hpc-a.vmx")),
        (Entity::Vm("vmid-7".into()), A::VmName, text("sim-3")),
        (Entity::Vm("vmid-7".into()), A::PowerState, text("poweredOff")),
        (device(4001), A::DeviceLabel, text("Network adapter 2")),
        (device(4001), A::DeviceKind, text("PVRDMA adapter")),
        (device(4001), A::HardwareAddress, text("00:50:56:80:00:01")),
        (device(4001), A::SwitchId, text(VDS)),
        (device(4001), A::PortId, text("14")),
        (device(13000), A::DeviceLabel, text("PCI device 0")),
        (device(13000), A::DeviceKind, text("passthrough")),
        (device(13000), A::BackingFunction, text("0000:af:00.0")),
    ]
}

/// A VM with PVRDMA that is not `hpc-a`.
pub fn other_vm() -> Facts {
    let vm: Text = "564da9ac-0000-5dd7-f1ae-a595f83d2a2e".into();
    let device = Entity::VmDevice { vm: vm.clone(), key: 4001 };
    vec![
        (Entity::Vm(vm.clone()), A::VmName, text("hpc-b")),
        (Entity::Vm(vm), A::PowerState, text("poweredOn")),
        (device.clone(), A::DeviceKind, text("PVRDMA adapter")),
        (device.clone(), A::HardwareAddress, text("00:50:56:80:00:02")),
        (device.clone(), A::SwitchId, text(VDS)),
        (device, A::PortId, text("14")),
    ]
}

/// esx01 with two VMs, its twin esx02 without the tagged adapter, the guest hpc-a, and a guest of neither.
pub fn twins() -> Model {
    let mut model = connected(&["esx01", "esx02", "hpc-a", "lonely"]);
    tell(&mut model, "esx01", "esxi.test", "one\ntwo\n", host_facts(true));
    tell(&mut model, "esx02", "esxi.test", "one\ntwo\n", host_facts(false));
    tell(&mut model, "esx01", "esxi.vms", "", vm_facts());
    let vmx = format!("@item {VMX}\n.encoding = \"UTF-8\"\nethernet1.virtualDev = \"pvrdma\"\n@status 0\n");
    tell(&mut model, "esx01", "esxi.vmx-files", &vmx, Vec::new());
    let netdev = Entity::Netdev("ens224".into());
    tell(
        &mut model,
        "hpc-a",
        "linux.test",
        "",
        vec![
            (Entity::Guest, A::BiosUuid, text("aca94d56-ee1c-d75d-f1ae-a595f83d2a2d")),
            (Entity::Guest, A::KernelRelease, text("5.15.0-100-generic")),
            (netdev.clone(), A::HardwareAddress, text("00:50:56:80:00:01")),
            (netdev, A::PciAddress, text("0000:1b:00.0")),
            (Entity::RdmaDevice("rocep27s0f1".into()), A::PciAddress, text("0000:1b:00.1")),
            (function("0000:1b:00.1"), A::PairedFunction, text("0000:1b:00.0")),
        ],
    );
    tell(
        &mut model,
        "lonely",
        "linux.test",
        "",
        vec![
            (Entity::Guest, A::BiosUuid, text("11111111-2222-3333-4444-555555555555")),
            (Entity::Guest, A::KernelRelease, text("5.15.0-91-generic")),
        ],
    );
    for host in ["esx01", "esx02"] {
        let read = PROBES.iter().map(|probe| SourceId::new(probe.name));
        model.targets.get_mut(&TargetId::new(host)).expect("a host").read.extend(read);
    }
    update(&mut model, Message::Clock(at(2)));
    model
}

#[test]
fn host_binding_of_one_host() {
    let mut model = twins();
    act(&mut model, &["next-target", "panel-host"]);
    assert_eq!(attention(&model, "esx02"), [""; 0], "no VM of it uses PVRDMA: it is as it was installed");
    let prepared = below(&model, "esx02", "Qualifies for PVRDMA");
    assert!(prepared.iter().any(|row| row.contains("the default, it matters only to VMs with PVRDMA")), "{prepared:?}");
    tell(&mut model, "esx02", "esxi.vms", "", other_vm());
    update(&mut model, Message::Clock(at(10)));
    let screen = shown(&mut model, 80, 24);
    assert!(screen.contains("tagged for PVRDMA"), "{screen}");
    assert!(screen.contains("Differs from other hosts"), "{screen}");
    insta::assert_snapshot!(screen);
    act(&mut model, &["down"]);
    insta::assert_snapshot!("host_binding_with_room", shown(&mut model, 200, 50));
}

#[test]
fn of_twin_hosts_only_the_setting_that_differs_is_shown() {
    let mut model = twins();
    let differing: Vec<String> = host_binding::differences(&model)
        .into_iter()
        .filter(|difference| difference.differs)
        .map(|difference| format!("{} {}", difference.entity, difference.attribute.name()))
        .collect();
    // Neither the counter nor the hardware address of the adapter.
    assert_eq!(differing, ["advanced-setting /Net/PVRDMAVmknic setting-value"]);
    act(&mut model, &["compare-hosts"]);
    insta::assert_snapshot!("hosts_compared_80x24", shown(&mut model, 80, 24));
    act(&mut model, &["show-same"]);
    insta::assert_snapshot!("hosts_compared_all_200x50", shown(&mut model, 200, 50));
    assert!(shown(&mut model, 200, 90).contains("max_vfs=0,8 pfctx=8 pfcrx=8"));
    act(&mut model, &["show-same", "compare-hosts"]);
    assert!(shown(&mut model, 80, 24).contains("Attention") || shown(&mut model, 80, 24).contains("Differs"));
}

#[test]
fn the_version_board_has_the_odd_ones_first() {
    let mut model = twins();
    let mut other = host_facts(true);
    other.retain(|(entity, ..)| !matches!(entity, Entity::Package(_)));
    for (_, attribute, value) in &mut other {
        if *attribute == A::Firmware {
            *value = text("16.35.2000");
        }
    }
    tell(&mut model, "esx02", "esxi.test", "", other);
    act(&mut model, &["versions"]);
    let screen = shown(&mut model, 120, 40);
    assert!(screen.contains("16.35.2000 on esx02 vmnic4"), "{screen}");
    assert!(screen.contains("not installed on esx02"), "{screen}");
    insta::assert_snapshot!("version_board_80x24", shown(&mut model, 80, 24));
    insta::assert_snapshot!("version_board_200x50", shown(&mut model, 200, 50));
}

#[test]
fn vm_devices_lead_to_the_wire() {
    let mut model = twins();
    act(&mut model, &["next-target", "next-target", "panel-vm"]);
    let screen = shown(&mut model, 200, 50);
    assert!(screen.contains("all VMs of this uplink"), "{screen}");
    insta::assert_snapshot!("vm_devices_200x50", screen);
    insta::assert_snapshot!("vm_devices_80x24", shown(&mut model, 80, 24));
}

#[test]
fn every_cell_of_the_new_panels_that_was_read_has_evidence_and_the_vmx_its_line() {
    let mut model = twins();
    for panel in ["panel-host", "panel-vm"] {
        act(&mut model, &[panel]);
        if panel == "panel-vm" {
            act(&mut model, &["next-target", "next-target", "panel-vm"]);
        }
        let rows = table::rows(&model).expect("a panel of rows");
        assert!(rows.iter().filter(|row| !row.is_section()).count() > 10, "{panel}");
        for row in rows.iter().filter(|row| !row.is_section()) {
            // Of what does not apply, or was not read, nothing can be shown.
            let is_open = |cell: &table::Cell| matches!(cell.gravity, Gravity::Unknown | Gravity::Neutral);
            let qualifies = matches!(&row.key, table::RowKey::Entity(_, word) if word.starts_with("qualify-"));
            let is_shown = |cell: &table::Cell| cell.source.is_some() || (qualifies && is_open(cell));
            assert!(row.cells.iter().all(is_shown), "{panel}: {row:?}");
        }
        act(&mut model, &["down", "bottom"]);
        if panel == "panel-vm" {
            act(&mut model, &["up", "up"]); // over the counters
        }
        act(&mut model, &["evidence"]);
        let evidence = model.screen.evidence().cloned().expect("evidence");
        assert!(evidence.observation.is_some(), "{panel}");
        if panel == "panel-vm" {
            assert_eq!((evidence.reference.source.as_str(), evidence.line), ("esxi.vmx-files", 3));
            assert!(evidence.lines()[2].1.contains("ethernet1.virtualDev"));
        }
        act(&mut model, &["close"]);
    }
}

#[test]
fn guests_stand_below_their_hosts_in_the_place_of_their_vms() {
    let mut model = twins();
    let labels = |model: &Model| -> Vec<String> {
        tree::rows(model)
            .into_iter()
            .map(|row| format!("{}{}", "  ".repeat(usize::from(row.depth)), row.label))
            .collect()
    };
    let all = ["esx01", "  hpc-a", "    ens224", "  sim-3", "  vmrdma0", "esx02", "  vmrdma0", "lonely"];
    assert_eq!(labels(&model), all);
    act(&mut model, &["fold"]);
    assert_eq!(labels(&model), ["esx01", "esx02", "  vmrdma0", "lonely"]);
    // Going to a guest below a folded host shows it.
    act(&mut model, &["next-target", "next-target"]);
    assert_eq!(model.selected_target().map(TargetId::as_str), Some("hpc-a"));
    assert_eq!(labels(&model), all);
    // A VM without a guest can be selected too, and its panel is that of this VM.
    act(&mut model, &["down", "down", "panel-vm"]);
    let screen = shown(&mut model, 80, 24);
    assert!(screen.contains("VM sim-3"), "{screen}");
    insta::assert_snapshot!("tree_with_vms_80x24", screen);
}

/// The rows of a host under `Attention`, as text.
fn attention(model: &Model, host: &str) -> Vec<String> {
    below(model, host, "Attention")
}

/// The rows of a host under a heading, as text.
fn below(model: &Model, host: &str, heading: &str) -> Vec<String> {
    let rows = host_binding::of_host(model, &TargetId::new(host));
    let begin = rows.iter().position(|row| row.is_section() && row.label == heading);
    let rows = begin.map_or(&[][..], |begin| &rows[begin + 1..]);
    rows.iter().take_while(|row| !row.is_section()).map(said).collect()
}

fn said(row: &table::Row) -> String {
    let cells: Vec<&str> = row.cells.iter().map(|cell| cell.text.as_str()).collect();
    format!("{}: {}", row.label, cells.join(" | "))
}

#[test]
fn an_rdma_port_that_is_down_calls_for_attention_only_if_something_uses_it() {
    let second = Entity::RdmaDevice("vmrdma1".into());
    let down = || {
        vec![
            (second.clone(), A::PortState, Value::from(rdmascope::fabric::PortState::from_word("Down"))),
            (second.clone(), A::PairedUplink, text("vmnic5")),
        ]
    };
    let is_told = |more: Facts, states: &[(Entity, A, State<Value>)]| {
        let mut model = twins();
        tell_states(&mut model, "esx01", "esxi.test-second", &[down(), more].concat(), states);
        let attention = attention(&model, "esx01").iter().any(|row| row.starts_with("vmrdma1: "));
        let grave =
            tree::rows(&model).iter().any(|row| row.label == "vmrdma1" && row.condition.gravity >= Gravity::Warning);
        assert_eq!(attention, grave, "tree and panel agree");
        attention
    };
    let no_adapter = (second.clone(), A::RdmaVmknics, State::Empty);
    assert!(!is_told(vec![], std::slice::from_ref(&no_adapter)), "nothing uses it");
    // Its uplink is in a switch, a VMkernel adapter is bound to it, a virtual function of it is passed on.
    let switch = Entity::VirtualSwitch("vSwitch7".into());
    assert!(is_told(vec![(switch, A::Uplinks, list(&["vmnic5"]))], std::slice::from_ref(&no_adapter)));
    assert!(is_told(vec![(second.clone(), A::RdmaVmknics, list(&["vmk2"]))], &[]));
    let function = Entity::VirtualFunction { uplink: "vmnic5".into(), index: 0 };
    assert!(is_told(vec![(function, A::VirtualFunctionActive, Value::Flag(true))], std::slice::from_ref(&no_adapter)));
    // What could not be read proves nothing.
    assert!(is_told(vec![], &[]), "the list of adapters was not read");
    let unread = (Entity::Host, A::SwitchKind, State::Failed("Connect to localhost failed".into()));
    assert!(is_told(vec![], &[no_adapter, unread]), "a list of switches was not read");
}

#[test]
fn what_a_host_is_installed_with_calls_for_nobody_where_no_vm_uses_pvrdma() {
    let closed = (Entity::Ruleset("pvrdma".into()), A::RulesetEnabled, Value::Flag(false));
    let mut model = twins();
    tell(&mut model, "esx02", "esxi.test-firewall", "", vec![closed]);
    update(&mut model, Message::Clock(at(10)));
    assert_eq!(attention(&model, "esx02"), [""; 0]);
    let rows = below(&model, "esx02", "Qualifies for PVRDMA");
    let ordinary = "ruleset: ruleset pvrdma is closed: the default, it matters only to VMs with PVRDMA".to_owned();
    assert!(rows.contains(&ordinary), "{rows:?}");
    tell(&mut model, "esx02", "esxi.vms", "", other_vm());
    update(&mut model, Message::Clock(at(20)));
    let told = attention(&model, "esx02");
    assert!(told.iter().any(|row| row.contains("Net.PVRDMAVmknic is empty")), "{told:?}");
    assert!(told.iter().any(|row| row.contains("ruleset pvrdma") && row.contains("closed")), "{told:?}");
}

#[test]
fn only_what_waits_for_a_reboot_is_said_to_wait() {
    let setting = |name: &str, configured: Value, runtime: Value, default: Value| {
        let setting = || Entity::KernelSetting(name.into());
        vec![
            (setting(), A::SettingValue, configured),
            (setting(), A::SettingRuntime, runtime),
            (setting(), A::SettingDefault, default),
        ]
    };
    let owners = |configured: &str, current: &str| {
        let nic = || function("0000:18:00.1");
        vec![
            (nic(), A::KernelName, text("vmnic1")),
            (nic(), A::ConfiguredOwner, text(configured)),
            (nic(), A::CurrentOwner, text(current)),
        ]
    };
    let told = |facts: Facts| {
        let mut model = twins();
        tell(&mut model, "esx01", "esxi.test-pending", "", facts);
        attention(&model, "esx01")
    };
    assert_eq!(told(setting("logPort", text("default"), text("none"), text("default"))), [""; 0]);
    assert_eq!(told(setting("maxVmnics", Value::Count(0), Value::Count(128), Value::Count(0))), [""; 0]);
    assert_eq!(told(owners("Unknown", "VMkernel")), [""; 0]);
    for waits in [
        setting("logPort", text("com1"), text("none"), text("default")),
        setting("noIOMMU", Value::Flag(false), Value::Flag(true), Value::Flag(false)),
        owners("VM Passthru", "VMkernel"),
    ] {
        let told = told(waits);
        assert!(told.len() == 1 && told[0].contains("waits for a reboot"), "{told:?}");
    }
}

#[test]
fn what_a_driver_does_not_publish_is_no_difference_and_not_available_is_one() {
    let uplink = || Entity::Uplink("vmnic4".into());
    let published = |attribute, value: Value| (uplink(), attribute, value);
    let mut model = twins();
    tell(
        &mut model,
        "esx01",
        "esxi.test-dcb",
        "",
        vec![
            published(A::PfcEnabled, Value::Flag(true)),
            (function("0000:3b:00.0"), A::ConfiguredOwner, text("VMkernel")),
            (function("0000:3b:00.0"), A::PhysicalSlot, text("3")),
        ],
    );
    let missing = [
        (uplink(), A::PfcEnabled, State::NotPublished("the driver of vmnic4".into())),
        (Entity::Host, A::EsxiRelease, State::NotPublished("the list of releases".into())),
        (function("0000:3b:00.0"), A::ConfiguredOwner, State::Known(text("Unknown"))),
        (function("0000:3b:00.0"), A::PhysicalSlot, State::NotAvailable),
    ];
    tell(&mut model, "esx01", "esxi.test-release", "", vec![(Entity::Host, A::EsxiRelease, text("7.0 U3d"))]);
    tell_states(&mut model, "esx02", "esxi.test-dcb", &[], &missing);
    let differing: Vec<&str> = host_binding::differences(&model)
        .into_iter()
        .filter(|difference| difference.differs)
        .map(|difference| difference.attribute.name())
        .collect();
    assert_eq!(differing, ["setting-value", "physical-slot"]);
    act(&mut model, &["next-target", "panel-host", "compare-hosts", "show-same"]);
    let screen = shown(&mut model, 200, 90);
    for words in ["not published by the driver of vmnic4", "not published by the list of releases", "not available"] {
        assert!(screen.contains(words), "{words}: {screen}");
    }
}

#[test]
fn a_host_that_is_read_for_the_first_time_is_judged_by_nothing_that_was_not_read() {
    let mut model = twins();
    let second = Entity::RdmaDevice("vmrdma1".into());
    let down = Value::from(rdmascope::fabric::PortState::from_word("Down"));
    model.targets.get_mut(&TargetId::new("esx01")).expect("a host").read.remove(&SourceId::new("esxi.vswitches"));
    tell(&mut model, "esx01", "esxi.test-second", "", vec![(second, A::PortState, down)]);
    assert_eq!(attention(&model, "esx01"), [""; 0]);
    let all = PROBES.len();
    let esx01 = tree::rows(&model).remove(0);
    assert_eq!(esx01.condition.word, format!("reading {} of {all}", all - 1));
    act(&mut model, &["compare-hosts"]);
    let screen = shown(&mut model, 120, 40);
    assert!(screen.contains("so far the 2 hosts differ") && screen.contains("still reading: esx01"), "{screen}");
    tell(&mut model, "esx01", "esxi.vswitches", "", Vec::new());
    assert!(attention(&model, "esx01").iter().any(|row| row.starts_with("vmrdma1: ")));
}

#[test]
fn an_adapter_alone_in_its_vlan_is_told_on_both_sides() {
    let mut model = twins();
    tell(&mut model, "esx02", "esxi.vms", "", other_vm());
    let alone = |model: &Model, host| attention(model, host).into_iter().any(|row| row.contains("is alone in VLAN"));
    assert!(!alone(&model, "esx01") && !alone(&model, "esx02"), "both are in VLAN 200");
    let mut other = host_facts(false);
    for (entity, attribute, value) in &mut other {
        if matches!(entity, Entity::SwitchPort { .. }) && *attribute == A::VlanId {
            *value = text("300");
        }
    }
    tell(&mut model, "esx02", "esxi.test", "", other);
    assert!(alone(&model, "esx01") && alone(&model, "esx02"));
    act(&mut model, &["next-target", "next-target", "panel-vm"]);
    assert!(shown(&mut model, 120, 40).contains("hpc-a is alone in VLAN 200"));
}

#[test]
fn a_guest_whose_host_is_not_known_shows_no_host() {
    let mut model = twins();
    act(&mut model, &["next-target", "next-target", "next-target", "panel-host"]);
    let screen = shown(&mut model, 80, 24);
    assert!(screen.contains("lonely: its host is not known") && !screen.contains("Qualifies"), "{screen}");
    // Of a guest whose host is known that host is shown, and read.
    act(&mut model, &["previous-target"]);
    assert!(shown(&mut model, 80, 24).contains("Qualifies for PVRDMA"));
    let effects = update(&mut model, Message::Action("read-now".into()));
    assert_eq!(effects, [Effect::ReadNow(TargetId::new("esx01"))]);
}

#[test]
fn what_the_agent_refuses_to_tell_of_a_vm_is_said_with_its_reason() {
    let mut model = twins();
    act(&mut model, &["next-target", "next-target", "panel-vm"]);
    assert!(!shown(&mut model, 80, 24).contains("Not read"));
    let failed = State::Failed("hostd does not answer: Connect to localhost failed".into());
    tell_states(&mut model, "esx01", "esxi.test-vms", &[], &[(Entity::Host, A::VmNumber, failed)]);
    let screen = shown(&mut model, 120, 40);
    assert!(screen.contains("Not read") && screen.contains("hostd does not answer"), "{screen}");
}
