//! The diagnosis of the console: when it is made, what it tells, and what the panels make of it.

use super::super::condition::{self, Gravity};
use super::super::connection::Connection;
use super::super::message::{Message, Severity};
use super::super::model::{Model, Options, Target, TargetKind};
use super::super::{path, table, update};
use crate::diagnose::check::testing::{Site, says};
use crate::fabric::{TargetId, Text, Timestamp};

const CLOSED: &str = "Name       Enabled\n---------  -------\nsshServer     true\npvrdma       false\n";
const OPEN: &str = "Name       Enabled\n---------  -------\nsshServer     true\npvrdma        true\n";

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a small number")
}

fn model() -> Model {
    let targets = ["esx01", "esx02", "pv-a", "pv-b", "hca-a", "hca-b", "vf-a"].map(|name| {
        let kind = if name.starts_with("esx") { TargetKind::Esxi } else { TargetKind::Linux };
        let connection = Connection::Connected { since: second(0), via: Text::new("test") };
        (TargetId::new(name), Target { connection, ..Target::new(kind) })
    });
    Model::new(targets.to_vec(), Options::default(), second(0))
}

fn read(model: &mut Model, site: &Site, at: i64) {
    for report in site.reports() {
        update(model, Message::Report { at: second(at), report });
    }
}

fn events(model: &Model) -> Vec<(Severity, String)> {
    model.events.iter().map(|event| (event.severity, event.text.clone())).collect()
}

#[test]
fn a_cause_is_told_when_it_comes_and_when_it_goes_and_stands_in_the_tree_meanwhile() {
    let mut model = model();
    read(&mut model, &Site::sound(), 1);
    update(&mut model, Message::Clock(second(3)));
    let esx02 = TargetId::new("esx02");
    assert!(model.targets.values().all(|target| target.findings.is_empty()), "{:#?}", model.targets[&esx02].findings);
    assert!(!events(&model).iter().any(|(_, text)| text.starts_with("attention")));
    read(&mut model, &Site::sound().with("esx02", says("esxi.firewall-rulesets", CLOSED)), 4);
    update(&mut model, Message::Clock(second(4)));
    assert!(model.targets[&esx02].findings.is_empty(), "the checks rest a while");
    update(&mut model, Message::Clock(second(6)));
    let told = model.targets[&esx02].findings.values().next().expect("a finding");
    assert!(told.severity == Severity::Error && told.text.contains("pvrdma"), "{told:?}");
    let condition = condition::of_target(&model, &esx02);
    assert_eq!((condition.word.as_str(), condition.gravity), ("! 1 finding", Gravity::Bad));
    assert_eq!(condition::tally(&model).findings, 1);
    let event = model.events.iter().last().expect("an event");
    assert!(event.text.starts_with("attention: ") && event.line > 0 && event.evidence.is_some(), "{event:?}");
    read(&mut model, &Site::sound().with("esx02", says("esxi.firewall-rulesets", OPEN)), 8);
    update(&mut model, Message::Clock(second(9)));
    assert!(model.targets[&esx02].findings.is_empty());
    let (severity, text) = events(&model).pop().expect("an event");
    assert!(severity == Severity::Info && text.starts_with("no longer: "), "{text}");
}

#[test]
fn the_checks_do_not_run_for_what_moves_by_itself() {
    let mut model = model();
    read(&mut model, &Site::sound(), 1);
    update(&mut model, Message::Clock(second(3)));
    assert!(!model.unjudged);
    read(&mut model, &Site::sound(), 4);
    assert!(!model.unjudged, "nothing else was read");
}

#[test]
fn the_other_end_of_a_way_is_the_guest_most_alike_until_another_is_chosen() {
    let mut model = model();
    read(&mut model, &Site::sound(), 1);
    let select = |model: &mut Model, name: &str| {
        model.screen.tree.selected = Some(super::super::tree::Node::Target(TargetId::new(name)));
    };
    let ends = |model: &Model| path::ends(model).map(|(one, other)| (one.to_string(), other.to_string()));
    let pair = |one: &str, other: &str| Some((one.to_owned(), other.to_owned()));
    select(&mut model, "pv-a");
    assert_eq!(ends(&model), pair("pv-a", "pv-b"));
    select(&mut model, "hca-b");
    assert_eq!(ends(&model), pair("hca-b", "hca-a"));
    select(&mut model, "esx02");
    assert_eq!(ends(&model), pair("pv-b", "pv-a"), "a guest of the host");
    select(&mut model, "pv-a");
    update(&mut model, Message::Action(Text::new("other-end")));
    assert_eq!(ends(&model), pair("pv-a", "hca-a"));
    let rows = table::rows(&model).expect("a panel of rows");
    assert!(rows.iter().any(|row| row.label == "transport"), "{rows:#?}");
}
