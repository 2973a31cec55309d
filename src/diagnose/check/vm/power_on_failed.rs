//! Why a VM did not start, as its own log says it: each of the known texts with what it really means. What mends it is a
//! finding of its own where the cause can be seen; this one is folded under it then.

use super::log::{self, Line, Reason};
use super::machine::{self, CONCERNED, Power, Vm};
use super::memory;
use crate::diagnose::check::{Check, Exhibit, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::Cure;
use crate::fabric::Attribute;

/// The last power-on of a VM did not fail.
pub const CHECK: Check = Check {
    id: "vm.power-on-failed",
    title: "The last power-on of the VM did not fail",
    gate: "VMs with PVRDMA, passthrough or vGPU, and VMs whose log says that their power-on failed",
    rule: "fails if the log of a VM that does not run says that its power-on failed; warns if what stopped it is mended since; \
           passes else",
    source: Source {
        text: "Dell KB 000199172; KB 2002779; Broadcom KB on PCIEHP at power-on; field reports of the texts",
        weak: false,
    },
    thresholds: &[],
    explains: &["vm.power-state"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    machine::all(scene).iter().filter_map(|vm| of(scene, vm)).collect()
}

fn of(scene: &Scene<'_>, vm: &Vm) -> Option<Judged> {
    // A VM that runs was not stopped by anything in its log.
    let lines = if vm.power == Power::Off { log::lines(scene, &vm.id) } else { Vec::new() };
    let failures: Vec<&Line<'_>> = lines.iter().filter(|line| log::is_failure(line.text)).collect();
    if !failures.is_empty() {
        return Some(failed(scene, vm, &failures));
    }
    if !vm.has(CONCERNED) {
        return None;
    }
    if vm.power == Power::Off
        && let Some((lack, why)) = scene.unread(&vm.host, "esxi.vm-log-lines")
    {
        let path = scene.text(&vm.id, Attribute::VmxPath).unwrap_or_default();
        let folder = path.rsplit_once('/').map_or("its folder", |(folder, _)| folder);
        let decide = format!("on {}: grep -iE 'passthru|msg\\.|power on' '{folder}/vmware.log'", vm.host);
        return Some(vm.unclear(&vm.id, lack, &format!("its last power-on: {why}"), decide));
    }
    Some(vm.pass(&vm.id, "nothing in its log says that a power-on failed"))
}

fn failed(scene: &Scene<'_>, vm: &Vm, failures: &[&Line<'_>]) -> Judged {
    // The first that gives a reason gives the one: what follows is said by parts that fail because of it.
    let reason = failures.iter().find_map(|line| log::reason(line.text));
    let (why, cause) = said(reason);
    let title = format!("{} on {} did not start: {why}", vm.name, vm.host);
    let shown = failures.iter().map(|line| line.exhibit("its log"));
    let judged = match mended(scene, vm, reason) {
        Some(exhibit) => Judged::warn(
            &vm.id,
            Confidence::Likely,
            title,
            format!("{cause}. That is mended since, and the VM was not started again"),
        )
        .but(exhibit),
        None => {
            Judged::fail(&vm.id, if reason.is_some() { Confidence::Proved } else { Confidence::Possible }, title, cause)
        }
    };
    let judged = judged.shown_by(shown).reaching(vm.way(scene));
    match cure(vm, reason) {
        Some(cure) => judged.cured_by(cure.verified_by(&["vm.power-on-failed"])),
        None => judged.decided_by(format!(
            "on {}: grep -iE 'passthru|PCIEHP|PCI:|IOMMU' /var/log/vmkernel.log, in the second of the failure",
            vm.host
        )),
    }
}

/// What stopped it in a few words, and what that means.
fn said(reason: Option<Reason>) -> (String, String) {
    let gib = |pages: u64| pages as f64 / 262_144.0;
    let (short, long) = match reason {
        Some(Reason::Window(needed, limit)) => {
            return (
                "its devices need more address space than it offers".to_owned(),
                format!(
                    "the BARs need {:.2} GiB ({needed} pages of 4 KiB) and the VM offers {:.2} GiB: 64-bit MMIO is off or its \
                     window is too small",
                    gib(needed),
                    gib(limit)
                ),
            );
        }
        Some(Reason::Reservation) => (
            "not all of its memory is reserved",
            "a device of the host reaches the memory of the VM by itself, so all of it must be reserved at power-on",
        ),
        Some(Reason::Nested) => (
            "nested virtualization excludes passthrough",
            "the host refuses devices of its own to a VM that exposes hardware virtualization to its guest",
        ),
        Some(Reason::NoSlot) => (
            "it has no PCIe root ports",
            "the lines pciBridge4 to pciBridge7 (pcieRootPort, 8 functions each) are missing, as in a VMX that was written by \
             hand: the message asks to remove SCSI0, and the number of devices is not the fault",
        ),
        Some(Reason::Id) => (
            "the id of its device names none of this host",
            "the parts of pciPassthruN.id are decimal; one that was copied from esxcli or lspci is hexadecimal, and one of \
             another host or slot names nothing here",
        ),
        Some(Reason::NotGiven) => (
            "the host does not give its device away",
            "passthrough of the device is off or waits for a reboot, the id is another host's, or the slot took the reset of the \
             device for a hot-plug (PCIEHP in vmkernel.log in the same second; then the kernel setting enablePCIEHotplug is the \
             remedy). The numbers in the message are decimal",
        ),
        Some(Reason::NotRegistered) => (
            "the host's passthrough did not take its device",
            "the device is not enabled for passthrough, waits for a reboot, or the IOMMU of the host is off in its firmware",
        ),
        None => (
            "a device could not be set up",
            "DevicePowerOn is the step in which devices are set up; its log gives no reason",
        ),
    };
    (short.to_owned(), long.to_owned())
}

/// What shows that the reason is gone since.
fn mended(scene: &Scene<'_>, vm: &Vm, reason: Option<Reason>) -> Option<Exhibit> {
    match reason? {
        Reason::Reservation => memory::reserved(scene, vm)
            .filter(|(is_reserved, _)| *is_reserved)
            .map(|_| Exhibit::of(&vm.id, Attribute::MemoryReservation, "all memory is reserved now")),
        Reason::Nested => (scene.flag(&vm.id, Attribute::NestedVirtualization) == Some(false))
            .then(|| Exhibit::of(&vm.id, Attribute::NestedVirtualization, "nested virtualization is off now")),
        Reason::Window(needed, _) => {
            let vmx = super::file::of(scene, vm).ok()?;
            let is_on = vmx.flag("pciPassthru.use64bitMMIO") == Some(true);
            let window = vmx.number("pciPassthru.64bitMMIOSizeGB").unwrap_or(32);
            (is_on && needed <= window.saturating_mul(262_144))
                .then(|| Exhibit::of(&vm.id, Attribute::VmxLines, format!("the window is {window} GB now")))
        }
        _ => None,
    }
}

fn cure(vm: &Vm, reason: Option<Reason>) -> Option<Cure> {
    let advanced = |line: &str| format!("Edit Settings > VM Options > Advanced > Edit Configuration: {line}");
    let (title, paths) = match reason? {
        Reason::Window(needed, _) => {
            let size = needed.div_ceil(262_144).checked_next_power_of_two().unwrap_or(u64::MAX);
            let paths = vec![
                advanced("pciPassthru.use64bitMMIO = \"TRUE\""),
                advanced(&format!("pciPassthru.64bitMMIOSizeGB = \"{size}\"")),
            ];
            ("Give the VM a window that holds the BARs", paths)
        }
        Reason::Reservation => (
            "Reserve all memory",
            vec!["Edit Settings > Virtual Hardware > Memory > check Reserve all guest memory (All locked)".to_owned()],
        ),
        Reason::Nested => (
            "Switch nested virtualization off",
            vec!["Edit Settings > Virtual Hardware > CPU > uncheck Expose hardware assisted virtualization to the guest OS"
                .to_owned()],
        ),
        Reason::NoSlot => {
            let lines = (4..8).flat_map(|number| {
                [
                    format!("pciBridge{number}.present = \"TRUE\""),
                    format!("pciBridge{number}.virtualDev = \"pcieRootPort\""),
                    format!("pciBridge{number}.functions = \"8\""),
                ]
            });
            ("Add the PCIe root ports", lines.map(|line| advanced(&line)).collect())
        }
        Reason::Id => (
            "Remove the device and add it anew, so that the host writes its id",
            vec!["Edit Settings > the PCI device > Remove; then Add New Device > PCI Device".to_owned()],
        ),
        // What mends these is on the host, and which of several it is the log does not say.
        Reason::NotGiven | Reason::NotRegistered => return None,
    };
    Some(vm.edit(title, &paths))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::cause::diagnose;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::check::vm::machine::tests::{gpu_missed, gpu_off};
    use crate::diagnose::finding::Status;

    const FAILED: &str = "2026-11-24T06:12:40.771Z| vmx| | I005: Module 'DevicePowerOn' power on failed.\n";

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || logged(gpu_off(), "Device 175:0.0 is not a passthrough device"),
        healthy: gpu_off,
        unclear: || {
            gpu_off().with("esx01", fails("esxi.vm-log-lines", 1, "Connect to localhost failed: Connection failure"))
        },
    };

    /// The log of gpu-a with this line before the module that failed.
    fn logged(site: Site, line: &str) -> Site {
        let text = format!(
            "@item /vmfs/volumes/datastore1/gpu-a\n2026-11-24T06:12:40.771Z| vmx| | I005: {line}\n{FAILED}\n@status 0\n"
        );
        site.with("esx01", says("esxi.vm-log-lines", &text))
    }

    fn one(site: &Site) -> Judged {
        let found = site.judge(&CHECK);
        found.into_iter().find(|judged| judged.title.starts_with("gpu-a")).expect("gpu-a")
    }

    #[test]
    fn each_text_has_its_cause_and_its_remedy() {
        for (line, title, remedy) in [
            (
                "PCIPassthru: total number of pages needed (33566722) exceeds limit (917504), failing",
                "more address space",
                "64bitMMIOSizeGB",
            ),
            (
                "msg.pci.noslotavail: \"No PCIe slot available for SCSI0. Remove SCSI0 and try again.\"",
                "root ports",
                "pciBridge4.present",
            ),
            ("AH No device hints found", "names none of this host", "Add New Device"),
        ] {
            let site = logged(gpu_off(), line).replacing(
                "esx01",
                "esxi.vmx-files",
                "64bitMMIOSizeGB = \"128\"",
                "64bitMMIOSizeGB = \"64\"",
            );
            let judged = one(&site);
            assert_eq!((judged.status, judged.confidence), (Status::Fail, Confidence::Proved), "{line}");
            assert!(judged.title.contains(title) && judged.evidence.len() == 2, "{judged:?}");
            let steps = judged.cures[0].steps.iter().map(crate::diagnose::remedy::Step::shown).collect::<String>();
            assert!(steps.contains(remedy), "{steps}");
        }
        let bare = one(&logged(gpu_off(), "PCIPassthru: something else"));
        assert!(bare.confidence == Confidence::Possible && bare.decide.contains("vmkernel.log"), "{bare:?}");
        let given = one(&logged(gpu_off(), "Device 175:0.0 is not a passthrough device"));
        assert!(given.cures.is_empty() && given.cause.contains("PCIEHP") && !given.decide.is_empty(), "{given:?}");
    }

    #[test]
    fn published_logs_are_understood() {
        for (text, reason) in [
            (include_str!("../../../../tests/fixtures/esxi-logs/vmware-old.txt"), "address space"),
            (include_str!("../../../../tests/fixtures/esxi-logs/vmware-new.txt"), "address space"),
            (include_str!("../../../../tests/fixtures/esxi-logs/poweron-memory.txt"), "not all of its memory"),
            (include_str!("../../../../tests/fixtures/esxi-logs/poweron-noslot.txt"), "no PCIe root ports"),
        ] {
            let log = format!("@item /vmfs/volumes/datastore1/gpu-a\n{}\n\n@status 0\n", text.trim_end());
            // Its window is too small, and its memory is not reserved.
            let site = gpu_off()
                .with("esx01", says("esxi.vm-log-lines", &log))
                .replacing("esx01", "esxi.vmx-files", "64bitMMIOSizeGB = \"128\"", "64bitMMIOSizeGB = \"16\"")
                .replacing("esx01", "esxi.vm-configs", "LockedToMax = true", "LockedToMax = false")
                .replacing("esx01", "esxi.vm-configs", "reservation = 65536", "reservation = 0");
            let judged = one(&site);
            assert!(judged.status == Status::Fail && judged.title.contains(reason), "{judged:?}");
        }
    }

    #[test]
    fn the_arithmetic_is_that_of_the_message() {
        let judged = one(&logged(
            gpu_off(),
            "PCIPassthru: total number of pages needed (33566722) exceeds limit (917504), failing",
        ));
        assert!(judged.cause.contains("128.05 GiB") && judged.cause.contains("3.50 GiB"), "{}", judged.cause);
    }

    #[test]
    fn what_was_mended_since_is_to_be_started() {
        let words = "Invalid memory setting: memory reservation (sched.mem.min) should be equal to memsize(65536).";
        let judged = one(&logged(gpu_off(), words));
        assert!(judged.status == Status::Warn && judged.cause.contains("mended since"), "{judged:?}");
        assert_eq!(judged.against.len(), 1);
        let still = logged(gpu_off(), words)
            .replacing("esx01", "esxi.vm-configs", "LockedToMax = true", "LockedToMax = false")
            .replacing("esx01", "esxi.vm-configs", "reservation = 65536", "reservation = 0");
        assert_eq!(one(&still).status, Status::Fail);
    }

    #[test]
    fn it_is_folded_under_the_setting_that_caused_it() {
        let words = "PCI passthrough devices cannot be added when Nested Hardware-Assisted Virtualization is enabled.";
        let site = logged(gpu_missed(), words).replacing(
            "esx01",
            "esxi.vm-configs",
            "nestedHVEnabled = false",
            "nestedHVEnabled = true",
        );
        let causes = diagnose(site.examine(), site.fabric()).causes;
        let ids: Vec<&str> = causes.iter().map(|cause| cause.found.check.id).collect();
        assert_eq!(ids, ["vm.nested-virtualization"], "{ids:?}");
        let symptoms: Vec<&str> = causes[0].symptoms.iter().map(|found| found.check.id).collect();
        assert!(symptoms.contains(&"vm.power-on-failed") && symptoms.contains(&"vm.power-state"), "{symptoms:?}");
    }

    #[test]
    fn a_vm_that_runs_was_not_stopped() {
        let judged = one(&logged(Site::sound(), "Device 175:0.0 is not a passthrough device"));
        assert_eq!(judged.status, Status::Pass);
    }
}
