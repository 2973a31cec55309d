//! The fabric tree: targets and what matters on them, each with a state in a word.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::paint::{Paint, fit, offset, tell_cut, width};
use super::super::pointer::Hit;
use crate::app::condition::{self, Gravity};
use crate::app::model::Model;
use crate::app::pointer::Pointed;
use crate::app::screen::Focus;
use crate::app::tree::{self, Node};

/// Draws the tree.
pub fn draw(frame: &mut Frame<'_>, model: &Model, paint: Paint<'_>, area: Rect) {
    let [title, list] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
    let focused = model.screen.focus == Focus::Tree;
    let style = if focused { paint.theme.title.patch(paint.theme.selection) } else { paint.theme.title };
    frame.render_widget(Paragraph::new(Line::from(vec![Span::raw(" "), Span::styled("Fabric", style)])), title);
    let rows = tree::rows(model);
    if rows.is_empty() {
        let text = if model.order.is_empty() { " no targets" } else { " nothing passes the filter" };
        frame.render_widget(Paragraph::new(Line::styled(text, paint.theme.dim)), list);
        return;
    }
    let selected = model.screen.tree.selected.as_ref();
    let position = rows.iter().position(|row| Some(&row.node) == selected).unwrap_or(0);
    let height = usize::from(list.height);
    let room = usize::from(list.width);
    let first = offset(position, rows.len(), height);
    for (y, row) in (list.top()..list.bottom()).zip(first..rows.len()) {
        let row = u32::try_from(row).unwrap_or(u32::MAX);
        paint.hit(Rect { y, height: 1, ..list }, Hit::Thing(Pointed::Tree(row)));
    }
    let mut lines: Vec<Line<'_>> = rows
        .iter()
        .enumerate()
        .skip(first)
        .take(height)
        .map(|(index, row)| {
            let mark = match row.folded {
                Some(true) => paint.glyphs.folded,
                Some(false) => paint.glyphs.unfolded,
                None => " ",
            };
            // A folded target answers for what it hides.
            let condition = match (&row.node, row.folded) {
                (Node::Target(target), Some(true)) if row.condition.gravity <= Gravity::Neutral => {
                    let worst = condition::worst_of(model, target);
                    if worst > row.condition.gravity {
                        condition::Condition::new("look inside", worst)
                    } else {
                        row.condition.clone()
                    }
                }
                _ => row.condition.clone(),
            };
            let indent = "  ".repeat(usize::from(row.depth));
            let word_room = room.saturating_sub(4).min(width(&condition.word));
            let label_room = room.saturating_sub(word_room + 2);
            let label = fit(&format!(" {indent}{mark} {}", row.label), label_room, paint.glyphs);
            let gap = room.saturating_sub(width(&label) + word_room + 1);
            let stale = condition::is_stale(model, row.node.target()) && matches!(row.node, Node::Entity(_));
            let label_style = if stale { paint.theme.stale } else { paint.theme.text };
            let word_style = if stale { paint.theme.stale } else { paint.gravity(condition.gravity) };
            let line = Line::from(vec![
                Span::styled(label, label_style),
                Span::raw(" ".repeat(gap)),
                Span::styled(fit(&condition.word, word_room, paint.glyphs), word_style),
                Span::raw(" "),
            ]);
            if index == position {
                let selection = if focused { paint.theme.selection } else { paint.theme.title };
                line.patch_style(selection)
            } else {
                line
            }
        })
        .collect();
    tell_cut(&mut lines, first, rows.len(), position, "", paint);
    tell_trouble(&mut lines, first, &rows, position, paint);
    frame.render_widget(Paragraph::new(lines), list);
}

/// Where rows are cut off that call for a look, the line that tells of them says so.
fn tell_trouble(lines: &mut [Line<'_>], first: usize, rows: &[tree::Row], position: usize, paint: Paint<'_>) {
    let Some(last) = lines.len().checked_sub(1) else { return };
    let is_told = |place: usize| first + place != position;
    let hidden = [
        (0, rows.get(..=first).filter(|_| first > 0 && is_told(0))),
        (last, rows.get(first + last..).filter(|rows| rows.len() > 1 && is_told(last))),
    ];
    for (place, rows) in hidden {
        let grave = rows.into_iter().flatten().map(|row| row.condition.gravity).filter(|one| *one >= Gravity::Warning);
        let grave: Vec<Gravity> = grave.collect();
        if let (Some(worst), Some(line)) = (grave.iter().max(), lines.get_mut(place)) {
            *line = Line::styled(format!("{line}, {} not well", grave.len()), paint.gravity(*worst));
        }
    }
}
