//! Files at the edge: sizes that are not proved, numbers that are none, more lines than anybody writes.

use std::sync::LazyLock;

use super::RULES;
use super::samples::{Sample, a100, adapter, host, vgpu};
use super::tests::{Fixture, findings, fixtures};
use crate::diagnose::lint::{MOST_OF_A_RULE, PowerOn, Severity, Subject, lint};
use crate::probe::vmx::Dictionary;

#[test]
fn of_a_gpu_whose_bars_no_output_shows_nothing_is_foretold() {
    let a30 = |sample: Sample| sample.set("pciPassthru0.deviceId", "0x20b7");
    let short = [
        a30(a100()).without("firmware"),
        a30(a100()).without("pciPassthru.use64bitMMIO").without("pciPassthru.64bitMMIOSizeGB"),
        a30(a100()).set("pciPassthru.64bitMMIOSizeGB", "16"),
    ];
    for sample in short {
        let vmx = Dictionary::parse(sample.text.as_bytes());
        let found = findings(&sample, &vmx);
        let mmio: Vec<_> =
            found.iter().filter(|one| one.rule.id.contains("mmio") || one.rule.id.contains("efi")).collect();
        let [one] = mmio.as_slice() else { panic!("{mmio:?}") };
        assert_eq!((one.rule.id, one.rule.severity), ("vmx.mmio-unproved", Severity::Warning));
        let message = &one.found.message;
        assert!(message.contains("lspci -vs") && message.contains("A30 (32768 + 32 MiB)"), "{message}");
        assert!(one.found.power_on_fails.is_none() && one.found.fix.is_empty());
    }
    // Beside one that is proved the window is made large enough for both.
    let both = a100()
        .set("pciPassthru.64bitMMIOSizeGB", "32")
        .set("pciPassthru1.present", "TRUE")
        .set("pciPassthru1.id", "00000:065:00.0")
        .set("pciPassthru1.vendorId", "0x10de")
        .set("pciPassthru1.deviceId", "0x20b5");
    let vmx = Dictionary::parse(both.text.as_bytes());
    let found = findings(&both, &vmx);
    let small =
        found.iter().find(|one| one.rule.id == "vmx.mmio-small").expect("too small for the A100 of 40 GB alone");
    assert!(small.found.message.contains("65568 MiB"), "{}", small.found.message);
    assert_eq!(small.found.fix, [("pciPassthru.64bitMMIOSizeGB".to_owned(), Some("256".to_owned()))]);
    // What depends on the display mode has no size at all.
    for id in ["0x2235", "0x26b9"] {
        let sample = a100().set("pciPassthru0.deviceId", id).set("pciPassthru.64bitMMIOSizeGB", "64");
        let vmx = Dictionary::parse(sample.text.as_bytes());
        let found = findings(&sample, &vmx);
        assert_eq!(found.iter().map(|one| one.rule.id).collect::<Vec<_>>(), ["vmx.mmio-by-memory"], "{id}");
    }
}

#[test]
fn an_adapter_of_intel_needs_no_window_and_a_gpu_of_intel_may() {
    let device = |model: &str| {
        let sample = adapter().set("pciPassthru0.vendorId", "0x8086").set("pciPassthru0.deviceId", model);
        let sample = sample.set("pciPassthru.use64bitMMIO", "TRUE");
        let vmx = Dictionary::parse(sample.text.as_bytes());
        findings(&sample, &vmx).iter().map(|one| one.rule.id).collect::<Vec<_>>()
    };
    for adapter in ["0x1572", "0x1592", "0x10fb", "0x1889"] {
        assert_eq!(device(adapter), ["vmx.mmio-unneeded"], "{adapter}");
    }
    assert_eq!(device("0x56c0"), ["vmx.mmio-without-efi"]);
}

#[test]
fn a_profile_is_respelt_only_where_public_files_show_how() {
    let fix = |name: &str| {
        let sample = vgpu().set("pciPassthru0.vgpu", name);
        let vmx = Dictionary::parse(sample.text.as_bytes());
        let found = findings(&sample, &vmx);
        let [one] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(one.rule.id, "vmx.vgpu-spelling", "{name}");
        one.found.fix.first().and_then(|(_, value)| value.clone())
    };
    assert_eq!(fix("GRID A100-1-5C").as_deref(), Some("grid_a100-1-5c"));
    assert_eq!(fix("NVIDIA GRID A100-1-5C").as_deref(), Some("grid_a100-1-5c"));
    assert_eq!(fix("NVIDIA A100-1-5C"), None);
}

/// As many devices as a file of 4 MiB can name, all of them one function: a search for each of them would take an hour.
#[test]
fn a_file_full_of_one_function_is_judged_in_time() {
    let device = |number| format!("pciPassthru{number}.present=1\npciPassthru{number}.id=\"00000:175:00.0\"\n");
    let text: String = (0..50_000).map(device).collect();
    let vmx = Dictionary::parse(text.as_bytes());
    let host = host();
    let subject = Subject { vmx: &vmx, host: Some(&host), snapshots: None };
    for (id, count) in [("vmx.passthrough-id-twice", 49_999), ("vmx.passthrough-other-device", 0)] {
        let rule = RULES.iter().find(|rule| rule.id == id).expect("the rule");
        assert_eq!((rule.check)(&subject).len(), count, "{id}");
    }
}

#[test]
fn what_is_left_out_of_a_hostile_file_is_counted() {
    const LINES: usize = 2_000;
    let of = |line: &dyn Fn(usize) -> String| -> String { (0..LINES).map(|number| line(number) + "\n").collect() };
    let devices = |id: &str| -> String {
        of(&|number| format!("pciPassthru{number}.present=1\npciPassthru{number}.id=\"{id}\""))
    };
    let texts = [
        ("vmx.no-equals", of(&|number| format!("line{number} x"))),
        ("vmx.unknown-key", of(&|number| format!("what.{number} = \"1\""))),
        ("vmx.duplicate-key", of(&|_| "memSize = 4096".to_owned())),
        ("vmx.passthrough-id-twice", devices("00000:175:00.0")),
        ("vmx.passthrough-id-hex", devices("0000:af:00.0")),
    ];
    for (rule, text) in texts {
        let vmx = Dictionary::parse(text.as_bytes());
        let host = host();
        let subject = Subject { vmx: &vmx, host: Some(&host), snapshots: None };
        let found = lint(&subject);
        assert!(found.len() <= RULES.len() * (MOST_OF_A_RULE + 1));
        let of_rule: Vec<_> = found.iter().filter(|one| one.rule.id == rule).collect();
        assert_eq!(of_rule.len(), MOST_OF_A_RULE + 1, "{rule}");
        let rest = of_rule.iter().find(|one| one.found.line.is_none()).expect("the rest is counted");
        assert!(rest.found.message.contains(" more "), "{}", rest.found.message);
        // A verdict is made of them all the same.
        assert!(!PowerOn::of(&subject, &found).reason.is_empty());
    }
}

/// Values that are no sizes of anything.
const EXTREME: &[&str] = &[
    "0",
    "1",
    "-1",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551000",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999",
    "0xffffffff",
    "1e300",
    "NaN",
    "",
];

/// The fixtures of the rules, made once.
static FIXTURES: LazyLock<Vec<Fixture>> = LazyLock::new(fixtures);

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(100))]

    #[test]
    fn extreme_numbers_are_survived(
        which in proptest::prelude::any::<proptest::sample::Index>(),
        edits in proptest::collection::vec(
            (proptest::prelude::any::<proptest::sample::Index>(), proptest::sample::select(EXTREME)), 1..6),
    ) {
        let sample = which.get(&FIXTURES).1.clone();
        let mut lines: Vec<String> = sample.text.lines().map(str::to_owned).collect();
        for (at, value) in edits {
            let line = at.index(lines.len());
            if let Some((key, _)) = lines[line].clone().split_once(" = ") {
                lines[line] = format!("{key} = \"{value}\"");
            }
        }
        let vmx = Dictionary::parse(lines.join("\n").as_bytes());
        for finding in findings(&sample, &vmx) {
            proptest::prop_assert!(!finding.found.message.is_empty());
        }
    }
}

#[test]
fn every_number_at_its_extreme_is_survived() {
    let numbers =
        ["memSize", "sched.mem.min", "numvcpus", "cpuid.coresPerSocket", "virtualHW.version", "numa.nodeAffinity"];
    let sizes = ["pciPassthru.64bitMMIOSizeGB", "sched.cpu.min", "pciPassthru0.vendorId", "pciPassthru0.deviceId"];
    for key in numbers.iter().chain(&sizes) {
        for value in EXTREME {
            let sample = a100().set(key, value).beside(host());
            let vmx = Dictionary::parse(sample.text.as_bytes());
            assert!(findings(&sample, &vmx).iter().all(|one| !one.found.message.is_empty()), "{key} {value}");
        }
    }
}
