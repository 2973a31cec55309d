//! A graph over time: areas and lines in braille, block or ASCII characters, a scale with round numbers, the physical
//! ceiling with its name, marks and a cursor on a shared time axis.
//!
//! What it promises: a gap is blank and never a zero, while a zero is drawn. Where several points share a column, an area
//! shows the highest (a burst is never averaged away) and a line the mean, with the highest as a dot of its own above it.
//! Columns stand on fixed moments, so that a graph scrolls by whole columns and keeps its shape; the last column is the one
//! that time is in. The ceiling never flattens
//! the curve: when it is far above, its name stands in the first row behind an arrow.

mod columns;
mod raster;
mod scale;
mod time_axis;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget;
use unicode_width::UnicodeWidthStr;

use self::columns::{Axis, columns};
use self::raster::Raster;
use self::scale::Scale;
pub use self::time_axis::TimeAxis;
use crate::tui::glyphs::Glyphs;
use crate::tui::theme::Theme;

/// The narrowest plot beside which names and labels are still shown, in cells.
const NARROWEST: u16 = 16;

/// How a series is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Filled from zero up.
    Area,
    /// A line.
    #[default]
    Line,
}

/// A series of a graph.
#[derive(Clone, Copy, Debug)]
pub struct GraphSeries<'a> {
    /// Seconds before the right edge, and the value or a gap; the oldest first. A value that is not finite is a gap, one
    /// below zero is drawn as zero.
    pub points: &'a [(f64, Option<f64>)],
    /// How its line or area looks.
    pub style: Style,
    /// What stands beside the graph in the same style: `tx 84.1 Gb/s`.
    pub label: &'a str,
    /// Area or line.
    pub form: Form,
}

/// The highest value that is physically possible.
#[derive(Clone, Copy, Debug)]
pub struct Ceiling<'a> {
    /// The value, in the unit of the series.
    pub value: f64,
    /// Its name: `100 Gb/s at mtu 1024`.
    pub name: &'a str,
}

/// The graph. Start from [`Graph::new`] and set what is needed.
#[derive(Clone, Copy)]
pub struct Graph<'a> {
    /// Areas are drawn first, then lines, each in this order.
    pub series: &'a [GraphSeries<'a>],
    /// How much time is shown, in seconds.
    pub window_seconds: f64,
    /// When the right edge is, in seconds since any moment that stays the same from frame to frame.
    pub right_edge_seconds: f64,
    /// Two points further apart than this are not connected; in seconds.
    pub gap_seconds: f64,
    /// The physical ceiling, if it is known.
    pub ceiling: Option<Ceiling<'a>>,
    /// The cursor, in seconds before the right edge.
    pub cursor_seconds_ago: Option<f64>,
    /// Marks, in the order of their moments: seconds before the right edge, and a letter or two.
    pub marks: &'a [(f64, &'a str)],
    /// True if the newest column does not stand at the right but goes round as an oscilloscope's does, with a blank one
    /// before it: then one column changes for each sample, and not all of them.
    pub sweeps: bool,
    /// True if the values are numbers of things, of which there is no half.
    pub whole_numbers: bool,
    /// What stands before the number of the first row, where it fits: a unit.
    pub y_label: &'a str,
    /// How numbers of the scale are written.
    pub format: &'a dyn Fn(f64) -> String,
    /// Cells for the numbers of the scale. Graphs that stand above each other need the same.
    pub gutter: u16,
    /// Cells for the labels of the series. Graphs that stand above each other need the same.
    pub legend: u16,
    /// Colours and modifiers.
    pub theme: &'a Theme,
    /// Characters.
    pub glyphs: &'a Glyphs,
}

impl<'a> Graph<'a> {
    /// A graph of two minutes with samples a second apart, and nothing in it yet.
    pub fn new(format: &'a dyn Fn(f64) -> String, theme: &'a Theme, glyphs: &'a Glyphs) -> Self {
        Self {
            series: &[],
            window_seconds: 120.0,
            right_edge_seconds: 0.0,
            gap_seconds: 3.0,
            ceiling: None,
            cursor_seconds_ago: None,
            marks: &[],
            sweeps: false,
            whole_numbers: false,
            y_label: "",
            format,
            gutter: 10,
            legend: 0,
            theme,
            glyphs,
        }
    }

    /// The cells of the plot itself within the area of the graph. Where the area is narrow, the labels of the series go
    /// first, then the scale.
    pub fn plot_area(&self, area: Rect) -> Rect {
        let (left, right) = self.margins(area.width);
        Rect { x: area.x + left, width: area.width - left - right, ..area }
    }

    fn margins(&self, width: u16) -> (u16, u16) {
        let axis = self.gutter.saturating_add(1);
        let both = axis.saturating_add(self.legend);
        if width >= both.saturating_add(NARROWEST) {
            (axis, self.legend)
        } else if width >= axis.saturating_add(NARROWEST) {
            (axis, 0)
        } else {
            (0, 0)
        }
    }

    fn draw_scale(&self, scale: &Scale, raster: &Raster, area: Rect, plot: Rect, buffer: &mut Buffer) {
        let Some(axis) = plot.x.checked_sub(1).filter(|x| *x >= area.x) else { return };
        for y in plot.top()..plot.bottom() {
            buffer.set_string(axis, y, self.glyphs.vertical, self.theme.border);
        }
        let mut taken = vec![false; usize::from(plot.height)];
        for (number, tick) in scale.ticks.iter().enumerate() {
            let row = raster.row_of(scale.fraction(*tick));
            if std::mem::replace(&mut taken[usize::from(row)], true) {
                continue;
            }
            let mut text = (self.format)(*tick);
            if number == 0 && !self.y_label.is_empty() && text.width() + self.y_label.width() < usize::from(self.gutter)
            {
                text = format!("{} {text}", self.y_label);
            }
            let width = u16::try_from(text.width()).unwrap_or(u16::MAX).min(self.gutter);
            buffer.set_stringn(axis - width, plot.y + row, &text, usize::from(width), self.theme.dim);
        }
    }

    /// Draws the ceiling; gives the cells of its name, which nothing may cover: half of it would be another number.
    fn draw_ceiling(&self, scale: &Scale, raster: &Raster, plot: Rect, buffer: &mut Buffer) -> Option<Rect> {
        let ceiling = self.ceiling.filter(|ceiling| ceiling.value.is_finite() && ceiling.value > 0.0)?;
        let (row, text) = if ceiling.value > scale.top {
            (0, format!(" {} {} ", self.glyphs.above, ceiling.name))
        } else {
            let row = raster.row_of(scale.fraction(ceiling.value));
            for x in plot.left()..plot.right() {
                set_blank(buffer, x, plot.y + row, self.glyphs.ceiling, self.theme.ceiling);
            }
            (row, format!(" {} ", ceiling.name))
        };
        let width = u16::try_from(text.width()).unwrap_or(u16::MAX);
        if width >= plot.width {
            return None;
        }
        // The name stands where it hides least of the curve: at the right if that is as good as any.
        let last = plot.width - width;
        let hidden = |from: u16| (from..from + width).filter(|x| !raster.is_blank(*x, row)).count();
        let places = [last.saturating_sub(2), last / 2, 2.min(last)];
        let from = places.into_iter().min_by_key(|from| hidden(*from))?;
        if plot.height < 3 && hidden(from) > 0 {
            return None; // a low graph has no room for a name on its curve
        }
        for x in plot.x + from..plot.x + from + width {
            if let Some(cell) = buffer.cell_mut((x, plot.y + row)) {
                cell.reset();
                cell.set_style(self.theme.text); // the ground of the theme
            }
        }
        buffer.set_string(plot.x + from, plot.y + row, text, self.theme.ceiling);
        Some(Rect { x: plot.x + from, y: plot.y + row, width, height: 1 })
    }

    /// A line down the column of each mark, and its letter at the top. Letters of the same column stand below each other;
    /// where there are more than rows, the last row says so.
    fn draw_marks(&self, axis: Axis, plot: Rect, name: Option<Rect>, buffer: &mut Buffer) {
        let mut placed: Vec<(u16, &str)> =
            self.marks.iter().filter_map(|(ago, letter)| Some((axis.cell(*ago)?, *letter))).collect();
        placed.sort_by_key(|(x, _)| *x);
        for column in placed.chunk_by(|(left, _), (right, _)| left == right) {
            let Some((x, _)) = column.first() else { continue };
            for y in plot.top()..plot.bottom() {
                set_blank(buffer, plot.x + x, y, self.glyphs.mark, self.theme.mark);
            }
            let free: Vec<u16> = (plot.top()..plot.bottom())
                .filter(|y| {
                    name.is_none_or(|name| name.y != *y || plot.x + x < name.left() || plot.x + x >= name.right())
                })
                .collect();
            let rows = free.len();
            for ((row, y), (_, letter)) in free.into_iter().enumerate().zip(column) {
                let hidden = row + 1 == rows && column.len() > rows && rows > 1;
                let letter = if hidden { "+" } else { letter };
                let width = u16::try_from(letter.width()).unwrap_or(u16::MAX);
                if width == 0 || width > plot.width {
                    continue;
                }
                // A letter that would leave the plot ends at its edge.
                let from = plot.x + (*x).min(plot.width - width);
                for cell in from..from + width {
                    if let Some(cell) = buffer.cell_mut((cell, y)) {
                        cell.reset();
                        cell.set_style(self.theme.text);
                    }
                }
                buffer.set_stringn(from, y, letter, usize::from(width), self.theme.mark);
            }
        }
    }

    fn draw_cursor(&self, axis: Axis, plot: Rect, buffer: &mut Buffer) {
        let Some(x) = self.cursor_seconds_ago.and_then(|ago| axis.cell(ago)).map(|x| plot.x + x) else { return };
        for y in plot.top()..plot.bottom() {
            let was_blank = set_blank(buffer, x, y, self.glyphs.vertical, self.theme.text);
            if let Some(cell) = buffer.cell_mut((x, y)).filter(|_| !was_blank) {
                cell.set_style(self.theme.cursor);
            }
        }
    }

    fn draw_legend(&self, area: Rect, plot: Rect, buffer: &mut Buffer) {
        let width = area.right() - plot.right();
        if width < 2 {
            return;
        }
        for (series, y) in self.series.iter().zip(area.top()..area.bottom()) {
            buffer.set_stringn(plot.right() + 1, y, series.label, usize::from(width - 1), series.style);
        }
    }

    fn draw_emptiness(&self, plot: Rect, buffer: &mut Buffer) {
        let text = "no samples in this window";
        if usize::from(plot.width) > text.width() {
            buffer.set_string(plot.x + 1, plot.y + plot.height / 2, text, self.theme.dim);
        }
    }
}

impl Widget for Graph<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        let plot = self.plot_area(area);
        if plot.is_empty() {
            return;
        }
        let mut raster = Raster::new(self.glyphs.set, plot.width, plot.height);
        let Some(axis) = Axis::new(self.right_edge_seconds, self.window_seconds, plot.width, raster.columns_per_cell())
        else {
            return;
        };
        let axis = if self.sweeps { axis.sweeping() } else { axis };
        let drawn: Vec<_> = self.series.iter().map(|series| columns(series.points, axis, self.gap_seconds)).collect();
        let highest = drawn
            .iter()
            .flatten()
            .flatten()
            .map(|column| column.highest)
            .fold(None, |most: Option<f64>, value| Some(most.map_or(value, |most| most.max(value))));
        let mut scale = Scale::new(highest.unwrap_or(0.0), self.ceiling.map(|ceiling| ceiling.value), plot.height);
        if self.whole_numbers {
            scale.ticks.retain(|tick| tick.fract() == 0.0);
        }
        for form in [Form::Area, Form::Line] {
            for (series, columns) in self.series.iter().zip(&drawn).filter(|(series, _)| series.form == form) {
                raster.draw(columns, form, series.style, |value| scale.fraction(value));
            }
        }
        raster.render(plot, buffer);
        let name = if highest.is_some() {
            self.draw_scale(&scale, &raster, area, plot, buffer);
            self.draw_ceiling(&scale, &raster, plot, buffer)
        } else {
            self.draw_emptiness(plot, buffer);
            None
        };
        self.draw_marks(axis, plot, name, buffer);
        self.draw_cursor(axis, plot, buffer);
        self.draw_legend(area, plot, buffer);
    }
}

/// Writes into a cell that shows nothing; false if it shows something.
fn set_blank(buffer: &mut Buffer, x: u16, y: u16, symbol: &str, style: Style) -> bool {
    match buffer.cell_mut((x, y)) {
        Some(cell) if cell.symbol() == " " => {
            cell.set_symbol(symbol).set_style(style);
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
