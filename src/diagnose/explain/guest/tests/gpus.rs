//! What GPUs' tools and their driver say that is easily misread.

use super::*;

fn found(text: &str, check: &str) -> Vec<Status> {
    of(text).findings.iter().filter(|finding| finding.check == check).map(|finding| finding.status).collect()
}

#[test]
fn an_action_that_is_over_is_no_fault() {
    let xid = |from: &str, to: &str| {
        format!("[   10.000001] NVRM: Xid (PCI:0000:9b:00): 154, GPU recovery action changed from {from} to {to}\n")
    };
    let (none, reset) = ("0x0 (None)", "0x1 (GPU Reset Required)");
    assert_eq!(found(&xid(reset, none), "gpu.xid"), [Status::Info]);
    assert_eq!(found(&xid(none, reset), "gpu.xid"), [Status::Fail]);
    assert_eq!(found(&(xid(none, reset) + &xid(reset, none)), "gpu.xid"), [Status::Info], "the last one holds");
    let other = xid(none, reset).replace("9b", "0b");
    assert_eq!(found(&(other + &xid(reset, none)), "gpu.xid"), [Status::Fail, Status::Info], "each GPU has its own");
    let told = of(&xid(none, reset));
    assert!(told.findings.iter().any(|finding| finding.cause.contains("GPU Reset Required")), "{:?}", told.findings);
}

#[test]
fn the_name_of_a_process_is_no_fault_of_a_gpu() {
    let text =
        "[   10.000001] NVRM: Xid (PCI:0000:9b:00): 43, pid=1234, name=GPU has fallen off the bus., Ch 00000008\n";
    assert_eq!(found(text, "gpu.fell-off-bus"), []);
    assert_eq!(found(text, "gpu.xid"), [Status::Info]);
    assert_eq!(found(&text.replace(" 43,", " 79,"), "gpu.fell-off-bus"), [Status::Fail]);
}

#[test]
fn titles_of_a_topology_are_no_row() {
    let text = "\t\u{1b}[4mGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\u{1b}[0m\nGPU0\t X \tNV12\t0-7\t0\nGPU1\tNV12\t X \t0-7\t0\n";
    let explained = of(text);
    assert_eq!(fact(&explained, "GPU0.paths"), "X NV12 0-7 0");
    assert_eq!(explained.facts.iter().filter(|fact| fact.name.as_str() == "GPU0.paths").count(), 1);
}

#[test]
fn a_reason_is_told_once_and_its_counter_is_none() {
    let text = "GPU 00000000:0B:00.0\n    Clocks Event Reasons\n        HW Slowdown                       : Active\n            HW Thermal Slowdown           : Active\n    Clocks Event Reasons Counters\n        HW Thermal Slowdown               : 0 us\n";
    let explained = of(text);
    assert_eq!(found(text, "gpu.slowed"), [Status::Warn]);
    let thermal = explained.facts.iter().filter(|fact| fact.name.as_str().ends_with("hw-thermal-slowdown")).count();
    assert_eq!(thermal, 1, "{:?}", explained.facts);
}

#[test]
fn no_lanes_are_not_told() {
    let text = fixture!("public/91-nvidia-smi-q-link-idle-and-x8.txt");
    assert_eq!(found(text, "gpu.pcie-link"), [Status::Warn]);
    assert_eq!(found(&text.replace(": 8x", ": 0x"), "gpu.pcie-link"), []);
}

#[test]
fn what_waits_for_a_reset_and_errors_of_the_memory_are_told() {
    let text = "GPU 00000000:0B:00.0\n    MIG Mode\n        Current                           : Disabled\n        Pending                           : Enabled\n    ECC Mode\n        Current                           : Enabled\n        Pending                           : Disabled\n    ECC Errors\n        Volatile\n            DRAM Uncorrectable            : 3\n        Aggregate\n            DRAM Uncorrectable            : 9\n    Retired Pages\n        Single Bit ECC                    : 1\n        Double Bit ECC                    : N/A\n        Pending Page Blacklist            : Yes\n    Remapped Rows\n        Uncorrectable Error               : 1\n        Pending                           : Yes\n        Remapping Failure Occurred        : No\n";
    for (check, status) in [
        ("gpu.mig-pending", Status::Warn),
        ("gpu.ecc-pending", Status::Warn),
        ("gpu.ecc", Status::Fail),
        ("gpu.retired-pages", Status::Warn),
        ("gpu.row-remap", Status::Fail),
    ] {
        assert_eq!(found(text, check), [status], "{check}: {:?}", of(text).findings);
    }
    let well = text.replace(": Yes", ": No").replace(": 3", ": 0").replace("Disabled", "Enabled");
    assert_eq!(checks(&of(&well)), Vec::<&str>::new(), "errors that were long repaired are none");
}
