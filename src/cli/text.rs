//! Text for people: rows of a label and a value, aligned, wrapped at 80 columns.

use unicode_width::UnicodeWidthStr as _;

/// The width that text is made for.
const COLUMNS: usize = 80;
/// Labels longer than this do not push all values to the right.
const WIDEST_LABEL: usize = 26;

/// A label and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    label: String,
    value: String,
}

impl Row {
    pub(super) fn new(label: &str, value: &str) -> Self {
        Self { label: label.to_owned(), value: value.to_owned() }
    }
}

/// Rows below one another, values aligned and wrapped.
pub(super) fn rows(rows: &[Row], indent: usize) -> String {
    let widths = rows.iter().map(|row| row.label.width());
    let label_width = widths.filter(|width| *width <= WIDEST_LABEL).max().unwrap_or(0);
    let value_at = indent + label_width + 2;
    let mut text = String::new();
    for row in rows {
        let mut line = format!("{}{}", " ".repeat(indent), row.label);
        let pieces = wrap(&row.value, COLUMNS - value_at);
        for (number, piece) in pieces.iter().enumerate() {
            let width = line.width();
            if number > 0 || width + 2 > value_at {
                // A wide label has its line to itself; further lines of a value stand below the first.
                push_line(&mut text, &line);
                line = " ".repeat(value_at);
            } else {
                line.push_str(&" ".repeat(value_at - width));
            }
            line.push_str(piece);
        }
        push_line(&mut text, &line);
    }
    text
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line.trim_end());
    text.push('\n');
}

/// A text in lines of at most `width` columns, parted at blanks where there are some.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let mut word = word.to_owned();
        if !line.is_empty() && line.width() + 1 + word.width() > width {
            lines.push(std::mem::take(&mut line));
        } else if !line.is_empty() {
            line.push(' ');
        }
        while word.width() + line.width() > width {
            let fitting = fitting(&word, width.saturating_sub(line.width()));
            let rest = word.split_off(fitting);
            line.push_str(&word);
            lines.push(std::mem::take(&mut line));
            word = rest;
        }
        line.push_str(&word);
    }
    lines.push(line);
    lines
}

/// How many bytes of `word` fit into `width` columns, at least one character.
fn fitting(word: &str, width: usize) -> usize {
    let mut fitting = word.chars().next().map_or(0, char::len_utf8);
    for (at, character) in word.char_indices() {
        let end = at + character.len_utf8();
        if word[..end].width() > width {
            break;
        }
        fitting = end.max(fitting);
    }
    fitting
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_aligned_and_wrapped() {
        let given = [
            Row::new("a", "short"),
            Row::new("label", &"word ".repeat(20)),
            Row::new(&"x".repeat(40), "after a wide label"),
            Row::new("long", &"y".repeat(100)),
            Row::new("none", ""),
        ];
        let text = rows(&given, 2);
        assert!(text.lines().all(|line| line.width() <= COLUMNS), "{text}");
        assert!(text.starts_with("  a      short\n  label  word word"), "{text}");
        assert!(text.contains(&format!("  {}\n         after a wide label\n", "x".repeat(40))), "{text}");
        assert_eq!(text.matches("word").count(), 20);
        assert_eq!(text.matches('y').count(), 100);
        assert!(text.ends_with("\n  none\n"), "{text}");
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(10_000))]
        #[test]
        fn wrapping_keeps_the_text_and_the_width(text in "[a-z宽ä ]{0,80}", width in 2_usize..30) {
            let lines = wrap(&text, width);
            proptest::prop_assert!(lines.iter().all(|line| line.trim_end().width() <= width), "{:?}", lines);
            let letters = |text: &str| text.chars().filter(|character| *character != ' ').collect::<String>();
            proptest::prop_assert_eq!(letters(&lines.concat()), letters(&text));
        }
    }
}
