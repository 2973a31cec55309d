//! The *Guest link* panel: who answers and how, what is wrong with the connection, then all that is known.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::paint::{Paint, fit, offset, width, wrap};
use super::super::pointer::Hit;
use super::heading::target_lines;
use crate::app::condition;
use crate::app::guest_link::{self, Row};
use crate::app::model::Model;
use crate::app::pointer::Pointed;
use crate::app::screen::Focus;

/// Draws the panel.
pub fn draw(frame: &mut Frame<'_>, model: &Model, paint: Paint<'_>, area: Rect) {
    let Some(target) = model.selected_target() else {
        frame.render_widget(Paragraph::new(Line::styled(" no targets", paint.theme.dim)), area);
        return;
    };
    let room = usize::from(area.width).saturating_sub(1);
    let mut lines = target_lines(model, paint, target, room);
    let rows = guest_link::rows(model, target);
    let stale = condition::is_stale(model, target) && !rows.is_empty();
    let height = usize::from(area.height).saturating_sub(lines.len());
    let focused = model.screen.focus == Focus::Panel;
    let selected = model.screen.guest.selected.as_ref();
    let label_room = label_room(&rows, room);
    let mut body: Vec<Line<'_>> = Vec::new();
    let mut position = 0;
    let mut row_of_line: Vec<u32> = Vec::new();
    for (number, row) in (0u32..).zip(&rows) {
        let chosen = focused && Some(&row.key) == selected;
        if chosen {
            position = body.len();
        }
        let cell = chosen.then_some(model.screen.guest.cell);
        body.extend(row_lines(row, paint, room, label_room, cell, stale));
        row_of_line.resize(body.len(), number);
    }
    if rows.is_empty() {
        let text = if model.screen.filter.is_empty() { " nothing was read yet" } else { " nothing passes the filter" };
        body.push(Line::styled(text, paint.theme.dim));
    }
    let count = body.len();
    let first = if focused { offset(position, count, height.max(1)) } else { 0 };
    let top = area.y.saturating_add(u16::try_from(lines.len()).unwrap_or(u16::MAX));
    for (y, row) in (top..area.bottom()).zip(row_of_line.into_iter().skip(first)) {
        paint.hit(Rect { y, height: 1, ..area }, Hit::Thing(Pointed::Guest(row)));
    }
    let hidden = count.saturating_sub(first + height);
    let mut shown: Vec<Line<'_>> = body.into_iter().skip(first).take(height).collect();
    if hidden > 0
        && let Some(last) = shown.last_mut()
    {
        *last = Line::styled(format!(" {} {} more lines below", paint.glyphs.ellipsis, hidden + 1), paint.theme.dim);
    }
    lines.append(&mut shown);
    frame.render_widget(Paragraph::new(lines), area);
}

/// Width of the labels: that of the longest one, but no more than a third of the panel.
fn label_room(rows: &[Row], room: usize) -> usize {
    let longest = rows.iter().filter(|row| !row.is_section()).map(|row| width(&row.label)).max().unwrap_or(0);
    longest.min(room / 3).max(8)
}

/// One row as lines: values that do not fit go on below, so that nothing is hidden.
fn row_lines<'a>(
    row: &Row,
    paint: Paint<'_>,
    room: usize,
    label_room: usize,
    selected_cell: Option<usize>,
    stale: bool,
) -> Vec<Line<'a>> {
    if row.is_section() {
        let rule = paint.glyphs.horizontal.repeat(room.saturating_sub(width(&row.label) + 3).min(12));
        return vec![Line::from(vec![
            Span::styled(format!(" {} ", row.label), paint.theme.title),
            Span::styled(rule, paint.theme.border),
        ])];
    }
    let indent = label_room + 3;
    let label = fit(&row.label, label_room, paint.glyphs);
    let gap = " ".repeat(label_room.saturating_sub(width(&label)) + 1);
    let label_style = if selected_cell.is_some() { paint.theme.selection } else { paint.theme.dim };
    let mut spans = vec![Span::raw("  "), Span::styled(label, label_style), Span::raw(gap)];
    let mut lines = Vec::new();
    let mut used = indent;
    for (index, cell) in row.cells.iter().enumerate() {
        let style: Style = if stale { paint.theme.stale } else { paint.gravity(cell.gravity) };
        let style = if selected_cell == Some(index) { style.patch(paint.theme.selection) } else { style };
        let pieces = if width(&cell.text) <= room.saturating_sub(indent) {
            vec![cell.text.clone()]
        } else {
            wrap(&cell.text, room.saturating_sub(indent))
        };
        for piece in pieces {
            if used > indent && used + 2 + width(&piece) > room {
                lines.push(Line::from(std::mem::take(&mut spans)));
                spans.push(Span::raw(" ".repeat(indent)));
                used = indent;
            }
            if used > indent {
                spans.push(Span::raw("  "));
                used += 2;
            }
            used += width(&piece);
            spans.push(Span::styled(piece, style));
        }
    }
    lines.push(Line::from(spans));
    lines
}
