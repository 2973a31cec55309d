//! Tests of the hosts: what they print, that a trouble shows everywhere it should and leaves nothing behind.

use std::sync::Arc;
use std::time::Duration;

use super::hosts::DVS_ID;
use super::vm::Vm;
use super::*;
use crate::diagnose::lint::{Finding, HostFunction, HostView, Passthrough, PowerOn, Severity, Subject, Verdict, lint};
use crate::lab::guest::{data_centre_by, pvrdma_guests};

/// Both hosts by a clock that stands.
struct Pair {
    hosts: Vec<Arc<dyn Machine>>,
    clock: Clock,
}

impl Pair {
    fn new() -> Self {
        let clock = Clock::standing();
        Self { hosts: hosts_by(7, pvrdma_guests(7), &clock), clock }
    }

    fn run(&self, index: usize, line: &str) -> Answer {
        let words = shlex::split(line).expect("words");
        self.hosts[index].run(&words, &Login { user: "root".to_owned(), is_root: true })
    }

    fn says(&self, index: usize, line: &str) -> String {
        let answer = self.run(index, line);
        assert_eq!((answer.status, answer.stderr.as_str()), (0, ""), "{line}");
        answer.stdout
    }

    fn suffer(&self, index: usize, trouble: HostTrouble, on: bool) {
        self.hosts[index].suffer(Trouble::Host(trouble), on);
    }

    fn number(&self, index: usize, line: &str, label: &str) -> u64 {
        let text = self.says(index, line);
        let value = text.lines().find_map(|line| line.trim().strip_prefix(label)?.strip_prefix(": "));
        value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{label} in {text}"))
    }
}

/// Everything that can be asked.
const LINES: &[&str] = &[
    "vmware -v",
    "vmware -l",
    "uname -s",
    "esxcli system version get",
    "esxcli system hostname get",
    "esxcli system uuid get",
    "esxcli system module list",
    "esxcli system module get -m nmlx5_core",
    "esxcli system module parameters list -m nmlx5_core",
    "esxcli system settings advanced list",
    "esxcli system settings advanced list -o /Net/PVRDMAVmknic",
    "esxcli system settings kernel list",
    "esxcli system settings kernel list -o disableACSCheck",
    "esxcli software vib list",
    "esxcli software component list",
    "esxcli hardware pci list",
    "esxcli hardware pci pcipassthru list",
    "esxcli hardware memory get",
    "esxcli hardware cpu global get",
    "esxcli graphics host get",
    "esxcli rdma device list",
    "esxcli rdma device vmknic list",
    "esxcli rdma device protocol list",
    "esxcli rdma device stats get -d vmrdma0",
    "esxcli network nic list",
    "esxcli network nic get -n vmnic2",
    "esxcli network nic stats get -n vmnic2",
    "esxcli network nic pauseParams list",
    "esxcli network nic dcb status get -n vmnic2",
    "esxcli network sriovnic list",
    "esxcli network sriovnic vf list -n vmnic2",
    "esxcli network vswitch standard list",
    "esxcli network vswitch standard portgroup list",
    "esxcli network vswitch dvs vmware list",
    "esxcli network ip interface list",
    "esxcli network ip interface ipv4 get",
    "esxcli network firewall ruleset list --ruleset-id=pvrdma",
    "esxcli vm process list",
    "net-dvs -l",
    "esxcfg-module -g nmlx5_core",
    "lspci -p",
    "vsish -e get /net/pNics/vmnic2/properties",
    "vim-cmd vmsvc/getallvms",
    "tail -n 400 /var/log/vmkernel.log",
    "cat /etc/vmware/config",
    "cat /etc/rc.local.d/local.sh",
];

#[test]
fn everything_has_an_answer_on_both_releases_without_holes() {
    let pair = Pair::new();
    for index in 0..2 {
        for line in LINES {
            let text = pair.says(index, line);
            assert!(!text.is_empty() && text.ends_with('\n'), "{line}");
            if !line.starts_with("vim-cmd") && !line.starts_with("vsish") {
                assert!(!text.contains("{name}") && !text.contains(" {"), "{line}: {text}");
            }
        }
        let numbers: Vec<String> = pair
            .says(index, "vim-cmd vmsvc/getallvms")
            .lines()
            .filter_map(|line| line.split(' ').next()?.parse::<u32>().ok().map(|number| number.to_string()))
            .collect();
        assert_eq!(numbers.len(), 2);
        for number in numbers {
            for command in
                ["get.summary", "get.config", "device.getdevices", "power.getstate", "snapshot.get", "get.guest"]
            {
                let text = pair.says(index, &format!("vim-cmd vmsvc/{command} {number}"));
                let count = |sign| text.matches(sign).count();
                assert_eq!((count('{'), count('[')), (count('}'), count(']')), "{command}: {text}");
            }
        }
        assert_eq!(pair.run(index, "esxcli rdma device stats get").status, 1);
        assert_eq!(pair.run(index, "esxcli network nic get -n vmnic9").status, 1);
        assert_eq!(pair.run(index, "esxcli fantasy list").status, 1);
        assert_eq!(pair.run(index, "nvidia-smi").status, 127);
        assert_eq!(pair.says(index, "localcli network nic list"), pair.says(index, "esxcli network nic list"));
    }
}

#[test]
fn formats_are_those_of_the_release() {
    let pair = Pair::new();
    let has = |index, line, text: &str| pair.says(index, line).contains(text);
    assert_eq!(pair.says(0, "vmware -v"), "VMware ESXi 7.0.3 build-19482537\n");
    assert_eq!(pair.says(1, "vmware -v"), "VMware ESXi 8.0.3 build-24022510\n");
    assert!(has(0, "esxcli hardware pci list", "   VMkernel Name: vmnic2\n"));
    assert!(!has(1, "esxcli hardware pci list", "   VMkernel Name: v"));
    assert!(has(0, "esxcli network sriovnic vf list -n vmnic2", "00000:094:00.2"));
    assert!(has(1, "esxcli network sriovnic vf list -n vmnic2", "0000:5e:00.2"));
    assert!(has(1, "esxcli network firewall ruleset list", "Allowed IP configurable"));
    assert!(has(1, "tail -n 400 /var/log/vmkernel.log", " In(182) vmkernel: cpu"));
    assert!(!has(0, "tail -n 400 /var/log/vmkernel.log", "In(182)"));
    assert!(has(0, "esxcli network nic get -n vmnic2", "         Bus Info: 0000:5e:00:0\n"));
}

#[test]
fn guests_are_found_on_their_hosts() {
    let pair = Pair::new();
    let login = Login { user: "root".to_owned(), is_root: true };
    for (index, guest) in data_centre_by(7, &Clock::standing()).iter().take(2).enumerate() {
        let text = |path: &str| String::from_utf8(guest.read(path, &login).expect(path)).expect("text");
        let uuid = text("/sys/class/dmi/id/product_uuid").trim().to_lowercase();
        let mac = text("/sys/class/net/ens192/address").trim().to_owned();
        let name = guest.name();
        let vmx = pair.says(index, &format!("cat /vmfs/volumes/datastore1/{name}/{name}.vmx"));
        assert!(vmx.contains(&format!("uuid.bios = \"{}\"", Vm::spaced(&uuid))), "{vmx}");
        assert!(vmx.contains(&format!("ethernet1.generatedAddress = \"{mac}\"")), "{vmx}");
        let config = pair.says(index, &format!("vim-cmd vmsvc/get.config {}", index + 1));
        assert!(config.contains(&format!("uuid = \"{uuid}\"")) && config.contains("VirtualVmxnet3Vrdma"), "{config}");
    }
}

#[test]
fn the_edited_vm_has_its_faults() {
    let pair = Pair::new();
    let vmx = pair.says(1, "cat '/vmfs/volumes/datastore1/pv c/pv c.vmx'");
    for text in
        ["pvrdma0.present TRUE", "“64”", "\"0000:af:00.0\"    #", "msg.autoanswer", "msg.autoAnswer", "\u{feff}"]
    {
        assert!(vmx.contains(text), "{text}");
    }
    assert!(pair.says(1, "vim-cmd vmsvc/power.getstate 7").ends_with("Powered off\n"));
}

/// What `lint` finds in the VMX of a VM, and what that means for its start.
fn linted(text: &str, host: Option<&HostView>) -> (Vec<Finding>, PowerOn) {
    let vmx = crate::probe::vmx::Dictionary::parse(text.as_bytes());
    let subject = Subject { vmx: &vmx, host, snapshots: None };
    let findings = lint(&subject);
    let power_on = PowerOn::of(&subject, &findings);
    (findings, power_on)
}

#[test]
fn the_sound_vms_give_no_alarm_and_the_edited_one_every_fault() {
    let pair = Pair::new();
    let function = |address: &str| HostFunction {
        address: address.to_owned(),
        vendor: "10de".to_owned(),
        device: "20f1".to_owned(),
        name: "A100".to_owned(),
        passthrough: Some(Passthrough::InForce),
        numa_node: Some(1),
    };
    let host = HostView {
        name: "esx".to_owned(),
        version: Some("7.0.3".to_owned()),
        functions: Some(vec![function("0000:af:00.0")]),
        pvrdma_vmknic: Some("vmk1".to_owned()),
        distributed_switches: Some(vec![DVS_ID.to_owned()]),
        ..HostView::default()
    };
    for (index, name) in [(0, "pv-a"), (1, "pv-b"), (0, "gpu-a")] {
        let text = pair.says(index, &format!("cat /vmfs/volumes/datastore1/{name}/{name}.vmx"));
        for host in [None, Some(&host)] {
            let (findings, power_on) = linted(&text, host);
            let alarms: Vec<&Finding> = findings.iter().filter(|one| one.rule.severity > Severity::Info).collect();
            assert!(alarms.is_empty(), "{name}: {alarms:#?}");
            let open = name == "gpu-a" && host.is_none();
            let expected = if open { Verdict::Unknown } else { Verdict::Starts };
            assert_eq!(power_on.verdict, expected, "{name}: {}", power_on.reason);
        }
    }
    let (findings, power_on) = linted(&pair.says(1, "cat '/vmfs/volumes/datastore1/pv c/pv c.vmx'"), Some(&host));
    let grave = findings.iter().filter(|one| one.rule.severity > Severity::Info);
    let mut found: Vec<(u32, &str)> = grave.map(|one| (one.found.line.unwrap_or(0), one.rule.id)).collect();
    found.sort_unstable();
    let planted = [
        (1, "vmx.byte-order-mark"),
        (6, "vmx.efi-missing"),
        (10, "vmx.pci-bridges-missing"),
        (11, "vmx.passthrough-id-hex"),
        (15, "vmx.odd-quotes"),
        (16, "vmx.odd-quotes"),
        (17, "vmx.no-equals"),
        (18, "vmx.pvrdma-keys"),
        (19, "vmx.pvrdma-keys"),
        (20, "vmx.pvrdma-keys"),
        (21, "vmx.pvrdma-keys"),
        (27, "vmx.duplicate-key"),
        (28, "vmx.passthrough-reservation"),
        (29, "vmx.latency-processors"),
        (30, "vmx.passthrough-memory-hot-add"),
        (31, "vmx.open-quote"),
        (38, "vmx.passthrough-id-form"),
    ];
    assert_eq!(found, planted);
    // No adapter of the file is a PVRDMA one, so the one that was taken out has no pair: worth knowing, no more.
    let worth_knowing = |one: &&Finding| one.rule.id == "vmx.pvrdma-other-removed" && one.found.line == Some(22);
    assert_eq!(findings.iter().filter(worth_knowing).count(), 1);
    assert_eq!(power_on.verdict, Verdict::Fails, "{}", power_on.reason);
}

#[test]
fn a_trouble_changes_what_it_should_and_leaves_nothing_behind() {
    use HostTrouble::*;
    let shows: [(HostTrouble, &str, &str); 11] = [
        (VmknicUntagged, "esxcli system settings advanced list -o /Net/PVRDMAVmknic", "   String Value:\n"),
        (RulesetClosed, "esxcli network firewall ruleset list --ruleset-id=pvrdma", "false"),
        (TwoUplinks, "esxcli network vswitch dvs vmware list", "   Uplinks: vmnic2, vmnic3\n"),
        (HcaPassthrough, "esxcli hardware pci list", "0000:5e:00.0\n   Segment: 0x0000"),
        (VlanMismatch, "net-dvs -l", "port.vlan = VLAN 200"),
        (CeeMode, "esxcli network nic dcb status get -n vmnic2", "CEE Mode"),
        (FirmwareOlder, "esxcli network nic get -n vmnic2", "20.33.1048"),
        (ParameterDiffers, "esxcfg-module -g nmlx5_rdma", "options = 'pcp_force=3'"),
        (RebootPending, "esxcli system settings kernel list -o disableACSCheck", "TRUE        FALSE"),
        (UplinkDown, "esxcli network nic list", "Down"),
        (HostdDead, "localcli network nic list", "vmnic2"),
    ];
    for index in 0..2 {
        let pair = Pair::new();
        let all = |pair: &Pair| LINES.iter().map(|line| pair.says(index, line)).collect::<Vec<_>>();
        let before = all(&pair);
        for (trouble, line, text) in shows {
            pair.suffer(index, trouble, true);
            assert!(pair.says(index, line).contains(text), "{trouble:?}: {}", pair.says(index, line));
            pair.suffer(index, trouble, false);
            assert!(all(&pair) == before, "{trouble:?}");
        }
    }
}

#[test]
fn a_dead_agent_fails_esxcli_alone() {
    let pair = Pair::new();
    pair.suffer(0, HostTrouble::HostdDead, true);
    for line in ["esxcli network nic list", "vim-cmd vmsvc/getallvms"] {
        let answer = pair.run(0, line);
        assert_eq!(answer.status, 1);
        assert!((answer.stdout + &answer.stderr).contains("Connect to localhost failed: Connection failure."));
    }
    pair.says(0, "localcli rdma device list");
    assert_eq!(pair.run(0, "localcli network nic list").by_agent, 0);
    assert_eq!(pair.run(0, "esxcli network nic list").by_agent, 1);
}

#[test]
fn without_its_adapter_a_host_has_no_rdma_device() {
    let pair = Pair::new();
    pair.suffer(0, HostTrouble::HcaPassthrough, true);
    assert_eq!(pair.says(0, "esxcli rdma device list"), "");
    assert!(!pair.says(0, "esxcli network nic list").contains("vmnic2"));
    assert!(pair.says(0, "esxcli network vswitch dvs vmware list").contains("   Uplinks:\n"));
    assert!(pair.says(0, "esxcli hardware pci pcipassthru list").contains("0000:5e:00.0     true\n"));
}

#[test]
fn a_vm_that_moves_is_on_the_other_host_which_has_no_rdma() {
    let pair = Pair::new();
    pair.suffer(0, HostTrouble::VmMoved, true);
    assert!(!pair.says(0, "vim-cmd vmsvc/getallvms").contains("pv-a"));
    let there = pair.says(1, "vim-cmd vmsvc/getallvms");
    assert!(there.contains("pv-a") && there.contains("pv-b"), "{there}");
    assert!(!pair.says(0, "esxcli rdma device list").is_empty());
    assert_eq!(pair.says(1, "esxcli rdma device list"), "");
    pair.suffer(0, HostTrouble::VmMoved, false);
    assert!(pair.says(0, "vim-cmd vmsvc/getallvms").contains("pv-a"));
}

#[test]
fn counters_tell_rdma_from_tcp_and_never_go_back() {
    let pair = Pair::new();
    let sent = || pair.number(0, "esxcli rdma device stats get -d vmrdma0", "Bytes sent");
    let nic = || pair.number(0, "esxcli network nic stats get -n vmnic2", "Bytes sent");
    let at = |seconds| pair.clock.set(Duration::from_secs(seconds));
    let (rdma, other) = (sent(), nic());
    at(10);
    assert!(sent() - rdma > 1_000_000_000, "it is RDMA");
    assert!((nic() - other) * 3 < sent() - rdma, "the adapter counts what is no RDMA");
    pair.suffer(0, HostTrouble::VmknicUntagged, true);
    let (rdma, other) = (sent(), nic());
    at(20);
    assert_eq!(sent(), rdma, "RDMA stands still");
    assert!(nic() - other > 1_000_000_000, "it is TCP");
    pair.suffer(0, HostTrouble::VmknicUntagged, false);
    assert_eq!(sent(), rdma);
    at(30);
    assert!(sent() > rdma);
}

/// What an administrator sets, and what a later read shows of it: command, read, what stands there before and afterwards, and
/// the command that takes it back.
const SET: &[(&str, &str, &str, &str, &str)] = &[
    (
        "esxcli network firewall ruleset set -r pvrdma -e false",
        "esxcli network firewall ruleset list -r pvrdma",
        "true",
        "false",
        "esxcli network firewall ruleset set -r pvrdma -e true",
    ),
    (
        "esxcli system settings advanced set -o /Net/PVRDMAVmknic -d",
        "esxcli system settings advanced list -o /Net/PVRDMAVmknic",
        "String Value: vmk1\n",
        "   String Value:\n",
        "esxcli system settings advanced set -o /Net/PVRDMAVmknic -s vmk1",
    ),
    (
        "esxcli system settings kernel set -s disableACSCheck -v TRUE",
        "esxcli system settings kernel list -o disableACSCheck",
        "Bool  FALSE       FALSE",
        "Bool  TRUE        FALSE",
        "esxcli system settings kernel set -s disableACSCheck -v FALSE",
    ),
    (
        "esxcli system module parameters set -m nmlx5_rdma -p 'pcp_force=4'",
        "esxcfg-module -g nmlx5_rdma",
        "'pcp_force=3 dscp_force=26'",
        "'pcp_force=4'",
        "esxcli system module parameters set -m nmlx5_rdma -p 'pcp_force=3 dscp_force=26'",
    ),
    (
        "esxcli network nic down -n vmnic2",
        "esxcli network nic list",
        "nmlx5_core  Up            Up           100000",
        "nmlx5_core  Down          Down             0",
        "esxcli network nic up -n vmnic2",
    ),
    (
        "esxcli network nic pauseParams set -n vmnic2 -r true -t false",
        "esxcli network nic get -n vmnic2",
        "Pause RX: false",
        "Pause RX: true",
        "esxcli network nic pauseParams set -n vmnic2 -r false -t false",
    ),
    (
        "esxcli network ip interface set -i vmk1 -m 1500",
        "esxcli network ip interface list",
        "MTU: 9000",
        "MTU: 1500",
        "esxcli network ip interface set -i vmk1 -m 9000",
    ),
    ("vmkload_mod -u nmlx5_rdma", "esxcli rdma device list", "vmrdma0", "", "esxcli system module load -m nmlx5_rdma"),
];

#[test]
fn what_is_set_is_shown_and_taken_back_without_a_trace() {
    let pair = Pair::new();
    for index in 0..2 {
        for (set, read, before, after, back) in SET {
            let all: Vec<String> = LINES.iter().map(|line| pair.says(index, line)).collect();
            assert!(pair.says(index, read).contains(before), "{read}: {}", pair.says(index, read));
            pair.says(index, set);
            let shown = pair.says(index, read);
            assert!(shown.contains(after) && shown != all[0], "{set}: {shown}");
            assert!(!before.ends_with('0') || !shown.contains(before), "{set}: {shown}");
            pair.says(index, back);
            for (line, before) in LINES.iter().zip(&all) {
                assert_eq!(&pair.says(index, line), before, "{set}, {back}: {line}");
            }
        }
    }
}

#[test]
fn what_is_wrong_is_refused_and_changes_nothing() {
    let pair = Pair::new();
    let all: Vec<String> = LINES.iter().map(|line| pair.says(0, line)).collect();
    for (line, words) in [
        ("esxcli network firewall ruleset set -r nope -e true", "Ruleset with id nope not found"),
        ("esxcli network firewall ruleset set -r pvrdma", "Missing required parameter -e|--enabled"),
        ("esxcli network firewall ruleset set -r pvrdma -e perhaps", "Invalid boolean value perhaps"),
        ("esxcli system settings advanced set -o /Net/Nope -s x", "Unable to find option /Net/Nope"),
        ("esxcli system settings kernel set -s nope -v TRUE", "Invalid Key: nope"),
        ("esxcli system module set -m nope -e true", "Unable to find module nope"),
        ("esxcli system module load -m nmlx4_core", "Module nmlx4_core is disabled, use force to override"),
        ("esxcli system module load -m nmlx5_core", "Busy"),
        (
            "esxcli system module parameters set -m nmlx5_rdma -p 'pcp_farce=3'",
            "the following params are invalid: pcp_farce",
        ),
        ("esxcli network nic down -n vmnic9", "Unable to find NIC vmnic9"),
        ("esxcli network ip interface set -i vmk9 -e true", "Invalid vmknic specified: vmk9"),
        ("esxcli network ip interface set -i vmk1 -m 99999", "Unable to set MTU to 99999"),
        (
            "esxcli hardware pci pcipassthru set -d 0000:5e:00.0 -e false",
            "Unable to configure the PCI device: Device owner is already configured to vmkernel.",
        ),
        ("esxcli hardware pci pcipassthru set -d 0000:00:1f.0 -e true", "Unable to find PCI device 0000:00:1f.0"),
        ("vmkload_mod -u nope", "Can not remove module nope"),
    ] {
        let answer = pair.run(0, line);
        assert!(answer.status == 1 && [answer.stdout, answer.stderr].concat().contains(words), "{line}");
    }
    let words = shlex::split("esxcli network firewall ruleset set -r pvrdma -e false").expect("words");
    let answer = pair.hosts[1].run(&words, &Login { user: "lab".to_owned(), is_root: false });
    assert_eq!((answer.status, answer.stderr.as_str()), (1, "Permission to perform this operation was denied.\n"));
    pair.suffer(0, HostTrouble::HostdDead, true);
    assert_eq!(pair.run(0, "esxcli network firewall ruleset set -r pvrdma -e false").status, 1);
    assert!(pair.says(0, "/etc/init.d/hostd restart").ends_with("hostd started.\n"));
    for (line, before) in LINES.iter().zip(&all) {
        assert_eq!(&pair.says(0, line), before, "{line}");
    }
}

#[test]
fn what_waits_comes_into_force_with_the_next_start() {
    let pair = Pair::new();
    let list = |pair: &Pair| pair.says(0, "esxcli hardware pci list");
    // It is the uplink of a switch: it cannot go at once.
    pair.says(0, "esxcli hardware pci pcipassthru set -d 0000:5e:00.0 -e true -a");
    pair.says(0, "esxcli system settings kernel set -s disableACSCheck -v TRUE");
    pair.says(0, "esxcli system module set -m nmlx5_rdma -e false");
    assert!(list(&pair).contains("Configured Owner: VM Passthru\n   Current Owner: VMkernel\n"), "{}", list(&pair));
    let kernel = "esxcli system settings kernel list -o disableACSCheck";
    assert!(pair.says(0, kernel).contains("Bool  TRUE        FALSE"));
    let module = |pair: &Pair| {
        let list = pair.says(0, "esxcli system module list");
        let row = list.lines().find(|line| line.starts_with("nmlx5_rdma")).expect("a row");
        row.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(module(&pair), ["true", "false"]);
    pair.hosts[0].suffer(Trouble::Reboot, true);
    assert!(!list(&pair).contains("Configured Owner: VM Passthru\n   Current Owner: VMkernel\n"), "{}", list(&pair));
    assert!(pair.says(0, kernel).contains("Bool  TRUE        TRUE"));
    assert_eq!(module(&pair), ["false", "false"]);
    assert!(!pair.says(0, "esxcli network nic list").contains("vmnic2"));
}
