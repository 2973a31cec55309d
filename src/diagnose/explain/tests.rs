//! The conclusions that real pastes ask for, each also with other line ends, wrapped, with another order or name where that
//! can happen.

use super::*;

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../../tests/fixtures/public/", $name, ".txt"))
    };
}

/// A text, its kinds, the findings that must come out, and those that must not.
struct Case {
    name: &'static str,
    text: &'static str,
    kinds: &'static [&'static str],
    findings: &'static [&'static str],
    not: &'static [&'static str],
}

const CASES: &[Case] = &[
    Case {
        name: "a recipe for PVRDMA that lost its equals signs",
        text: fixture!("03-vmx-pvrdma-from-web-guide-stripped"),
        kinds: &["vmx"],
        findings: &["vm.myth-pvrdma-keys", "vm.myth-remove-vmxnet3"],
        not: &[],
    },
    Case {
        name: "nobody tagged a VMkernel adapter",
        text: fixture!("08-esxi-advanced-options-table"),
        kinds: &["settings-table"],
        findings: &["host.pvrdma-vmknic-empty"],
        not: &[],
    },
    Case {
        name: "one host negotiates PFC, its twin does not",
        text: fixture!("10-dcb-status-two-hosts"),
        kinds: &["esxcli"],
        findings: &["host.pfc-not-in-force"],
        not: &["host.pause-off"],
    },
    Case {
        name: "pause refused because PFC is on",
        text: fixture!("11-esxcli-pauseparams-error-and-vmkernel"),
        kinds: &["esxcli", "vmkernel.log"],
        findings: &["host.pause-excluded-by-pfc"],
        not: &["host.sysinfo-operation", "host.pause-off"],
    },
    Case {
        name: "tables that contradict each other",
        text: fixture!("15-esxcli-rdma-nic-adapter-tables"),
        kinds: &["esxcli"],
        findings: &["host.rdma-pairing-disagrees"],
        not: &[],
    },
    Case {
        name: "pause off on one of two hosts",
        text: fixture!("16-esxcli-pauseParams-list"),
        kinds: &["esxcli"],
        findings: &["host.pause-off", "host.pause-on"],
        not: &[],
    },
    Case {
        name: "parameters of the driver modules",
        text: fixture!("17-esxcfg-module-g"),
        kinds: &["esxcfg"],
        findings: &["host.module-parameters"],
        not: &["host.module-parameters-wiped"],
    },
    Case {
        name: "the storage target refuses",
        text: fixture!("19-vmkernel-nvmerdma-reject"),
        kinds: &["vmkernel.log"],
        findings: &["host.nvme-rdma-rejected"],
        not: &["host.pcie-link-down"],
    },
    Case {
        name: "the window is too small, old form of the log",
        text: fixture!("61-vmware-log-old-format"),
        kinds: &["vmware.log"],
        findings: &["vm.mmio-window"],
        not: &["vm.device-power-on-failed"],
    },
    Case {
        name: "the window is too small, new form of the log",
        text: fixture!("62-vmware-log-new-format"),
        kinds: &["vmware.log"],
        findings: &["vm.mmio-window"],
        not: &[],
    },
    Case {
        name: "the link of the device is down",
        text: fixture!("65-vmkernel-esxi8-link-down-reset-skipped"),
        kinds: &["vmkernel.log"],
        findings: &["host.pcie-link-down"],
        not: &["host.pcie-hotplug-at-power-on", "vm.mmio-window"],
    },
    Case {
        name: "a reset that looks like a hot-plug",
        text: fixture!("66-vmkernel-pciehp"),
        kinds: &["vmkernel.log"],
        findings: &["host.pcie-hotplug-at-power-on"],
        not: &["vm.mmio-window", "host.pcie-link-down"],
    },
    Case {
        name: "no slot",
        text: fixture!("69-poweron-vimfault-noslot"),
        kinds: &["power-on-error"],
        findings: &["vm.no-pcie-slot"],
        not: &[],
    },
    Case {
        name: "memory not reserved",
        text: fixture!("70-poweron-memory-reservation"),
        kinds: &["power-on-error"],
        findings: &["vm.memory-not-reserved"],
        not: &[],
    },
    Case {
        name: "nested virtualisation",
        text: "PCI passthrough devices cannot be added when Nested Hardware-Assisted Virtualization is enabled.\n",
        kinds: &["power-on-error"],
        findings: &["vm.nested-with-passthrough"],
        not: &[],
    },
    Case {
        name: "what is passed through, as a table",
        text: fixture!("101-esxcli-pcipassthru-list"),
        kinds: &["esxcli"],
        findings: &[],
        not: &["host.owner-pending"],
    },
    Case {
        name: "PCI devices as blocks",
        text: fixture!("103-esxcli-hardware-pci-list-blocks"),
        kinds: &["esxcli"],
        findings: &["host.passthrough-in-force"],
        not: &["host.owner-pending"],
    },
    Case {
        name: "snapshots",
        text: fixture!("112-vmsd-interleaved-keys"),
        kinds: &["vmsd"],
        findings: &["vm.snapshots"],
        not: &["vm.vmsd-malformed"],
    },
    Case {
        name: "a log that repeats the configuration",
        text: fixture!("113-vmware-log-dict-markers"),
        kinds: &["vmware.log"],
        findings: &["vm.configuration-in-log"],
        not: &[],
    },
    Case {
        name: "a P40 in a VM without EFI",
        text: fixture!("63c-vmx-p40"),
        kinds: &["vmx"],
        findings: &["vmx.efi-missing"],
        not: &["vmx.no-such-key"],
    },
    Case {
        name: "ids of devices in many forms",
        text: fixture!("68-vmx-pcipassthru-id-formats"),
        kinds: &["vmx"],
        findings: &["vmx.passthrough-id-form", "vmx.duplicate-key"],
        not: &["vmx.passthrough-id-hex"],
    },
    Case {
        name: "typographic quotes and the wrong value",
        text: fixture!("75-vmx-smart-quotes"),
        kinds: &["vmx"],
        findings: &["vmx.odd-quotes", "vmx.hypervisor-shown"],
        not: &[],
    },
    Case {
        name: "two names that differ in letter case",
        text: fixture!("105-vmx-duplicate-key-case"),
        kinds: &["vmx"],
        findings: &["vmx.duplicate-key"],
        not: &[],
    },
    Case {
        name: "edited in Notepad",
        text: fixture!("106-vmx-bom-and-fullwidth-quotes"),
        kinds: &["vmx"],
        findings: &["vmx.byte-order-mark", "vmx.duplicate-key", "vmx.odd-quotes"],
        not: &[],
    },
    Case {
        name: "an equals sign in a value",
        text: fixture!("107-vmx-value-with-equals-and-quotes"),
        kinds: &["vmx"],
        findings: &[],
        not: &["vmx.open-quote", "vmx.after-value", "vmx.no-equals"],
    },
    Case {
        name: "virtual functions are no broken passthrough",
        text: fixture!("110-vmx-sriov-bypass"),
        kinds: &["vmx"],
        findings: &[],
        not: &["vmx.passthrough-id-malformed", "vmx.passthrough-id-missing", "vmx.passthrough-not-on-host"],
    },
    Case {
        name: "comments, placeholders, hand-written ids",
        text: fixture!("111-vmx-comments-unquoted-hex-id"),
        kinds: &["vmx"],
        findings: &["vmx.placeholder", "vmx.passthrough-id-form", "vmx.trailing-comment"],
        not: &[],
    },
    Case {
        name: "host BARs are there, the guest has no address for one",
        text: concat!(
            "2024-02-01T10:00:00.000Z In(05) vmx - PCIPassthru: Device 0000:42:00.0 barIndex 1 type 3 realaddr 0x3b800000000 size 34359738368 flags 12\n",
            "        Region 1: Memory at <unassigned> (64-bit, prefetchable)\n"
        ),
        kinds: &["vmware.log"],
        findings: &["vm.bar-sizes", "vm.bar-unassigned"],
        not: &[],
    },
];

fn checks(explained: &Explained) -> Vec<&str> {
    explained.findings.iter().map(|finding| finding.check.as_str()).collect()
}

fn assert_case(case: &Case, how: &str, text: &str) {
    let explained = explain("-", text.as_bytes());
    let (found, name) = (checks(&explained), case.name);
    for check in case.findings {
        assert!(found.contains(check), "{name}, {how}: no {check} in {found:?}\n{text}");
    }
    for check in case.not {
        assert!(!found.contains(check), "{name}, {how}: {check} in {found:?}");
    }
    for kind in case.kinds {
        assert!(explained.kinds.iter().any(|known| known.name() == *kind), "{name}, {how}: {:?}", explained.kinds);
    }
}

/// Breaks lines as a mail program does, at the last blank before the width.
fn folded(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let mut rest: Vec<char> = line.chars().collect();
        while rest.len() > width {
            let cut = rest[..width].iter().rposition(|c| *c == ' ').filter(|at| *at > 0).map_or(width, |at| at + 1);
            out.extend(rest.drain(..cut));
            out.push('\n');
        }
        out.extend(rest);
        out.push('\n');
    }
    out
}

/// Breaks lines as a terminal does.
fn broken(text: &str, width: usize) -> String {
    let pieces = text.lines().map(|line| {
        let characters: Vec<char> = line.chars().collect();
        let pieces: Vec<String> = characters.chunks(width).map(|piece| piece.iter().collect()).collect();
        pieces.join("\n")
    });
    pieces.collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn the_conclusion_of_each_paste_comes_out() {
    for case in CASES {
        assert_case(case, "as it is", case.text);
        let explained = explain("-", case.text.as_bytes());
        let kinds: Vec<&str> = explained.kinds.iter().map(|kind| kind.name()).collect();
        assert_eq!(kinds, case.kinds, "{}", case.name);
    }
}

#[test]
fn line_ends_and_what_stands_around_change_nothing() {
    for case in CASES {
        assert_case(case, "CRLF", &case.text.replace('\n', "\r\n"));
        // A byte order mark is one only at the begin.
        if !case.text.starts_with('\u{feff}') {
            assert_case(case, "empty lines around", &format!("\n\n{}\n\n", case.text));
        }
        assert_case(case, "without the last newline", case.text.trim_end());
        assert_case(case, "behind a BOM", &format!("\u{feff}{}", case.text.trim_start_matches('\u{feff}')));
    }
}

#[test]
fn wrapped_pastes_are_read_too() {
    for case in CASES {
        assert_case(case, "wrapped at blanks", &folded(case.text, 72));
        assert_case(case, "wrapped anywhere", &broken(case.text, 72));
    }
}

#[test]
fn several_pastes_in_one_are_told_apart() {
    let all = [
        fixture!("16-esxcli-pauseParams-list"),
        fixture!("61-vmware-log-old-format"),
        "[root@esx1:~] esxcli hardware pci pcipassthru get -a\n",
        fixture!("70-poweron-memory-reservation"),
    ]
    .concat();
    let explained = explain("-", all.as_bytes());
    let found = checks(&explained);
    for check in ["host.pause-off", "vm.mmio-window", "host.myth-pcipassthru-get", "vm.memory-not-reserved"] {
        assert!(found.contains(&check), "{check}: {found:?}");
    }
    // A prompt that is glued to the output before it.
    let glued = fixture!("101-esxcli-pcipassthru-list").trim_end().to_owned()
        + "[root@hostA:~] esxcli network nic sriov list\n";
    let explained = explain("-", glued.as_bytes());
    assert_eq!(checks(&explained), ["host.myth-nic-sriov-list"]);
    assert_eq!(fact(&explained, "0000:3b:00.0.enabled"), Some(State::Known(Value::Flag(true))));
}

#[test]
fn the_same_rule_on_several_lines_is_one_finding() {
    let lines = |finding: &Finding| finding.evidence.iter().filter_map(|shown| shown.line).collect::<Vec<_>>();
    let advice = "esxcli hardware pci pcipassthru get -a\n".repeat(6);
    let explained = explain("-", advice.as_bytes());
    assert_eq!(checks(&explained), ["host.myth-pcipassthru-get"]);
    assert_eq!(lines(&explained.findings[0]), [1, 2, 3, 4, 5, 6]);
    let vmx = (0..6).map(|at| format!("pciPassthru{at}.present = \u{201d}TRUE\u{201d}\n")).collect::<Vec<_>>().concat();
    let explained = explain("-", vmx.as_bytes());
    let quotes: Vec<&Finding> = explained.findings.iter().filter(|finding| finding.check == "vmx.odd-quotes").collect();
    assert_eq!((quotes.len(), lines(quotes[0])), (1, vec![1, 2, 3, 4, 5, 6]));
    let log = "2025-01-19T19:12:20.894Z cpu6:2097709)PCI: 1401: Skipping device reset on 0000:05:00.0 because PCIe link to the device is down.\n".repeat(6);
    let explained = explain("-", log.as_bytes());
    assert_eq!(checks(&explained), ["host.pcie-link-down"]);
    assert_eq!(lines(&explained.findings[0]), [1, 2, 3, 4, 5, 6]);
    let owner = |bus: usize| {
        format!(
            "0000:0{bus}:00.0\n   Address: 0000:0{bus}:00.0\n   Configured Owner: VM Passthru\n   Current Owner: VMkernel\n"
        )
    };
    let list = [owner(1), owner(2), owner(3)].concat();
    let explained = explain("-", list.as_bytes());
    assert_eq!(checks(&explained), ["host.owner-pending"]);
    assert!(explained.findings[0].title.starts_with("0000:01:00.0, 0000:02:00.0, 0000:03:00.0: configured"));
}

#[test]
fn a_key_of_a_block_stays_apart_from_the_long_line_above_it() {
    let explained = explain("-", fixture!("10-dcb-status-two-hosts").as_bytes());
    assert_eq!(fact(&explained, "vmnic3.sent-pfc-frames"), text("0 0 0 1 0 0 0 0   (Priority 3 active)"));
    assert_eq!(fact(&explained, "vmnic3.pfc-configuration"), text("0 0 0 1 0 0 0 0  (Priority 3 enabled for RoCE)"));
}

/// Texts made to be slow: a reading that looks back, or to the end, from every place would take minutes.
#[test]
fn large_and_odd_texts_take_no_time() {
    let begun = std::time::Instant::now();
    let texts = [
        "[".repeat(1 << 17),
        "[root@esx1:~] ".repeat(4_000),
        "[root@esx1:~] x\nfirmware = \"efi\"\n".repeat(1_000),
        "cpu1".repeat(20_000),
        "(vim.vm.X) {\n".repeat(4_000),
        "\r".repeat(1 << 15),
        (0..1_000)
            .map(|at| format!("vmnic{at}:\n  PFC Enabled: false\n  Mode: CEE Mode\n"))
            .collect::<Vec<_>>()
            .concat(),
    ];
    for text in texts {
        let _ = explain("-", text.as_bytes());
    }
    assert!(begun.elapsed() < std::time::Duration::from_mins(1), "{:?}", begun.elapsed());
}

#[test]
fn devices_of_a_dump_are_named() {
    let dump = "[root@esx1:~] vim-cmd vmsvc/device.getdevices 7\n(vim.vm.VirtualHardware) {\n   device = (vim.vm.device.VirtualDevice) [\n      (vim.vm.device.VirtualVmxnet3Vrdma) {\n         key = 4001,\n         deviceInfo = (vim.Description) {\n            label = \"Network adapter 2\",\n            summary = \"DVSwitch\"\n         },\n         macAddress = \"00:50:56:80:00:01\",\n         deviceProtocol = \"rocev2\"\n      },\n      (vim.vm.device.VirtualPCIPassthrough) {\n         key = 13000,\n         deviceInfo = (vim.Description) {\n            label = \"PCI device 0\",\n            summary = \"\"\n         }\n      }\n   ]\n}\n";
    for text in [dump.to_owned(), dump.replace('\n', "\r\n")] {
        let explained = explain("-", text.as_bytes());
        assert_eq!(checks(&explained), ["vm.pvrdma-adapter", "vm.passthrough-device"]);
        assert_eq!(fact(&explained, "Network adapter 2.protocol"), self::text("rocev2"));
        assert_eq!(explained.kinds, [Kind::VimCmd]);
    }
}

#[test]
fn errors_of_drivers_are_told_by_module() {
    let log = "2025-01-19T19:12:20.894Z Al(177) vmkalert: cpu66:2097709)ALERT: <NMLX_ERR> nmlx5_coreQueryTir:268 command failed: IO was aborted\n";
    let explained = explain("-", log.as_bytes());
    assert_eq!((checks(&explained), explained.kinds.clone()), (vec!["host.vmkernel-errors"], vec![Kind::VmkernelLog]));
}

fn fact(explained: &Explained, name: &str) -> Option<State<Value>> {
    explained.facts.iter().find(|fact| fact.name.as_str() == name).map(|fact| fact.state.clone())
}

#[allow(clippy::unnecessary_wraps, reason = "compared with what `fact` gives")]
fn text(word: &str) -> Option<State<Value>> {
    Some(State::Known(Value::Text(Text::new(word))))
}

#[test]
fn values_keep_what_they_are() {
    let of = |text: &str| explain("-", text.as_bytes());
    let options = of(fixture!("08-esxi-advanced-options-table"));
    assert_eq!(fact(&options, "Net.PVRDMAVmknic"), Some(State::Empty), "an empty cell is a value");
    let quoted = of("| `/Net/PVRDMAVmknic` | `Vmknic for PVRDMA` | `` | `` |\n");
    assert_eq!(
        (fact(&quoted, "Net.PVRDMAVmknic"), checks(&quoted)),
        (Some(State::Empty), vec!["host.pvrdma-vmknic-empty"])
    );
    let tagged = of("| Net.PVRDMAVmknic | Vmknic for PVRDMA | vmk2 |  | N/A | N/A | True |\n");
    assert_eq!((fact(&tagged, "Net.PVRDMAVmknic"), checks(&tagged)), (text("vmk2"), vec![]));
    let options = of(fixture!("17-esxcfg-module-g"));
    assert_eq!(fact(&options, "nmlx5_core.pfctx"), Some(State::Known(Value::Number(8))), "0x08 and 8 are one mask");
    assert_eq!(fact(&options, "nmlx5_rdma.dscp_force"), Some(State::Known(Value::Number(26))));
    let tables = of(fixture!("15-esxcli-rdma-nic-adapter-tables"));
    assert_eq!(fact(&tables, "hostA:vmrdma0.speed"), text("50 Gbps"), "a value with a blank inside");
    assert_eq!(fact(&tables, "hostA:vmrdma0.paired-uplink"), text("vmnic1"));
    assert!(
        !tables.facts.iter().any(|fact| fact.name.contains("---") || fact.name.contains(":Name.")),
        "no device called Name"
    );
    let log = of(fixture!("62-vmware-log-new-format"));
    assert_eq!(fact(&log, "mmio.pages-needed"), Some(State::Known(Value::Number(33_566_722))));
    let message = &log.findings[0];
    assert!(message.cause.contains("128.05 GiB") && message.cause.contains("3.50 GiB"), "{}", message.cause);
    assert!(message.remedies[0].commands.iter().any(|line| line.ends_with("\"256\"")), "{:?}", message.remedies);
    let old = of(fixture!("61-vmware-log-old-format"));
    assert!(old.findings[0].cause.contains("16.05 GiB"), "{}", old.findings[0].cause);
    let blocks = of(fixture!("103-esxcli-hardware-pci-list-blocks"));
    assert_eq!(fact(&blocks, "0000:04:00.0.vendor-id"), text("0x1000"), "SubVendor ID is another key");
}

#[test]
fn other_columns_names_and_orders_do_not_matter() {
    let of = |text: &str| explain("-", text.as_bytes());
    // A further column, and the columns in another order.
    let wide = of("Enabled  Device ID     Note\n-------  ------------  ----\n   true  0000:3b:00.0  new\n");
    assert!(wide.is_recognised());
    let pause = "NIC     Pause TX  New Column  Pause RX\n------  --------  ----------  --------\nvmnic0     false        some     false\n";
    assert_eq!(checks(&of(pause)), ["host.pause-off"]);
    // Blocks with their keys in another order, and one key renamed.
    let dcb = "vmnic5:\n   PFC Enabled: false\n   DCBX Mode: x\n   Mode: CEE Mode\nvmnic3:\n   PFC Enabled: true\n   Mode: IEEE Mode\n";
    assert_eq!(checks(&of(dcb)), ["host.pfc-not-in-force"]);
    let named =
        of("[root@a:~] esxcli network nic dcb status get -n vmnic5\n   Mode: CEE Mode\n   PFC Enabled: false\n");
    assert_eq!(fact(&named, "vmnic5.pfc-enabled"), Some(State::Known(Value::Flag(false))));
    let owners = "0000:af:00.0\n   Address: 0000:af:00.0\n   Current Owner: VMkernel\n   Configured Owner: VM Passthru\n   Module Name: nmlx5_core\n";
    assert_eq!(checks(&of(owners)), ["host.owner-pending"]);
    let kernel = "Name             Type  Configured  Runtime  Default  Description\n---------------  ----  ----------  -------  -------  -----------\ndisableACSCheck  Bool  TRUE        FALSE    FALSE    Bypass ACS\nnoIOMMU          Bool  FALSE       FALSE    FALSE    x\n";
    assert_eq!(checks(&of(kernel)), ["host.reboot-pending"]);
}

#[test]
fn a_second_set_that_wipes_the_first_is_told() {
    let script = "#!/bin/sh\nesxcli system module parameters set -m nmlx5_core -p \"dcbx=1\"\nesxcli system module parameters set -m nmlx5_core -p \"pfctx=8 pfcrx=8 trust_state=2 max_vfs=4\"\n";
    let explained = explain("local.sh", script.as_bytes());
    assert_eq!(checks(&explained), ["host.module-parameters-wiped"]);
    assert!(explained.findings[0].title.contains("dcbx"));
    assert_eq!(explained.kinds, [Kind::LocalSh]);
    let right = "esxcli system module parameters set -m nmlx5_core -p \"dcbx=1\"\nesxcli system module parameters set -a -m nmlx5_core -p \"pfctx=8 pfcrx=8\"\n";
    assert_eq!(checks(&explain("-", right.as_bytes())), Vec::<&str>::new());
    let python = "for d in [line.split()[0] for line in output.splitlines() if line.strip()]:\n";
    assert_eq!(checks(&explain("-", python.as_bytes())), ["tool.first-word-of-every-line"]);
}

#[test]
fn scripts_boot_lines_and_settings_files_are_judged() {
    let of = |path: &str, text: &str| {
        let explained = explain(path, text.as_bytes());
        let checks: Vec<String> = explained.findings.iter().map(|finding| finding.check.clone()).collect();
        (explained.kinds, checks)
    };
    let local = "#!/bin/sh ++group=host/vim/vmvisor/boot\n# local configuration options\n# vmkload_mod vmw_pvrdma\nesxcli system module load -m vmw_pvrdma\nexit 0\n";
    assert_eq!(of("-", local), (vec![Kind::LocalSh], vec!["host.myth-vmw-pvrdma-module".to_owned()]));
    let conf = "/opt/proc/sys/kernel/modules_load_order = vfio-pci nvidia_vgpu_vfio\n/vmkernel/module/nmlx5_core.so/options = \"pfctx=8\"\n";
    assert_eq!(of("-", conf), (vec![Kind::EsxConf], vec!["host.myth-modules-load-order".to_owned()]));
    let grub = "GRUB_CMDLINE_LINUX=\"intel_iommu=on vfio-pci.ids=10de:20f1 pcie_acs_override=downstream\"\n";
    assert_eq!(of("-", grub), (vec![Kind::BootArguments], vec!["host.myth-kvm-boot-arguments".to_owned()]));
    assert_eq!(of("-", "pfctx=0x08 pfcrx=0x08 trust_state=2\n"), (vec![Kind::ModuleOptions], vec![]));
    assert_eq!(of("-", "kernelopt=autoPartition=FALSE\n"), (vec![Kind::BootArguments], vec![]));
    assert_eq!(of("-", "Dear all,\nthe meeting is at nine.\n"), (vec![], vec![]));
    assert_eq!(of("-", ""), (vec![], vec![]));
}

#[test]
fn no_myth_fires_on_other_pastes() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/public");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("the fixtures").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let bytes = std::fs::read(entry.path()).expect("a fixture");
        let explained = explain("-", &bytes);
        let myths: Vec<&str> = checks(&explained).into_iter().filter(|check| check.contains(".myth-")).collect();
        let expected: &[&str] =
            if name.starts_with("03-") { &["vm.myth-pvrdma-keys", "vm.myth-remove-vmxnet3"] } else { &[] };
        let mut sorted = myths.clone();
        sorted.sort_unstable();
        let lines = String::from_utf8_lossy(&bytes).into_owned();
        assert_eq!(sorted, expected, "{name}:\n{lines}");
        seen += 1;
    }
    assert!(seen > 40, "{seen} fixtures");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2_000))]
    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..400)) {
        let _ = explain("-", &bytes);
    }

    #[test]
    fn any_mixture_of_lines_is_survived(picks in proptest::collection::vec((0_usize..CASES.len(), 0_usize..12, 0_usize..90), 0..12)) {
        let mut text = String::new();
        for (case, line, cut) in picks {
            let lines: Vec<&str> = CASES[case].text.lines().collect();
            text.extend(lines[line % lines.len()].chars().take(cut));
            text.push('\n');
        }
        let _ = explain("-", text.as_bytes());
    }
}

#[test]
fn what_guests_print_is_no_output_of_a_host() {
    for text in [
        fixture!("07-ibverbs-driver-warnings-before-banner"),
        fixture!("25-ib_write_bw-table-mixed-tabs"),
        fixture!("26-ib_write_bw-gid-decimal"),
        fixture!("51-ompi-openib-no-preset-parameters"),
        fixture!("53-ompi-no-openfabrics-schemes-and-no-pml-ucx"),
        fixture!("58-show_gids-tabs-missing-version"),
    ] {
        let explained = explain("-", text.as_bytes());
        assert!(explained.findings.is_empty() && !explained.kinds.contains(&Kind::Esxcli), "{explained:?}\n{text}");
    }
}
