//! The time axis that graphs above each other share: ticks at round moments, and their times of day below each.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget;
use unicode_width::UnicodeWidthStr;

use super::columns::Axis;
use super::raster::columns_per_cell;
use crate::tui::glyphs::Glyphs;

/// Steps between two labelled ticks, in seconds.
const STEPS: [u32; 8] = [5, 10, 15, 30, 60, 120, 300, 600];

/// The axis. It stands in the columns of a plot, so its area is that of the plots in width.
#[derive(Clone, Copy)]
pub struct TimeAxis<'a> {
    /// How much time is shown, in seconds.
    pub window_seconds: f64,
    /// When the right edge is, in seconds since 1970.
    pub right_edge_seconds: f64,
    /// The text of a moment, in seconds since 1970.
    pub label: &'a dyn Fn(f64) -> String,
    /// Characters, those of the graphs.
    pub glyphs: &'a Glyphs,
    /// How it looks.
    pub style: Style,
    /// True if the graphs above it sweep.
    pub sweeps: bool,
}

impl Widget for TimeAxis<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        let per_cell = columns_per_cell(self.glyphs.set);
        let Some(axis) = Axis::new(self.right_edge_seconds, self.window_seconds, area.width, per_cell) else { return };
        let axis = if self.sweeps { axis.sweeping() } else { axis };
        let label_width = u16::try_from((self.label)(self.right_edge_seconds).width()).unwrap_or(u16::MAX);
        // As much air as text: more times of day would be read as less.
        let needed = f64::from(label_width.saturating_mul(2).max(3));
        let per_second = f64::from(area.width) / self.window_seconds;
        let Some(step) = STEPS.into_iter().map(f64::from).find(|step| step * per_second >= needed) else { return };
        let mut moment = (self.right_edge_seconds / step).floor() * step;
        while moment >= self.right_edge_seconds - self.window_seconds {
            if let Some(x) = axis.cell(self.right_edge_seconds - moment)
                && x + 1 + label_width <= area.width
                // Of two that meet, the newer one stays.
                && (x..=x + label_width).all(|x| buffer[(area.x + x, area.y)].symbol() == " ")
            {
                buffer.set_string(area.x + x, area.y, self.glyphs.mark, self.style);
                buffer.set_string(area.x + x + 1, area.y, (self.label)(moment), self.style);
            }
            moment -= step;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(width: u16, window: f64, edge: f64) -> String {
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, 1));
        let label = |moment: f64| format!("{moment:04}");
        let axis = TimeAxis {
            window_seconds: window,
            right_edge_seconds: edge,
            label: &label,
            glyphs: &Glyphs { mark: "|", ..Glyphs::default() },
            style: Style::new(),
            sweeps: false,
        };
        axis.render(buffer.area, &mut buffer);
        buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect()
    }

    #[test]
    fn ticks_stand_at_round_moments_and_move_with_time() {
        let (early, late) = (drawn(60, 60.0, 1020.0), drawn(60, 60.0, 1023.0));
        assert!(early.contains("|0970") && early.contains("|1010"), "{early}");
        assert_eq!(early.find("|1000").map(|x| x - 3), late.find("|1000"), "three seconds are three cells");
        assert!(!early.contains("|1020"), "no room for its label at the edge: {early}");
    }

    #[test]
    fn labels_never_touch_and_a_narrow_plot_has_none() {
        for width in 0..120 {
            for window in [30.0, 60.0, 120.0, 300.0, 600.0] {
                let axis = drawn(width, window, 5000.0);
                assert!(!axis.trim().split(' ').any(|word| word.len() > 5), "{axis}");
            }
        }
        assert_eq!(drawn(5, 600.0, 5000.0).trim(), "");
    }
}
