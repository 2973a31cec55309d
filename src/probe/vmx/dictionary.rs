//! The grammar of a VMX: `name = value`, `name = "value"`, comments behind `#`, `|XX` for a byte; names without regard to
//! letter case. A line that is none of these is kept and says what is wrong with it.

use std::ops::Range;

/// What is wrong with a line or with an entry of the dictionary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No `=` after the name.
    NoEquals,
    /// No name before `=`.
    NoName,
    /// The quote that opens the value does not close.
    OpenQuote,
    /// Something that is no comment stands after the value.
    AfterValue,
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
}

impl Dictionary {
    /// Reads a file. Never fails: what is wrong stands in the lines.
    pub fn parse(bytes: &[u8]) -> Self {
        let _ = bytes;
        Self::default()
    }

    /// All assignments, in their order, also those that repeat a name.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.lines.iter().filter_map(|line| match &line.content {
            Content::Entry(entry) => Some(entry),
            _ => None,
        })
    }

    /// The first assignment to a name, whatever its letter case.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries().find(|entry| entry.key.eq_ignore_ascii_case(key))
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
        let mut numbers: Vec<u32> = self
            .entries()
            .filter_map(|entry| {
                let key = entry.key.to_ascii_lowercase();
                let number = key.strip_prefix(&prefix.to_ascii_lowercase())?.strip_suffix(".present")?.parse().ok()?;
                (self.flag(&entry.key) == Some(true)).then_some(number)
            })
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}
