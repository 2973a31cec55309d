//! The system itself: distribution, kernel, identity, what it runs on, and what this login may see.

use std::sync::Arc;

use super::files::{Files, Missing};
use crate::fabric::{Attribute, Entity, Fact, Observation, Outcome, State, Text, Value};
use crate::probe::{Pace, Probe, Read, Rhythm, Source, Word};

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
    rhythm: Rhythm::PACE,
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
    // Amazon's real machines carry the vendor's name too: "m5.metal", "m7i.metal-24xl".
    let cloud_metal = product_name.contains(".metal");
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

#[cfg(test)]
mod tests {
    use super::super::guest_testing::{Printed, run, shown, survives_damage};
    use super::*;

    const ROOT: &str = include_str!("../../../tests/fixtures/guest-probes/linux.system-files.txt");
    const UNPRIVILEGED: &str = include_str!("../../../tests/fixtures/guest-probes/linux.system-files-unprivileged.txt");
    const VMWARE: &str = "/etc/os-release:NAME=\"Rocky Linux\"\n/etc/os-release:VERSION=\"9.4 (Blue Onyx)\"\n\
                          /sys/class/dmi/id/sys_vendor:VMware, Inc.\n/sys/class/dmi/id/product_name:VMware20,1\n\
                          /sys/class/dmi/id/product_uuid:4233A1B2-0D4C-11EE-BE56-0242AC120002\n\
                          /sys/devices/system/cpu/online:0-15,32-47\n";

    fn guest(printed: &[Printed<'_>], attribute: Attribute) -> String {
        shown(&run(&PROBE, printed), &Entity::Guest, attribute)
    }

    #[test]
    fn a_real_guest_read_as_root_and_as_another_user() {
        let root = [(ROOT, "grep: /sys/class/dmi/id/product_uuid: No such file or directory\n", 2), ("", "", 1)];
        assert_eq!(guest(&root, Attribute::OperatingSystem), "Debian GNU/Linux 12 (bookworm)");
        assert_eq!(guest(&root, Attribute::KernelRelease), "6.1.0-57-amd64");
        assert_eq!(guest(&root, Attribute::Hostname), "softroce1");
        assert_eq!(guest(&root, Attribute::MachineId), "5f7a0ce0000000000000000000000001");
        assert_eq!(guest(&root, Attribute::Virtualization), "qemu");
        assert_eq!(guest(&root, Attribute::ProcessorCount), "1");
        assert_eq!(guest(&root, Attribute::LoginUserId), "0");
        assert_eq!(guest(&root, Attribute::Privileged), "yes");
        assert_eq!(guest(&root, Attribute::BiosUuid), "absent");
        let other = [(UNPRIVILEGED, "grep: /sys/class/dmi/id/product_uuid: Permission denied\n", 2), ("", "", 1)];
        assert_eq!(guest(&other, Attribute::LoginUserId), "1000");
        assert_eq!(guest(&other, Attribute::Privileged), "no");
        assert_eq!(guest(&other, Attribute::BiosUuid), format!("<needs privilege: {UUID_ADDS}>"));
    }

    #[test]
    fn a_vmware_guest_gives_its_uuid_in_lower_case() {
        let printed = [(VMWARE, "", 0), ("vendor_id\nhypervisor\n", "", 0)];
        assert_eq!(guest(&printed, Attribute::Virtualization), "vmware");
        assert_eq!(guest(&printed, Attribute::BiosUuid), "4233a1b2-0d4c-11ee-be56-0242ac120002");
        assert_eq!(guest(&printed, Attribute::OperatingSystem), "Rocky Linux 9.4 (Blue Onyx)");
        assert_eq!(guest(&printed, Attribute::ProcessorCount), "32");
    }

    #[test]
    fn what_it_runs_on_is_said_only_as_far_as_it_shows() {
        let of = |dmi: &str, flags, status| guest(&[(dmi, "", 2), (flags, "", status)], Attribute::Virtualization);
        let metal = "/sys/class/dmi/id/sys_vendor:Dell Inc.\n/sys/class/dmi/id/product_name:PowerEdge R750\n";
        assert_eq!(of(metal, "vendor_id\nvendor_id\n", 0), "none");
        assert_eq!(of(metal, "vendor_id\nhypervisor\n", 0), "a hypervisor that does not give its name");
        assert_eq!(of("", "", 1), "<not published by this processor and its firmware>");
        assert_eq!(of("/sys/hypervisor/type:xen\n", "", 1), "xen");
        let azure =
            "/sys/class/dmi/id/sys_vendor:Microsoft Corporation\n/sys/class/dmi/id/product_name:Virtual Machine\n";
        assert_eq!(of(azure, "", 1), "hyper-v");
        let surface = "/sys/class/dmi/id/sys_vendor:Microsoft Corporation\n/sys/class/dmi/id/product_name:Surface\n";
        assert_eq!(of(surface, "vendor_id\n", 0), "none");
    }

    #[test]
    fn lists_of_processors_are_counted_and_nonsense_is_not() {
        assert_eq!(count_of_list("0-3,8,10-11"), Some(7));
        for wrong in ["", "3-1", "a", "0-18446744073709551615", "0--1"] {
            assert_eq!(count_of_list(wrong), None, "{wrong:?}");
        }
    }

    survives_damage!(PROBE, ROOT, "vendor_id\nhypervisor\n");
}
