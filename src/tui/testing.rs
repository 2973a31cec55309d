//! Helpers of the tests of the screen: a buffer as text and styles.

use std::collections::BTreeMap;
use std::fmt::Write;

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};

/// The text of a buffer, then the styles that it uses: a letter for each, on a map of the same shape. Colours and modifiers
/// are what a snapshot of text alone cannot see.
pub fn dump(buffer: &Buffer) -> String {
    let mut styles: BTreeMap<String, char> = BTreeMap::new();
    let mut letters = "abcdefghijklmnopqrstuvwxyz".chars();
    let (mut text, mut map) = (String::new(), String::new());
    for row in buffer.content.chunks(usize::from(buffer.area.width.max(1))) {
        let (mut text_row, mut map_row) = (String::new(), String::new());
        for cell in row {
            text_row.push_str(cell.symbol());
            let style = describe(cell.fg, cell.bg, cell.modifier);
            let letter = if style.is_empty() {
                ' '
            } else {
                *styles.entry(style).or_insert_with(|| letters.next().unwrap_or('?'))
            };
            map_row.push(letter);
        }
        let _ = writeln!(text, "{}", text_row.trim_end());
        let _ = writeln!(map, "{}", map_row.trim_end());
    }
    let mut legend: Vec<_> = styles.into_iter().map(|(style, letter)| format!("{letter} {style}")).collect();
    legend.sort();
    format!("{text}--- styles\n{map}---\n{}\n", legend.join("\n"))
}

fn describe(foreground: Color, background: Color, modifier: Modifier) -> String {
    let mut words: Vec<String> = modifier.iter_names().map(|(name, _)| name.to_lowercase()).collect();
    if foreground != Color::Reset {
        words.push(foreground.to_string());
    }
    if background != Color::Reset {
        words.push(format!("on {background}"));
    }
    words.join(" ")
}

/// The names of all actions.
pub fn actions() -> Vec<&'static str> {
    crate::app::action::ALL.iter().map(|action| action.name).collect()
}
