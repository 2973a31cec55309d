//! What goes wrong with a host of the lab as a user sees it: what `snapshot --scenario` prints as JSON and how it ends, and
//! what the panels *Host binding* and *VM devices* show. What is expected is written by hand: it is what such a host says,
//! whatever a scenario claims.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use rdmascope::app::condition::Gravity;
use rdmascope::app::model::{Options, Target, TargetKind};
use rdmascope::app::table::Row;
use rdmascope::app::{Connection, Message, Model, host_binding, update, vm_devices};
use rdmascope::engine::once::{Collected, Once, collect_once};
use rdmascope::engine::plan;
use rdmascope::fabric::{Attribute, Observation, TargetId, Text, Timestamp};
use rdmascope::lab::{self, Delays, Lab, Timing};
use serde_json::Value as Json;

const HOSTS: [&str; 2] = ["esx01", "esx02"];

/// Runs the program without anything of whoever runs the tests; its status and what it printed.
fn snapshot(scenario: &str) -> (i32, Json) {
    let temporary = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rdmascope"));
    command.args(["snapshot", "--format", "json", "--scenario", scenario]);
    command.env_clear().env("TMPDIR", temporary.path()).env("LANG", "C.UTF-8").stdin(Stdio::null());
    let Output { status, stdout, stderr } = command.output().expect("the program runs");
    assert_eq!(String::from_utf8_lossy(&stderr), "", "{scenario}");
    assert_eq!(entries(temporary.path()), 0, "nothing is left of the lab");
    (status.code().expect("an exit status"), serde_json::from_slice(&stdout).expect("a JSON document"))
}

fn entries(folder: &Path) -> usize {
    std::fs::read_dir(folder).expect("a folder").count()
}

static HEALTHY: LazyLock<(i32, Json)> = LazyLock::new(|| snapshot("with-hosts"));

fn target<'a>(document: &'a Json, name: &str) -> &'a Json {
    let targets = document["targets"].as_array().expect("a list");
    targets.iter().find(|target| target["name"] == name).expect("a target")
}

/// The value of an entity of a host as it is printed, or the name of its state, or `absent`.
fn value(document: &Json, host: &str, entity: &str, attribute: &str) -> String {
    let reading = &target(document, host)["facts"][entity][attribute];
    match (reading["state"].as_str(), &reading["value"]) {
        (None, _) => "absent".to_owned(),
        (Some("known"), Json::String(text)) => text.clone(),
        (Some("known"), Json::Array(list)) => {
            list.iter().map(|item| item.as_str().expect("text")).collect::<Vec<_>>().join(", ")
        }
        (Some("known"), value) => value.to_string(),
        (Some(state), _) => format!("<{state}>"),
    }
}

/// One thing that a fault shows: an entity of the first and of the second host, an attribute, what a healthy host says of
/// it, what one with the fault says.
type Shown<'a> = ([&'a str; 2], &'a str, &'a str, &'a str);

fn both(entity: &str) -> [&str; 2] {
    [entity, entity]
}

/// Exactly one host shows all of this, and its twin what a healthy one shows; in a healthy lab both do.
fn shows(scenario: &str, shown: &[Shown<'_>]) -> Json {
    let (healthy_status, healthy) = &*HEALTHY;
    assert_eq!(*healthy_status, 0);
    let (status, document) = snapshot(scenario);
    assert_eq!(status, 0, "{scenario}");
    let says = |document: &Json, place: usize, faulty: bool| -> Vec<String> {
        let mut other = Vec::new();
        for (entities, attribute, sound, ill) in shown {
            let expected = if faulty { ill } else { sound };
            let said = value(document, HOSTS[place], entities[place], attribute);
            if said != *expected {
                other.push(format!("{} {attribute}: {said}, not {expected}", entities[place]));
            }
        }
        other
    };
    for (place, host) in HOSTS.iter().enumerate() {
        assert_eq!(says(healthy, place, false), Vec::<String>::new(), "{host} is sound without it");
    }
    let ill: Vec<usize> = (0..2).filter(|&place| says(&document, place, true).is_empty()).collect();
    assert_eq!(ill.len(), 1, "{scenario}: {:?} and {:?}", says(&document, 0, true), says(&document, 1, true));
    assert_eq!(says(&document, 1 - ill[0], false), Vec::<String>::new(), "{scenario}: its twin is sound");
    document
}

#[test]
fn no_adapter_is_tagged_for_pvrdma() {
    shows("vmknic-untagged", &[(both("advanced-setting//Net/PVRDMAVmknic"), "setting-value", "vmk1", "<empty>")]);
}

#[test]
fn the_ruleset_of_pvrdma_is_closed() {
    shows("ruleset-closed", &[(both("ruleset/pvrdma"), "ruleset-enabled", "true", "false")]);
}

#[test]
fn the_switch_has_two_uplinks() {
    shows(
        "two-uplinks",
        &[
            (both("virtual-switch/dvs-rdma"), "uplinks", "vmnic2", "vmnic2, vmnic3"),
            (both("uplink/vmnic3"), "carrier", "false", "true"),
            (both("switch-port/dvs-rdma/1"), "port-client", "absent", "vmnic3"),
            (both("rdma-device/vmrdma1"), "port-state", "DOWN", "ACTIVE"),
        ],
    );
}

#[test]
fn the_adapter_is_in_passthrough() {
    let function = both("pci-function/0000:5e:00.0");
    shows(
        "hca-passthrough",
        &[
            (function, "current-owner", "VMkernel", "VM Passthru"),
            (function, "configured-owner", "VMkernel", "VM Passthru"),
            (function, "passthrough-enabled", "false", "true"),
            (function, "driver", "nmlx5_core", "pciPassthru"),
            (both("host"), "uplinks", "vmnic0, vmnic1, vmnic2, vmnic3", "vmnic0, vmnic1"),
            (
                both("host"),
                "rdma-presence",
                "2 devices",
                "no RDMA device: no driver that speaks RoCE is bound to an adapter",
            ),
            (both("rdma-device/vmrdma0"), "port-state", "ACTIVE", "absent"),
            (both("virtual-switch/dvs-rdma"), "uplinks", "vmnic2", "<empty>"),
        ],
    );
}

#[test]
fn the_ports_of_two_guests_are_in_different_vlans() {
    let document =
        shows("vlan-mismatch", &[(["switch-port/dvs-rdma/16", "switch-port/dvs-rdma/17"], "vlan-id", "100", "200")]);
    for host in HOSTS {
        assert_eq!(value(&document, host, "rdma-device/vmrdma0", "port-state"), "ACTIVE", "{host}: no state tells");
    }
}

#[test]
fn dcb_is_in_cee_mode() {
    shows(
        "dcb-cee",
        &[
            (both("uplink/vmnic2"), "dcb-mode", "IEEE Mode", "CEE Mode"),
            (both("uplink/vmnic2"), "pfc-enabled", "true", "false"),
            (both("uplink/vmnic2"), "pfc-priorities", "3", "<empty>"),
        ],
    );
}

#[test]
fn the_firmware_is_an_older_one() {
    shows("firmware-differs", &[(both("uplink/vmnic2"), "firmware", "20.35.1012", "20.33.1048")]);
}

#[test]
fn a_parameter_is_not_set() {
    shows(
        "parameter-differs",
        &[
            (both("module/nmlx5_rdma"), "module-options", "pcp_force=3 dscp_force=26", "pcp_force=3"),
            (both("module-parameter/nmlx5_rdma/dscp_force"), "parameter-value", "26", "<empty>"),
        ],
    );
}

#[test]
fn a_reboot_is_pending() {
    shows(
        "reboot-pending",
        &[
            (
                both("host"),
                "reboot-pending",
                "<empty>",
                "0000:5e:00.1: owner VM Passthru configured, VMkernel now (or its record is stale), \
                 kernel setting disableACSCheck: TRUE configured, FALSE now",
            ),
            (both("kernel-setting/disableACSCheck"), "setting-value", "false", "true"),
            (both("kernel-setting/disableACSCheck"), "setting-runtime", "false", "false"),
            (both("pci-function/0000:5e:00.1"), "configured-owner", "VMkernel", "VM Passthru"),
            (both("pci-function/0000:5e:00.1"), "current-owner", "VMkernel", "VMkernel"),
        ],
    );
}

/// The VMs of a host that run, by name.
fn running(document: &Json, host: &str) -> Vec<String> {
    let facts = target(document, host)["facts"].as_object().expect("facts");
    let vms = facts.iter().filter(|(entity, vm)| {
        entity.starts_with("vm/") && vm["power-state"]["value"] == "poweredOn" && vm["world-id"]["state"] == "known"
    });
    let mut names: Vec<String> =
        vms.map(|(_, vm)| vm["vm-name"]["value"].as_str().expect("a name").to_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_vm_with_pvrdma_is_on_a_host_without_rdma() {
    let healthy = &HEALTHY.1;
    assert_eq!(HOSTS.map(|host| running(healthy, host)), [vec!["gpu-a", "pv-a"], vec!["pv-b"]]);
    let (status, document) = snapshot("vm-moved");
    assert_eq!(status, 0);
    let with_both: Vec<&str> = HOSTS
        .into_iter()
        .filter(|host| ["pv-a", "pv-b"].iter().all(|name| running(&document, host).iter().any(|vm| vm == name)))
        .collect();
    let [host] = with_both[..] else { panic!("{with_both:?}") };
    let other = if host == HOSTS[0] { HOSTS[1] } else { HOSTS[0] };
    assert!(!running(&document, other).iter().any(|name| name.starts_with("pv-")), "no VM is in two places");
    let presence = value(&document, host, "host", "rdma-presence");
    assert_eq!(presence, "no RDMA device: no driver that speaks RoCE is bound to an adapter");
    assert_eq!(value(&document, host, "module/nmlx5_rdma", "module-loaded"), "false");
    assert_eq!(value(&document, other, "host", "rdma-presence"), "2 devices");
    assert_eq!(value(healthy, host, "module/nmlx5_rdma", "module-loaded"), "true");
}

#[test]
fn a_dead_agent_is_read_around_and_told() {
    let tool = |document: &Json, host: &str| value(document, host, "host", "command-line-tool");
    assert!(HOSTS.iter().all(|host| tool(&HEALTHY.1, host).starts_with("esxcli: it answers in ")));
    let (status, document) = snapshot("hostd-dead");
    assert_eq!(status, 3, "not everything could be read");
    let dead: Vec<&str> =
        HOSTS.into_iter().filter(|host| tool(&document, host).starts_with("localcli: esxcli failed")).collect();
    let [host] = dead[..] else { panic!("{dead:?}") };
    assert!(tool(&document, host).contains("hostd may be dead or hang"), "{}", tool(&document, host));
    let number = &target(&document, host)["facts"]["host"]["vm-number"];
    let why = number["why"].as_str().expect("a reason");
    assert!(why.contains("hostd does not answer: Connect to localhost failed: Connection failure"), "{why}");
    assert_eq!(value(&HEALTHY.1, host, "host", "vm-number"), "absent");
    assert_eq!(value(&document, host, "rdma-device/vmrdma0", "port-state"), "ACTIVE", "localcli says the rest");
}

/// The problem of the one host that cannot be reached; all other targets can.
fn unreached(scenario: &str) -> BTreeMap<String, String> {
    assert!(HEALTHY.1["targets"].as_array().expect("a list").iter().all(|target| target["reachable"] == true));
    let (status, document) = snapshot(scenario);
    assert_eq!(status, 3, "{scenario}");
    let targets = document["targets"].as_array().expect("a list");
    let away: Vec<&Json> = targets.iter().filter(|target| target["reachable"] == false).collect();
    let [target] = away[..] else { panic!("{scenario}: {} targets are away", away.len()) };
    assert!(HOSTS.iter().any(|host| target["name"] == *host), "{}", target["name"]);
    let problem = target["problem"].as_object().expect("a problem");
    problem.iter().map(|(key, text)| (key.clone(), text.as_str().expect("text").to_owned())).collect()
}

#[test]
fn a_stopped_service_is_told() {
    let problem = unreached("ssh-stopped");
    assert!(problem["what"].contains("connection refused"), "{problem:?}");
    assert!(problem["cause"].contains("no SSH server listens"), "{problem:?}");
    assert!(problem["next_step"].contains("TSM-SSH"), "{problem:?}");
}

#[test]
fn a_locked_account_is_told_as_what_it_may_be() {
    let problem = unreached("account-locked");
    assert!(
        problem["what"].contains("login refused: the password that /bin/cat printed was not accepted"),
        "{problem:?}"
    );
    assert!(
        problem["cause"].contains("an ESXi host answers a locked login exactly as a wrong password"),
        "{problem:?}"
    );
    assert!(problem["cause"].contains("15 min"), "{problem:?}");
    assert!(problem["next_step"].contains("wait until the lock is over"), "{problem:?}");
}

/// A console on both hosts after everything was read once.
fn console(lab: &Lab) -> Model {
    let names = [HOSTS[0], HOSTS[1], "pv-a", "pv-b"];
    let at = Timestamp::now();
    let targets = names.iter().map(|name| (TargetId::new(name), Target::new(TargetKind::Unknown))).collect();
    let mut model = Model::new(targets, Options::default(), at);
    let plans = names.iter().map(|name| lab.plan(name).expect("a machine")).collect();
    let Once::Collected(collected) = collect_once(plans, &plan::Options::default()).expect("threads") else {
        panic!("nobody interrupts it");
    };
    for Collected { target, reached, reports, .. } in collected {
        let via: Text = reached.expect("it is reached");
        // The lab's VMs have secrets in values of one line and of several.
        let keeps = |observation: &Observation| format!("{observation:?}").contains("not-a-real-secret");
        assert!(!reports.iter().flat_map(|report| &report.observations).any(|observation| keeps(observation)));
        let connection = Connection::Connected { since: at, via };
        update(&mut model, Message::Connection { target, at, connection });
        for report in reports {
            update(&mut model, Message::Report { at, report });
        }
    }
    // The checks run some seconds after what was read last.
    update(&mut model, Message::Clock(at + jiff::SignedDuration::from_secs(10)));
    model
}

/// The rows below this heading, each as one line.
fn below(rows: &[Row], heading: &str) -> Vec<String> {
    let begin = rows.iter().position(|row| row.is_section() && row.label.ends_with(heading));
    let rows = begin.map_or(&[][..], |begin| &rows[begin + 1..]);
    rows.iter().take_while(|row| !row.is_section()).map(said).collect()
}

fn said(row: &Row) -> String {
    let cells: Vec<&str> = row.cells.iter().map(|cell| cell.text.as_str()).collect();
    format!("{}: {}", row.label, cells.join(" | "))
}

fn started() -> Lab {
    let scenario = Some(lab::scenario::by_name("with-hosts").expect("it is there"));
    Lab::start(&lab::Options { seed: 7, delays: Delays::none(), scenario, timing: Timing::AtOnce }).expect("a lab")
}

/// Faults of the second host, the heading of *Host binding* of that host, and a row below it of which all these texts are
/// part with the fault, and not without.
const ON_THE_PANEL: &[(&str, &str, &[&str])] = &[
    (
        "vmknic-untagged",
        "Attention",
        &["Net.PVRDMAVmknic", "no VMkernel adapter is tagged", "Net.PVRDMAVmknic is empty"],
    ),
    ("ruleset-closed", "Attention", &["ruleset pvrdma", "closed"]),
    ("two-uplinks", "Attention", &["dvs-rdma", "vmnic2, vmnic3", "without teaming only"]),
    ("hca-passthrough", "PCI functions", &["0000:5e:00.0", "VM Passthru"]),
    ("hca-passthrough", "This host", &["no RDMA device"]),
    ("hca-passthrough", "Attention", &["esx02 has no RDMA device"]),
    ("hca-passthrough", "Attention", &["dvs-rdma", "has no uplink"]),
    ("vlan-mismatch", "Switch ports", &["dvs-rdma/17", "VLAN 200"]),
    ("vlan-mismatch", "Attention", &["pv-b is alone in VLAN 200", "pv-a on esx01 in VLAN 100"]),
    ("dcb-cee", "Attention", &["vmnic2", "CEE Mode"]),
    ("firmware-differs", "Differs from other hosts", &["20.33.1048", "20.35.1012"]),
    ("parameter-differs", "Differs from other hosts", &["nmlx5_rdma", "pcp_force=3 dscp_force=26"]),
    ("reboot-pending", "Attention", &["waits for a reboot", "disableACSCheck"]),
    ("hostd-dead", "Attention", &["localcli", "hostd"]),
];

#[test]
fn the_panel_of_a_host_shows_each_fault_and_nothing_of_a_healthy_one() {
    let lab = started();
    let victim = TargetId::new(HOSTS[1]);
    let has = |model: &Model, heading: &str, texts: &[&str]| {
        let rows = below(&host_binding::of_host(model, &victim), heading);
        (rows.iter().any(|row| texts.iter().all(|text| row.contains(text))), rows)
    };
    let healthy = console(&lab);
    for (fault, heading, texts) in ON_THE_PANEL {
        let (shown, rows) = has(&healthy, heading, texts);
        assert!(!shown, "{fault} is not there yet: {rows:#?}");
    }
    for host in HOSTS {
        let attention = below(&host_binding::of_host(&healthy, &TargetId::new(host)), "Attention");
        assert_eq!(attention, Vec::<String>::new(), "a healthy host needs none: {host}");
        assert!(healthy.targets[&TargetId::new(host)].findings.is_empty(), "{host}");
    }
    let mut faults: Vec<&str> = ON_THE_PANEL.iter().map(|(fault, ..)| *fault).collect();
    faults.dedup();
    for fault in faults {
        assert!(lab.suffer(fault, HOSTS[1], true), "{fault}");
        let model = console(&lab);
        assert!(lab.suffer(fault, HOSTS[1], false), "{fault}");
        for (_, heading, texts) in ON_THE_PANEL.iter().filter(|(other, ..)| *other == fault) {
            let (shown, rows) = has(&model, heading, texts);
            assert!(shown, "{fault}, {texts:?} below {heading}: {rows:#?}");
            let told = model.events.iter().any(|event| event.text.starts_with("attention: "));
            assert_eq!(told, !model.targets[&victim].findings.is_empty(), "{fault}");
            assert!(told || *heading != "Attention", "{fault}");
        }
    }
}

#[test]
fn the_panel_of_vm_devices_shows_where_the_way_of_a_moved_vm_ends() {
    let lab = started();
    // The first host is selected: its VMs are shown.
    let ways = |model: &Model| below(&vm_devices::rows(model), "pv-b: Devices and their way to the wire");
    let healthy = console(&lab);
    assert_eq!(healthy.selected_target(), Some(&TargetId::new(HOSTS[0])));
    assert_eq!(ways(&healthy), Vec::<String>::new(), "it is on the other host");
    let own = below(&vm_devices::rows(&healthy), "pv-a: Devices and their way to the wire");
    assert!(own.iter().any(|row| row.contains("vmrdma0")), "{own:#?}");
    assert!(lab.suffer("vm-moved", HOSTS[1], true));
    let model = console(&lab);
    let ways = ways(&model);
    assert!(ways.iter().any(|row| row.contains("PVRDMA adapter")), "{ways:#?}");
    assert!(!ways.iter().any(|row| row.contains("vmrdma0")), "{ways:#?}");
    let rows = host_binding::of_host(&model, &TargetId::new(HOSTS[0]));
    let attention = below(&rows, "Attention");
    assert!(
        attention.iter().any(|row| ["has no RDMA device", "pv-a", "pv-b"].iter().all(|text| row.contains(text))),
        "{attention:#?}"
    );
    let host = below(&rows, "This host");
    assert!(host.iter().any(|row| row.contains("no RDMA device")), "{host:#?}");
    let presence = model.fabric.text(
        &rdmascope::fabric::EntityId::new(&TargetId::new(HOSTS[0]), rdmascope::fabric::Entity::Host),
        Attribute::RdmaPresence,
    );
    assert!(presence.is_some_and(|text| text.starts_with("no RDMA device")), "{presence:?}");
    // An unused second port of a healthy host is told, and calls for nobody.
    let rows = host_binding::of_host(&healthy, &TargetId::new(HOSTS[0]));
    let second = rows.iter().find(|row| row.label.contains("vmrdma1") && said(row).contains("DOWN")).expect("a row");
    assert!(said(second).contains("DOWN (not used"), "{}", said(second));
    assert!(second.gravity() < Gravity::Warning);
}

#[test]
fn a_host_as_it_was_installed_needs_no_attention_once_no_vm_of_it_uses_pvrdma() {
    let lab = started();
    for fault in ["vm-moved", "vmknic-untagged", "ruleset-closed"] {
        assert!(lab.suffer(fault, HOSTS[1], true), "{fault}");
    }
    let model = console(&lab);
    let rows = host_binding::of_host(&model, &TargetId::new(HOSTS[1]));
    assert_eq!(below(&rows, "Attention"), Vec::<String>::new());
    let prepared = below(&rows, "Qualifies for PVRDMA");
    let ordinary = prepared.iter().filter(|row| row.contains("the default, it matters only to VMs with PVRDMA"));
    assert_eq!(ordinary.count(), 2, "{prepared:#?}");
}

#[test]
fn what_is_ordinary_on_a_host_is_no_fault() {
    let lab = started();
    let mut model = console(&lab);
    let differing: Vec<String> = host_binding::differences(&model)
        .into_iter()
        .filter(|difference| difference.differs)
        .map(|difference| format!("{} {}", difference.entity, difference.attribute.name()))
        .collect();
    let of_owner = |text: &&String| text.contains("configured-owner") && text.contains("18:00.1");
    assert_eq!(differing.iter().find(of_owner), None, "nobody configured an owner");
    let rows = host_binding::of_host(&model, &TargetId::new(HOSTS[1]));
    let settings = below(&rows, "Settings: configured and in force");
    let port = settings.iter().find(|row| row.starts_with("logPort")).expect("a row");
    assert!(port.contains("in force none") && !port.contains("reboot"), "{port}");
    let nic = below(&rows, "PCI functions").into_iter().find(|row| row.starts_with("0000:18:00.1")).expect("a row");
    assert!(!nic.contains("reboot"), "{nic}");
    // An id that was written by hand names two functions of the host: both are told, none is taken.
    update(&mut model, Message::Action(Text::new("next-target")));
    assert_eq!(model.selected_target(), Some(&TargetId::new(HOSTS[1])));
    let ways = below(&vm_devices::rows(&model), "pv c [copy]: Devices and their way to the wire");
    let device = ways.iter().position(|row| row.contains("passthrough")).expect("a device");
    let told = ways[device..].join("\n");
    assert!(told.contains("0000:94:00.0 (hexadecimal)") && told.contains("0000:5e:00.0 (decimal)"), "{told}");
    assert!(told.contains("which is meant is not observable"), "{told}");
    assert!(!told.contains("function 0000:"), "{told}");
}
