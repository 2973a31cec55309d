//! The layout of a recording. A file begins with [`MAGIC`], the schema number and a [`Header`]; then come chunks, each
//! with a head of fixed size that says what it holds, how long it is packed and unpacked and which time it spans, with one
//! checksum of the bytes behind it and one of the head itself. Who walks the heads knows the whole file without unpacking
//! anything.

use serde::{Deserialize, Serialize};

use crate::app::{Model, TargetKind};
use crate::fabric::{TargetId, Text, Timestamp};

/// The first bytes of every recording, so that `head -c 18` tells what it is.
pub const MAGIC: &[u8; 18] = b"rdmascope journal\n";

/// The number of this layout. It rises only when older programs can no longer read what newer ones write.
pub const SCHEMA: u32 = 1;

/// The longest chunk, unpacked, in bytes. What claims more is refused before anything is unpacked.
pub const LONGEST_CHUNK: usize = 16 << 20;

/// The longest chunk as it lies in the file: what does not pack at all grows a little.
pub const LONGEST_PACKED: usize = LONGEST_CHUNK + (LONGEST_CHUNK >> 7);

/// The longest header, in bytes.
pub const LONGEST_HEADER: usize = 1 << 20;

/// The longest keyframe, all parts together and unpacked, in bytes.
pub const LONGEST_KEYFRAME: usize = 128 << 20;

/// The most chunks of messages and of keyframes in one file that are looked at: a chunk a second for a month and a half.
pub const MOST_CHUNKS: usize = 4_000_000;

/// The most targets that a header may name.
pub const MOST_TARGETS: usize = 10_000;

/// The most moments worth going to in one file.
pub const MOST_LANDMARKS: usize = 10_000;

/// The longest chunk of such moments, unpacked, in bytes.
pub const LONGEST_LANDMARKS: usize = 1 << 20;

/// The longest that all such chunks of one file may be together, unpacked, in bytes.
pub const LONGEST_LANDMARKS_IN_ALL: usize = 16 << 20;

/// The longest recording, in microseconds: a hundred years. What claims a later time is broken.
pub const LONGEST_RECORDING: Micros = 100 * 366 * 86_400 * 1_000_000;

/// Microseconds since the start of a recording.
pub type Micros = u64;

/// What stands at the start of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Name and version of the program that wrote it.
    pub program: Text,
    /// When it was begun, by the clock of the machine it was begun on.
    pub started: Timestamp,
    /// Name of the inventory; empty if none was given.
    pub inventory: Text,
    /// The targets in their order.
    pub targets: Vec<HeaderTarget>,
    /// Cells across of the terminal at the start.
    pub columns: u16,
    /// Cells down.
    pub rows: u16,
    /// Milliseconds between two samples.
    pub period_ms: u64,
}

impl Header {
    /// The header of a recording that begins now with this model, on a terminal of so many cells across and down.
    pub fn of(model: &Model, started: Timestamp, (columns, rows): (u16, u16)) -> Self {
        let target = |id: &TargetId| Some(HeaderTarget { name: id.clone(), kind: model.targets.get(id)?.kind });
        Self {
            program: Text::new(concat!("rdmascope ", env!("CARGO_PKG_VERSION"))),
            started,
            inventory: model.options.inventory.clone(),
            targets: model.order.iter().filter_map(target).collect(),
            columns,
            rows,
            period_ms: u64::try_from(model.options.period.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// One target in a header.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeaderTarget {
    /// Its name.
    pub name: TargetId,
    /// What it was taken for at the start.
    pub kind: TargetKind,
}

/// What a chunk holds. Numbers that are not known here are of a newer program, and are passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Messages in their order. The chunks between two keyframes are one stream to the packer.
    Messages,
    /// All that the console knew, or the last part of it.
    Keyframe,
    /// A part of a keyframe; more follows.
    KeyframePart,
    /// Moments worth going to.
    Landmarks,
    /// Something of a newer program.
    Other(u8),
}

impl Kind {
    fn number(self) -> u8 {
        match self {
            Self::Messages => 1,
            Self::Keyframe => 2,
            Self::KeyframePart => 3,
            Self::Landmarks => 4,
            Self::Other(number) => number,
        }
    }

    pub(super) fn of(number: u8) -> Self {
        match number {
            1 => Self::Messages,
            2 => Self::Keyframe,
            3 => Self::KeyframePart,
            4 => Self::Landmarks,
            other => Self::Other(other),
        }
    }
}

/// The head of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// What the chunk holds.
    pub kind: Kind,
    /// Bytes behind the head.
    pub packed: u32,
    /// Bytes when unpacked.
    pub raw: u32,
    /// When its first message came.
    pub from: Micros,
    /// When its last message came.
    pub until: Micros,
    /// CRC-32 of the bytes behind the head. In the file it is followed by the CRC-32 of the head up to here.
    pub checksum: u32,
}

impl Head {
    /// Bytes of a head.
    pub const BYTES: usize = 33;

    /// The head of a chunk with this content.
    pub fn new(kind: Kind, raw: usize, from: Micros, until: Micros, packed: &[u8]) -> Self {
        let short = |length: usize| u32::try_from(length).expect("chunks are kept below 16 MiB");
        let checksum = crc32fast::hash(packed);
        Self { kind, packed: short(packed.len()), raw: short(raw), from, until, checksum }
    }

    /// The head as bytes, little endian.
    pub fn bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0] = self.kind.number();
        bytes[1..5].copy_from_slice(&self.packed.to_le_bytes());
        bytes[5..9].copy_from_slice(&self.raw.to_le_bytes());
        bytes[9..17].copy_from_slice(&self.from.to_le_bytes());
        bytes[17..25].copy_from_slice(&self.until.to_le_bytes());
        bytes[25..29].copy_from_slice(&self.checksum.to_le_bytes());
        let sum = crc32fast::hash(&bytes[..29]);
        bytes[29..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads a head; `None` if these bytes are none, or if no chunk can have it.
    pub fn read(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let short = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let long = |at: usize| u64::from(short(at)) | u64::from(short(at + 4)) << 32;
        let head = Self {
            kind: Kind::of(bytes[0]),
            packed: short(1),
            raw: short(5),
            from: long(9),
            until: long(17),
            checksum: short(25),
        };
        let fits = head.packed as usize <= LONGEST_PACKED && head.raw as usize <= LONGEST_CHUNK;
        let in_time = head.from <= head.until && head.until <= LONGEST_RECORDING;
        (fits && in_time && bytes[0] != 0 && crc32fast::hash(&bytes[..29]) == short(29)).then_some(head)
    }

    /// True if this is the head of these bytes.
    pub fn is_of(&self, packed: &[u8]) -> bool {
        packed.len() == self.packed as usize && crc32fast::hash(packed) == self.checksum
    }
}

/// A moment worth going to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Landmark {
    /// When it was seen.
    pub at: Micros,
    /// What happened.
    pub text: Text,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_was_written_and_its_checksums_cover_all_of_it() {
        let head = Head::new(Kind::Messages, 1000, 5, 1 << 40, b"packed");
        assert_eq!(Head::read(&head.bytes()), Some(head));
        assert!(head.is_of(b"packed"));
        assert!(!head.is_of(b"pached") && !head.is_of(b"packe"));
        for byte in 0..Head::BYTES {
            let mut bytes = head.bytes();
            bytes[byte] ^= 1;
            assert_eq!(Head::read(&bytes), None, "byte {byte}");
        }
    }

    #[test]
    fn what_no_chunk_can_have_is_no_head() {
        let of = |kind: u8, packed: usize, raw: usize, from: u64, until: u64| {
            let head = Head {
                kind: Kind::Other(kind),
                packed: u32::try_from(packed).expect("short"),
                raw: u32::try_from(raw).expect("short"),
                from,
                until,
                checksum: 0,
            };
            Head::read(&head.bytes())
        };
        assert!(of(1, 10, LONGEST_CHUNK, 1, 1).is_some());
        assert!(of(1, 10, LONGEST_CHUNK + 1, 1, 1).is_none());
        assert!(of(1, LONGEST_PACKED + 1, 10, 1, 1).is_none());
        assert!(of(1, 10, 10, 2, 1).is_none());
        assert!(of(1, 10, 10, 2, u64::MAX).is_none());
        assert!(of(0, 0, 0, 0, 0).is_none(), "a hole in a file is no chunk");
        assert_eq!(of(200, 0, 0, 0, 0).map(|head| head.kind), Some(Kind::Other(200)));
    }
}
