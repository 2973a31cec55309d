//! A change from the question to its end, without any target: what is asked of the outside and when nothing is.

use super::super::connection::Connection;
use super::super::message::Message;
use super::super::model::{Model, Options, Target, TargetKind};
use super::super::screen::Overlay;
use super::super::{Effect, update};
use super::{ChangeAsked, ChangeNews, Ran, Stage};
use crate::diagnose::check::testing::{Site, says};
use crate::fabric::{Outcome, TargetId, Text, Timestamp};

const CLOSED: &str = "Name       Enabled\n---------  -------\nsshServer     true\npvrdma       false\n";
const OPEN: &str = "Name       Enabled\n---------  -------\nsshServer     true\npvrdma        true\n";

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a small number")
}

fn read(model: &mut Model, rulesets: &str, at: i64) {
    for report in Site::sound().with("esx02", says("esxi.firewall-rulesets", rulesets)).reports() {
        update(model, Message::Report { at: second(at), report });
    }
    update(model, Message::Clock(second(at + 3)));
}

fn model(allow_changes: bool) -> Model {
    let targets = ["esx01", "esx02", "pv-a", "pv-b", "hca-a", "hca-b", "vf-a"].map(|name| {
        let kind = if name.starts_with("esx") { TargetKind::Esxi } else { TargetKind::Linux };
        let connection = Connection::Connected { since: second(0), via: Text::new("test") };
        (TargetId::new(name), Target { connection, ..Target::new(kind) })
    });
    let options = Options { allow_changes, ..Options::default() };
    let mut model = Model::new(targets.to_vec(), options, second(0));
    read(&mut model, CLOSED, 1);
    act(&mut model, "panel-wizard");
    act(&mut model, "down");
    act(&mut model, "fix");
    model
}

fn act(model: &mut Model, name: &str) -> Vec<Effect> {
    update(model, Message::Action(Text::new(name)))
}

/// Types a text into the line that is open and accepts it.
fn confirm(model: &mut Model, typed: &str) -> Vec<Effect> {
    act(model, "apply-remedy");
    update(model, Message::Edit(super::super::message::Edit::Paste(typed.to_owned())));
    act(model, "accept")
}

fn stage(model: &Model) -> Stage {
    model.change.as_ref().expect("a change").stage.clone()
}

fn news(model: &mut Model, number: u64, news: ChangeNews) -> Vec<Effect> {
    update(model, Message::Change { at: second(20), number, news })
}

fn ran(status: i32) -> ChangeNews {
    ChangeNews::Ran(vec![Ran { command: Text::new("esxcli"), outcome: Outcome::Exit(status), said: Text::new("no") }])
}

#[test]
fn read_only_nothing_is_asked_of_the_outside() {
    let mut model = model(false);
    assert_eq!(model.screen.overlays, [Overlay::Change { scroll: 0 }]);
    assert!(act(&mut model, "apply-remedy").is_empty());
    assert!(model.screen.editing.is_none());
    assert!(model.screen.notice.as_ref().is_some_and(|(said, _)| said.contains("--allow-changes")));
    // Nor if the line came from elsewhere.
    assert!(super::confirm(&mut model, "esx02").is_empty());
    assert_eq!(stage(&model), Stage::Asking);
    let [Effect::Change(ChangeAsked::Export { name, text })] = &act(&mut model, "export-remedy")[..] else {
        panic!("no script")
    };
    assert_eq!(name, "rdmascope-host.pvrdma-ruleset-esx02.sh");
    assert!(text.contains("\nset -eu\nesxcli network firewall ruleset set -r pvrdma -e true\n"), "{text}");
    assert!(text.contains("# undo: esxcli network firewall ruleset set -r pvrdma -e false\n"), "{text}");
}

#[test]
fn only_the_name_of_the_target_confirms() {
    let mut model = model(true);
    for wrong in ["", "esx01", "yes", "esx02x"] {
        assert!(confirm(&mut model, wrong).is_empty(), "{wrong}");
        assert_eq!(stage(&model), Stage::Asking);
    }
    let effects = confirm(&mut model, "esx02");
    let [Effect::Change(ChangeAsked::ReadAgain { number: 1, target, probes, after: 0 })] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert_eq!(target.as_str(), "esx02");
    assert!(probes.iter().any(|probe| probe.as_str() == "esxi.firewall"), "{probes:?}");
}

#[test]
fn what_was_opened_before_a_probe_had_read_it_can_be_applied_once_one_has() {
    let mut model = model(true);
    // As if ticks alone had told it.
    let change = model.change.as_mut().expect("a change");
    change.probes.clear();
    assert!(confirm(&mut model, "esx02").is_empty());
    read(&mut model, CLOSED, 5);
    let effects = confirm(&mut model, "esx02");
    assert!(matches!(&effects[..], [Effect::Change(ChangeAsked::ReadAgain { .. })]), "{effects:?}");
}

#[test]
fn it_is_applied_verified_and_taken_back() {
    let mut model = model(true);
    confirm(&mut model, "esx02");
    read(&mut model, CLOSED, 10);
    let effects = news(&mut model, 1, ChangeNews::ReadAgain(Ok(())));
    let [Effect::Change(ChangeAsked::Run { commands, undo: false, target, .. })] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert_eq!(target.as_str(), "esx02");
    assert_eq!(commands[0].join(" "), "esxcli network firewall ruleset set -r pvrdma -e true");
    // While it runs there is no other.
    act(&mut model, "close");
    act(&mut model, "fix");
    assert_eq!(stage(&model), Stage::Applying);
    let effects = news(&mut model, 1, ran(0));
    assert!(matches!(&effects[..], [Effect::Change(ChangeAsked::ReadAgain { .. })]), "{effects:?}");
    read(&mut model, OPEN, 14);
    let effects = news(&mut model, 1, ChangeNews::ReadAgain(Ok(())));
    assert!(matches!(&effects[..], [Effect::Change(ChangeAsked::Note { .. })]), "{effects:?}");
    let Stage::Over { verdict, good: true } = stage(&model) else { panic!("{:?}", stage(&model)) };
    assert!(verdict.contains("verified"), "{verdict}");
    act(&mut model, "undo-remedy");
    assert!(model.change.as_ref().is_some_and(|change| change.undo && change.number == 2));
    confirm(&mut model, "esx02");
    let effects = news(&mut model, 2, ChangeNews::ReadAgain(Ok(())));
    let [Effect::Change(ChangeAsked::Run { commands, undo: true, .. })] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(commands[0].join(" "), "esxcli network firewall ruleset set -r pvrdma -e false");
}

#[test]
fn what_is_no_longer_as_it_was_shown_is_left_alone() {
    let mut model = model(true);
    confirm(&mut model, "esx02");
    read(&mut model, OPEN, 10);
    let effects = news(&mut model, 1, ChangeNews::ReadAgain(Ok(())));
    assert!(matches!(&effects[..], [Effect::Change(ChangeAsked::Note { .. })]), "{effects:?}");
    let Stage::Over { verdict, good: false } = stage(&model) else { panic!("{:?}", stage(&model)) };
    assert!(verdict.contains("nothing was done") && verdict.contains("look again"), "{verdict}");
}

#[test]
fn what_could_not_be_read_refused_or_failed_says_so() {
    let mut first = model(true);
    confirm(&mut first, "esx02");
    news(&mut first, 1, ChangeNews::ReadAgain(Err(Text::new("the target is not connected"))));
    assert!(matches!(stage(&first), Stage::Over { verdict, good: false } if verdict.contains("not connected")));
    let mut second = model(true);
    confirm(&mut second, "esx02");
    news(&mut second, 1, ChangeNews::ReadAgain(Ok(())));
    news(&mut second, 1, ChangeNews::Refused(Text::new("the audit log cannot be written")));
    assert!(matches!(stage(&second), Stage::Over { verdict, good: false } if verdict.contains("audit log")));
    let mut third = model(true);
    confirm(&mut third, "esx02");
    news(&mut third, 1, ChangeNews::ReadAgain(Ok(())));
    news(&mut third, 7, ran(0));
    assert_eq!(stage(&third), Stage::Applying, "of another change");
    news(&mut third, 1, ran(1));
    assert!(matches!(stage(&third), Stage::Over { verdict, good: false } if verdict.contains("status 1: no")));
}

#[test]
fn a_check_that_still_fails_is_no_success() {
    let mut model = model(true);
    confirm(&mut model, "esx02");
    news(&mut model, 1, ChangeNews::ReadAgain(Ok(())));
    news(&mut model, 1, ran(0));
    news(&mut model, 1, ChangeNews::ReadAgain(Ok(())));
    assert!(matches!(stage(&model), Stage::Over { verdict, good: false } if verdict.contains("still says")));
}

/// The commands of a remedy of which the second ended with its connection.
#[test]
fn what_was_done_and_what_was_not_is_told() {
    let mut model = model(true);
    let Some(change) = &mut model.change else { panic!("a change") };
    let step = |word: &str| crate::diagnose::remedy::Step::run(&["esxcli", word]);
    change.cures[0].steps = vec![step("one"), step("two"), step("three")];
    confirm(&mut model, "esx02");
    news(&mut model, 1, ChangeNews::ReadAgain(Ok(())));
    let ran = |word: &str, outcome| Ran { command: Text::new(&format!("esxcli {word}")), outcome, said: Text::new("") };
    let both = vec![ran("one", Outcome::Exit(0)), ran("two", Outcome::Cut)];
    news(&mut model, 1, ChangeNews::Ran(both));
    let Stage::Over { verdict, good: false } = stage(&model) else { panic!("{:?}", stage(&model)) };
    assert_eq!(
        verdict,
        "`esxcli two` was cut off; whether it took effect is not known; done before it: `esxcli one`; not begun: `esxcli three`"
    );
    // What was done can be taken back.
    act(&mut model, "undo-remedy");
    assert!(model.change.as_ref().is_some_and(|change| change.undo && change.stage == Stage::Asking));
}

#[test]
fn what_is_taken_back_and_is_not_as_before_says_so() {
    let mut model = model(true);
    confirm(&mut model, "esx02");
    news(&mut model, 1, ChangeNews::ReadAgain(Ok(())));
    news(&mut model, 1, ran(0));
    read(&mut model, OPEN, 10);
    news(&mut model, 1, ChangeNews::ReadAgain(Ok(())));
    assert!(matches!(stage(&model), Stage::Over { good: true, .. }), "{:?}", stage(&model));
    act(&mut model, "undo-remedy");
    confirm(&mut model, "esx02");
    news(&mut model, 2, ChangeNews::ReadAgain(Ok(())));
    news(&mut model, 2, ran(0));
    // The commands ended well, and the ruleset is open all the same.
    news(&mut model, 2, ChangeNews::ReadAgain(Ok(())));
    let Stage::Over { verdict, good: false } = stage(&model) else { panic!("{:?}", stage(&model)) };
    assert!(verdict.starts_with("taken back, and one setting is not as before: "), "{verdict}");
    assert!(verdict.contains("ruleset pvrdma enabled was no and is yes"), "{verdict}");
}

#[test]
fn what_a_person_does_afterwards_is_left_and_nothing_runs_after_it() {
    use crate::diagnose::remedy::Step;
    let mut model = model(true);
    let by_hand = || Step::ByHand("plug it in".to_owned());
    let Some(change) = &mut model.change else { panic!("a change") };
    change.cures[0].steps.push(by_hand());
    assert!(super::obstacle(&model).is_none());
    confirm(&mut model, "esx02");
    news(&mut model, 1, ChangeNews::ReadAgain(Ok(())));
    news(&mut model, 1, ran(0));
    read(&mut model, OPEN, 10);
    news(&mut model, 1, ChangeNews::ReadAgain(Ok(())));
    let Stage::Over { verdict, good: true } = stage(&model) else { panic!("{:?}", stage(&model)) };
    assert!(verdict.ends_with("; left to do by hand: plug it in"), "{verdict}");
    let mut model = self::model(true);
    let Some(change) = &mut model.change else { panic!("a change") };
    change.cures[0].steps.insert(0, by_hand());
    assert!(super::obstacle(&model).is_some_and(|why| why.contains("by hand")));
}

#[test]
fn a_service_that_starts_anew_is_looked_at_again_for_a_while() {
    let mut model = model(true);
    let Some(change) = &mut model.change else { panic!("a change") };
    change.cures[0].risk = crate::diagnose::remedy::Risk::RestartsService;
    confirm(&mut model, "esx02");
    news(&mut model, 1, ChangeNews::ReadAgain(Ok(())));
    let mut effects = news(&mut model, 1, ran(0));
    let mut waits = Vec::new();
    while let [Effect::Change(ChangeAsked::ReadAgain { after, probes, .. })] = &effects[..] {
        assert!(probes.is_empty(), "everything is read");
        waits.push(*after);
        effects = news(&mut model, 1, ChangeNews::ReadAgain(Ok(())));
    }
    assert!(waits[0] == 0 && waits[1..].iter().all(|wait| *wait == 10) && waits.len() == 7, "{waits:?}");
    assert!(matches!(stage(&model), Stage::Over { verdict, good: false } if verdict.contains("still says")));
}
