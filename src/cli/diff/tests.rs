//! What `diff` says of two files.

use serde_json::Value as Json;

use super::*;
use crate::cli::document::tests::check;

/// A snapshot of an ESXi host and a guest with this state of a ruleset and this MTU.
fn document(ruleset: &str, mtu: u64, guest_reachable: bool) -> String {
    let fact = |value: Json, source: &str| {
        serde_json::json!({"state": "known", "value": value, "unit": null, "why": null,
            "at": "2026-11-30T07:00:01Z", "source": source, "command": source, "line": 1})
    };
    let open = ruleset == "open";
    let problem = serde_json::json!({"what": "no route\u{1b}[2J", "cause": "", "next_step": ""});
    let guest = if guest_reachable {
        serde_json::json!({
            "netdev/eth1": {"mtu": fact(mtu.into(), "n")},
            "counter/eth1/rx_errors": {"counter-value": fact(mtu.into(), "n")},
            "guest": {"boot-id": fact(format!("boot {mtu}").into(), "b"), "memory-available": fact(mtu.into(), "m")},
        })
    } else {
        serde_json::json!({})
    };
    serde_json::json!({
        "schema": "rdmascope.snapshot/1", "at": "2026-11-30T07:00:00Z", "rdmascope": "0.1.0", "links": [],
        "targets": [
            {"name": "esx01", "kind": "esxi", "reachable": true, "problem": null, "counters": {}, "facts": {
                "host": {"esxi-version": fact("8.0.3".into(), "v")},
                "ruleset/pvrdma": {"ruleset-enabled": fact(open.into(), "r")}}},
            {"name": "vm1", "kind": "linux", "reachable": guest_reachable, "counters": {}, "facts": guest,
                "problem": if guest_reachable { Json::Null } else { problem }},
        ],
    })
    .to_string()
}

fn side(name: &str, text: &str) -> Side {
    Side { name: name.to_owned(), snapshot: snapshot_file::read(text).expect("a snapshot") }
}

#[test]
fn settings_differ_and_counters_do_not() {
    let (from, to) = (side("a.json", &document("open", 9000, true)), side("b.json", &document("closed", 1500, true)));
    let compared = Comparison::of(&from, &to);
    let text = compared.text();
    assert_eq!(
        text,
        "host\n  esx01 ruleset pvrdma  enabled: yes -> no\n\nguest\n  vm1 netdev eth1  MTU: 9000 bytes -> 1500 bytes\n\n\
         2 differences\n"
    );
    let same = Comparison::of(&from, &from);
    assert!(same.found.is_empty() && same.is_whole());
    assert_eq!(same.text(), "nothing that can be compared differs\n");
}

#[test]
fn a_target_that_was_not_reached_is_not_compared() {
    let (from, to) = (side("a.json", &document("open", 9000, true)), side("b.json", &document("open", 9000, false)));
    let compared = Comparison::of(&from, &to);
    assert!(compared.found.is_empty() && !compared.is_whole(), "what was not read is not gone");
    assert!(compared.text().starts_with("vm1 in b.json: no route"), "{}", compared.text());
    assert!(!compared.text().contains('\u{1b}'));
    let mut alone: Json = serde_json::from_str(&document("open", 9000, true)).expect("a document");
    alone["targets"].as_array_mut().expect("a list").pop();
    let alone = side("c.json", &alone.to_string());
    assert!(Comparison::of(&from, &alone).text().contains("vm1 is in a.json only"));
    assert!(Comparison::of(&alone, &from).text().contains("vm1 is in a.json only"));
}

#[test]
fn the_document_satisfies_its_schema() {
    let schema: Json = serde_json::from_str(include_str!("../../../schema/diff-1.json")).expect("the schema is JSON");
    let (from, to) = (side("a.json", &document("open", 9000, true)), side("b.json", &document("closed", 1500, true)));
    let mut document = serde_json::to_value(Comparison::of(&from, &to).document()).expect("a document");
    let mut wrong = Vec::new();
    check(&schema, &schema, &document, "", &mut wrong);
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(document["same"], false);
    let ruleset = &document["differences"][0];
    assert_eq!((&ruleset["layer"], &ruleset["entity"]), (&"host".into(), &"ruleset/pvrdma".into()));
    assert_eq!((&ruleset["before"]["value"], &ruleset["after"]["value"]), (&true.into(), &false.into()));
    document["differences"][0]["class"] = "measure".into();
    check(&schema, &schema, &document, "", &mut wrong);
    assert_eq!(wrong.len(), 1, "the check does find faults: {wrong:?}");
}
