use super::super::super::linux::guest_testing::{run, shown, survives_damage};
use super::*;

const LOADED: &str = "/proc/driver/nvidia/version:NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024\n\
                      /proc/driver/nvidia/version:GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n";
const MISSING: &str = "grep: /proc/driver/nvidia/version: No such file or directory\n";

/// Two GPUs of a driver of 2024, of which the first waits for a reset: no capture, but the form of published ones.
const NEW: &str = include_str!("../../../../tests/fixtures/guest-probes/gpu.query.txt");

/// A GPU of a driver before 535.
const OLD: &str = "\nTimestamp                                 : Wed Jun  7 19:32:16 2023\n\
    Driver Version                            : 510.73.08\nCUDA Version                              : 11.6\n\n\
    Attached GPUs                             : 1\nGPU 00000000:10:1C.0\n\
    \x20   Product Name                          : NVIDIA A100-SXM4-80GB\n\
    \x20   Clocks Throttle Reasons\n        Idle                              : Not Active\n\
    \x20       HW Slowdown                       : Active\n            HW Thermal Slowdown           : Active\n\
    \x20   Ecc Mode\n        Current                           : Enabled\n        Pending                           : Disabled\n\
    \x20   ECC Errors\n        Volatile\n            SRAM Correctable              : 0\n            SRAM Uncorrectable            : 0\n\
    \x20           DRAM Correctable              : 177\n            DRAM Uncorrectable            : 0\n\
    \x20   Retired Pages\n        Single Bit ECC                    : N/A\n        Double Bit ECC                    : N/A\n\
    \x20       Pending Page Blacklist            : N/A\n\
    \x20   Remapped Rows\n        Correctable Error                 : 1\n        Uncorrectable Error               : 0\n\
    \x20       Pending                           : Yes\n        Remapping Failure Occurred        : No\n\
    \x20   Power Readings\n        Power Limit                       : 400.00 W\n        Enforced Power Limit              : 350.00 W\n";

fn first() -> Entity {
    Entity::Gpu(Text::new("0000:0b:00.0"))
}

#[test]
fn a_new_driver_is_read_whole() {
    let facts = run(&PROBE, &[(LOADED, "", 0), (NEW, "", 0)]);
    let guest = |attribute| shown(&facts, &Entity::Guest, attribute);
    assert_eq!(guest(Attribute::NvidiaDriver), "550.90.07");
    assert_eq!(guest(Attribute::CudaVersion), "12.4");
    assert_eq!(guest(Attribute::GpuReadBy), "nvidia-smi");
    let gpu = |attribute| shown(&facts, &first(), attribute);
    for (attribute, expected) in [
        (Attribute::GpuModel, "NVIDIA A100-PCIE-40GB"),
        (Attribute::GpuHealth, "yes"),
        (Attribute::GpuVirtualization, "pass-through"),
        (Attribute::ComputeMode, "default"),
        (Attribute::PersistenceMode, "yes"),
        (Attribute::MigMode, "no"),
        (Attribute::MigModePending, "yes"),
        (Attribute::EccMode, "yes"),
        (Attribute::EccModePending, "yes"),
        (Attribute::GpuMemory, "42949672960"),
        (Attribute::Bar1Size, "68719476736"),
        (Attribute::PowerLimit, "250000"),
        (Attribute::PowerLimitMax, "250000"),
        (Attribute::SmClockMax, "1410"),
        (Attribute::SlowdownTemperature, "89"),
        (Attribute::PerformanceState, "P0"),
        (Attribute::PcieGeneration, "4"),
        (Attribute::PcieGenerationHost, "<not available (the tool said N/A)>"),
        (Attribute::PcieLanes, "16"),
        (Attribute::PcieReplays, "0"),
        (Attribute::EccUncorrected, "1"),
        (Attribute::EccCorrected, "0"),
        (Attribute::RemappedUncorrectable, "1"),
        (Attribute::RemapPending, "yes"),
        (Attribute::RemapFailed, "no"),
        (Attribute::RetiredDoubleBit, "<not available (the tool said N/A)>"),
        (Attribute::RecoveryAction, "drain and reset"),
        (Attribute::ClockReasons, "<empty>"),
    ] {
        assert_eq!(gpu(attribute), expected, "{attribute:?}");
    }
    let second = Entity::Gpu(Text::new("0000:13:00.0"));
    assert_eq!(shown(&facts, &second, Attribute::ClockReasons), "idle");
    assert_eq!(shown(&facts, &second, Attribute::RecoveryAction), "none");
}

#[test]
fn an_older_driver_has_other_names_for_the_same() {
    let facts = run(&PROBE, &[("", MISSING, 2), (OLD, "", 0)]);
    let gpu = Entity::Gpu(Text::new("0000:10:1c.0"));
    let gpu = |attribute| shown(&facts, &gpu, attribute);
    assert_eq!(gpu(Attribute::ClockReasons), "hardware slowdown, hardware thermal");
    assert_eq!(gpu(Attribute::EccCorrected), "177");
    assert_eq!(gpu(Attribute::EccUncorrected), "0");
    assert_eq!(gpu(Attribute::EccUncorrectedEver), "absent");
    assert_eq!(gpu(Attribute::EccModePending), "no");
    assert_eq!(gpu(Attribute::RemapPending), "yes");
    assert_eq!(gpu(Attribute::PowerLimit), "350000");
    assert_eq!(gpu(Attribute::MigMode), "absent", "not printed is not stated");
}

#[test]
fn a_guest_without_gpu_and_tool_says_nothing_and_one_with_a_driver_says_what_is_missing() {
    let missing = ("", "sh: 1: nvidia-smi: not found\n", 127);
    assert!(run(&PROBE, &[("", MISSING, 2), missing]).is_empty());
    let by = |printed| shown(&run(&PROBE, &[(LOADED, "", 0), printed]), &Entity::Guest, Attribute::GpuReadBy);
    assert_eq!(by(missing), "<nvidia-smi is not installed>");
    assert!(by(("No devices were found\n", "", 6)).contains("has no GPU"));
    let dead = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA \
                driver is installed and running.\n\n";
    assert!(by((dead, "", 9)).starts_with("<failed: NVIDIA-SMI has failed"), "{}", by((dead, "", 9)));
    assert_eq!(by(("", "", 0)), "<failed: nvidia-smi said nothing>");
}

#[test]
fn a_lost_gpu_is_told_by_its_address() {
    let lost = "Unable to determine the device handle for GPU0000:0B:00.0: GPU is lost.  Reboot the system to recover this GPU\n\n";
    let facts = run(&PROBE, &[(LOADED, "", 0), (lost, "", 15)]);
    assert_eq!(shown(&facts, &first(), Attribute::GpuHealth), "GPU is lost");
    assert!(shown(&facts, &Entity::Guest, Attribute::GpuReadBy).starts_with("<failed: Unable to determine"));
}

#[test]
fn the_link_of_a_public_report() {
    let block = include_str!("../../../../tests/fixtures/public/91-nvidia-smi-q-link-idle-and-x8.txt");
    let text = format!("GPU 00000000:01:00.0\n    PCI\n{block}");
    let facts = run(&PROBE, &[("", MISSING, 2), (text.as_str(), "", 0)]);
    let gpu = Entity::Gpu(Text::new("0000:01:00.0"));
    let gpu = |attribute| shown(&facts, &gpu, attribute);
    assert_eq!((gpu(Attribute::PcieGeneration), gpu(Attribute::PcieGenerationMax)), ("1".to_owned(), "3".to_owned()));
    assert_eq!((gpu(Attribute::PcieLanes), gpu(Attribute::PcieLanesMax)), ("8".to_owned(), "16".to_owned()));
}

survives_damage!(PROBE, LOADED, OLD);
