//! Each rule has a file in which it is the only one to find something, and one that is nearly the same and sound.

use std::collections::BTreeSet;

use super::RULES;
use super::samples::{Sample, a100, adapter, dynamic, function, host, plain, pvrdma, sriov, vgpu};
use crate::diagnose::lint::{Finding, HostView, Passthrough, Severity, Subject, lint};
use crate::probe::vmx::Dictionary;

/// A rule, a file in which it alone finds something, and its healthy near-miss.
pub(super) type Fixture = (&'static str, Sample, Sample);

pub(super) fn findings(sample: &Sample, vmx: &Dictionary) -> Vec<Finding> {
    lint(&Subject { vmx, host: sample.host.as_ref(), snapshots: sample.snapshots })
}

fn raw(text: &str) -> Sample {
    Sample::of(text)
}

fn file_faults() -> Vec<Fixture> {
    vec![
        ("vmx.no-equals", plain().line("annotation \"a b\""), plain().line("annotation = \"a b\"")),
        ("vmx.no-name", plain().line("= \"TRUE\""), plain().line("# = \"TRUE\"")),
        ("vmx.open-quote", plain().line("annotation = \"a b"), plain().line("annotation = \"a |22b\"")),
        ("vmx.after-value", plain().line("annotation = a b"), plain().line("annotation = \"a # b\"")),
        (
            "vmx.odd-quotes",
            a100().set("pciPassthru.allowP2P", "TRUE").line("pciPassthru.RelaxACSforP2P = ”TRUE”"),
            a100()
                .set("pciPassthru.allowP2P", "TRUE")
                .set("pciPassthru.RelaxACSforP2P", "TRUE")
                .set("annotation", "“so”"),
        ),
        (
            "vmx.duplicate-key",
            plain().line("msg.autoanswer = \"true\"").line("msg.autoAnswer = \"true\""),
            plain().line("msg.autoanswer = \"true\"").line("#msg.autoAnswer = \"true\""),
        ),
        ("vmx.byte-order-mark", raw(&format!("\u{feff}{}", plain().text)), plain()),
        (
            "vmx.placeholder",
            a100().without("sched.mem.pin").set("sched.mem.min", "<VM_MEMORY_MB>"),
            a100().set("annotation", "<none>").set("guestinfo.metadata", "${user}"),
        ),
        (
            "vmx.pasted-remains",
            raw(&format!("```\n{}", plain().text)),
            raw(&format!("# ```\n# [root@esx1:~] vi a.vmx\n{}", plain().text)),
        ),
        ("vmx.unquoted-value", plain().line("annotation = a"), plain().line("annotation =")),
        (
            "vmx.trailing-comment",
            plain().line("annotation = \"a\" # b"),
            plain().line("# b").line("annotation = \"a # b\""),
        ),
        (
            "vmx.encoding-position",
            plain().without(".encoding").line(".encoding = \"UTF-8\""),
            raw(&format!("#!/usr/bin/vmware\n{}", plain().text)),
        ),
        ("vmx.bad-flag", plain().set("scsi0:1.present", "maybe"), plain().set("scsi0:1.present", "yes")),
        (
            "vmx.no-such-key",
            a100().set("pciPassthru.useSafeMMIO", "TRUE"),
            a100().set("pciPassthru.RelaxACSforP2P", "TRUE").set("pciPassthru.allowP2P", "TRUE"),
        ),
        ("vmx.host-setting", pvrdma().set("Net.PVRDMAVmknic", "vmk1"), pvrdma().set("numa.vcpu.preferHT", "TRUE")),
        ("vmx.irrelevant-key", a100().set("mks.enable3d", "TRUE"), plain().set("mks.enable3d", "TRUE")),
        ("vmx.hypervisor-shown", a100().set("hypervisor.cpuid.v0", "TRUE"), a100().set("hypervisor.cpuid.v0", "FALSE")),
        ("vmx.unknown-key", plain().set("pciPassthruX.mode", "1"), pvrdma().set("vrdma.nativeEndpoints", "TRUE")),
    ]
}

fn platform() -> Vec<Fixture> {
    let many = |sample: Sample, count: u32| {
        (1..count).fold(sample, |sample, number| {
            sample
                .set(&format!("pciPassthru{number}.present"), "TRUE")
                .set(&format!("pciPassthru{number}.id"), &format!("00000:{number:03}:00.0"))
                .set(&format!("pciPassthru{number}.vendorId"), "0x15b3")
                .set(&format!("pciPassthru{number}.deviceId"), "0x101d")
        })
    };
    vec![
        ("vmx.hardware-version", plain().set("virtualHW.version", "vmx-19"), plain().set("virtualHW.version", "21")),
        ("vmx.memory-size", plain().set("memSize", "65535"), plain().set("memSize", "65532")),
        (
            "vmx.memory-thousands",
            plain().set("memSize", "64000").set("sched.mem.min", "64000"),
            // 1000 GB.
            plain().set("memSize", "1024000").set("sched.mem.min", "1024000"),
        ),
        ("vmx.cores-per-socket", plain().set("numvcpus", "12"), plain().set("numvcpus", "8")),
        (
            "vmx.pci-bridges-missing",
            a100().without("pciBridge"),
            raw("pciPassthru0.present = \"TRUE\"\npciPassthru0.id = \"00000:175:00.0\"\nvirtualHW.version = \"14\"\n"),
        ),
        (
            "vmx.pci-bridge-functions",
            plain().without("pciBridge5.functions"),
            plain()
                .without("pciBridge5")
                .set("pciBridge5.present", "FALSE")
                .set("pciBridge5.virtualDev", "pcieRootPort"),
        ),
        ("vmx.device-count", many(adapter(), 17), many(adapter(), 16)),
    ]
}

fn paravirtual() -> Vec<Fixture> {
    let adapters = |count: u32| {
        (2..=count).fold(pvrdma(), |sample, number| {
            sample
                .set(&format!("ethernet{number}.virtualDev"), "vrdma")
                .set(&format!("ethernet{number}.dvs.portgroupId"), "dvportgroup-117201")
                .set(&format!("ethernet{number}.present"), "TRUE")
        })
    };
    let old = HostView { version: Some("6.5.0".to_owned()), ..host() };
    vec![
        (
            "vmx.pvrdma-spelling",
            pvrdma().set("ethernet1.virtualDev", "vmxnet3vrdma"),
            pvrdma().set("ethernet1.virtualDev", "PVRDMA"),
        ),
        (
            "vmx.adapter-type",
            plain().set("ethernet0.virtualDev", "sriov"),
            plain().set("ethernet0.virtualDev", "E1000e"),
        ),
        ("vmx.pvrdma-keys", pvrdma().set("pvrdma0.pciSlotNumber", "32"), pvrdma().set("vrdma.pciSlotNumber", "32")),
        ("vmx.pvrdma-hardware", pvrdma().set("virtualHW.version", "11"), plain().set("virtualHW.version", "11")),
        ("vmx.pvrdma-namespaces", pvrdma().set("virtualHW.version", "14"), pvrdma().set("virtualHW.version", "18")),
        (
            "vmx.pvrdma-native-endpoints",
            pvrdma().set("virtualHW.version", "17"),
            pvrdma().set("virtualHW.version", "18"),
        ),
        (
            "vmx.pvrdma-reservation",
            pvrdma().without("sched.mem.pin").set("sched.mem.min", "32768"),
            pvrdma().without("sched.mem.pin"),
        ),
        (
            "vmx.pvrdma-standard-switch",
            pvrdma().without("ethernet1.dvs").set("ethernet1.networkName", "RDMA"),
            plain().set("ethernet1.virtualDev", "vmxnet3").set("ethernet1.networkName", "RDMA"),
        ),
        ("vmx.pvrdma-count", adapters(11), adapters(10)),
        (
            "vmx.pvrdma-one-device",
            adapters(2).set("virtualHW.version", "13").beside(old.clone()),
            adapters(1).set("virtualHW.version", "13").beside(old),
        ),
        (
            "vmx.pvrdma-pair-removed",
            pvrdma().set("ethernet1.present", "FALSE"),
            pvrdma().set("ethernet0.present", "FALSE"),
        ),
        (
            "vmx.pvrdma-other-removed",
            pvrdma().set("pvrdma0.pciSlotNumber", "32").set("ethernet0.present", "FALSE"),
            pvrdma().set("ethernet0.present", "FALSE"),
        ),
        (
            "vmx.pvrdma-disconnected",
            pvrdma().set("ethernet1.startConnected", "FALSE"),
            pvrdma().set("ethernet0.startConnected", "FALSE"),
        ),
        ("vmx.pvrdma-guest", pvrdma().set("guestOS", "windows9srv-64"), pvrdma().set("guestOS", "rhel8-64")),
        (
            "vmx.pvrdma-host-not-tagged",
            pvrdma().beside(HostView { pvrdma_vmknic: Some(String::new()), ..host() }),
            pvrdma().beside(HostView { pvrdma_vmknic: None, ..host() }),
        ),
        (
            "vmx.pvrdma-switch-not-on-host",
            pvrdma().set("ethernet1.dvs.switchId", "50 1e 00 00").beside(host()),
            pvrdma().set("ethernet1.dvs.switchId", "501e8157-81ea-bad3-94e9-0f7bc91bda81").beside(host()),
        ),
    ]
}

fn passthrough() -> Vec<Fixture> {
    vec![
        (
            "vmx.passthrough-id-hex",
            a100().set("pciPassthru0.id", "0000:af:00.0"),
            a100().set("pciPassthru0.id", "0:175:0.0"),
        ),
        (
            "vmx.passthrough-id-form",
            a100().set("pciPassthru0.id", "0000:41:00.0"),
            a100().set("pciPassthru0.id", "00000:041:00.0"),
        ),
        (
            "vmx.passthrough-id-malformed",
            a100().set("pciPassthru0.id", "00000:300:00.0"),
            a100().set("pciPassthru0.id", "00000:255:31.7"),
        ),
        (
            "vmx.passthrough-id-twice",
            adapter()
                .set("pciPassthru1.present", "TRUE")
                .set("pciPassthru1.id", "0:175:0.0")
                .set("pciPassthru1.vendorId", "0x15b3"),
            adapter()
                .set("pciPassthru1.present", "TRUE")
                .set("pciPassthru1.id", "0:175:0.1")
                .set("pciPassthru1.vendorId", "0x15b3"),
        ),
        ("vmx.passthrough-id-missing", a100().without("pciPassthru0.id"), dynamic()),
        (
            "vmx.passthrough-not-on-host",
            a100().set("pciPassthru0.id", "00000:176:00.0").beside(host()),
            a100().beside(host()),
        ),
        (
            "vmx.passthrough-not-enabled",
            a100().beside(HostView {
                functions: Some(vec![crate::diagnose::lint::HostFunction {
                    passthrough: Some(Passthrough::Off),
                    ..function("0000:af:00.0", "20f1", 1)
                }]),
                ..host()
            }),
            a100().beside(HostView {
                functions: Some(vec![crate::diagnose::lint::HostFunction {
                    passthrough: None,
                    ..function("0000:af:00.0", "20f1", 1)
                }]),
                ..host()
            }),
        ),
        (
            "vmx.passthrough-other-device",
            a100().beside(HostView { functions: Some(vec![function("0000:af:00.0", "1eb8", 1)]), ..host() }),
            a100().beside(HostView { functions: Some(vec![function("0000:AF:00.0", "0x20F1", 1)]), ..host() }),
        ),
        (
            "vmx.passthrough-reservation",
            a100().without("sched.mem.pin").set("sched.mem.min", "32768"),
            a100().set("sched.mem.min", "0"),
        ),
        ("vmx.passthrough-memory-hot-add", a100().set("mem.hotadd", "TRUE"), plain().set("mem.hotadd", "TRUE")),
        ("vmx.passthrough-cpu-hot-add", a100().set("vcpu.hotadd", "TRUE"), a100().set("vcpu.hotadd", "FALSE")),
        ("vmx.passthrough-nested", a100().set("vhv.enable", "TRUE"), plain().set("vhv.enable", "TRUE")),
        ("vmx.passthrough-snapshots", a100().snapshots(1), a100().snapshots(0)),
        ("vmx.directpath", a100().set("virtualHW.version", "19"), dynamic()),
        ("vmx.dynamic-hardware", dynamic().set("virtualHW.version", "15"), dynamic().set("virtualHW.version", "17")),
        ("vmx.dynamic-and-id", dynamic().set("pciPassthru0.id", "00000:175:00.0"), dynamic()),
        (
            "vmx.allowed-devices",
            dynamic().set("pciPassthru0.allowedDevices", "A100"),
            dynamic().set("pciPassthru0.allowedDevices", "0x10de:0x20f1, 0x10de:0x20b7"),
        ),
        (
            "vmx.secure-boot-gpu",
            a100().set("uefi.secureBoot.enabled", "TRUE"),
            plain().set("uefi.secureBoot.enabled", "TRUE"),
        ),
        (
            "vmx.sriov-network",
            sriov().without("pciPassthru31.dvs"),
            sriov().without("pciPassthru31.dvs").set("pciPassthru31.networkName", "VF network"),
        ),
        (
            "vmx.sriov-physical",
            sriov().without("pciPassthru31.id").without("pciPassthru31.pfId"),
            sriov().without("pciPassthru31.pfId"),
        ),
        ("vmx.msi-off", a100().set("pciPassthru0.msiEnabled", "FALSE"), a100().set("pciPassthru0.msiEnabled", "TRUE")),
        (
            "vmx.nvlink-split",
            a100_sxm("00000:175:00.0").beside(HostView {
                functions: Some(vec![function("0000:af:00.0", "20b0", 1), function("0000:3b:00.0", "20b0", 0)]),
                ..host()
            }),
            a100_sxm("00000:175:00.0")
                .beside(HostView { functions: Some(vec![function("0000:af:00.0", "20b0", 1)]), ..host() }),
        ),
        ("vmx.hardware-above-host", plain().set("virtualHW.version", "20").beside(host()), plain().beside(host())),
    ]
}

fn a100_sxm(id: &str) -> Sample {
    a100().set("pciPassthru0.deviceId", "0x20b0").set("pciPassthru0.id", id)
}

fn window() -> Vec<Fixture> {
    vec![
        ("vmx.efi-missing", a100().without("firmware"), adapter()),
        (
            "vmx.mmio-off",
            a100().without("pciPassthru.use64bitMMIO"),
            a100().without("pciPassthru.").set("pciPassthru0.deviceId", "0x1eb8"),
        ),
        (
            "vmx.mmio-small",
            a100().set("pciPassthru.64bitMMIOSizeGB", "64"),
            a100().set("pciPassthru.64bitMMIOSizeGB", "256"),
        ),
        (
            "vmx.mmio-tight",
            a100().set("pciPassthru.64bitMMIOSizeGB", "65"),
            a100().set("pciPassthru.64bitMMIOSizeGB", "128"),
        ),
        (
            "vmx.mmio-unproved",
            a100().set("pciPassthru0.deviceId", "0x20b7").set("pciPassthru.64bitMMIOSizeGB", "32"),
            a100().set("pciPassthru0.deviceId", "0x20b7").set("pciPassthru.64bitMMIOSizeGB", "64"),
        ),
        (
            "vmx.mmio-by-memory",
            a100().set("pciPassthru0.deviceId", "0x2204").set("pciPassthru.64bitMMIOSizeGB", "32"),
            a100().set("pciPassthru0.deviceId", "0x2204").set("pciPassthru.64bitMMIOSizeGB", "64"),
        ),
        (
            "vmx.mmio-size-malformed",
            a100().set("pciPassthru.64bitMMIOSizeGB", "128GB"),
            a100().set("pciPassthru.64bitMMIOSizeGB", " 128 "),
        ),
        ("vmx.mmio-size-alone", adapter().set("pciPassthru.64bitMMIOSizeGB", "64"), adapter()),
        (
            "vmx.mmio-without-efi",
            a100().set("pciPassthru0.deviceId", "0x9999").set("firmware", "bios"),
            a100().set("pciPassthru0.deviceId", "0x9999").set("firmware", "EFI"),
        ),
        (
            "vmx.mmio-unneeded",
            adapter().set("pciPassthru.use64bitMMIO", "TRUE"),
            adapter().set("pciPassthru.use64bitMMIO", "FALSE"),
        ),
    ]
}

fn shares_and_nodes() -> Vec<Fixture> {
    let bound = |node: &str| a100().set("numa.nodeAffinity", node);
    let high = |sample: Sample| sample.set("sched.cpu.latencySensitivity", "high").set("sched.cpu.min", "38400");
    let profile = |name: &str| vgpu().set("pciPassthru0.vgpu", name);
    vec![
        ("vmx.vgpu-spelling", profile("GRID A100-1-5C"), profile("grid_a100-1-5c")),
        ("vmx.vgpu-mig-name", profile("a100-1g-5gb"), profile("grid_a100-1-5cme")),
        ("vmx.vgpu-profile", profile("grid_a100-80c"), profile("grid_a100d-80c")),
        ("vmx.vgpu-form", profile("a100"), profile("grid_p40-24q")),
        ("vmx.numa-default", plain().set("numa.autosize", "FALSE"), plain().set("numa.autosize", "TRUE")),
        ("vmx.numa-affinity-form", plain().set("numa.nodeAffinity", "node0"), plain().set("numa.nodeAffinity", "0, 1")),
        ("vmx.numa-node-of-device", bound("0").beside(host()), bound("1").beside(host())),
        (
            "vmx.numa-device-affinity",
            bound("1").beside(HostView { version: Some("9.0.0".to_owned()), ..host() }),
            bound("1").beside(HostView { version: Some("8.0.3".to_owned()), ..host() }),
        ),
        ("vmx.cpu-affinity", plain().set("sched.cpu.affinity", "0-15"), plain().set("sched.cpu.affinity", "ALL")),
        (
            "vmx.latency-value",
            plain().set("sched.cpu.latencySensitivity", "very high"),
            plain().set("sched.cpu.latencySensitivity", "Medium"),
        ),
        (
            "vmx.latency-memory",
            high(plain()).without("sched.mem.pin").set("sched.mem.min", "0"),
            high(plain()).without("sched.mem.pin"),
        ),
        ("vmx.latency-processors", high(plain()).set("sched.cpu.min", "0"), high(plain())),
        (
            "vmx.latency-key",
            plain().set("sched.latencySensitivity", "high"),
            plain().without("sched.cpu.latency").set("Sched.Cpu.LatencySensitivity", "normal"),
        ),
    ]
}

pub(super) fn fixtures() -> Vec<Fixture> {
    let families = [file_faults(), platform(), paravirtual(), passthrough(), window(), shares_and_nodes()];
    families.into_iter().flatten().collect()
}

/// Rules whose findings only stand beside those of others.
fn beside(rule: &str) -> &'static [&'static str] {
    if rule == "vmx.pvrdma-other-removed" { &["vmx.pvrdma-keys"] } else { &[] }
}

#[test]
fn each_rule_is_the_only_finding_of_its_fixture_and_silent_on_the_near_miss() {
    let mut wrong = Vec::new();
    for (rule, bad, good) in fixtures() {
        let vmx = Dictionary::parse(bad.text.as_bytes());
        let found: BTreeSet<_> = findings(&bad, &vmx).iter().map(|finding| finding.rule.id).collect();
        let others = found.iter().copied().filter(|other| *other != rule && !beside(rule).contains(other));
        if !found.contains(rule) || others.count() > 0 {
            wrong.push(format!("{rule}: its fixture gives {found:?}"));
        }
        let vmx = Dictionary::parse(good.text.as_bytes());
        for finding in findings(&good, &vmx) {
            wrong.push(format!("{rule}: near-miss gives {}: {}", finding.rule.id, finding.found.message));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Rules whose fixtures are bytes that no text can be.
const BY_BYTES: &[&str] = &["vmx.encoding-mismatch"];

#[test]
fn each_rule_has_a_fixture() {
    let have: BTreeSet<_> = fixtures().into_iter().map(|(rule, ..)| rule).chain(BY_BYTES.iter().copied()).collect();
    let rules: BTreeSet<_> = RULES.iter().map(|rule| rule.id).collect();
    assert_eq!(have, rules);
    assert_eq!(rules.len(), RULES.len(), "ids are unique");
    assert!(rules.len() >= 45);
}

#[test]
fn bytes_that_are_not_of_the_named_character_set_are_told() {
    let file = |encoding: &str| {
        let mut bytes = plain().set(".encoding", encoding).text.into_bytes();
        bytes.extend_from_slice(b"annotation = \"caf\xe9\"\n");
        bytes
    };
    let (wrong, right) = (Dictionary::parse(&file("UTF-8")), Dictionary::parse(&file("windows-1252")));
    let ids = |vmx: &Dictionary| -> Vec<_> {
        findings(&plain(), vmx).iter().map(|finding| (finding.rule.id, finding.found.line)).collect()
    };
    let last = u32::try_from(wrong.lines.len()).expect("a small number");
    assert_eq!(ids(&wrong), [("vmx.encoding-mismatch", Some(last))]);
    assert!(ids(&right).is_empty());
}

#[test]
fn a_rule_says_what_it_is_and_where_it_is_from() {
    for rule in RULES {
        assert!(
            rule.id.starts_with("vmx.")
                && rule.id.chars().all(|c| c.is_ascii_lowercase() || ".-0123456789".contains(c)),
            "{}",
            rule.id
        );
        assert!(!rule.title.is_empty() && !rule.title.ends_with('.'), "{}", rule.id);
        assert!(!rule.source.text.is_empty() && !rule.source.text.contains("idx "), "{}", rule.id);
    }
}

/// Rules without a public document whose failure was seen: the message of the host is in a report.
const SEEN: &[&str] = &["vmx.pci-bridges-missing", "vmx.passthrough-nested"];

#[test]
fn what_no_document_says_is_no_error_unless_it_was_seen() {
    for rule in RULES.iter().filter(|rule| rule.source.weak && rule.severity == Severity::Error) {
        assert!(SEEN.contains(&rule.id), "{} is an error on a weak source", rule.id);
    }
    for (rule, bad, _) in fixtures() {
        let vmx = Dictionary::parse(bad.text.as_bytes());
        for finding in findings(&bad, &vmx) {
            let fails = finding.found.power_on_fails.is_some();
            let known = !finding.rule.source.weak || SEEN.contains(&rule);
            assert!(!fails || (known && finding.rule.severity == Severity::Error), "{rule} foretells a failure");
        }
    }
}

#[test]
fn findings_survive_other_line_ends_and_another_order() {
    for (rule, bad, _) in fixtures() {
        if matches!(rule, "vmx.byte-order-mark" | "vmx.encoding-position" | "vmx.pasted-remains") {
            continue;
        }
        let turned: String = bad.text.lines().rev().flat_map(|line| [line, "\r\n"]).collect();
        let turned = format!(".encoding = \"UTF-8\"\r\n{}", turned.replace(".encoding = \"UTF-8\"\r\n", ""));
        let vmx = Dictionary::parse(turned.as_bytes());
        assert!(findings(&bad, &vmx).iter().any(|finding| finding.rule.id == rule), "{rule}");
    }
}

#[test]
fn no_message_carries_an_escape_sequence_of_the_file() {
    for (_, bad, _) in fixtures() {
        let hostile = bad.text.replace("TRUE", "TR\u{1b}[2JUE").replace("0000:", "\u{1b}]0;x\u{7}0000:");
        let vmx = Dictionary::parse(hostile.as_bytes());
        for finding in findings(&bad, &vmx) {
            let said = format!("{}{:?}{:?}", finding.found.message, finding.found.key, finding.found.power_on_fails);
            assert!(!said.contains('\u{1b}') && !said.contains('\u{7}'), "{}: {said:?}", finding.rule.id);
        }
    }
}
