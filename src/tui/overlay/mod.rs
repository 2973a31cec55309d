//! What lies over the panels, one file each.

pub mod change;
pub mod evidence;
pub mod healthy;
pub mod help;
pub mod marks;
pub mod palette;
pub mod paste;
pub mod prompt;
pub mod settings;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear};

use super::paint::Paint;

/// The part of some lines that is shown: from `scroll` on as far as there are lines, the last one telling
/// of those below and the first one of those above.
fn scrolled<'a>(lines: Vec<Line<'a>>, scroll: usize, height: usize, paint: Paint<'_>) -> Vec<Line<'a>> {
    let first = scroll.min(lines.len().saturating_sub(height));
    let hidden = lines.len().saturating_sub(first + height);
    let mut shown: Vec<Line<'a>> = lines.into_iter().skip(first).take(height).collect();
    if hidden > 0
        && let Some(last) = shown.last_mut()
    {
        *last = Line::styled(format!("{} {} more lines below", paint.glyphs.ellipsis, hidden + 1), paint.theme.dim);
    }
    if first > 0
        && height > 2
        && let Some(top) = shown.first_mut()
    {
        *top = Line::styled(format!("{} {} more lines above", paint.glyphs.ellipsis, first + 1), paint.theme.dim);
    }
    shown
}

/// The most rows that a list is given: one that fills a large screen hides what it is about.
const LIST_ROWS: u16 = 30;

/// Below this height a frame takes more than it gives.
const LOW: u16 = 7;

/// Clears a frame of at most this inner size in the middle of `area`, with a title; returns the room inside. In a low area
/// there is no frame, and all of it is used.
fn open(frame: &mut Frame<'_>, paint: Paint<'_>, area: Rect, columns: u16, rows: u16, title: String) -> Rect {
    let width = columns.saturating_add(4).min(area.width);
    let height = rows.saturating_add(2).min(area.height);
    if area.height < LOW {
        frame.render_widget(Clear, area);
        return area;
    }
    let outer = Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height };
    frame.render_widget(Clear, outer);
    let block = if paint.glyphs.set == super::glyphs::GlyphSet::Ascii {
        Block::bordered().border_set(ratatui::symbols::border::Set {
            top_left: "+",
            top_right: "+",
            bottom_left: "+",
            bottom_right: "+",
            vertical_left: "|",
            vertical_right: "|",
            horizontal_top: "-",
            horizontal_bottom: "-",
        })
    } else {
        Block::bordered()
    };
    let block =
        block.border_style(paint.theme.border).style(paint.theme.text).title(Line::styled(title, paint.theme.title));
    let inner = block.inner(outer);
    frame.render_widget(block, outer);
    Rect { x: inner.x + u16::from(inner.width > 2), width: inner.width.saturating_sub(2), ..inner }
}
