//! Lines of text: the filter, and the search in the evidence overlay.

use super::Action;
use crate::app::change;
use crate::app::filter::Filter;
use crate::app::marks;
use crate::app::model::Model;
use crate::app::screen::{Editing, Purpose};

pub(super) const FILTER: Action = Action {
    name: "filter",
    hint: "filter",
    description: "Show only rows that hold all typed words; `!word` leaves rows out",
    run: |model| {
        let screen = &mut model.screen;
        // What is filtered is what has the focus: a filter for values must not empty the tree.
        if screen.filter_on != screen.focus {
            screen.filter = Filter::default();
            screen.filter_on = screen.focus;
        }
        screen.editing = Some(Editing::new(Purpose::Filter, screen.filter.text()));
        Vec::new()
    },
};

pub(super) const SEARCH: Action = Action {
    name: "search",
    hint: "search",
    description: "Search in the evidence",
    run: |model| {
        if let Some(evidence) = model.screen.evidence() {
            let text = evidence.search.clone();
            model.screen.editing = Some(Editing::new(Purpose::Search, &text));
        }
        Vec::new()
    },
};

pub(super) const NEXT_MATCH: Action = Action {
    name: "next-match",
    hint: "next match",
    description: "To the next line that holds the searched text",
    run: |model| {
        find(model, true);
        Vec::new()
    },
};

pub(super) const PREVIOUS_MATCH: Action = Action {
    name: "previous-match",
    hint: "previous match",
    description: "To the previous line that holds the searched text",
    run: |model| {
        find(model, false);
        Vec::new()
    },
};

pub(super) const ACCEPT: Action = Action {
    name: "accept",
    hint: "keep",
    description: "Keep the typed text and go on",
    run: |model| {
        let Some(editing) = model.screen.editing.take() else { return Vec::new() };
        match editing.purpose {
            Purpose::Note { mark, .. } => marks::set_note(model, mark, editing.input.value()),
            Purpose::Confirm => return change::confirm(model, editing.input.value()),
            Purpose::Filter | Purpose::Search | Purpose::Palette | Purpose::Position => {}
        }
        Vec::new()
    },
};

pub(super) const CANCEL: Action = Action {
    name: "cancel",
    hint: "undo",
    description: "Take the typed text back",
    run: |model| {
        if let Some(editing) = model.screen.editing.take() {
            match editing.purpose {
                Purpose::Filter => model.screen.filter = Filter::new(&editing.before),
                Purpose::Search => {
                    if let Some(evidence) = model.screen.evidence_mut() {
                        evidence.search = editing.before;
                    }
                }
                Purpose::Note { mark, fresh: true } => marks::take_back(model, mark),
                Purpose::Note { fresh: false, .. } | Purpose::Palette | Purpose::Position | Purpose::Confirm => {}
            }
        }
        Vec::new()
    },
};

fn find(model: &mut Model, forward: bool) {
    let columns = model.screen.columns;
    let Some(evidence) = model.screen.evidence_mut() else { return };
    if !evidence.find(forward, false, columns) {
        let text = if evidence.search.is_empty() {
            "nothing is searched for yet".to_owned()
        } else {
            format!("{:?} does not occur", evidence.search)
        };
        model.screen.notice = Some((text, model.now));
    }
}
