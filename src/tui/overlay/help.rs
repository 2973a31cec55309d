//! The help overlay: all keys that work, made from the live key map and the list of actions.

use std::collections::BTreeSet;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::paint::{Paint, fit, width, wrap};
use crate::app::action::{self, Context};
use crate::app::model::Model;
use crate::app::screen::Focus;

/// Draws the overlay, the keys of the context below it first.
pub fn draw(frame: &mut Frame<'_>, model: &Model, paint: Paint<'_>, area: Rect, scroll: usize) {
    let panel = model.screen.panel.context();
    let mut below = match model.screen.focus {
        // What the tree does not know means what it does in the panel beside it.
        Focus::Tree => vec![Context::Tree, panel],
        Focus::Panel => vec![panel],
    };
    let columns = area.width.saturating_sub(4).min(100);
    // In a replay its own keys are looked for first.
    if model.mode.replay().is_some() {
        below.insert(0, Context::Replay);
    }
    let lines = lines(paint, &below, usize::from(columns.saturating_sub(4)));
    let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    let inner = super::open(frame, paint, area, columns, rows, " Keys ".to_owned());
    let shown = super::scrolled(lines, scroll, usize::from(inner.height), paint);
    frame.render_widget(Paragraph::new(shown), inner);
}

/// All keys with what they do, wrapped to a width.
pub(super) fn lines<'a>(paint: Paint<'_>, below: &[Context], room: usize) -> Vec<Line<'a>> {
    let entries = entries(paint, below);
    let key_room = entries.iter().map(|(keys, _)| width(keys)).max().unwrap_or(0).min(room / 3);
    let mut lines: Vec<Line<'_>> = Vec::new();
    for (keys, description) in &entries {
        if description.is_empty() {
            lines.push(Line::styled(keys.clone(), paint.theme.title));
            continue;
        }
        for (row, text) in wrap(description, room.saturating_sub(key_room + 2)).into_iter().enumerate() {
            let keys = if row == 0 { fit(keys, key_room, paint.glyphs) } else { String::new() };
            let gap = " ".repeat(key_room.saturating_sub(width(&keys)) + 2);
            lines.push(Line::from(vec![
                Span::styled(keys, paint.theme.footer_key),
                Span::raw(gap),
                Span::styled(text, paint.theme.text),
            ]));
        }
    }
    lines
}

/// Keys and descriptions; a heading has no description. The contexts below come first, then what works everywhere, then
/// the others.
fn entries(paint: Paint<'_>, below: &[Context]) -> Vec<(String, String)> {
    let mut order: Vec<Context> = Vec::new();
    for context in below.iter().copied().chain([Context::Global]).chain(Context::ALL) {
        if !order.contains(&context) {
            order.push(context);
        }
    }
    let mut lines = Vec::new();
    for context in order {
        let bound: BTreeSet<&str> = paint.keymap.table(context).map(|(_, action)| action).collect();
        if bound.is_empty() {
            continue;
        }
        if !lines.is_empty() {
            lines.push((String::new(), String::new()));
        }
        lines.push((heading(context).to_owned(), String::new()));
        for action in action::ALL.iter().filter(|action| bound.contains(action.name)) {
            let keys: Vec<String> =
                paint.keymap.table(context).filter(|(_, name)| *name == action.name).map(|(key, _)| key).collect();
            lines.push((keys.join("  "), action.description.to_owned()));
        }
    }
    lines
}

fn heading(context: Context) -> &'static str {
    match context {
        Context::Global => "Everywhere",
        Context::Tree => "In the fabric tree",
        Context::Path => "In Path",
        Context::Host => "In Host",
        Context::Vm => "In VM",
        Context::Guest => "In Guest link",
        Context::Live => "In Live",
        Context::Wizard => "In Wizard",
        Context::Tune => "In Tune",
        Context::Bench => "While a benchmark is shown",
        Context::Events => "In Events",
        Context::Gpu => "In GPU",
        Context::Help => "In this list",
        Context::Evidence => "In the evidence",
        Context::Settings => "In the settings",
        Context::Marks => "In the list of marks",
        Context::Healthy => "In the list of what changed",
        Context::Change => "While a remedy is shown",
        Context::Paste => "While an answer is pasted",
        Context::Palette => "In the palette",
        Context::Filter => "While typing",
        Context::Prompt => "When unknown host keys are asked about",
        Context::Secret => "While typing a secret",
        Context::Replay => "In a replay",
    }
}
