//! Finds its way in a recording. Opening one reads its header and walks the heads of its chunks; nothing else is unpacked
//! until it is asked for. A file is hostile until its checksums are right: lengths are looked at before anything is
//! reserved or unpacked, and what is broken is left out with a sentence.

use std::fs::OpenOptions;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use jiff::SignedDuration;
use jiff::tz::TimeZone;
use serde::de::DeserializeOwned;

use super::JournalError;
use super::format::{Head, Header, Kind, LONGEST_HEADER, LONGEST_KEYFRAME, Landmark, MAGIC, Micros, SCHEMA};
use super::packing::Unpacker;
use crate::app::{Message, Model};
use crate::fabric::Timestamp;

/// How many bytes behind a broken head are searched for a keyframe.
const SEARCHED: u64 = 32 << 20;

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
    segments: Vec<Segment>,
    landmarks: Vec<Landmark>,
    end: Micros,
    loss: Option<u64>,
}

/// What lies from one keyframe to the next.
#[derive(Clone, Debug, Default)]
struct Segment {
    at: Micros,
    keyframe: Vec<Place>,
    chunks: Vec<Place>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    offset: u64,
    head: Head,
}

/// A message and when it came.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed {
    /// When it came.
    pub at: Micros,
    /// The message; `None` if this program does not know its kind.
    pub message: Option<Message>,
}

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
            segments: vec![Segment::default()],
            landmarks: Vec::new(),
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
        self.segments.get(segment).map_or(0, |segment| segment.chunks.len())
    }

    /// The model at the start of a segment; `None` if it has none that can be read.
    pub(super) fn keyframe(&mut self, segment: usize) -> Option<Model> {
        let places = self.segments.get(segment)?.keyframe.clone();
        let total: usize = places.iter().map(|place| place.head.raw as usize).sum();
        if places.is_empty() || total > LONGEST_KEYFRAME {
            return None;
        }
        let mut raw = Vec::new();
        for place in places {
            let packed = self.packed(place)?;
            raw.extend(Unpacker::new().ok()?.unpack(&packed, place.head.raw as usize)?);
        }
        let times = |model: &Model| is_sane(model.now) && model.screen.live.frozen.is_none_or(is_sane);
        decode::<Model>(&raw).filter(times)
    }

    /// The messages of a chunk. The chunks of a segment must be asked for in their order, with the same unpacker. `None` if it is broken.
    pub(super) fn messages(&mut self, segment: usize, chunk: usize, unpacker: &mut Unpacker) -> Option<Vec<Timed>> {
        let place = *self.segments.get(segment)?.chunks.get(chunk)?;
        let packed = self.packed(place)?;
        let raw = unpacker.unpack(&packed, place.head.raw as usize)?;
        split(&raw, place.head.from, place.head.until)
    }

    fn packed(&mut self, place: Place) -> Option<Vec<u8>> {
        // Room is made as bytes come: a length is only believed as far as there is a file.
        self.source.seek(SeekFrom::Start(place.offset + Head::BYTES as u64)).ok()?;
        let mut packed = Vec::new();
        self.source.by_ref().take(u64::from(place.head.packed)).read_to_end(&mut packed).ok()?;
        place.head.is_of(&packed).then_some(packed)
    }

    /// Walks the heads of all chunks; returns where the last one ends that lies within the file and follows in time.
    fn walk(&mut self, size: u64) -> io::Result<u64> {
        let mut offset = self.source.stream_position()?;
        let mut parts: Vec<Place> = Vec::new();
        let mut searches = 0;
        loop {
            if offset + Head::BYTES as u64 > size {
                return Ok(offset);
            }
            self.source.seek(SeekFrom::Start(offset))?;
            let mut bytes = [0; Head::BYTES];
            self.source.read_exact(&mut bytes)?;
            let Some(head) = Head::read(&bytes).filter(|head| head.from >= self.end) else {
                if searches == MOST_SEARCHES {
                    return Ok(offset);
                }
                searches += 1;
                let Some(next) = self.keyframe_behind(offset)? else { return Ok(offset) };
                // A place that cannot be read tells the player that something is missing.
                let (from, until) = (self.end, self.end);
                let head = Head { kind: Kind::Messages, packed: 0, raw: 1, from, until, checksum: 1 };
                if let Some(segment) = self.segments.last_mut() {
                    segment.chunks.push(Place { offset, head });
                }
                parts.clear();
                offset = next;
                continue;
            };
            let next = offset + Head::BYTES as u64 + u64::from(head.packed);
            if next > size {
                return Ok(offset);
            }
            let place = Place { offset, head };
            match head.kind {
                Kind::KeyframePart => parts.push(place),
                Kind::Keyframe => {
                    parts.push(place);
                    let keyframe = std::mem::take(&mut parts);
                    self.segments.push(Segment { at: head.from, keyframe, chunks: Vec::new() });
                }
                Kind::Messages => {
                    parts.clear();
                    if let Some(segment) = self.segments.last_mut() {
                        segment.chunks.push(place);
                    }
                }
                Kind::Landmarks => {
                    let landmarks = self.landmarks_at(place).unwrap_or_default();
                    self.landmarks.extend(landmarks);
                }
                Kind::Other(_) => {}
            }
            self.end = head.until;
            offset = next;
        }
    }

    /// Where the next keyframe begins behind a head that is broken, if one does not far from it.
    fn keyframe_behind(&mut self, offset: u64) -> io::Result<Option<u64>> {
        self.source.seek(SeekFrom::Start(offset + 1))?;
        let mut bytes = Vec::new();
        self.source.by_ref().take(SEARCHED).read_to_end(&mut bytes)?;
        let found = bytes.windows(Head::BYTES).position(|window| {
            let head = window.try_into().ok().and_then(Head::read);
            head.is_some_and(|head| matches!(head.kind, Kind::Keyframe | Kind::KeyframePart) && head.from >= self.end)
        });
        Ok(found.map(|found| offset + 1 + found as u64))
    }

    fn landmarks_at(&mut self, place: Place) -> Option<Vec<Landmark>> {
        let packed = self.packed(place)?;
        let raw = Unpacker::new().ok()?.unpack(&packed, place.head.raw as usize)?;
        let mut landmarks = decode::<Vec<Landmark>>(&raw)?;
        landmarks.retain(|landmark| landmark.at <= place.head.until);
        Some(landmarks)
    }

    /// Looks whether the chunks of the last segment are whole; what follows a broken one is left out. Returns where the good part ends.
    fn look_at_the_end(&mut self, good: u64) -> u64 {
        let last = self.segments.len() - 1;
        let chunks = self.segments[last].chunks.clone();
        let Some(broken) = chunks.iter().position(|place| self.packed(*place).is_none()) else { return good };
        self.segments[last].chunks.truncate(broken);
        self.end = match broken.checked_sub(1) {
            Some(before) => chunks[before].head.until,
            None => self.segments[last].at,
        };
        let end = self.end;
        self.landmarks.retain(|landmark| landmark.at <= end);
        chunks[broken].offset
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
    if is_sane(header.started) { Ok(header) } else { Err(broken.to_owned()) }
}

/// True for times with which can be reckoned without fear: no machine of this program lives outside of them.
pub(super) fn is_sane(time: Timestamp) -> bool {
    // From 1970 to 2242; the years that nanoseconds in 64 bits can name end in 2262.
    (0..8_600_000_000).contains(&time.as_second())
}

/// The messages of an unpacked chunk; `None` if they are not what the head says.
fn split(mut raw: &[u8], from: Micros, until: Micros) -> Option<Vec<Timed>> {
    let mut messages = Vec::new();
    let mut before = from;
    while !raw.is_empty() {
        let (length, rest) = raw.split_first_chunk::<4>()?;
        let (at, rest) = rest.split_first_chunk::<8>()?;
        let at = u64::from_le_bytes(*at);
        if at < before || at > until {
            return None;
        }
        before = at;
        let (message, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let message = decode::<Message>(message).filter(|message| message.at().is_none_or(is_sane));
        messages.push(Timed { at, message });
        raw = rest;
    }
    Some(messages)
}

fn decode<T: DeserializeOwned>(raw: &[u8]) -> Option<T> {
    let mut deserializer = rmp_serde::Deserializer::from_read_ref(raw);
    T::deserialize(&mut deserializer).ok()
}
