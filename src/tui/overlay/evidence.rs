//! The evidence overlay: what was concluded, from which command on which target and when, and the raw text.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::paint::{Paint, fit, width, wrap};
use crate::app::evidence::Evidence;
use crate::app::format;

/// How long a read took, with the gap behind it. A guest tells it in steps of 10 ms: nothing takes no time at all.
fn took(duration: Duration) -> String {
    if duration.is_zero() {
        "took less than 10 ms  ".to_owned()
    } else {
        format!("took {}  ", format::duration(duration))
    }
}

/// Draws the overlay.
pub fn draw(frame: &mut Frame<'_>, paint: Paint<'_>, area: Rect, evidence: &Evidence) {
    let inner = super::open(frame, paint, area, area.width, area.height, format!(" Evidence: {} ", evidence.title));
    let room = usize::from(inner.width);
    let mut head: Vec<Line<'_>> = wrap(&evidence.conclusion, room)
        .into_iter()
        .filter(|line| !line.is_empty())
        .map(|line| Line::styled(line, paint.theme.title))
        .collect();
    if let Some(observation) = &evidence.observation {
        let command = format!("$ {}", crate::fabric::text::clean_line(&observation.command));
        head.extend(wrap(&command, room).into_iter().take(4).map(|line| Line::styled(line, paint.theme.text)));
        let when = format!(
            "on {}  at {}  {}{}",
            observation.target,
            format::clock(observation.at, paint.zone),
            observation.duration.map(took).unwrap_or_default(),
            evidence.outcome(),
        );
        head.push(Line::styled(fit(&when, room, paint.glyphs), paint.theme.dim));
    } else {
        let text = format!("{} on {}: {}", evidence.reference.source, evidence.reference.target, evidence.outcome());
        head.push(Line::styled(fit(&text, room, paint.glyphs), paint.theme.dim));
    }
    head.push(Line::default());
    let head_height = u16::try_from(head.len()).unwrap_or(u16::MAX).min(inner.height / 2);
    let [top, text] = Layout::vertical([Constraint::Length(head_height), Constraint::Min(0)]).areas(inner);
    let rows = evidence.rows(area.width);
    let height = usize::from(text.height);
    let first = evidence.scroll.min(rows.len().saturating_sub(1));
    // The head may be cut as well: the rule is its last line all the same.
    head.truncate(usize::from(top.height));
    if let Some(last) = head.last_mut() {
        *last = rule(first, rows.len().saturating_sub(first + height), room, paint);
    }
    frame.render_widget(Paragraph::new(head), top);
    if rows.is_empty() {
        let empty = if evidence.observation.is_some() { "(no output)" } else { "" };
        frame.render_widget(Paragraph::new(Line::styled(empty, paint.theme.dim)), text);
        return;
    }
    let cited_line = rows.iter().find(|row| row.number == evidence.line && evidence.line > 0).map(|row| row.line);
    let needle = evidence.search.to_lowercase();
    let shown: Vec<Line<'_>> = rows
        .iter()
        .skip(first)
        .take(height)
        .map(|row| {
            let cited = cited_line == Some(row.line);
            let mark = if cited && row.number > 0 { paint.glyphs.broken } else { " " };
            let gutter = if row.number > 0 { format!("{mark}{:>5} ", row.number) } else { "       ".to_owned() };
            let style = if !needle.is_empty() && row.text.to_lowercase().contains(&needle) {
                paint.theme.selection
            } else if cited {
                paint.theme.title
            } else {
                paint.theme.text
            };
            Line::from(vec![
                Span::styled(gutter, if cited { paint.theme.title } else { paint.theme.dim }),
                Span::styled(row.text.clone(), style),
            ])
        })
        .collect();
    frame.render_widget(Paragraph::new(shown), text);
}

/// What parts the head from the text, and says how much of that is cut off.
fn rule<'a>(above: usize, below: usize, room: usize, paint: Paint<'_>) -> Line<'a> {
    let told = match (above, below) {
        (0, 0) => String::new(),
        (0, below) => format!(" {below} more lines below "),
        (above, 0) => format!(" {above} more lines above "),
        (above, below) => format!(" {above} more lines above, {below} below "),
    };
    let left = paint.glyphs.horizontal.repeat(3.min(room));
    let told = fit(&told, room.saturating_sub(width(&left)), paint.glyphs);
    let right = paint.glyphs.horizontal.repeat(room.saturating_sub(width(&left) + width(&told)));
    Line::from(vec![
        Span::styled(left, paint.theme.border),
        Span::styled(told, paint.theme.dim),
        Span::styled(right, paint.theme.border),
    ])
}
