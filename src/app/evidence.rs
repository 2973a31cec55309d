//! Evidence: the raw text that a value came from, with the command, the target, the time and how long it took.

use std::sync::Arc;

use super::model::Model;
use crate::fabric::text::clean_line;
use crate::fabric::{Attribute, EntityId, Observation, ObservationRef, Outcome, State};

/// The evidence overlay.
#[derive(Clone, Debug, PartialEq)]
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
    /// First line shown.
    pub scroll: usize,
    /// The text searched for.
    pub search: String,
}

impl Evidence {
    /// Evidence for one reading, if anything was read.
    pub fn of_reading(model: &Model, id: &EntityId, attribute: Attribute) -> Option<Self> {
        let reading = model.fabric.reading(id, attribute)?;
        let conclusion = match &reading.state {
            State::Known(value) => super::format::value(attribute, value),
            other => other.why().unwrap_or_default(),
        };
        Some(Self::new(
            model,
            format!("{} {}", id.entity, attribute.label()),
            conclusion,
            reading.source.clone(),
            reading.line,
        ))
    }

    /// Evidence for what an observation says at `line`.
    pub fn new(model: &Model, title: String, conclusion: String, reference: ObservationRef, line: u32) -> Self {
        let observation = model.raw.get(&reference).cloned();
        // The line that says it stands a little below the top.
        let scroll = usize::try_from(line).unwrap_or(0).saturating_sub(4);
        Self { title, conclusion, reference, observation, line, scroll, search: String::new() }
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

    /// Moves to the next (or previous) line that holds the search text, around the end. False if none does.
    pub fn find(&mut self, forward: bool, include_current: bool) -> bool {
        let needle = self.search.to_lowercase();
        if needle.is_empty() {
            return false;
        }
        let lines = self.lines();
        let count = lines.len();
        let start = self.scroll.min(count.saturating_sub(1));
        let offsets = usize::from(!include_current)..count + usize::from(!include_current);
        let found = offsets
            .map(|offset| if forward { (start + offset) % count } else { (start + count - offset % count) % count })
            .find(|index| lines[*index].1.to_lowercase().contains(&needle));
        if let Some(index) = found {
            self.scroll = index;
        }
        found.is_some()
    }
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
    fn search_goes_around_both_ways() {
        let mut evidence = evidence("one\ntwo\nThree\ntwo\n", "");
        evidence.search = "TWO".to_owned();
        assert!(evidence.find(true, true));
        assert_eq!(evidence.scroll, 1);
        assert!(evidence.find(true, false));
        assert_eq!(evidence.scroll, 3);
        assert!(evidence.find(true, false));
        assert_eq!(evidence.scroll, 1);
        assert!(evidence.find(false, false));
        assert_eq!(evidence.scroll, 3);
        evidence.search = "absent".to_owned();
        assert!(!evidence.find(true, false));
        assert_eq!(evidence.scroll, 3);
        let mut empty = self::evidence("", "");
        empty.search = "x".to_owned();
        assert!(!empty.find(true, true));
    }
}
