//! The command palette: the typed text, and below it what fits, the best first; the keys in force stand at the right.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::paint::{Paint, fit, offset, skip_columns, tell_cut, width};
use crate::app::action::{self, Context};
use crate::app::model::Model;
use crate::app::palette::{self, Found, Palette};

/// The widest list: names, descriptions and keys need no more.
const WIDEST: u16 = 110;
/// What stands before the typed text.
const PROMPT: &str = ": ";
/// Cells for the keys at the right.
const KEYS: usize = 8;

/// Draws the overlay.
pub fn draw(frame: &mut Frame<'_>, model: &Model, paint: Paint<'_>, area: Rect, view: Palette) {
    let found = palette::found(model);
    let columns = area.width.saturating_sub(8).min(WIDEST);
    let rows = area.height.saturating_sub(4).clamp(3, super::LIST_ROWS);
    let title = match found.len() {
        1 => " Palette: 1 thing to do ".to_owned(),
        count => format!(" Palette: {count} things to do "),
    };
    let inner = super::open(frame, paint, area, columns, rows, title);
    if inner.is_empty() {
        return;
    }
    draw_typed(frame, model, paint, Rect { height: 1, ..inner });
    let list = Rect { y: inner.y + 1, height: inner.height - 1, ..inner };
    if found.is_empty() {
        let text = fit("nothing of that name can be done", usize::from(list.width), paint.glyphs);
        frame.render_widget(Paragraph::new(Line::styled(text, paint.theme.dim)), list);
        return;
    }
    let selected = view.selected.min(found.len() - 1);
    let height = usize::from(list.height);
    let room = usize::from(list.width);
    // The same for all lists, so that nothing moves while it gets shorter.
    let title_room = match room {
        0..50 => room.saturating_sub(2),
        50..90 => 20,
        _ => 30,
    };
    let context = below(model);
    let first = offset(selected, found.len(), height.max(1));
    let mut lines: Vec<Line<'_>> = found
        .iter()
        .enumerate()
        .skip(first)
        .take(height)
        .map(|(index, found)| {
            let line = entry_line(found, paint, room, title_room, context);
            if index == selected { line.patch_style(paint.theme.selection) } else { line }
        })
        .collect();
    tell_cut(&mut lines, first, found.len(), selected, "", paint);
    frame.render_widget(Paragraph::new(lines), list);
}

/// Where keys go once the palette is closed.
fn below(model: &Model) -> Context {
    action::context_of(model.screen.top(), &model.screen)
}

fn draw_typed(frame: &mut Frame<'_>, model: &Model, paint: Paint<'_>, area: Rect) {
    let Some(editing) = &model.screen.editing else { return };
    let room = usize::from(area.width).saturating_sub(width(PROMPT) + 1);
    let scroll = editing.input.visual_scroll(room);
    let typed = skip_columns(editing.input.value(), scroll);
    let mut spans = vec![Span::styled(PROMPT, paint.theme.title), Span::styled(typed.clone(), paint.theme.text)];
    if typed.is_empty() {
        spans.push(Span::styled(fit(" type to search", room, paint.glyphs), paint.theme.dim));
    }
    frame.render_widget(Paragraph::new(Line::from(spans)), area);
    let cursor = editing.input.visual_cursor().saturating_sub(scroll);
    let column = area.x.saturating_add(u16::try_from(width(PROMPT) + cursor).unwrap_or(u16::MAX));
    if column < area.right() {
        frame.set_cursor_position(Position::new(column, area.y));
    }
}

fn entry_line<'a>(found: &Found, paint: Paint<'_>, room: usize, title_room: usize, context: Context) -> Line<'a> {
    let Found { entry, positions } = found;
    let base = if entry.refusal.is_some() { paint.theme.dim } else { paint.theme.text };
    let shown = fit(&entry.title, title_room, paint.glyphs);
    let mut spans = vec![Span::raw(" ")];
    // Matched letters are underlined too: a theme without colours must show them.
    let matched = base.patch(paint.theme.title).add_modifier(Modifier::UNDERLINED);
    for (index, character) in shown.chars().enumerate() {
        let style = if positions.contains(&index) { matched } else { base };
        spans.push(Span::styled(character.to_string(), style));
    }
    let mut used = 1 + width(&shown);
    let mut pad = |spans: &mut Vec<Span<'a>>, to: usize| {
        spans.push(Span::styled(" ".repeat(to.saturating_sub(used)), base));
        used = used.max(to);
        used
    };
    let at = pad(&mut spans, title_room + 3);
    let key = paint.keymap.hint(context, &entry.action).unwrap_or_default();
    let detail_room = room.saturating_sub(at + KEYS + 1);
    if detail_room >= 10 {
        let detail = match &entry.refusal {
            Some(why) => format!("not now: {why}"),
            None => entry.detail.clone(),
        };
        let detail = fit(&detail, detail_room, paint.glyphs);
        let gap = " ".repeat(detail_room.saturating_sub(width(&detail)) + 1);
        spans.push(Span::styled(detail, paint.theme.dim));
        spans.push(Span::raw(gap));
        spans.push(Span::styled(fit(&key, KEYS, paint.glyphs), paint.theme.footer_key));
        spans.push(Span::raw(" ".repeat(KEYS.saturating_sub(width(&key)))));
    }
    Line::from(spans)
}
