//! PCI functions that matter here: PVRDMA adapters and the vmxnet3 they are paired with, network adapters, NVIDIA GPUs.
//! Read from sysfs, since `lspci` is often missing in small images.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::files::{self, Files};
use crate::fabric::{Attribute, Entity, Fact, Observation, State, Text, Value};
use crate::probe::{Pace, Probe, Read, Rhythm, Source, Word};

const VENDOR: &str = "/sys/bus/pci/devices/*/vendor";
const DEVICE: &str = "/sys/bus/pci/devices/*/device";
const CLASS: &str = "/sys/bus/pci/devices/*/class";
const NODE: &str = "/sys/bus/pci/devices/*/numa_node";
const SPEED: &str = "/sys/bus/pci/devices/*/current_link_speed";
const SPEED_MAX: &str = "/sys/bus/pci/devices/*/max_link_speed";
const WIDTH: &str = "/sys/bus/pci/devices/*/current_link_width";
const WIDTH_MAX: &str = "/sys/bus/pci/devices/*/max_link_width";
const DRIVER: &str = "/sys/bus/pci/devices/*/driver";
const FUNCTION_FILES: &[&str] = &[VENDOR, DEVICE, CLASS, NODE];
const LINK_FILES: &[&str] = &[VENDOR, DEVICE, CLASS, SPEED, SPEED_MAX, WIDTH, WIDTH_MAX];

/// PCI functions: what they are, who drives them, what they are paired with.
pub const FUNCTIONS: Probe = Probe {
    name: "linux.pci",
    title: "PCI functions for RDMA, networking and GPUs",
    privilege_adds: "",
    pace: Pace::Slow,
    rhythm: Rhythm::PACE,
    sources: &[
        Source { name: "linux.pci-functions", read: Read::Files(FUNCTION_FILES) },
        Source {
            name: "linux.pci-drivers",
            read: Read::Command {
                argv: &[Word::Plain("stat"), Word::Plain("-c"), Word::Plain("%N"), Word::Glob(DRIVER)],
                keep: None,
            },
        },
    ],
    parse: parse_functions,
};

/// The PCIe links of those functions; an idle GPU lowers its own.
pub const LINKS: Probe = Probe {
    name: "linux.pci-link",
    title: "PCIe links of network adapters and GPUs",
    privilege_adds: "",
    pace: Pace::Medium,
    rhythm: Rhythm::PACE,
    sources: &[Source { name: "linux.pci-links", read: Read::Files(LINK_FILES) }],
    parse: parse_links,
};

/// One PCI function that matters.
struct Function<'a> {
    address: &'a str,
    vendor: u16,
    device: u16,
    class: u32,
    kind: &'static str,
    line: u32,
}

const PVRDMA: &str = "PVRDMA";
const VMXNET3: &str = "vmxnet3";
const VMWARE: u16 = 0x15ad;

/// What a function is to us; `None` for all others. Vendor and device decide before the class does: emulators give
/// PVRDMA another class than ESXi does.
fn kind(vendor: u16, device: u16, class: u32) -> Option<&'static str> {
    let (base, sub) = (class >> 16, class >> 8);
    Some(match (vendor, device) {
        (VMWARE, 0x0820) => PVRDMA,
        (VMWARE, 0x07b0) => VMXNET3,
        (0x10de, _) if base == 0x03 => "NVIDIA GPU",
        (0x10de, _) if sub == 0x0680 => "NVIDIA NVSwitch",
        (0x1d0f, 0xefa0..=0xefaf) => "EFA",
        (0x15b3, _) if base == 0x02 => "RDMA-capable NIC",
        (0x1af4, _) if base == 0x02 => "virtio NIC",
        _ if sub == 0x0207 => "InfiniBand adapter",
        _ if base == 0x02 => "NIC",
        _ => return None,
    })
}

fn hexadecimal(text: &str) -> Option<u32> {
    u32::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
}

/// True for a full address, `0000:1b:00.1`.
pub(super) fn is_address(text: &str) -> bool {
    let Some((slot, function)) = text.rsplit_once('.') else { return false };
    let mut parts = slot.split(':');
    let mut part = |long: std::ops::RangeInclusive<usize>| {
        parts.next().is_some_and(|part| long.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    part(4..=8) && part(2..=2) && part(2..=2) && parts.next().is_none() && matches!(function.as_bytes(), [b'0'..=b'7'])
}

/// Path of one file of one function.
fn path(pattern: &str, address: &str) -> String {
    pattern.replacen('*', address, 1)
}

fn functions<'a>(files: &Files<'a>) -> Vec<Function<'a>> {
    let number = |pattern, address| {
        let (line, text) = files.line(&path(pattern, address)).ok()?;
        Some((line, hexadecimal(text)?))
    };
    files
        .matching(VENDOR)
        .filter(|(_, address)| is_address(address))
        .filter_map(|(_, address)| {
            let (_, vendor) = number(VENDOR, address)?;
            let (line, device) = number(DEVICE, address)?;
            let (_, class) = number(CLASS, address)?;
            let (vendor, device) = (u16::try_from(vendor).ok()?, u16::try_from(device).ok()?);
            Some(Function { address, vendor, device, class, kind: kind(vendor, device, class)?, line })
        })
        .collect()
}

fn parse_functions(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [observation, links] = observations else { return Vec::new() };
    let files = Files::new(observation, FUNCTION_FILES);
    let drivers: BTreeMap<&str, (u32, &str)> = links
        .lines()
        .filter_map(|(number, line)| {
            let (path, target) = files::link(line)?;
            Some((files::captured(DRIVER, path)?, (number, target.rsplit('/').next()?)))
        })
        .collect();
    let functions = functions(&files);
    let mut facts = Vec::new();
    for function in &functions {
        let entity = Entity::PciFunction(Text::new(function.address));
        let mut known = |attribute, value: Value| {
            facts.push(observation.known(entity.clone(), attribute, value, function.line));
        };
        known(Attribute::FunctionKind, function.kind.into());
        known(Attribute::VendorId, Text::new(&format!("{:04x}", function.vendor)).into());
        known(Attribute::DeviceId, Text::new(&format!("{:04x}", function.device)).into());
        known(Attribute::ClassCode, Text::new(&format!("{:06x}", function.class)).into());
        facts.push(if let Some((line, driver)) = drivers.get(function.address) {
            links.known(entity.clone(), Attribute::Driver, *driver, *line)
        } else {
            // No link means no driver, but only if the question was answered at all.
            let state = links.trouble("stat", "").filter(|_| !links.stderr.contains("No such file"));
            links.fact(entity.clone(), Attribute::Driver, state.unwrap_or(State::Empty), 0)
        });
        facts.extend(files.fact(entity.clone(), Attribute::NumaNode, &path(NODE, function.address), "", |line| {
            line.parse::<i64>().ok().map(|node| State::Known(node.into()))
        }));
        if let Some((state, line)) = pair(function, &functions) {
            facts.push(observation.fact(entity, Attribute::PairedFunction, state, line));
        }
    }
    facts
}

/// The other half of a PVRDMA card: its driver needs a vmxnet3 at function 0 of the same slot.
fn pair(function: &Function<'_>, all: &[Function<'_>]) -> Option<(State<Value>, u32)> {
    let slot = |address: &str| address.rsplit_once('.').map(|(slot, _)| slot.to_owned());
    let mine = slot(function.address)?;
    let known = |other: &Function<'_>| (State::Known(Value::from(other.address)), other.line);
    match function.kind {
        PVRDMA => {
            let first = format!("{mine}.0");
            let partner = all.iter().find(|other| other.address == first && other.address != function.address);
            Some(match partner {
                Some(other) if other.kind == VMXNET3 => known(other),
                Some(other) => (missing_partner(&format!("it is another adapter ({})", other.kind)), other.line),
                None => (missing_partner("vmw_pvrdma cannot start without it"), function.line),
            })
        }
        VMXNET3 if function.address.ends_with(".0") => all
            .iter()
            .find(|other| other.kind == PVRDMA && slot(other.address).as_deref() == Some(mine.as_str()))
            .map(known),
        _ => None,
    }
}

fn missing_partner(reason: &str) -> State<Value> {
    State::Failed(Text::new(&format!("no vmxnet3 at function 0 of this slot: {reason}")))
}

fn parse_links(observations: &[Arc<Observation>]) -> Vec<Fact> {
    let [observation] = observations else { return Vec::new() };
    let files = Files::new(observation, LINK_FILES);
    let mut facts = Vec::new();
    for function in functions(&files) {
        let entity = Entity::PciFunction(Text::new(function.address));
        let virtual_link = function.vendor == VMWARE;
        for (attribute, pattern) in [
            (Attribute::LinkSpeed, SPEED),
            (Attribute::LinkSpeedMax, SPEED_MAX),
            (Attribute::LinkWidth, WIDTH),
            (Attribute::LinkWidthMax, WIDTH_MAX),
        ] {
            facts.extend(files.fact(entity.clone(), attribute, &path(pattern, function.address), "", |line| {
                if virtual_link {
                    // The link of a virtual function is made up (5 GT/s x32): nothing to judge.
                    return Some(State::NotObservable(Text::new("a virtual function has no PCIe link of its own")));
                }
                if matches!(attribute, Attribute::LinkSpeed | Attribute::LinkSpeedMax) {
                    return Some(speed(line));
                }
                width(line)
            }));
        }
    }
    facts.retain(|fact| fact.reading.state != State::Empty);
    facts
}

/// `16.0 GT/s PCIe` as it is; `Unknown` and `Unknown speed` are missing values.
fn speed(line: &str) -> State<Value> {
    if line.starts_with("Unknown") { State::NotAvailable } else { State::Known(line.into()) }
}

/// A number of lanes; 0, 63 and 255 (all bits set: the function did not answer) are missing values.
fn width(line: &str) -> Option<State<Value>> {
    Some(match line.parse::<u64>().ok()? {
        0 | 63 | 255 => State::NotAvailable,
        lanes => State::Known(lanes.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::super::guest_testing::{run, shown, survives_damage};
    use super::*;

    const SOFT_ROCE: &str = include_str!("../../../tests/fixtures/guest-probes/linux.pci-functions.txt");
    const SOFT_ROCE_DRIVERS: &str = include_str!("../../../tests/fixtures/guest-probes/linux.pci-drivers.txt");

    /// What sysfs says of each line of `lspci -nnk`: `00:10.1 Network controller [0280]: ... [15ad:0820]`.
    fn from_lspci(lspci: &str) -> (String, String) {
        let (mut files, mut drivers, mut address) = (Vec::new(), Vec::new(), String::new());
        for line in lspci.lines() {
            if let Some(driver) = line.trim().strip_prefix("Kernel driver in use: ") {
                drivers
                    .push(format!("'/sys/bus/pci/devices/{address}/driver' -> '../../../bus/pci/drivers/{driver}'\n"));
            } else if !line.starts_with('\t') {
                let (slot, rest) = line.split_once(' ').expect("an address");
                address = format!("0000:{slot}");
                let class = &rest[rest.find('[').expect("a class") + 1..][..4];
                let ids = &rest[rest.rfind('[').expect("ids") + 1..][..9];
                for (file, value) in [("vendor", &ids[..4]), ("device", &ids[5..]), ("class", &format!("{class}00"))] {
                    files.push(format!("/sys/bus/pci/devices/{address}/{file}:0x{value}\n"));
                }
                files.push(format!("/sys/bus/pci/devices/{address}/numa_node:-1\n"));
            }
        }
        (files.concat(), drivers.concat())
    }

    const LSPCI: &str = include_str!("../../../tests/fixtures/pvrdma-guest/18-lspci-nnk.txt");

    #[test]
    fn a_pvrdma_guest_is_known_by_its_ids_and_paired_by_slot() {
        let (files, drivers) = from_lspci(LSPCI);
        let facts = run(&FUNCTIONS, &[(&files, "", 0), (&drivers, "", 0)]);
        let of = |address: &str, attribute| shown(&facts, &Entity::PciFunction(Text::new(address)), attribute);
        assert_eq!(of("0000:00:10.1", Attribute::FunctionKind), "PVRDMA");
        assert_eq!(of("0000:00:10.1", Attribute::Driver), "vmw_pvrdma");
        assert_eq!(of("0000:00:10.1", Attribute::ClassCode), "028000");
        assert_eq!(of("0000:00:10.1", Attribute::PairedFunction), "0000:00:10.0");
        assert_eq!(of("0000:00:10.0", Attribute::FunctionKind), "vmxnet3");
        assert_eq!(of("0000:00:10.0", Attribute::PairedFunction), "0000:00:10.1");
        assert_eq!(of("0000:00:10.0", Attribute::NumaNode), "-1");
        assert_eq!(of("0000:00:05.0", Attribute::FunctionKind), "virtio NIC");
        assert_eq!(of("0000:00:03.0", Attribute::FunctionKind), "absent", "disks are none of our business");
    }

    #[test]
    fn a_pvrdma_without_its_vmxnet3_says_so() {
        let (files, drivers) = from_lspci(LSPCI);
        let alone = files.split_inclusive('\n').filter(|line| !line.contains("00:10.0")).collect::<Vec<_>>().concat();
        let facts = run(&FUNCTIONS, &[(&alone, "", 0), (&drivers.replace("/vmw_pvrdma", "/other"), "", 0)]);
        let pvrdma = Entity::PciFunction(Text::new("0000:00:10.1"));
        assert!(shown(&facts, &pvrdma, Attribute::PairedFunction).contains("no vmxnet3 at function 0 of this slot"));
        let mixed = files.replace("00:10.0/device:0x07b0", "00:10.0/device:0x07b1");
        let facts = run(&FUNCTIONS, &[(&mixed, "", 0), ("", "", 0)]);
        assert!(shown(&facts, &pvrdma, Attribute::PairedFunction).contains("another adapter (NIC)"));
        assert_eq!(shown(&facts, &pvrdma, Attribute::Driver), "<empty>");
    }

    #[test]
    fn soft_roce_has_only_virtio_interfaces() {
        let facts = run(&FUNCTIONS, &[(SOFT_ROCE, "", 0), (SOFT_ROCE_DRIVERS, "", 0)]);
        let kinds: Vec<String> = facts
            .iter()
            .filter(|fact| fact.attribute == Attribute::FunctionKind)
            .filter_map(|fact| Some(fact.reading.state.known()?.to_string()))
            .collect();
        assert_eq!(kinds, ["virtio NIC", "virtio NIC"]);
    }

    const LINK: &str = "/sys/bus/pci/devices/0000:0b:00.0/vendor:0x10de\n/sys/bus/pci/devices/0000:0b:00.0/device:0x20b0\n\
        /sys/bus/pci/devices/0000:0b:00.0/class:0x030200\n/sys/bus/pci/devices/0000:1b:00.1/vendor:0x15ad\n\
        /sys/bus/pci/devices/0000:1b:00.1/device:0x0820\n/sys/bus/pci/devices/0000:1b:00.1/class:0x020700\n\
        /sys/bus/pci/devices/0000:13:00.0/vendor:0x15b3\n/sys/bus/pci/devices/0000:13:00.0/device:0x101b\n\
        /sys/bus/pci/devices/0000:13:00.0/class:0x020000\n\
        /sys/bus/pci/devices/0000:0b:00.0/current_link_speed:2.5 GT/s PCIe\n\
        /sys/bus/pci/devices/0000:0b:00.0/current_link_width:16\n\
        /sys/bus/pci/devices/0000:0b:00.0/max_link_speed:16.0 GT/s PCIe\n\
        /sys/bus/pci/devices/0000:1b:00.1/current_link_width:32\n\
        /sys/bus/pci/devices/0000:13:00.0/current_link_speed:Unknown\n\
        /sys/bus/pci/devices/0000:13:00.0/current_link_width:0\n\
        /sys/bus/pci/devices/0000:13:00.0/max_link_width:255\n";

    #[test]
    fn links_are_read_and_made_up_ones_are_not_believed() {
        let facts = run(&LINKS, &[(LINK, "", 0)]);
        let of = |address: &str, attribute| shown(&facts, &Entity::PciFunction(Text::new(address)), attribute);
        assert_eq!(of("0000:0b:00.0", Attribute::LinkSpeed), "2.5 GT/s PCIe");
        assert_eq!(of("0000:0b:00.0", Attribute::LinkSpeedMax), "16.0 GT/s PCIe");
        assert_eq!(of("0000:0b:00.0", Attribute::LinkWidth), "16");
        assert_eq!(of("0000:0b:00.0", Attribute::LinkWidthMax), "absent");
        assert!(of("0000:1b:00.1", Attribute::LinkWidth).starts_with("<not observable"));
        for attribute in [Attribute::LinkSpeed, Attribute::LinkWidth, Attribute::LinkWidthMax] {
            assert!(of("0000:13:00.0", attribute).starts_with("<not available"), "{attribute:?}");
        }
    }

    #[test]
    fn only_full_addresses_are_addresses() {
        assert!(is_address("0000:1b:00.1") && is_address("10000:e1:00.0"));
        for wrong in
            ["", "1b:00.1", "0000:1b:00", "0000:1b:00.8", "0000:1b:00.10", "virtio0", "pci0000:00", "0000:00:1g.0"]
        {
            assert!(!is_address(wrong), "{wrong:?}");
        }
    }

    mod functions {
        use super::*;
        survives_damage!(FUNCTIONS, SOFT_ROCE, SOFT_ROCE_DRIVERS);
    }

    mod links {
        use super::*;
        survives_damage!(LINKS, LINK);
    }
}
