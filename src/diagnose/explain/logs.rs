//! What messages of logs and of failed commands mean, wherever they stand and however they were broken into lines.

use std::collections::BTreeSet;

use super::parts::Line;
use super::squeezed::{Place, Squeezed, number};
use super::{Explained, Kind, Value, kind, value};
use crate::diagnose::finding::{Confidence, Finding, Status};
use crate::fabric::State;
use crate::probe::logs::{Severity, vmkernel};
use crate::probe::vmx::Dictionary;

/// Reads what such messages say.
pub(super) fn read(explained: &mut Explained, lines: &[Line<'_>]) {
    let text = Squeezed::new(lines);
    let raw = |line: u32| {
        let after = lines.partition_point(|(number, _)| *number <= line);
        after.checked_sub(1).map_or("", |at| &*lines[at].1)
    };
    window(explained, &text, &raw);
    bars(explained, &text, &raw);
    for message in MESSAGES {
        let mut places = message.words.iter().flat_map(|words| text.find(words)).collect::<Vec<Place<'_>>>();
        if places.is_empty() || message.unless.iter().any(|words| text.first(words).is_some()) {
            continue;
        }
        places.sort_by_key(|place| place.line);
        places.dedup_by_key(|place| place.line);
        let mut finding = Finding::new(
            message.check,
            message.status,
            message.confidence,
            message.subject,
            message.title,
            message.cause,
        );
        finding = finding.decided_by(message.decide);
        if !message.help.is_empty() {
            finding = finding.helped_by(message.help, message.commands, "");
        }
        for place in places.iter().take(super::MOST_EVIDENCE) {
            finding = finding.shown(place.line, raw(place.line));
        }
        if let Some(kind) = message.kind {
            explained.is(kind);
        }
        explained.finding(finding);
    }
    if let Some(place) = text.first("memory reservation (sched.mem.min) should be equal to memsize(")
        && let Some(needed) = number(place.rest)
    {
        let needed = i64::try_from(needed).unwrap_or(i64::MAX);
        explained.fact(place.line, "memsize", State::Known(Value::Number(needed)), Some("MB"));
    }
    dictionary(explained, lines);
    errors(explained, lines);
}

/// Errors of drivers and devices that no message above is about: told by module and severity.
fn errors(explained: &mut Explained, lines: &[Line<'_>]) {
    if !explained.kinds.contains(&Kind::VmkernelLog) {
        return;
    }
    let told: BTreeSet<u32> =
        explained.findings.iter().flat_map(|finding| &finding.evidence).filter_map(|shown| shown.line).collect();
    let mut modules: Vec<String> = Vec::new();
    let mut meanings: Vec<String> = Vec::new();
    let mut places = Vec::new();
    for (number, raw) in lines {
        if told.contains(number) || !kind::is_message(raw) || !vmkernel::matters(raw) {
            continue;
        }
        let Some(line) = vmkernel::line(raw) else { continue };
        let meaning = vmkernel::meaning(line.text);
        let severity = meaning.as_ref().map_or(line.severity, |meaning| meaning.severity.max(line.severity));
        // What follows from a message that is explained already is no error of its own.
        if severity < Severity::Error || (meaning.is_some() && !told.is_empty()) {
            continue;
        }
        let module = line.module.unwrap_or("VMkernel").to_owned();
        if !modules.contains(&module) {
            modules.push(module);
        }
        if let Some(meaning) = meaning.filter(|meaning| !meanings.contains(&meaning.text)) {
            meanings.push(meaning.text);
        }
        if places.len() < 8 {
            places.push((*number, raw));
        }
    }
    if places.is_empty() {
        return;
    }
    let modules = modules.join(", ");
    let title = format!("The VMkernel reports errors of {modules}");
    let cause =
        if meanings.is_empty() { "What these messages mean is not published.".to_owned() } else { meanings.join(". ") };
    let finding = Finding::new("host.vmkernel-errors", Status::Warn, Confidence::Possible, &modules, &title, &cause);
    explained.finding(places.iter().fold(finding, |finding, (number, raw)| finding.shown(*number, raw)));
}

/// One message, recognised by its words alone.
struct Message {
    words: &'static [&'static str],
    /// Words that make it another one.
    unless: &'static [&'static str],
    kind: Option<Kind>,
    check: &'static str,
    status: Status,
    confidence: Confidence,
    subject: &'static str,
    title: &'static str,
    cause: &'static str,
    decide: &'static str,
    help: &'static str,
    commands: &'static [&'static str],
}

const MESSAGES: &[Message] = &[
    Message {
        words: &["pause parameters cannot be set when pfc is enabled"],
        unless: &[],
        kind: Some(Kind::VmkernelLog),
        check: "host.pause-excluded-by-pfc",
        status: Status::Pass,
        confidence: Confidence::Proved,
        subject: "global pause",
        title: "Global pause cannot be set because PFC is on, which is the right state for RoCE",
        cause: "The driver refuses it: pause and priority flow control exclude each other. The command only says \"Unable to complete \
                Sysinfo operation\"; the reason stands in vmkernel.log. Nothing is wrong.",
        decide: "",
        help: "",
        commands: &[],
    },
    Message {
        words: &["Unable to complete Sysinfo operation"],
        unless: &["pause parameters cannot be set when pfc is enabled"],
        kind: Some(Kind::Esxcli),
        check: "host.sysinfo-operation",
        status: Status::Unknown,
        confidence: Confidence::Possible,
        subject: "esxcli",
        title: "The command failed, and says no more than that",
        cause: "This text stands for any refusal by the VMkernel or a driver.",
        decide: "The lines of vmkernel.log in the same second name the reason",
        help: "",
        commands: &[],
    },
    Message {
        words: &["Reject data: recfmt 0, sts 0x8", "Host (Initiator) is not allowed to use RDMA operations"],
        unless: &[],
        kind: None,
        check: "host.nvme-rdma-rejected",
        status: Status::Fail,
        confidence: Confidence::Proved,
        subject: "NVMe over RDMA",
        title: "The storage target refused the connection",
        cause: "The request of the connection manager reached the other side and was rejected there (status 0x8). That is the target's \
                decision: neither a cable nor PFC is to blame. A target that says \"not allowed to use RDMA operations\" wants another \
                number of responder resources than the host offers.",
        decide: "The log of the target at the same second",
        help: "",
        commands: &[],
    },
    Message {
        words: &["because PCIe link to the device is down"],
        unless: &[],
        kind: None,
        check: "host.pcie-link-down",
        status: Status::Fail,
        confidence: Confidence::Likely,
        subject: "PCIe link",
        title: "The host sees the PCIe link of the device as down",
        cause: "The device fell off the bus of the host: slot, riser, power, heat or power saving of the link (ASPM). The guest and its \
                driver are not the cause. Which of these it is cannot be told from the log.",
        decide: "The hardware log of the server (BMC) at the same time; the device in another slot",
        help: "",
        commands: &[],
    },
    Message {
        words: &["Adapter removed.", "removal is still pending", "is not a passthrough device"],
        unless: &[],
        kind: None,
        check: "host.pcie-hotplug-at-power-on",
        status: Status::Fail,
        confidence: Confidence::Likely,
        subject: "PCIe hot-plug",
        title: "The reset at power-on looked like a hot-plug: the device was removed and came back while the VM started",
        cause: "The slot reports removal and insertion when the device is reset, the host then no longer has it as a passthrough device. \
                This is not the 64-bit MMIO window. The id in the VM's error is decimal and the VM's own; the log has the host's address.",
        decide: "Remove and insert of the same slot in the second of the power-on",
        help: "Switch PCIe hot-plug off and reboot the host",
        commands: &["esxcli system settings kernel set -s enablePCIEHotplug -v FALSE"],
    },
    Message {
        words: &["msg.pci.noslotavail", "No PCIe slot available for", "Too many PCI devices are already configured"],
        unless: &[],
        kind: Some(Kind::PowerOnError),
        check: "vm.no-pcie-slot",
        status: Status::Fail,
        confidence: Confidence::Proved,
        subject: "pciBridge",
        title: "The VM has no PCIe slot for its devices",
        cause: "Not the number of devices is the matter: the VMX lacks the lines of pciBridge4 to pciBridge7 (virtualDev pcieRootPort, \
                functions 8), as files written by hand do.",
        decide: "Does the VMX have pciBridge4.present to pciBridge7.present?",
        help: "Add the bridges",
        commands: &[
            "pciBridge4.present = \"TRUE\"",
            "pciBridge4.virtualDev = \"pcieRootPort\"",
            "pciBridge4.functions = \"8\"",
            "(and the same for 5, 6, 7)",
        ],
    },
    Message {
        words: &["memory reservation (sched.mem.min) should be equal to memsize"],
        unless: &[],
        kind: Some(Kind::PowerOnError),
        check: "vm.memory-not-reserved",
        status: Status::Fail,
        confidence: Confidence::Proved,
        subject: "sched.mem.min",
        title: "Not all memory of the VM is reserved",
        cause: "A VM with a passthrough or PVRDMA device needs sched.mem.min equal to memSize; both are in MB.",
        decide: "",
        help: "Reserve all guest memory",
        commands: &["sched.mem.min = \"(memSize)\"", "sched.mem.pin = \"TRUE\""],
    },
    Message {
        words: &["cannot be added when Nested Hardware-Assisted Virtualization is enabled"],
        unless: &[],
        kind: Some(Kind::PowerOnError),
        check: "vm.nested-with-passthrough",
        status: Status::Fail,
        confidence: Confidence::Proved,
        subject: "vhv.enable",
        title: "Nested virtualisation and PCI passthrough exclude each other",
        cause: "vhv.enable is TRUE. Guides that tell to switch it on for RDMA or GPUs are wrong.",
        decide: "",
        help: "Switch nested virtualisation off",
        commands: &["vhv.enable = \"FALSE\""],
    },
    Message {
        words: &["Module 'DevicePowerOn' power on failed"],
        unless: &["total number of pages needed", "PCIEHP", "msg.pci.noslotavail", "should be equal to memsize"],
        kind: None,
        check: "vm.device-power-on-failed",
        status: Status::Unknown,
        confidence: Confidence::Possible,
        subject: "DevicePowerOn",
        title: "A device of the VM kept it from starting",
        cause: "This line does not say which, nor why.",
        decide: "The lines above it in vmware.log (PCIPassthru, Msg_Post), and vmkernel.log of the same second",
        help: "",
        commands: &[],
    },
    Message {
        words: &["Failed to generate predicates for pciPassthru", "No device hints found"],
        unless: &[],
        kind: None,
        check: "vm.passthrough-id",
        status: Status::Fail,
        confidence: Confidence::Likely,
        subject: "pciPassthruN.id",
        title: "The host finds no device for an id of the VMX",
        cause: "pciPassthruN.id is decimal, 00000:013:00.0 for 0000:0d:00.0; people write it in hexadecimal.",
        decide: "esxcli hardware pci list: convert the addresses to decimal and compare",
        help: "",
        commands: &[],
    },
    Message {
        words: &["Invalid option --device"],
        unless: &[],
        kind: Some(Kind::Esxcli),
        check: "tool.esxcli-option",
        status: Status::Warn,
        confidence: Confidence::Proved,
        subject: "esxcli hardware pci pcipassthru set",
        title: "The option is --device-id",
        cause: "`set` takes --device-id (-d), --enable (-e) and a bare --apply-now (-a).",
        decide: "",
        help: "",
        commands: &[],
    },
    Message {
        words: &["split()[0] for line in"],
        unless: &[],
        kind: Some(Kind::Shell),
        check: "tool.first-word-of-every-line",
        status: Status::Warn,
        confidence: Confidence::Proved,
        subject: "table of esxcli",
        title: "The script takes the first word of every line for a device",
        cause: "Titles and the rule of an esxcli table are lines too: it makes devices called \"Name\" and \"-----\".",
        decide: "",
        help: "",
        commands: &[],
    },
];

/// Bytes of a page.
const PAGE: u64 = 4096;
const GIB: u64 = 1 << 30;

fn gib(bytes: u64) -> String {
    format!("{:.2} GiB", bytes as f64 / GIB as f64)
}

/// The 64-bit MMIO window that was too small: pages needed against the limit.
fn window<'a>(explained: &mut Explained, text: &Squeezed, raw: &dyn Fn(u32) -> &'a str) {
    for place in text.find("total number of pages needed (") {
        let Some(needed) = number(place.rest) else { continue };
        let limit = place.rest.split("limit(").nth(1).and_then(number);
        let bytes = needed.saturating_mul(PAGE);
        let size = bytes.div_ceil(GIB).checked_next_power_of_two().unwrap_or(u64::MAX);
        let as_value = |number: u64| State::Known(Value::Number(i64::try_from(number).unwrap_or(i64::MAX)));
        explained.fact(place.line, "mmio.pages-needed", as_value(needed), Some("pages of 4 KiB"));
        let mut cause = format!("{needed} pages of 4 KiB are {}", gib(bytes));
        if let Some(limit) = limit {
            explained.fact(place.line, "mmio.pages-limit", as_value(limit), Some("pages of 4 KiB"));
            cause.push_str(&format!(", the limit of {limit} pages is {}", gib(limit.saturating_mul(PAGE))));
            if limit == 917_504 {
                cause.push_str(", the 32-bit window: 64-bit MMIO is off for this VM");
            }
        }
        cause.push_str(&format!(
            ". It needs EFI firmware, pciPassthru.use64bitMMIO and a window of the next power of two, {size} GB; the host needs memory \
             mapped I/O above 4 GB in its BIOS."
        ));
        let size_line = format!("pciPassthru.64bitMMIOSizeGB = \"{size}\"");
        explained.finding(
            Finding::new(
                "vm.mmio-window",
                Status::Fail,
                Confidence::Proved,
                "pciPassthru.64bitMMIOSizeGB",
                "The BARs of the passthrough devices do not fit into the VM's MMIO window",
                &cause,
            )
            .shown(place.line, raw(place.line))
            .helped_by(
                "Give the VM a 64-bit MMIO window",
                &["firmware = \"efi\"", "pciPassthru.use64bitMMIO = \"TRUE\"", &size_line],
                "the VM starts, and the line is not in its new vmware.log",
            ),
        );
    }
}

/// BARs as the VM's log lists them: together they tell the window that is needed.
fn bars<'a>(explained: &mut Explained, text: &Squeezed, raw: &dyn Fn(u32) -> &'a str) {
    let mut sum = 0_u64;
    let mut first = None;
    for place in text.find("barIndex") {
        let (Some(index), Some(size)) = (number(place.rest), place.rest.split("size").nth(1).and_then(number)) else {
            continue;
        };
        let known = State::Known(Value::Number(i64::try_from(size).unwrap_or(i64::MAX)));
        explained.fact(place.line, &format!("bar{index} (line {})", place.line), known, Some("bytes"));
        sum = sum.saturating_add(size);
        first.get_or_insert(place.line);
    }
    let unassigned = text.first("at <unassigned>").or_else(|| text.first("<unassigned>"));
    let efi = text.first("firmware=\"efi\"").is_some();
    if let Some(line) = first {
        let cause = format!(
            "The BARs that the log lists are {} together. The window has to be the next power of two, {} GB.",
            gib(sum),
            sum.div_ceil(GIB).checked_next_power_of_two().unwrap_or(u64::MAX)
        );
        let finding = Finding::new(
            "vm.bar-sizes",
            Status::Info,
            Confidence::Proved,
            "BARs",
            "The host maps the BARs of the device",
            &cause,
        );
        explained.finding(finding.shown(line, raw(line)));
    }
    let Some(place) = unassigned else { return };
    if efi {
        return;
    }
    let (confidence, cause) = match first {
        Some(_) => (
            Confidence::Likely,
            "The host maps the BARs, the guest's firmware does not place them: a VM with BIOS firmware cannot reach above 4 GB.",
        ),
        None => (
            Confidence::Possible,
            "The guest's firmware did not place a BAR of the device: a VM with BIOS firmware cannot reach above 4 GB, or its MMIO window is too small.",
        ),
    };
    let finding = Finding::new(
        "vm.bar-unassigned",
        Status::Fail,
        confidence,
        "firmware",
        "A BAR of the device has no address in the guest",
        cause,
    )
    .decided_by("firmware, pciPassthru.use64bitMMIO and 64bitMMIOSizeGB in the VMX; BAR sizes in vmware.log")
    .shown(place.line, raw(place.line));
    explained.finding(finding);
}

/// The configuration that a VM's log repeats: the lines between its mark and the next one.
fn dictionary(explained: &mut Explained, lines: &[Line<'_>]) {
    let mut inside = false;
    let mut any = None;
    let mut count = 0;
    for (number, line) in lines {
        let Some((_, entry)) = line.split_once("DICT ") else { continue };
        if let Some(section) = entry.trim().strip_prefix("---") {
            inside = section.trim().eq_ignore_ascii_case("CONFIGURATION");
            if inside {
                any = Some(*number);
            }
            continue;
        }
        if inside {
            for entry in Dictionary::parse(entry.trim().as_bytes()).entries() {
                count += 1;
                if !entry.key.to_ascii_lowercase().starts_with("guestinfo.") {
                    explained.fact(*number, &entry.key, value(&entry.value), None);
                }
            }
        }
    }
    if let Some(line) = any {
        let (title, cause) = if count == 0 {
            (
                "The log's copy of the VMX is empty",
                "The section CONFIGURATION holds no line here, so nothing is known of the VMX.",
            )
        } else {
            (
                "The log holds a copy of the VMX",
                "The section CONFIGURATION is the VMX as it was when the VM started; it may have changed since.",
            )
        };
        let finding =
            Finding::new("vm.configuration-in-log", Status::Info, Confidence::Proved, "vmware.log", title, cause);
        explained.finding(finding.shown(line, "DICT --- CONFIGURATION"));
    }
}
