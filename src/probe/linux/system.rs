//! The system itself: distribution, kernel, identity, what it runs on, and what this login may see.

use std::sync::Arc;

use super::files::{Files, Missing};
use crate::fabric::{Attribute, Entity, Fact, Observation, Outcome, State, Text, Value};
use crate::probe::{Pace, Probe, Read, Source, Word};

const OS_RELEASE: &str = "/etc/os-release";
const OS_RELEASE_FALLBACK: &str = "/usr/lib/os-release";
const VENDOR: &str = "/sys/class/dmi/id/sys_vendor";
const PRODUCT: &str = "/sys/class/dmi/id/product_name";
const UUID: &str = "/sys/class/dmi/id/product_uuid";
const HYPERVISOR: &str = "/sys/hypervisor/type";
const STATUS: &str = "/proc/self/status";
const ONLINE: &str = "/sys/devices/system/cpu/online";
const FILES: &[&str] = &[
    OS_RELEASE,
    OS_RELEASE_FALLBACK,
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/random/boot_id",
    "/etc/machine-id",
    VENDOR,
    PRODUCT,
    UUID,
    HYPERVISOR,
    ONLINE,
    STATUS,
];

/// What the BIOS UUID is good for.
const UUID_ADDS: &str = "the VM's BIOS UUID, which joins this guest to its VM for certain";

/// Bits of `CapEff` that let a login see and change what belongs to others.
const NEEDED_CAPABILITIES: u64 = (1 << 12) | (1 << 21);

/// The system itself.
pub const PROBE: Probe = Probe {
    name: "linux.system",
    title: "distribution, kernel, identity and hypervisor",
    privilege_adds: UUID_ADDS,
    pace: Pace::Slow,
    sources: &[
        Source { name: "linux.system-files", read: Read::Files(FILES) },
        // The first two lines of /proc/cpuinfo with one of these words: "vendor_id" alone comes from a real machine of
        // the x86 family, "hypervisor" from a virtual one, neither from other processors.
        Source {
            name: "linux.hypervisor-flag",
            read: Read::Command {
                argv: &[
                    Word::Plain("grep"),
                    Word::Plain("-m"),
                    Word::Plain("2"),
                    Word::Plain("-o"),
                    Word::Plain("-w"),
                    Word::Plain("-E"),
                    Word::Plain("vendor_id|hypervisor"),
                    Word::Plain("/proc/cpuinfo"),
                ],
                keep: None,
            },
        },
    ],
    parse,
};

fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [system, flags] = observations else { return Vec::new() };
    let files = Files::new(system, FILES);
    let text = |line: &str| Some(State::Known(Value::from(line)));
    let guest = |attribute, path, adds, convert: fn(&str) -> Option<State<Value>>| {
        files.fact(Entity::Guest, attribute, path, adds, convert)
    };
    let mut facts: Vec<Fact> = [
        guest(Attribute::Hostname, "/proc/sys/kernel/hostname", "", text),
        guest(Attribute::KernelRelease, "/proc/sys/kernel/osrelease", "", text),
        guest(Attribute::MachineId, "/etc/machine-id", "the machine id", text),
        guest(Attribute::BootId, "/proc/sys/kernel/random/boot_id", "", text),
        guest(Attribute::SystemVendor, VENDOR, "", text),
        guest(Attribute::ProductName, PRODUCT, "", text),
        guest(Attribute::BiosUuid, UUID, UUID_ADDS, |line| {
            Some(State::Known(Value::from(&*line.to_ascii_lowercase())))
        }),
        guest(Attribute::ProcessorCount, ONLINE, "", |line| count_of_list(line).map(|n| State::Known(n.into()))),
    ]
    .into_iter()
    .flatten()
    .collect();
    facts.extend(operating_system(system, &files));
    facts.extend(login(system, &files));
    facts.push(virtualization(system, &files, flags));
    facts
}

/// The name of the distribution: `PRETTY_NAME`, else name and version.
fn operating_system(observation: &Observation, files: &Files<'_>) -> Option<Fact> {
    let lines = match files.lines(OS_RELEASE) {
        [] => files.lines(OS_RELEASE_FALLBACK),
        lines => lines,
    };
    let value_of = |name: &str| {
        lines.iter().find_map(|(number, line)| {
            let value = line.trim().strip_prefix(name)?.strip_prefix('=')?.trim_matches(['"', '\'']);
            (!value.trim().is_empty()).then(|| (*number, value.to_owned()))
        })
    };
    let (number, name) = value_of("PRETTY_NAME").or_else(|| {
        let (number, name) = value_of("NAME")?;
        let version = value_of("VERSION").or_else(|| value_of("VERSION_ID")).map_or(String::new(), |(_, text)| text);
        Some((number, format!("{name} {version}")))
    })?;
    Some(observation.known(Entity::Guest, Attribute::OperatingSystem, Text::new(&name), number))
}

/// Who reads, and whether that login may see what belongs to others.
fn login(observation: &Observation, files: &Files<'_>) -> Vec<Fact> {
    let field = |name: &str| {
        files.lines(STATUS).iter().find_map(|(number, line)| Some((*number, line.strip_prefix(name)?.trim())))
    };
    let mut facts = Vec::new();
    // Real, effective, saved and file system id: the effective one decides.
    if let Some((number, ids)) = field("Uid:")
        && let Some(id) = ids.split_whitespace().nth(1).and_then(|id| id.parse::<u64>().ok())
    {
        facts.push(observation.known(Entity::Guest, Attribute::LoginUserId, id, number));
    }
    if let Some((number, mask)) = field("CapEff:")
        && let Ok(mask) = u64::from_str_radix(mask, 16)
    {
        let privileged = mask & NEEDED_CAPABILITIES == NEEDED_CAPABILITIES;
        facts.push(observation.known(Entity::Guest, Attribute::Privileged, privileged, number));
    }
    facts
}

/// What DMI names mean: vendor, a piece of the product's name, the hypervisor.
const PLATFORMS: &[(&str, &str, &str)] = &[
    ("VMware", "", "vmware"),
    ("", "VMware", "vmware"),
    ("Microsoft Corporation", "Virtual Machine", "hyper-v"),
    ("Xen", "", "xen"),
    ("", "HVM domU", "xen"),
    ("Red Hat", "KVM", "kvm"),
    ("", "KVM", "kvm"),
    ("Amazon EC2", "", "kvm"),
    ("Google", "Google Compute Engine", "kvm"),
    ("QEMU", "", "qemu"),
    ("innotek GmbH", "", "virtualbox"),
    ("Parallels", "", "parallels"),
];

/// The hypervisor under this system: by DMI, by `/sys/hypervisor`, else by the processor's own flag, which does not say
/// which one.
fn virtualization(system: &Observation, files: &Files<'_>, flags: &Observation) -> Fact {
    let attribute = Attribute::Virtualization;
    let (vendor, product) = (files.line(VENDOR), files.line(PRODUCT));
    let vendor_name = vendor.as_ref().map_or("", |(_, name)| *name);
    let product_name = product.as_ref().map_or("", |(_, name)| *name);
    let cloud_metal = product_name.ends_with(".metal");
    if let Some((_, piece, name)) = PLATFORMS
        .iter()
        .find(|(wanted, piece, _)| !cloud_metal && vendor_name.starts_with(wanted) && product_name.contains(piece))
    {
        let line = if piece.is_empty() { &vendor } else { &product };
        return system.known(Entity::Guest, attribute, *name, line.as_ref().map_or(0, |(number, _)| *number));
    }
    if let Ok((number, kind)) = files.line(HYPERVISOR) {
        return system.known(Entity::Guest, attribute, kind, number);
    }
    let has = |word: &str| flags.lines().find(|(_, line)| line.trim() == word).map(|(number, _)| number);
    if let Some(number) = has("hypervisor") {
        return flags.known(Entity::Guest, attribute, "a hypervisor that does not give its name", number);
    }
    if let (Some(number), Outcome::Exit(_)) = (has("vendor_id"), &flags.outcome) {
        return flags.known(Entity::Guest, attribute, "none", number);
    }
    let state = match (vendor, &flags.outcome) {
        (Err(Missing::Incomplete(reason)), _) => State::Failed(Text::new(reason)),
        (_, Outcome::Exit(0 | 1)) => State::NotPublished(Text::new("this processor and its firmware")),
        _ => flags.trouble("grep", "").unwrap_or_else(|| State::Failed(Text::new("/proc/cpuinfo could not be read"))),
    };
    flags.fact(Entity::Guest, attribute, state, 0)
}

/// How many numbers a list like `0-3,8` holds.
pub(super) fn count_of_list(list: &str) -> Option<u64> {
    list.trim().split(',').map(str::trim).try_fold(0u64, |sum, part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        sum.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}
