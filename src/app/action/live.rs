//! The graphs: standing still, zoom, cursor.

use super::Action;
use crate::app::screen::WINDOWS;

pub(super) const FREEZE: Action = Action {
    name: "freeze",
    hint: "freeze",
    description: "Let the graphs stand still, or go on; values are still collected meanwhile",
    run: |model| {
        let live = &mut model.screen.live;
        live.frozen = match live.frozen {
            Some(_) => None,
            None => Some(model.now),
        };
        Vec::new()
    },
};

pub(super) const ZOOM_IN: Action = Action {
    name: "zoom-in",
    hint: "zoom in",
    description: "Show a shorter time in the graphs",
    run: |model| {
        let live = &mut model.screen.live;
        live.zoom = live.zoom.saturating_sub(1);
        live.cursor = live.cursor.map(|cursor| cursor.min(live.window()));
        Vec::new()
    },
};

pub(super) const ZOOM_OUT: Action = Action {
    name: "zoom-out",
    hint: "zoom out",
    description: "Show a longer time in the graphs",
    run: |model| {
        model.screen.live.zoom = (model.screen.live.zoom + 1).min(WINDOWS.len() - 1);
        Vec::new()
    },
};

pub(super) const CURSOR: Action = Action {
    name: "cursor",
    hint: "cursor",
    description: "Show or hide the cursor that all graphs share; left and right move it",
    run: |model| {
        let live = &mut model.screen.live;
        live.cursor = match live.cursor {
            Some(_) => None,
            None => Some(live.window() / 2),
        };
        Vec::new()
    },
};
