//! Switching faults of the embedded lab. There is one action for each fault and target, so these carry words behind
//! their name, and no key map has them: `fault link-down pv-a` switches that fault, `fault link-down` that of the
//! selected target. Outside of the demo there are none.

use crate::app::effect::Effect;
use crate::app::events::Event;
use crate::app::message::Severity;
use crate::app::model::{DemoFault, Model};
use crate::fabric::{TargetId, Text};

/// What these actions begin with.
pub const PREFIX: &str = "fault ";

/// One of these actions, as a list of actions shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The action: `fault link-down pv-a`.
    pub action: String,
    /// What it is, with the target.
    pub title: String,
    /// What it does.
    pub description: Text,
    /// True if it is on now, so that the action switches it off.
    pub is_on: bool,
}

/// All that can be switched now, the selected target's first; empty outside of the demo.
pub fn choices(model: &Model) -> Vec<Choice> {
    let selected = model.selected_target();
    let mut targets: Vec<&TargetId> = model.order.iter().collect();
    targets.sort_by_key(|target| Some(*target) != selected);
    targets
        .into_iter()
        .flat_map(|target| {
            let here = model.options.demo_faults.iter().filter(move |fault| fault.hosts.contains(target));
            here.map(move |fault| {
                let is_on = is_on(model, fault, target);
                Choice {
                    action: format!("{PREFIX}{} {target}", fault.name),
                    title: if is_on {
                        format!("{target}: end of {}", fault.title)
                    } else {
                        format!("{target}: {}", fault.title)
                    },
                    description: fault.description.clone(),
                    is_on,
                }
            })
        })
        .collect()
}

fn is_on(model: &Model, fault: &DemoFault, target: &TargetId) -> bool {
    model.demo_faults_on.contains(&(fault.name.clone(), target.clone()))
}

/// Switches what the words name; words that name nothing do nothing.
pub(super) fn run(model: &mut Model, words: &str) -> Vec<Effect> {
    let mut words = words.split(' ');
    let (name, target, more) = (words.next().unwrap_or_default(), words.next(), words.next());
    let target = match target {
        Some(name) => Some(TargetId::new(name)),
        None => model.selected_target().cloned(),
    };
    let fault = model.options.demo_faults.iter().find(|fault| fault.name == name).cloned();
    let (Some(fault), Some(target), None) = (fault, target, more) else { return Vec::new() };
    if !fault.hosts.contains(&target) {
        return Vec::new();
    }
    let on = !is_on(model, &fault, &target);
    let key = (fault.name.clone(), target.clone());
    if !on {
        model.demo_faults_on.remove(&key);
    } else if fault.lasts {
        model.demo_faults_on.insert(key);
    }
    let what = format!("demo: {}{}", if on { "" } else { "end of " }, fault.title);
    model.screen.notice = Some((format!("{target}: {what}"), model.now));
    let severity = if on { Severity::Warning } else { Severity::Info };
    model.events.push(Event {
        number: 0,
        at: model.now,
        target: Some(target.clone()),
        severity,
        text: what,
        entity: None,
        evidence: None,
        line: 0,
    });
    vec![Effect::Fault { name: fault.name, target, on }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::model::{Options, Target, TargetKind};
    use crate::fabric::Timestamp;

    fn model() -> Model {
        let targets = ["a", "b", "c"].map(|name| (TargetId::new(name), Target::new(TargetKind::Linux)));
        let fault = |name: &str, lasts| DemoFault {
            name: Text::new(name),
            title: Text::new(&name.replace('-', " ")),
            description: Text::new("what happens"),
            lasts,
            hosts: ["a", "b"].map(TargetId::new).into(),
        };
        let options =
            Options { demo_faults: vec![fault("link-down", true), fault("reboot", false)], ..Options::default() };
        Model::new(targets.into(), options, Timestamp::UNIX_EPOCH)
    }

    fn fault(name: &str, target: &str, on: bool) -> Vec<Effect> {
        vec![Effect::Fault { name: Text::new(name), target: TargetId::new(target), on }]
    }

    #[test]
    fn a_fault_is_switched_on_and_off_again_and_told() {
        let mut model = model();
        assert_eq!(super::super::run(&mut model, "fault link-down b"), fault("link-down", "b", true));
        assert_eq!(super::super::run(&mut model, "fault link-down"), fault("link-down", "a", true), "the selected one");
        assert_eq!(model.demo_faults_on.len(), 2);
        assert_eq!(super::super::run(&mut model, "fault link-down b"), fault("link-down", "b", false));
        assert_eq!(model.demo_faults_on.len(), 1);
        let told: Vec<&str> = model.events.iter().map(|event| event.text.as_str()).collect();
        assert_eq!(told, ["demo: link down", "demo: link down", "demo: end of link down"]);
        for _ in 0..2 {
            assert_eq!(super::super::run(&mut model, "fault reboot a"), fault("reboot", "a", true), "it has no end");
        }
    }

    #[test]
    fn what_names_nothing_does_nothing() {
        let mut model = model();
        let before = model.clone();
        for action in
            ["fault", "fault ", "fault link-down c", "fault earthquake a", "fault link-down a b", "fault link-down d"]
        {
            assert_eq!(super::super::run(&mut model, action), Vec::new(), "{action}");
        }
        assert_eq!(model.events, before.events);
        assert!(
            model.demo_faults_on.is_empty() && choices(&Model::new(vec![], Options::default(), before.now)).is_empty()
        );
    }

    #[test]
    fn the_list_begins_with_the_selected_target_and_says_what_is_on() {
        let mut model = model();
        super::super::run(&mut model, "next-target");
        super::super::run(&mut model, "fault link-down b");
        let shown: Vec<(String, String, bool)> =
            choices(&model).into_iter().map(|choice| (choice.action, choice.title, choice.is_on)).collect();
        let row = |action: &str, title: &str, on| (action.to_owned(), title.to_owned(), on);
        assert_eq!(
            shown,
            [
                row("fault link-down b", "b: end of link down", true),
                row("fault reboot b", "b: reboot", false),
                row("fault link-down a", "a: link down", false),
                row("fault reboot a", "a: reboot", false),
            ]
        );
        for (action, _, _) in shown {
            assert!(!super::super::run(&mut model, &action).is_empty(), "{action}");
        }
    }
}
