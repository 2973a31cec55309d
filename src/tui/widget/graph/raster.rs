//! Dots and bars: columns of a series become characters. Braille has 2 x 4 dots a cell; block has eighths of a cell; ASCII
//! tells four heights a cell. Zero always leaves a trace; nothing leaves none.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::Form;
use super::columns::Column;
use crate::tui::glyphs::GlyphSet;

/// The dots of a braille cell: left and right, from the lowest up.
const BRAILLE: [[u8; 4]; 2] = [[0x40, 0x04, 0x02, 0x01], [0x80, 0x20, 0x10, 0x08]];
const BLOCK_BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const BLOCK_LINES: [char; 8] = ['▁', '▁', '▁', '─', '─', '▔', '▔', '▔'];
const BLOCK_PEAK: char = '·';
const ASCII_BARS: [char; 4] = ['_', '.', ':', '#'];
const ASCII_LINES: [char; 4] = ['_', '-', '-', '^'];
const ASCII_PEAK: char = '\'';

/// Columns of dots in a cell.
pub fn columns_per_cell(set: GlyphSet) -> u16 {
    if set == GlyphSet::Braille { 2 } else { 1 }
}

/// The cells of a plot.
pub struct Raster {
    set: GlyphSet,
    width: u16,
    height: u16,
    cells: Vec<Dots>,
}

#[derive(Clone, Copy, Default)]
struct Dots {
    /// Braille: its dots.
    pattern: u8,
    /// The other sets: its character.
    character: Option<char>,
    style: Style,
}

impl Raster {
    /// An empty plot of `width` x `height` cells.
    pub fn new(set: GlyphSet, width: u16, height: u16) -> Self {
        Self { set, width, height, cells: vec![Dots::default(); usize::from(width) * usize::from(height)] }
    }

    /// Columns of dots in a cell.
    pub fn columns_per_cell(&self) -> u16 {
        columns_per_cell(self.set)
    }

    /// Heights that a cell can tell.
    fn levels_per_cell(&self) -> u16 {
        if self.set == GlyphSet::Block { 8 } else { 4 }
    }

    /// The level of a part of the scale, from 0 for the lowest dot.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between zero and the number of levels"
    )]
    fn level(&self, fraction: f64) -> u32 {
        let levels = u32::from(self.height) * u32::from(self.levels_per_cell());
        (fraction.clamp(0.0, 1.0) * f64::from(levels.saturating_sub(1))).round() as u32
    }

    /// The row, from the top, of a part of the scale.
    pub fn row_of(&self, fraction: f64) -> u16 {
        let from_below = self.level(fraction) / u32::from(self.levels_per_cell());
        self.height.saturating_sub(1).saturating_sub(u16::try_from(from_below).unwrap_or(u16::MAX))
    }

    /// True if nothing is drawn in a cell.
    pub fn is_blank(&self, x: u16, row: u16) -> bool {
        self.cells.get(self.index(x, row)).is_none_or(|cell| cell.pattern == 0 && cell.character.is_none())
    }

    fn index(&self, x: u16, row: u16) -> usize {
        usize::from(row) * usize::from(self.width) + usize::from(x)
    }

    /// Draws a series; `fraction` gives the part of the scale of a value.
    pub fn draw(&mut self, columns: &[Option<Column>], form: Form, style: Style, fraction: impl Fn(f64) -> f64) {
        let mut before: Option<u32> = None;
        for (number, column) in (0u32..).zip(columns) {
            let Some(column) = column else {
                before = None;
                continue;
            };
            let highest = self.level(fraction(column.highest));
            let mean = self.level(fraction(column.mean));
            match (self.set, form) {
                (GlyphSet::Braille, Form::Area) => self.dots(number, 0, highest, style),
                (GlyphSet::Braille, Form::Line) => {
                    let (low, high) = before.map_or((mean, mean), |before| towards(before, mean));
                    self.dots(number, low, high, style);
                    if highest > high + 1 {
                        self.dots(number, highest, highest, style);
                    }
                }
                (_, Form::Area) => self.bar(number, highest, style),
                (_, Form::Line) => self.dash(number, mean, highest, style),
            }
            before = Some(mean);
        }
    }

    /// Sets the dots of a column of dots from one level to another.
    fn dots(&mut self, column: u32, low: u32, high: u32, style: Style) {
        let side = BRAILLE[usize::from(column % 2 == 1)];
        for level in low..=high {
            if let Some(cell) = self.cell(column / 2, level) {
                cell.pattern |= side[usize::try_from(level % 4).unwrap_or(0)];
                cell.style = style;
            }
        }
    }

    fn bar(&mut self, column: u32, level: u32, style: Style) {
        let bars: &[char] = if self.set == GlyphSet::Block { &BLOCK_BARS } else { &ASCII_BARS };
        let per_cell = u32::from(self.levels_per_cell());
        for below in 0..level / per_cell {
            self.put(column, below * per_cell, bars[bars.len() - 1], style);
        }
        self.put(column, level, bars[usize::try_from(level % per_cell).unwrap_or(0)], style);
    }

    fn dash(&mut self, column: u32, mean: u32, highest: u32, style: Style) {
        let (lines, peak): (&[char], char) =
            if self.set == GlyphSet::Block { (&BLOCK_LINES, BLOCK_PEAK) } else { (&ASCII_LINES, ASCII_PEAK) };
        let per_cell = u32::from(self.levels_per_cell());
        if highest / per_cell > mean / per_cell {
            self.put(column, highest, peak, style);
        }
        self.put(column, mean, lines[usize::try_from(mean % per_cell).unwrap_or(0)], style);
    }

    /// Puts a character over what is there; a whole block under it stays as the background.
    fn put(&mut self, column: u32, level: u32, character: char, style: Style) {
        if let Some(cell) = self.cell(column, level) {
            let background = if cell.character == Some('█') && character != '█' { cell.style.fg } else { None };
            cell.character = Some(character);
            cell.style = background.map_or(style, |colour| style.bg(colour));
        }
    }

    fn cell(&mut self, x: u32, level: u32) -> Option<&mut Dots> {
        let x = u16::try_from(x).ok().filter(|x| *x < self.width)?;
        let row = self.height.checked_sub(1 + u16::try_from(level / u32::from(self.levels_per_cell())).ok()?)?;
        let index = self.index(x, row);
        self.cells.get_mut(index)
    }

    /// Writes all that is drawn; blank cells are left as they are.
    pub fn render(&self, plot: Rect, buffer: &mut Buffer) {
        for (y, row) in (plot.y..).zip(self.cells.chunks(usize::from(self.width.max(1)))) {
            for (x, dots) in (plot.x..).zip(row) {
                let braille = (dots.pattern != 0).then(|| char::from_u32(0x2800 + u32::from(dots.pattern))).flatten();
                if let (Some(character), Some(cell)) = (dots.character.or(braille), buffer.cell_mut((x, y))) {
                    cell.set_char(character).set_style(dots.style);
                }
            }
        }
    }
}

/// The levels of a column that connect it with the one before: from beside the old level to the new one.
fn towards(before: u32, now: u32) -> (u32, u32) {
    match before.cmp(&now) {
        std::cmp::Ordering::Less => (before + 1, now),
        std::cmp::Ordering::Equal => (now, now),
        std::cmp::Ordering::Greater => (now, before - 1),
    }
}
