//! The grammar of a VMX: `name = value`, `name = "value"`, comments behind `#`, `|XX` for a byte; names without regard to
//! letter case. A line that is none of these is kept and says what is wrong with it.
//!
//! The grammar works on bytes, as that of the host does: only ASCII steers it, so the character set of the file matters for
//! nothing but how names and values are shown. Lines end with LF, CRLF or a lone CR.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;

use super::charset::Charset;

/// What is wrong with a line or with an entry of the dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No `=` after the name.
    NoEquals,
    /// No name before `=`.
    NoName,
    /// The quote that opens the value does not close.
    OpenQuote,
    /// Something that is no comment stands after the value.
    AfterValue,
    /// The value opens with a quote that is no quote to the host (`“`, `”`, `＂`), and what stands in such quotes does not
    /// end where an unquoted value does. One that does is an entry; see [`Entry::odd_quotes`].
    OddQuotes,
}

/// One assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name as written.
    pub key: String,
    /// The value, without its quotes and with `|XX` read.
    pub value: String,
    /// True if the value stands in quotes.
    pub quoted: bool,
    /// The comment after the value, with its `#`.
    pub comment: Option<String>,
    /// Number of the line, from 1.
    pub line: u32,
    /// Where the value stands in the file, in bytes, its quotes included.
    pub place: Range<usize>,
}

impl Entry {
    /// True if the value begins or ends with typographic or full-width quotes, which are part of it to the host.
    pub fn odd_quotes(&self) -> bool {
        !self.quoted && (self.value.starts_with(ODD_QUOTES) || self.value.ends_with(ODD_QUOTES))
    }
}

/// Characters that people take for `"`.
pub(super) const ODD_QUOTES: &[char] = &['“', '”', '„', '‟', '″', '〝', '〞', '〟', '＂', '«', '»'];

/// What a line is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Nothing but blanks.
    Blank,
    /// A comment.
    Comment,
    /// An assignment.
    Entry(Entry),
    /// None of these.
    Malformed(Fault),
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number, from 1.
    pub number: u32,
    /// Where it stands in the file, in bytes, without its end.
    pub place: Range<usize>,
    /// What it is.
    pub content: Content,
}

/// A VMX as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dictionary {
    /// The whole file.
    pub bytes: Vec<u8>,
    /// True if it begins with the byte order mark of UTF-8.
    pub byte_order_mark: bool,
    /// Its lines.
    pub lines: Vec<Line>,
    /// Places in `lines` of all assignments, by name without regard to letter case, then by line.
    pub(super) by_key: Vec<usize>,
    /// What is shown of lines that hold a secret, by their numbers.
    pub(super) hidden: BTreeMap<u32, String>,
}

/// The byte order mark of UTF-8.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Dictionary {
    /// Reads a file. Never fails: what is wrong stands in the lines.
    pub fn parse(bytes: &[u8]) -> Self {
        let byte_order_mark = bytes.starts_with(BYTE_ORDER_MARK);
        let start = if byte_order_mark { BYTE_ORDER_MARK.len() } else { 0 };
        let split: Vec<(Range<usize>, Split)> =
            Places { bytes, at: start }.map(|place| (place.clone(), split(bytes, place))).collect();
        let charset = charset(bytes, &split);
        let lines: Vec<Line> = split
            .into_iter()
            .zip(1..)
            .map(|((place, split), number)| {
                let content = content(bytes, split, number, charset);
                Line { number, place, content }
            })
            .collect();
        let mut dictionary =
            Self { bytes: bytes.to_vec(), byte_order_mark, lines, by_key: Vec::new(), hidden: BTreeMap::new() };
        let mut by_key: Vec<usize> =
            (0..dictionary.lines.len()).filter(|&at| dictionary.entry_at(at).is_some()).collect();
        by_key.sort_by(|&one, &other| match (dictionary.entry_at(one), dictionary.entry_at(other)) {
            (Some(one), Some(other)) => compare(&one.key, &other.key),
            _ => Ordering::Equal,
        });
        dictionary.by_key = by_key;
        dictionary
    }

    fn entry_at(&self, at: usize) -> Option<&Entry> {
        match &self.lines.get(at)?.content {
            Content::Entry(entry) => Some(entry),
            _ => None,
        }
    }

    /// All assignments, in their order, also those that repeat a name.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.lines.iter().filter_map(|line| match &line.content {
            Content::Entry(entry) => Some(entry),
            _ => None,
        })
    }

    /// All assignments to a name, whatever its letter case, in their order. More than one is an error to the host.
    pub fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Entry> {
        let before = |at: &usize| self.entry_at(*at).is_some_and(|entry| compare(&entry.key, key) == Ordering::Less);
        let first = self.by_key.partition_point(before);
        let rest = self.by_key.get(first..).unwrap_or_default();
        rest.iter().filter_map(|at| self.entry_at(*at)).take_while(move |entry| entry.key.eq_ignore_ascii_case(key))
    }

    /// The first assignment to a name, whatever its letter case.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        let before = |at: &usize| self.entry_at(*at).is_some_and(|entry| compare(&entry.key, key) == Ordering::Less);
        let first = self.by_key.get(self.by_key.partition_point(before))?;
        self.entry_at(*first).filter(|entry| entry.key.eq_ignore_ascii_case(key))
    }

    /// Assignments to a name that was assigned before: the first one and the one that repeats it, by line of the latter.
    pub fn duplicates(&self) -> Vec<(&Entry, &Entry)> {
        let mut repeated = Vec::new();
        let mut first: Option<&Entry> = None;
        for entry in self.by_key.iter().filter_map(|at| self.entry_at(*at)) {
            match first {
                Some(one) if one.key.eq_ignore_ascii_case(&entry.key) => repeated.push((one, entry)),
                _ => first = Some(entry),
            }
        }
        repeated.sort_by_key(|(_, entry)| entry.line);
        repeated
    }

    /// The value of a name.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.get(key).map(|entry| entry.value.as_str())
    }

    /// A value that is yes (`TRUE`, `yes`, `1`, `y`, `t`, `on`) or no; `None` if it is absent or neither.
    pub fn flag(&self, key: &str) -> Option<bool> {
        let value = self.value(key)?;
        let is = |words: &[&str]| words.iter().any(|word| value.eq_ignore_ascii_case(word));
        if is(&["true", "yes", "1", "y", "t", "on"]) {
            Some(true)
        } else if is(&["false", "no", "0", "n", "f", "off"]) {
            Some(false)
        } else {
            None
        }
    }

    /// A value that is a whole decimal number.
    pub fn number(&self, key: &str) -> Option<u64> {
        self.value(key)?.trim().parse().ok()
    }

    /// The numbers N of the devices `prefixN.*` of which `prefixN.present` is yes, rising.
    pub fn present(&self, prefix: &str) -> Vec<u32> {
        const PRESENT: &str = ".present";
        let mut numbers: Vec<u32> = self
            .entries()
            .filter_map(|entry| {
                let (head, rest) = entry.key.split_at_checked(prefix.len())?;
                let (number, tail) = rest.split_at_checked(rest.len().checked_sub(PRESENT.len())?)?;
                let number = number.parse().ok()?;
                (head.eq_ignore_ascii_case(prefix)
                    && tail.eq_ignore_ascii_case(PRESENT)
                    && self.flag(&entry.key) == Some(true))
                .then_some(number)
            })
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// The character set of the file: that of `.encoding`, UTF-8 without one.
    pub fn charset(&self) -> Charset {
        self.value(".encoding").map_or(Charset::Utf8, Charset::named)
    }

    /// A line as text, for people.
    pub fn text(&self, line: &Line) -> String {
        if let Some(shown) = self.hidden.get(&line.number) {
            return shown.clone();
        }
        self.charset().decode(self.bytes.get(line.place.clone()).unwrap_or_default())
    }
}

/// Compares names as the host does.
fn compare(one: &str, other: &str) -> Ordering {
    one.bytes().map(|byte| byte.to_ascii_lowercase()).cmp(other.bytes().map(|byte| byte.to_ascii_lowercase()))
}

/// The places of all lines, without their ends.
struct Places<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Iterator for Places<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        let length = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len());
        let end = if rest.get(length..).is_some_and(|end| end.starts_with(b"\r\n")) { 2 } else { 1 };
        let start = self.at;
        self.at = (start + length + end).min(self.bytes.len());
        Some(start..start + length)
    }
}

/// Where the parts of a line stand.
enum Split {
    Blank,
    Comment,
    Entry { key: Range<usize>, value: Range<usize>, quoted: bool, comment: Option<Range<usize>> },
    Malformed(Fault),
}

fn split(bytes: &[u8], place: Range<usize>) -> Split {
    let end = place.end;
    let byte = |at: usize| if at < end { bytes.get(at).copied() } else { None };
    let blanks = |mut at: usize| {
        while matches!(byte(at), Some(b' ' | b'\t')) {
            at += 1;
        }
        at
    };
    let until = |mut at: usize, stop: &[u8]| {
        while byte(at).is_some_and(|byte| !stop.contains(&byte)) {
            at += 1;
        }
        at
    };
    let start = blanks(place.start);
    match byte(start) {
        None => return Split::Blank,
        Some(b'#') => return Split::Comment,
        Some(b'=') => return Split::Malformed(Fault::NoName),
        Some(_) => {}
    }
    let key = start..until(start, b" \t=#");
    let equals = blanks(key.end);
    if byte(equals) != Some(b'=') {
        return Split::Malformed(Fault::NoEquals);
    }
    let begin = blanks(equals + 1);
    let quoted = byte(begin) == Some(b'"');
    let value = if quoted {
        let close = until(begin + 1, b"\"");
        if close >= end {
            return Split::Malformed(Fault::OpenQuote);
        }
        begin..close + 1
    } else {
        begin..until(begin, b" \t#")
    };
    let after = blanks(value.end);
    match byte(after) {
        None => Split::Entry { key, value, quoted, comment: None },
        Some(b'#') => Split::Entry { key, value, quoted, comment: Some(after..end) },
        Some(_) => {
            let text = String::from_utf8_lossy(bytes.get(value).unwrap_or_default());
            let odd = !quoted && text.starts_with(ODD_QUOTES);
            Split::Malformed(if odd { Fault::OddQuotes } else { Fault::AfterValue })
        }
    }
}

/// The character set that the file names.
fn charset(bytes: &[u8], lines: &[(Range<usize>, Split)]) -> Charset {
    let named = lines.iter().find_map(|(_, line)| match line {
        Split::Entry { key, value, quoted, .. } => {
            let key = bytes.get(key.clone())?;
            key.eq_ignore_ascii_case(b".encoding").then(|| inner(bytes, value, *quoted))
        }
        _ => None,
    });
    named.map_or(Charset::Utf8, |name| Charset::named(&String::from_utf8_lossy(name)))
}

/// A value without its quotes.
fn inner<'a>(bytes: &'a [u8], value: &Range<usize>, quoted: bool) -> &'a [u8] {
    let inner = if quoted { value.start + 1..value.end.saturating_sub(1) } else { value.clone() };
    bytes.get(inner).unwrap_or_default()
}

fn content(bytes: &[u8], split: Split, line: u32, charset: Charset) -> Content {
    let text = |place: Range<usize>| charset.decode(bytes.get(place).unwrap_or_default());
    match split {
        Split::Blank => Content::Blank,
        Split::Comment => Content::Comment,
        Split::Malformed(fault) => Content::Malformed(fault),
        Split::Entry { key, value, quoted, comment } => Content::Entry(Entry {
            key: text(key),
            value: charset.decode(&unescaped(inner(bytes, &value, quoted))),
            quoted,
            comment: comment.map(text),
            line,
            place: value,
        }),
    }
}

/// Reads `|XX`; one that is incomplete stays as it is.
fn unescaped(raw: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    if !raw.contains(&b'|') {
        return raw.into();
    }
    let digit =
        |at: usize| raw.get(at).and_then(|byte| char::from(*byte).to_digit(16)).and_then(|n| u8::try_from(n).ok());
    let mut bytes = Vec::with_capacity(raw.len());
    let mut at = 0;
    while let Some(&byte) = raw.get(at) {
        if let (b'|', Some(high), Some(low)) = (byte, digit(at + 1), digit(at + 2)) {
            bytes.push(high << 4 | low);
            at += 3;
        } else {
            bytes.push(byte);
            at += 1;
        }
    }
    bytes.into()
}

#[cfg(test)]
#[path = "dictionary_tests.rs"]
mod tests;
