//! The list of marks.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::paint::{Paint, fit, part, width};
use crate::app::format;
use crate::app::marks::Mark;
use crate::app::model::Model;

/// Draws the overlay.
pub fn draw(frame: &mut Frame<'_>, model: &Model, paint: Paint<'_>, area: Rect, selected: Option<u32>) {
    let columns = area.width.saturating_sub(8).min(80);
    let rows = u16::try_from(model.marks.len().max(1)).unwrap_or(u16::MAX);
    let inner = super::open(frame, paint, area, columns, rows, " Marks ".to_owned());
    let room = usize::from(inner.width);
    let Some(selected) = model.marks.position(selected) else {
        let text = fit("no mark was put yet", room, paint.glyphs);
        frame.render_widget(Paragraph::new(Line::styled(text, paint.theme.dim)), inner);
        return;
    };
    let height = usize::from(inner.height);
    let lines: Vec<Line<'_>> = model
        .marks
        .iter()
        .enumerate()
        .map(|(index, mark)| {
            let line = mark_line(mark, model, paint, room);
            if index == selected { line.patch_style(paint.theme.selection) } else { line }
        })
        .collect();
    let (_, lines) = part(lines, selected, height, "", paint);
    frame.render_widget(Paragraph::new(lines), inner);
}

fn mark_line<'a>(mark: &Mark, model: &Model, paint: Paint<'_>, room: usize) -> Line<'a> {
    let letter = format!("{:>3}", mark.letter());
    let clock = format::clock(mark.at, paint.zone);
    // Where room is short, the note says more than the age.
    let when = if room < 45 { format!(" {clock} ") } else { format!("  {clock}  {:>9}  ", ago(mark, model)) };
    let left = room.saturating_sub(width(&letter) + width(&when));
    Line::from(vec![
        Span::styled(letter, paint.theme.mark),
        Span::styled(when, paint.theme.dim),
        Span::styled(fit(&mark.note, left, paint.glyphs), paint.theme.text),
    ])
}

fn ago(mark: &Mark, model: &Model) -> String {
    match format::age(mark.at, model.now) {
        now if now == "now" => now,
        age => format!("{age} ago"),
    }
}
