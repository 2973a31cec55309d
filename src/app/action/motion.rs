//! Moving: rows, values, pages, graphs, lines of an overlay, the cursor of the graphs.

use super::Action;
use crate::app::effect::Effect;
use crate::app::healthy::view::HealthyView;
use crate::app::model::Model;
use crate::app::screen::{Focus, Overlay, Panel, SCROLL_END};
use crate::app::tree::{self, Node};
use crate::app::{healthy, live, palette, questions, settings, table};

/// Further than any list is long.
const FAR: isize = 1 << 40;

pub(super) const UP: Action = Action {
    name: "up",
    hint: "up",
    description: "One row up, in whatever has the focus",
    run: |model| vertical(model, -1),
};

pub(super) const DOWN: Action = Action {
    name: "down",
    hint: "down",
    description: "One row down, in whatever has the focus",
    run: |model| vertical(model, 1),
};

pub(super) const PAGE_UP: Action = Action {
    name: "page-up",
    hint: "page up",
    description: "One page up",
    run: |model| {
        let page = page(model);
        vertical(model, -page)
    },
};

pub(super) const PAGE_DOWN: Action = Action {
    name: "page-down",
    hint: "page down",
    description: "One page down",
    run: |model| {
        let page = page(model);
        vertical(model, page)
    },
};

pub(super) const TOP: Action =
    Action { name: "top", hint: "top", description: "To the first row", run: |model| vertical(model, -FAR) };

pub(super) const BOTTOM: Action = Action {
    name: "bottom",
    hint: "bottom",
    description: "To the last row; among events also: follow the newest",
    run: |model| vertical(model, FAR),
};

pub(super) const LEFT: Action = Action {
    name: "left",
    hint: "left",
    description: "To the value at the left, or move the graphs' cursor back in time",
    run: |model| horizontal(model, -1),
};

pub(super) const RIGHT: Action = Action {
    name: "right",
    hint: "right",
    description: "To the value at the right, or move the graphs' cursor forward in time",
    run: |model| horizontal(model, 1),
};

fn page(model: &Model) -> isize {
    if !model.prompts.is_empty() {
        // Each row of the table takes three lines at most, and half of a small screen goes for the rest.
        return isize::try_from(model.screen.page() / 6).unwrap_or(1).max(1);
    }
    isize::try_from(model.screen.page().saturating_sub(1).max(1)).unwrap_or(1)
}

fn vertical(model: &mut Model, steps: isize) -> Vec<Effect> {
    if questions::front(model).is_some() {
        questions::move_by(model, steps);
        return Vec::new();
    }
    let columns = model.screen.columns;
    match model.screen.overlays.last_mut() {
        // How many lines the help has depends on the key map, which the view knows: it stops at the last one.
        Some(Overlay::Help { scroll } | Overlay::Change { scroll } | Overlay::Bench { scroll }) => {
            *scroll = scroll.saturating_add_signed(steps).min(SCROLL_END);
            return Vec::new();
        }
        Some(Overlay::Evidence(evidence)) => {
            evidence.scroll_by(steps, columns);
            return Vec::new();
        }
        Some(Overlay::Settings(_)) => {
            settings::scroll(model, steps);
            return Vec::new();
        }
        Some(Overlay::Marks { selected }) => {
            *selected = model.marks.moved(*selected, steps);
            return Vec::new();
        }
        Some(Overlay::Healthy(view)) => {
            let view = *view;
            let moved = healthy::view::moved(model, view, steps);
            set_healthy(model, moved);
            return Vec::new();
        }
        Some(Overlay::Palette(_)) => {
            let last = palette::found(model).len().saturating_sub(1);
            if let Some(Overlay::Palette(palette)) = model.screen.overlays.last_mut() {
                palette.selected = palette.selected.saturating_add_signed(steps).min(last);
            }
            return Vec::new();
        }
        Some(Overlay::Paste(_)) => return Vec::new(),
        None => {}
    }
    match (model.screen.focus, model.screen.panel) {
        (Focus::Tree, _) => tree_row(model, steps),
        (Focus::Panel, panel) if panel.has_rows() => {
            let Some(rows) = table::rows(model) else { return Vec::new() };
            if let Some(view) = table::view_mut(&mut model.screen) {
                view.selected = table::moved(&rows, view.selected.as_ref(), steps);
                view.cell = 0;
            }
        }
        (Focus::Panel, Panel::Live) => {
            let Some(target) = model.selected_target().cloned() else { return Vec::new() };
            let last = live::graphs(model, &target).len().saturating_sub(1);
            model.screen.live.selected = model.screen.live.selected.saturating_add_signed(steps).min(last);
        }
        (Focus::Panel, _) => event_row(model, steps),
    }
    Vec::new()
}

fn set_healthy(model: &mut Model, view: HealthyView) {
    if let Some(Overlay::Healthy(shown)) = model.screen.overlays.last_mut() {
        *shown = view;
    }
}

fn tree_row(model: &mut Model, steps: isize) {
    let rows = tree::rows(model);
    let Some(last) = rows.len().checked_sub(1) else { return };
    let current =
        model.screen.tree.selected.as_ref().and_then(|node| rows.iter().position(|row| row.node == *node)).unwrap_or(0);
    let next = rows[current.saturating_add_signed(steps).min(last)].node.clone();
    select_node(model, next);
}

/// Selects a row of the tree; another target's panels begin at their tops.
pub(in crate::app) fn select_node(model: &mut Model, next: Node) {
    if model.selected_target() != Some(next.target()) {
        table::reset(&mut model.screen);
    }
    if model.screen.tree.selected.as_ref() != Some(&next) {
        model.screen.vm = crate::app::screen::RowsView::default();
    }
    model.screen.tree.selected = Some(next);
}

fn event_row(model: &mut Model, steps: isize) {
    let shown: Vec<u64> = model.shown_events().map(|event| event.number).collect();
    let Some(last) = shown.len().checked_sub(1) else { return };
    let current = match model.screen.events.selected {
        Some(number) => shown.partition_point(|shown| *shown < number).min(last),
        None => last,
    };
    let next = current.saturating_add_signed(steps);
    // Going below the last one means: follow the newest.
    model.screen.events.selected = if next > last || steps >= FAR { None } else { Some(shown[next]) };
}

fn horizontal(model: &mut Model, steps: isize) -> Vec<Effect> {
    if !model.prompts.is_empty() {
        return Vec::new();
    }
    if let Some(Overlay::Healthy(view)) = model.screen.overlays.last() {
        let view = HealthyView { now: steps > 0, ..*view };
        set_healthy(model, view);
        return Vec::new();
    }
    if !model.screen.overlays.is_empty() {
        settings::change_selected(model, steps > 0);
        return Vec::new();
    }
    if model.screen.panel == Panel::Live && model.screen.focus == Focus::Panel {
        let window = model.screen.live.window();
        // A step is a fiftieth of the window: it feels the same at each zoom.
        let step = (window / 50).max(1);
        let before = model.screen.live.cursor.unwrap_or(0);
        let after = if steps < 0 { before.saturating_add(step).min(window) } else { before.saturating_sub(step) };
        model.screen.live.cursor = Some(after);
        return Vec::new();
    }
    if model.screen.focus == Focus::Panel
        && let Some(rows) = table::rows(model)
        && let Some(view) = table::view_mut(&mut model.screen)
    {
        let cells = rows.iter().find(|row| Some(&row.key) == view.selected.as_ref()).map_or(0, |row| row.cells.len());
        view.cell = view.cell.saturating_add_signed(steps).min(cells.saturating_sub(1));
        return Vec::new();
    }
    if model.screen.focus == Focus::Tree {
        super::overlay::set_folded(model, steps < 0);
    }
    Vec::new()
}
