use std::cell::RefCell;
use std::rc::Rc;

use super::*;
use crate::app::model::{Options, Target, TargetKind};
use crate::app::prompt::{SecretKind, SecretRequest, UnknownHostKey};
use crate::app::{Connection, Problem, Prompt};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_795_910_400 + second).expect("within range")
}

/// A plain console on two targets, and what it asked to be done.
fn console(interactive: bool) -> (Plain, Rc<RefCell<Vec<Effect>>>) {
    let targets = ["vm1", "vm2"].map(|name| (TargetId::new(name), Target::new(TargetKind::Linux))).to_vec();
    let model = Model::new(targets, Options::default(), at(0));
    let effects = Rc::new(RefCell::new(Vec::new()));
    let sink = Rc::clone(&effects);
    let mut console = Plain::new(model, Box::new(move |effect| sink.borrow_mut().push(effect)), interactive);
    console.zone = TimeZone::UTC;
    (console, effects)
}

fn said(console: &mut Plain) -> Vec<String> {
    console.lines.drain(..).collect()
}

fn host_key() -> Prompt {
    let kind = PromptKind::UnknownHostKey(UnknownHostKey {
        host: Text::new("vm1.example"),
        algorithm: Text::new("ssh-ed25519"),
        fingerprint: Text::new("SHA256:abc"),
        recorded_in: Text::new("/home/a/.ssh/known_hosts"),
    });
    Prompt { id: 7, target: TargetId::new("vm1"), kind }
}

fn secret(echo: bool) -> Prompt {
    let kind = PromptKind::Secret(SecretRequest {
        what: SecretKind::Interactive,
        asked_by: Text::new("root@vm1:22"),
        instruction: Text::new("two steps"),
        question: Text::new("Code:"),
        echo,
        may_reuse: false,
    });
    Prompt { id: 8, target: TargetId::new("vm1"), kind }
}

#[test]
fn it_begins_with_the_day_and_how_each_target_stands() {
    let (mut console, _) = console(false);
    console.begin();
    let lines = said(&mut console);
    assert_eq!(lines[0], "date 2026-11-29 UTC");
    assert!(lines[1].ends_with(", 2 targets: vm1, vm2"), "{lines:?}");
    assert_eq!(lines[2..], ["vm1: waiting (linux)", "vm2: waiting (linux)"]);
}

#[test]
fn each_event_is_a_line_with_time_severity_and_target_and_midnight_is_told() {
    let (mut console, _) = console(false);
    console.begin();
    said(&mut console);
    let problem = Problem::new("refused", "no key", "add one");
    let connection = Connection::Failed { problem };
    console.take_in(Message::Connection { target: TargetId::new("vm1"), at: at(3), connection });
    console.take_in(Message::Clock(at(4)));
    assert_eq!(said(&mut console), ["00:00:03 error vm1 refused; no key; add one"]);
    console.take_in(Message::Clock(at(86_400)));
    assert_eq!(said(&mut console), ["date 2026-11-30 UTC"]);
    console.take_in(Message::Notice {
        target: None,
        at: at(86_401),
        severity: Severity::Warning,
        text: Text::new("the disk is full"),
    });
    assert_eq!(said(&mut console), ["00:00:01 warning rdmascope the disk is full"]);
}

#[test]
fn a_question_that_nobody_can_answer_is_refused_and_told() {
    for prompt in [host_key(), secret(false)] {
        let (mut console, effects) = console(false);
        let id = prompt.id;
        console.take_in(Message::Asked { at: at(1), prompt });
        let lines = said(&mut console);
        assert!(lines.iter().any(|line| line.contains("error vm1 not asked, for want of a terminal")), "{lines:?}");
        assert_eq!(*effects.borrow(), [Effect::Answer { id, answer: Answer::Refuse }]);
        assert!(console.model.prompts.is_empty());
    }
}

#[test]
fn a_question_is_asked_whole_and_nothing_else_is_told_until_it_is_answered() {
    let (mut console, effects) = console(true);
    console.begin();
    said(&mut console);
    console.take_in(Message::Asked { at: at(1), prompt: host_key() });
    let lines = said(&mut console);
    assert!(lines.iter().any(|line| line.contains("ssh-ed25519 SHA256:abc")), "{lines:?}");
    assert!(lines.last().is_some_and(|line| line.starts_with("Type yes to trust it")), "{lines:?}");
    let text = Text::new("meanwhile");
    console.take_in(Message::Notice { target: None, at: at(2), severity: Severity::Info, text });
    assert_eq!(said(&mut console), Vec::<String>::new());
    assert!(!console.typed("status".to_owned()), "it is no answer");
    assert_eq!(said(&mut console), ["please type yes or no"]);
    assert!(effects.borrow().is_empty());
    console.typed(" Yes ".to_owned());
    assert_eq!(*effects.borrow(), [Effect::Answer { id: 7, answer: Answer::Accept }]);
    assert_eq!(said(&mut console), ["00:00:02 info rdmascope meanwhile"]);
}

#[test]
fn a_question_that_is_withdrawn_is_asked_no_more() {
    let (mut console, effects) = console(true);
    console.take_in(Message::Asked { at: at(1), prompt: host_key() });
    said(&mut console);
    console.take_in(Message::Withdrawn { id: 7 });
    assert_eq!(said(&mut console), ["", "the question is no longer open"]);
    console.typed("help".to_owned());
    assert_eq!(said(&mut console).len(), typed::HELP.len());
    assert!(effects.borrow().is_empty());
}

#[test]
fn an_answer_is_never_said_again_and_an_empty_one_refuses() {
    for (answer, expected, word) in [
        ("hunter2", Answer::Secret { secret: Secret::new("hunter2".to_owned()), reuse: false }, "taken"),
        ("", Answer::Refuse, "refused"),
    ] {
        let (mut console, effects) = console(true);
        console.begin();
        console.take_in(Message::Asked { at: at(1), prompt: secret(true) });
        let asked = said(&mut console);
        assert!(asked.iter().any(|line| line == "The server asks: Code:"), "{asked:?}");
        console.typed(answer.to_owned());
        assert_eq!(*effects.borrow(), [Effect::Answer { id: 8, answer: expected }]);
        let lines = said(&mut console);
        assert_eq!(lines, [word]);
    }
}

#[test]
fn commands_are_answered_in_lines() {
    let (mut console, effects) = console(true);
    console.begin();
    said(&mut console);
    console.typed("values vm3".to_owned());
    assert_eq!(said(&mut console), ["no target is called \"vm3\"; did you mean vm1? known here: vm1, vm2"]);
    console.typed("values vm1".to_owned());
    assert_eq!(said(&mut console), ["vm1: nothing was read yet"]);
    console.typed("read vm1".to_owned());
    assert_eq!(said(&mut console), ["vm1 is not connected"]);
    console.typed("events".to_owned());
    assert_eq!(said(&mut console), ["nothing happened yet"]);
    console.typed(String::new());
    assert_eq!(said(&mut console), ["no counters were read yet"]);
    console.typed("reconnect vm2".to_owned());
    console.typed("reload".to_owned());
    assert_eq!(*effects.borrow(), [Effect::Reconnect(TargetId::new("vm2")), Effect::Reload]);
    assert!(console.typed("quit".to_owned()));
}
