//! `vmkernel.log`: `TIME cpuN:WORLD[ opID=HEX])[LEVEL: ]message` of 7.x and older, and the form of 8.x, which puts a
//! severity and a program in between. Messages of which no public text exists (`vrdma`, `pvrdma`, `nmlx5_rdma`) are told
//! by their module and severity alone.

use super::{LogLine, Meaning, Row, Severity, look_up, split_severity, split_stamp};
use Severity::{Error, Info, Warning};

/// A line matters if it holds one of these; letter case matters. For choosing lines on the host.
pub const MATTERS: &[&str] = &[
    "PCIPassthru",
    "PCIEHP",
    "PCI: ",
    "nmlx5",
    "nmlx4",
    "NMLX_",
    "vrdma",
    "VRDMA",
    "vmrdma",
    "nvmerdma",
    "vmkrdma",
    "RDMACM",
    "rdma",
    "irdman",
    "bnxtroce",
    "qedrntv",
    "IOMMU",
    "AMDIommu",
    "VTD",
    "NVRM",
    "nvidia",
    "PFrame",
    "AER",
    "Net.PVRDMAVmknic",
];

const ROWS: &[Row] = &[
    (
        &["pause parameters cannot be set when pfc is enabled"],
        Info,
        "global pause frames cannot be set while priority flow control is on: the right state for RoCE. esxcli says only \
         \"Unable to complete Sysinfo operation\" to this",
    ),
    (
        &["nvmerdma", "Reject data", "sts 0x8"],
        Error,
        "the target refused the connection request (status 8, no resources as asked for): its settings, not the cable and \
         not flow control",
    ),
    (
        &["nvmerdma", "Reject data"],
        Error,
        "the target refused the connection request: look at the target, not at the cable",
    ),
    (
        &["nvmerdma", "Failed to establish RDMA connection"],
        Error,
        "NVMe over RDMA found no connection; the line before it says why, usually the target's refusal",
    ),
    (&["nvmerdma", "Failed to connect"], Error, "follows from the messages before it"),
    (
        &["nvmerdma", "status: Failure"],
        Error,
        "the connection request failed; reject data, if any, stand in the next line",
    ),
    (
        &["Skipping device reset", "link", "is down"],
        Error,
        "the host sees no PCIe link to the device: hardware, slot, power or power saving (ASPM), not the driver in the guest",
    ),
    (
        &["PCIEHP", "insertion detected while prior device", "removal is still pending"],
        Error,
        "the reset at power-on looked like a hot-plug: set the kernel setting enablePCIEHotplug to FALSE and reboot the host",
    ),
    (
        &["PCIEHP", "Adapter removed"],
        Warning,
        "the slot reports its card as removed. At the power-on of a VM this is a reset taken for a hot-plug (kernel setting \
         enablePCIEHotplug)",
    ),
    (
        &["PCIEHP", "Adapter inserted"],
        Warning,
        "the slot reports a card as inserted. At the power-on of a VM this is a reset taken for a hot-plug (kernel setting \
         enablePCIEHotplug)",
    ),
    (&["PCIPassthru", "Disable Domain for device"], Info, "the device leaves its VM"),
    (&["PCIPassthru", "pcipdevInfo", "destroyed"], Info, "the device left its VM"),
    (&["PCIPassthru", "pcipDevInfo", "allocated for"], Info, "the device is given to a VM"),
    (
        &["nmlx5", "command failed: IO was aborted"],
        Error,
        "the adapter does not answer its driver any more: reset or power-cycle",
    ),
    (&["AMDIommu", "Prepared IOMMU for hotplug device"], Info, "the IOMMU is ready for a device that was plugged in"),
    (&["Link Up"], Info, "the link of a physical adapter came up"),
    (&["Link Down"], Warning, "the link of a physical adapter went down"),
];

/// Takes a line apart; `None` for one without text.
pub fn line(raw: &str) -> Option<LogLine<'_>> {
    let raw = raw.trim_start_matches('\u{feff}').trim();
    let (stamp, mut text) = split_stamp(raw);
    let mut severity = Info;
    if let Some((told, rest)) = split_severity(text) {
        severity = told;
        text = rest;
        if let Some((program, rest)) = text.split_once(": ")
            && program.starts_with("vmk")
            && !program.contains(' ')
        {
            text = rest.trim_start();
        }
    }
    if text.starts_with("cpu")
        && let Some((place, rest)) = text.split_once(')')
        && place.len() < 64
        && place.contains(':')
    {
        text = rest.trim_start();
    }
    for (word, told) in [("ALERT: ", Error), ("WARNING: ", Warning)] {
        if let Some(rest) = text.strip_prefix(word) {
            severity = severity.max(told);
            text = rest;
        }
    }
    let mut named = text;
    for (word, told) in [("<NMLX_ERR>", Error), ("<NMLX_WRN>", Warning), ("<NMLX_INF>", Info), ("<NMLX_INFO>", Info)] {
        if let Some(rest) = text.strip_prefix(word) {
            severity = severity.max(told);
            named = rest.trim_start();
        }
    }
    let module = named
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'))
        .filter(|&end| end > 0 && named[end..].starts_with(':'))
        .map(|end| &named[..end])
        .filter(|module| module.starts_with(|c: char| c.is_ascii_alphabetic()));
    (!text.is_empty()).then_some(LogLine { stamp, severity, module, text })
}

/// True if a line matters to RDMA or passthrough.
pub fn matters(text: &str) -> bool {
    MATTERS.iter().any(|words| text.contains(words))
}

/// What a message means, as far as that is known.
pub fn meaning(text: &str) -> Option<Meaning> {
    look_up(ROWS, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REJECT: &str = include_str!("../../../tests/fixtures/esxi-logs/vmkernel-nvmerdma-reject.txt");
    const LINK_DOWN: &str = include_str!("../../../tests/fixtures/esxi-logs/vmkernel-8-link-down.txt");
    const HOTPLUG: &str = include_str!("../../../tests/fixtures/esxi-logs/vmkernel-hotplug.txt");
    const PAUSE: &str = include_str!("../../../tests/fixtures/esxi-logs/vmkernel-pause.txt");

    fn nth(text: &str, number: usize) -> LogLine<'_> {
        text.lines().nth(number).and_then(line).expect("a line of the fixture")
    }

    #[test]
    fn the_prefix_of_7x_with_and_without_an_operation() {
        let plain = nth(REJECT, 1);
        assert_eq!(plain.stamp, Some(1_693_690_149_289_000));
        assert_eq!(plain.module, Some("nvmerdma"));
        assert_eq!(plain.text, "nvmerdma:2811 [ctlr 272, queue 0] Reject data: recfmt 0, sts 0x8");
        let operation = nth(REJECT, 2);
        assert!(operation.text.starts_with("nvmerdma:593 [ctlr 272"), "{operation:?}");
        let foreign = nth(REJECT, 4);
        assert!(foreign.text.starts_with("rdma.c:1332"), "a line of another program among them: {foreign:?}");
    }

    #[test]
    fn the_prefix_of_8x() {
        let down = nth(LINK_DOWN, 0);
        assert_eq!((down.severity, down.module), (Severity::Info, Some("PCI")));
        assert!(down.text.starts_with("PCI: 1401: Skipping"), "{down:?}");
        // A line of the form that 8.x writes, out of a public report.
        let alert = line(
            "2025-01-19T19:12:20.894Z Al(177) vmkalert: cpu66:2097709)ALERT: <NMLX_ERR> nmlx5_coreQueryTir:268 command failed: IO was aborted",
        )
        .expect("a line");
        assert_eq!((alert.severity, alert.module), (Severity::Error, Some("nmlx5_coreQueryTir")));
        assert_eq!(meaning(alert.text).map(|meaning| meaning.severity), Some(Severity::Error));
        let bare = line("2025-01-19T19:12:20.894Z In(182) vmkernel: 9127.5:D:text").expect("a line");
        assert_eq!(bare.text, "9127.5:D:text");
        let warning = line("2025-01-19T19:12:20.894Z Wa(180) vmkwarning: cpu32:2098009)WARNING: Vol3: 4678: text")
            .expect("a line");
        assert_eq!(
            (warning.severity, warning.module, warning.text),
            (Severity::Warning, Some("Vol3"), "Vol3: 4678: text")
        );
    }

    #[test]
    fn a_line_without_any_prefix() {
        let pause = nth(PAUSE, 1);
        assert_eq!((pause.stamp, pause.severity, pause.module), (None, Severity::Warning, Some("nmlx5_core")));
        let meaning = meaning(pause.text).expect("known");
        assert_eq!(meaning.severity, Severity::Info, "pause off is right while flow control is on");
        assert!(line("  \r").is_none());
    }

    #[test]
    fn known_messages_are_explained() {
        let text = |text: &str| {
            text.lines()
                .filter_map(line)
                .filter_map(|line| meaning(line.text))
                .map(|it| it.text)
                .collect::<Vec<_>>()
                .join("\n")
        };
        assert!(text(REJECT).contains("refused the connection request"));
        assert!(text(LINK_DOWN).contains("no PCIe link to the device"));
        assert!(text(HOTPLUG).contains("enablePCIEHotplug to FALSE"));
        let pending = nth(HOTPLUG, 9);
        assert_eq!((pending.severity, pending.module), (Severity::Warning, Some("PCIEHP")));
    }

    #[test]
    fn every_line_of_the_samples_that_matters_is_chosen() {
        for text in [LINK_DOWN, HOTPLUG] {
            assert!(text.lines().all(matters));
        }
        assert!(!matters("Vol3: 4678: text"));
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2_000))]

        #[test]
        fn damage_is_survived(text in crate::probe::testing::mutated_texts(&[REJECT, LINK_DOWN, HOTPLUG, PAUSE])) {
            for line in text.lines().filter_map(line) {
                let _ = meaning(line.text);
            }
        }
    }
}
