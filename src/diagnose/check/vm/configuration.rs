//! What the rules for a VMX find in the file of a VM that somebody uses, as far as no other check says it: lines that are no
//! assignment, doubled keys, misspelt types, ids of the wrong form.

use std::collections::BTreeMap;

use super::machine::{self, CONCERNED, Vm};
use super::{file, firmware, mmio_window};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Status;
use crate::diagnose::lint::{AtPowerOn, Finding, HostView, Rule, Severity};
use crate::fabric::{Attribute, TargetId};
use crate::probe::vmx::Dictionary;

/// The VMX of a VM holds no error.
pub const CHECK: Check = Check {
    id: "vm.configuration",
    title: "The VMX of the VM holds no error",
    gate: "VMs with PVRDMA, passthrough or vGPU, and VMs whose VMX speaks of it",
    rule: "fails if the VMX holds an error from which the guest of a VM that runs suffers; warns if it holds one that bites at the \
           next power-on; passes else. What checks of their own look at is left to them",
    source: Source { text: "the rules of `rdmascope lint`, each with its own source", weak: false },
    thresholds: &[],
    explains: &["vm.power-on-failed", "vm.pvrdma-adapter", "guest.rdma-device"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// Rules whose matter has a check of its own.
const ELSEWHERE: [&str; 16] = [
    firmware::RULE,
    "vmx.pvrdma-reservation",
    "vmx.passthrough-reservation",
    "vmx.passthrough-nested",
    "vmx.device-count",
    "vmx.pvrdma-hardware",
    "vmx.dynamic-hardware",
    "vmx.pvrdma-standard-switch",
    "vmx.pvrdma-count",
    "vmx.pvrdma-one-device",
    "vmx.passthrough-not-on-host",
    "vmx.passthrough-not-enabled",
    "vmx.vgpu-mig-name",
    "vmx.vgpu-form",
    "vmx.latency-memory",
    "vmx.latency-value",
];

fn is_ours(rule: &Rule) -> bool {
    rule.severity == Severity::Error && !ELSEWHERE.contains(&rule.id) && !mmio_window::RULES.contains(&rule.id)
}

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let mut hosts: BTreeMap<TargetId, Option<HostView>> = BTreeMap::new();
    let mut found = Vec::new();
    for vm in machine::all(scene) {
        match file::of(scene, &vm) {
            Ok(vmx) if vm.has(CONCERNED) || speaks_of_it(&vmx) => {
                let host =
                    hosts.entry(vm.host.clone()).or_insert_with(|| HostView::of(scene.fabric, &vm.host)).as_ref();
                found.push(of(scene, &vm, &vmx, host));
            }
            Err((lack, why)) if vm.has(CONCERNED) => {
                let path = scene.text(&vm.id, Attribute::VmxPath).unwrap_or("its VMX");
                let decide = format!("on {}: cat '{path}', then `rdmascope lint` on the file", vm.host);
                found.push(vm.unclear(&vm.id, lack, &format!("its VMX: {why}"), decide));
            }
            _ => {}
        }
    }
    found
}

/// True if the file means RDMA or passthrough, whether or not the host understood it.
fn speaks_of_it(vmx: &Dictionary) -> bool {
    vmx.lines.iter().any(|line| {
        let text = vmx.text(line).to_ascii_lowercase();
        let text = text.trim_start();
        text.starts_with("pcipassthru")
            || text.starts_with("pvrdma")
            || (text.starts_with("ethernet") && text.contains("rdma"))
    })
}

fn of(scene: &Scene<'_>, vm: &Vm, vmx: &Dictionary, host: Option<&HostView>) -> Judged {
    let findings = file::findings(scene, vm, vmx, host, is_ours);
    let [first, ..] = &findings[..] else {
        return vm.pass(&vm.id, "its VMX holds no error");
    };
    // With the others the VM was started once, before the file was changed.
    let grave = if findings.iter().any(|finding| finding.rule.at_power_on == AtPowerOn::Starts) {
        Status::Fail
    } else {
        Status::Warn
    };
    let place = |finding: &Finding| finding.found.line.map_or_else(String::new, |line| format!("line {line}: "));
    let title = match findings.len() {
        1 => format!("an error in its VMX ({})", first.rule.id),
        count => format!("{count} errors in its VMX, {} first", first.rule.id),
    };
    let mut words: Vec<String> =
        findings.iter().take(MOST_TOLD).map(|finding| format!("{}{}", place(finding), finding.found.message)).collect();
    if findings.len() > MOST_TOLD {
        words.push(format!("and {} more", findings.len() - MOST_TOLD));
    }
    let fatal = findings.iter().find_map(|finding| finding.found.power_on_fails.as_ref());
    if let Some(why) = fatal {
        words.push(format!("the next power-on fails: {why}"));
    }
    let told: Vec<&Finding> = findings.iter().take(MOST_TOLD).collect();
    let mut judged = vm
        .fault(&vm.id, grave, &title, &words.join("; "))
        .shown_by(told.iter().map(|finding| file::exhibit(vm, finding)))
        .reaching(vm.way(scene));
    if let Some(cure) = file::mended(vm, vmx, &told, "Mend the VMX") {
        judged = judged.cured_by(cure.verified_by(&["vm.configuration"]));
    } else {
        let path = scene.text(&vm.id, Attribute::VmxPath).unwrap_or("its VMX");
        judged = judged.decided_by(format!("`rdmascope lint` on {path} says of each line what was meant"));
    }
    judged
}

/// So many errors are told one by one.
const MOST_TOLD: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, says};
    use crate::diagnose::check::vm::machine::tests::{gpu_missed, gpu_off};
    use crate::diagnose::lint::catalogue;

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || added("pvrdma0.present TRUE\n"),
        healthy: || added("vmxstats.filename = \"pv-b.scoreboard\"\n"),
        unclear: || Site::sound().with("esx02", says("esxi.vmx-files", "")),
    };

    /// The VMX of pv-b with more lines.
    fn added(lines: &str) -> Site {
        let before = "floppy0.present = \"FALSE\"\n";
        Site::sound().replacing("esx02", "esxi.vmx-files", before, &format!("{before}{lines}"))
    }

    fn pv_b(site: &Site) -> Judged {
        site.judge(&CHECK).into_iter().find(|judged| judged.title.starts_with("pv-b")).expect("pv-b")
    }

    #[test]
    fn names_of_rules_are_those_of_the_catalogue() {
        let is_rule = |id: &str| catalogue().any(|rule| rule.id == id);
        assert!(ELSEWHERE.iter().all(|id| is_rule(id)), "{:?}", ELSEWHERE.iter().find(|id| !is_rule(id)));
        assert!(mmio_window::RULES.iter().all(|id| is_rule(id)));
        assert!(catalogue().filter(|rule| is_ours(rule)).count() > 10);
    }

    #[test]
    fn keys_that_do_not_exist_hurt_a_vm_that_runs() {
        let judged = pv_b(&added("pvrdma0.present = \"TRUE\"\n"));
        assert_eq!(judged.status, Status::Fail);
        assert!(
            judged.cures[0].steps.iter().any(|step| step.shown().contains("take pvrdma0.present out")),
            "{judged:?}"
        );
    }

    #[test]
    fn virtual_functions_that_wait_for_a_power_on_are_no_error() {
        let published = include_str!("../../../../tests/fixtures/public/110-vmx-sriov-bypass.txt");
        let chosen: Vec<&str> = published.lines().filter(|line| line.starts_with("pciPassthru2")).collect();
        let lines = format!("{}\n", chosen.join("\n"));
        assert!(lines.contains("BYPASS"));
        assert_eq!(pv_b(&added(&lines)).status, Status::Pass);
    }

    #[test]
    fn a_published_file_with_curly_quotes() {
        let published = include_str!("../../../../tests/fixtures/public/75-vmx-smart-quotes.txt");
        let judged = pv_b(&added(published));
        assert!(judged.status == Status::Warn && judged.title.contains("vmx.odd-quotes"), "{judged:?}");
    }

    #[test]
    fn a_doubled_key_bites_at_the_next_power_on() {
        let judged = pv_b(&added("MemSize = \"32768\"\n"));
        assert!(judged.status == Status::Warn && judged.cause.contains("the next power-on fails"), "{judged:?}");
    }

    #[test]
    fn a_misspelt_adapter_is_found_though_the_host_knows_none() {
        let site = Site::sound()
            .replacing("esx02", "esxi.vmx-files", "virtualDev = \"vrdma\"", "virtualDev = \"vmxnet3vrdma\"")
            .replacing("esx02", "esxi.vm-devices", "VirtualVmxnet3Vrdma", "VirtualVmxnet3")
            .replacing("esx02", "esxi.vm-configs", "VirtualVmxnet3Vrdma", "VirtualVmxnet3");
        assert!(pv_b(&site).title.contains("vmx.pvrdma-spelling"));
    }

    #[test]
    fn a_hexadecimal_id_is_told_by_who_uses_the_vm() {
        let hex = |site: Site| site.replacing("esx01", "esxi.vmx-files", "00000:175:00.0", "0000:af:00.0");
        let of = |site: &Site| {
            let found = site.judge(&CHECK);
            found.into_iter().find(|judged| judged.title.starts_with("gpu-a")).expect("gpu-a").status
        };
        assert_eq!(of(&hex(gpu_missed())), Status::Warn);
        assert_eq!(of(&hex(gpu_off())), Status::Info);
    }
}
