//! The settings overlay.

use super::Action;
use crate::app::screen::Overlay;
use crate::app::settings::{self, SettingsView};

pub(super) const SETTINGS: Action = Action {
    name: "settings",
    hint: "settings",
    description: "Show what is in force and where it came from; change theme, keys and glyphs for this run",
    run: |model| {
        if !model.prompts.is_empty() {
            model.screen.notice = Some((super::QUESTION_FIRST.to_owned(), model.now));
            return Vec::new();
        }
        model.screen.overlays.push(Overlay::Settings(SettingsView::default()));
        Vec::new()
    },
};

pub(super) const CHANGE: Action = Action {
    name: "change-setting",
    hint: "change",
    description: "Give the selected setting its next value for this run; left and right go through the values",
    run: |model| {
        settings::change_selected(model, true);
        Vec::new()
    },
};

pub(super) const NEXT_PAGE: Action = Action {
    name: "next-page",
    hint: "next page",
    description: "Show the next page of the settings: values, keys, theme",
    run: |model| {
        settings::next_page(model);
        Vec::new()
    },
};
