//! Words in front of the user: those of a server, in one line, cut, cleaned and never taken for words of our own; and
//! paths as people write them.

use std::path::Path;

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

/// A path as people write it: `~` for the home directory.
pub fn short_path(path: &Path) -> String {
    if let Some(home) = std::env::var_os("HOME").filter(|home| !home.is_empty())
        && let Ok(rest) = path.strip_prefix(&home)
    {
        return format!("~/{}", rest.display());
    }
    path.display().to_string()
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

    #[test]
    fn the_home_directory_is_a_tilde() {
        let home = std::path::PathBuf::from(std::env::var_os("HOME").expect("a home directory"));
        assert_eq!(short_path(&home.join(".ssh/known_hosts")), "~/.ssh/known_hosts");
        assert_eq!(short_path(Path::new("/no-home/of/anybody")), "/no-home/of/anybody");
    }
}
