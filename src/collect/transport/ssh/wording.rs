//! Words of a server in front of the user: one line, cut, cleaned, and never taken for words of our own.

use crate::fabric::Text;

/// `raw` as one line of at most `longest` characters.
pub fn one_line(raw: &str, longest: usize) -> Text {
    let words = raw.split(|character: char| character.is_whitespace() || character == '\0');
    let mut line = String::new();
    for word in words.filter(|word| !word.is_empty()) {
        if line.len() > 8 * longest {
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().take(2 * longest));
    }
    let line = Text::new(&line);
    match line.char_indices().nth(longest) {
        Some((end, _)) => Text::new(&format!("{}…", &line[..end])),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_server_says_is_one_short_clean_line() {
        assert_eq!(one_line("(root@esxi01) Password: ", 40), "(root@esxi01) Password:");
        assert_eq!(one_line("a\r\n\tb\n\nc", 40), "a b c");
        assert_eq!(one_line("\u{1b}[2J\u{1b}]0;title\u{7}x\u{202e}y", 40), "xy");
        assert_eq!(one_line(&"x".repeat(100_000), 5), "xxxxx…");
        assert_eq!(one_line(&"ä ".repeat(100_000), 5), "ä ä ä…");
        assert_eq!(one_line(" \n", 5), "");
    }
}
