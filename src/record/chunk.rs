//! What is in chunks once they are unpacked. Messages are made one at a time, when they are asked for: what is short in a
//! file can be long in memory, and a chunk that was made to be so must not be there all at once.

use serde::de::DeserializeOwned;

use super::format::{Head, LONGEST_KEYFRAME, Micros};
use super::packing::Unpacker;
use crate::app::{Message, Model};
use crate::fabric::Timestamp;

/// How many times as long as in the file a keyframe may be unpacked, beyond [`SMALL_KEYFRAME`]. What programs know packs
/// to a fourteenth; what packs to so much less was made to fill a memory.
const MOST_PACKED: usize = 250;

/// A keyframe of no more bytes than this may pack as it likes.
const SMALL_KEYFRAME: usize = 1 << 20;

/// A message and when it came.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed {
    /// When it came.
    pub at: Micros,
    /// The message; `None` if this program does not know its kind.
    pub message: Option<Message>,
}

/// The messages of one chunk, one after the other.
#[derive(Debug)]
pub(super) struct Messages {
    raw: Vec<u8>,
    next: usize,
}

impl Messages {
    /// The messages of an unpacked chunk; `None` if they are not what its head says.
    pub fn of(raw: Vec<u8>, head: &Head) -> Option<Self> {
        let (mut rest, mut before) = (raw.as_slice(), head.from);
        while !rest.is_empty() {
            let (at, _, behind) = first(rest)?;
            if at < before || at > head.until {
                return None;
            }
            (rest, before) = (behind, at);
        }
        Some(Self { raw, next: 0 })
    }

    /// When the next message came; `None` behind the last.
    pub fn next_at(&self) -> Option<Micros> {
        first(&self.raw[self.next..]).map(|(at, ..)| at)
    }
}

impl Iterator for Messages {
    type Item = Timed;

    fn next(&mut self) -> Option<Timed> {
        let (at, message, behind) = first(&self.raw[self.next..])?;
        let next = self.raw.len() - behind.len();
        let message = decode::<Message>(message).filter(|message| message.at().is_none_or(is_sane));
        self.next = next;
        Some(Timed { at, message })
    }
}

/// When the first message came, its bytes, and those behind it.
fn first(raw: &[u8]) -> Option<(Micros, &[u8], &[u8])> {
    let (length, rest) = raw.split_first_chunk::<4>()?;
    let (at, rest) = rest.split_first_chunk::<8>()?;
    let (message, behind) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    Some((u64::from_le_bytes(*at), message, behind))
}

/// A keyframe as it lies in the file. Making a model of it takes long enough to be worth a thread.
#[derive(Debug, Default)]
pub(super) struct Keyframe {
    parts: Vec<(usize, Vec<u8>)>,
    raw: usize,
    packed: usize,
}

impl Keyframe {
    /// Adds a part; `None` if the whole grows too long by it.
    pub fn add(&mut self, head: &Head, packed: Vec<u8>) -> Option<()> {
        self.raw += head.raw as usize;
        self.packed += packed.len();
        self.parts.push((head.raw as usize, packed));
        (self.raw <= LONGEST_KEYFRAME).then_some(())
    }

    /// True if it packs better than anything that a program knows.
    pub fn is_bomb(&self) -> bool {
        self.raw > SMALL_KEYFRAME + MOST_PACKED * self.packed
    }

    /// The model; `None` if it cannot be read.
    pub fn model(self) -> Option<Model> {
        if self.is_bomb() {
            return None;
        }
        let mut raw = Vec::with_capacity(self.raw);
        for (length, packed) in self.parts {
            raw.extend(Unpacker::new().ok()?.unpack(&packed, length)?);
        }
        let times = |model: &Model| is_sane(model.now) && model.screen.live.frozen.is_none_or(is_sane);
        let mut model = decode::<Model>(&raw).filter(times)?;
        model.restore();
        Some(model)
    }
}

/// True for times with which can be reckoned without fear: no machine of this program lives outside of them.
pub(super) fn is_sane(time: Timestamp) -> bool {
    // From 1970 to 2242; the years that nanoseconds in 64 bits can name end in 2262.
    (0..8_600_000_000).contains(&time.as_second())
}

/// Reads the form in which recordings hold things.
pub(super) fn decode<T: DeserializeOwned>(raw: &[u8]) -> Option<T> {
    let mut deserializer = rmp_serde::Deserializer::from_read_ref(raw);
    T::deserialize(&mut deserializer).ok()
}
