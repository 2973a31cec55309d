//! Keys that published guides name and that do not exist, do nothing, or belong elsewhere.

use super::device::devices;
use super::{Found, Rule, Severity, at, documented, numbered, rule};
use crate::diagnose::lint::Subject;

pub(super) const RULES: &[Rule] = &[
    rule(
        "vmx.no-such-key",
        Severity::Warning,
        "A guide's key that does not exist",
        documented("found in no public VMX, in no code of VMware and in none of 42 dumps of host settings"),
        no_such_key,
    ),
    rule(
        "vmx.host-setting",
        Severity::Warning,
        "A setting of the host or of the guest stands in the VMX",
        documented("lamw/esxi-advanced-and-kernel-settings; docs.vmware.com nmlx5 module parameters"),
        host_setting,
    ),
    rule(
        "vmx.irrelevant-key",
        Severity::Info,
        "A real key that has nothing to do with RDMA or computing on GPUs",
        documented("public VMX files with passthrough work without it"),
        irrelevant,
    ),
    rule(
        "vmx.hypervisor-shown",
        Severity::Warning,
        "hypervisor.cpuid.v0 is TRUE, the reverse of what guides want with it",
        documented("github.com/intel/haxm/issues/149"),
        hypervisor_shown,
    ),
];

/// Keys that do not exist: how they begin, and what is true.
const NONE: &[(&str, &str)] = &[
    ("pciPassthru.useSafeMMIO", "no such key; the window above 4 GiB is pciPassthru.use64bitMMIO and 64bitMMIOSizeGB"),
    ("pciPassthru.useCachedMapping", "no such key; the host decides how BARs are mapped"),
    ("pciPassthru.0000", "BARs cannot be placed or sized by hand; their sizes come from the device"),
    ("pciPassthru.acsOverride", "no such key; the host's boot option is disableACSCheck"),
    ("pciPassthru.migMode", "no such key; MIG is switched on in the GPU (nvidia-smi -mig 1 on the host for vGPU)"),
    ("migMode", "no such key; MIG is switched on in the GPU (nvidia-smi -mig 1 on the host for vGPU)"),
    ("numa_prefer_local", "no such setting on any release from 6.0 to 9.0"),
    ("numa_vcpu_affinity", "no such setting on any release from 6.0 to 9.0; the key is numa.nodeAffinity"),
    ("vmw_pvrdma", "vmw_pvrdma is the driver in the Linux guest, no key of a VMX"),
    ("rdma.enable", "no such key; the adapter alone makes PVRDMA"),
];

/// Keys of the host or of the guest: how they begin, and where they belong.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "Net.PVRDMAVmknic",
        "an advanced option of the host: esxcli system settings advanced set -o /Net/PVRDMAVmknic -s vmkN",
    ),
    ("disableACSCheck", "a boot option of the host: esxcli system settings kernel"),
    ("enableACSCheckForRP", "a boot option of the host: esxcli system settings kernel"),
    ("VMkernel.Boot.", "a boot option of the host"),
    ("allowPCIeACSOverride", "no such option even on the host; the real one is disableACSCheck"),
    ("noIOMMU", "a boot option of the host"),
    ("iovDisableIR", "a boot option of the host"),
    ("Numa.DeviceAffinity", "an advanced option of the host, new in 9.0"),
    ("Numa.PreferHT", "an advanced option of the host; the key of a VM is numa.vcpu.preferHT"),
    ("Numa.LocalityWeightActionAffinity", "an advanced option of the host"),
    ("pfctx", "a parameter of the host's module nmlx5_core"),
    ("pfcrx", "a parameter of the host's module nmlx5_core"),
    ("trust_state", "a parameter of the host's module nmlx5_core"),
    ("max_vfs", "a parameter of the host's module of the adapter"),
    ("dscp_force", "a parameter of the host's module nmlx5_rdma"),
    ("intel_iommu", "an argument of a Linux kernel, for KVM hosts; ESXi has none such"),
    ("amd_iommu", "an argument of a Linux kernel, for KVM hosts; ESXi has none such"),
    ("vfio", "a part of Linux; ESXi has none such"),
    ("NVreg_", "a parameter of the guest's nvidia module"),
];

/// Real keys that have nothing to do with the matter.
const IRRELEVANT: &[(&str, &str)] = &[("mks.enable3d", "3D of the virtual screen; it has nothing to do with CUDA")];

/// Whether a key begins with a name: the whole of it, or up to a dot.
fn begins(key: &str, name: &str) -> bool {
    key.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name))
}

/// What is said of a key in a table.
fn said(table: &'static [(&'static str, &'static str)], key: &str) -> Option<&'static str> {
    table.iter().find(|(name, _)| begins(key, name)).map(|(_, text)| *text)
}

/// `pciPassthru0.bar0.address` and its like.
fn is_bar(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    let Some(rest) = lower.strip_prefix("pcipassthru") else { return false };
    rest.split('.').any(|part| {
        part.strip_prefix("bar")
            .is_some_and(|digits| digits.len() == 1 && digits.starts_with(|c: char| c.is_ascii_digit()))
    })
}

/// What is said of a key that does not exist.
fn none(key: &str) -> Option<&'static str> {
    let (_, bars) = NONE.get(2)?;
    said(NONE, key).or_else(|| is_bar(key).then_some(*bars))
}

/// Whether one of these rules speaks of a key.
pub(super) fn is_known_myth(key: &str) -> bool {
    none(key).is_some() || said(ELSEWHERE, key).is_some() || said(IRRELEVANT, key).is_some()
}

fn no_such_key(subject: &Subject<'_>) -> Vec<Found> {
    subject
        .vmx
        .entries()
        .filter_map(|entry| Some(at(entry, format!("the host ignores it: {}", none(&entry.key)?)).take_out(&entry.key)))
        .collect()
}

fn host_setting(subject: &Subject<'_>) -> Vec<Found> {
    subject
        .vmx
        .entries()
        .filter(|entry| none(&entry.key).is_none())
        .filter_map(|entry| {
            let text = said(ELSEWHERE, &entry.key)?;
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
    subject.vmx.entries().filter_map(|entry| Some(at(entry, said(IRRELEVANT, &entry.key)?))).collect()
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
