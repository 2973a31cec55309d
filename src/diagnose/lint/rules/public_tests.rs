//! Files as people posted them, and the conclusion that must be drawn of each.

use crate::diagnose::lint::{Finding, HostView, PowerOn, Severity, Subject, Verdict, lint};
use crate::probe::vmx::Dictionary;

use super::samples;

fn findings(bytes: &[u8]) -> Vec<Finding> {
    let vmx = Dictionary::parse(bytes);
    lint(&Subject { vmx: &vmx, host: None, snapshots: None })
}

/// What it means for the power-on, beside a host if one is given.
fn power_on(bytes: &[u8], host: Option<&HostView>) -> PowerOn {
    let vmx = Dictionary::parse(bytes);
    let subject = Subject { vmx: &vmx, host, snapshots: None };
    PowerOn::of(&subject, &lint(&subject))
}

fn ids(findings: &[Finding]) -> Vec<&'static str> {
    findings.iter().map(|finding| finding.rule.id).collect()
}

/// Lines on which a rule found something.
fn lines(findings: &[Finding], rule: &str) -> Vec<u32> {
    findings.iter().filter(|finding| finding.rule.id == rule).filter_map(|finding| finding.found.line).collect()
}

macro_rules! public {
    ($name:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/public/", $name))
    };
}

#[test]
fn a_recipe_that_lost_its_equals_signs_assigns_nothing() {
    let found = findings(public!("03-vmx-pvrdma-from-web-guide-stripped.txt"));
    assert_eq!(lines(&found, "vmx.no-equals"), [1, 2, 3, 4, 5, 8]);
    assert_eq!(power_on(public!("03-vmx-pvrdma-from-web-guide-stripped.txt"), None).verdict, Verdict::Unknown);
}

#[test]
fn the_recipe_with_its_equals_signs_invents_keys_and_takes_the_vmxnet3_out() {
    let text = "pvrdma0.present = \"TRUE\"\npvrdma0.virtualDev = \"pvrdma\"\nethernet0.present = \"FALSE\"\n";
    let found = findings(text.as_bytes());
    assert_eq!(lines(&found, "vmx.pvrdma-keys"), [1, 2]);
    // The other adapter is not ours to judge: a word about it, and no change.
    assert_eq!(lines(&found, "vmx.pvrdma-other-removed"), [3]);
    let other = found.iter().find(|one| one.rule.id == "vmx.pvrdma-other-removed").expect("one");
    assert!(other.rule.severity == Severity::Info && other.found.fix.is_empty(), "{other:?}");
    assert_eq!(found.len(), 3);
}

#[test]
fn a_p40_without_efi_is_the_firmware_of_the_vm() {
    let found = findings(public!("63c-vmx-p40.txt"));
    assert_eq!(ids(&found), ["vmx.efi-missing"]);
    let message = &found.first().expect("one").found.message;
    assert!(message.contains("1 x P40 (32768 + 32 MiB) = 32800 MiB = 32.03 GiB"), "{message}");
    assert_eq!(power_on(public!("63c-vmx-p40.txt"), None).verdict, Verdict::Unknown);
}

#[test]
fn ids_are_decimal_and_hand_written_ones_are_told() {
    let found = findings(public!("68-vmx-pcipassthru-id-formats.txt"));
    // The file repeats pciPassthru0.id on purpose.
    assert_eq!(lines(&found, "vmx.duplicate-key").len(), 5);
    assert_eq!(lines(&found, "vmx.passthrough-id-form"), [6, 7]);
    assert!(lines(&found, "vmx.passthrough-id-hex").is_empty());
    let hex = findings(b"pciPassthru0.id = \"0000:0d:00.0\"\n");
    assert_eq!(ids(&hex), ["vmx.passthrough-id-hex"]);
    assert_eq!(
        hex.first().expect("one").found.fix,
        [("pciPassthru0.id".to_owned(), Some("00000:013:00.0".to_owned()))]
    );
    assert_eq!(power_on(b"pciPassthru0.id = \"0000:0d:00.0\"\n", None).verdict, Verdict::Fails);
}

#[test]
fn the_message_of_a_short_reservation_is_foretold() {
    let text = samples::a100().set("memSize", "16384").set("sched.mem.min", "8192").without("sched.mem.pin").text;
    let verdict = power_on(text.as_bytes(), None);
    assert_eq!(verdict.verdict, Verdict::Fails);
    let posted = String::from_utf8_lossy(include_bytes!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/lint/70-poweron-memory-reservation.txt"
    )))
    .trim()
    .trim_start_matches("Failed - ")
    .to_owned();
    assert!(verdict.reason.contains(&posted), "{}", verdict.reason);
}

#[test]
fn nested_virtualization_excludes_passthrough() {
    let found = findings(samples::a100().set("vhv.enable", "TRUE").text.as_bytes());
    assert_eq!(ids(&found), ["vmx.passthrough-nested"]);
    assert_eq!(power_on(samples::a100().set("vhv.enable", "TRUE").text.as_bytes(), None).verdict, Verdict::Fails);
    assert!(findings(samples::pvrdma().set("vhv.enable", "TRUE").text.as_bytes()).is_empty());
}

#[test]
fn typographic_quotes_and_the_wrong_value_are_two_findings() {
    let found = findings(public!("75-vmx-smart-quotes.txt"));
    assert_eq!(lines(&found, "vmx.odd-quotes"), [2, 3]);
    assert_eq!(lines(&found, "vmx.hypervisor-shown"), [1]);
    let fixes: Vec<_> =
        found.iter().filter(|one| one.rule.id == "vmx.odd-quotes").flat_map(|one| &one.found.fix).collect();
    assert_eq!(
        fixes,
        [
            &("pciPassthru.use64bitMMIO".to_owned(), Some("TRUE".to_owned())),
            &("pciPassthru.64bitMMIOSizeGB".to_owned(), Some("64".to_owned()))
        ]
    );
}

#[test]
fn names_that_differ_in_case_only_are_one_name() {
    let found = findings(public!("105-vmx-duplicate-key-case.txt"));
    assert_eq!(ids(&found), ["vmx.duplicate-key"]);
    assert_eq!(power_on(public!("105-vmx-duplicate-key-case.txt"), None).verdict, Verdict::Fails);
}

#[test]
fn an_edit_in_notepad_leaves_three_faults() {
    let found = findings(public!("106-vmx-bom-and-fullwidth-quotes.txt"));
    let mut ids = ids(&found);
    ids.sort_unstable();
    assert_eq!(ids, ["vmx.byte-order-mark", "vmx.duplicate-key", "vmx.odd-quotes"]);
}

#[test]
fn an_equals_sign_within_quotes_is_part_of_the_value() {
    assert!(findings(public!("107-vmx-value-with-equals-and-quotes.txt")).is_empty());
}

#[test]
fn virtual_functions_are_no_broken_passthrough() {
    assert!(findings(public!("110-vmx-sriov-bypass.txt")).is_empty());
}

#[test]
fn a_guide_with_comments_placeholders_and_hand_written_ids() {
    let found = findings(public!("111-vmx-comments-unquoted-hex-id.txt"));
    assert_eq!(lines(&found, "vmx.placeholder"), [8]);
    assert_eq!(lines(&found, "vmx.passthrough-id-form"), [3, 5]);
    assert_eq!(lines(&found, "vmx.trailing-comment"), [3, 5, 8, 15]);
    assert_eq!(found.len(), 7);
    // The second id reads both ways, the first one does not matter.
    let second = found.iter().find(|one| one.found.line == Some(5)).expect("one");
    assert!(second.found.message.contains("0000:29:00.0") && second.found.message.contains("0000:41:00.0"));
    assert_eq!(power_on(public!("111-vmx-comments-unquoted-hex-id.txt"), None).verdict, Verdict::Unknown);
}

#[test]
fn two_cards_of_24_gb_want_128_by_the_rule_of_twice_the_memory() {
    let text = samples::a100()
        .set("pciPassthru.64bitMMIOSizeGB", "64")
        .set("pciPassthru0.deviceId", "0x2204")
        .set("pciPassthru1.present", "TRUE")
        .set("pciPassthru1.id", "00000:065:00.0")
        .set("pciPassthru1.vendorId", "0x10de")
        .set("pciPassthru1.deviceId", "0x2204")
        .text;
    let found = findings(text.as_bytes());
    assert_eq!(ids(&found), ["vmx.mmio-by-memory"]);
    assert!(found.first().expect("one").found.message.contains("2 x 48 = 96 GB, rounded up to 128"));
}

#[test]
fn numbers_without_quotes_end_before_their_comment() {
    let found = findings(b"memSize = 256000  # 256GB RAM\n");
    assert_eq!(lines(&found, "vmx.unquoted-value"), [1]);
    let thousands = found.iter().find(|one| one.rule.id == "vmx.memory-thousands").expect("one");
    assert!(thousands.found.message.contains("250.00 GB"), "{}", thousands.found.message);
}

#[test]
fn sound_files_have_neither_error_nor_warning() {
    let modern = samples::a100().set("virtualHW.version", "19");
    for sample in [samples::plain(), samples::pvrdma(), modern, samples::dynamic(), samples::sriov(), samples::vgpu()] {
        let found = findings(sample.text.as_bytes());
        let grave: Vec<_> = found.iter().filter(|one| one.rule.severity > Severity::Info).collect();
        assert!(grave.is_empty(), "{grave:#?}");
        // No host tells what is left of its GPUs.
        let expected = if sample.text.contains(".vgpu") { Verdict::Unknown } else { Verdict::Starts };
        assert_eq!(power_on(sample.text.as_bytes(), Some(&samples::host())).verdict, expected);
    }
}

#[test]
fn the_arithmetic_of_the_window_is_the_one_by_hand() {
    // One A100 of 40 GB: 64 GiB and 32 MiB are 65568 MiB, 32 MiB more than a window of 64 GB holds; 64.03 GiB are above
    // the power of two 64, so 128; 65568 MiB are 16785408 pages of 4 KiB.
    let a100 = |count: u32, window: &str| {
        let device = |n: u32| {
            format!(
                "pciPassthru{n}.present = \"TRUE\"\npciPassthru{n}.id = \"00000:17{n}:00.0\"\n\
                 pciPassthru{n}.deviceId = \"0x20f1\"\npciPassthru{n}.vendorId = \"0x10de\"\n"
            )
        };
        let devices = (0..count).map(device).collect::<Vec<_>>().concat();
        format!(
            "firmware = \"efi\"\npciPassthru.use64bitMMIO = \"TRUE\"\npciPassthru.64bitMMIOSizeGB = \"{window}\"\n{devices}"
        )
    };
    let small = findings(a100(1, "64").as_bytes());
    let found = small.iter().find(|finding| finding.rule.id == "vmx.mmio-small").expect("too small");
    let message = &found.found.message;
    assert!(message.contains("1 x A100-PCIE-40GB (65536 + 32 MiB) = 65568 MiB = 64.03 GiB"), "{message}");
    assert!(message.contains("the window is 64 GB = 65536 MiB; next power of two: 128"), "{message}");
    assert!(found.found.power_on_fails.as_deref().is_some_and(|why| why.contains("16785408 pages")));
    assert!(!ids(&findings(a100(1, "128").as_bytes())).iter().any(|id| id.starts_with("vmx.mmio")));
    // Two: 131136 MiB do not fit in 128 GB = 131072 MiB, fit in 129, and 256 is the next power of two.
    assert!(ids(&findings(a100(2, "128").as_bytes())).contains(&"vmx.mmio-small"));
    assert!(ids(&findings(a100(2, "129").as_bytes())).contains(&"vmx.mmio-tight"));
    assert!(!ids(&findings(a100(2, "256").as_bytes())).iter().any(|id| id.starts_with("vmx.mmio")));
}
