//! The command palette.

use super::Action;
use crate::app::effect::Effect;
use crate::app::model::Model;
use crate::app::palette::{self, Palette};
use crate::app::screen::{Editing, Overlay, Purpose};

pub(super) const PALETTE: Action = Action {
    name: "palette",
    hint: "palette",
    description: "List everything that can be done now, and do it: actions, targets, themes",
    run: |model| {
        if !model.prompts.is_empty() {
            model.screen.notice = Some((super::QUESTION_FIRST.to_owned(), model.now));
            return Vec::new();
        }
        model.screen.notice = None;
        model.screen.overlays.push(Overlay::Palette(Palette::default()));
        model.screen.editing = Some(Editing::new(Purpose::Palette, ""));
        Vec::new()
    },
};

pub(super) const RUN: Action =
    Action { name: "palette-run", hint: "do it", description: "Do what is selected in the palette", run };

fn run(model: &mut Model) -> Vec<Effect> {
    let Some(Overlay::Palette(Palette { selected })) = model.screen.overlays.last().cloned() else { return Vec::new() };
    let mut found = palette::found(model);
    if found.is_empty() {
        model.screen.notice = Some(("nothing of that name can be done".to_owned(), model.now));
        return Vec::new();
    }
    let entry = found.swap_remove(selected.min(found.len() - 1)).entry;
    if let Some(refusal) = entry.refusal {
        model.screen.notice = Some((format!("{}: {refusal}", entry.title), model.now));
        return Vec::new();
    }
    model.screen.overlays.pop();
    model.screen.editing = None;
    palette::remember(model, &entry.action);
    super::run(model, &entry.action)
}
