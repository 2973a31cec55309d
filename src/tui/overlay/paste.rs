//! The answer of a switch while it is pasted: the question, the end of what came so far, and what was said of it.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::super::paint::{Paint, fit, wrap};
use crate::app::wizard::paste::PasteView;
use crate::fabric::text::clean_line;

/// Draws the overlay.
pub fn draw(frame: &mut Frame<'_>, paint: Paint<'_>, area: Rect, view: &PasteView) {
    let columns = area.width.saturating_sub(6).min(110);
    let inner = super::open(frame, paint, area, columns, area.height, " Paste the answer ".to_owned());
    let room = usize::from(inner.width).max(1);
    let theme = paint.theme;
    let height = usize::from(inner.height);
    let mut above: Vec<Line<'_>> =
        wrap(&view.question, room).into_iter().map(|line| Line::styled(line, theme.title)).collect();
    let how = if view.is_whole {
        "Enter takes it as evidence, Esc leaves it; it is kept in a recording of this session"
    } else {
        "paste what the switch printed; Tab takes it as evidence, Esc leaves it; it is kept in a recording"
    };
    let mut below: Vec<Line<'_>> = Vec::new();
    if !view.said.is_empty() {
        below.extend(wrap(&view.said, room).into_iter().map(|line| Line::styled(line, theme.warning)));
    }
    below.extend(wrap(how, room).into_iter().map(|line| Line::styled(line, theme.dim)));
    // In a low frame the question goes first; what was said of the text and the keys stay.
    above.truncate(height.saturating_sub(below.len() + 1));
    let free = height.saturating_sub(above.len() + below.len());
    let lines: Vec<&str> = view.text.split('\n').collect();
    let hidden = lines.len().saturating_sub(free.saturating_sub(1));
    let mut shown: Vec<Line<'_>> = above;
    if free > 0 {
        let count = view.lines();
        let text = match count {
            0 => "(nothing yet)".to_owned(),
            1 => "1 line".to_owned(),
            more if hidden > 0 => format!("{more} lines, the last ones:"),
            more => format!("{more} lines"),
        };
        shown.push(Line::styled(fit(&text, room, paint.glyphs), theme.dim));
        for line in lines.iter().skip(hidden) {
            shown.push(Line::styled(fit(&clean_line(line), room, paint.glyphs), theme.text));
        }
    }
    shown.extend(below);
    frame.render_widget(Paragraph::new(shown), inner);
}
