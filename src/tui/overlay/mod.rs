//! What lies over the panels, one file each.

pub mod bench;
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
use crate::app::screen::SCROLL_END;

/// The part of some lines that is shown: from `scroll` on as far as there are lines, the last one telling
/// of those below and the first one of those above.
fn scrolled<'a>(lines: Vec<Line<'a>>, scroll: usize, height: usize, paint: Paint<'_>) -> Vec<Line<'a>> {
    let last = lines.len().saturating_sub(height);
    let first =
        if scroll > SCROLL_END / 2 { last.saturating_sub(SCROLL_END.saturating_sub(scroll)) } else { scroll.min(last) };
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

#[cfg(test)]
mod tests {
    use super::super::secret::Typed;
    use super::super::{Glyphs, Keymap, Theme};
    use super::*;

    #[test]
    fn from_the_end_of_a_text_the_first_key_upwards_moves() {
        let (theme, glyphs, keymap) = (Theme::embedded(), Glyphs::default(), Keymap::default());
        let (zone, typed) = (jiff::tz::TimeZone::UTC, Typed::default());
        let paint = Paint { theme: &theme, glyphs: &glyphs, keymap: &keymap, zone: &zone, hits: None, typed };
        let shown = |scroll: usize| {
            let lines = (0..100).map(|number| Line::raw(number.to_string())).collect();
            scrolled(lines, scroll, 10, paint).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let (top, end) = (shown(0), shown(SCROLL_END));
        assert_eq!((top[0].as_str(), top[9].as_str()), ("0", "… 91 more lines below"));
        assert_eq!((end[0].as_str(), end[9].as_str()), ("… 91 more lines above", "99"));
        assert_eq!(shown(SCROLL_END - 1)[1], "90");
        assert_eq!(shown(7)[1], "8");
        assert_eq!(shown(SCROLL_END / 2 + 1)[0], "0");
    }
}
