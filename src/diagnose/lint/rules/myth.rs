//! Keys that published guides name and that do not exist, do nothing, or belong elsewhere.

use super::device::devices;
use super::{Found, Rule, Severity, at, documented, numbered, rule};
use crate::diagnose::keys::{self, Why};
use crate::diagnose::lint::Subject;

pub(super) const RULES: &[Rule] = &[
    rule(
        "vmx.no-such-key",
        Severity::Warning,
        "A guide's key that does not exist",
        documented("found in no public VMX, in no code of VMware and in none of 42 dumps of host settings"),
        no_such_key,
    )
    .like(&["vm.myth-safe-mmio", "vm.myth-bar-keys", "vm.myth-mig-mode", "host.myth-numa-kernel-settings"]),
    rule(
        "vmx.host-setting",
        Severity::Warning,
        "A setting of the host or of the guest stands in the VMX",
        documented("lamw/esxi-advanced-and-kernel-settings; docs.vmware.com nmlx5 module parameters"),
        host_setting,
    )
    .like(&["host.myth-acs-override", "host.myth-linux-iommu-on-esxi", "host.myth-kvm-boot-arguments"]),
    rule(
        "vmx.irrelevant-key",
        Severity::Info,
        "A real key that has nothing to do with RDMA or computing on GPUs",
        documented("public VMX files with passthrough work without it"),
        irrelevant,
    )
    .like(&["vm.myth-enable3d"]),
    rule(
        "vmx.hypervisor-shown",
        Severity::Warning,
        "hypervisor.cpuid.v0 is TRUE, the reverse of what guides want with it",
        documented("github.com/intel/haxm/issues/149"),
        hypervisor_shown,
    ),
];

/// What is said of a key that is in the table for this reason.
fn said(key: &str, why: Why) -> Option<&'static str> {
    keys::find(key).filter(|known| known.why == why).map(|known| known.text)
}

fn no_such_key(subject: &Subject<'_>) -> Vec<Found> {
    subject
        .vmx
        .entries()
        .filter_map(|entry| {
            let text = said(&entry.key, Why::NoSuch)?;
            Some(at(entry, format!("the host ignores it: {text}")).take_out(&entry.key))
        })
        .collect()
}

fn host_setting(subject: &Subject<'_>) -> Vec<Found> {
    subject
        .vmx
        .entries()
        .filter_map(|entry| {
            let text = said(&entry.key, Why::Elsewhere)?;
            Some(at(entry, format!("in a VMX it has no effect: {text}")).take_out(&entry.key))
        })
        .collect()
}

fn irrelevant(subject: &Subject<'_>) -> Vec<Found> {
    let special = !devices(subject.vmx).is_empty()
        || subject.vmx.entries().any(|entry| {
            numbered(&entry.key, "ethernet").is_some_and(|(_, rest)| rest.eq_ignore_ascii_case("virtualDev"))
                && entry.value.to_ascii_lowercase().ends_with("rdma")
        });
    if !special {
        return Vec::new();
    }
    subject.vmx.entries().filter_map(|entry| Some(at(entry, said(&entry.key, Why::Irrelevant)?))).collect()
}

fn hypervisor_shown(subject: &Subject<'_>) -> Vec<Found> {
    let key = "hypervisor.cpuid.v0";
    match subject.vmx.get(key) {
        Some(entry) if subject.vmx.flag(key) == Some(true) => {
            let message = "TRUE is the default and shows the hypervisor to the guest; guides mean FALSE, which hides it \
                           from drivers of consumer GPUs that refuse to run in a VM. Drivers of data-centre GPUs need neither";
            vec![at(entry, message)]
        }
        _ => Vec::new(),
    }
}
