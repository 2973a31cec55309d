//! What was said when a VM did not start: which module or device of it failed, and where the reason is to be looked for. A
//! reason that the text does not state is not guessed.

use std::collections::BTreeMap;

use super::squeezed::number;
use super::{Explained, Kind, MOST_EVIDENCE};
use crate::diagnose::finding::{Confidence, Finding, Status};

/// Words behind which the device and its id stand.
pub(super) const REGISTER: &str = "Failed to register the device";
/// Words before which the module stands, or behind which a fault does.
pub(super) const FAILED: &str = "power on failed";

/// So many different modules and devices are told of one text.
const MOST_TOLD: usize = 64;

/// Findings that tell why a VM did not start: a module that failed beside them says no more.
const REASONS: [&str; 8] = [
    "vm.mmio-window",
    "vm.device-not-passthrough",
    "vm.no-pcie-slot",
    "vm.memory-not-reserved",
    "vm.nested-with-passthrough",
    "vm.passthrough-id",
    "vm.device-not-registered",
    "host.pcie-hotplug-at-power-on",
];

/// Where the reason is looked for. Nothing of it changes anything.
const LOOK: [&str; 2] =
    ["grep -iE 'passthru|msg\\.|power on' vmware.log", "grep -iE 'passthru|PCIEHP|PCI:|IOMMU' /var/log/vmkernel.log"];

/// What of such messages was found.
#[derive(Debug, Default)]
pub(super) struct Failures {
    /// Device and id of each that could not be registered, with its lines; the rest of the message decides the reason.
    devices: BTreeMap<(String, String, bool), Vec<u32>>,
    /// Lines that say that something failed.
    lines: Vec<u32>,
}

impl Failures {
    /// A device that could not be registered: what stands behind [`REGISTER`], without blanks and in small letters.
    pub(super) fn device(&mut self, line: u32, rest: &str) {
        let Some((name, behind)) = rest.split_once("for") else { return };
        let Some(place) = name.strip_prefix("pcipassthru").filter(|place| number(place).is_some() && place.len() < 6)
        else {
            return;
        };
        let end = behind.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.').unwrap_or(behind.len());
        let support = behind[end..].starts_with("duetounavailablehardwareorsoftwaresupport");
        let key = (format!("pciPassthru{place}"), behind[..end].trim_end_matches(['.', ':']).to_owned(), support);
        if self.devices.len() < MOST_TOLD || self.devices.contains_key(&key) {
            push(self.devices.entry(key).or_default(), line);
        }
    }

    /// A line in which [`FAILED`] stands.
    pub(super) fn line(&mut self, line: u32) {
        push(&mut self.lines, line);
    }

    /// Says what failed. `raw` gives the line of a number.
    pub(super) fn tell<'a>(&self, explained: &mut Explained, raw: &dyn Fn(u32) -> &'a str) {
        for ((name, id, support), lines) in &self.devices {
            let finding = device(name, id, *support);
            explained.finding(lines.iter().fold(finding, |finding, line| finding.shown(*line, raw(*line))));
        }
        let is_message = self.lines.iter().any(|line| failed(raw(*line)).is_some());
        if !explained.kinds.contains(&Kind::VmwareLog) && (is_message || !self.devices.is_empty()) {
            explained.is(Kind::PowerOnError);
        }
        if explained.findings.iter().any(|finding| REASONS.contains(&finding.check.as_str())) {
            return;
        }
        for line in &self.lines {
            if let Some(failed) = failed(raw(*line)) {
                explained.finding(module(&failed).shown(*line, raw(*line)));
            }
        }
        // What is known to be such a message and is none of the above: at least where to look is said.
        if explained.kinds.contains(&Kind::PowerOnError) && explained.findings.is_empty() {
            explained.finding(
                Finding::new(
                    "vm.power-on-message",
                    Status::Unknown,
                    Confidence::Possible,
                    "power-on",
                    "A message about a VM that did not start, and none of those that are known here",
                    "What it means is not told here, which does not make it harmless.",
                )
                .decided_by("The lines above it in vmware.log, and vmkernel.log of the same second")
                .helped_by("Look for the reason", &LOOK, ""),
            );
        }
    }
}

fn push(lines: &mut Vec<u32>, line: u32) {
    if lines.len() < MOST_EVIDENCE && lines.last() != Some(&line) {
        lines.push(line);
    }
}

/// What a line says that failed: a module by its name, or a fault of the power-on. Nothing for a sentence about failing.
#[derive(Debug, PartialEq, Eq)]
enum Failed {
    /// `Module 'DevicePowerOn' power on failed.`, with any quotes or none.
    Module(String),
    /// `Power on failed: (vim.fault.GenericVmConfigFault)`, or the words alone.
    Fault(Option<String>),
}

/// True for a line that says that a VM did not start.
pub(super) fn is_failure(line: &str) -> bool {
    failed(line).is_some()
}

fn failed(line: &str) -> Option<Failed> {
    let lower = line.to_ascii_lowercase();
    let at = lower.find(FAILED)?;
    let before = lower[..at].trim_end();
    let quotes = |c: char| matches!(c, '\'' | '"' | '`' | '\u{2018}' | '\u{2019}' | '\u{201c}' | '\u{201d}');
    let name = before.trim_end_matches(quotes);
    let begin = name
        .rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .map_or(0, |at| at + name[at..].chars().next().map_or(0, char::len_utf8));
    let word = &name[begin..];
    let above = name[..begin].trim_end_matches(|c: char| quotes(c) || c.is_whitespace());
    // A name without quotes has a capital, other words after "module" are a sentence's.
    let named = name.len() < before.len() || line[begin..].starts_with(|c: char| c.is_ascii_uppercase());
    if named && !word.is_empty() && word.len() <= 64 && above.ends_with("module") {
        return Some(Failed::Module(line[begin..begin + word.len()].to_owned()));
    }
    // At the begin of the message only: `if power on failed, ...` is a sentence.
    let begins = before.is_empty() || before.ends_with(['-', ':', ')', '|', '>']);
    let behind = lower[at + FAILED.len()..].trim_start();
    if !begins || !(behind.is_empty() || behind.starts_with([':', '.', '('])) {
        return None;
    }
    let fault = behind.find("vim.fault.").map(|place| {
        let from = line.len() - behind.len() + place;
        let end = line[from..].find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(line.len() - from);
        line[from..from + end].trim_end_matches('.').to_owned()
    });
    Some(Failed::Fault(fault))
}

fn module(failed: &Failed) -> Finding {
    let (check, subject, title, cause) = match failed {
        Failed::Module(name) if name.eq_ignore_ascii_case("DevicePowerOn") => (
            "vm.device-power-on-failed",
            name.clone(),
            "The VM did not start: one of its devices could not be set up".to_owned(),
            "DevicePowerOn is the step in which the devices of a VM are set up. This line does not say which device, nor why."
                .to_owned(),
        ),
        Failed::Module(name) => (
            "vm.module-power-on-failed",
            name.clone(),
            format!("The VM did not start: its module {name} failed"),
            "The line names the part of the VM's process that failed, and no reason.".to_owned(),
        ),
        Failed::Fault(fault) => {
            let name = fault.clone().unwrap_or_else(|| "power-on".to_owned());
            let cause = match fault {
                Some(fault) => format!("{fault} is the kind of the error, not its reason."),
                None => "The line gives no reason.".to_owned(),
            };
            ("vm.power-on-failed", name, "The VM did not start".to_owned(), cause)
        }
    };
    Finding::new(check, Status::Fail, Confidence::Proved, &subject, &title, &cause)
        .decided_by("The lines above it in vmware.log (PCIPassthru, Msg_Post), and vmkernel.log of the same second")
        .helped_by("Look for the reason", &LOOK, "")
}

fn device(name: &str, id: &str, support: bool) -> Finding {
    let title = format!("The VM did not start: the host did not register {name}");
    let mut cause = "The host's passthrough did not take the device of this entry of the VM.".to_owned();
    if support {
        cause.push_str(
            " The text says that hardware or software support for it is not available; what is missing it does not say.",
        );
    }
    if let Some(address) = address(id) {
        cause.push_str(&format!(
            " Numbers in such messages are decimal: as an address of the host {id} is {address}. It can be the VM's own too."
        ));
    }
    Finding::new("vm.device-not-registered", Status::Fail, Confidence::Proved, name, &title, &cause)
        .decided_by(
            "Is the device enabled for passthrough, without a reboot that it waits for? Who owns it now? What says vmkernel.log in \
             that second? Is vvtd.enable TRUE in the VMX? (With this message, people report, a VM started once that was off.)",
        )
        .helped_by(
            "Look for the reason",
            &["esxcli hardware pci pcipassthru list", "esxcli hardware pci list", LOOK[1]],
            "",
        )
}

/// `94:0.0`, in decimal, as the host writes it: `0000:5e:00.0`.
fn address(id: &str) -> Option<String> {
    let (bus, rest) = id.rsplit_once(':')?;
    let (domain, bus) = match bus.rsplit_once(':') {
        Some((domain, bus)) => (number(domain)?, number(bus)?),
        None => (0, number(bus)?),
    };
    let (slot, function) = rest.split_once('.')?;
    let (slot, function) = (number(slot)?, number(function)?);
    (domain <= 0xffff && bus <= 0xff && slot <= 0x1f && function <= 7)
        .then(|| format!("{domain:04x}:{bus:02x}:{slot:02x}.{function}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::explain::explain;

    fn found(text: &str) -> Vec<(String, Status)> {
        let explained = explain("-", text.as_bytes());
        explained.findings.iter().map(|finding| (finding.check.clone(), finding.status)).collect()
    }

    fn one(text: &str) -> Finding {
        let mut explained = explain("-", text.as_bytes());
        assert_eq!(explained.findings.len(), 1, "{text}: {:?}", explained.findings);
        explained.findings.remove(0)
    }

    #[test]
    fn modules_and_faults_are_read_whatever_their_quotes() {
        let module = |name: &str| Some(Failed::Module(name.to_owned()));
        for line in [
            "Module 'DevicePowerOn' power on failed.",
            "module DevicePowerOn power on failed",
            "Failed - Module \u{2018}DevicePowerOn\u{2019} power on failed.",
            "2026-01-02T03:04:05.678Z In(05) vmx - Module \"DevicePowerOn\" power on failed.",
        ] {
            assert_eq!(failed(line), module("DevicePowerOn"), "{line}");
        }
        assert_eq!(failed("Module PCIPassthru power on failed."), module("PCIPassthru"));
        let fault = |name: &str| Some(Failed::Fault(Some(name.to_owned())));
        assert_eq!(
            failed("Power on failed: (vim.fault.GenericVmConfigFault) ..."),
            fault("vim.fault.GenericVmConfigFault")
        );
        assert_eq!(failed("2026-01-02T03:04:05Z vmx - Power on failed."), Some(Failed::Fault(None)));
        for sentence in [
            "if the power on failed, open a ticket",
            "The module whose power on failed",
            "power on failed twice yesterday",
            "\u{e4}\u{2019} power on failed",
            "nothing of the kind",
        ] {
            assert_eq!(failed(sentence), None, "{sentence}");
        }
    }

    #[test]
    fn a_vm_that_did_not_start_is_never_called_well() {
        let of = |text: &str| {
            let finding = one(text);
            assert_eq!((finding.status, finding.evidence[0].line), (Status::Fail, Some(1)), "{text}");
            assert!(finding.remedies[0].commands.iter().any(|command| command.contains("vmkernel.log")), "{text}");
            finding.check
        };
        assert_eq!(of("Module 'DevicePowerOn' power on failed.\n"), "vm.device-power-on-failed");
        assert_eq!(of("DevicePowerOn: Module DevicePowerOn power on failed\n"), "vm.device-power-on-failed");
        assert_eq!(of("Module 'MonitorLoop' power on failed.\n"), "vm.module-power-on-failed");
        assert_eq!(of("Power on failed: (vim.fault.GenericVmConfigFault) ...\n"), "vm.power-on-failed");
        let log = "2026-01-02T03:04:05.678Z In(05) vmx - Module 'DevicePowerOn' power on failed.\n";
        assert_eq!(of(log), "vm.device-power-on-failed");
        assert_eq!(explain("-", log.as_bytes()).kinds, [Kind::VmwareLog]);
        assert_eq!(found("if the power on failed, open a ticket\n"), []);
        assert!(!explain("-", b"if the power on failed, open a ticket\n").is_recognised());
        let unknown = "msg.something.new: \"Nobody has published this one.\"\n";
        assert_eq!(found(unknown), [("vm.power-on-message".to_owned(), Status::Unknown)]);
    }

    #[test]
    fn a_device_that_was_not_registered_is_told_with_its_address() {
        let text = "Module PCIPassthru power on failed.\nFailed to register the device pciPassthru0 for 94:0.0 due to unavailable hardware or \
                    software support.\n";
        let explained = explain("-", text.as_bytes());
        assert_eq!(explained.kinds, [Kind::PowerOnError]);
        let finding = one(text);
        assert_eq!((finding.check.as_str(), finding.status), ("vm.device-not-registered", Status::Fail));
        assert!(finding.title.contains("pciPassthru0") && finding.evidence[0].line == Some(2), "{finding:?}");
        assert!(
            finding.cause.contains("94:0.0 is 0000:5e:00.0") && finding.cause.contains("not available"),
            "{}",
            finding.cause
        );
        // Without the reason none is told, and what is no address is none.
        let other = one("Failed to register the device pciPassthru1 for 300:0.0.\n");
        assert!(!other.cause.contains("support") && !other.cause.contains("decimal"), "{}", other.cause);
        // Something else that was not registered, and a VM whose device was.
        assert_eq!(found("Failed to register the device driver for this machine\n"), []);
        assert_eq!(
            found("2026-01-02T03:04:05.678Z In(05) vmx - PCIPassthru: Registered the device pciPassthru0 for 94:0.0\n"),
            []
        );
        assert_eq!(address("6:0.0").as_deref(), Some("0000:06:00.0"));
        assert_eq!((address("6:32.0"), address(""), address("1.2"), address("::.")), (None, None, None, None));
    }

    #[test]
    fn what_gives_the_reason_stands_alone() {
        let failed = "Module 'DevicePowerOn' power on failed.\n";
        let slot =
            "2026-01-02T03:04:05.678Z In(05) vmx - Vmxnet3 PCI: failed to reserve slot for vmxnet3 PCIe device\n";
        assert_eq!(found(&format!("{slot}{failed}")), [("vm.no-pcie-slot".to_owned(), Status::Fail)]);
        let id = "AH Failed to find a suitable device for pciPassthru0\n";
        assert_eq!(found(&format!("{id}{failed}")), [("vm.passthrough-id".to_owned(), Status::Fail)]);
        // What else is wrong in the text is no reason.
        let other = "esxcli hardware pci pcipassthru get -a\n";
        let both: Vec<String> = found(&format!("{other}{failed}")).into_iter().map(|(check, _)| check).collect();
        assert!(both.contains(&"vm.device-power-on-failed".to_owned()) && both.len() == 2, "{both:?}");
    }
}
