//! A benchmark before it begins: what it runs on which guest, what it loads and for how long, what runs there already.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::super::paint::{Paint, wrap};
use crate::app::model::Model;
use crate::app::tune;

/// Draws the overlay.
pub fn draw(frame: &mut Frame<'_>, model: &Model, paint: Paint<'_>, area: Rect, scroll: usize) {
    let columns = area.width.saturating_sub(6).min(110);
    let lines = lines(model, paint, usize::from(columns).max(20));
    let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    let inner = super::open(frame, paint, area, columns, rows, " Benchmark ".to_owned());
    let shown = super::scrolled(lines, scroll, usize::from(inner.height), paint);
    frame.render_widget(Paragraph::new(shown), inner);
}

fn lines<'a>(model: &Model, paint: Paint<'_>, room: usize) -> Vec<Line<'a>> {
    let mut lines: Vec<Line<'a>> = Vec::new();
    let mut say = |text: &str, style: Style| {
        lines.extend(wrap(text, room).into_iter().map(|line| Line::styled(line, style)));
    };
    let theme = paint.theme;
    let plan = match tune::planned(model) {
        Ok(plan) => plan,
        Err(why) => {
            say(&why, theme.warning);
            return lines;
        }
    };
    for (place, words) in plan.words().iter().enumerate() {
        say(words, if place == 0 { theme.title } else { theme.text });
    }
    for note in &plan.pair.notes {
        say(&format!("mind: {note}"), theme.text);
    }
    say("", theme.text);
    match tune::obstacle(model) {
        Some(why) => say(&why, theme.warning),
        None => say(
            "Enter begins it. It writes nothing to the guests, and both sides end with it, whatever happens here",
            theme.title,
        ),
    }
    lines
}
