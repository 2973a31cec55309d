//! The settings overlay: what is in force and where it came from, the whole key map, the theme's roles in their own
//! styles.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::paint::{Paint, fit, part, width, wrap};
use crate::app::action::Context;
use crate::app::model::Model;
use crate::app::settings::{self, Page, SettingsView};

/// Draws the overlay.
pub fn draw(frame: &mut Frame<'_>, model: &Model, paint: Paint<'_>, area: Rect, view: SettingsView) {
    let columns = area.width.saturating_sub(8).min(100);
    let rows = area.height.saturating_sub(4).clamp(3, super::LIST_ROWS);
    let inner = super::open(frame, paint, area, columns, rows, " Settings, for this run ".to_owned());
    if inner.is_empty() {
        return;
    }
    let mut tabs = vec![Span::raw(" ")];
    for page in Page::ALL {
        let style = if page == view.page { paint.theme.title.patch(paint.theme.selection) } else { paint.theme.dim };
        tabs.push(Span::styled(page.title(), style));
        tabs.push(Span::raw("  "));
    }
    frame.render_widget(Paragraph::new(Line::from(tabs)), Rect { height: 1, ..inner });
    let list = Rect { y: inner.y + 1, height: inner.height - 1, ..inner };
    let room = usize::from(list.width);
    let list = if view.page == Page::InForce { draw_whole(frame, model, paint, list, view.selected) } else { list };
    let height = usize::from(list.height);
    let shown = match view.page {
        Page::InForce => {
            let lines = in_force(model, paint, room, view.selected);
            let selected = view.selected.min(lines.len().saturating_sub(1));
            part(lines, selected, height, "", paint).1
        }
        Page::Keys => super::scrolled(super::help::lines(paint, &[Context::Global], room), view.scroll, height, paint),
        Page::Theme => super::scrolled(roles(model, paint, room), view.scroll, height, paint),
    };
    frame.render_widget(Paragraph::new(shown), list);
}

/// Writes the selected setting whole below the list, which may have to cut a path; returns the room that is left.
fn draw_whole(frame: &mut Frame<'_>, model: &Model, paint: Paint<'_>, area: Rect, selected: usize) -> Rect {
    let rows = settings::rows(model);
    let Some(row) = rows.get(selected.min(rows.len().saturating_sub(1))) else { return area };
    let room = usize::from(area.width).saturating_sub(1);
    let rule = paint.glyphs.horizontal.repeat(usize::from(area.width));
    let mut lines = vec![Line::styled(rule, paint.theme.border)];
    let said = [(format!("{}: {}", row.name, row.value), paint.theme.text), (row.whence.clone(), paint.theme.dim)];
    for (text, style) in said.into_iter().filter(|(text, _)| !text.is_empty()) {
        lines.extend(wrap(&text, room).into_iter().map(|line| Line::styled(format!(" {line}"), style)));
    }
    if row.lever.is_none() {
        lines.push(Line::styled(fit(" decided at the start", room, paint.glyphs), paint.theme.dim));
    }
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    if height > area.height / 2 {
        return area;
    }
    let [list, below] = Layout::vertical([Constraint::Min(0), Constraint::Length(height)]).areas(area);
    frame.render_widget(Paragraph::new(lines), below);
    list
}

fn in_force<'a>(model: &Model, paint: Paint<'_>, room: usize, selected: usize) -> Vec<Line<'a>> {
    let rows = settings::rows(model);
    let selected = selected.min(rows.len().saturating_sub(1));
    let name_room = rows.iter().map(|row| width(&row.name)).max().unwrap_or(0).min(room / 3);
    // Values are cut before what they came from: a path is longest at its front.
    let value_room =
        rows.iter().map(|row| width(&row.value) + 4).max().unwrap_or(0).min(room.saturating_sub(name_room) / 2);
    let [.., left, right] = paint.glyphs.arrows;
    let arrows = if width(left) == 1 { [left, right] } else { ["<", ">"] };
    rows.into_iter()
        .enumerate()
        .map(|(index, row)| {
            let value = if row.lever.is_some() && index == selected {
                format!("{} {} {}", arrows[0], row.value, arrows[1])
            } else if row.lever.is_some() {
                format!("  {}  ", row.value)
            } else {
                format!("  {}", row.value)
            };
            let (name_style, value_style) = if row.lever.is_some() {
                (paint.theme.text, paint.theme.title)
            } else {
                (paint.theme.dim, paint.theme.text)
            };
            let line = Line::from(vec![
                Span::styled(format!(" {}", padded(&row.name, name_room, paint)), name_style),
                Span::styled(format!(" {}", padded(&value, value_room, paint)), value_style),
                Span::styled(
                    fit(&format!(" {}", row.whence), room.saturating_sub(name_room + value_room + 2), paint.glyphs),
                    paint.theme.dim,
                ),
            ]);
            if index == selected { line.patch_style(paint.theme.selection) } else { line }
        })
        .collect()
}

fn roles<'a>(model: &Model, paint: Paint<'_>, room: usize) -> Vec<Line<'a>> {
    let heading = format!(" theme {}: its roles, each as it is drawn", model.screen.look.theme);
    let mut lines = vec![Line::styled(fit(&heading, room, paint.glyphs), paint.theme.dim)];
    lines.extend(paint.theme.styles().into_iter().map(|(name, style)| {
        let sample = fit("  the quick link 0123  ", room.saturating_sub(14), paint.glyphs);
        Line::from(vec![Span::styled(format!(" {name:<12} "), paint.theme.text), Span::styled(sample, style)])
    }));
    lines
}

fn padded(text: &str, room: usize, paint: Paint<'_>) -> String {
    let text = fit(text, room, paint.glyphs);
    let gap = " ".repeat(room.saturating_sub(width(&text)));
    format!("{text}{gap}")
}
