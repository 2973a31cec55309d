//! A text without its blanks and line ends: words that a mail program or a terminal tore apart stand together in it, and
//! still lead back to their line.

use std::borrow::Cow;

/// The text.
#[derive(Clone, Debug, Default)]
pub(super) struct Squeezed {
    text: String,
    /// Where each line begins in `text`, and its number.
    starts: Vec<(usize, u32)>,
}

/// One place where words were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place<'a> {
    /// The line in which it begins.
    pub(super) line: u32,
    /// What stands behind, at most some hundred characters, without blanks and in small letters.
    pub(super) rest: &'a str,
}

impl Squeezed {
    pub(super) fn new(lines: &[(u32, Cow<'_, str>)]) -> Self {
        let mut squeezed = Self::default();
        for (number, line) in lines {
            squeezed.starts.push((squeezed.text.len(), *number));
            let kept = line.chars().filter(|c| !c.is_whitespace() && *c != '*');
            squeezed.text.extend(kept.map(|c| c.to_ascii_lowercase()));
        }
        squeezed
    }

    /// All places of these words; they are squeezed like the text.
    pub(super) fn find(&self, words: &str) -> Vec<Place<'_>> {
        let wanted: String = words.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_ascii_lowercase()).collect();
        self.text
            .match_indices(&wanted)
            .map(|(at, _)| {
                let after = &self.text[at + wanted.len()..];
                let end = after.char_indices().nth(400).map_or(after.len(), |(end, _)| end);
                let line = self.starts.partition_point(|(start, _)| *start <= at).saturating_sub(1);
                Place { line: self.starts.get(line).map_or(1, |(_, number)| *number), rest: &after[..end] }
            })
            .collect()
    }

    /// The first place of these words.
    pub(super) fn first(&self, words: &str) -> Option<Place<'_>> {
        self.find(words).into_iter().next()
    }
}

/// The number at the begin of a squeezed rest.
pub(super) fn number(rest: &str) -> Option<u64> {
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}
