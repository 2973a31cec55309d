//! What the VM is as a whole: hardware version, memory size, processors, PCI bridges.

use super::device::{Kind, devices};
use super::{Found, Rule, Severity, at, documented, field, hardware, missing, numbered, rule, shown};
use crate::diagnose::lint::Subject;

pub(super) const RULES: &[Rule] = &[
    rule(
        "vmx.hardware-version",
        Severity::Warning,
        "The virtual hardware version is missing or no number",
        field("own knowledge: a VM without it is taken for one of the oldest version"),
        hardware_version,
    )
    .open(),
    rule(
        "vmx.memory-size",
        Severity::Warning,
        "The memory size is no number or no multiple of 4 MB",
        field("own knowledge"),
        memory_size,
    )
    .open(),
    rule(
        "vmx.memory-thousands",
        Severity::Info,
        "The memory size is a round number of megabytes, not of gigabytes",
        field("field report"),
        memory_thousands,
    ),
    rule(
        "vmx.cores-per-socket",
        Severity::Warning,
        "The processors do not fill their sockets",
        field("own knowledge"),
        cores_per_socket,
    )
    .open(),
    rule(
        "vmx.pci-bridges-missing",
        Severity::Error,
        "There are PCIe devices and no PCIe bridges",
        field("field report: msg.pci.noslotavail on a hand-written file"),
        bridges,
    )
    .only("hardware 7 and later"),
    rule(
        "vmx.pci-bridge-functions",
        Severity::Warning,
        "A PCIe root port has no functions, so that it holds one device instead of eight",
        field("field report"),
        bridge_functions,
    ),
    rule(
        "vmx.device-count",
        Severity::Error,
        "More passthrough devices than this hardware version allows",
        documented("configuration maximums: 16 (7.x), 32 (8.0), 64 (8.0 U1), 128 (8.0 U2, hardware 21)"),
        device_count,
    )
    .only("hardware 13 to 19: 16; 20: 32, with 8.0 U1 64; 21: 128"),
];

fn hardware_version(subject: &Subject<'_>) -> Vec<Found> {
    match subject.vmx.get("virtualHW.version") {
        Some(entry) if entry.value.trim().parse::<u64>().is_err() && !entry.odd_quotes() => {
            let digits: String = entry.value.chars().filter(char::is_ascii_digit).collect();
            let found = at(entry, format!("'{}' is no number: write the number alone", shown(&entry.value)));
            let spelled = entry.value.trim().to_ascii_lowercase();
            vec![if spelled == format!("vmx-{digits}") { found.mend("virtualHW.version", &digits) } else { found }]
        }
        // A fragment need not say it; a whole file does.
        None if subject.vmx.get("config.version").is_some() => {
            vec![missing("virtualHW.version", "the file does not say its virtual hardware version")]
        }
        _ => Vec::new(),
    }
}

fn memory_size(subject: &Subject<'_>) -> Vec<Found> {
    let Some(entry) = subject.vmx.get("memSize") else { return Vec::new() };
    if entry.odd_quotes() || entry.value.starts_with(['<', '$', '{']) {
        return Vec::new();
    }
    match entry.value.trim().parse::<u64>() {
        Ok(size) if size % 4 == 0 && size > 0 => Vec::new(),
        Ok(size) => vec![at(entry, format!("{size} MB is no multiple of 4 MB"))],
        Err(_) => vec![at(entry, format!("'{}' is no number of megabytes", shown(&entry.value)))],
    }
}

fn memory_thousands(subject: &Subject<'_>) -> Vec<Found> {
    let Some(entry) = subject.vmx.get("memSize") else { return Vec::new() };
    match subject.vmx.number("memSize") {
        // 1024000 MB are 1000 GB, which somebody may want.
        Some(size) if size >= 8000 && size % 1000 == 0 && size % 8192 != 0 => {
            // What no number can hold is no slip of a factor.
            let Some(meant) = (size / 1000).checked_mul(1024) else { return Vec::new() };
            let message = format!(
                "{size} MB are {:.2} GB, not {} GB, which would be {meant} MB",
                size as f64 / 1024.0,
                size / 1000
            );
            vec![at(entry, message)]
        }
        _ => Vec::new(),
    }
}

fn cores_per_socket(subject: &Subject<'_>) -> Vec<Found> {
    let vmx = subject.vmx;
    let (Some(processors), Some(cores)) = (vmx.number("numvcpus"), vmx.number("cpuid.coresPerSocket")) else {
        return Vec::new();
    };
    let Some(entry) = vmx.get("cpuid.coresPerSocket") else { return Vec::new() };
    if cores > 0 && processors % cores == 0 {
        return Vec::new();
    }
    vec![at(entry, format!("{processors} processors are no multiple of {cores} cores per socket"))]
}

fn bridges(subject: &Subject<'_>) -> Vec<Found> {
    let vmx = subject.vmx;
    // Only a whole file can lack them.
    if hardware(vmx).is_none_or(|version| version < 7) || vmx.get("config.version").is_none() {
        return Vec::new();
    }
    let any_bridge = vmx.entries().any(|entry| numbered(&entry.key, "pciBridge").is_some());
    let passthrough = devices(vmx).first().map(|device| device.present);
    match passthrough {
        Some(present) if !any_bridge => {
            let message = "there is no pciBridgeN at all: root ports (pciBridge4 to pciBridge7, virtualDev pcieRootPort, \
                           functions 8) hold all PCIe devices, passthrough ones included; do not take devices out \
                           because of the message, add the bridges";
            let why = "no PCIe bridges: 'No PCIe slot available for SCSI0. Remove SCSI0 and try again.'";
            let mut found = Found { line: Some(present.line), ..missing("pciBridge4.present", message) }.fatal(why);
            found = found.mend("pciBridge0.present", "TRUE");
            for bridge in 4..8 {
                found = found
                    .mend(&format!("pciBridge{bridge}.present"), "TRUE")
                    .mend(&format!("pciBridge{bridge}.virtualDev"), "pcieRootPort")
                    .mend(&format!("pciBridge{bridge}.functions"), "8");
            }
            vec![found]
        }
        _ => Vec::new(),
    }
}

fn bridge_functions(subject: &Subject<'_>) -> Vec<Found> {
    let vmx = subject.vmx;
    vmx.present("pciBridge")
        .into_iter()
        .filter_map(|number| {
            let kind = vmx.get(&format!("pciBridge{number}.virtualDev"))?;
            let functions = format!("pciBridge{number}.functions");
            if !kind.value.eq_ignore_ascii_case("pcieRootPort") || vmx.get(&functions).is_some() {
                return None;
            }
            let message = format!("{functions} is missing: the port holds one device, with \"8\" it holds eight");
            Some(at(kind, message).mend(&functions, "8"))
        })
        .collect()
}

/// How many functions of its host a VM of this virtual hardware can have; the release of the host decides for some.
/// `None` if no document says so.
pub fn passthrough_limit(hardware: u64, release: Option<&str>) -> Option<usize> {
    match hardware {
        13..=19 => Some(16),
        // 8.0 U1 calls itself 8.0.1.
        20 if release.is_some_and(|release| release.starts_with("8.0.0") || release == "8.0") => Some(32),
        20 => Some(64),
        21.. => Some(128),
        _ => None,
    }
}

fn device_count(subject: &Subject<'_>) -> Vec<Found> {
    let all = devices(subject.vmx);
    let count = all.iter().filter(|device| device.kind != Kind::Vgpu).count();
    let version = subject.host.and_then(|host| host.version.as_deref());
    let Some(limit) = hardware(subject.vmx).and_then(|hardware| passthrough_limit(hardware, version)) else {
        return Vec::new();
    };
    match all.last() {
        Some(last) if count > limit => {
            vec![at(
                last.present,
                format!("{count} passthrough devices, of which this hardware version allows {limit}"),
            )]
        }
        _ => Vec::new(),
    }
}
