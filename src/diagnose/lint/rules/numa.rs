//! NUMA and latency sensitivity: what is the default already, what needs a reservation, what is near which device.

use super::device::devices;
use super::{Found, Rule, Severity, at, documented, field, memory_reserved, missing, rule, shown};
use crate::diagnose::lint::Subject;

/// The vendor's pages on virtual NUMA.
const RESMGMT: &str = "docs.vmware.com resource management GUID-89C52376, GUID-3E956FB5, GUID-68817061";

pub(super) const RULES: &[Rule] = &[
    rule("vmx.numa-default", Severity::Info, "A NUMA key is set to its default", documented(RESMGMT), default)
        .like(&["vm.myth-numa-autosize"]),
    rule(
        "vmx.numa-affinity-form",
        Severity::Error,
        "The NUMA affinity is no list of nodes",
        documented(RESMGMT),
        affinity_form,
    ),
    rule(
        "vmx.numa-node-of-device",
        Severity::Warning,
        "The VM is bound to a NUMA node that is not the one of its device",
        documented("lspci and esxcli: NUMA node of the function; docs.vmware.com resource management GUID-3E956FB5"),
        node_of_device,
    ),
    rule(
        "vmx.numa-device-affinity",
        Severity::Info,
        "ESXi 9.0 can place a VM near its devices by itself",
        documented("lamw/esxi-advanced-and-kernel-settings: Numa.DeviceAffinity, new in 9.0, default 0"),
        device_affinity,
    )
    .only("9.0 and later"),
    rule(
        "vmx.cpu-affinity",
        Severity::Info,
        "The VM is bound to processors",
        documented("docs.vmware.com resource management: CPU affinity keeps the NUMA scheduler from its work"),
        cpu_affinity,
    ),
    rule(
        "vmx.latency-value",
        Severity::Error,
        "The latency sensitivity is none of its levels",
        documented("vSphere API LatencySensitivitySensitivityLevel: low, normal, medium, high, custom"),
        latency_value,
    ),
    rule(
        "vmx.latency-memory",
        Severity::Error,
        "High latency sensitivity needs all memory reserved",
        documented("KB 2002779; vSphere latency-sensitivity white paper"),
        latency_memory,
    ),
    rule(
        "vmx.latency-processors",
        Severity::Warning,
        "High latency sensitivity without reserved processors",
        documented("vSphere latency-sensitivity white paper: exclusive processors need a full CPU reservation"),
        latency_processors,
    ),
    rule(
        "vmx.latency-key",
        Severity::Warning,
        "The key of the latency sensitivity is misspelt",
        field("own knowledge: the key is sched.cpu.latencySensitivity"),
        latency_key,
    ),
];

/// Keys with their defaults, and what else is to be said of them.
const DEFAULTS: &[(&str, &str, &str)] = &[
    ("numa.autosize", "FALSE", "; the active one is numa.autosize.once, TRUE by default"),
    ("numa.autosize.once", "TRUE", ""),
    ("numa.vcpu.min", "9", ""),
    ("numa.vcpu.maxPerVirtualNode", "8", ""),
];

fn default(subject: &Subject<'_>) -> Vec<Found> {
    DEFAULTS
        .iter()
        .filter_map(|(key, default, more)| {
            let entry = subject.vmx.get(key)?;
            let same = match *default {
                "TRUE" => subject.vmx.flag(key) == Some(true),
                "FALSE" => subject.vmx.flag(key) == Some(false),
                number => entry.value.trim() == number,
            };
            same.then(|| at(entry, format!("{default} is the default: the line changes nothing{more}")).take_out(key))
        })
        .collect()
}

/// The nodes of the affinity; `None` if it is no list.
fn nodes(value: &str) -> Option<Vec<u32>> {
    value.split(',').map(|node| node.trim().parse().ok().filter(|node| *node < 64)).collect()
}

fn affinity_form(subject: &Subject<'_>) -> Vec<Found> {
    let key = "numa.nodeAffinity";
    match subject.vmx.get(key) {
        Some(entry)
            if nodes(&entry.value).is_none()
                && !entry.value.is_empty()
                && !entry.odd_quotes()
                && !entry.value.starts_with(['<', '$', '{']) =>
        {
            vec![at(entry, format!("'{}' is no list of nodes like \"0\" or \"0,1\"", shown(&entry.value)))]
        }
        _ => Vec::new(),
    }
}

fn node_of_device(subject: &Subject<'_>) -> Vec<Found> {
    let vmx = subject.vmx;
    let Some(entry) = vmx.get("numa.nodeAffinity") else { return Vec::new() };
    let Some(bound) = nodes(&entry.value) else { return Vec::new() };
    super::passthrough_id::functions(subject)
        .into_iter()
        .filter_map(|(function, id)| {
            let node = function.numa_node.filter(|node| !bound.contains(node))?;
            let message = format!(
                "the VM is bound to node {}, but {} ({}) is on node {node}: each transfer crosses the link between the \
                 processors",
                shown(&entry.value),
                shown(&id.key),
                shown(&function.address)
            );
            Some(at(entry, message))
        })
        .collect()
}

fn device_affinity(subject: &Subject<'_>) -> Vec<Found> {
    let new = subject.host.and_then(|host| host.version.as_deref()).is_some_and(|version| version.starts_with("9."));
    match subject.vmx.get("numa.nodeAffinity") {
        Some(entry) if new && !devices(subject.vmx).is_empty() => {
            let message = "on 9.0 the host's option Numa.DeviceAffinity (0 by default) places a VM on the node of its \
                           passthrough devices; with it the binding by hand is not needed and stays right on other hosts";
            vec![at(entry, message)]
        }
        _ => Vec::new(),
    }
}

fn cpu_affinity(subject: &Subject<'_>) -> Vec<Found> {
    match subject.vmx.get("sched.cpu.affinity") {
        Some(entry) if !entry.value.is_empty() && !entry.value.eq_ignore_ascii_case("all") => {
            let message = "bound to processors the VM is left out by the NUMA scheduler and stays where it is; to be near \
                           a device numa.nodeAffinity is enough";
            vec![at(entry, message)]
        }
        _ => Vec::new(),
    }
}

const LATENCY: &str = "sched.cpu.latencySensitivity";

fn latency_value(subject: &Subject<'_>) -> Vec<Found> {
    let levels = ["low", "normal", "medium", "high", "custom"];
    match subject.vmx.get(LATENCY) {
        Some(entry)
            if !levels.iter().any(|level| entry.value.eq_ignore_ascii_case(level))
                && !entry.odd_quotes()
                && !entry.value.starts_with(['<', '$', '{']) =>
        {
            vec![at(entry, format!("'{}' is none of normal, high, low and medium", shown(&entry.value)))]
        }
        _ => Vec::new(),
    }
}

fn is_high(subject: &Subject<'_>) -> bool {
    subject.vmx.value(LATENCY).is_some_and(|level| level.eq_ignore_ascii_case("high"))
}

fn latency_memory(subject: &Subject<'_>) -> Vec<Found> {
    let vmx = subject.vmx;
    // Passthrough asks for the same, and says so.
    let (true, true, Some(false), Some(size)) =
        (is_high(subject), devices(vmx).is_empty(), memory_reserved(vmx), vmx.number("memSize"))
    else {
        return Vec::new();
    };
    let reserved = vmx.number("sched.mem.min").unwrap_or(0);
    let message = format!("latency sensitivity is high: memSize is {size} MB, sched.mem.min reserves {reserved} MB");
    let line = vmx.get("sched.mem.min").map(|entry| entry.line);
    vec![Found { line, ..missing("sched.mem.min", message) }.mend("sched.mem.min", &size.to_string())]
}

fn latency_processors(subject: &Subject<'_>) -> Vec<Found> {
    let reserved = subject.vmx.number("sched.cpu.min").unwrap_or(0);
    match subject.vmx.get(LATENCY) {
        Some(entry) if is_high(subject) && reserved == 0 => {
            let message = "high latency sensitivity gives processors of its own only with all of their MHz reserved \
                           (sched.cpu.min); nothing is reserved";
            vec![at(entry, message)]
        }
        _ => Vec::new(),
    }
}

/// Whether a key is a misspelling of the latency sensitivity.
pub(super) fn is_misspelt_latency(key: &str) -> bool {
    let plain: String = key.chars().filter(char::is_ascii_alphanumeric).collect();
    !key.eq_ignore_ascii_case(LATENCY)
        && ["latencysensitivity", "cpulatencysensitivity", "schedlatencysensitivity", "schedcpulatencysensitivity"]
            .iter()
            .any(|wrong| plain.eq_ignore_ascii_case(wrong))
}

fn latency_key(subject: &Subject<'_>) -> Vec<Found> {
    let entries = subject.vmx.entries().filter(|entry| is_misspelt_latency(&entry.key));
    entries.map(|entry| at(entry, format!("the key is {LATENCY}; this one has no effect"))).collect()
}
