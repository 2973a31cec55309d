use serde_json::Value as Json;

use super::*;
use crate::cli::document::tests::check;
use crate::diagnose::lint::{Finding, Found, Rule, Source, Verdict};

static WRONG_ID: Rule = Rule {
    id: "vmx.test-id",
    severity: Severity::Error,
    title: "an id",
    versions: "7.0 and later",
    source: Source { text: "a page", weak: false },
    at_power_on: crate::diagnose::lint::AtPowerOn::BySeverity,
    myths: &[],
    of_grammar: false,
    check: |_| Vec::new(),
};

static TWICE: Rule = Rule { id: "vmx.test-twice", severity: Severity::Warning, ..WRONG_ID };

const VMX: &str =
    "config.version = \"8\"\r\nmemSize = \"4096\"\r\npciPassthru0.id = \"0000:af:00.0\"\r\nMEMSIZE = \"4096\"\r\n";

fn findings() -> Vec<Finding> {
    vec![
        Finding {
            rule: &WRONG_ID,
            found: Found {
                line: Some(3),
                key: Some("pciPassthru0.id".to_owned()),
                message: "hexadecimal\u{1b}[2J".to_owned(),
                power_on_fails: Some("no such device".to_owned()),
                fix: vec![("pciPassthru0.id".to_owned(), Some("00000:175:00.0".to_owned()))],
            },
        },
        Finding {
            rule: &TWICE,
            found: Found {
                line: Some(4),
                key: Some("MEMSIZE".to_owned()),
                message: "again".to_owned(),
                power_on_fails: None,
                fix: vec![
                    ("memsize".to_owned(), Some("4096".to_owned())),
                    ("PCIPASSTHRU0.ID".to_owned(), None),
                    ("firmware".to_owned(), Some("efi".to_owned())),
                ],
            },
        },
    ]
}

fn files() -> Vec<File> {
    let power_on = PowerOn { verdict: Verdict::Fails, reason: "no such device".to_owned() };
    vec![
        File { path: "a b.vmx".to_owned(), power_on, findings: findings(), problem: None, fixed: None },
        File {
            path: "x\u{1b}[31m".to_owned(),
            power_on: PowerOn::unknown("why"),
            findings: Vec::new(),
            problem: Some("why".to_owned()),
            fixed: None,
        },
    ]
}

#[test]
fn the_document_satisfies_its_schema() {
    let schema: Json = serde_json::from_str(include_str!("../../../schema/lint-1.json")).expect("the schema is JSON");
    let document = serde_json::to_value(report::document(&files(), Some("esx1"))).expect("a document");
    let mut wrong = Vec::new();
    check(&schema, &schema, &document, "", &mut wrong);
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(document["files"][0]["findings"][0]["message"], "hexadecimal");
    assert_eq!(document["files"][0]["power_on"], serde_json::json!({"verdict": "fails", "reason": "no such device"}));
    let mut broken = document;
    broken["files"][0]["findings"][0]["severity"] = "grave".into();
    check(&schema, &schema, &broken, "", &mut wrong);
    assert_eq!(wrong.len(), 1, "the check does find faults: {wrong:?}");
}

#[test]
fn text_holds_nothing_that_a_terminal_obeys_and_keeps_its_width() {
    let text = report::text(&files());
    assert!(text.lines().all(|line| line.chars().count() <= 80 && !line.chars().any(char::is_control)), "{text}");
    for expected in [
        "a b.vmx\n  power-on: fails: no such device\n",
        "  error  line 3  pciPassthru0.id  vmx.test-id\n    hexadecimal\n    source: a page\n",
        "    fix: pciPassthru0.id = \"00000:175:00.0\"\n",
        "\nx\n  not judged: why\n",
        "2 files, 1 error, 1 warning, 0 for information, 1 would fail at power-on, 1",
    ] {
        assert!(text.contains(expected), "{expected:?} in {text}");
    }
}

#[test]
fn code_scanners_get_rules_places_and_what_could_not_be_read() {
    let document = sarif::document(&files());
    assert_eq!(document["version"], "2.1.0");
    let run = &document["runs"][0];
    let result = &run["results"][0];
    assert_eq!((&result["level"], &result["ruleId"]), (&Json::from("error"), &Json::from("vmx.test-id")));
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!((&place["artifactLocation"]["uri"], &place["region"]["startLine"]), (&"a%20b.vmx".into(), &3.into()));
    let index = usize::try_from(result["ruleIndex"].as_u64().expect("a number")).expect("small");
    assert_eq!(run["tool"]["driver"]["rules"][index]["id"], "vmx.test-id");
    assert_eq!(run["invocations"][0]["executionSuccessful"], false);
}

#[test]
fn of_two_changes_to_a_key_the_graver_findings_one_is_made() {
    let keys = |text: &str| -> Vec<String> {
        fix::proposed(&Dictionary::parse(text.as_bytes()), &findings()).into_iter().map(|(key, _)| key).collect()
    };
    assert_eq!(keys(VMX), ["pciPassthru0.id", "memsize", "firmware"]);
    // Which of two values was meant is not ours to say.
    assert_eq!(keys("memsize = 1\nMemSize = 2\n"), ["pciPassthru0.id", "firmware"]);
}

fn vm() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("vm.vmx");
    std::fs::write(&path, VMX).expect("a file");
    (folder, path)
}

#[test]
fn a_fix_writes_what_was_proposed_and_nothing_else() {
    let (_folder, path) = vm();
    let vmx = Dictionary::parse(VMX.as_bytes());
    let fixed = fix::fix(&path, &vmx, &findings(), Consent::Given, Format::Json).expect("done").expect("something");
    let backup = fixed.backup.expect("written");
    assert_eq!(std::fs::read_to_string(backup).expect("the old bytes"), VMX);
    let now = std::fs::read_to_string(&path).expect("the new bytes");
    let expected = "config.version = \"8\"\r\nmemSize = \"4096\"\r\npciPassthru0.id = \"00000:175:00.0\"\r\nfirmware = \"efi\"\r\n";
    assert_eq!(now, expected);
    let again = Dictionary::parse(now.as_bytes());
    assert!(fix::fix(&path, &again, &findings(), Consent::Given, Format::Json).expect("done").is_none());
}

#[test]
fn nothing_is_written_without_consent_or_while_the_vm_is_on() {
    let (folder, path) = vm();
    let vmx = Dictionary::parse(VMX.as_bytes());
    let error = fix::fix(&path, &vmx, &findings(), Consent::Nobody, Format::Json).expect_err("nobody agreed");
    assert!(matches!(error, Failure::Usage(defects) if defects[0].to_string().contains("--yes")));
    std::fs::write(folder.path().join("vm.vmx.lck"), "").expect("a lock");
    let fixed = fix::fix(&path, &vmx, &findings(), Consent::Given, Format::Json).expect("done").expect("something");
    assert!(fixed.backup.is_none() && fixed.refused.expect("why").contains("vm.vmx.lck lies beside it"));
    assert_eq!(std::fs::read_to_string(&path).expect("there"), VMX);
}

#[test]
fn the_list_of_snapshots_beside_a_file_is_counted() {
    let (folder, path) = vm();
    assert_eq!(snapshots_beside(&path), None);
    std::fs::write(folder.path().join("vm.vmsd"), "snapshot.numSnapshots = \"2\"\n").expect("a file");
    assert_eq!(snapshots_beside(&path), Some(2));
}
