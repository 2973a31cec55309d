//! The character sets of VMware's files, as far as they matter: UTF-8, the two of Western Europe, and others, of which only
//! ASCII can be shown.

/// How the bytes above 0x7F are to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Charset {
    /// UTF-8.
    #[default]
    Utf8,
    /// windows-1252 and ISO 8859-1, which differ only where nobody writes (0x80 to 0x9F).
    Western,
    /// Another one (GBK, `Shift_JIS`, ...): its bytes are kept but shown as U+FFFD.
    Other,
}

/// What windows-1252 puts in place of 0x80 to 0x9F; U+FFFD where it has nothing.
const WINDOWS: [char; 32] = [
    '€', '\u{fffd}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{fffd}', 'Ž', '\u{fffd}', '\u{fffd}',
    '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{fffd}', 'ž', 'Ÿ',
];

impl Charset {
    /// The character set of a name in `.encoding`, whatever its letter case and dashes.
    pub fn named(name: &str) -> Self {
        let plain: String =
            name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect();
        match plain.as_str() {
            "utf8" | "usascii" | "ascii" | "" => Self::Utf8,
            "windows1252" | "cp1252" | "iso88591" | "latin1" => Self::Western,
            _ => Self::Other,
        }
    }

    /// Bytes as text; what cannot be read becomes U+FFFD.
    pub fn decode(self, bytes: &[u8]) -> String {
        match self {
            Self::Utf8 => String::from_utf8_lossy(bytes).into_owned(),
            Self::Western => bytes.iter().map(|&byte| western(byte)).collect(),
            Self::Other => {
                bytes.iter().map(|&byte| if byte.is_ascii() { char::from(byte) } else { '\u{fffd}' }).collect()
            }
        }
    }

    /// Text as bytes; `None` if the set lacks one of its characters.
    pub fn encode(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Self::Utf8 => Some(text.as_bytes().to_vec()),
            Self::Western => text.chars().map(|letter| (0..=255).find(|&byte| western(byte) == letter)).collect(),
            Self::Other => text.is_ascii().then(|| text.as_bytes().to_vec()),
        }
        .filter(|_| !text.contains('\u{fffd}'))
    }
}

fn western(byte: u8) -> char {
    byte.checked_sub(0x80).and_then(|at| WINDOWS.get(usize::from(at)).copied()).unwrap_or(char::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_people_write_them() {
        assert_eq!(Charset::named("UTF-8"), Charset::Utf8);
        assert_eq!(Charset::named("windows-1252"), Charset::Western);
        assert_eq!(Charset::named("ISO_8859-1"), Charset::Western);
        assert_eq!(Charset::named("GBK"), Charset::Other);
    }

    #[test]
    fn what_can_be_read_can_be_written() {
        assert_eq!(Charset::Western.decode(b"M\xfcller \x80"), "Müller €");
        assert_eq!(Charset::Western.encode("Müller €").as_deref(), Some(&b"M\xfcller \x80"[..]));
        assert_eq!(Charset::Western.encode("内"), None);
        assert_eq!(Charset::Other.decode(b"\xc4\xda a"), "\u{fffd}\u{fffd} a");
        assert_eq!(Charset::Other.encode("a"), Some(b"a".to_vec()));
        assert_eq!(Charset::Other.encode("ä"), None);
        assert_eq!(Charset::Utf8.encode("内").as_deref(), Some("内".as_bytes()));
    }
}
