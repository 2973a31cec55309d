//! What *Wizard* draws besides rows: the mark beside the word for a state, so that one look tells how the steps stand.

#[cfg(test)]
mod tests;

use ratatui::text::{Line, Span};

use super::super::paint::{Paint, width};
use crate::app::condition::Gravity;
use crate::app::table::Row;
use crate::app::wizard;

/// Puts the mark of a state into the margin of its row, and draws its word by how it stands.
pub fn mark(row: &Row, lines: &mut [Line<'_>], paint: Paint<'_>, chosen: bool) {
    let (Some(gravity), Some(first)) = (wizard::mark(&row.label), lines.first_mut()) else { return };
    let glyphs = paint.glyphs;
    let glyph = match gravity {
        Gravity::Good => glyphs.ok,
        Gravity::Bad => glyphs.error,
        Gravity::Warning | Gravity::Unknown => glyphs.unknown,
        Gravity::Stale => glyphs.ellipsis,
        Gravity::Neutral => " ",
    };
    let style = paint.gravity(gravity);
    if let [margin, label, ..] = &mut first.spans[..] {
        let gap = " ".repeat(2_usize.saturating_sub(width(glyph)));
        *margin = Span::styled(format!("{glyph}{gap}"), style);
        if !chosen {
            label.style = style;
        }
    }
}
