//! What only shows beside the host on which the VM shall start.

use std::collections::BTreeMap;

use super::device::{NVIDIA, id_number};
use super::{Found, Rule, Severity, at, documented, field, gpu, hardware, numbered, rule, shown};
use crate::diagnose::lint::{HostFunction, Subject};

pub(super) const RULES: &[Rule] = &[
    rule(
        "vmx.hardware-above-host",
        Severity::Error,
        "The virtual hardware version is above what the host knows",
        documented("govmomi vim25/types/esxi_version.go:43-72"),
        hardware_above,
    )
    .only("6.5: 13; 6.7: 14, U2: 15; 7.0: 17, U1: 18, U2: 19; 8.0: 20, U2: 21"),
    rule(
        "vmx.pvrdma-host-not-tagged",
        Severity::Warning,
        "The host has no VMkernel adapter for PVRDMA",
        documented("docs.vmware.com PVRDMA Support; GOSV common/esxi_enable_pvrdma_configs.yml"),
        not_tagged,
    ),
    rule(
        "vmx.pvrdma-switch-not-on-host",
        Severity::Error,
        "The distributed switch of a PVRDMA adapter is not on this host",
        documented("esxcli network vswitch dvs vmware list: VDS ID equals ethernetN.dvs.switchId"),
        switch_not_on_host,
    ),
    rule(
        "vmx.nvlink-split",
        Severity::Warning,
        "The VM has some, not all, of the GPUs that NVLink joins",
        field("own knowledge: GPUs of one NVLink board or bridge belong into one VM"),
        nvlink_split,
    ),
];

/// The highest hardware version of a release; `None` for one that is not in the list.
fn highest(version: &str) -> Option<u64> {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    Some(match (parts.next()?, parts.next()?, parts.next().unwrap_or(0)) {
        (6, 5, _) => 13,
        // 6.7 calls itself 6.7.0 with U2 too.
        (6, 7, _) => 15,
        (7, 0, 0) => 17,
        (7, 0, 1) => 18,
        (7, 0, 2..) => 19,
        (8, 0, 0 | 1) => 20,
        (8, 0, 2..) => 21,
        _ => return None,
    })
}

fn hardware_above(subject: &Subject<'_>) -> Vec<Found> {
    let release = subject.host.and_then(|host| host.version.as_deref());
    let (Some(entry), Some(version), Some(release)) =
        (subject.vmx.get("virtualHW.version"), hardware(subject.vmx), release)
    else {
        return Vec::new();
    };
    match highest(release) {
        Some(highest) if version > highest => {
            let release = shown(release);
            let message = format!("hardware version {version}; ESXi {release} knows versions up to {highest}");
            let why = format!("ESXi {release} does not know hardware version {version}");
            vec![at(entry, message).fatal(why)]
        }
        _ => Vec::new(),
    }
}

fn not_tagged(subject: &Subject<'_>) -> Vec<Found> {
    let adapters = super::pvrdma::adapters(subject.vmx);
    match (adapters.first(), subject.host) {
        (Some((_, entry)), Some(host)) if host.pvrdma_vmknic.as_deref() == Some("") => {
            let message = format!(
                "Net.PVRDMAVmknic is empty on host {}: the VM starts, but its RDMA traffic to other hosts runs over TCP \
                 without a word",
                shown(&host.name)
            );
            vec![at(entry, message)]
        }
        _ => Vec::new(),
    }
}

/// The id of a switch without its blanks and dashes, which differ by who prints it.
fn bare(id: &str) -> String {
    id.chars().filter(char::is_ascii_hexdigit).map(|digit| digit.to_ascii_lowercase()).collect()
}

fn switch_not_on_host(subject: &Subject<'_>) -> Vec<Found> {
    let Some(host) = subject.host else { return Vec::new() };
    let Some(switches) = &host.distributed_switches else { return Vec::new() };
    super::pvrdma::adapters(subject.vmx)
        .into_iter()
        .filter_map(|(number, _)| {
            let entry = subject.vmx.get(&format!("ethernet{number}.dvs.switchId"))?;
            if switches.iter().any(|there| bare(there) == bare(&entry.value)) {
                return None;
            }
            let message = format!("host {} has no distributed switch {}", shown(&host.name), shown(&entry.value));
            Some(at(entry, message))
        })
        .collect()
}

/// Model of a function if it is an SXM module.
fn sxm(function: &HostFunction) -> Option<&'static str> {
    let hexadecimal = |text: &str| id_number(&format!("0x{}", text.trim_start_matches("0x")));
    let gpu = gpu::by_id(hexadecimal(&function.device)?)?;
    (hexadecimal(&function.vendor)? == NVIDIA && gpu.sxm).then_some(gpu.name)
}

fn nvlink_split(subject: &Subject<'_>) -> Vec<Found> {
    let Some(functions) = subject.host.and_then(|host| host.functions.as_ref()) else { return Vec::new() };
    let mut there: BTreeMap<&str, usize> = BTreeMap::new();
    for name in functions.iter().filter_map(sxm) {
        *there.entry(name).or_default() += 1;
    }
    let mut taken: BTreeMap<&str, (usize, Option<&crate::probe::vmx::Entry>)> = BTreeMap::new();
    for (function, id) in super::passthrough_id::functions(subject) {
        if let Some(name) = sxm(function) {
            let (count, first) = taken.entry(name).or_default();
            *count += 1;
            first.get_or_insert(id);
        }
    }
    taken
        .into_iter()
        .filter_map(|(name, (count, first))| {
            let all = there.get(name).copied().filter(|all| *all > count)?;
            let message = format!(
                "the VM has {count} of {all} {name}: GPUs that NVLink joins are initialized together and belong into one \
                 VM, or NVLink must be partitioned for it",
            );
            Some(at(first?, message))
        })
        .collect()
}

/// The number of a PVRDMA-like key, for the catalogue of names.
pub(super) fn is_invented(key: &str) -> bool {
    numbered(key, "pvrdma").is_some()
}
