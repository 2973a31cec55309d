//! The lines of a text with the numbers that an editor shows.

use std::borrow::Cow;

use super::Explained;
use super::parts::Line;

/// So long is a line that is read, in bytes.
pub(super) const LONGEST_LINE: usize = 1 << 20;

/// So many lines of one text are read, those that only repeat others aside; logs as large as may be have far fewer.
const MOST_LINES_OF_ALL: usize = 2_000_000;
/// Of lines that follow each other and are the same, so many are read: no table has as many.
const MOST_REPEATED: usize = 1_000;
/// Of empty lines that follow each other, so many are read.
const MOST_EMPTY: usize = 2;

/// Where a text has carriage returns that end a line alone.
pub(super) struct Breaks {
    /// The places, in lines as they are read, behind which no new line begins for an editor.
    inside: Vec<u32>,
}

impl Breaks {
    /// The text with line ends that are read, and what that means for the numbers. Editors count a carriage return as the
    /// end of a line only in a text that has no other.
    pub(super) fn of(text: Cow<'_, str>) -> (Cow<'_, str>, Self) {
        if !has_lone_return(&text) {
            return (text, Self { inside: Vec::new() });
        }
        let mut inside = Vec::new();
        if text.contains('\n') {
            let mut number = 1_u32;
            let bytes = text.as_bytes();
            for (at, byte) in bytes.iter().enumerate() {
                let is_lone = *byte == b'\r' && bytes.get(at + 1) != Some(&b'\n');
                if is_lone {
                    inside.push(number);
                }
                number = number.saturating_add(u32::from(is_lone || *byte == b'\n'));
            }
        }
        (text.replace("\r\n", "\n").replace('\r', "\n").into(), Self { inside })
    }

    /// Gives what is told of lines the numbers that an editor shows.
    pub(super) fn renumber(&self, explained: &mut Explained) {
        if self.inside.is_empty() {
            return;
        }
        let shown = |line: u32| {
            let before = self.inside.partition_point(|at| *at < line);
            line.saturating_sub(u32::try_from(before).unwrap_or(u32::MAX)).max(1)
        };
        for fact in &mut explained.facts {
            fact.line = shown(fact.line);
        }
        for evidence in explained.findings.iter_mut().flat_map(|finding| &mut finding.evidence) {
            evidence.line = evidence.line.map(shown);
        }
    }
}

/// True if a carriage return ends a line alone.
fn has_lone_return(text: &str) -> bool {
    text.match_indices('\r').any(|(at, _)| !text[at + 1..].starts_with('\n'))
}

/// The lines of a text with their numbers.
pub(super) struct Numbered<'a> {
    pub(super) lines: Vec<Line<'a>>,
    /// True if these are all of them.
    pub(super) is_all: bool,
    /// The first line that is not among them, where there were too many.
    pub(super) until: Option<u32>,
}

/// Numbers the lines of a text. What only repeats is left out, so that the room they take follows what the text says.
pub(super) fn numbered(text: &str) -> Numbered<'_> {
    let mut all = Numbered { lines: Vec::new(), is_all: true, until: None };
    let (mut before, mut same) = (None, 0);
    for (number, line) in (1_u32..).zip(text.lines()) {
        same = if before == Some(line) { same + 1 } else { 0 };
        before = Some(line);
        if same >= if line.trim().is_empty() { MOST_EMPTY } else { MOST_REPEATED } {
            all.is_all = false;
            continue;
        }
        if all.lines.len() == MOST_LINES_OF_ALL {
            (all.is_all, all.until) = (false, Some(number));
            break;
        }
        all.lines.push((number, Cow::Borrowed(&line[..line.floor_char_boundary(LONGEST_LINE)])));
    }
    all
}
