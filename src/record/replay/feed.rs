//! The messages of a recording one after the other, from some segment on. A chunk that cannot be read ends its segment:
//! the next keyframe is where things can be known again.

use std::collections::VecDeque;

use super::super::format::Micros;
use super::super::packing::Unpacker;
use super::super::reader::{Recording, Timed};

/// What comes next.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    /// A message.
    Message(Timed),
    /// A part that cannot be read.
    Broken {
        /// When it begins.
        from: Micros,
        /// When it ends.
        until: Micros,
        /// The segment that follows; `None` if none does.
        segment: Option<usize>,
    },
}

/// Where in a recording one reads.
pub(super) struct Feed {
    segment: usize,
    chunk: usize,
    /// `None` at the end, and without memory.
    unpacker: Option<Unpacker>,
    waiting: VecDeque<Item>,
    last: Micros,
    /// True once the broken part in front was told.
    told: bool,
}

impl std::fmt::Debug for Feed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Feed")
            .field("segment", &self.segment)
            .field("chunk", &self.chunk)
            .field("waiting", &self.waiting.len())
            .finish_non_exhaustive()
    }
}

impl Feed {
    /// From the start of a segment on.
    pub fn start(segment: usize) -> Self {
        Self { segment, chunk: 0, unpacker: Unpacker::new().ok(), waiting: VecDeque::new(), last: 0, told: false }
    }

    /// Behind all segments.
    pub fn end(segments: usize) -> Self {
        Self { segment: segments, chunk: 0, unpacker: None, waiting: VecDeque::new(), last: 0, told: false }
    }

    /// When the next item came; `None` at the end.
    pub fn next_at(&mut self, recording: &mut Recording) -> Option<Micros> {
        loop {
            match self.waiting.front() {
                Some(Item::Message(timed)) => return Some(timed.at),
                Some(Item::Broken { until, .. }) => return Some(*until),
                None => {}
            }
            if self.segment >= recording.segments() {
                return None;
            }
            if self.chunk >= recording.chunks(self.segment) {
                *self = Self { last: self.last, ..Self::start(self.segment + 1) };
                continue;
            }
            let unpacker = self.unpacker.as_mut()?;
            if let Some(messages) = recording.messages(self.segment, self.chunk, unpacker) {
                self.chunk += 1;
                self.waiting.extend(messages.into_iter().map(Item::Message));
            } else {
                let segment = Some(self.segment + 1).filter(|next| *next < recording.segments());
                let until = segment.map_or(recording.end(), |segment| recording.begins(segment));
                let from = self.last.max(recording.begins(self.segment));
                self.told = false;
                self.waiting.push_back(Item::Broken { from, until, segment });
            }
        }
    }

    /// When the part that cannot be read begins and ends, if it comes next; told once.
    pub fn broken(&mut self) -> Option<(Micros, Micros)> {
        match self.waiting.front() {
            Some(Item::Broken { from, until, .. }) if !std::mem::replace(&mut self.told, true) => Some((*from, *until)),
            _ => None,
        }
    }

    /// The next item, once [`Self::next_at`] has told when it came.
    pub fn take(&mut self) -> Option<Item> {
        let item = self.waiting.pop_front();
        if let Some(Item::Message(timed)) = &item {
            self.last = timed.at;
        }
        item
    }
}
