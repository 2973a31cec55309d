//! The messages of a recording one after the other, from some segment on. A chunk that cannot be read ends its segment:
//! the next keyframe is where things can be known again.

use super::super::chunk::{Messages, Timed};
use super::super::format::Micros;
use super::super::packing::Unpacker;
use super::super::reader::Recording;

/// What comes next.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    /// A message.
    Message(Timed),
    /// A part that cannot be read; the number of the segment that follows, `None` if none does.
    Broken(Option<usize>),
}

/// A part that cannot be read.
#[derive(Clone, Copy, Debug)]
struct Gap {
    from: Micros,
    until: Micros,
    /// The segment that follows.
    segment: Option<usize>,
    told: bool,
}

/// Where in a recording one reads.
pub(super) struct Feed {
    segment: usize,
    chunk: usize,
    /// `None` until the first chunk of the segment is read.
    unpacker: Option<Unpacker>,
    messages: Option<Messages>,
    gap: Option<Gap>,
    last: Micros,
}

impl std::fmt::Debug for Feed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Feed")
            .field("segment", &self.segment)
            .field("chunk", &self.chunk)
            .field("gap", &self.gap)
            .finish_non_exhaustive()
    }
}

impl Feed {
    /// From the start of a segment on; behind all segments if there is none of this number.
    pub fn start(segment: usize) -> Self {
        Self { segment, chunk: 0, unpacker: None, messages: None, gap: None, last: 0 }
    }

    /// When the next item came; `None` at the end.
    pub fn next_at(&mut self, recording: &mut Recording) -> Option<Micros> {
        loop {
            if let Some(at) = self.messages.as_ref().and_then(Messages::next_at) {
                return Some(at);
            }
            if let Some(gap) = self.gap {
                return Some(gap.until);
            }
            if self.segment >= recording.segments() {
                return None;
            }
            if self.chunk >= recording.chunks(self.segment) {
                *self = Self { last: self.last, ..Self::start(self.segment + 1) };
                continue;
            }
            if self.unpacker.is_none() {
                self.unpacker = Some(Unpacker::new().ok()?);
            }
            let unpacker = self.unpacker.as_mut()?;
            self.messages = recording.messages(self.segment, self.chunk, unpacker);
            if self.messages.is_some() {
                self.chunk += 1;
            } else {
                let segment = Some(self.segment + 1).filter(|next| *next < recording.segments());
                let until = segment.map_or(recording.end(), |segment| recording.begins(segment));
                let from = self.last.max(recording.begins(self.segment));
                self.gap = Some(Gap { from, until, segment, told: false });
            }
        }
    }

    /// When the part that cannot be read begins and ends, if it comes next; told once.
    pub fn broken(&mut self) -> Option<(Micros, Micros)> {
        let gap = self.gap.as_mut()?;
        (!std::mem::replace(&mut gap.told, true)).then_some((gap.from, gap.until))
    }

    /// The next item, once [`Self::next_at`] has told when it came.
    pub fn take(&mut self) -> Option<Item> {
        if let Some(timed) = self.messages.as_mut().and_then(Iterator::next) {
            self.last = timed.at;
            return Some(Item::Message(timed));
        }
        self.gap.take().map(|gap| Item::Broken(gap.segment))
    }
}
