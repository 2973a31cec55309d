//! Cells of comma-separated values, taken one by one from pieces of any size. Only a cell that is wanted is held, and no more
//! of it than an honest one has.

use std::borrow::Cow;

/// No honest cell is longer: a title holds the names of a VM, of its disk and of a counter.
const LONGEST: usize = 1024;

/// Where in a cell the next byte stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// At its beginning.
    #[default]
    Start,
    /// In one without quotes.
    Plain,
    /// Between its quotes.
    Quoted,
    /// Behind a quote that ends it, unless it is one of the text: VMs may have any name, and not every version doubles it.
    Quote,
}

/// A cell that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    /// Its place in its row, from 0.
    pub(super) place: usize,
    /// True for the last one of its row.
    pub(super) ends_row: bool,
    /// True if its end is missing, or if it was too long to be held.
    pub(super) is_cut: bool,
}

/// Takes cells.
#[derive(Debug, Default)]
pub(super) struct Cells {
    state: State,
    place: usize,
    text: Vec<u8>,
    is_cut: bool,
}

impl Cells {
    /// The place of the cell that comes next, or of the one that is half taken.
    pub(super) fn place(&self) -> usize {
        self.place
    }

    /// The text of the cell that was taken last, if it was wanted.
    pub(super) fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.text)
    }

    /// Takes bytes up to the end of one cell; `wanted` says whether its text is held. Gives how many bytes it took, and the
    /// cell if it is complete.
    pub(super) fn take(&mut self, bytes: &[u8], wanted: bool) -> (usize, Option<Taken>) {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match (self.state, byte) {
                (State::Start, b'"') => {
                    self.begin();
                    self.state = State::Quoted;
                }
                (State::Start, _) => {
                    self.begin();
                    self.state = State::Plain;
                    continue;
                }
                // A line that ends between quotes was cut: no name has an end of line.
                (State::Quoted, b'\n') => {
                    self.is_cut = true;
                    return (at + 1, Some(self.end(true)));
                }
                (State::Quoted, b'"') => self.state = State::Quote,
                (State::Plain | State::Quote, b',') => return (at + 1, Some(self.end(false))),
                (State::Plain | State::Quote, b'\n') => return (at + 1, Some(self.end(true))),
                (State::Plain | State::Quote, b'\r') => {}
                (State::Quote, b'"') => {
                    self.hold(b"\"", wanted);
                    self.state = State::Quoted;
                }
                (State::Quote, _) => {
                    self.hold(b"\"", wanted);
                    self.state = State::Quoted;
                    continue;
                }
                (State::Plain | State::Quoted, _) => {
                    let rest = &bytes[at..];
                    let is_plain = self.state == State::Plain;
                    let ends = |byte: &u8| matches!(byte, b'\n' | b'\r') || *byte == if is_plain { b',' } else { b'"' };
                    let length = rest.iter().position(ends).unwrap_or(rest.len()).max(1);
                    self.hold(&rest[..length], wanted);
                    at += length;
                    continue;
                }
            }
            at += 1;
        }
        (at, None)
    }

    /// The last cell, where the output ended without an end of line; `None` where nothing is half taken.
    pub(super) fn finish(&mut self) -> Option<Taken> {
        match self.state {
            State::Start if self.place == 0 => None,
            state => {
                if state == State::Start {
                    self.begin();
                }
                // Nobody knows whether a number without its closing quote is whole.
                self.is_cut |= !matches!(state, State::Quote);
                Some(self.end(true))
            }
        }
    }

    fn begin(&mut self) {
        self.text.clear();
        self.is_cut = false;
    }

    fn hold(&mut self, bytes: &[u8], wanted: bool) {
        if !wanted {
            return;
        }
        let room = LONGEST - self.text.len();
        self.is_cut |= bytes.len() > room;
        self.text.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn end(&mut self, ends_row: bool) -> Taken {
        let place = if ends_row { std::mem::take(&mut self.place) } else { self.place };
        if !ends_row {
            self.place += 1;
        }
        self.state = State::Start;
        Taken { place, ends_row, is_cut: self.is_cut }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All cells of a text, given in pieces of this size.
    fn cells(text: &str, piece: usize) -> Vec<Vec<String>> {
        let (mut cells, mut rows) = (Cells::default(), vec![Vec::new()]);
        for mut bytes in text.as_bytes().chunks(piece) {
            while !bytes.is_empty() {
                let (used, taken) = cells.take(bytes, true);
                bytes = &bytes[used..];
                if let Some(taken) = taken {
                    let row = rows.last_mut().expect("one");
                    assert_eq!(row.len(), taken.place);
                    row.push(format!("{}{}", cells.text(), if taken.is_cut { "~" } else { "" }));
                    if taken.ends_row {
                        rows.push(Vec::new());
                    }
                }
            }
        }
        rows.pop();
        rows
    }

    #[test]
    fn cells_end_where_they_end() {
        for (text, expected) in [
            ("\"a\",\"b\"\n", vec![vec!["a", "b"]]),
            ("\"a\",\"b\"\r\n", vec![vec!["a", "b"]]),
            ("a,,b\n,\n", vec![vec!["a", "", "b"], vec!["", ""]]),
            ("\"x, y\",\"\"\n", vec![vec!["x, y", ""]]),
            ("\"say \"\"hi\"\" now\",\"1\"\n", vec![vec!["say \"hi\" now", "1"]]),
            ("\"say \"hi\" now\",\"1\"\n", vec![vec!["say \"hi\" now", "1"]]),
            ("\"a\",\"cut\n\"b\"\n", vec![vec!["a", "cut~"], vec!["b"]]),
            ("\n", vec![vec![""]]),
        ] {
            for piece in 1..9 {
                assert_eq!(cells(text, piece), expected, "{text:?} by {piece}");
            }
        }
    }

    #[test]
    fn a_cell_without_end_takes_no_memory() {
        let mut taker = Cells::default();
        for _ in 0..40 {
            assert_eq!(taker.take(&vec![b'x'; 1 << 16], true), (1 << 16, None));
        }
        assert!(taker.text.len() <= LONGEST);
        let (used, taken) = taker.take(b",y\n", true);
        assert_eq!((used, taken.map(|taken| taken.is_cut)), (1, Some(true)));
        assert_eq!(taker.take(b"y\n", true).1, Some(Taken { place: 1, ends_row: true, is_cut: false }));
        assert_eq!(taker.text(), "y");
    }

    #[test]
    fn what_is_not_wanted_is_not_held() {
        let mut taker = Cells::default();
        assert_eq!(taker.take(b"\"secret\",", false).0, 9);
        assert_eq!(taker.text(), "");
    }

    #[test]
    fn the_last_cell_needs_no_end_of_line() {
        for (text, expected) in
            [("", None), ("\"a\"", Some((0, false))), ("\"a\",\"b", Some((1, true))), ("\"a\",", Some((1, true)))]
        {
            let mut taker = Cells::default();
            let mut bytes = text.as_bytes();
            while !bytes.is_empty() {
                bytes = &bytes[taker.take(bytes, true).0..];
            }
            assert_eq!(taker.finish().map(|taken| (taken.place, taken.is_cut)), expected, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]
        #[test]
        fn pieces_do_not_matter(text in "[a,\"\r\n]{0,40}", piece in 1..7usize) {
            prop_assert_eq!(cells(&text, piece), cells(&text, 1000));
        }
    }
}
