//! Finds its way in a recording. Opening one reads its header and walks the heads of its chunks; nothing else is unpacked
//! until it is asked for. A file is hostile until its checksums are right: lengths are looked at before anything is
//! reserved or unpacked, and what is broken is left out with a sentence.

use std::fs::OpenOptions;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::JournalError;
use super::chunk::{Keyframe, Messages, decode, is_sane};
use super::format::{
    Head, Header, Kind, LONGEST_HEADER, LONGEST_LANDMARKS, LONGEST_LANDMARKS_IN_ALL, Landmark, MAGIC, MOST_CHUNKS,
    MOST_LANDMARKS, MOST_TARGETS, Micros, SCHEMA,
};
use super::packing::Unpacker;
use crate::fabric::Timestamp;
use jiff::SignedDuration;
use jiff::tz::TimeZone;

/// How many bytes behind a broken head are searched for a keyframe.
const SEARCHED: u64 = 32 << 20;

/// How many of them are in memory at once.
const SEARCHED_AT_ONCE: u64 = 1 << 20;

/// How many bytes are searched in all: each is looked at as if a head began there.
const SEARCHED_IN_ALL: u64 = 64 << 20;

/// How many heads may be broken before the rest of a file is given up: a disk breaks a few, a joker all of them.
const MOST_SEARCHES: usize = 100;

/// Where a recording is read from.
pub trait Source: Read + Seek + Send {}

impl<T: Read + Seek + Send> Source for T {}

/// One recording.
pub struct Recording {
    file: PathBuf,
    source: Box<dyn Source>,
    header: Header,
    /// Where the heads of keyframes and of chunks of messages are, in their order. A chunk of 33 bytes can be one of
    /// millions: of each, no more is kept than this.
    places: Vec<u64>,
    segments: Vec<Segment>,
    landmarks: Vec<Landmark>,
    landmark_bytes: usize,
    searched: u64,
    end: Micros,
    loss: Option<u64>,
}

/// What lies from one keyframe to the next.
#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    at: Micros,
    /// Which of the places is the first of its keyframe.
    keyframe: u32,
    /// Which is the first of its messages.
    chunks: u32,
}

/// Marks a place as one that cannot be read, which tells the player that something is missing. No file is so long.
const LOST: u64 = 1 << 63;

impl std::fmt::Debug for Recording {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Recording")
            .field("file", &self.file)
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}

impl Recording {
    /// Opens a file.
    pub fn open(file: &Path) -> Result<Self, JournalError> {
        let refuse = |what: String| JournalError { file: file.to_owned(), what };
        let cannot = |error: &io::Error| refuse(format!("cannot be read: {error}; give the name of a recording"));
        // A pipe would keep us waiting for who writes to it.
        let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
        let opened = OpenOptions::new().read(true).custom_flags(flags).open(file).map_err(|error| cannot(&error))?;
        if !opened.metadata().map_err(|error| cannot(&error))?.is_file() {
            return Err(refuse("is no file; give the name of a recording".to_owned()));
        }
        Self::read(file, Box::new(opened))
    }

    /// Reads the layout of a recording; `file` is its name in errors.
    pub fn read(file: &Path, mut source: Box<dyn Source>) -> Result<Self, JournalError> {
        let refuse = |what: String| JournalError { file: file.to_owned(), what };
        let cannot = |error: io::Error| refuse(format!("cannot be read: {error}"));
        let size = source.seek(SeekFrom::End(0)).map_err(cannot)?;
        source.seek(SeekFrom::Start(0)).map_err(cannot)?;
        let header = read_header(&mut source, size).map_err(refuse)?;
        let mut recording = Self {
            file: file.to_owned(),
            source,
            header,
            places: Vec::new(),
            segments: vec![Segment::default()],
            landmarks: Vec::new(),
            landmark_bytes: 0,
            searched: 0,
            end: 0,
            loss: None,
        };
        let mut good = recording.walk(size).map_err(cannot)?;
        good = recording.look_at_the_end(good);
        recording.loss = (good < size).then(|| size - good);
        Ok(recording)
    }

    /// What stands at its start.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// When its last message came.
    pub fn end(&self) -> Micros {
        self.end
    }

    /// The time of day of a moment, by the clock at the start.
    pub fn clock(&self, at: Micros) -> Timestamp {
        let since = SignedDuration::from_micros(i64::try_from(at).unwrap_or(0));
        self.header.started.checked_add(since).unwrap_or(self.header.started)
    }

    /// Moments worth going to, in their order.
    pub fn landmarks(&self) -> &[Landmark] {
        &self.landmarks
    }

    /// If bytes at the end are broken: when the part before them ends, and how many they are.
    pub fn loss(&self, zone: &TimeZone) -> Option<String> {
        let bytes = self.loss?;
        let size = crate::app::format::bytes(bytes);
        let end = self.clock(self.end);
        let verb = if bytes == 1 { "is" } else { "are" };
        Some(format!("the recording ends at {}; {size} after it {verb} broken", crate::app::format::clock(end, zone)))
    }

    /// How many segments there are. The first has no keyframe.
    pub(super) fn segments(&self) -> usize {
        self.segments.len()
    }

    /// Number of the segment in which a moment lies.
    pub(super) fn segment_at(&self, at: Micros) -> usize {
        self.segments.partition_point(|segment| segment.at <= at).saturating_sub(1)
    }

    /// When a segment begins.
    pub(super) fn begins(&self, segment: usize) -> Micros {
        self.segments.get(segment).map_or(self.end, |segment| segment.at)
    }

    /// How many chunks of messages a segment has.
    pub(super) fn chunks(&self, segment: usize) -> usize {
        self.places_of(segment).1.len()
    }

    /// The keyframe at the start of a segment; `None` if it has none that can be read.
    pub(super) fn keyframe(&mut self, segment: usize) -> Option<Keyframe> {
        let (parts, _) = self.places_of(segment);
        if parts.is_empty() {
            return None;
        }
        let mut keyframe = Keyframe::default();
        for part in parts {
            let (head, packed) = self.chunk_at(self.places[part])?;
            keyframe.add(&head, packed)?;
        }
        Some(keyframe)
    }

    /// The messages of a chunk. The chunks of a segment must be asked for in their order, with the same unpacker. `None` if it is broken.
    pub(super) fn messages(&mut self, segment: usize, chunk: usize, unpacker: &mut Unpacker) -> Option<Messages> {
        let place = self.places_of(segment).1.nth(chunk)?;
        let (head, packed) = self.chunk_at(self.places[place])?;
        Messages::of(unpacker.unpack(&packed, head.raw as usize)?, &head)
    }

    /// Which places are those of the keyframe of a segment, and which those of its messages.
    fn places_of(&self, segment: usize) -> (Range<usize>, Range<usize>) {
        let Some(found) = self.segments.get(segment) else { return (0..0, 0..0) };
        let end = self.segments.get(segment + 1).map_or(self.places.len(), |next| next.keyframe as usize);
        let chunks = found.chunks as usize;
        (found.keyframe as usize..chunks, chunks..end)
    }

    fn head_at(&mut self, offset: u64) -> io::Result<Option<Head>> {
        self.source.seek(SeekFrom::Start(offset))?;
        let mut bytes = [0; Head::BYTES];
        self.source.read_exact(&mut bytes)?;
        Ok(Head::read(&bytes))
    }

    /// The head at a place and the bytes behind it; `None` if they are broken.
    fn chunk_at(&mut self, offset: u64) -> Option<(Head, Vec<u8>)> {
        if offset & LOST != 0 {
            return None;
        }
        let head = self.head_at(offset).ok()??;
        // Room is made as bytes come: a length is only believed as far as there is a file.
        let mut packed = Vec::new();
        self.source.by_ref().take(u64::from(head.packed)).read_to_end(&mut packed).ok()?;
        head.is_of(&packed).then_some((head, packed))
    }

    /// Walks the heads of all chunks; returns where the last one ends that lies within the file and follows in time.
    fn walk(&mut self, size: u64) -> io::Result<u64> {
        let mut offset = self.source.stream_position()?;
        // Where the keyframe begins whose last part is still to come.
        let mut parts = 0;
        let mut searches = 0;
        let good = loop {
            if offset + Head::BYTES as u64 > size || self.places.len() >= MOST_CHUNKS {
                break offset;
            }
            let Some(head) = self.head_at(offset)?.filter(|head| head.from >= self.end) else {
                if searches == MOST_SEARCHES {
                    break offset;
                }
                searches += 1;
                let Some(next) = self.keyframe_behind(offset)? else { break offset };
                self.places.truncate(parts);
                self.places.push(offset | LOST);
                parts = self.places.len();
                offset = next;
                continue;
            };
            let next = offset + Head::BYTES as u64 + u64::from(head.packed);
            if next > size {
                break offset;
            }
            match head.kind {
                Kind::KeyframePart => self.places.push(offset),
                Kind::Keyframe => {
                    self.places.push(offset);
                    let index = |place: usize| u32::try_from(place).expect("there are at most some millions");
                    let (keyframe, chunks) = (index(parts), index(self.places.len()));
                    self.segments.push(Segment { at: head.from, keyframe, chunks });
                    parts = self.places.len();
                }
                // Nobody writes a chunk without messages, and to look at millions of them takes time.
                Kind::Messages if head.raw == 0 => {}
                Kind::Messages => {
                    self.places.truncate(parts);
                    self.places.push(offset);
                    parts = self.places.len();
                }
                Kind::Landmarks => self.add_landmarks(offset, &head),
                Kind::Other(_) => {}
            }
            self.end = head.until;
            offset = next;
        };
        self.places.truncate(parts);
        self.places.shrink_to_fit();
        self.segments.shrink_to_fit();
        Ok(good)
    }

    /// Where the next keyframe begins behind a head that is broken, if one does not far from it.
    fn keyframe_behind(&mut self, offset: u64) -> io::Result<Option<u64>> {
        let (mut from, until) = (offset + 1, offset + 1 + SEARCHED);
        let mut bytes = Vec::new();
        while from < until && self.searched < SEARCHED_IN_ALL {
            // A head may lie across the end of a piece.
            self.source.seek(SeekFrom::Start(from))?;
            bytes.clear();
            self.source.by_ref().take(SEARCHED_AT_ONCE + Head::BYTES as u64 - 1).read_to_end(&mut bytes)?;
            let found = bytes.windows(Head::BYTES).position(|window| {
                // A look at the first byte saves nearly all checksums.
                let is_keyframe = matches!(Kind::of(window[0]), Kind::Keyframe | Kind::KeyframePart);
                let head = window.first_chunk().filter(|_| is_keyframe).and_then(Head::read);
                head.is_some_and(|head| head.from >= self.end)
            });
            self.searched += found.map_or(SEARCHED_AT_ONCE, |found| found as u64 + 1);
            if let Some(found) = found {
                return Ok(Some(from + found as u64));
            }
            if (bytes.len() as u64) < SEARCHED_AT_ONCE {
                break;
            }
            from += SEARCHED_AT_ONCE;
        }
        Ok(None)
    }

    /// Adds moments worth going to, as far as there is room for them.
    fn add_landmarks(&mut self, offset: u64, head: &Head) {
        let raw = head.raw as usize;
        let is_full = self.landmarks.len() >= MOST_LANDMARKS || self.landmark_bytes + raw > LONGEST_LANDMARKS_IN_ALL;
        if raw > LONGEST_LANDMARKS || is_full {
            return;
        }
        // What does not come out costs the time of unpacking, too.
        self.landmark_bytes += raw;
        let Some((_, packed)) = self.chunk_at(offset) else { return };
        let raw = Unpacker::new().ok().and_then(|mut unpacker| unpacker.unpack(&packed, raw));
        let landmarks = raw.and_then(|raw| decode::<Vec<Landmark>>(&raw)).unwrap_or_default();
        let room = MOST_LANDMARKS - self.landmarks.len();
        self.landmarks.extend(landmarks.into_iter().filter(|landmark| landmark.at <= head.until).take(room));
    }

    /// Looks whether the chunks of the last segment are whole; what follows a broken one is left out. Returns where the good part ends.
    fn look_at_the_end(&mut self, good: u64) -> u64 {
        let last = self.segments.len() - 1;
        let mut end = self.segments[last].at;
        for place in self.places_of(last).1 {
            let offset = self.places[place];
            let Some((head, _)) = self.chunk_at(offset) else {
                self.places.truncate(place);
                self.end = end;
                self.landmarks.retain(|landmark| landmark.at <= end);
                return offset & !LOST;
            };
            end = head.until;
        }
        good
    }
}

fn read_header(source: &mut Box<dyn Source>, size: u64) -> Result<Header, String> {
    let none = "is no recording of rdmascope; one is made with `rdmascope --record FILE`";
    if size == 0 {
        return Err("is empty; a recording is made with `rdmascope --record FILE`".to_owned());
    }
    let mut bytes = [0; MAGIC.len() + 12];
    let mut magic = [0; MAGIC.len()];
    source.read_exact(&mut magic).map_err(|_| none.to_owned())?;
    if &magic != MAGIC {
        return Err(none.to_owned());
    }
    let broken = "is a recording whose start is broken: nothing of it can be replayed";
    source.read_exact(&mut bytes[..12]).map_err(|_| broken.to_owned())?;
    let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let (schema, length, sum) = (number(0), number(4), number(8));
    if schema == 0 || length as usize > LONGEST_HEADER {
        return Err(broken.to_owned());
    }
    let mut text = Vec::new();
    source.by_ref().take(u64::from(length)).read_to_end(&mut text).map_err(|_| broken.to_owned())?;
    if text.len() != length as usize || crc32fast::hash(&text) != sum {
        return Err(broken.to_owned());
    }
    if schema > SCHEMA {
        let program = serde_json::from_slice::<serde_json::Value>(&text).ok();
        let program = program.as_ref().and_then(|header| header.get("program")?.as_str());
        let program = crate::fabric::Text::new(program.unwrap_or("a newer rdmascope"));
        return Err(format!(
            "was written by {program} in layout {schema}; this program reads layouts up to {SCHEMA}: use a newer rdmascope"
        ));
    }
    let header: Header = serde_json::from_slice(&text).map_err(|_| broken.to_owned())?;
    if is_sane(header.started) && header.targets.len() <= MOST_TARGETS { Ok(header) } else { Err(broken.to_owned()) }
}
