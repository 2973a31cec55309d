//! What changed since the last healthy snapshot: each change with both sides, then what could not be compared.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::paint::{Paint, part, width, wrap};
use crate::app::healthy::view::{self, Entry, HealthyView};
use crate::app::model::Model;

/// Draws the overlay.
pub fn draw(frame: &mut Frame<'_>, model: &Model, paint: Paint<'_>, area: Rect, shown: HealthyView) {
    let columns = area.width.saturating_sub(6).min(120);
    let room = usize::from(columns.min(area.width.saturating_sub(4)));
    let entries = view::entries(model);
    let selected = shown.selected.min(entries.len().saturating_sub(1));
    let mut body: Vec<Line<'_>> = Vec::new();
    let mut position = 0;
    for (index, entry) in entries.iter().enumerate() {
        if index == selected {
            position = body.len();
        }
        body.extend(entry_lines(entry, paint, room, (index == selected).then_some(shown.now)));
    }
    let heading: Vec<Line<'_>> =
        wrap(&view::heading(model), room).into_iter().map(|line| Line::styled(line, paint.theme.dim)).collect();
    let wanted = u16::try_from(heading.len() + 1 + body.len()).unwrap_or(u16::MAX);
    let rows = wanted.min(area.height.saturating_sub(4)).clamp(3, super::LIST_ROWS);
    let title = " What changed since the last healthy snapshot ".to_owned();
    let inner = super::open(frame, paint, area, columns, rows, title);
    let height = usize::from(inner.height);
    if inner.is_empty() {
        return;
    }
    // Where there is no room for both, the list says more than what it is compared with.
    let mut lines = Vec::new();
    if height >= 6 || body.is_empty() {
        lines.extend(heading.into_iter().take((height / 3).max(3)));
    }
    if height >= 6 && !body.is_empty() {
        lines.push(Line::styled(paint.glyphs.horizontal.repeat(usize::from(inner.width)), paint.theme.border));
    }
    let left = height.saturating_sub(lines.len());
    let (_, mut shown) = part(body, position, left, "lines", paint);
    lines.append(&mut shown);
    frame.render_widget(Paragraph::new(lines), inner);
}

/// One entry as lines; `side` of a selected one: true for what stands there now.
fn entry_lines<'a>(entry: &Entry, paint: Paint<'_>, room: usize, side: Option<bool>) -> Vec<Line<'a>> {
    let theme = paint.theme;
    let (what, before, after, beside, gravity) = match entry {
        Entry::Said(text) => {
            let style = if side.is_some() { theme.dim.patch(theme.selection) } else { theme.dim };
            return wrap(text, room).into_iter().map(|line| Line::styled(line, style)).collect();
        }
        Entry::Changed { what, before, after, beside, gravity } => (what, before, after, beside, *gravity),
    };
    let style = paint.gravity(gravity);
    let mut lines: Vec<Line<'a>> = wrap(what, room).into_iter().map(|line| Line::styled(line, style)).collect();
    let of = |now: bool| if side == Some(now) { theme.text.patch(theme.selection) } else { theme.text };
    let arrow = if paint.glyphs.set == super::super::glyphs::GlyphSet::Ascii { " -> " } else { " → " };
    let beside_text = if beside.is_empty() { String::new() } else { format!("   {beside}") };
    if 4 + width(before) + width(arrow) + width(after) + width(&beside_text) <= room {
        lines.push(Line::from(vec![
            Span::raw("    "),
            Span::styled(before.clone(), of(false)),
            Span::styled(arrow, theme.dim),
            Span::styled(after.clone(), of(true)),
            Span::styled(beside_text, theme.dim),
        ]));
        return lines;
    }
    for (word, text, style) in [("was  ", before, of(false)), ("is   ", after, of(true)), ("     ", beside, theme.dim)]
    {
        if text.is_empty() {
            continue;
        }
        for (number, piece) in wrap(text, room.saturating_sub(9).max(8)).into_iter().enumerate() {
            let word = if number == 0 { word } else { "     " };
            lines.push(Line::from(vec![Span::styled(format!("    {word}"), theme.dim), Span::styled(piece, style)]));
        }
    }
    lines
}
