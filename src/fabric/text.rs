//! Text that came from a target. Whatever a machine sends may be hostile or broken: escape sequences in a device name
//! would move the cursor of the person who looks at it. [`Text`] can only be made by a constructor that cleans.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The longest single value kept, in characters. Names and values are short; what is longer is cut and marked.
pub const LONGEST_VALUE: usize = 512;

/// A short text, free of control characters and of everything that changes how other text is drawn.
#[derive(Clone, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Text(Arc<str>);

impl Text {
    /// Cleans `raw`: control characters and escape sequences go, blanks at both ends go, and what is longer than
    /// [`LONGEST_VALUE`] characters is cut with `…`.
    pub fn new(raw: &str) -> Self {
        if is_plain(raw) && raw.len() <= LONGEST_VALUE {
            return Self(Arc::from(raw.trim()));
        }
        let cleaned = clean_line(raw);
        let trimmed = cleaned.trim();
        match trimmed.char_indices().nth(LONGEST_VALUE) {
            Some((end, _)) => Self(Arc::from(format!("{}…", &trimmed[..end]))),
            None => Self(Arc::from(trimmed)),
        }
    }

    /// The cleaned text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

// A name that was passed on and not made anew is the same without a look at its characters: look-ups compare the names of
// targets and devices all the time.
impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || *self.0 == *other.0
    }
}

impl std::hash::Hash for Text {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        if Arc::ptr_eq(&self.0, &other.0) { std::cmp::Ordering::Equal } else { self.0.cmp(&other.0) }
    }
}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl std::ops::Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for Text {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, formatter)
    }
}

impl From<&str> for Text {
    fn from(raw: &str) -> Self {
        Self::new(raw)
    }
}

impl From<String> for Text {
    fn from(raw: String) -> Self {
        Self::new(&raw)
    }
}

impl From<Text> for String {
    fn from(text: Text) -> Self {
        text.0.as_ref().to_owned()
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

/// True for text that needs no cleaning: printable ASCII without controls.
fn is_plain(raw: &str) -> bool {
    raw.bytes().all(|byte| (0x20..0x7f).contains(&byte))
}

/// One line made safe to draw: escape sequences (CSI, OSC and other strings, two-byte ones) are removed whole, tabs
/// become blanks, and control, bidirectional and zero-width characters go.
pub fn clean_line(raw: &str) -> String {
    let mut cleaned = String::with_capacity(raw.len());
    let mut characters = raw.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => skip_escape(&mut characters),
            '\u{9b}' => skip_control_sequence(&mut characters),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut characters),
            '\t' => cleaned.push(' '),
            _ if character.is_control() || is_invisible(character) => {}
            _ => cleaned.push(character),
        }
    }
    cleaned
}

/// So many bytes tell whether all are text.
const TELLING: usize = 8192;

/// True for bytes that are no text. NUL alone does not make it so: a file that was written to while its system crashed
/// has holes of them; but they stand in holes, and in text they are few.
pub fn is_binary(bytes: &[u8]) -> bool {
    let (mut seen, mut odd, mut holes, mut before) = (0_usize, 0_usize, 0_usize, 1);
    for &byte in bytes {
        if byte == 0 {
            holes += usize::from(before != 0);
        } else {
            seen += 1;
            // Tab, the ends of lines and pages, and what terminals are sent: bell, backspace, escape.
            odd += usize::from(matches!(byte, 1..=6 | 14..=26 | 28..=31 | 127));
        }
        before = byte;
        if seen == TELLING {
            break;
        }
    }
    holes > 0 && (seen == 0 || (odd + holes) * 16 > seen + 64 || odd * 8 > seen)
}

/// Characters that draw nothing but change how their neighbours are drawn or ordered.
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

fn skip_escape(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match characters.peek() {
        Some('[') => {
            characters.next();
            skip_control_sequence(characters);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            characters.next();
            skip_string(characters);
        }
        Some(' '..='/') => {
            // An intermediate byte: the sequence ends with the first byte that is none.
            while characters.next_if(|c| (' '..='/').contains(c)).is_some() {}
            characters.next();
        }
        Some('0'..='~') => {
            characters.next();
        }
        _ => {}
    }
}

fn skip_control_sequence(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while characters.next_if(|c| (' '..='?').contains(c)).is_some() {}
    characters.next_if(|c| ('@'..='~').contains(c));
}

/// A device control or operating system string ends with BEL or ST. One that never ends takes the rest of the line.
fn skip_string(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while let Some(character) = characters.next() {
        match character {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                characters.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::*;

    #[test]
    fn plain_text_is_kept_and_trimmed() {
        assert_eq!(Text::new("  rocep27s0f1 \n"), "rocep27s0f1");
        assert_eq!(Text::new("mlx5_0"), "mlx5_0");
    }

    #[test]
    fn escape_sequences_go_whole() {
        for (raw, expected) in [
            ("\x1b[31mred\x1b[0m", "red"),
            ("a\x1b]0;title\x07b", "ab"),
            ("a\x1b]52;c;aGk=\x1b\\b", "ab"),
            ("a\x1bPq#0\x1b\\b", "ab"),
            ("a\x1b(Bb", "ab"),
            ("a\x1b7b", "ab"),
            ("a\u{9b}2Jb", "ab"),
            ("a\u{9d}0;t\u{9c}b", "ab"),
            ("a\x1b", "a"),
            ("a\x1b[", "a"),
            ("a\x1b[12", "a"),
            ("a\x1b]never ends", "a"),
            ("a\x08b\x7fc\x00d", "abcd"),
            ("a\u{202e}b\u{200b}c", "abc"),
            ("tab\there", "tab here"),
        ] {
            assert_eq!(Text::new(raw), expected, "{raw:?}");
        }
    }

    #[test]
    fn a_hole_does_not_make_text_binary() {
        let hole = "\0".repeat(100_000);
        for text in
            ["a\0b\n".to_owned(), format!("{hole}a line\n"), format!("one\n{hole}two\n{hole}"), "plain".to_owned()]
        {
            assert!(!is_binary(text.as_bytes()), "{:?}", text.trim_matches('\0'));
        }
        let wide: Vec<u8> = "firmware = \"efi\"\n".repeat(20).encode_utf16().flat_map(u16::to_le_bytes).collect();
        for bytes in [&b"\x7fELF\0\0"[..], b"\x7fELF\x02\x01\x01\0\0\0memsize = \"4\"\n", hole.as_bytes(), &wide] {
            assert!(is_binary(bytes), "{:?}", &bytes[..6]);
        }
    }

    #[test]
    fn long_text_is_cut_by_characters() {
        let text = Text::new(&"ä".repeat(2000));
        assert_eq!(text.chars().count(), LONGEST_VALUE + 1);
        assert!(text.ends_with('…'));
        assert_eq!(Text::new(&"x".repeat(2000)).chars().count(), LONGEST_VALUE + 1);
    }

    #[test]
    fn one_text_and_its_copy_are_the_same_as_two_alike() {
        let (one, two, less) = (Text::new("b"), Text::new("b"), Text::new("a"));
        assert_eq!(one, two);
        assert_eq!((one.cmp(&one.clone()), one.cmp(&two)), (Ordering::Equal, Ordering::Equal));
        assert_eq!((less.cmp(&one), one.cmp(&less)), (Ordering::Less, Ordering::Greater));
        assert!(std::collections::HashSet::from([one]).contains(&two));
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(10_000))]
        #[test]
        fn nothing_that_a_terminal_obeys_is_left(raw in "[\\PC\u{0}-\u{20}\u{7f}-\u{9f}\\[\\]0-9;m]{0,60}") {
            let text = Text::new(&raw);
            proptest::prop_assert!(!text.chars().any(char::is_control), "{:?} -> {:?}", raw, text);
            proptest::prop_assert_eq!(&Text::new(&text), &text);
        }
    }
}
