//! Marks: letters on the time axis that all graphs share, each with a note if one was typed. A mark is an event too, so
//! that the list of events tells what was done beside what followed from it.

use serde::{Deserialize, Serialize};

use super::events::Event;
use super::message::Severity;
use super::model::Model;
use super::screen::{Editing, Focus, Overlay, Panel, Purpose};
use crate::fabric::{Text, Timestamp};

/// How many marks are kept; of more the oldest go.
pub const KEPT_MARKS: usize = 500;

/// A mark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Its number, from 0, for the whole session.
    pub number: u32,
    /// The moment it marks, by our own clock.
    pub at: Timestamp,
    /// What was typed; empty without a note.
    pub note: Text,
    /// Number of the event that tells of it.
    pub event: u64,
}

impl Mark {
    /// Its letter: `A` to `Z`, then `AA`.
    pub fn letter(&self) -> String {
        letter(self.number)
    }
}

/// All marks, in the order of their moments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marks {
    marks: Vec<Mark>,
    made: u32,
}

impl Marks {
    /// Marks by their moments, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Mark> + ExactSizeIterator {
        self.marks.iter()
    }

    /// The mark of this number.
    pub fn get(&self, number: u32) -> Option<&Mark> {
        self.marks.iter().find(|mark| mark.number == number)
    }

    /// The mark that an event tells of.
    pub fn of_event(&self, event: u64) -> Option<&Mark> {
        self.marks.iter().find(|mark| mark.event == event)
    }

    /// Where the selected mark stands in the list, from 0: the newest moment without a selection, or if it is gone.
    pub fn position(&self, selected: Option<u32>) -> Option<usize> {
        let chosen = self.marks.iter().position(|mark| Some(mark.number) == selected);
        chosen.or(self.marks.len().checked_sub(1))
    }

    /// The number of the mark some places further on in the list.
    pub fn moved(&self, selected: Option<u32>, steps: isize) -> Option<u32> {
        let next = self.position(selected)?.saturating_add_signed(steps).min(self.marks.len() - 1);
        Some(self.marks[next].number)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    fn add(&mut self, at: Timestamp, note: Text, event: u64) -> u32 {
        let number = self.made;
        self.made += 1;
        if self.marks.len() == KEPT_MARKS {
            self.marks.remove(0);
        }
        let place = self.marks.partition_point(|mark| mark.at <= at);
        self.marks.insert(place, Mark { number, at, note, event });
        number
    }

    fn remove(&mut self, number: u32) -> Option<Mark> {
        let index = self.marks.iter().position(|mark| mark.number == number)?;
        Some(self.marks.remove(index))
    }
}

/// `A` to `Z`, then `AA` to `ZZ` and so on.
fn letter(number: u32) -> String {
    let mut left = number + 1;
    let mut letters = Vec::new();
    while left > 0 {
        left -= 1;
        letters.push(char::from(b'A' + u8::try_from(left % 26).unwrap_or(0)));
        left /= 26;
    }
    letters.iter().rev().collect()
}

impl Model {
    /// Puts a mark at a moment, with the next letter, and tells it as an event. Returns its number.
    pub fn mark(&mut self, at: Timestamp, note: &str) -> u32 {
        let note = Text::new(note);
        let text = told(&letter(self.marks.made), at, &note, self.now);
        let event = Event {
            number: 0,
            at: self.now,
            target: None,
            severity: Severity::Info,
            text,
            entity: None,
            evidence: None,
            line: 0,
        };
        let event = self.events.push(event);
        self.marks.add(at, note, event)
    }

    /// The moment that a mark put now would mark: now; but where the cursor of the graphs stands, or they stand still, that
    /// moment, while they are shown.
    pub fn time_to_mark(&self) -> Timestamp {
        let live = &self.screen.live;
        let looks_back = live.cursor.is_some() || live.frozen.is_some();
        if self.screen.panel == Panel::Live && looks_back { self.cursor_time() } else { self.now }
    }
}

/// What the event of a mark says. Its own time is when it was put: a mark further back says so.
fn told(letter: &str, at: Timestamp, note: &Text, put: Timestamp) -> String {
    let mut text = format!("mark {letter}");
    let back = put.duration_since(at).as_secs();
    if let Ok(back @ 1..) = u64::try_from(back) {
        text = format!("{text} ({} back)", super::format::span(back));
    }
    if note.is_empty() { text } else { format!("{text}: {note}") }
}

/// Puts a mark and lets its note be typed.
pub fn put(model: &mut Model) {
    let number = model.mark(model.time_to_mark(), "");
    model.screen.editing = Some(Editing::new(Purpose::Note { mark: number, fresh: true }, ""));
}

/// Lets the note of the selected mark be typed anew.
pub fn rename_selected(model: &mut Model) {
    match selected(model).map(|mark| (mark.number, mark.note.to_string())) {
        Some((mark, note)) => {
            model.screen.editing = Some(Editing::new(Purpose::Note { mark, fresh: false }, &note));
        }
        None => none_selected(model),
    }
}

/// Gives a mark another note.
pub fn set_note(model: &mut Model, number: u32, note: &str) {
    let Some(mark) = model.marks.marks.iter_mut().find(|mark| mark.number == number) else { return };
    mark.note = Text::new(note);
    let Some(put) = model.events.get(mark.event).map(|event| event.at) else { return };
    let text = told(&mark.letter(), mark.at, &mark.note, put);
    let event = mark.event;
    model.events.reword(event, text);
}

/// Takes a mark back that was put a moment ago: if nothing happened since, as if it had never been.
pub fn take_back(model: &mut Model, number: u32) {
    let Some(mark) = model.marks.remove(number) else { return };
    if number + 1 == model.marks.made && model.events.take_back(mark.event) {
        model.marks.made = number;
    } else {
        model.events.reword(mark.event, format!("mark {} was taken back", mark.letter()));
    }
}

/// Removes the selected mark. Its event stays and says so.
pub fn delete_selected(model: &mut Model) {
    let Some(number) = selected(model).map(|mark| mark.number) else { return none_selected(model) };
    let marks = &model.marks.marks;
    let after = marks.iter().skip_while(|mark| mark.number != number).nth(1);
    let neighbour = after.map(|mark| mark.number);
    let Some(mark) = model.marks.remove(number) else { return };
    let note = if mark.note.is_empty() { String::new() } else { format!(": {}", mark.note) };
    model.events.reword(mark.event, format!("mark {} (deleted){note}", mark.letter()));
    model.screen.notice = Some((format!("mark {} is deleted", mark.letter()), model.now));
    if let Some(Overlay::Marks { selected }) = model.screen.overlays.last_mut() {
        *selected = neighbour;
    }
}

fn none_selected(model: &mut Model) {
    let text = if model.marks.is_empty() { "no mark was put yet" } else { "no mark is selected" };
    model.screen.notice = Some((text.to_owned(), model.now));
}

/// The selected mark: that of the list of marks, else that of the selected event.
pub fn selected(model: &Model) -> Option<&Mark> {
    match model.screen.top() {
        Some(Overlay::Marks { selected }) => model.marks.marks.get(model.marks.position(*selected)?),
        Some(_) => None,
        None if model.screen.panel == Panel::Events && model.screen.focus == Focus::Panel => {
            model.marks.of_event(model.selected_event()?.number)
        }
        None => None,
    }
}

/// Shows the graphs at a mark: they stand still, with the cursor on it.
pub fn show(model: &mut Model, number: u32) {
    let Some(mark) = model.marks.get(number) else { return };
    let (at, text) = (mark.at, format!("mark {}", mark.letter()));
    let note = if mark.note.is_empty() { text } else { format!("{text}: {}", mark.note) };
    let window = i64::from(model.screen.live.window());
    let edge = model.shown_time();
    let before_edge = edge.duration_since(at).as_secs();
    // A mark in sight stays where it is; another one comes to the middle, as far as there is time after it.
    let seconds = if (0..=window).contains(&before_edge) && edge >= at {
        before_edge
    } else {
        model.now.duration_since(at).as_secs().clamp(0, window / 2)
    };
    model.screen.live.frozen = Some(at + jiff::SignedDuration::from_secs(seconds));
    model.screen.live.cursor = Some(u32::try_from(seconds).unwrap_or(0));
    model.screen.panel = Panel::Live;
    model.screen.focus = Focus::Panel;
    model.screen.overlays.clear();
    model.screen.notice = Some((note, model.now));
}

/// Shows the mark before or after the moment that is looked at.
pub fn step(model: &mut Model, forward: bool) {
    let from = if model.screen.live.cursor.is_some() { model.cursor_time() } else { model.shown_time() };
    let next = if forward {
        model.marks.iter().find(|mark| mark.at > from)
    } else {
        model.marks.iter().rfind(|mark| mark.at < from)
    };
    if let Some(number) = next.map(|mark| mark.number) {
        show(model, number);
        return;
    }
    let text = match (model.marks.is_empty(), forward) {
        (true, _) => "no mark was put yet",
        (false, true) => "there is no later mark",
        (false, false) => "there is no earlier mark",
    };
    model.screen.notice = Some((text.to_owned(), model.now));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_go_on_after_z() {
        let letters: Vec<String> = [0, 1, 25, 26, 27, 51, 52, 701, 702].into_iter().map(letter).collect();
        assert_eq!(letters, ["A", "B", "Z", "AA", "AB", "AZ", "BA", "ZZ", "AAA"]);
    }

    #[test]
    fn marks_are_kept_in_the_order_of_their_moments_and_the_oldest_go() {
        let at = |second: i64| Timestamp::from_second(second).expect("a small number");
        let mut marks = Marks::default();
        for second in [5, 3, 4, 5] {
            marks.add(at(second), Text::new(""), 1);
        }
        let order: Vec<String> = marks.iter().map(Mark::letter).collect();
        assert_eq!(order, ["B", "C", "A", "D"]);
        for second in 0..600 {
            marks.add(at(10 + second), Text::new(""), 1);
        }
        assert_eq!(marks.len(), KEPT_MARKS);
        assert!(marks.get(603).is_some() && marks.get(0).is_none());
    }
}
