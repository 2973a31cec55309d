//! PVRDMA adapters: ordinary `ethernetN` whose `virtualDev` is `vrdma`.

use super::{Found, Rule, Severity, at, documented, field, hardware, memory_reserved, missing, numbered, rule, shown};
use crate::diagnose::lint::Subject;
use crate::probe::vmx::{Content, Dictionary, Entry, Line};

/// The page of the vendor on PVRDMA.
const SUPPORT: &str = "docs.vmware.com vSphere Networking, PVRDMA Support (GUID-4A5EBD44-FB1E-4A83-BB47-BBC65181E1C2)";

pub(super) const RULES: &[Rule] = &[
    rule(
        "vmx.pvrdma-spelling",
        Severity::Error,
        "The type of a PVRDMA adapter is misspelt",
        documented("open-vm-tools modules/shared/vmxnet/net.h compares virtualDev with \"vrdma\""),
        spelling,
    ),
    rule(
        "vmx.adapter-type",
        Severity::Error,
        "The type of a network adapter is unknown",
        documented("open-vm-tools modules/shared/vmxnet/net.h lists the types"),
        adapter_type,
    ),
    rule(
        "vmx.pvrdma-keys",
        Severity::Error,
        "There are no 'pvrdmaN.*' keys",
        documented("no such prefix in open-vm-tools or in any public file; the adapter is ethernetN"),
        invented_keys,
    )
    .like(&["vm.myth-pvrdma-keys"])
    .starts(),
    rule("vmx.pvrdma-hardware", Severity::Error, "PVRDMA needs virtual hardware 13", documented(SUPPORT), hardware_13)
        .only("vSphere 6.5 and later"),
    rule(
        "vmx.pvrdma-namespaces",
        Severity::Info,
        "RDMA namespaces need virtual hardware 17",
        documented(SUPPORT),
        namespaces,
    )
    .only("7.0 and later"),
    rule(
        "vmx.pvrdma-native-endpoints",
        Severity::Info,
        "Native endpoints need virtual hardware 18",
        documented("blogs.vmware.com/vsphere/2020/10/para-virtual-rdma-support-for-native-endpoints.html"),
        native_endpoints,
    )
    .only("7.0 U1 and later"),
    rule(
        "vmx.pvrdma-reservation",
        Severity::Error,
        "PVRDMA needs all memory reserved",
        documented("vSphere 6.5 Networking, PVRDMA: memory reservation"),
        reservation,
    ),
    rule(
        "vmx.pvrdma-standard-switch",
        Severity::Error,
        "PVRDMA needs a distributed switch",
        documented(SUPPORT),
        switch,
    )
    .starts(),
    rule(
        "vmx.pvrdma-count",
        Severity::Error,
        "More than ten PVRDMA adapters",
        documented("open-vm-tools lib/include/vm_device_version.h: at most 10"),
        count,
    ),
    rule(
        "vmx.pvrdma-one-device",
        Severity::Error,
        "ESXi 6.5 allows one PVRDMA adapter in a VM",
        documented("knowledge.broadcom.com/external/article/328676"),
        one_device,
    )
    .only("6.5"),
    rule(
        "vmx.pvrdma-pair-removed",
        Severity::Error,
        "The vmxnet3 half of a PVRDMA adapter is taken out",
        documented("Linux drivers/infiniband/hw/vmw_pvrdma/pvrdma_main.c needs vmxnet3 at function 0 of the same slot"),
        pair_removed,
    )
    .like(&["vm.myth-remove-vmxnet3"])
    .starts(),
    rule(
        "vmx.pvrdma-other-removed",
        Severity::Info,
        "Another adapter is taken out beside invented PVRDMA keys",
        field("field report: guides that invent pvrdmaN ask for it; no document of VMware does"),
        other_removed,
    )
    .like(&["vm.myth-remove-vmxnet3"]),
    rule(
        "vmx.pvrdma-disconnected",
        Severity::Warning,
        "A PVRDMA adapter is not connected at power-on",
        documented("Linux drivers/infiniband/hw/vmw_pvrdma: the port follows the link of the paired vmxnet3"),
        disconnected,
    ),
    rule(
        "vmx.pvrdma-guest",
        Severity::Warning,
        "PVRDMA has a driver for 64-bit Linux only",
        documented(SUPPORT),
        guest,
    ),
];

/// Spellings that the host and its tools take for a PVRDMA adapter in a VMX.
const RIGHT: &[&str] = &["vrdma", "pvrdma"];
/// Names of the same thing elsewhere.
const WRONG: &[&str] = &[
    "vmxnet3vrdma",
    "virtualvmxnet3vrdma",
    "vmware paravirtual rdma",
    "paravirtual rdma",
    "vmw_pvrdma",
    "pvrdma0",
    "vmxnet3rdma",
    "vmxnet3-rdma",
    "rdma",
    "roce",
];
/// All types of adapters that are none of PVRDMA.
const TYPES: &[&str] = &["vmxnet3", "vmxnet2", "vmxnet", "vlance", "flexible", "e1000", "e1000e"];

fn is(list: &[&str], value: &str) -> bool {
    list.iter().any(|one| one.eq_ignore_ascii_case(value.trim()))
}

/// All types of adapters that the file assigns.
fn types(vmx: &Dictionary) -> impl Iterator<Item = (u32, &Entry)> {
    vmx.entries().filter_map(|entry| {
        let (number, rest) = numbered(&entry.key, "ethernet")?;
        rest.eq_ignore_ascii_case("virtualDev").then_some((number, entry))
    })
}

/// The PVRDMA adapters that are present.
pub(super) fn adapters(vmx: &Dictionary) -> Vec<(u32, &Entry)> {
    types(vmx)
        .filter(|(number, entry)| {
            is(RIGHT, &entry.value) && vmx.flag(&format!("ethernet{number}.present")) == Some(true)
        })
        .collect()
}

fn spelling(subject: &Subject<'_>) -> Vec<Found> {
    types(subject.vmx)
        .filter(|(_, entry)| is(WRONG, &entry.value))
        .map(|(_, entry)| {
            let message = format!(
                "'{}' is what other tools or the API call it; in a VMX the type is \"vrdma\"",
                shown(&entry.value)
            );
            at(entry, message).mend(&entry.key, "vrdma")
        })
        .collect()
}

fn adapter_type(subject: &Subject<'_>) -> Vec<Found> {
    types(subject.vmx)
        .filter(|(_, entry)| {
            !entry.odd_quotes() && !is(RIGHT, &entry.value) && !is(WRONG, &entry.value) && !is(TYPES, &entry.value)
        })
        .map(|(_, entry)| {
            let about = if entry.value.to_ascii_lowercase().contains("sriov") {
                ": an SR-IOV adapter is no ethernetN but a pciPassthruN with systemId \"BYPASS\" and pfId"
            } else {
                ": known are vmxnet3, e1000e, e1000, vmxnet, vlance and vrdma"
            };
            at(entry, format!("'{}' is no type of network adapter{about}", shown(&entry.value)))
        })
        .collect()
}

/// Number and rest of an invented key, `pvrdma0.present`.
fn invented(key: &str) -> Option<(u32, &str)> {
    numbered(key, "pvrdma")
}

/// First words of lines that the host cannot read: a guide that lost its `=` still means them.
fn first_word(vmx: &Dictionary, line: &Line) -> Option<String> {
    matches!(line.content, Content::Malformed(_))
        .then(|| vmx.text(line).split_whitespace().next().map(str::to_owned))
        .flatten()
}

fn invented_keys(subject: &Subject<'_>) -> Vec<Found> {
    subject
        .vmx
        .entries()
        .filter(|entry| invented(&entry.key).is_some())
        .map(|entry| {
            let message = "there is no such key: a PVRDMA adapter is an ethernetN with virtualDev \"vrdma\" on a port group \
                           of a distributed switch; the host ignores this line";
            at(entry, message).take_out(&entry.key)
        })
        .collect()
}

fn hardware_13(subject: &Subject<'_>) -> Vec<Found> {
    let adapters = adapters(subject.vmx);
    let (Some(version), [(_, adapter), ..]) = (hardware(subject.vmx), adapters.as_slice()) else {
        return Vec::new();
    };
    if version >= 13 {
        return Vec::new();
    }
    let line = subject.vmx.get("virtualHW.version").map(|entry| entry.line);
    let message =
        format!("{} is a PVRDMA adapter, which needs hardware version 13, not {version}", shown(&adapter.key));
    vec![Found { line, ..missing("virtualHW.version", message) }]
}

fn namespaces(subject: &Subject<'_>) -> Vec<Found> {
    // A host of 6.x has none to offer.
    if subject.host.and_then(|host| host.version.as_deref()).is_some_and(|version| version.starts_with("6.")) {
        return Vec::new();
    }
    below(subject, 13..=16, |version| {
        format!(
            "hardware version {version} has no RDMA namespaces (17, vSphere 7.0) and no native endpoints (18, 7.0 U1): \
             peers must be PVRDMA VMs"
        )
    })
}

fn native_endpoints(subject: &Subject<'_>) -> Vec<Found> {
    below(subject, 17..=17, |version| {
        format!(
            "hardware version {version} has no native endpoints (18, vSphere 7.0 U1): the VM reaches PVRDMA VMs but no \
             bare-metal peer"
        )
    })
}

fn below(
    subject: &Subject<'_>,
    versions: std::ops::RangeInclusive<u64>,
    message: impl Fn(u64) -> String,
) -> Vec<Found> {
    match (subject.vmx.get("virtualHW.version"), hardware(subject.vmx)) {
        (Some(entry), Some(version)) if versions.contains(&version) && !adapters(subject.vmx).is_empty() => {
            vec![at(entry, message(version))]
        }
        _ => Vec::new(),
    }
}

fn reservation(subject: &Subject<'_>) -> Vec<Found> {
    let vmx = subject.vmx;
    let adapters = adapters(vmx);
    let ([(number, _), ..], Some(false), Some(size)) =
        (adapters.as_slice(), memory_reserved(vmx), vmx.number("memSize"))
    else {
        return Vec::new();
    };
    let reserved = vmx.number("sched.mem.min").unwrap_or(0);
    let line = vmx.get("sched.mem.min").map(|entry| entry.line);
    let message = format!(
        "ethernet{number} is a PVRDMA adapter: all memory must be reserved, memSize is {size} MB and sched.mem.min is \
         {reserved} MB"
    );
    vec![Found { line, ..missing("sched.mem.min", message) }.mend("sched.mem.min", &size.to_string())]
}

fn switch(subject: &Subject<'_>) -> Vec<Found> {
    let vmx = subject.vmx;
    adapters(vmx)
        .into_iter()
        .filter_map(|(number, adapter)| {
            if vmx.get(&format!("ethernet{number}.dvs.switchId")).is_some()
                || vmx.get(&format!("ethernet{number}.dvs.portgroupId")).is_some()
            {
                return None;
            }
            let network = vmx.get(&format!("ethernet{number}.networkName"));
            let message = match network {
                Some(network) => format!(
                    "ethernet{number} is on '{}', a port group of a standard switch; PVRDMA works on a distributed switch \
                     only, whose adapters have dvs.switchId and dvs.portgroupId",
                    shown(&network.value)
                ),
                None => format!("ethernet{number} is on no network; PVRDMA needs a port group of a distributed switch"),
            };
            Some(at(network.unwrap_or(adapter), message))
        })
        .collect()
}

fn count(subject: &Subject<'_>) -> Vec<Found> {
    let adapters = adapters(subject.vmx);
    match adapters.get(10) {
        Some((_, entry)) => vec![at(entry, format!("{} PVRDMA adapters, a VM can have 10", adapters.len()))],
        None => Vec::new(),
    }
}

fn one_device(subject: &Subject<'_>) -> Vec<Found> {
    let old = subject.host.and_then(|host| host.version.as_deref()).is_some_and(|version| version.starts_with("6.5"));
    match adapters(subject.vmx).get(1) {
        Some((_, entry)) if old => vec![at(entry, "this is the second PVRDMA adapter, and the host is a 6.5 one")],
        _ => Vec::new(),
    }
}

/// Adapters that the file takes out, each with whether it is a PVRDMA one.
fn removed(vmx: &Dictionary) -> impl Iterator<Item = (bool, &Entry)> {
    vmx.entries().filter_map(|entry| {
        let (number, rest) = numbered(&entry.key, "ethernet")?;
        if !rest.eq_ignore_ascii_case("present") || vmx.flag(&entry.key) != Some(false) {
            return None;
        }
        let kind = vmx.value(&format!("ethernet{number}.virtualDev")).unwrap_or_default();
        Some((is(RIGHT, kind), entry))
    })
}

fn pair_removed(subject: &Subject<'_>) -> Vec<Found> {
    let message =
        "the PVRDMA adapter is taken out with this line: its RDMA function and its vmxnet3 function are one device";
    removed(subject.vmx)
        .filter(|(is_pvrdma, _)| *is_pvrdma)
        .map(|(_, entry)| at(entry, message).mend(&entry.key, "TRUE"))
        .collect()
}

fn other_removed(subject: &Subject<'_>) -> Vec<Found> {
    let vmx = subject.vmx;
    // Guides that invent pvrdmaN also say to take the ordinary adapter out. Elsewhere that is nobody's business.
    let misled = vmx.entries().any(|entry| invented(&entry.key).is_some())
        || vmx.lines.iter().filter_map(|line| first_word(vmx, line)).any(|word| invented(&word).is_some());
    if !misled {
        return Vec::new();
    }
    let message = "nothing requires that other adapters be taken out; a PVRDMA adapter is itself vmxnet3 (function 0) with an \
                   RDMA function (function 1), and the guest's driver fails with -19 without its vmxnet3";
    removed(vmx).filter(|(is_pvrdma, _)| !is_pvrdma).map(|(_, entry)| at(entry, message)).collect()
}

fn disconnected(subject: &Subject<'_>) -> Vec<Found> {
    let vmx = subject.vmx;
    adapters(vmx)
        .into_iter()
        .filter_map(|(number, _)| {
            let key = format!("ethernet{number}.startConnected");
            if vmx.flag(&key) != Some(false) {
                return None;
            }
            let message = "the adapter starts disconnected: its RDMA port is DOWN in the guest until it is connected";
            Some(at(vmx.get(&key)?, message).mend(&key, "TRUE"))
        })
        .collect()
}

fn guest(subject: &Subject<'_>) -> Vec<Found> {
    let vmx = subject.vmx;
    let Some(entry) = vmx.get("guestOS") else { return Vec::new() };
    let guest = entry.value.to_ascii_lowercase();
    let other = ["win", "darwin", "freebsd", "solaris", "netware", "os2"].iter().any(|name| guest.starts_with(name));
    if !other || adapters(vmx).is_empty() {
        return Vec::new();
    }
    vec![at(entry, format!("'{}' is no 64-bit Linux, for which alone there is a driver", shown(&entry.value)))]
}
