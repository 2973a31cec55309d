//! Large BARs need a window above 4 GiB in the VM. Which BARs a card has is known by its model, and by what the log of the
//! VM shows of those it mapped. The arithmetic is that of the rules for a VMX.

use super::file;
use super::log::{self, Reason};
use super::machine::{self, Vm, WHOLE};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Status;
use crate::diagnose::lint::{Finding, Severity};
use crate::fabric::{Attribute, Entity};
use crate::probe::vmx::Dictionary;

/// The window for 64-bit BARs holds those of the VM's devices.
pub const CHECK: Check = Check {
    id: "vm.mmio-window",
    title: "The 64-bit MMIO window holds the BARs of the devices that are passed through",
    gate: "VMs with a graphics device of NVIDIA passed through, or with 64-bit BARs in their log",
    rule: "warns if the window is smaller than the 64-bit BARs or than the next power of two, or is switched off though they \
           do not fit below 4 GiB (a VM that runs is not stopped by it, its next power-on is); tells where sizes are not known; \
           passes else",
    source: Source { text: "KB 2142307; vhpc-toolkit docs/sample-operations.md", weak: false },
    thresholds: &[],
    explains: &["vm.power-on-failed", "vm.configuration"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// The rules about the window.
pub(super) const RULES: [&str; 7] = [
    "vmx.mmio-off",
    "vmx.mmio-small",
    "vmx.mmio-tight",
    "vmx.mmio-unproved",
    "vmx.mmio-by-memory",
    "vmx.mmio-size-malformed",
    "vmx.mmio-without-efi",
];

/// True for a VM with a graphics device of which the window matters.
pub(super) fn has_graphics(scene: &Scene<'_>, vm: &Vm) -> bool {
    let vendor = |id| scene.text(id, Attribute::VendorId) == Some("10de");
    let models = |id| scene.list(id, Attribute::AllowedDevices).unwrap_or_default();
    vm.of(WHOLE).any(|device| {
        let chain = scene.joined.chains.iter().find(|chain| chain.device == device.id);
        let function = chain.and_then(|chain| chain.reaches(|entity| matches!(entity, Entity::PciFunction(_))));
        vendor(&device.id)
            || models(&device.id).iter().any(|model| model.starts_with("10de:"))
            || function.is_some_and(vendor)
    })
}

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    machine::with(scene, WHOLE).iter().filter_map(|vm| of(scene, vm)).collect()
}

fn of(scene: &Scene<'_>, vm: &Vm) -> Option<Judged> {
    let lines = log::lines(scene, &vm.id);
    let bars = log::large_bars(&lines);
    let asked = lines.iter().find(|line| matches!(log::reason(line.text), Some(Reason::Window(..))));
    if !has_graphics(scene, vm) && bars.is_empty() && asked.is_none() {
        return None;
    }
    let vmx = match file::of(scene, vm) {
        Ok(vmx) => vmx,
        Err((lack, why)) => {
            let path = scene.text(&vm.id, Attribute::VmxPath).unwrap_or("the VMX");
            let decide = format!("on {}: grep -i -e mmio -e firmware '{path}'", vm.host);
            return Some(vm.unclear(&vm.id, lack, &format!("its 64-bit MMIO window: {why}"), decide));
        }
    };
    let findings = file::findings(scene, vm, &vmx, None, |rule| RULES.contains(&rule.id));
    let worst = findings.iter().map(|finding| finding.rule.severity).max();
    if worst.is_none() {
        return Some(by_log(scene, vm, &vmx, &lines));
    }
    let (grave, title) = match worst {
        Some(Severity::Error) => (Status::Warn, "its 64-bit MMIO window does not hold the BARs of its devices"),
        Some(Severity::Warning) => (Status::Warn, "its 64-bit MMIO window is narrow for the BARs of its devices"),
        _ => (Status::Info, "whether its 64-bit MMIO window is large enough is not known"),
    };
    let words: Vec<&str> = findings.iter().map(|finding| finding.found.message.as_str()).collect();
    let mut cause = words.join("; ");
    if vm.is_on() && grave == Status::Warn {
        cause.push_str(". It runs, so the file was changed since it was started: its next power-on fails by this");
    }
    let all: Vec<&Finding> = findings.iter().collect();
    let mut judged = vm
        .fault(&vm.id, grave, title, &cause)
        .shown_by(findings.iter().map(|finding| file::exhibit(vm, finding)))
        .shown_by(asked.map(|line| line.exhibit("the log of the last power-on")));
    match file::mended(vm, &vmx, &all, "Give the VM a window that holds them") {
        Some(cure) => judged = judged.cured_by(cure.verified_by(&["vm.mmio-window"])),
        None => judged = judged.decided_by(format!("on {}: lspci -v, the regions of the device", vm.host)),
    }
    Some(judged.reaching(vm.way(scene)))
}

/// What the BARs that the VM mapped at its last start say, where no rule has anything against the file.
fn by_log(scene: &Scene<'_>, vm: &Vm, vmx: &Dictionary, lines: &[log::Line<'_>]) -> Judged {
    const GIB: u64 = 1 << 30;
    let bars = log::large_bars(lines);
    let need = bars.iter().fold(0_u64, |sum, (_, _, size, _)| sum.saturating_add(*size));
    let is_on = vmx.flag("pciPassthru.use64bitMMIO") == Some(true);
    let window = if is_on { vmx.number("pciPassthru.64bitMMIOSizeGB").unwrap_or(32) } else { 0 };
    // What fits below 4 GiB needs no window.
    if need <= 3584 << 20 || need <= window.saturating_mul(GIB) {
        return vm.pass(&vm.id, "nothing speaks against its 64-bit MMIO window");
    }
    let wanted = need.div_ceil(GIB).checked_next_power_of_two().unwrap_or(u64::MAX);
    let title = "its 64-bit MMIO window does not hold the BARs that its log shows";
    let cause = format!(
        "the 64-bit BARs of its devices are {:.2} GiB and the window is {window} GB: the next power-on fails with 'total number \
         of pages needed exceeds limit'",
        need as f64 / GIB as f64
    );
    let path = |value: &str| format!("Edit Settings > VM Options > Advanced > Edit Configuration: {value}");
    let steps =
        [path("pciPassthru.use64bitMMIO = \"TRUE\""), path(&format!("pciPassthru.64bitMMIOSizeGB = \"{wanted}\""))];
    let mut judged = vm.fault(&vm.id, Status::Warn, title, &cause);
    for (address, number, size, id) in &bars {
        judged = judged.shown(id, Attribute::Message, format!("BAR {number} of {address}: {size} bytes"));
    }
    judged
        .cured_by(vm.edit("Give the VM a window that holds them", &steps).verified_by(&["vm.mmio-window"]))
        .reaching(vm.way(scene))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, says};
    use crate::diagnose::check::vm::machine::tests::{gpu_missed, gpu_off};
    use crate::diagnose::document::{Raw, evidence};
    use crate::fabric::{Observation, ObservationRef};

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || sized(Site::sound(), "64"),
        healthy: || sized(Site::sound(), "256"),
        unclear: || Site::sound().with("esx01", says("esxi.vmx-files", "")),
    };

    fn sized(site: Site, gigabytes: &str) -> Site {
        let size = |number: &str| format!("64bitMMIOSizeGB = \"{number}\"");
        site.replacing("esx01", "esxi.vmx-files", &size("128"), &size(gigabytes))
    }

    /// The raw outputs of a site.
    struct Texts<'a>(&'a Site);

    impl Raw for Texts<'_> {
        fn observation(&self, reference: &ObservationRef) -> Option<&Observation> {
            self.0.raw(reference).map(std::convert::AsRef::as_ref)
        }
    }

    #[test]
    fn evidence_is_the_line_of_the_file() {
        let site = sized(gpu_missed(), "64");
        let found = site.judge(&CHECK);
        let evidence = evidence(&found[0].evidence[0], site.fabric(), &Texts(&site));
        assert!(evidence.excerpt.ends_with("pciPassthru.64bitMMIOSizeGB = \"64\""), "{evidence:?}");
        assert!(found[0].cause.contains("65568 MiB"), "{}", found[0].cause);
        let cure = &found[0].cures[0];
        assert!(cure.steps[0].shown().ends_with("64bitMMIOSizeGB = \"128\""), "{cure:?}");
        assert!(cure.undo[0].shown().ends_with("64bitMMIOSizeGB = \"64\""), "{cure:?}");
    }

    #[test]
    fn it_weighs_by_who_uses_the_vm() {
        assert_eq!(sized(gpu_off(), "64").statuses(&CHECK), [Status::Info]);
        let running = sized(Site::sound(), "64").judge(&CHECK);
        assert!(running[0].status == Status::Warn && running[0].cause.contains("It runs"), "{running:?}");
        let off = gpu_missed().replacing("esx01", "esxi.vmx-files", "pciPassthru.use64bitMMIO = \"TRUE\"\n", "");
        assert_eq!(off.statuses(&CHECK), [Status::Warn]);
    }

    #[test]
    fn a_card_that_no_rule_knows_is_judged_by_its_log() {
        let other = |site: Site| {
            let site = site.replacing("esx01", "esxi.vmx-files", "deviceId = \"0x20f1\"", "deviceId = \"0x9999\"");
            sized(site, "32")
        };
        let found = other(gpu_missed()).judge(&CHECK);
        assert!(found[0].status == Status::Warn && found[0].cause.contains("64.03 GiB"), "{found:?}");
        assert!(found[0].cures[0].steps[1].shown().ends_with("\"128\""), "{found:?}");
    }

    #[test]
    fn network_adapters_need_no_window() {
        let site = Site::sound()
            .replacing("esx01", "esxi.vm-devices", "vendorId = 4318", "vendorId = 5555")
            .replacing("esx01", "esxi.vm-log-lines", "type 3", "type 2")
            .replacing("esx01", "esxi.pci-list", "Vendor ID: 0x10de", "Vendor ID: 0x15b3");
        assert!(site.judge(&CHECK).is_empty());
    }
}
