//! Marks on the time axis.

use super::Action;
use crate::app::marks;
use crate::app::screen::Overlay;

pub(super) const MARK: Action = Action {
    name: "mark",
    hint: "mark",
    description: "Put a mark on the time axis, now or where the graphs' cursor stands, and type its note",
    run: |model| {
        marks::put(model);
        Vec::new()
    },
};

pub(super) const MARKS: Action = Action {
    name: "marks",
    hint: "marks",
    description: "List all marks",
    run: |model| {
        if !model.prompts.is_empty() {
            model.screen.notice = Some((super::QUESTION_FIRST.to_owned(), model.now));
            return Vec::new();
        }
        model.screen.overlays.push(Overlay::Marks { selected: None });
        Vec::new()
    },
};

pub(super) const NEXT: Action = Action {
    name: "next-mark",
    hint: "next mark",
    description: "Freeze the graphs with their cursor on the next mark",
    run: |model| {
        marks::step(model, true);
        Vec::new()
    },
};

pub(super) const PREVIOUS: Action = Action {
    name: "previous-mark",
    hint: "previous mark",
    description: "Freeze the graphs with their cursor on the mark before",
    run: |model| {
        marks::step(model, false);
        Vec::new()
    },
};

pub(super) const GO_TO: Action = Action {
    name: "go-to-mark",
    hint: "show",
    description: "Freeze the graphs with their cursor on the selected mark",
    run: |model| {
        if let Some(number) = marks::selected(model).map(|mark| mark.number) {
            marks::show(model, number);
        }
        Vec::new()
    },
};

pub(super) const RENAME: Action = Action {
    name: "rename-mark",
    hint: "note",
    description: "Type the note of the selected mark anew",
    run: |model| {
        marks::rename_selected(model);
        Vec::new()
    },
};

pub(super) const DELETE: Action = Action {
    name: "delete-mark",
    hint: "delete",
    description: "Delete the selected mark; its event stays and says so",
    run: |model| {
        marks::delete_selected(model);
        Vec::new()
    },
};
