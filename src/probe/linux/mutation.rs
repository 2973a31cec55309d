//! Broken variants of real outputs, for property tests: pieces cut out, doubled, moved or replaced by what has broken
//! parsers before.

use proptest::prelude::*;

/// Texts that have broken parsers before.
const JUNK: &[&str] = &[
    "",
    "\n",
    "\r\n",
    "\t",
    " ",
    ":",
    "::",
    "/",
    "=",
    "\"",
    "{",
    "}]",
    "0x",
    "-1",
    "-",
    "4294967295",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999",
    "N/A",
    "\u{1b}[31m",
    "\u{1b}]0;x\u{7}",
    "\0",
    "\u{fffd}",
    "é",
    "日本",
    "[",
    "]",
    "[99999999999999999999.9]",
    "unlimited",
    "grep: /x: Permission denied\n",
];

/// One change: which kind, where, how long, with which junk.
type Change = (u8, prop::sample::Index, usize, usize);

/// Texts made from one of `seeds` by up to eight changes.
pub(crate) fn mutated(seeds: &'static [&'static str]) -> impl Strategy<Value = String> {
    (0..seeds.len(), prop::collection::vec((0u8..6, any::<prop::sample::Index>(), 0usize..40, 0..JUNK.len()), 0..8))
        .prop_map(|(seed, changes): (usize, Vec<Change>)| changes.iter().fold(seeds[seed].to_owned(), change))
}

fn change(text: String, (kind, place, length, junk): &Change) -> String {
    let start = place.index(text.len() + 1);
    let start = (0..=start).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let end = (start + length).min(text.len());
    let end = (start..=end).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(start);
    let (before, piece, after) = (&text[..start], &text[start..end], &text[end..]);
    match kind {
        0 => format!("{before}{after}"),
        1 => format!("{before}{piece}{piece}{after}"),
        2 => format!("{before}{}{after}", JUNK[*junk]),
        3 => before.to_owned(),
        4 => format!("{after}{piece}{before}"),
        _ => format!("{before}{}{piece}{after}", JUNK[*junk]),
    }
}
