//! A text without its blanks and line ends: words that a mail program or a terminal tore apart stand together in it, and
//! still lead back to their line. It is made and searched piece by piece, so a long log takes no room.

use std::borrow::Cow;

use crate::probe::needles::Needles;

/// So large is a piece, in bytes; a line that is longer makes one that is larger.
const PIECE: usize = 1 << 16;
/// So much of a piece is looked at again with the next one: longer than any words with what is read behind them.
const OVERLAP: usize = 1024;
/// So much of what stands behind the words is told, in bytes.
const BEHIND: usize = 400;

/// Words as they stand in a squeezed text.
pub(super) fn squeezed(words: &str) -> String {
    let mut squeezed = String::new();
    squeeze(words, &mut squeezed);
    squeezed
}

fn squeeze(line: &str, into: &mut String) {
    if line.is_ascii() {
        let kept = line.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'*' && *byte != 0x0b);
        into.extend(kept.map(|byte| char::from(byte.to_ascii_lowercase())));
        return;
    }
    into.extend(line.chars().filter(|c| !c.is_whitespace() && *c != '*').map(|c| c.to_ascii_lowercase()));
}

/// Calls `found` with the group of each word found, the line in which it begins, and what stands behind it: at most some
/// hundred bytes, without blanks and in small letters.
pub(super) fn each<G: Copy + Ord>(
    lines: &[(u32, Cow<'_, str>)],
    needles: &Needles<G>,
    mut found: impl FnMut(G, u32, &str),
) {
    let mut text = String::new();
    // Where each line begins in `text`, and its number.
    let mut starts: Vec<(usize, u32)> = Vec::new();
    for (at, (number, line)) in lines.iter().enumerate() {
        starts.push((text.len(), *number));
        squeeze(line, &mut text);
        let last = at + 1 == lines.len();
        if text.len() < PIECE + OVERLAP && !last {
            continue;
        }
        // What begins behind this place is found with the next piece.
        let until = if last { text.len() } else { text.floor_char_boundary(text.len() - OVERLAP) };
        needles.each(text.as_bytes(), |group, place| {
            if place.start < until {
                let line = starts.partition_point(|(start, _)| *start <= place.start).saturating_sub(1);
                let behind = text.floor_char_boundary(place.end + BEHIND);
                let rest = text.get(place.end..behind).unwrap_or_default();
                found(group, starts.get(line).map_or(1, |(_, number)| *number), rest);
            }
        });
        let first = starts.partition_point(|(start, _)| *start <= until).saturating_sub(1);
        starts.drain(..first);
        for (start, _) in &mut starts {
            *start = start.saturating_sub(until);
        }
        text.drain(..until);
    }
}

/// The number at the begin of a squeezed rest.
pub(super) fn number(rest: &str) -> Option<u64> {
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words at any place of a text of several pieces are found once, in their line.
    #[test]
    fn words_across_lines_and_pieces_are_found_once() {
        let needles = Needles::<u8>::new([(squeezed("exceeds the *limit* ("), 0)]);
        for filler in [1, 7, 63, 1023, 4096] {
            let mut lines: Vec<(u32, Cow<'_, str>)> = Vec::new();
            let mut expected = Vec::new();
            for number in (1..400).step_by(3) {
                lines.push((number, Cow::Owned("\u{e4}".repeat(filler))));
                lines.push((number + 1, Cow::Borrowed("needed (12) exceeds the li")));
                lines.push((number + 2, Cow::Borrowed("mit (34), failing")));
                expected.push((number + 1, Some(34)));
            }
            let mut seen = Vec::new();
            each(&lines, &needles, |_, line, rest| seen.push((line, number(rest))));
            assert_eq!(seen, expected, "{filler}");
        }
        let mut seen = 0;
        each(&[], &needles, |_, _, _| seen += 1);
        assert_eq!(seen, 0);
    }
}
