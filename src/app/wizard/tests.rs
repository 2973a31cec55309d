//! The wizard from the key to the cause: what it offers, what it has read, when it stops, what it asks, and what it takes for
//! an answer.

use super::super::change::{ChangeAsked, ChangeNews};
use super::super::connection::Connection;
use super::super::message::{Edit, Message};
use super::super::model::{Model, Options, Target, TargetKind};
use super::super::screen::{Focus, Overlay, Panel};
use super::super::selection::{Node, RowKey};
use super::super::{Effect, table, update};
use super::{About, FIRST_READ, Said, Shows, asked, pasted};
use crate::diagnose::check::testing::{Site, says};
use crate::diagnose::finding::Status;
use crate::fabric::{Entity, EntityId, TargetId, Text, Timestamp};

pub(crate) const CLOSED: &str = "Name       Enabled\n---------  -------\nsshServer     true\npvrdma       false\n";

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a small number")
}

fn id(name: &str) -> TargetId {
    TargetId::new(name)
}

/// A console on a site, with the switch in the inventory or without it.
pub(crate) fn model(site: &Site, with_switch: bool) -> Model {
    let names = ["esx01", "esx02", "pv-a", "pv-b", "hca-a", "hca-b", "vf-a", "leaf1"];
    let targets = names.iter().filter(|name| with_switch || **name != "leaf1").map(|name| {
        let kind = match &name[..3] {
            "esx" => TargetKind::Esxi,
            "lea" => TargetKind::Switch,
            _ => TargetKind::Linux,
        };
        let connection = Connection::Connected { since: second(0), via: Text::new("test") };
        (id(name), Target { connection, ..Target::new(kind) })
    });
    let mut model = Model::new(targets.collect(), Options::default(), second(0));
    for report in site.reports() {
        update(&mut model, Message::Report { at: second(1), report });
    }
    // Long enough for all to be read anew.
    update(&mut model, Message::Clock(second(100)));
    model.screen.tree.selected = Some(Node::Target(id("pv-a")));
    model
}

pub(crate) fn act(model: &mut Model, name: &str) -> Vec<Effect> {
    update(model, Message::Action(Text::new(name)))
}

fn rows(model: &Model) -> Vec<(String, String)> {
    let all = table::rows(model).expect("a panel of rows");
    all.into_iter()
        .map(|row| {
            let cells: Vec<&str> = row.cells.iter().map(|cell| cell.text.as_str()).collect();
            (row.label.clone(), cells.join("  "))
        })
        .collect()
}

fn has(model: &Model, label: &str, words: &str) -> bool {
    rows(model).iter().any(|(one, text)| one == label && text.contains(words))
}

/// Selects the first row whose name begins so.
pub(crate) fn select(model: &mut Model, begins: &str) {
    let all = table::rows(model).expect("a panel of rows");
    let key = all.into_iter().map(|row| row.key).find(|key| match key {
        RowKey::Entity(_, word) => word.starts_with(begins),
        RowKey::Section(_) => false,
    });
    assert!(key.is_some(), "no row {begins}: {:#?}", rows(model));
    model.screen.wizard.rows.selected = key;
}

pub(crate) fn begin(model: &mut Model, name: &str) -> Vec<Effect> {
    act(model, "wizard-here");
    select(model, &format!("begin {name}"));
    act(model, "wizard-open")
}

/// The numbers, targets and probes of the reads that were asked for.
fn asked_for(effects: &[Effect]) -> Vec<(u64, String, Vec<String>)> {
    let of = |effect: &Effect| match effect {
        Effect::Change(ChangeAsked::ReadAgain { number, target, probes, .. }) => {
            Some((*number, target.to_string(), probes.iter().map(ToString::to_string).collect()))
        }
        _ => None,
    };
    effects.iter().filter_map(of).collect()
}

/// Answers reads until none is asked for; returns all that were.
pub(crate) fn serve(model: &mut Model, mut effects: Vec<Effect>) -> Vec<(u64, String, Vec<String>)> {
    let mut all = Vec::new();
    for _ in 0..100 {
        let wanted = asked_for(&effects);
        if wanted.is_empty() {
            return all;
        }
        effects = Vec::new();
        for (number, ..) in &wanted {
            let news = ChangeNews::ReadAgain(Ok(()));
            effects.extend(update(model, Message::Change { at: second(101), number: *number, news }));
        }
        all.extend(wanted);
    }
    panic!("it never ends")
}

fn walked(model: &mut Model, name: &str) -> Vec<(u64, String, Vec<String>)> {
    let effects = begin(model, name);
    serve(model, effects)
}

#[test]
fn it_is_asked_about_what_is_selected_and_offers_symptoms_in_plain_words() {
    let mut model = model(&Site::sound(), true);
    assert!(act(&mut model, "wizard-here").is_empty());
    assert_eq!((model.screen.panel, model.screen.focus), (Panel::Wizard, Focus::Panel));
    assert_eq!(model.screen.wizard.about, About::Target(id("pv-a")));
    assert!(has(&model, "symptom", "RDMA between two guests is slow"));
    assert!(has(&model, "new", "prepare pv-a and pv-b for PVRDMA"));
    assert_eq!(rows(&model).iter().filter(|(label, _)| label == "symptom").count(), 10);
    act(&mut model, "panel-path");
    act(&mut model, "wizard-here");
    assert_eq!(model.screen.wizard.about, About::Pair(id("pv-a"), id("pv-b")));
    model.screen.focus = Focus::Tree;
    let port = EntityId::new(&id("esx02"), Entity::Uplink("vmnic4".into()));
    model.screen.tree.selected = Some(Node::Entity(port.clone()));
    act(&mut model, "wizard-here");
    assert_eq!(model.screen.wizard.about, About::Thing(port));
    // Back, to what it finds by itself.
    act(&mut model, "close");
    assert_eq!(model.screen.wizard.shows, Shows::Causes);
}

#[test]
fn a_step_has_read_what_its_checks_need_of_the_targets_concerned_and_nothing_else() {
    let mut model = model(&Site::sound(), true);
    let effects = begin(&mut model, "slow");
    let asked = asked_for(&effects);
    let targets: Vec<&str> = asked.iter().map(|(_, target, _)| target.as_str()).collect();
    assert_eq!(targets, ["esx01", "esx02", "leaf1", "pv-a", "pv-b"], "those on the way of the pair");
    for (number, target, probes) in &asked {
        assert!(*number >= FIRST_READ);
        let kind = match &target[..3] {
            "esx" => "esxi.",
            "lea" => "eos.",
            _ => "linux.",
        };
        assert!(!probes.is_empty() && probes.iter().all(|probe| probe.starts_with(kind)), "{target}: {probes:?}");
        assert!(probes.len() < 12, "{target}: not everything: {probes:?}");
    }
    assert!(has(&model, "running", "every link on the way is up"));
    assert!(has(&model, "waits", "2. "));
    // The next step begins when all have answered, and not before.
    let number = |place: usize| asked[place].0;
    for place in 0..4 {
        let news = ChangeNews::ReadAgain(Ok(()));
        let effects = update(&mut model, Message::Change { at: second(101), number: number(place), news });
        assert!(effects.is_empty());
    }
    let news = ChangeNews::ReadAgain(Err(Text::new("no answer")));
    let effects = update(&mut model, Message::Change { at: second(101), number: number(4), news });
    assert!(!asked_for(&effects).is_empty());
    assert!(has(&model, "partly seen", "1. every link on the way is up"));
    assert!(has(&model, "partly seen", "was not read: no answer"), "{:#?}", rows(&model));
    // An answer that comes twice, or of nothing, is none.
    let news = ChangeNews::ReadAgain(Ok(()));
    assert!(update(&mut model, Message::Change { at: second(101), number: number(4), news }).is_empty());
}

#[test]
fn a_healthy_pair_is_walked_to_the_end_and_nothing_is_claimed() {
    let mut model = model(&Site::sound(), true);
    walked(&mut model, "slow");
    let walk = model.screen.wizard.walk.clone().expect("a walk");
    assert!(walk.stopped && walk.looked.len() == 9, "{walk:?}");
    let all = rows(&model);
    assert!(!all.iter().any(|(label, _)| label == "FOUND"), "{all:#?}");
    assert!(all.iter().any(|(label, text)| label == "verdict" && !text.contains("PROVED")), "{all:#?}");
}

#[test]
fn it_stops_at_a_proved_cause_and_what_was_not_needed_can_be_looked_at() {
    let mut model = model(&Site::sound().with("esx02", says("esxi.firewall-rulesets", CLOSED)), true);
    walked(&mut model, "slow");
    let walk = model.screen.wizard.walk.clone().expect("a walk");
    assert!(walk.stopped && walk.looked.len() == 3, "{walk:?}");
    assert!(has(&model, "FOUND", "both hosts qualify"));
    assert!(has(&model, "verdict", "PROVED"));
    assert!(has(&model, "proved", "against 0"));
    assert!(has(&model, "not needed", "9. "));
    select(&mut model, "step-8");
    let effects = act(&mut model, "wizard-open");
    assert!(!asked_for(&effects).is_empty());
    serve(&mut model, effects);
    assert!(has(&model, "in order", "9. "), "{:#?}", rows(&model));
    assert!(has(&model, "not needed", "8. "), "and no other");
    // The cause opens, and its remedy with it.
    let name = rows(&model).iter().position(|(label, _)| label == "proved").expect("a cause");
    let key = table::rows(&model).expect("rows")[name].key.clone();
    model.screen.wizard.rows.selected = Some(key);
    act(&mut model, "wizard-open");
    assert!(has(&model, "command", "esxcli network firewall ruleset set"), "{:#?}", rows(&model));
    act(&mut model, "fix");
    assert!(matches!(model.screen.overlays.last(), Some(Overlay::Change { .. })));
}

#[test]
fn what_never_reaches_the_wire_excludes_what_is_on_it() {
    let mut model = model(&Site::sound().moving_vms("esx02", "esx01"), true);
    let asked = walked(&mut model, "slow");
    assert!(has(&model, "excluded", "both run on esx01: the hypervisor copies in memory"), "{:#?}", rows(&model));
    let probes: Vec<&String> = asked.iter().flat_map(|(_, _, probes)| probes).collect();
    assert!(!probes.iter().any(|probe| *probe == "eos.ecn"), "nothing of it is read");
}

#[test]
fn what_was_read_just_now_is_not_read_again() {
    let mut model = model(&Site::sound(), true);
    // The outputs of the site are of the year 1970, second 0.
    model.now = second(5);
    let effects = begin(&mut model, "slow");
    assert!(asked_for(&effects).is_empty());
    assert!(model.screen.wizard.walk.as_ref().is_some_and(|walk| walk.stopped));
}

#[test]
fn nobody_waits_for_ever_for_a_target_that_does_not_answer_or_is_gone() {
    let mut model = model(&Site::sound(), true);
    let first = begin(&mut model, "slow");
    update(&mut model, Message::Clock(second(130)));
    assert!(model.screen.wizard.walk.as_ref().is_some_and(|walk| walk.at == 0), "it waits");
    let effects = update(&mut model, Message::Clock(second(170)));
    assert!(model.screen.wizard.walk.as_ref().is_some_and(|walk| walk.at == 1), "it was given up");
    assert!(!asked_for(&effects).is_empty(), "and it goes on");
    // The late answer is one to nothing.
    let (number, ..) = asked_for(&first)[0];
    let news = ChangeNews::ReadAgain(Ok(()));
    assert!(update(&mut model, Message::Change { at: second(171), number, news }).is_empty());
    model.forget(&id("pv-b"));
    let mut effects = update(&mut model, Message::Clock(second(172)));
    update(&mut model, Message::Clock(second(240)));
    effects.extend(update(&mut model, Message::Clock(second(310))));
    assert!(has(&model, "verdict", "pv-b is no longer in the inventory"), "{:#?}", rows(&model));
}

#[test]
fn a_target_without_a_connection_is_passed_by_and_named() {
    let mut model = model(&Site::sound(), true);
    if let Some(target) = model.targets.get_mut(&id("esx02")) {
        target.connection = Connection::Waiting;
    }
    let asked = walked(&mut model, "slow");
    assert!(asked.iter().all(|(_, target, _)| target != "esx02"));
    assert!(rows(&model).iter().any(|(_, text)| text.contains("esx02 was not read: it is not connected yet")));
}

/// A walk to the end on a site whose switch is in no inventory.
pub(crate) fn without_switch() -> Model {
    let mut model = model(&Site::sound(), false);
    walked(&mut model, "slow");
    model
}

/// What is open, by check and thing.
fn open(model: &Model) -> Vec<(String, String)> {
    let walk = model.screen.wizard.walk.as_ref().expect("a walk");
    asked::open(model, walk).into_iter().map(|one| (one.check.to_owned(), one.subject.to_string())).collect()
}

pub(crate) fn pfc_question(model: &Model) -> EntityId {
    let walk = model.screen.wizard.walk.as_ref().expect("a walk");
    let all = asked::open(model, walk);
    all.into_iter().find(|one| one.check == "switch.pfc").expect("it is asked").subject
}

#[test]
fn what_no_target_can_tell_is_asked_with_the_command_of_each_system() {
    let mut model = without_switch();
    let subject = pfc_question(&model);
    select(&mut model, &format!("ask switch.pfc {subject}"));
    let asked = open(&model).into_iter().filter(|(check, _)| check == "switch.pfc").count();
    assert_eq!(asked, 2, "for each uplink: {:#?}", rows(&model));
    assert!(has(&model, "asked", "PFC is on for priority 3 at the switch port of"), "{:#?}", rows(&model));
    for (maker, command) in [
        ("Arista", "show priority-flow-control status"),
        ("Cisco NX-OS", "show interface priority-flow-control"),
        ("Cumulus", "nv show qos roce"),
        ("SONiC", "show pfc priority"),
        ("Onyx", "show"),
    ] {
        assert!(has(&model, maker, command), "{maker}: {:#?}", rows(&model));
    }
}

#[test]
fn yes_and_no_are_the_word_of_the_user_and_can_be_changed() {
    let mut model = without_switch();
    // The first key leads to the question; nothing is answered by a key that was meant for something else.
    select(&mut model, "step-0");
    act(&mut model, "answer-no");
    assert!(model.screen.wizard.answers.is_empty());
    let subject = pfc_question(&model);
    select(&mut model, &format!("ask switch.pfc {subject}"));
    act(&mut model, "answer-no");
    let answer = asked::answer_to(&model, "switch.pfc", &subject).expect("an answer");
    assert_eq!(answer.said, Said::No);
    assert!(has(&model, "likely", "you said no to"), "never proved: {:#?}", rows(&model));
    assert!(!has(&model, "proved", "you said"));
    assert!(has(&model, "NO", "said by you at"));
    // It changes its mind.
    select(&mut model, "answer-0");
    act(&mut model, "answer-yes");
    assert!(!has(&model, "likely", "you said no to"));
    assert!(has(&model, "yes", "PFC"));
    act(&mut model, "skip-question");
    assert!(has(&model, "skipped", "PFC"));
    assert_eq!(model.screen.wizard.answers.len(), 1);
}

#[test]
fn on_other_rows_the_key_for_yes_copies() {
    let mut model = without_switch();
    let subject = pfc_question(&model);
    select(&mut model, &format!("ask switch.pfc {subject}-0"));
    select(&mut model, &format!("ask switch.pfc {subject}-eos"));
    let effects = act(&mut model, "answer-yes");
    assert!(matches!(&effects[..], [Effect::Copy { text, .. }] if text.as_str().starts_with("show ")), "{effects:?}");
    assert!(model.screen.wizard.answers.is_empty());
}

#[test]
fn a_reading_stands_above_an_answer() {
    let mut model = without_switch();
    let subject = pfc_question(&model);
    asked::note(&mut model, "switch.pfc", &subject, "is it so?", Said::No);
    assert!(has(&model, "likely", "you said no to"));
    // Now it is plugged into a switch of which the answer is pasted, and the port says otherwise.
    let pfc = pfc_text();
    pasted::take(&mut model, "switch.pfc", &subject, None, &pfc).expect("it is an answer");
    pasted::plug(&mut model, &subject, "Ethernet1");
    super::super::diagnosis::judge_now(&mut model);
    let port = EntityId::new(&model.pasted[0].switch.clone(), Entity::SwitchInterface("Ethernet1".into()));
    asked::note(&mut model, "switch.pfc", &port, "is it so?", Said::No);
    let answer = asked::answer_to(&model, "switch.pfc", &port).expect("an answer");
    assert!(asked::contradiction(&model, answer).is_some_and(|words| words.contains("the reading counts")));
    let walk = model.screen.wizard.walk.clone().expect("a walk");
    assert!(asked::denied(&model, &walk).iter().all(|answer| answer.subject != port));
}

/// What a switch prints of flow control on its ports.
fn pfc_text() -> String {
    Site::sound().printed("leaf1", "eos.pfc")
}

fn paste(model: &mut Model, subject: &EntityId, text: &str) {
    select(model, &format!("ask switch.pfc {subject}"));
    let effects = act(model, "paste-answer");
    assert_eq!(effects, [Effect::TakesAnswer], "a viewer of a recording cannot");
    update(model, Message::Edit(Edit::Paste(text.to_owned())));
    act(model, "end-line");
}

#[test]
fn a_pasted_answer_is_judged_by_the_checks_of_switches() {
    let mut model = without_switch();
    let subject = pfc_question(&model);
    let prompt = format!("leaf1#show priority-flow-control status\r\n{}leaf1#\r\n", pfc_text().replace('\n', "\r\n"));
    paste(&mut model, &subject, &prompt);
    assert!(model.screen.overlays.is_empty(), "{:?}", model.screen.overlays);
    assert!(has(&model, "pasted", "PFC"));
    // It shows several ports: one of them is chosen.
    assert!(has(&model, "port", "Ethernet1"), "{:#?}", rows(&model));
    select(&mut model, &format!("port {subject} Ethernet1"));
    act(&mut model, "wizard-open");
    let found = model.diagnosed();
    let judged = found.found.iter().find(|one| {
        one.check.id == "switch.pfc" && model.pasted.iter().any(|pasted| pasted.switch == one.judged.subject.target)
    });
    assert_eq!(judged.map(|one| one.judged.status), Some(Status::Pass));
    // What shows it is marked as what it is.
    let read = model.raw.all_newest().find(|read| read.source.as_str() == "eos.pfc").expect("kept");
    assert!(read.command.starts_with("pasted by the user at"), "{}", read.command);
    // Now its system is known, and what it is asked next is worded for it.
    assert!(!has(&model, "Cisco NX-OS", "trust"), "{:#?}", rows(&model));
    model.forget(&subject.target);
    assert!(model.pasted.is_empty());
}

#[test]
fn a_pasted_answer_that_shows_the_matter_is_a_cause() {
    let mut model = without_switch();
    let subject = pfc_question(&model);
    let off = "Port    Status  Priorities  Action       Timeout  Recovery        Polling\n\
               ------------------------------------------------------------------------------\n\
               Et1     D - -   -           -            -        -               -\n";
    let text = format!("{}{off}", &pfc_text()[..pfc_text().find("Port    Status").expect("a table")]);
    paste(&mut model, &subject, &text);
    assert_eq!(model.pasted[0].port.as_deref(), Some("Ethernet1"), "it is the only one");
    assert!(rows(&model).iter().any(|(_, text)| text.contains("off at Ethernet1")), "{:#?}", rows(&model));
}

#[test]
fn what_is_no_answer_is_not_taken_and_says_what_was_expected() {
    let mut model = without_switch();
    let subject = pfc_question(&model);
    for garbage in [
        "hello",
        "\u{1b}]0;title\u{7}\u{1b}[2J\u{1b}[31mred\u{1b}[0m",
        "total 12\n-rw-r--r-- 1 root root 5 Nov 30 x\n",
        "% Invalid input (at token 1: 'priority-flow-control')\n",
        "{\"a\": [1, 2, 3]}",
        "{\"a\": ",
        "Port Status\n",
    ] {
        paste(&mut model, &subject, garbage);
        let Some(Overlay::Paste(view)) = model.screen.overlays.last() else { panic!("it was taken: {garbage:?}") };
        assert!(view.said.starts_with("not taken") && view.said.contains("show "), "{garbage:?}: {}", view.said);
        act(&mut model, "close");
    }
    assert!(model.pasted.is_empty() && model.screen.wizard.answers.is_empty());
    paste(&mut model, &subject, " ");
    act(&mut model, "take-answer");
    let Some(Overlay::Paste(view)) = model.screen.overlays.last() else { panic!("nothing was pasted") };
    assert_eq!(view.said, "nothing was pasted yet");
}

#[test]
fn a_paste_is_bounded_and_clean_and_typed_lines_do_not_end_it() {
    let mut model = without_switch();
    let subject = pfc_question(&model);
    select(&mut model, &format!("ask switch.pfc {subject}"));
    act(&mut model, "paste-answer");
    // A terminal without bracketed paste sends keys.
    for character in "Et1".chars() {
        update(&mut model, Message::Edit(Edit::Insert(character)));
    }
    act(&mut model, "end-line");
    update(&mut model, Message::Edit(Edit::Insert('x')));
    update(&mut model, Message::Edit(Edit::DeleteBefore));
    let view = |model: &Model| match model.screen.overlays.last() {
        Some(Overlay::Paste(view)) => (**view).clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(view(&model).text, "Et1\n");
    update(&mut model, Message::Edit(Edit::Paste("\u{1b}[31mred\u{1b}[0m\tx\r\ny\u{7}".to_owned())));
    assert_eq!(view(&model).text, "Et1\nred\tx\ny");
    update(&mut model, Message::Edit(Edit::Paste("z".repeat(pasted::MOST * 2))));
    assert!(view(&model).text.chars().count() <= pasted::MOST);
    assert!(view(&model).said.contains("only the first"));
    act(&mut model, "close");
    assert!(model.screen.overlays.is_empty());
}

#[test]
fn a_pair_is_prepared_from_the_fabric_up_to_the_proof() {
    let mut model = model(&Site::sound().with("esx02", says("esxi.firewall-rulesets", CLOSED)), true);
    begin(&mut model, "prepare");
    assert_eq!(model.screen.wizard.shows, Shows::Preparing);
    assert!(has(&model, "next", "step 5: the firewall ruleset pvrdma is open"), "{:#?}", rows(&model));
    assert!(has(&model, "command", "esxcli network firewall ruleset set"));
    assert!(has(&model, "TO DO", "firewall ruleset"));
    assert!(has(&model, "in order", "each host has an RDMA device"));
    assert!(has(&model, "transport", "TCP fallback"));
    assert!(has(&model, "on pv-a", "ib_write_bw -d "), "{:#?}", rows(&model));
    let truths: String =
        rows(&model).into_iter().filter(|(label, _)| label == "the truth").map(|(_, text)| text).collect();
    for words in [
        "pcipassthru",
        "vmw_pvrdma",
        "standard switch",
        "VLAN",
        "P_Keys",
        "DCQCN",
        "7.0 U3",
        "pvrdmaN",
        "ethernet0",
        "Nested",
        "IPoIB",
        "65520",
        "vMotion",
    ] {
        assert!(truths.contains(words), "nothing says the truth about {words}");
    }
}

#[test]
fn guests_that_have_no_other_end_are_not_prepared() {
    let targets = vec![(id("alone"), Target::new(TargetKind::Linux))];
    let mut model = Model::new(targets, Options::default(), second(0));
    begin(&mut model, "prepare");
    assert_eq!(model.screen.wizard.shows, Shows::List);
    assert!(model.screen.notice.as_ref().is_some_and(|(said, _)| said.contains("two guests")));
    // A walk over nothing ends at once.
    let effects = begin(&mut model, "device-missing");
    assert!(effects.is_empty());
    assert!(has(&model, "verdict", ""));
}

#[test]
fn keys_that_mean_nothing_here_do_nothing() {
    let mut empty = Model::new(Vec::new(), Options::default(), second(0));
    for name in [
        "wizard-here",
        "wizard-open",
        "answer-yes",
        "answer-no",
        "skip-question",
        "paste-answer",
        "end-line",
        "take-answer",
    ] {
        act(&mut empty, name);
        assert!(empty.screen.overlays.is_empty(), "{name}");
    }
    let mut model = model(&Site::sound(), true);
    begin(&mut model, "slow");
    for name in ["answer-yes", "answer-no", "skip-question", "paste-answer", "end-line", "take-answer"] {
        act(&mut model, name);
    }
    assert!(model.screen.wizard.answers.is_empty() && model.screen.overlays.is_empty());
}

#[test]
fn a_copy_of_the_model_goes_on_as_the_model_does() {
    let mut model = without_switch();
    let subject = pfc_question(&model);
    paste(&mut model, &subject, &pfc_text());
    select(&mut model, &format!("port {subject} Ethernet1"));
    act(&mut model, "wizard-open");
    asked::note(&mut model, "switch.ecn", &subject, "is it so?", Said::Yes);
    let kept = serde_json::to_string(&model.screen.wizard).expect("it can be kept");
    let back: super::WizardView = serde_json::from_str(&kept).expect("it can be read");
    assert_eq!(back, model.screen.wizard);
    // A recording of an older version knows of a selection only.
    let older: super::WizardView = serde_json::from_str(r#"{"selected":null,"cell":0}"#).expect("it can be read");
    assert_eq!(older, super::WizardView::default());
    let shown = rows(&model);
    let mut again = model.clone();
    again.restore();
    assert_eq!(rows(&again), shown);
}

#[test]
fn what_is_shown_follows_from_the_messages_alone() {
    let play = || {
        let mut model = without_switch();
        let subject = pfc_question(&model);
        paste(&mut model, &subject, &pfc_text());
        act(&mut model, "answer-no");
        act(&mut model, "answer-no");
        update(&mut model, Message::Clock(second(200)));
        rows(&model)
    };
    assert_eq!(play(), play());
}
