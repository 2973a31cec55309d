//! What is printed of two measurements.

use serde_json::Value as Json;

use super::super::document::tests::check;
use super::*;

const BEFORE: &str = r#"{
  "schema": "rdmascope.bench/1", "at": "2026-12-01T04:00:00Z", "pair": ["vm1", "vm2"], "parameters": {"size": 65536},
  "metrics": [
    {"name": "bandwidth", "unit": "MB/s", "better": "higher", "values": [100, 101, 99, 100.5, 99.5]},
    {"name": "latency", "unit": "usec", "better": "lower", "values": [5.0, 5.1, 4.9, 5.05, 4.95]},
    {"name": "rounds", "values": [1, 2]}
  ],
  "fingerprint": {
    "guest": {"vm1 netdev eth1: MTU": 1500, "vm1: kernel": "6.1"},
    "host": {"host of vm1: build": {"state": "not-read", "why": "the host is no target"}}
  }
}"#;

fn documents() -> (Baseline, Baseline) {
    let after = BEFORE.replace("[100, 101, 99, 100.5, 99.5]", "[80, 81, 79, 80.5, 79.5]").replace("1500", "600");
    (read(BEFORE).expect("a measurement"), read(&after).expect("a measurement"))
}

#[test]
fn the_loss_and_what_changed_are_told() {
    let (before, after) = documents();
    let found = compare(&before, &after);
    let text = Compared { before: ("baseline a", &before), after: ("b.json", &after), found: &found }.text();
    for expected in [
        "before  baseline a, measured 2026-12-01 04:00:00Z, vm1 -> vm2",
        "bandwidth  worse: 100.0 -> 80.00 MB/s, -20.0 % (95 % interval -21.5 % to -18.5 %)",
        "latency    no difference seen: 5.000 -> 5.000 usec, +0.0 % ",
        "rounds     not comparable: 2 and 2 repeats are too few",
        "By the exact Mann-Whitney test",
        "Changed since (1 mark is the same):",
        "  guest\n    vm1 netdev eth1: MTU: 1500 -> 600\n",
        "the host is no target",
    ] {
        // Long lines go on below.
        let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(joined(&text).contains(&joined(expected)), "{expected}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn documents_satisfy_their_schemas() {
    let (before, after) = documents();
    let found = compare(&before, &after);
    let compared = Compared { before: ("baseline a", &before), after: ("b.json", &after), found: &found };
    let comparison = serde_json::to_value(compared.document()).expect("a document");
    let baseline = serde_json::to_value(before.clone().named("a", Timestamp::UNIX_EPOCH)).expect("a document");
    let broken = Listed { name: "b".to_owned(), content: Err("it is empty".to_owned()) };
    let listed = Listed { name: "a".to_owned(), content: Ok(before.clone()) };
    let baselines = serde_json::to_value(ListDocument {
        schema: "rdmascope.baselines/1",
        rdmascope: "0.1.0",
        folder: "/x".to_owned(),
        baselines: vec![entry(listed), entry(broken)],
    })
    .expect("a document");
    for (schema, document) in [
        (include_str!("../../../schema/comparison-1.json"), comparison),
        (include_str!("../../../schema/baseline-1.json"), baseline),
        (include_str!("../../../schema/baselines-1.json"), baselines),
    ] {
        let schema: Json = serde_json::from_str(schema).expect("the schema is JSON");
        let mut wrong = Vec::new();
        check(&schema, &schema, &document, "", &mut wrong);
        assert_eq!(wrong, Vec::<String>::new());
    }
}
