//! When a snapshot is kept, and what the comparison with it tells.

use super::super::connection::{Connection, Problem};
use super::super::message::Message;
use super::super::model::{Model, Options, Target};
use super::super::screen::Overlay;
use super::super::{action, update};
use super::view::{self, Entry, HealthyView};
use super::*;
use crate::diagnose::check::AcceptedFinding;
use crate::diagnose::check::testing::{Site, says};
use crate::fabric::{Entity, Text};
use crate::probe::{esxi, linux};

const CLOSED: &str = "Name       Enabled\n---------  -------\nsshServer     true\npvrdma       false\n";
const OPEN: &str = "Name       Enabled\n---------  -------\nsshServer     true\npvrdma        true\n";
const NAMES: [&str; 7] = ["esx01", "esx02", "pv-a", "pv-b", "hca-a", "hca-b", "vf-a"];
const DAY: i64 = 86_400;

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a small number")
}

fn id(name: &str) -> TargetId {
    TargetId::new(name)
}

/// A console that keeps snapshots, connected, with nothing read; there is no snapshot yet.
fn console() -> Model {
    let targets = NAMES.map(|name| {
        let kind = if name.starts_with("esx") { TargetKind::Esxi } else { TargetKind::Linux };
        let connection = Connection::Connected { since: second(0), via: Text::new("test") };
        (id(name), Target { connection, ..Target::new(kind) })
    });
    let options = Options { keeps_healthy: true, ..Options::default() };
    let mut model = Model::new(targets.to_vec(), options, second(0));
    tell_news(&mut model, 0, HealthyNews::Read(Box::default()));
    model
}

fn tell_news(model: &mut Model, at: i64, news: HealthyNews) {
    update(model, Message::Healthy { at: second(at), news });
}

/// Takes in a site; what of it no probe reads was read, and was not there.
fn read(model: &mut Model, site: &Site, at: i64) {
    for report in site.reports() {
        update(model, Message::Report { at: second(at), report });
    }
    for name in NAMES {
        let probes = if name.starts_with("esx") { esxi::PROBES } else { linux::PROBES };
        for probe in probes {
            let probe = SourceId::new(probe.name);
            if !model.targets[&id(name)].read.contains(&probe) {
                let report = Report { target: id(name), probe, observations: Vec::new(), facts: Vec::new() };
                update(model, Message::Report { at: second(at), report });
            }
        }
    }
}

fn clock(model: &mut Model, at: i64) -> Option<ToKeep> {
    let mut effects = update(model, Message::Clock(second(at)));
    match effects.pop() {
        Some(Effect::KeepHealthy(asked)) => Some(*asked),
        other => {
            assert_eq!(other, None);
            None
        }
    }
}

fn sound() -> Site {
    Site::sound().with("esx02", says("esxi.firewall-rulesets", OPEN))
}

fn closed() -> Site {
    sound().with("esx02", says("esxi.firewall-rulesets", CLOSED))
}

/// What was asked to be kept comes back, as from a file.
fn give_back(model: &mut Model, asked: &ToKeep, at: i64, is_new: bool) {
    let kept = asked.kept();
    let mut targets = BTreeMap::new();
    for (target, _) in &asked.targets {
        let facts = kept.entities(target).flat_map(|entity| {
            let readings = kept.readings(&EntityId::new(target, entity.clone()));
            readings.into_iter().map(|(attribute, reading)| Fact {
                entity: entity.clone(),
                attribute,
                reading: reading.clone(),
            })
        });
        let facts: Vec<Fact> = facts.collect();
        let probe = SourceId::new("snapshot");
        let report = Report { target: target.clone(), probe, observations: Vec::new(), facts };
        tell_news(model, at, HealthyNews::Part(report));
        targets.insert(target.clone(), KeptTarget { at: asked.at, file: Text::new("/state/day.json") });
    }
    tell_news(model, at, HealthyNews::Read(Box::new(HealthyRead { targets, passed_over: Vec::new(), is_new })));
}

fn last_event(model: &Model) -> String {
    model.events.iter().next_back().map(|event| event.text.clone()).unwrap_or_default()
}

#[test]
fn one_is_kept_a_day_once_all_was_read_and_nothing_is_wrong() {
    let mut model = console();
    for report in sound().reports() {
        update(&mut model, Message::Report { at: second(1), report });
    }
    assert_eq!(clock(&mut model, 3), None, "some probes were not read yet");
    read(&mut model, &sound(), 4);
    let asked = clock(&mut model, 6).or_else(|| clock(&mut model, 40)).expect("nothing is wrong");
    assert_eq!(asked.targets.len(), NAMES.len());
    assert_eq!(clock(&mut model, 80), None, "it was asked for");
    give_back(&mut model, &asked, 81, true);
    assert_eq!(last_event(&model), "nothing is wrong: the healthy snapshot of 1970-01-01 was saved");
    assert_eq!(clock(&mut model, 120), None, "there is one of today");
    assert_eq!(model.diagnosed().since.as_ref().map(|since| since.changes.len()), Some(0));
    let tomorrow = clock(&mut model, DAY + 1).expect("another day");
    assert_eq!(day(tomorrow.at), "1970-01-02");
}

#[test]
fn none_is_kept_while_something_is_wrong_unless_it_is_accepted() {
    let mut model = console();
    read(&mut model, &closed(), 1);
    assert_eq!(clock(&mut model, 3), None);
    assert!(!model.diagnosed().diagnosis.causes.is_empty());
    let (check, target) = (Text::new("host.pvrdma-ruleset"), Some(Text::new("esx02")));
    let accepted = AcceptedFinding { check, target, expires: Some(jiff::civil::date(1970, 1, 1)) };
    model.options.site.accepted = vec![accepted];
    assert_eq!(clock(&mut model, DAY + 40), None, "that was over with the day before");
    model.options.site.accepted[0].expires = None;
    assert!(clock(&mut model, DAY + 80).is_some());
}

#[test]
fn what_cannot_be_reached_is_left_out_and_what_still_may_be_is_waited_for() {
    let mut model = console();
    read(&mut model, &sound(), 1);
    let connect = |model: &mut Model, connection: Connection| {
        update(model, Message::Connection { target: id("vf-a"), at: second(2), connection });
    };
    connect(&mut model, Connection::Asking);
    assert_eq!(clock(&mut model, 40), None);
    let problem = Problem::new("no route", "", "");
    connect(&mut model, Connection::BackingOff { until: second(400), attempt: 2, problem });
    let asked = clock(&mut model, 80).expect("nothing is wrong elsewhere");
    assert!(!asked.targets.iter().any(|(target, _)| *target == id("vf-a")));
    assert_eq!(asked.targets.len(), NAMES.len() - 1);
    give_back(&mut model, &asked, 81, true);
    assert_eq!(standing(&model, &id("vf-a")), Standing::Not("is in no healthy snapshot that can be read".to_owned()));
    assert!(view::entries(&model).iter().any(|entry| matches!(entry, Entry::Said(text) if text.starts_with("vf-a "))));
}

#[test]
fn nothing_is_kept_where_it_is_switched_off_or_before_it_is_known_what_there_is() {
    let mut model = console();
    model.options.keeps_healthy = false;
    read(&mut model, &sound(), 1);
    assert_eq!(clock(&mut model, 40), None);
    model.options.keeps_healthy = true;
    model.healthy.is_read = false;
    assert_eq!(clock(&mut model, 80), None);
    tell_news(&mut model, 81, HealthyNews::Read(Box::default()));
    assert!(clock(&mut model, 120).is_some());
}

/// A console that was started today, with a snapshot of yesterday.
fn with_yesterday() -> Model {
    let mut model = console();
    read(&mut model, &sound(), 1);
    let asked = clock(&mut model, 40).expect("nothing is wrong");
    let mut today = console();
    today.now = second(DAY);
    give_back(&mut today, &asked, DAY, false);
    today
}

#[test]
fn a_cause_says_what_changed_and_the_list_has_it_first() {
    let mut model = with_yesterday();
    assert_eq!(last_event(&model), "what is read is compared with the healthy snapshot of 1970-01-01");
    read(&mut model, &closed(), DAY + 1);
    assert_eq!(clock(&mut model, DAY + 3), None, "something is wrong");
    let diagnosed = model.diagnosed();
    let cause = &diagnosed.diagnosis.causes[0].found.judged;
    let says = &cause.evidence.last().expect("evidence").says;
    assert_eq!(says, "changed since 1970-01-01: enabled of ruleset pvrdma from yes to no");
    action::run(&mut model, "what-changed");
    let entries = view::entries(&model);
    let Entry::Changed { what, before, after, beside, .. } = &entries[0] else { panic!("{entries:#?}") };
    assert_eq!((what.as_str(), before.as_str(), after.as_str()), ("esx02 ruleset pvrdma enabled", "yes", "no"));
    assert_eq!(beside, "shows cause 1");
    action::run(&mut model, "right");
    action::run(&mut model, "evidence");
    let evidence = model.screen.evidence().expect("the line of now");
    assert_eq!((evidence.conclusion.as_str(), evidence.observation.is_some()), ("no", true));
    action::run(&mut model, "close");
    action::run(&mut model, "left");
    action::run(&mut model, "evidence");
    let evidence = model.screen.evidence().expect("what was kept of the line");
    assert_eq!(evidence.conclusion, "yes: from /state/day.json");
}

#[test]
fn a_change_that_was_seen_happen_says_when() {
    let mut model = with_yesterday();
    read(&mut model, &sound(), DAY + 1);
    let _ = clock(&mut model, DAY + 3);
    assert_eq!(model.diagnosed().since.as_ref().map(|since| since.changes.len()), Some(0));
    read(&mut model, &closed(), DAY + 10);
    clock(&mut model, DAY + 13);
    let seen = |model: &Model| {
        let since = model.diagnosed().since.clone().expect("compared");
        since.changes.iter().map(|one| one.seen).collect::<Vec<_>>()
    };
    assert_eq!(seen(&model), [Some(second(DAY + 13))]);
    clock(&mut model, DAY + 50);
    assert_eq!(seen(&model), [Some(second(DAY + 13))], "not each time anew");
    // A copy made from a file shows the same.
    let bytes = rmp_serde::to_vec_named(&model).expect("a model can be written");
    let mut copy: Model = rmp_serde::from_slice(&bytes).expect("and read");
    copy.restore();
    assert_eq!(copy.diagnosed().since, model.diagnosed().since);
    assert_eq!(view::entries(&copy), view::entries(&model));
    read(&mut model, &sound(), DAY + 60);
    let _ = clock(&mut model, DAY + 63);
    assert_eq!(seen(&model), [], "it is as it was");
}

#[test]
fn trouble_and_what_is_passed_over_are_told_once() {
    let mut model = console();
    let count = |model: &Model| model.events.iter().filter(|event| event.text.contains("passed over")).count();
    for at in [1, 2] {
        let passed_over = vec![Text::new("/state/1970-01-01.json: it is damaged")];
        let read = HealthyRead { passed_over, ..HealthyRead::default() };
        tell_news(&mut model, at, HealthyNews::Read(Box::new(read)));
    }
    assert_eq!(count(&model), 1);
    assert!(
        view::entries(&model).contains(&Entry::Said("passed over: /state/1970-01-01.json: it is damaged".to_owned()))
    );
    assert!(view::heading(&model).contains("it cannot be used"), "not that there is none: {}", view::heading(&model));
    read(&mut model, &sound(), 3);
    assert!(clock(&mut model, 40).is_some());
    tell_news(&mut model, 41, HealthyNews::Trouble(Text::new("not kept: no space left on device")));
    assert_eq!(last_event(&model), "not kept: no space left on device");
    assert!(view::heading(&model).contains("cannot be read or kept"), "{}", view::heading(&model));
    assert_eq!(view::entries(&model)[0], Entry::Said("not kept: no space left on device".to_owned()));
    assert_eq!(clock(&mut model, 80), None, "not again on the same day");
    assert!(clock(&mut model, DAY + 80).is_some());
}

#[test]
fn nothing_that_moves_or_may_be_a_secret_is_kept() {
    let mut model = console();
    read(&mut model, &sound(), 1);
    let asked = clock(&mut model, 40).expect("nothing is wrong");
    let kept = asked.kept();
    for (target, _) in &asked.targets {
        for entity in kept.entities(target) {
            let is_fleeting = matches!(
                entity,
                Entity::Process(_)
                    | Entity::QueuePair { .. }
                    | Entity::KernelMessage { .. }
                    | Entity::LogMessage { .. }
            );
            assert!(!is_fleeting, "{entity}");
            let id = EntityId::new(target, entity.clone());
            for (attribute, reading) in kept.readings(&id) {
                assert!(is_kept(entity, attribute), "{id} {}", attribute.name());
                assert!(!is_secret(entity, &reading.state), "{id} {}", attribute.name());
            }
        }
    }
}

#[test]
fn the_selection_stays_within_the_list() {
    let mut model = with_yesterday();
    action::run(&mut model, "what-changed");
    for _ in 0..3 {
        action::run(&mut model, "bottom");
    }
    let last = view::entries(&model).len() - 1;
    assert_eq!(model.screen.overlays, [Overlay::Healthy(HealthyView { selected: last, now: false })]);
    action::run(&mut model, "top");
    action::run(&mut model, "up");
    assert_eq!(model.screen.overlays, [Overlay::Healthy(HealthyView::default())]);
    assert!(view::line(&model, HealthyView::default()).is_some());
    action::run(&mut model, "evidence");
    assert_eq!(model.screen.overlays.len(), 1, "a sentence has no evidence");
}

#[test]
fn a_target_of_which_something_never_comes_does_not_hold_up_the_others() {
    let mut model = console();
    read(&mut model, &sound(), 1);
    if let Some(target) = model.targets.get_mut(&id("vf-a")) {
        target.read.remove(&SourceId::new(linux::PROBES[0].name));
    }
    assert_eq!(clock(&mut model, 40), None);
    assert!(matches!(standing(&model, &id("vf-a")), Standing::Not(_)));
    let asked = clock(&mut model, 640).expect("it was waited for");
    assert_eq!(asked.targets.len(), NAMES.len() - 1);
    // Values from a file are none of now, and nothing more comes of them.
    let mut model = console();
    read(&mut model, &sound(), 1);
    let connection = Connection::Connected { since: second(30), via: Text::new("a file") };
    update(&mut model, Message::Connection { target: id("vf-a"), at: second(30), connection });
    let asked = clock(&mut model, 40).expect("nothing is wrong");
    assert!(!asked.targets.iter().any(|(target, _)| *target == id("vf-a")));
}
