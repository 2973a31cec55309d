//! Documents as they are written and as they should not be, and what is said of two of them.

use proptest::prelude::*;

use super::*;
use crate::probe::testing;
use crate::tune::compare::Verdict;

const MEASURED: &str = r#"{
  "schema": "rdmascope.bench/1", "rdmascope": "0.1.0", "at": "2026-12-01T04:00:00Z", "pair": ["vm1", "vm2"], "of_tomorrow": 1,
  "parameters": {"test": "write-bandwidth", "size": 65536, "duration_seconds": 5, "mtu": 1024},
  "metrics": [
    {"name": "bandwidth", "unit": "MB/s", "better": "higher", "values": [100, 101, 99, 100.5, null, 99.5], "samples": []},
    {"name": "latency", "unit": "usec", "better": "lower", "values": [5.0, 5.1, 4.9, 5.05, 4.95], "p": 1}
  ],
  "fingerprint": {"guest": {"vm1: kernel": "6.1", "vm1 netdev eth1: MTU": 1500}, "host": {"host of vm1: build": null}}
}"#;

fn document(text: &str) -> Baseline {
    read(text).expect("a measurement")
}

fn verdicts(comparison: &Comparison) -> Vec<Verdict> {
    comparison.metrics.iter().map(|metric| metric.verdict).collect()
}

#[test]
fn a_measurement_becomes_a_baseline_and_comes_back() {
    let measured = document(MEASURED);
    assert_eq!(measured.metrics[0].values.len(), 5, "what could not be taken is none");
    let saved = measured.clone().named("before", Timestamp::UNIX_EPOCH);
    let text = serde_json::to_string_pretty(&saved).expect("a document");
    let back = document(&text);
    assert_eq!(back, saved);
    assert_eq!((back.schema.as_str(), back.name.as_deref()), (SCHEMA, Some("before")));
    assert_eq!(back.at.expect("it says when").to_string(), "2026-12-01T04:00:00Z");
}

#[test]
fn other_documents_are_refused_in_words() {
    let error = |text: &str| read(text).expect_err(text);
    let newer = error(&MEASURED.replace("bench/1", "bench/2"));
    assert!(newer.contains("rdmascope.bench/2") && newer.contains("written by a newer one"), "{newer}");
    assert!(error("{\"schema\": \"rdmascope.check/1\"}").contains("no measurement"));
    assert!(error("hello").contains("no measurement"));
    assert!(error(&MEASURED[..300]).contains("damaged"));
    assert!(error("{\"schema\": \"rdmascope.bench/1\", \"metrics\": []}").contains("nothing was measured"));
    assert!(error(&MEASURED.replace("latency", "bandwidth")).contains("two metrics"));
}

#[test]
fn nothing_that_changed_is_no_difference() {
    let found = compare(&document(MEASURED), &document(MEASURED));
    assert_eq!(verdicts(&found), [Verdict::NoDifference, Verdict::NoDifference]);
    assert!(!found.has_regression() && !found.is_incomplete() && found.changes.changed.is_empty());
    assert!(found.changes.unread.iter().any(|one| one.key.as_str() == "host of vm1: build"), "{:?}", found.changes);
}

#[test]
fn a_changed_mtu_is_named_with_the_loss() {
    let after = MEASURED
        .replace("[100, 101, 99, 100.5, null, 99.5]", "[80, 81, 79, 80.5, 79.5]")
        .replace("\"vm1 netdev eth1: MTU\": 1500", "\"vm1 netdev eth1: MTU\": 600")
        .replace("\"mtu\": 1024", "\"mtu\": 512");
    let found = compare(&document(MEASURED), &document(&after));
    assert_eq!(verdicts(&found), [Verdict::Worse, Verdict::NoDifference]);
    assert!(found.has_regression());
    assert!(found.metrics[0].sentence().starts_with("worse: 100.0 -> 80.00 MB/s, -20.0 % "));
    let changed: Vec<String> = found
        .changes
        .changed
        .iter()
        .map(|one| format!("{} {} {} -> {}", one.layer, one.key, one.before, one.after))
        .collect();
    assert_eq!(changed, ["guest vm1 netdev eth1: MTU 1500 -> 600", "tool mtu 1024 -> 512"]);
}

#[test]
fn what_differs_in_units_parameters_or_pair_is_not_compared() {
    for (from, to, expected) in [
        ("MB/s", "Gb/s", "the units differ"),
        ("\"size\": 65536", "\"size\": 4096", "other parameters: size"),
        ("[\"vm1\", \"vm2\"]", "[\"vm2\", \"vm1\"]", "between other guests: vm1 -> vm2, and vm2 -> vm1"),
        ("\"name\": \"bandwidth\"", "\"name\": \"other\"", "does not have it"),
        ("100, 101, 99, 100.5, null, 99.5", "100, 101", "too few"),
        ("higher", "lower", "do not agree"),
    ] {
        let found = compare(&document(MEASURED), &document(&MEASURED.replace(from, to)));
        assert_eq!(found.metrics[0].verdict, Verdict::NotComparable, "{to}");
        assert!(found.is_incomplete());
        let text = found.metrics[0].sentence();
        assert!(text.contains(expected) && text.contains("what would decide: "), "{to}: {text}");
    }
    let same = MEASURED.replace("\"duration_seconds\": 5", "\"duration_seconds\": 5.0");
    assert!(compare(&document(MEASURED), &document(&same)).parameters.is_empty());
}

#[test]
fn one_run_each_is_compared_by_its_samples_and_says_so() {
    let of = |middle: u32| {
        let samples: Vec<String> = (0..30).map(|number| (middle + number * 7 % 5).to_string()).collect();
        let metric = format!(
            r#"{{"name": "bandwidth", "unit": "MB/s", "better": "higher", "values": [{middle}], "samples": [{}]}}"#,
            samples.join(", ")
        );
        document(&format!(r#"{{"schema": "rdmascope.bench/1", "metrics": [{metric}]}}"#))
    };
    let found = compare(&of(100), &of(80));
    assert_eq!(verdicts(&found), [Verdict::Worse]);
    let compared = found.metrics[0].result.as_ref().expect("comparable");
    assert!(compared.notes.iter().any(|note| note.contains("one run of each side")), "{:?}", compared.notes);
}

#[test]
fn of_many_metrics_that_did_not_change_none_is_called() {
    let of = |shift: f64| {
        let metrics: Vec<String> = (0..20)
            .map(|number| {
                let moved = if number == 7 { shift } else { 0.0 };
                let values: Vec<String> = (0..5).map(|value| format!("{}", 100.0 + f64::from(value) + moved)).collect();
                format!(r#"{{"name": "size {number}", "better": "higher", "values": [{}]}}"#, values.join(","))
            })
            .collect();
        document(&format!(r#"{{"schema": "rdmascope.bench/1", "metrics": [{}]}}"#, metrics.join(",")))
    };
    // Not one value overlaps, which happens by chance in 1 of 126 metrics: of twenty that is not enough.
    let found = compare(&of(0.0), &of(-9.0));
    assert!(!found.has_regression(), "{:?}", found.metrics[7]);
    assert!((found.level - 0.0025).abs() < 1e-9, "{}", found.level);
}

#[test]
fn names_are_those_of_files() {
    for name in ["before", "2026-12-01", "esx_8.0u2", "A"] {
        assert_eq!(wrong_name(name), None, "{name}");
    }
    for name in ["", ".", "..", "-x", "a/b", "../x", "a b", "ä", "a\u{1b}", &"x".repeat(65)] {
        assert!(wrong_name(name).is_some(), "{name:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn damaged_documents_are_survived(text in testing::mutated_texts(&[MEASURED])) {
        if let Ok(found) = read(&text) {
            let comparison = compare(&document(MEASURED), &found);
            for metric in &comparison.metrics {
                prop_assert!(!metric.sentence().chars().any(char::is_control));
            }
        }
    }
}
