//! `vmware.log` of a VM, in its three prefixes: `TIME| vmx| | I005: text`, `TIME| vmx| I125: text` and
//! `TIME In(05) vmx - text`. A failed power-on says here what it lacked; the arithmetic of passthrough memory is done for
//! it.

use super::{LogLine, Meaning, Row, Severity, look_up, split_severity, split_stamp};
use Severity::{Error, Info, Warning};

/// A line matters if it holds one of these; letter case matters. For choosing lines on the host.
pub const MATTERS: &[&str] = &[
    "PCIPassthru",
    "PciPassthru",
    "pciPassthru",
    "power on failed",
    "Power on failed",
    "No PCIe slot available",
    "noslotavail",
    "Too many PCI devices",
    "memory reservation",
    "Invalid memory setting",
    "Insufficient resources",
    "vrdma",
    "VRDMA",
    "pvrdma",
    "PVRDMA",
    "already defined",
    "Dictionary",
    "not a passthrough device",
    "Nested Hardware-Assisted Virtualization",
    "Failed to register the device",
    "No device hints found",
    "Msg_Post: Error",
];

/// 4 KiB each.
const PAGES_OF_A_GIB: u64 = 262_144;

const NO_SLOT: &str = "the VM has no free PCIe slot: it lacks the lines pciBridge4 to pciBridge7 (pcieRootPort, 8 functions \
                       each), as after a VMX was written by hand; the number of devices is not the fault";

const RESERVATION: &str =
    "all memory of the VM must be reserved (sched.mem.min equal to memSize, both in MB; or sched.mem.pin)";

const ROWS: &[Row] = &[
    (&["No PCIe slot available"], Error, NO_SLOT),
    (&["noslotavail"], Error, NO_SLOT),
    (&["Too many PCI devices"], Error, NO_SLOT),
    (&["Invalid memory setting"], Error, RESERVATION),
    (&["memory reservation", "should be equal to memsize"], Error, RESERVATION),
    (
        &["is not a passthrough device"],
        Error,
        "the host does not give this device away: passthrough is off or waits for a reboot, the id is another host's, or the \
         slot took the reset for a hot-plug (look for PCIEHP in vmkernel.log; kernel setting enablePCIEHotplug)",
    ),
    (
        &["PCI passthrough devices cannot be added when Nested Hardware-Assisted Virtualization is enabled"],
        Error,
        "nested virtualization (vhv.enable) and passthrough exclude each other: one of them must go",
    ),
    (
        &["Failed to register the device"],
        Error,
        "the host's passthrough did not take this device: it is not enabled for passthrough, waits for a reboot, or the IOMMU is off",
    ),
    (
        &["No device hints found"],
        Error,
        "the id of a passthrough device names no device of this host; its parts are decimal",
    ),
    (
        &["Module 'DevicePowerOn' power on failed"],
        Error,
        "a device stopped the power-on; the lines before it say which and why",
    ),
    (&["Module '", "power on failed"], Error, "this part stopped the power-on; the lines before it say why"),
    (&["GenericVmConfigFault"], Error, "the configuration stopped the power-on; the messages beside it say why"),
    (&["already defined"], Error, "the VMX assigns this key twice: the VM cannot be loaded until one goes"),
];

/// Takes a line apart; `None` for one without text.
pub fn line(raw: &str) -> Option<LogLine<'_>> {
    let raw = raw.trim_start_matches('\u{feff}').trim();
    let (stamp, rest) = split_stamp(raw);
    let mut severity = Info;
    let mut text = rest;
    if let Some((told, behind)) = split_severity(rest) {
        severity = told;
        // `vmx - text`; the thread's name holds no blank.
        text = match behind.split_once(" - ") {
            Some((thread, text)) if !thread.contains(' ') => text,
            _ => behind,
        };
    } else if let Some(bars) = rest.strip_prefix('|') {
        // `| vmx| | I005: text`: the last cell before the text is its level.
        let mut behind = bars;
        while let Some((cell, next)) = behind.split_once('|') {
            if cell.len() > 24 || cell.contains(':') {
                break;
            }
            behind = next;
        }
        text = behind.trim_start();
        if let Some((level, message)) = text.split_once(": ")
            && let Some(told) = level_severity(level)
        {
            severity = told;
            text = message;
        }
    }
    let text = text.trim();
    let module = text.split_once(':').map(|(module, _)| module).filter(|module| {
        !module.is_empty() && module.len() < 32 && module.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
    });
    (!text.is_empty()).then_some(LogLine { stamp, severity, module, text })
}

/// `I005`, `W115`, `E105`.
fn level_severity(level: &str) -> Option<Severity> {
    let number = level.get(1..)?;
    if number.len() < 2 || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    match level.as_bytes()[0] {
        b'I' | b'V' | b'T' | b'D' => Some(Info),
        b'W' => Some(Warning),
        b'E' | b'A' | b'P' | b'C' => Some(Error),
        _ => None,
    }
}

/// True if a line matters to power-on, passthrough or RDMA.
pub fn matters(text: &str) -> bool {
    MATTERS.iter().any(|words| text.contains(words))
}

/// The address space that a failed power-on asked for: pages of 4 KiB, needed and allowed.
pub fn pages_needed(text: &str) -> Option<(u64, u64)> {
    let rest = text.split_once("total number of pages needed (")?.1;
    let (needed, rest) = rest.split_once(')')?;
    let limit =
        rest.split_once("exceeds limit (").and_then(|(_, rest)| rest.split_once(')')).map(|(limit, _)| limit)?;
    Some((needed.trim().parse().ok()?, limit.trim().parse().ok()?))
}

/// One BAR of a passthrough device as the VM mapped it: address of the function, number of the BAR, its size in bytes.
pub fn bar(text: &str) -> Option<(&str, u32, u64)> {
    let rest = text.split_once("PCIPassthru: Device ")?.1;
    let mut words = rest.split_whitespace();
    let address = words.next()?;
    let mut value = |name: &str| {
        words.by_ref().find(|word| *word == name)?;
        words.next()
    };
    let index = value("barIndex")?.parse().ok()?;
    let size = value("size")?.parse().ok()?;
    Some((address, index, size))
}

/// Pages of 4 KiB in GiB with two digits: 4206594 are `16.05`.
fn gibibytes(pages: u64) -> String {
    let hundredths = (u128::from(pages) * 100 + u128::from(PAGES_OF_A_GIB) / 2) / u128::from(PAGES_OF_A_GIB);
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// What a message means, as far as that is known.
pub fn meaning(text: &str) -> Option<Meaning> {
    if let Some((needed, limit)) = pages_needed(text) {
        let window = needed.div_ceil(PAGES_OF_A_GIB).checked_next_power_of_two().unwrap_or(u64::MAX);
        return Some(Meaning::new(
            Error,
            format!(
                "the devices need {} GiB of address space ({needed} pages of 4 KiB) and the VM offers {} GiB: EFI firmware, \
                 pciPassthru.use64bitMMIO = \"TRUE\", and pciPassthru.64bitMMIOSizeGB at least \"{window}\"",
                gibibytes(needed),
                gibibytes(limit),
            ),
        ));
    }
    if let Some((address, index, size)) = bar(text) {
        return Some(Meaning::new(
            Info,
            format!("BAR {index} of {address} takes {size} bytes of the VM's address space"),
        ));
    }
    look_up(ROWS, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = include_str!("../../../tests/fixtures/esxi-logs/vmware-old.txt");
    const NEW: &str = include_str!("../../../tests/fixtures/esxi-logs/vmware-new.txt");
    const NO_SLOTS: &str = include_str!("../../../tests/fixtures/esxi-logs/poweron-noslot.txt");
    const MEMORY: &str = include_str!("../../../tests/fixtures/esxi-logs/poweron-memory.txt");
    const MARKERS: &str = include_str!("../../../tests/fixtures/esxi-logs/vmware-dict-markers.txt");

    fn nth(text: &str, number: usize) -> LogLine<'_> {
        text.lines().nth(number).and_then(line).expect("a line of the fixture")
    }

    #[test]
    fn three_prefixes_give_the_same_text() {
        let old = nth(OLD, 0);
        assert_eq!(old.stamp, Some(1_650_596_655_771_000));
        assert_eq!((old.severity, old.module), (Severity::Info, Some("PCIPassthru")));
        assert!(old.text.starts_with("PCIPassthru: total number"), "{old:?}");
        let new = nth(NEW, 0);
        assert!(new.text.starts_with("PCIPassthru: total number"), "{new:?}");
        assert_eq!(new.stamp, Some(1_689_932_452_413_000));
        let marker = nth(MARKERS, 0);
        assert_eq!((marker.text, marker.stamp), ("DICT --- CONFIGURATION", Some(1_613_793_010_598_000)));
    }

    #[test]
    fn pages_become_gibibytes_and_a_setting() {
        let one = meaning(nth(OLD, 0).text).expect("known");
        assert!(
            one.text.contains("16.05 GiB") && one.text.contains("3.50 GiB") && one.text.contains("at least \"32\""),
            "{}",
            one.text
        );
        let two = meaning(nth(NEW, 0).text).expect("known");
        assert!(two.text.contains("128.05 GiB") && two.text.contains("at least \"256\""), "{}", two.text);
        assert_eq!(pages_needed("total number of pages needed (99999999999999999999999) exceeds limit (1)"), None);
        let huge = meaning("total number of pages needed (18446744073709551615) exceeds limit (1)").expect("known");
        assert_eq!(huge.severity, Severity::Error);
    }

    #[test]
    fn failed_power_ons_are_explained() {
        assert!(meaning(nth(OLD, 1).text).expect("known").text.contains("lines before it"));
        assert!(meaning(nth(NO_SLOTS, 1).text).expect("known").text.contains("pciBridge4 to pciBridge7"));
        assert!(meaning(nth(NO_SLOTS, 2).text).expect("known").text.contains("pciBridge4 to pciBridge7"));
        assert!(meaning(nth(MEMORY, 0).text).expect("known").text.contains("reserved"));
        assert_eq!(meaning("Tools: something else"), None);
    }

    #[test]
    fn mapped_bars_are_read() {
        let text =
            "PCIPassthru: Device 0000:42:00.0 barIndex 1 type 3 realaddr 0x3b800000000 size 34359738368 flags 12";
        assert_eq!(bar(text), Some(("0000:42:00.0", 1, 34_359_738_368)));
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2_000))]

        #[test]
        fn damage_is_survived(text in crate::probe::testing::mutated_texts(&[OLD, NEW, NO_SLOTS, MEMORY, MARKERS])) {
            for line in text.lines().filter_map(line) {
                let _ = meaning(line.text);
            }
        }
    }
}
