//! Remedies: looking at one, copying it, writing it as a script, applying it, taking it back.

use super::Action;
use crate::app::change::{self, ChangeAsked, Stage};
use crate::app::diagnosis;
use crate::app::effect::Effect;
use crate::app::model::Model;
use crate::app::screen::{Editing, Overlay, Purpose};

pub(super) const FIX: Action = Action {
    name: "fix",
    hint: "remedy",
    description: "Show what helps against the selected finding: the exact commands, what they can break, and the way back",
    run: |model| {
        if !model.prompts.is_empty() {
            return say(model, super::QUESTION_FIRST);
        }
        let Some(cause) = diagnosis::selected_cause(model) else {
            return say(model, "no finding is selected; they stand in Wizard (6), and in Events (8) as they came");
        };
        match change::open(model, &cause) {
            Ok(()) => model.screen.overlays.push(Overlay::Change { scroll: 0 }),
            Err(why) => return say(model, why),
        }
        Vec::new()
    },
};

pub(super) const NEXT_REMEDY: Action = Action {
    name: "next-remedy",
    hint: "next remedy",
    description: "Show the next remedy for the same finding",
    run: |model| {
        change::next_cure(model);
        Vec::new()
    },
};

pub(super) const APPLY: Action = Action {
    name: "apply-remedy",
    hint: "apply",
    description: "Apply what is shown, after its target's name was typed; only with --allow-changes",
    run: |model| {
        if let Some(why) = change::obstacle(model) {
            return say(model, why);
        }
        if model.change.as_ref().is_some_and(|change| change.stage == Stage::Asking) {
            model.screen.editing = Some(Editing::new(Purpose::Confirm, ""));
        }
        Vec::new()
    },
};

pub(super) const UNDO: Action = Action {
    name: "undo-remedy",
    hint: "undo",
    description: "Show the way back of the change that was made last, to be applied like a remedy",
    run: |model| {
        if let Err(why) = change::open_undo(model) {
            return say(model, why);
        }
        if !matches!(model.screen.overlays.last(), Some(Overlay::Change { .. })) {
            model.screen.overlays.push(Overlay::Change { scroll: 0 });
        }
        Vec::new()
    },
};

pub(super) const EXPORT: Action = Action {
    name: "export-remedy",
    hint: "script",
    description: "Write what is shown as a script into the working directory",
    run: |model| {
        let Some(change) = &model.change else { return Vec::new() };
        let Some(text) = change.script() else { return Vec::new() };
        let clean = |text: &str| {
            text.chars()
                .map(|one| if one.is_ascii_alphanumeric() || one == '.' { one } else { '-' })
                .collect::<String>()
        };
        let back = if change.undo { "-undo" } else { "" };
        let (check, target) = (clean(&change.check), clean(change.subject.target.as_str()));
        let name = format!("rdmascope-{check}-{target}{back}.{}", change.ending());
        vec![Effect::Change(ChangeAsked::Export { name, text })]
    },
};

fn say(model: &mut Model, why: &str) -> Vec<Effect> {
    model.screen.notice = Some((why.to_owned(), model.now));
    Vec::new()
}
