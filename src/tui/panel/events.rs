//! The *Events* panel: what happened, the newest at the bottom; the selected one in full below.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::paint::{Paint, fit, offset, tell_cut, width, wrap};
use super::super::pointer::Hit;
use crate::app::alerts;
use crate::app::events::Event;
use crate::app::format;
use crate::app::message::Severity;
use crate::app::model::Model;
use crate::app::pointer::Pointed;
use crate::app::screen::Focus;

/// Draws the panel.
pub fn draw(frame: &mut Frame<'_>, model: &Model, paint: Paint<'_>, area: Rect) {
    let shown: Vec<&Event> = model.shown_events().collect();
    let Some(last) = shown.len().checked_sub(1) else {
        let text = if model.events.is_empty() { " nothing happened yet" } else { " nothing passes the filter" };
        frame.render_widget(Paragraph::new(Line::styled(text, paint.theme.dim)), area);
        return;
    };
    let position = match model.screen.events.selected {
        Some(number) => shown.partition_point(|event| event.number < number).min(last),
        None => last,
    };
    let room = usize::from(area.width).saturating_sub(1);
    let detail = detail_lines(model, shown[position], paint, room);
    let detail_height = u16::try_from(detail.len() + 1).unwrap_or(u16::MAX).min(area.height / 2);
    let [list, below] = Layout::vertical([Constraint::Min(0), Constraint::Length(detail_height)]).areas(area);
    let focused = model.screen.focus == Focus::Panel;
    let target_room = shown.iter().filter_map(|event| event.target.as_ref()).map(|id| width(id.as_str())).max();
    // Where there is little room, names stand without a column of their own.
    let target_room = if room < 80 { 0 } else { target_room.unwrap_or(0).min(room / 4) };
    let height = usize::from(list.height);
    let first = offset(position, shown.len(), height.max(1));
    for (y, event) in (list.top()..list.bottom()).zip(&shown[first..]) {
        paint.hit(Rect { y, height: 1, ..list }, Hit::Thing(Pointed::Event(event.number)));
    }
    let mut lines: Vec<Line<'_>> = shown
        .iter()
        .enumerate()
        .skip(first)
        .take(height)
        .map(|(index, event)| {
            let is_mark = model.marks.of_event(event.number).is_some();
            let flag = alerts::flag(model, event.number);
            let line = event_line(event, is_mark, flag, paint, room, target_room);
            if index == position && focused { line.patch_style(paint.theme.selection) } else { line }
        })
        .collect();
    tell_cut(&mut lines, first, shown.len(), position, "", paint);
    frame.render_widget(Paragraph::new(lines), list);
    let rule = paint.glyphs.horizontal.repeat(3);
    let follows = if model.screen.events.selected.is_none() { "follows the newest" } else { "" };
    let mut detail_shown = vec![Line::from(vec![
        Span::styled(rule, paint.theme.border),
        Span::styled(format!(" {} of {} {follows}", position + 1, shown.len()), paint.theme.dim),
    ])];
    detail_shown.extend(detail);
    frame.render_widget(Paragraph::new(detail_shown), below);
}

fn mark<'a>(event: &Event, paint: Paint<'a>) -> Span<'a> {
    match event.severity {
        Severity::Info => Span::raw("  "),
        Severity::Warning => Span::styled(format!("{} ", paint.glyphs.warning), paint.theme.warning),
        Severity::Error => Span::styled(format!("{} ", paint.glyphs.error), paint.theme.error),
    }
}

fn event_line<'a>(
    event: &Event,
    is_mark: bool,
    flag: Option<&'static str>,
    paint: Paint<'a>,
    room: usize,
    target_room: usize,
) -> Line<'a> {
    let target = event.target.as_ref().map_or("", |id| id.as_str());
    let target = if target_room == 0 { target.to_owned() } else { fit(target, target_room, paint.glyphs) };
    let gap = " ".repeat(target_room.saturating_sub(width(&target)) + 1);
    let clock = format::clock(event.at, paint.zone);
    let text_room = room.saturating_sub(1 + width(&clock) + 1 + 2 + width(&target) + width(&gap));
    let style = match event.severity {
        Severity::Info if is_mark => paint.theme.mark,
        Severity::Info => paint.theme.text,
        // What somebody took note of calls no longer.
        _ if flag.is_some() => paint.theme.dim,
        Severity::Warning => paint.theme.warning,
        Severity::Error => paint.theme.error,
    };
    // It stands at the end, and the words make room for it.
    let flag = flag.map_or_else(String::new, |flag| format!(" [{flag}]"));
    let text = fit(&event.text, text_room.saturating_sub(width(&flag)), paint.glyphs);
    Line::from(vec![
        Span::styled(format!(" {clock} "), paint.theme.dim),
        mark(event, paint),
        Span::styled(target, paint.theme.title),
        Span::raw(gap),
        Span::styled(format!("{text}{flag}"), style),
    ])
}

fn detail_lines<'a>(model: &Model, event: &Event, paint: Paint<'a>, room: usize) -> Vec<Line<'a>> {
    let severity = match event.severity {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    let target = event.target.as_ref().map_or(String::new(), |id| format!("{id}: "));
    let mut lines: Vec<Line<'_>> = wrap(&format!("{severity}  {target}{}", event.text), room.saturating_sub(1))
        .into_iter()
        .map(|line| Line::styled(format!(" {line}"), paint.theme.text))
        .collect();
    if let Some(standing) = alerts::standing(model, event.number, paint.zone) {
        lines.push(Line::styled(format!(" alert: {standing}"), paint.theme.dim));
    }
    if let Some(reference) = &event.evidence {
        lines.push(Line::styled(format!(" read from {}", reference.source), paint.theme.dim));
    }
    lines
}
