//! Evidence: the raw text that a value came from, with the command, the target, the time and how long it took.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::raw::RawStore;
use crate::fabric::text::clean_line;
use crate::fabric::{Attribute, EntityId, Fabric, Observation, ObservationRef, Outcome};

/// Where evidence comes from.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// What was concluded.
    pub fabric: &'a Fabric,
    /// What was read.
    pub raw: &'a RawStore,
    /// Width of the screen that it is shown on.
    pub columns: u16,
}

/// The evidence overlay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// What it is evidence for, in words.
    pub title: String,
    /// What was made of it, in words.
    pub conclusion: String,
    /// Where the text comes from.
    pub reference: ObservationRef,
    /// The observation itself, held while the overlay is open; `None` if its text is no longer at hand.
    pub observation: Option<Arc<Observation>>,
    /// The line that says it, from 1; 0 if no single line does.
    pub line: u32,
    /// First row shown.
    pub scroll: usize,
    /// The text searched for.
    pub search: String,
}

impl Evidence {
    /// Evidence for one reading, if anything was read.
    pub fn of_reading(sources: Sources<'_>, id: &EntityId, attribute: Attribute) -> Option<Self> {
        let reading = sources.fabric.reading(id, attribute)?;
        let conclusion = super::format::state(attribute, &reading.state);
        Some(Self::new(
            sources,
            format!("{} {}", super::format::named(sources.fabric, id), attribute.label()),
            conclusion,
            reading.source.clone(),
            reading.line,
        ))
    }

    /// Evidence for what an observation says at `line`.
    pub fn new(sources: Sources<'_>, title: String, conclusion: String, reference: ObservationRef, line: u32) -> Self {
        let observation = sources.raw.get(&reference).cloned();
        let mut evidence = Self { title, conclusion, reference, observation, line, scroll: 0, search: String::new() };
        // The line that says it stands a little below the top.
        let rows = evidence.rows(sources.columns);
        let cited = rows.iter().position(|row| row.number == line && line > 0).unwrap_or(0);
        evidence.scroll = cited.saturating_sub(3);
        evidence
    }

    /// The text as it may be drawn: standard output, then standard error with `stderr│` in front of each line. The
    /// number is that of the line of standard output, from 1; 0 for other lines.
    pub fn lines(&self) -> Vec<(u32, String)> {
        let Some(observation) = &self.observation else { return Vec::new() };
        let mut lines: Vec<(u32, String)> = observation.lines().map(|(number, line)| (number, clean(line))).collect();
        lines.extend(observation.stderr.lines().map(|line| (0, format!("stderr│ {}", clean(line)))));
        if observation.cut > 0 {
            lines.push((0, format!("… {} more bytes were cut off", observation.cut)));
        }
        lines
    }

    /// How the command ended, in words.
    pub fn outcome(&self) -> String {
        match self.observation.as_ref().map(|observation| &observation.outcome) {
            None => "its text is no longer kept".to_owned(),
            Some(Outcome::Exit(status)) => format!("exit status {status}"),
            Some(Outcome::TimedOut) => "no answer before its deadline".to_owned(),
            Some(Outcome::Cut) => "the connection ended first".to_owned(),
        }
    }

    /// The text as rows of a screen of so many columns: a long line goes on in further rows, whose number is 0.
    pub fn rows(&self, columns: u16) -> Vec<Row> {
        let room = text_room(columns);
        let mut rows = Vec::new();
        for (index, (number, line)) in self.lines().into_iter().enumerate() {
            for (piece, text) in pieces(&line, room).into_iter().enumerate() {
                rows.push(Row { line: index, number: if piece == 0 { number } else { 0 }, text });
            }
        }
        rows
    }

    /// Moves by rows and stays within them.
    pub fn scroll_by(&mut self, steps: isize, columns: u16) {
        let last = self.rows(columns).len().saturating_sub(1);
        self.scroll = self.scroll.saturating_add_signed(steps).min(last);
    }

    /// Moves to the next (or previous) line that holds the search text, around the end. False if none does.
    pub fn find(&mut self, forward: bool, include_current: bool, columns: u16) -> bool {
        let needle = self.search.to_lowercase();
        if needle.is_empty() {
            return false;
        }
        let lines = self.lines();
        let rows = self.rows(columns);
        let count = lines.len();
        let start = rows.get(self.scroll).map_or(0, |row| row.line);
        let offsets = usize::from(!include_current)..count + usize::from(!include_current);
        let found = offsets
            .map(|offset| if forward { (start + offset) % count } else { (start + count - offset % count) % count })
            .find(|index| lines[*index].1.to_lowercase().contains(&needle));
        if let Some(index) = found {
            self.scroll = rows.iter().position(|row| row.line == index).unwrap_or(0);
        }
        found.is_some()
    }
}

/// One row of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Index of the line it belongs to, from 0.
    pub line: usize,
    /// Number of that line in standard output, from 1; 0 for lines of standard error and for rows that go on.
    pub number: u32,
    /// What is drawn.
    pub text: String,
}

/// Cells for the text beside frame and line numbers.
pub fn text_room(columns: u16) -> usize {
    usize::from(columns.saturating_sub(11)).max(8)
}

/// A text in pieces that fit into so many cells. At least one piece.
fn pieces(text: &str, room: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut used = 0;
    for character in text.chars() {
        let cells = unicode_width::UnicodeWidthChar::width(character).unwrap_or(0);
        if used + cells > room {
            pieces.push(String::new());
            used = 0;
        }
        used += cells;
        if let Some(last) = pieces.last_mut() {
            last.push(character);
        }
    }
    pieces
}

/// The longest line that is drawn, in characters: nobody scrolls through a line of ten megabytes.
const LONGEST_LINE: usize = 4000;

fn clean(line: &str) -> String {
    let end = line.char_indices().nth(LONGEST_LINE).map_or(line.len(), |(end, _)| end);
    let mut cleaned = clean_line(&line[..end]);
    if end < line.len() {
        cleaned.push_str(" … cut");
    }
    cleaned
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(stdout: &str, stderr: &str) -> Evidence {
        let observation = Observation::of_text("linux.test", stdout).with_stderr(stderr);
        Evidence {
            title: String::new(),
            conclusion: String::new(),
            reference: observation.reference(),
            observation: Some(Arc::new(observation)),
            line: 0,
            scroll: 0,
            search: String::new(),
        }
    }

    #[test]
    fn lines_are_safe_to_draw_and_keep_their_numbers() {
        let evidence = evidence("a\x1b[2Jb\nc\n", "d\x07\n");
        assert_eq!(evidence.lines(), vec![(1, "ab".to_owned()), (2, "c".to_owned()), (0, "stderr│ d".to_owned())]);
        let long = "x".repeat(1_000_000);
        assert!(self::evidence(&long, "").lines()[0].1.ends_with("… cut"));
    }

    #[test]
    fn a_long_line_goes_on_in_further_rows() {
        let long = format!("short\n{}\nend\n", "abcdefghij".repeat(20));
        let mut evidence = evidence(&long, "");
        let rows = evidence.rows(80);
        assert_eq!(rows.iter().map(|row| row.number).collect::<Vec<_>>(), [1, 2, 0, 0, 3]);
        assert_eq!(rows[1].text.len(), text_room(80));
        assert_eq!(rows[1..4].iter().map(|row| row.text.as_str()).collect::<String>(), "abcdefghij".repeat(20));
        evidence.search = "end".to_owned();
        assert!(evidence.find(true, true, 80));
        assert_eq!(evidence.scroll, 4);
        evidence.scroll_by(-2, 80);
        assert_eq!(evidence.scroll, 2);
        evidence.scroll_by(100, 80);
        assert_eq!(evidence.scroll, 4);
        assert!(!evidence.rows(0).is_empty());
    }

    #[test]
    fn search_goes_around_both_ways() {
        let mut evidence = evidence("one\ntwo\nThree\ntwo\n", "");
        evidence.search = "TWO".to_owned();
        assert!(evidence.find(true, true, 80));
        assert_eq!(evidence.scroll, 1);
        assert!(evidence.find(true, false, 80));
        assert_eq!(evidence.scroll, 3);
        assert!(evidence.find(true, false, 80));
        assert_eq!(evidence.scroll, 1);
        assert!(evidence.find(false, false, 80));
        assert_eq!(evidence.scroll, 3);
        evidence.search = "absent".to_owned();
        assert!(!evidence.find(true, false, 80));
        assert_eq!(evidence.scroll, 3);
        let mut empty = self::evidence("", "");
        empty.search = "x".to_owned();
        assert!(!empty.find(true, true, 80));
    }
}
