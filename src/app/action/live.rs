//! The graphs: standing still, zoom, cursor.

use super::Action;
use crate::app::live::graphs;
use crate::app::model::Model;
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
        model.screen.live.cursor = match model.screen.live.cursor {
            Some(_) => None,
            None => Some(first_place(model)),
        };
        Vec::new()
    },
};

/// Where the cursor appears: in the middle of the window, or at the oldest value if none is as old; in seconds before what
/// is shown last.
fn first_place(model: &Model) -> u32 {
    let window = model.screen.live.window();
    let shown = model.shown_time();
    let from = shown - jiff::SignedDuration::from_secs(i64::from(window));
    let graphs = model.selected_target().map(|target| graphs(model, target)).unwrap_or_default();
    let lines = graphs.iter().flat_map(|graph| &graph.lines);
    let first = |line: &crate::app::live::Line| {
        line.points(model, from, shown).into_iter().find_map(|(at, value)| value.map(|_| at))
    };
    // Without any value there is nothing to be seen anywhere.
    let Some(oldest) = lines.filter_map(first).min() else { return window / 2 };
    u32::try_from(shown.duration_since(oldest).as_secs()).unwrap_or(0).min(window / 2)
}
