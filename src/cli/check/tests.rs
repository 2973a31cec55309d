//! What `check` prints and how it ends, of collections made by hand: a host whose ruleset is closed, a guest, and a target
//! that was not reached. What the lab shows is tested from outside.

use std::sync::Arc;

use serde_json::Value as Json;

use super::*;
use crate::app::Problem;
use crate::cli::document::tests::check as satisfies;
use crate::config::{Configuration, Kind};
use crate::engine::once::System;
use crate::fabric::{Entity, Observation, Outcome as Ended, Report, SourceId, TargetId, Text};
use crate::probe::esxi;

/// A host with a PVRDMA adapter, as its real outputs have it, whose ruleset stands like this.
fn host(name: &str, rulesets: Option<&str>) -> Collected {
    let text = include_str!("../../diagnose/check/testing/site/esx02.txt");
    let blocks = text.strip_prefix("=== ").expect("a first source").split("\n=== ");
    let outputs: Vec<(&str, &str)> = blocks
        .filter_map(|block| {
            let (head, body) = block.split_once('\n')?;
            Some((head.split_once(' ')?.0, body.split("\n--- stderr\n").next()?))
        })
        .collect();
    let mut sequence = 0;
    let mut reports = Vec::new();
    for probe in esxi::PROBES {
        let observations: Vec<Arc<Observation>> = probe
            .sources
            .iter()
            .map(|source| {
                let saved = outputs.iter().find(|(known, _)| *known == source.name).map(|(_, body)| *body);
                let (text, ended) = match (source.name, rulesets) {
                    ("esxi.firewall-rulesets", Some(text)) => (text, Ended::Exit(0)),
                    ("esxi.firewall-rulesets", None) => ("", Ended::TimedOut),
                    _ => (saved.unwrap_or_default(), Ended::Exit(if saved.is_some() { 0 } else { 127 })),
                };
                let mut observation = Observation::of_text(source.name, text).with_outcome(ended);
                observation.target = TargetId::new(name);
                observation.command = Arc::from(source.read.shown());
                sequence += 1;
                observation.sequence = sequence;
                Arc::new(observation)
            })
            .collect();
        let facts = (probe.parse)(&observations);
        reports.push(Report { target: TargetId::new(name), probe: SourceId::new(probe.name), observations, facts });
    }
    Collected {
        target: TargetId::new(name),
        system: System::Esxi,
        reached: Ok(Text::new("by hand")),
        incomplete: None,
        reports,
        again: Vec::new(),
        clock: None,
    }
}

const CLOSED: &str = "Name    Enabled\n------  -------\npvrdma    false\n";
const OPEN: &str = "Name    Enabled\n------  -------\npvrdma     true\n";

fn unreached(name: &str) -> Collected {
    Collected {
        target: TargetId::new(name),
        system: System::Unknown,
        reached: Err(Problem::new("connection refused\u{1b}[2J", "<nobody> listens", "look & see")),
        incomplete: None,
        reports: Vec::new(),
        again: Vec::new(),
        clock: None,
    }
}

/// What is to be said of this, with this configuration; only what the one check says that is meant here.
fn outcome(results: &[Collected], configuration: &str) -> Outcome {
    let rules = Configuration::parse("c.toml", configuration).expect("a configuration").rules;
    let kinds = vec![None::<Kind>; results.len()];
    let at: Timestamp = "2026-11-30T07:00:00Z".parse().expect("a time");
    let mut outcome = Outcome::of(&kinds, results, SiteSays::default(), &rules, at);
    let ours = |found: &Found| found.check.id == "host.pvrdma-ruleset";
    outcome.diagnosis.causes.retain(|cause| ours(&cause.found));
    outcome.diagnosis.causes.iter_mut().for_each(|cause| cause.symptoms.clear());
    outcome.diagnosis.rest.retain(ours);
    outcome.accepted.retain(|accepted| ours(&accepted.found));
    outcome
}

fn accepted(expires: &str) -> String {
    format!("[[suppress]]\ncheck = \"host.pvrdma-ruleset\"\ntarget = \"esx02\"\nreason = \"in <March>\"\n{expires}\n")
}

#[test]
fn what_is_found_decides_how_it_ends() {
    let exit = |results: &[Collected], configuration: &str| {
        let outcome = outcome(results, configuration);
        [Grave::Fail, Grave::Warn].map(|fail_on| outcome.exit(fail_on))
    };
    let closed = host("esx02", Some(CLOSED));
    assert_eq!(exit(&[host("esx02", Some(OPEN))], ""), [Exit::Done; 2]);
    assert_eq!(exit(std::slice::from_ref(&closed), ""), [Exit::Findings; 2]);
    assert_eq!(exit(&[closed.clone(), unreached("vm1")], ""), [Exit::Findings; 2], "a finding comes first");
    assert_eq!(exit(&[host("esx02", Some(OPEN)), unreached("vm1")], ""), [Exit::Incomplete; 2]);
    assert_eq!(exit(&[host("esx02", None)], ""), [Exit::Incomplete; 2], "its probe did not answer");
    assert_eq!(exit(std::slice::from_ref(&closed), &accepted("")), [Exit::Done; 2]);
    assert_eq!(exit(std::slice::from_ref(&closed), &accepted("expires = 2026-11-30")), [Exit::Done; 2], "its last day");
    assert_eq!(exit(&[closed], &accepted("expires = 2026-11-29")), [Exit::Findings; 2]);
    assert_eq!(exit(&[host("esx01", Some(CLOSED))], &accepted("")), [Exit::Findings; 2], "on another target");
}

#[test]
fn what_no_target_could_tell_is_not_incomplete() {
    let silent = host("esx02", Some("Name       Enabled\n---------  -------\nsshServer     true\n"));
    let outcome = outcome(&[silent], "");
    assert!(outcome.diagnosis.rest.iter().any(|found| found.judged.status == Status::Unknown));
    assert_eq!(outcome.exit(Grave::Fail), Exit::Done);
}

#[test]
fn the_document_satisfies_its_schema() {
    let schema: Json = serde_json::from_str(include_str!("../../../schema/check-1.json")).expect("the schema is JSON");
    for configuration in [String::new(), accepted(""), accepted("expires = 2026-11-29")] {
        let outcome = outcome(&[host("esx02", Some(CLOSED)), unreached("vm1")], &configuration);
        let mut document = serde_json::to_value(report::document(&outcome)).expect("a document");
        let mut wrong = Vec::new();
        satisfies(&schema, &schema, &document, "", &mut wrong);
        assert_eq!(wrong, Vec::<String>::new());
        document["targets"][0]["kind"] = "moon".into();
        satisfies(&schema, &schema, &document, "", &mut wrong);
        assert_eq!(wrong.len(), 1, "the check does find faults: {wrong:?}");
    }
}

#[test]
fn a_cause_cites_command_line_and_time() {
    let outcome = outcome(&[host("esx02", Some(CLOSED))], "");
    let document = serde_json::to_value(report::document(&outcome)).expect("a document");
    let cause = &document["causes"][0];
    assert_eq!((&cause["check"], &cause["confidence"]), (&"host.pvrdma-ruleset".into(), &"proved".into()));
    let shown = &cause["evidence"][0];
    assert_eq!(
        (&shown["target"], &shown["line"], &shown["at"]),
        (&"esx02".into(), &3.into(), &"1970-01-01T00:00:00Z".into())
    );
    assert!(shown["command"].as_str().is_some_and(|command| command.contains("firewall ruleset list")), "{shown}");
    assert_eq!(document["findings"][0]["check"], cause["check"], "causes are among the findings");
    assert_eq!(document["summary"]["layers"]["host"]["fail"], 1);
    let text = report::text(&outcome);
    for expected in [
        "1. fail proved  esx02: the firewall ruleset pvrdma is closed",
        "line 3, 1970-01-01T00:00:00Z",
        "what helps on esx02: Open the ruleset (risk: none)",
        "esxcli network firewall ruleset set -r pvrdma -e true",
        "1 cause, 1 failure, 0 warnings, 0 passed, 0 not known",
    ] {
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(squeezed(&text).contains(&squeezed(expected)), "{expected}: {text}");
    }
}

#[test]
fn text_fits_and_holds_nothing_that_a_terminal_obeys() {
    for configuration in [String::new(), accepted(""), accepted("expires = 2026-11-29")] {
        let outcome = outcome(&[host("esx02", Some(CLOSED)), host("esx01", None), unreached("vm1")], &configuration);
        let text = report::text(&outcome);
        assert!(text.lines().all(|line| line.chars().count() <= 80 && !line.chars().any(char::is_control)), "{text}");
        assert!(text.contains("vm1: not reached: connection refused"), "{text}");
        assert!(text.contains("Not known\n  host.pvrdma-ruleset"), "{text}");
    }
}

#[test]
fn what_is_accepted_is_shown_with_its_reason_in_every_format() {
    let outcome = outcome(&[host("esx02", Some(CLOSED))], &accepted("expires = 2026-12-31"));
    let document = serde_json::to_value(report::document(&outcome)).expect("a document");
    assert_eq!((&document["causes"], &document["findings"]), (&serde_json::json!([]), &serde_json::json!([])));
    let suppressed = &document["suppressed"][0];
    assert_eq!((&suppressed["check"], &suppressed["status"]), (&"host.pvrdma-ruleset".into(), &"fail".into()));
    assert_eq!(suppressed["suppression"]["reason"], "in <March>");
    assert_eq!(
        (&suppressed["suppression"]["expires"], &suppressed["suppression"]["place"]),
        (&"2026-12-31".into(), &"c.toml:1".into())
    );
    assert!(report::text(&outcome).contains("in <March>, until 2026-12-31 (c.toml:1)"));
    let junit = junit::document(&outcome, Grave::Fail);
    assert!(junit.contains("<skipped message=\"accepted: in &lt;March&gt; (until 2026-12-31): fail esx02"), "{junit}");
    let over = self::outcome(&[host("esx02", Some(CLOSED))], &accepted("expires = 2026-11-29"));
    assert!(report::text(&over).contains("is over since 2026-11-29"), "{}", report::text(&over));
    let document = serde_json::to_value(report::document(&over)).expect("a document");
    assert_eq!(document["expired_suppressions"][0]["check"], "host.pvrdma-ruleset");
}

/// The elements of a document with their attributes, read strictly: what is not well-formed XML ends the test.
fn elements(mut text: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut open: Vec<String> = Vec::new();
    let mut found = Vec::new();
    text = text.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>").expect("a declaration");
    while let Some(at) = text.find('<') {
        assert!(!text[..at].contains('>'), "a bare >: {}", &text[..at]);
        let references = text[..at].match_indices('&').map(|(from, _)| &text[from..]);
        references.for_each(reference);
        let end = at + text[at..].find('>').expect("a tag ends");
        let tag = &text[at + 1..end];
        text = &text[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let (tag, is_empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
        let mut attributes = Vec::new();
        while !rest.trim().is_empty() {
            let (key, value) = rest.trim_start().split_once("=\"").expect("a value in quotes");
            let (value, after) = value.split_once('"').expect("a closing quote");
            assert!(!value.contains('<'), "{value}");
            value.match_indices('&').for_each(|(from, _)| reference(&value[from..]));
            attributes.push((key.to_owned(), value.to_owned()));
            rest = after;
        }
        if !is_empty {
            open.push(name.to_owned());
        }
        found.push((name.to_owned(), attributes));
    }
    assert!(open.is_empty(), "{open:?} are not closed");
    found
}

fn reference(text: &str) {
    let known = ["&amp;", "&lt;", "&gt;", "&quot;", "&apos;"];
    assert!(known.iter().any(|reference| text.starts_with(reference)), "{}", text.chars().take(9).collect::<String>());
}

#[test]
fn junit_is_well_formed_and_counts_right() {
    let results = [host("esx02", Some(CLOSED)), host("esx01", None), unreached("vm1")];
    let junit = junit::document(&outcome(&results, ""), Grave::Fail);
    let all = elements(&junit);
    let count = |name: &str| all.iter().filter(|(element, _)| element == name).count();
    assert_eq!((count("testsuites"), count("failure"), count("error")), (1, 1, 2), "{junit}");
    assert_eq!(count("testcase"), 5, "three targets and two findings: {junit}");
    let (_, attributes) = &all[0];
    let number = |key: &str| attributes.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str());
    assert_eq!((number("tests"), number("failures"), number("errors")), (Some("5"), Some("1"), Some("2")));
    let names: Vec<&(String, String)> =
        all.iter().flat_map(|(_, attributes)| attributes).filter(|(key, _)| key == "name").collect();
    assert!(names.iter().any(|(_, name)| name == "host.pvrdma-ruleset esx02 ruleset pvrdma"), "{names:?}");
    assert!(junit.contains("&lt;nobody&gt; listens; look &amp; see") && !junit.contains('\u{1b}'), "{junit}");
}

#[test]
fn a_snapshot_is_no_output_that_could_be_quoted() {
    let mut saved = host("esx02", Some(CLOSED));
    for report in &mut saved.reports {
        for observation in &mut report.observations {
            Arc::make_mut(observation).stdout = Arc::from(crate::record::snapshot_file::NO_OUTPUT);
        }
    }
    let outcome = outcome(&[saved], "");
    let document = serde_json::to_value(report::document(&outcome)).expect("a document");
    let shown = &document["causes"][0]["evidence"][0];
    assert_eq!((&shown["line"], &shown["excerpt"]), (&3.into(), &"ruleset pvrdma is disabled".into()));
    assert!(
        outcome.examined.examination.fabric.entities(&TargetId::new("esx02")).any(|entity| *entity == Entity::Host)
    );
}

#[test]
fn a_command_that_searches_for_dozens_of_words_does_not_drown_its_evidence() {
    let long = format!("dmesg | grep -F{}", " -e 'word'".repeat(60));
    let mut shown = crate::diagnose::finding::Evidence::of_line(8, "NVRM: Xid 79");
    shown.command = Some(crate::fabric::Text::new(&long));
    let item = report::item(&shown);
    assert!(item.starts_with("NVRM: Xid 79  (`dmesg | grep -F -e 'word'") && item.ends_with("…` line 8)"), "{item}");
    assert!(item.len() < 120, "{item}");
}
