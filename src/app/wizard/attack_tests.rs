//! What the wizard offers where nothing is asked, how it names VMs, and what a paste can bring that is no answer: too much,
//! nothing, binary, escape sequences, the answer of another switch, at any size of the screen.

use super::super::action;
use super::super::connection::{Connection, Problem};
use super::super::message::{Edit, Message};
use super::super::model::Model;
use super::super::screen::{Focus, Overlay, Panel};
use super::super::selection::Node;
use super::super::{table, update};
use super::paste::PasteView;
use super::tests::{CLOSED, act, begin, model, pfc_question, select, serve, without_switch};
use super::{Said, asked, heading, pasted, would_go_on};
use crate::diagnose::check::testing::{Site, says};
use crate::fabric::{Attribute, Entity, EntityId, Fact, Report, TargetId, Text};

const NX_OS: &str = "============================================================\nPort               Mode Oper(VL bmap)  RxPPP      TxPPP\n\
                     ============================================================\n\nEthernet1/1        On   On  (8)        0          0\n\
                     Ethernet1/2        Off  Off            0          0\n";

fn offered(model: &Model) -> Vec<&'static str> {
    action::hints(model).into_iter().map(|action| action.name).collect()
}

fn asks(model: &Model) -> bool {
    ["answer-yes", "answer-no", "paste-answer", "skip-question"].iter().any(|name| offered(model).contains(name))
}

#[test]
fn the_keys_of_questions_are_offered_where_something_is_asked() {
    let mut console = model(&Site::sound(), true);
    act(&mut console, "wizard-here");
    assert!(!asks(&console), "nothing is asked in the list: {:?}", offered(&console));
    let effects = begin(&mut console, "link-down");
    assert!(!asks(&console), "nor while the first step is read: {:?}", offered(&console));
    serve(&mut console, effects);
    let mut console = without_switch();
    select(&mut console, "step-0");
    let names = offered(&console);
    assert!(names.contains(&"paste-answer") && names.contains(&"answer-no"), "they lead to the question: {names:?}");
    assert!(!names.contains(&"answer-yes"), "which copies here: {names:?}");
    let subject = pfc_question(&console);
    select(&mut console, &format!("ask switch.pfc {subject}"));
    assert!(offered(&console).contains(&"answer-yes"));
}

#[test]
fn a_vm_is_named_as_people_call_it() {
    let mut console = model(&Site::sound(), true);
    let host = TargetId::new("esx02");
    let called = |entity: &&Entity| {
        let id = EntityId::new(&host, (*entity).clone());
        console.fabric.text(&id, Attribute::VmName) == Some("pv-b")
    };
    let vm = console.fabric.of_kind(&host, Entity::Vm(Text::new(""))).find(called).expect("a VM").clone();
    console.screen.focus = Focus::Tree;
    console.screen.tree.selected = Some(Node::Entity(EntityId::new(&host, vm.clone())));
    act(&mut console, "wizard-here");
    let words = heading(&console);
    assert!(words[0].1.contains("VM pv-b on esx02"), "{words:?}");
    // And so in what is told of a change of it.
    let mut facts = Vec::new();
    let id = EntityId::new(&host, vm.clone());
    for (attribute, reading) in console.fabric.readings(&id) {
        let mut reading = reading.clone();
        if attribute == Attribute::PowerState {
            reading.state = crate::fabric::State::Known("poweredOff".into());
        }
        facts.push(Fact { entity: vm.clone(), attribute, reading });
    }
    let known = console.events.len();
    let source =
        facts.iter().find(|fact| fact.attribute == Attribute::PowerState).map(|fact| fact.reading.source.clone());
    let probe = crate::probe::esxi::PROBES
        .iter()
        .find(|probe| probe.sources.iter().any(|one| Some(one.id()) == source.as_ref().map(|one| one.source.clone())));
    let probe = crate::fabric::SourceId::new(probe.expect("its probe").name);
    let report = Report { target: host, probe, observations: Vec::new(), facts };
    let at = console.now;
    update(&mut console, Message::Report { at, report });
    let told: Vec<&str> = console.events.iter().skip(known).map(|event| event.text.as_str()).collect();
    let Entity::Vm(uuid) = &vm else { panic!("a VM") };
    assert!(told.iter().any(|text| text.starts_with("VM pv-b ")), "{told:#?}");
    assert!(told.iter().all(|text| !text.contains(uuid.as_str())), "{told:#?}");
}

/// A console with the paste open for the first question of flow control.
fn pasting() -> (Model, EntityId) {
    let mut model = without_switch();
    let subject = pfc_question(&model);
    select(&mut model, &format!("ask switch.pfc {subject}"));
    act(&mut model, "paste-answer");
    (model, subject)
}

fn view(model: &Model) -> &PasteView {
    match model.screen.overlays.last() {
        Some(Overlay::Paste(view)) => view,
        other => panic!("the paste is closed: {other:?}"),
    }
}

fn bring(model: &mut Model, text: &str) {
    update(model, Message::Edit(Edit::Paste(text.to_owned())));
}

#[test]
fn more_than_is_kept_is_told_and_so_is_nothing() {
    let (mut model, _) = pasting();
    bring(&mut model, " \r\n\t\u{0}\u{1b}[0m");
    assert_eq!(view(&model).said, "there was no text in what was pasted");
    assert!(!view(&model).is_whole && view(&model).text.is_empty());
    let long = "Ethernet1/1 is a line of no table at all\n".repeat(25_000);
    assert!(long.len() > 1_000_000);
    bring(&mut model, &long);
    assert!(view(&model).said.contains("only the first 64 kB"), "{}", view(&model).said);
    assert!(view(&model).text.len() <= pasted::MOST);
    act(&mut model, "end-line");
    let said = &view(&model).said;
    assert!(said.starts_with("not taken") && said.contains("only the first 64 kB"), "{said}");
    // All of it goes again, and then it is as new: the next line does not end it.
    for _ in 0..25_000 {
        update(&mut model, Message::Edit(Edit::DeleteWord));
        if view(&model).text.is_empty() {
            break;
        }
    }
    assert!(view(&model).text.is_empty() && !view(&model).is_whole);
    act(&mut model, "close");
    assert!(model.screen.overlays.is_empty() && model.pasted.is_empty());
}

#[test]
fn binary_escape_sequences_and_the_end_of_a_paste_within_are_no_answer_and_leave_no_control() {
    let bytes: Vec<u8> = (0..20_000_u32).map(|one| one.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    for hostile in [
        String::from_utf8_lossy(&bytes).into_owned(),
        "\u{1b}[201~q\rq\u{1b}[200~\u{1b}]52;c;aGk=\u{7}\u{1b}P$q\u{1b}\\".to_owned(),
        "\u{202e}\u{200b}\u{feff}\u{9b}31m".to_owned(),
    ] {
        let (mut model, _) = pasting();
        bring(&mut model, &hostile);
        let is_clean = view(&model).text.chars().all(|one| !one.is_control() || matches!(one, '\n' | '\t'));
        assert!(is_clean, "{:?}", view(&model).text);
        act(&mut model, "end-line");
        if !view(&model).text.trim().is_empty() {
            assert!(view(&model).said.starts_with("not taken"), "{}", view(&model).said);
        }
        assert!(model.pasted.is_empty() && model.screen.wizard.answers.is_empty());
    }
}

#[test]
fn a_paste_survives_any_size_of_the_screen() {
    let (mut model, _) = pasting();
    bring(&mut model, NX_OS);
    let before = view(&model).clone();
    for (columns, rows) in [(200, 50), (1, 1), (0, 0), (20, 5), (80, 24)] {
        update(&mut model, Message::Resized { columns, rows });
        assert_eq!(*view(&model), before);
    }
}

#[test]
fn the_answer_of_another_system_replaces_what_was_pasted_and_does_not_mix_with_it() {
    let (mut model, subject) = pasting();
    bring(&mut model, &Site::sound().printed("leaf1", "eos.pfc"));
    act(&mut model, "end-line");
    let switch = model.pasted[0].switch.clone();
    let ports = |model: &Model| -> Vec<String> {
        let all = model.fabric.of_kind(&switch, Entity::SwitchInterface(Text::new("")));
        all.map(Entity::name).collect()
    };
    assert!(ports(&model).contains(&"Ethernet1".to_owned()), "{:?}", ports(&model));
    let taken = pasted::take(&mut model, "switch.pfc", &subject, None, NX_OS).expect("it is an answer");
    assert!(taken.as_answer_of.contains("Cisco NX-OS") && taken.as_answer_of.contains("Arista, is dropped"));
    assert!(!ports(&model).contains(&"Ethernet1".to_owned()), "{:?}", ports(&model));
    assert!(ports(&model).contains(&"Ethernet1/1".to_owned()), "{:?}", ports(&model));
}

#[test]
fn the_answer_of_another_system_is_none_of_a_switch_of_the_inventory() {
    let mut model = model(&Site::sound(), true);
    let port = EntityId::new(&TargetId::new("leaf1"), Entity::SwitchInterface("Ethernet1".into()));
    let why = pasted::take(&mut model, "switch.pfc", &port, None, NX_OS).expect_err("another system");
    assert!(why.contains("this is what Cisco NX-OS prints, and leaf1 is Arista"), "{why}");
    let own = Site::sound().printed("leaf1", "eos.pfc");
    assert!(pasted::take(&mut model, "switch.pfc", &port, None, &own).is_ok());
}

#[test]
fn a_question_that_no_output_answers_says_so() {
    let mut model = without_switch();
    let walk = model.screen.wizard.walk.clone().expect("a walk");
    let open = asked::open(&model, &walk);
    let Some(other) = open.iter().find(|one| !one.check.starts_with("switch.")) else { return };
    let key = format!("ask {} {}", other.check, other.subject);
    select(&mut model, &key);
    act(&mut model, "paste-answer");
    let (said, _) = model.screen.notice.clone().expect("a sentence");
    assert!(said.starts_with("p: no output tells this one") && said.len() < 78, "{said}");
    assert!(model.screen.overlays.is_empty());
    act(&mut model, "skip-question");
    assert_eq!(asked::answer_to(&model, other.check, &other.subject).map(|one| one.said), Some(Said::Skipped));
}

#[test]
fn what_is_not_read_yet_is_said_beside_what_was_found() {
    let mut model = model(&Site::sound(), true);
    model.screen.panel = Panel::Wizard;
    let texts = |model: &Model| -> Vec<String> {
        let rows = table::rows(model).expect("rows");
        rows.into_iter().map(|row| format!("{}|{}", row.label, row.line())).collect()
    };
    let problem = Problem::new("no route to esx02", "", "");
    let connection = Connection::Failed { problem };
    let at = model.now;
    update(&mut model, Message::Connection { target: TargetId::new("esx02"), at, connection });
    super::super::diagnosis::judge_now(&mut model);
    let shown = texts(&model);
    assert!(!shown.iter().any(|text| text.contains("no check finds anything wrong")), "{shown:#?}");
    assert!(shown.iter().any(|text| text.starts_with("esx02|") && text.contains("no route")), "{shown:#?}");
    assert!(heading(&model)[0].1.contains("of 8 targets unread"), "{:?}", heading(&model));
}

#[test]
fn what_has_something_read_or_judged_is_known_before_it_is_done() {
    let mut console = model(&Site::sound(), true);
    act(&mut console, "wizard-here");
    for (row, goes_on) in [("begin slow", true), ("begin by-itself", false), ("begin prepare", false)] {
        select(&mut console, row);
        assert_eq!(would_go_on(&console), goes_on, "{row}");
    }
    let closed = Site::sound().with("esx02", says("esxi.firewall-rulesets", CLOSED));
    let mut console = model(&closed, true);
    let effects = begin(&mut console, "slow");
    serve(&mut console, effects);
    for (row, goes_on) in [("step-0", false), ("step-8", true)] {
        select(&mut console, row);
        assert_eq!(would_go_on(&console), goes_on, "{row}");
    }
    console.screen.panel = Panel::Host;
    assert!(!would_go_on(&console));
}
