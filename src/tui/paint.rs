//! What everything is drawn with, and how texts are cut, wrapped and scrolled by cells.

use jiff::tz::TimeZone;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use super::glyphs::Glyphs;
use super::keymap::Keymap;
use super::pointer::{Hit, HitMap};
use super::secret::Typed;
use super::theme::Theme;
use crate::app::condition::Gravity;
use crate::fabric::text::clean_line;

/// What everything is drawn with.
#[derive(Clone, Copy)]
pub struct Paint<'a> {
    /// Styles by role.
    pub theme: &'a Theme,
    /// Characters by role.
    pub glyphs: &'a Glyphs,
    /// Keys by action.
    pub keymap: &'a Keymap,
    /// Zone of the clock.
    pub zone: &'a TimeZone,
    /// Learns where things stand, for the mouse.
    pub hits: Option<&'a HitMap>,
    /// What may be seen of the secret that is being typed.
    pub typed: Typed<'a>,
}

impl Paint<'_> {
    /// Tells where something stands.
    pub fn hit(&self, place: Rect, hit: Hit) {
        if let Some(hits) = self.hits {
            hits.add(place, hit);
        }
    }

    /// The style of a gravity.
    pub fn gravity(&self, gravity: Gravity) -> Style {
        match gravity {
            Gravity::Good => self.theme.ok,
            Gravity::Neutral => self.theme.text,
            Gravity::Unknown => self.theme.unknown,
            Gravity::Stale => self.theme.stale,
            Gravity::Warning => self.theme.warning,
            Gravity::Bad => self.theme.error,
        }
    }
}

/// How many cells a text takes.
pub fn width(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(text)
}

/// A text cut to a width, with a mark where it was cut.
pub fn fit(text: &str, room: usize, glyphs: &Glyphs) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut cut = String::new();
    let mut used = 0;
    for character in text.chars() {
        let cells = unicode_width::UnicodeWidthChar::width(character).unwrap_or(0);
        if used + cells + 1 > room {
            break;
        }
        used += cells;
        cut.push(character);
    }
    if room > 0 {
        cut.push_str(glyphs.ellipsis);
    }
    cut
}

/// A text without its first columns, for lines that are longer than their room.
pub fn skip_columns(text: &str, columns: usize) -> String {
    let mut skipped = 0;
    let rest = text.chars().skip_while(|character| {
        let skip = skipped < columns;
        skipped += unicode_width::UnicodeWidthChar::width(*character).unwrap_or(0);
        skip
    });
    clean_line(&rest.collect::<String>())
}

/// Wraps a text at blanks to a width; words longer than a line are cut into pieces. At least one line.
pub fn wrap(text: &str, room: usize) -> Vec<String> {
    let room = room.max(1);
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let mut word = word.to_owned();
        loop {
            let line = lines.last_mut().expect("there is always a line");
            let gap = usize::from(!line.is_empty());
            if width(line) + gap + width(&word) <= room {
                if gap == 1 {
                    line.push(' ');
                }
                line.push_str(&word);
                break;
            }
            if !line.is_empty() {
                lines.push(String::new());
                continue;
            }
            let mut used = 0;
            let split = word
                .char_indices()
                .find(|(index, character)| {
                    used += unicode_width::UnicodeWidthChar::width(*character).unwrap_or(0);
                    used > room && *index > 0
                })
                .map_or(word.len(), |(index, _)| index);
            let rest = word.split_off(split);
            line.push_str(&word);
            if rest.is_empty() {
                break;
            }
            word = rest;
            lines.push(String::new());
        }
    }
    lines
}

/// The first row to show so that `selected` of `count` rows stands in the middle where it can.
pub fn offset(selected: usize, count: usize, height: usize) -> usize {
    selected.saturating_sub(height / 2).min(count.saturating_sub(height))
}

/// The part of some lines that has room, around the line at `position`; what is cut off above and below is told in the
/// place of a line, but never in that of the position. Also the number of the first line that has a place.
pub fn part<'a>(
    lines: Vec<Line<'a>>,
    position: usize,
    height: usize,
    what: &str,
    paint: Paint<'_>,
) -> (usize, Vec<Line<'a>>) {
    let count = lines.len();
    let first = offset(position, count, height.max(1));
    let mut shown: Vec<Line<'a>> = lines.into_iter().skip(first).take(height).collect();
    tell_cut(&mut shown, first, count, position, what, paint);
    (first, shown)
}

/// The same for lines of which only those with a place were made: `first` is the number of the first one, of `count`.
pub fn tell_cut(shown: &mut [Line<'_>], first: usize, count: usize, position: usize, what: &str, paint: Paint<'_>) {
    let told = |hidden: usize, side: &str| {
        let what = if what.is_empty() { String::new() } else { format!("{what} ") };
        Line::styled(format!(" {} {hidden} more {what}{side}", paint.glyphs.ellipsis), paint.theme.dim)
    };
    let below = count.saturating_sub(first + shown.len());
    let last = shown.len().saturating_sub(1);
    if below > 0 && first + last != position {
        shown[last] = told(below + 1, "below");
    }
    if first > 0 && first != position && !shown.is_empty() {
        shown[0] = told(first + 1, "above");
    }
}

#[cfg(test)]
mod tests {
    use super::super::theme::Theme;
    use super::*;

    #[test]
    fn texts_are_cut_and_wrapped_by_cells() {
        let glyphs = Glyphs::default();
        assert_eq!(fit("abcdef", 6, &glyphs), "abcdef");
        assert_eq!(fit("abcdef", 4, &glyphs), "abc…");
        assert_eq!(fit("日本語", 4, &glyphs), "日…");
        assert_eq!(fit("abc", 0, &glyphs), "");
        assert_eq!(wrap("one two three", 7), vec!["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), vec!["abc", "def", "gh"]);
        assert_eq!(wrap("a abcdef", 3), vec!["a", "abc", "def"]);
        assert_eq!(wrap("", 3), vec![""]);
        assert_eq!(wrap("日本", 1), vec!["日", "本"]);
    }

    #[test]
    fn the_selected_row_is_always_shown() {
        for count in 0..40 {
            for height in 1..20 {
                for selected in 0..count {
                    let first = offset(selected, count, height);
                    assert!(first <= selected && selected < first + height, "{selected} of {count} in {height}");
                }
            }
        }
    }

    #[test]
    fn a_list_that_is_cut_says_so_at_both_ends_and_never_in_the_place_of_what_is_selected() {
        let (theme, glyphs, keymap) = (Theme::embedded(), Glyphs::default(), Keymap::default());
        let zone = TimeZone::UTC;
        let typed = Typed::default();
        let paint = Paint { theme: &theme, glyphs: &glyphs, keymap: &keymap, zone: &zone, hits: None, typed };
        let lines = |count: usize| (0..count).map(|number| Line::raw(number.to_string())).collect::<Vec<_>>();
        let texts = |count, position, height| {
            let (_, shown) = part(lines(count), position, height, "lines", paint);
            shown.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(texts(3, 0, 3), ["0", "1", "2"]);
        assert_eq!(texts(9, 0, 4), ["0", "1", "2", " … 6 more lines below"]);
        assert_eq!(texts(9, 8, 4), [" … 6 more lines above", "6", "7", "8"]);
        assert_eq!(texts(9, 4, 5), [" … 3 more lines above", "3", "4", "5", " … 3 more lines below"]);
        assert_eq!(texts(0, 0, 5), [""; 0]);
        for count in 1..12 {
            for height in 1..8 {
                for position in 0..count {
                    let shown = texts(count, position, height);
                    assert!(shown.contains(&position.to_string()), "{position} of {count} in {height}: {shown:?}");
                    assert_eq!(shown.len(), count.min(height));
                }
            }
        }
    }
}
