//! What goes together with passthrough, and what does not.

use super::device::{Device, Kind, NVIDIA, allowed_models, devices};
use super::{Found, Rule, Severity, at, documented, field, hardware, memory_reserved, missing, rule, shown};
use crate::diagnose::lint::Subject;

/// The vendor's page on passthrough.
const DIRECTPATH: &str = "docs.vmware.com 7.0 GUID-5B3CAB26 (DirectPath I/O)";
/// On assignable hardware.
const ASSIGNABLE: &str = "docs.vmware.com 8.0 GUID-BF2770C3; frankdenneman.nl/2023/06/06 (Dynamic DirectPath)";

pub(super) const RULES: &[Rule] = &[
    rule(
        "vmx.passthrough-reservation",
        Severity::Error,
        "Passthrough needs all memory reserved",
        documented("frankdenneman.nl/2023/05/30; docs.vmware.com 7.0 GUID-5B3CAB26; KB 2002779"),
        reservation,
    ),
    rule(
        "vmx.passthrough-memory-hot-add",
        Severity::Warning,
        "Memory hot-add with passthrough",
        documented("frankdenneman.nl/2023/05/30: all memory is reserved and mapped at power-on"),
        memory_hot_add,
    ),
    rule(
        "vmx.passthrough-cpu-hot-add",
        Severity::Warning,
        "CPU hot-add switches vNUMA off",
        documented("KB 2040375"),
        cpu_hot_add,
    ),
    rule(
        "vmx.passthrough-nested",
        Severity::Error,
        "Nested virtualization excludes passthrough",
        field(
            "field report: 'PCI passthrough devices cannot be added when Nested Hardware-Assisted Virtualization is enabled.'",
        ),
        nested,
    ),
    rule(
        "vmx.passthrough-snapshots",
        Severity::Warning,
        "The VM has snapshots and a passthrough device",
        documented(DIRECTPATH),
        snapshots,
    ),
    rule(
        "vmx.directpath",
        Severity::Info,
        "DirectPath ties the VM to its host; Dynamic DirectPath would not",
        documented(ASSIGNABLE),
        directpath,
    )
    .only("7.0 and later, hardware 17 and later"),
    rule(
        "vmx.dynamic-hardware",
        Severity::Error,
        "Dynamic DirectPath needs virtual hardware 17",
        documented(ASSIGNABLE),
        dynamic_hardware,
    )
    .only("7.0 and later"),
    rule(
        "vmx.dynamic-and-id",
        Severity::Warning,
        "A device has both an id and allowed models",
        documented(ASSIGNABLE),
        dynamic_and_id,
    ),
    rule(
        "vmx.allowed-devices",
        Severity::Error,
        "The list of allowed models is malformed",
        documented("frankdenneman.nl/2023/06/06: \"0x10de:0x20f1\""),
        allowed_devices,
    ),
    rule(
        "vmx.secure-boot-gpu",
        Severity::Info,
        "With Secure Boot the guest loads signed modules only",
        field("own knowledge"),
        secure_boot,
    ),
    rule(
        "vmx.sriov-network",
        Severity::Warning,
        "An SR-IOV adapter is on no network",
        field("public VMX of a lab: networkName or dvs.portgroupId beside pfId"),
        sriov_network,
    ),
    rule(
        "vmx.sriov-physical",
        Severity::Warning,
        "An SR-IOV adapter does not say of which physical function it is",
        field("public VMX of a lab: systemId BYPASS and pfId"),
        sriov_physical,
    ),
    rule(
        "vmx.msi-off",
        Severity::Warning,
        "Message-signalled interrupts are switched off for a device",
        field("field report; the key was a workaround for old GPUs"),
        msi_off,
    ),
];

/// The first device that is not only a share.
fn first<'a>(devices: &'a [Device<'a>], kinds: &[Kind]) -> Option<&'a Device<'a>> {
    devices.iter().find(|device| kinds.contains(&device.kind))
}

/// All kinds that are hardware of the host.
const REAL: &[Kind] = &[Kind::Direct, Kind::Dynamic, Kind::Virtual];

fn reservation(subject: &Subject<'_>) -> Vec<Found> {
    let vmx = subject.vmx;
    let all = devices(vmx);
    let (Some(device), Some(false), Some(size)) = (all.first(), memory_reserved(vmx), vmx.number("memSize")) else {
        return Vec::new();
    };
    let message = match vmx.number("sched.mem.min") {
        Some(reserved) => {
            format!("memSize is {size} MB, of which sched.mem.min reserves {reserved} MB; both must be equal")
        }
        None => format!("memSize is {size} MB and nothing is reserved: sched.mem.min is missing"),
    };
    let line = vmx.get("sched.mem.min").map(|entry| entry.line);
    let found = Found { line, ..missing("sched.mem.min", format!("pciPassthru{}: {message}", device.number)) }
        .mend("sched.mem.min", &size.to_string())
        .mend("sched.mem.pin", "TRUE");
    vec![if first(&all, REAL).is_some() {
        found.fatal(format!(
            "'Invalid memory setting: memory reservation (sched.mem.min) should be equal to memsize({size}).'"
        ))
    } else {
        found
    }]
}

/// A finding if a switch is on and there is a device of these kinds.
fn switch(subject: &Subject<'_>, key: &str, kinds: &[Kind], message: &str) -> Vec<Found> {
    match subject.vmx.get(key) {
        Some(entry) if subject.vmx.flag(key) == Some(true) && first(&devices(subject.vmx), kinds).is_some() => {
            vec![at(entry, message).mend(key, "FALSE")]
        }
        _ => Vec::new(),
    }
}

fn memory_hot_add(subject: &Subject<'_>) -> Vec<Found> {
    let message =
        "memory cannot be added while the VM runs: all of it is reserved and mapped for the device at power-on";
    switch(subject, "mem.hotadd", REAL, message)
}

fn cpu_hot_add(subject: &Subject<'_>) -> Vec<Found> {
    let message = "CPU hot-add switches vNUMA off: the guest sees one node and cannot place work near its device";
    switch(subject, "vcpu.hotadd", REAL, message)
}

fn nested(subject: &Subject<'_>) -> Vec<Found> {
    let message = "nested virtualization and passthrough exclude each other; PVRDMA does not need it either";
    switch(subject, "vhv.enable", REAL, message)
        .into_iter()
        .map(|found| {
            found.fatal(
                "'PCI passthrough devices cannot be added when Nested Hardware-Assisted Virtualization is enabled.'",
            )
        })
        .collect()
}

fn snapshots(subject: &Subject<'_>) -> Vec<Found> {
    let all = devices(subject.vmx);
    match (subject.snapshots, first(&all, REAL)) {
        (Some(count @ 1..), Some(device)) => {
            let noun = if count == 1 { "snapshot" } else { "snapshots" };
            let message = format!(
                "the VM has {count} {noun}; with a passthrough device none can be taken, and to revert to one made \
                 without the device takes the device away"
            );
            vec![at(device.present, message)]
        }
        _ => Vec::new(),
    }
}

fn directpath(subject: &Subject<'_>) -> Vec<Found> {
    if hardware(subject.vmx).is_none_or(|version| version < 17) {
        return Vec::new();
    }
    let all = devices(subject.vmx);
    // A whole function of one host, not a virtual one; what also has a list of models is told elsewhere.
    let plain = |device: &&Device<'_>| device.kind == Kind::Direct && device.id.is_some() && device.allowed.is_none();
    let Some(device) = all.iter().find(plain) else {
        return Vec::new();
    };
    let message = format!(
        "pciPassthru{} is one function of one host: no vMotion, no suspend, no snapshot, DRS leaves the VM where it is and \
         HA can restart it on this host only. Dynamic DirectPath (allowedDevices in place of id) takes any device of the \
         model: DRS places the VM at power-on and HA restarts it on another host; no vMotion either",
        device.number
    );
    vec![at(device.id.unwrap_or(device.present), message)]
}

fn dynamic_hardware(subject: &Subject<'_>) -> Vec<Found> {
    let all = devices(subject.vmx);
    match (hardware(subject.vmx), all.iter().find_map(|device| device.allowed)) {
        (Some(version), Some(allowed)) if version < 17 => {
            vec![at(allowed, format!("allowedDevices needs hardware version 17 (ESXi 7.0), not {version}"))]
        }
        _ => Vec::new(),
    }
}

fn dynamic_and_id(subject: &Subject<'_>) -> Vec<Found> {
    devices(subject.vmx)
        .into_iter()
        .filter(|device| device.kind == Kind::Direct)
        .filter_map(|device| {
            let (allowed, id) = (device.allowed?, device.id?);
            let message = format!(
                "pciPassthru{} has the id of one function ({}) and a list of models: with the id it is bound to one host",
                device.number,
                shown(&id.value)
            );
            Some(at(allowed, message))
        })
        .collect()
}

fn allowed_devices(subject: &Subject<'_>) -> Vec<Found> {
    devices(subject.vmx)
        .into_iter()
        .filter_map(|device| device.allowed)
        .filter(|entry| allowed_models(&entry.value).is_none() && !entry.odd_quotes())
        .map(|entry| {
            let message =
                format!("'{}' is no list of models like \"0x10de:0x20f1, 0x10de:0x20b5\"", shown(&entry.value));
            at(entry, message)
        })
        .collect()
}

fn secure_boot(subject: &Subject<'_>) -> Vec<Found> {
    let all = devices(subject.vmx);
    let gpu = all.iter().any(|device| device.is_whole() && device.vendor == Some(NVIDIA));
    match subject.vmx.get("uefi.secureBoot.enabled") {
        Some(entry) if gpu && subject.vmx.flag("uefi.secureBoot.enabled") == Some(true) => {
            let message = "the guest's kernel refuses modules whose signature it does not know: the GPU driver (and \
                           OFED) must be signed and their key enrolled, else nvidia-smi finds no device";
            vec![at(entry, message)]
        }
        _ => Vec::new(),
    }
}

/// A finding for each virtual function that has none of these keys.
fn virtual_without(subject: &Subject<'_>, keys: &[&str], message: &str) -> Vec<Found> {
    let lacks = |number: u32| keys.iter().all(|key| subject.vmx.get(&format!("pciPassthru{number}.{key}")).is_none());
    devices(subject.vmx)
        .into_iter()
        .filter(|device| device.kind == Kind::Virtual && lacks(device.number))
        .map(|device| at(device.present, format!("pciPassthru{}: {message}", device.number)))
        .collect()
}

fn sriov_network(subject: &Subject<'_>) -> Vec<Found> {
    virtual_without(
        subject,
        &["networkName", "dvs.portgroupId"],
        "an SR-IOV adapter without networkName or dvs.portgroupId",
    )
}

fn sriov_physical(subject: &Subject<'_>) -> Vec<Found> {
    virtual_without(
        subject,
        &["pfId", "id"],
        "systemId is \"BYPASS\", as is normal for SR-IOV, but neither pfId nor id says which physical adapter gives the \
         virtual function",
    )
}

fn msi_off(subject: &Subject<'_>) -> Vec<Found> {
    devices(subject.vmx)
        .into_iter()
        .filter_map(|device| {
            let key = format!("pciPassthru{}.msiEnabled", device.number);
            (subject.vmx.flag(&key) == Some(false)).then(|| subject.vmx.get(&key)).flatten()
        })
        .map(|entry| {
            let message = "without message-signalled interrupts the device shares one interrupt line; present GPUs and \
                           adapters need MSI-X for their queues";
            at(entry, message).take_out(&entry.key)
        })
        .collect()
}
