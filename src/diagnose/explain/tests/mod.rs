//! The conclusions that real pastes ask for, each also with other line ends, wrapped, with another order or name where that
//! can happen.

use super::*;

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../../../tests/fixtures/public/", $name, ".txt"))
    };
}

mod bounds;
mod values;
mod variants;

use values::{fact, text};

/// A text, its kinds, the findings that must come out, those that must not, and words that they must say.
struct Case {
    name: &'static str,
    text: &'static str,
    kinds: &'static [&'static str],
    findings: &'static [&'static str],
    not: &'static [&'static str],
    says: &'static [&'static str],
}

const CASES: &[Case] = &[
    Case {
        name: "a recipe for PVRDMA that lost its equals signs",
        text: fixture!("03-vmx-pvrdma-from-web-guide-stripped"),
        kinds: &["vmx"],
        findings: &["vm.myth-pvrdma-keys", "vm.myth-remove-vmxnet3"],
        not: &[],
        says: &["no such key", "ethernetN"],
    },
    Case {
        name: "nobody tagged a VMkernel adapter",
        text: fixture!("08-esxi-advanced-options-table"),
        kinds: &["settings-table"],
        findings: &["host.pvrdma-vmknic-empty"],
        not: &[],
        says: &["/Net/PVRDMAVmknic -s vmkN", "-r pvrdma -e true"],
    },
    Case {
        name: "one host negotiates PFC, its twin does not",
        text: fixture!("10-dcb-status-two-hosts"),
        kinds: &["esxcli"],
        findings: &["host.pfc-not-in-force"],
        not: &["host.pause-off"],
        says: &["PFC is not in force on vmnic5, vmnic6, but is on vmnic3, vmnic4", "CEE"],
    },
    Case {
        name: "pause refused because PFC is on",
        text: fixture!("11-esxcli-pauseparams-error-and-vmkernel"),
        kinds: &["esxcli", "vmkernel.log"],
        findings: &["host.pause-excluded-by-pfc"],
        not: &["host.sysinfo-operation", "host.pause-off"],
        says: &["Nothing is wrong"],
    },
    Case {
        name: "tables that contradict each other",
        text: fixture!("15-esxcli-rdma-nic-adapter-tables"),
        kinds: &["esxcli"],
        findings: &["host.rdma-pairing-disagrees"],
        not: &[],
        says: &["vmrdma0 is paired with vmnic1 by one source and with vmnic2 by another"],
    },
    Case {
        name: "pause off on one of two hosts",
        text: fixture!("16-esxcli-pauseParams-list"),
        kinds: &["esxcli"],
        findings: &["host.pause-off", "host.pause-on"],
        not: &[],
        says: &["Global pause is off on"],
    },
    Case {
        name: "parameters of the driver modules",
        text: fixture!("17-esxcfg-module-g"),
        kinds: &["esxcfg"],
        findings: &["host.module-parameters"],
        not: &["host.module-parameters-wiped"],
        says: &["priority 3"],
    },
    Case {
        name: "the storage target refuses",
        text: fixture!("19-vmkernel-nvmerdma-reject"),
        kinds: &["vmkernel.log"],
        findings: &["host.nvme-rdma-rejected"],
        not: &["host.pcie-link-down"],
        says: &["The storage target refused"],
    },
    Case {
        name: "the window is too small, old form of the log",
        text: fixture!("61-vmware-log-old-format"),
        kinds: &["vmware.log"],
        findings: &["vm.mmio-window"],
        not: &["vm.device-power-on-failed"],
        says: &["16.05 GiB", "3.50 GiB", "firmware = \"efi\"", "64bitMMIOSizeGB = \"32\""],
    },
    Case {
        name: "the window is too small, new form of the log",
        text: fixture!("62-vmware-log-new-format"),
        kinds: &["vmware.log"],
        findings: &["vm.mmio-window"],
        not: &[],
        says: &["128.05 GiB", "64bitMMIOSizeGB = \"256\""],
    },
    Case {
        name: "the link of the device is down",
        text: fixture!("65-vmkernel-esxi8-link-down-reset-skipped"),
        kinds: &["vmkernel.log"],
        findings: &["host.pcie-link-down"],
        not: &["host.pcie-hotplug-at-power-on", "vm.mmio-window"],
        says: &["The guest and its driver are not the cause"],
    },
    Case {
        name: "a reset that looks like a hot-plug",
        text: fixture!("66-vmkernel-pciehp"),
        kinds: &["vmkernel.log"],
        findings: &["host.pcie-hotplug-at-power-on"],
        not: &["vm.mmio-window", "host.pcie-link-down"],
        says: &["enablePCIEHotplug -v FALSE"],
    },
    Case {
        name: "no slot",
        text: fixture!("69-poweron-vimfault-noslot"),
        kinds: &["power-on-error"],
        findings: &["vm.no-pcie-slot"],
        not: &[],
        says: &["pciBridge4.virtualDev = \"pcieRootPort\""],
    },
    Case {
        name: "memory not reserved",
        text: fixture!("70-poweron-memory-reservation"),
        kinds: &["power-on-error"],
        findings: &["vm.memory-not-reserved"],
        not: &[],
        says: &["sched.mem.min equal to memSize", "MB"],
    },
    Case {
        name: "nested virtualisation",
        text: "PCI passthrough devices cannot be added when Nested Hardware-Assisted Virtualization is enabled.\n",
        kinds: &["power-on-error"],
        findings: &["vm.nested-with-passthrough"],
        not: &[],
        says: &["vhv.enable = \"FALSE\""],
    },
    Case {
        name: "what is passed through, as a table",
        text: fixture!("101-esxcli-pcipassthru-list"),
        kinds: &["esxcli"],
        findings: &[],
        not: &["host.owner-pending"],
        says: &[],
    },
    Case {
        name: "PCI devices as blocks",
        text: fixture!("103-esxcli-hardware-pci-list-blocks"),
        kinds: &["esxcli"],
        findings: &["host.passthrough-in-force"],
        not: &["host.owner-pending"],
        says: &["is passed through, and that is in force"],
    },
    Case {
        name: "snapshots",
        text: fixture!("112-vmsd-interleaved-keys"),
        kinds: &["vmsd"],
        findings: &["vm.snapshots"],
        not: &["vm.vmsd-malformed"],
        says: &["The VM has 4 snapshots", "2 of them are described here"],
    },
    Case {
        name: "a log that repeats the configuration",
        text: fixture!("113-vmware-log-dict-markers"),
        kinds: &["vmware.log"],
        findings: &["vm.configuration-in-log"],
        not: &[],
        says: &["The log's copy of the VMX is empty"],
    },
    Case {
        name: "a P40 in a VM without EFI",
        text: fixture!("63c-vmx-p40"),
        kinds: &["vmx"],
        findings: &["vmx.efi-missing"],
        not: &["vmx.no-such-key"],
        says: &[],
    },
    Case {
        name: "ids of devices in many forms",
        text: fixture!("68-vmx-pcipassthru-id-formats"),
        kinds: &["vmx"],
        findings: &["vmx.passthrough-id-form", "vmx.duplicate-key"],
        not: &["vmx.passthrough-id-hex"],
        says: &["0000:03:00.0 is written by hand", "0000:04:00.0 is written by hand"],
    },
    Case {
        name: "typographic quotes and the wrong value",
        text: fixture!("75-vmx-smart-quotes"),
        kinds: &["vmx"],
        findings: &["vmx.odd-quotes", "vmx.hypervisor-shown"],
        not: &[],
        says: &["TRUE is the default and shows the hypervisor"],
    },
    Case {
        name: "two names that differ in letter case",
        text: fixture!("105-vmx-duplicate-key-case"),
        kinds: &["vmx"],
        findings: &["vmx.duplicate-key"],
        not: &[],
        says: &["defined twice"],
    },
    Case {
        name: "edited in Notepad",
        text: fixture!("106-vmx-bom-and-fullwidth-quotes"),
        kinds: &["vmx"],
        findings: &["vmx.byte-order-mark", "vmx.duplicate-key", "vmx.odd-quotes"],
        not: &[],
        says: &["EF BB BF"],
    },
    Case {
        name: "an equals sign in a value",
        text: fixture!("107-vmx-value-with-equals-and-quotes"),
        kinds: &["vmx"],
        findings: &[],
        not: &["vmx.open-quote", "vmx.after-value", "vmx.no-equals"],
        says: &[],
    },
    Case {
        name: "virtual functions are no broken passthrough",
        text: fixture!("110-vmx-sriov-bypass"),
        kinds: &["vmx"],
        findings: &[],
        not: &["vmx.passthrough-id-malformed", "vmx.passthrough-id-missing", "vmx.passthrough-not-on-host"],
        says: &[],
    },
    Case {
        name: "comments, placeholders, hand-written ids",
        text: fixture!("111-vmx-comments-unquoted-hex-id"),
        kinds: &["vmx"],
        findings: &["vmx.placeholder", "vmx.passthrough-id-form", "vmx.trailing-comment"],
        not: &[],
        says: &["<VM_MEMORY_MB>", "0000:29:00.0", "00000:065:00.0"],
    },
    Case {
        name: "host BARs are there, the guest has no address for one",
        text: concat!(
            "2024-02-01T10:00:00.000Z In(05) vmx - PCIPassthru: Device 0000:42:00.0 barIndex 1 type 3 realaddr 0x3b800000000 size 34359738368 flags 12\n",
            "        Region 1: Memory at <unassigned> (64-bit, prefetchable)\n"
        ),
        kinds: &["vmware.log", "lspci"],
        findings: &["vm.bar-sizes", "vm.bar-unassigned"],
        not: &[],
        says: &["32.00 GiB", "a VM with BIOS firmware"],
    },
];

/// All that findings say.
fn told(explained: &Explained) -> String {
    let mut told = String::new();
    for finding in &explained.findings {
        let commands = finding.remedies.iter().flat_map(|remedy| &remedy.commands);
        for words in [&finding.title, &finding.cause, &finding.decide].into_iter().chain(commands) {
            told.push_str(words);
            told.push('\n');
        }
    }
    told
}

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
    let told = told(&explained);
    for words in case.says {
        assert!(told.contains(words), "{name}, {how}: nothing says {words} in {told}");
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
