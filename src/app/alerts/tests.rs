//! Alerts from the clock to what is told outside.

use super::*;
use crate::app::action;
use crate::app::diagnosis::judge_now;
use crate::app::{Message, Options, Target, TargetKind, update};
use crate::diagnose::limit::testing::{DCGM, SMI, at, gpu, with};

fn model() -> Model {
    let targets = vec![(TargetId::new("gpu-a"), Target::new(TargetKind::Linux))];
    let options = Options { alert_notice: AlertNotice::Bell, alert_hook: true, ..Options::default() };
    Model::new(targets, options, at(0))
}

/// A second of a GPU: its row, then the clock. Gives what is told outside, in words.
fn second(model: &mut Model, now: u32, hot: bool) -> Vec<String> {
    let reasons = if hot { "0x0000000000000040" } else { "0x0000000000000000" };
    let row = gpu("gpu-a", now, &with(SMI, "clocks_event_reasons.active", reasons), DCGM);
    update(model, Message::Measured(Box::new(row)));
    tick(model, now)
}

fn tick(model: &mut Model, now: u32) -> Vec<String> {
    // The checks rest between two runs; what is tested here is what follows from them.
    update(model, Message::Clock(at(now)))
        .into_iter()
        .filter_map(|effect| match effect {
            Effect::Notify { .. } => Some(format!("{now} bell")),
            Effect::Alert(news) => Some(format!("{now} {} {}", news.turn.name(), news.check)),
            _ => None,
        })
        .collect()
}

fn run(model: &mut Model, seconds: std::ops::Range<u32>, hot: bool) -> Vec<String> {
    seconds.flat_map(|now| second(model, now, hot)).collect()
}

fn select_newest_attention(model: &mut Model) -> u64 {
    let event = model.events.iter().rev().find(|event| event.text.starts_with("attention")).expect("an alert");
    let number = event.number;
    model.screen.events.selected = Some(number);
    number
}

#[test]
fn it_is_told_when_it_comes_and_a_minute_after_it_went() {
    let mut model = model();
    assert_eq!(run(&mut model, 1..20, false), Vec::<String>::new());
    let told = run(&mut model, 20..40, true);
    assert!(told.len() == 2 && told[0].ends_with("bell") && told[1].ends_with("raised gpu.thermal"), "{told:?}");
    let told = run(&mut model, 40..130, false);
    assert!(told.len() == 1 && told[0].ends_with("cleared gpu.thermal"), "{told:?}");
    let said: Vec<&str> = model.events.iter().map(|event| event.text.as_str()).collect();
    assert!(said.iter().filter(|text| text.contains("heat")).count() == 2, "the events tell both: {said:?}");
}

#[test]
fn what_comes_back_soon_is_the_same_alert() {
    let mut model = model();
    run(&mut model, 1..40, true);
    assert_eq!(run(&mut model, 40..70, false), Vec::<String>::new(), "it went");
    assert_eq!(run(&mut model, 70..100, true), Vec::<String>::new(), "and is back");
    assert_eq!(model.alerts.iter().count(), 1);
    assert!(model.alerts.iter().all(Alert::is_open));
    run(&mut model, 100..200, false);
    let told = run(&mut model, 200..230, true);
    assert!(told.iter().any(|line| line.contains("raised")), "after a longer rest it is another one: {told:?}");
    assert_eq!(model.alerts.iter().map(|alert| alert.number).max(), Some(2));
}

#[test]
fn acknowledged_it_is_quiet_and_snoozed_it_is_told_once_more() {
    let mut model = model();
    run(&mut model, 1..30, true);
    let number = select_newest_attention(&mut model);
    action::run(&mut model, "snooze");
    assert_eq!(flag(&model, number), Some("snoozed"));
    assert_eq!(run(&mut model, 30..900, true), Vec::<String>::new());
    let told = run(&mut model, 900..960, true);
    assert!(told.iter().any(|line| line.ends_with("raised gpu.thermal")), "after a quarter of an hour: {told:?}");
    action::run(&mut model, "acknowledge");
    assert_eq!(
        (flag(&model, number), standing(&model, number, &jiff::tz::TimeZone::UTC).as_deref()),
        (Some("acknowledged"), Some("acknowledged at 00:15:59"))
    );
    assert_eq!(run(&mut model, 960..1000, true), Vec::<String>::new());
    let told = run(&mut model, 1000..1100, false);
    assert!(told.iter().any(|line| line.contains("cleared")), "that it went is told all the same: {told:?}");
    assert_eq!(standing(&model, number, &jiff::tz::TimeZone::UTC).as_deref(), Some("is over"));
    action::run(&mut model, "acknowledge");
    let notice = model.screen.notice.clone().map(|(text, _)| text);
    assert_eq!(notice.as_deref(), Some("the selected event tells of no alert that is open"));
}

#[test]
fn all_of_them_rest_together_and_end_their_rest_together() {
    let mut model = model();
    run(&mut model, 1..4, false);
    action::run(&mut model, "snooze-all");
    assert_eq!(run(&mut model, 4..60, true), Vec::<String>::new());
    action::run(&mut model, "snooze-all");
    let told = run(&mut model, 60..62, true);
    assert!(told.iter().any(|line| line.ends_with("raised gpu.thermal")), "{told:?}");
}

#[test]
fn without_a_hook_and_a_notice_nothing_leaves_the_console() {
    let mut model = model();
    (model.options.alert_hook, model.options.alert_notice) = (false, AlertNotice::None);
    assert_eq!(run(&mut model, 1..40, true), Vec::<String>::new());
    assert_eq!(model.alerts.iter().count(), 1, "it is there all the same");
    model.forget(&TargetId::new("gpu-a"));
    judge_now(&mut model);
    assert_eq!(model.alerts.iter().count(), 0);
}

#[test]
fn nothing_of_it_is_done_in_a_replay() {
    let mut model = model();
    run(&mut model, 1..30, true);
    let alert = model.alerts.iter().next().expect("an alert").news(Turn::Raised, at(30));
    assert!(!Effect::Alert(Box::new(alert)).is_on_in_replay());
    assert!(!Effect::Notify { text: Text::new("x"), by: AlertNotice::Bell }.is_on_in_replay());
}

#[test]
fn the_key_that_was_just_pressed_finds_the_alert_again_while_the_newest_event_is_selected() {
    let mut model = model();
    run(&mut model, 1..30, true);
    let number = select_newest_attention(&mut model);
    model.screen.events.selected = None;
    while model.events.iter().next_back().is_some_and(|event| event.number != number) {
        let newest = model.events.iter().next_back().expect("one").number;
        assert!(model.events.take_back(newest));
    }
    let said = |model: &Model| model.screen.notice.clone().map(|(text, _)| text).unwrap_or_default();
    action::run(&mut model, "acknowledge");
    assert_eq!(flag(&model, number), Some("acknowledged"));
    action::run(&mut model, "snooze");
    assert!(said(&model).starts_with("snoozed"), "{}", said(&model));
    action::run(&mut model, "acknowledge");
    assert_eq!(
        said(&model),
        "no longer acknowledged: the alert still rests for 15 minutes; snooze it once more to end that"
    );
    assert_eq!(flag(&model, number), Some("snoozed"));
    action::run(&mut model, "snooze");
    assert_eq!(said(&model), "no longer snoozed: the alert rests no longer: it is told again");
    assert_eq!(flag(&model, number), None);
    let newest = model.events.iter().next_back().expect("a note").number;
    assert_eq!(flag(&model, newest), None, "what was done is no alert itself");
    let told = tick(&mut model, 30);
    assert!(told.iter().any(|line| line.ends_with("raised gpu.thermal")), "{told:?}");
}

#[test]
fn what_helps_against_an_alert_is_found_although_its_numbers_moved() {
    let mut model = model();
    run(&mut model, 1..30, true);
    let number = select_newest_attention(&mut model);
    model.screen.panel = crate::app::screen::Panel::Events;
    model.events.reword(number, "attention: other numbers".to_owned());
    let cause = crate::app::diagnosis::selected_cause(&model).expect("the cause");
    assert_eq!(cause.found.check.id, "gpu.thermal");
    assert!(
        !model.events.iter().any(|event| event.text.starts_with("attention: gpu-a: ")),
        "its target stands beside it"
    );
}
