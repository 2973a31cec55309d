//! Mutated text for the property tests of parsers: what a target might send when a tool is of another version, when
//! output is cut, mixed or hostile. Every case begins as a real output (a seed) and is then damaged a few times.

use proptest::prelude::*;
use proptest::sample::select;

/// How many cases a parser must survive.
pub const CASES: u32 = 10_000;

/// What is thrown into the text: escapes, NUL, invalid names, huge and malformed numbers, broken JSON, long runs.
const GARBAGE: &[&str] = &[
    "\u{0}",
    "\u{1b}[2J\u{1b}[31m",
    "\u{1b}]0;title\u{7}",
    "\u{9b}6n",
    "\u{202e}",
    "\u{fffd}\u{fffd}",
    "\r",
    "\n",
    "\n\n",
    "\t",
    " ",
    ":",
    "/",
    "-",
    "-1",
    "0",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999999999999999999",
    "4294967296",
    "-9223372036854775809",
    "0x",
    "0xffffffffffffffffff",
    "1e309",
    "NaN",
    "N/A (no PMA)",
    "null",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\u0000",
    "\\ud800",
    ",",
    "'",
    "->",
    "%",
    "ä€𝄞",
    "../../etc/passwd",
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
];

/// One damage. Positions are fractions of the text (0 to 65535), so that they suit every length.
#[derive(Clone, Debug)]
enum Mutation {
    Cut { at: u16, length: u8 },
    Duplicate { at: u16, length: u8 },
    Insert { at: u16, garbage: &'static str },
    Truncate { at: u16 },
    SwapLines { one: u16, other: u16 },
    DropLine { line: u16 },
    RepeatLine { line: u16 },
    ReplaceNumber { nth: u8, with: &'static str },
    SwapWords { at: u16 },
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        (any::<u16>(), any::<u8>()).prop_map(|(at, length)| Mutation::Cut { at, length }),
        (any::<u16>(), any::<u8>()).prop_map(|(at, length)| Mutation::Duplicate { at, length }),
        (any::<u16>(), select(GARBAGE)).prop_map(|(at, garbage)| Mutation::Insert { at, garbage }),
        any::<u16>().prop_map(|at| Mutation::Truncate { at }),
        (any::<u16>(), any::<u16>()).prop_map(|(one, other)| Mutation::SwapLines { one, other }),
        any::<u16>().prop_map(|line| Mutation::DropLine { line }),
        any::<u16>().prop_map(|line| Mutation::RepeatLine { line }),
        (any::<u8>(), select(GARBAGE)).prop_map(|(nth, with)| Mutation::ReplaceNumber { nth, with }),
        any::<u16>().prop_map(|at| Mutation::SwapWords { at }),
    ]
}

/// Texts that began as one of `seeds` and were damaged zero to five times.
pub fn mutated(seeds: Vec<String>) -> impl Strategy<Value = String> {
    assert!(!seeds.is_empty(), "a property needs real text to begin with");
    (select(seeds), prop::collection::vec(mutation(), 0..6))
        .prop_map(|(seed, mutations)| mutations.iter().fold(seed, |text, mutation| apply(&text, mutation)))
}

/// The same for seeds known at compile time.
pub fn mutated_texts(seeds: &[&str]) -> impl Strategy<Value = String> + use<> {
    mutated(seeds.iter().map(|&seed| seed.to_owned()).collect())
}

/// The byte position of a fraction of the text, moved back to the start of a character.
fn position(text: &str, fraction: u16) -> usize {
    floor_boundary(text, text.len() * usize::from(fraction) / usize::from(u16::MAX))
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn apply(text: &str, mutation: &Mutation) -> String {
    let lines = || text.split_inclusive('\n').collect::<Vec<_>>();
    let index = |count: usize, fraction: u16| count.saturating_sub(1) * usize::from(fraction) / usize::from(u16::MAX);
    match mutation {
        Mutation::Cut { at, length } => {
            let start = position(text, *at);
            let end = floor_boundary(text, start + usize::from(*length));
            format!("{}{}", &text[..start], &text[end..])
        }
        Mutation::Duplicate { at, length } => {
            let start = position(text, *at);
            let end = floor_boundary(text, start + usize::from(*length));
            format!("{}{}", &text[..end], &text[start..])
        }
        Mutation::Insert { at, garbage } => {
            let at = position(text, *at);
            format!("{}{garbage}{}", &text[..at], &text[at..])
        }
        Mutation::Truncate { at } => text[..position(text, *at)].to_owned(),
        Mutation::SwapLines { one, other } => {
            let mut lines = lines();
            if !lines.is_empty() {
                let count = lines.len();
                lines.swap(index(count, *one), index(count, *other));
            }
            lines.concat()
        }
        Mutation::DropLine { line } => {
            let mut lines = lines();
            if !lines.is_empty() {
                lines.remove(index(lines.len(), *line));
            }
            lines.concat()
        }
        Mutation::RepeatLine { line } => {
            let mut lines = lines();
            if !lines.is_empty() {
                let line = index(lines.len(), *line);
                lines.insert(line, lines[line]);
            }
            lines.concat()
        }
        Mutation::ReplaceNumber { nth, with } => {
            let starts: Vec<usize> = text
                .char_indices()
                .scan(false, |inside, (at, character)| {
                    let begins = character.is_ascii_digit() && !*inside;
                    *inside = character.is_ascii_digit();
                    Some(begins.then_some(at))
                })
                .flatten()
                .collect();
            let Some(&start) = starts.get(usize::from(*nth) % starts.len().max(1)) else { return text.to_owned() };
            let end = text[start..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |length| start + length);
            format!("{}{with}{}", &text[..start], &text[end..])
        }
        Mutation::SwapWords { at } => {
            let at = position(text, *at);
            let mut words = text[at..].splitn(3, ' ');
            match (words.next(), words.next(), words.next()) {
                (Some(one), Some(other), Some(rest)) => format!("{}{other} {one} {rest}", &text[..at]),
                _ => text.to_owned(),
            }
        }
    }
}

/// Asserts what every parser owes: no fact carries a character that a terminal would obey.
pub fn assert_clean(facts: &[crate::fabric::Fact]) -> Result<(), TestCaseError> {
    for fact in facts {
        let shown = match fact.reading.state.known() {
            Some(value) => value.to_string(),
            None => fact.reading.state.why().unwrap_or_default(),
        };
        for text in [fact.entity.name(), shown] {
            prop_assert!(!text.chars().any(char::is_control), "{:?} {:?}: {text:?}", fact.entity, fact.attribute);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_damage_does_what_it_says() {
        let text = "one two three\nfour 55 six\n";
        let full = u16::MAX;
        assert_eq!(apply(text, &Mutation::Cut { at: 0, length: 4 }), "two three\nfour 55 six\n");
        assert_eq!(apply(text, &Mutation::Duplicate { at: 0, length: 4 }), "one one two three\nfour 55 six\n");
        assert_eq!(apply(text, &Mutation::Insert { at: full, garbage: "\u{0}" }), format!("{text}\u{0}"));
        assert_eq!(apply(text, &Mutation::Truncate { at: 0 }), "");
        assert_eq!(apply(text, &Mutation::SwapLines { one: 0, other: full }), "four 55 six\none two three\n");
        assert_eq!(apply(text, &Mutation::DropLine { line: 0 }), "four 55 six\n");
        assert_eq!(apply(text, &Mutation::RepeatLine { line: full }), "one two three\nfour 55 six\nfour 55 six\n");
        assert_eq!(apply(text, &Mutation::ReplaceNumber { nth: 3, with: "-1" }), "one two three\nfour -1 six\n");
        assert_eq!(apply(text, &Mutation::SwapWords { at: 0 }), "two one three\nfour 55 six\n");
        assert_eq!(apply("", &Mutation::SwapLines { one: 0, other: 0 }), "");
        assert_eq!(apply("€", &Mutation::Cut { at: full / 2, length: 1 }), "€");
    }
}
