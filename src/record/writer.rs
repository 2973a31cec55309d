//! Writes a recording: packs messages into chunks of at most a second, folds them as the console does, and puts a
//! keyframe of that fold between them now and then. It knows no thread and no clock: whoever calls it says when.

use std::io::{self, Write};

use serde::Serialize;

use super::format::{
    Head, Header, Kind, LONGEST_CHUNK, LONGEST_HEADER, LONGEST_KEYFRAME, LONGEST_LANDMARKS_IN_ALL, Landmark, MAGIC,
    MOST_LANDMARKS, MOST_TARGETS, Micros, SCHEMA,
};
use super::packing::Packer;
use crate::app::{Message, Model, Severity, update};
use crate::fabric::Text;

/// The longest time that the messages of one chunk span.
pub const CHUNK: Micros = 1_000_000;

/// A chunk that has grown to this many bytes is written before its second is over.
const FULL_CHUNK: usize = 1 << 20;

/// The least time between two keyframes.
pub const KEYFRAME: Micros = 30_000_000;

/// How many times as many bytes of messages as of the last keyframe there must be before another is worth its room: going to a moment
/// reads one keyframe and what follows it, so both should take about as long.
const KEYFRAME_SHARE: usize = 4;

/// The longest time between two keyframes.
const LATEST_KEYFRAME: Micros = 600_000_000;

/// The most messages from one keyframe to the next: who goes to a moment takes in no more than these.
pub const KEYFRAME_MESSAGES: usize = 20_000;

/// After how many messages the next run of the checks is waited for before a keyframe is made all the same.
const ENOUGH_MESSAGES: usize = KEYFRAME_MESSAGES / 2;

/// How many landmarks stand in one chunk. A text of a target is at most two kilobytes long, so they stay below the longest chunk of them.
const LANDMARKS_AT_ONCE: usize = 256;

/// The longest part of a keyframe.
const PART: usize = 8 << 20;

/// Writes one recording.
pub struct Writer<W: Write> {
    out: W,
    packer: Packer,
    /// The fold of all messages so far: what keyframes are made of.
    model: Model,
    chunk: Vec<u8>,
    from: Micros,
    until: Micros,
    keyframe_at: Micros,
    keyframe_bytes: usize,
    since_keyframe: usize,
    messages_since_keyframe: usize,
    /// Number of the last event that was looked at.
    last_event: u64,
    landmarks: Vec<Landmark>,
    /// How many were written, and in how many bytes.
    landmarks_written: (usize, usize),
    failed: bool,
}

impl<W: Write> Writer<W> {
    /// Writes the start of a recording: its header, and the model as it is now.
    pub fn new(mut out: W, header: &Header, model: Model) -> io::Result<Self> {
        let text = serde_json::to_vec(header).map_err(io::Error::other)?;
        if text.len() > LONGEST_HEADER || header.targets.len() > MOST_TARGETS {
            return Err(io::Error::other("there are too many targets for the header of a recording"));
        }
        let mut start = MAGIC.to_vec();
        start.extend_from_slice(&SCHEMA.to_le_bytes());
        start.extend_from_slice(&u32::try_from(text.len()).map_err(io::Error::other)?.to_le_bytes());
        start.extend_from_slice(&crc32fast::hash(&text).to_le_bytes());
        start.extend_from_slice(&text);
        out.write_all(&start)?;
        let last_event = model.events.iter().next_back().map_or(0, |event| event.number);
        let mut writer = Self {
            out,
            packer: Packer::new()?,
            model,
            chunk: Vec::new(),
            from: 0,
            until: 0,
            keyframe_at: 0,
            keyframe_bytes: 0,
            since_keyframe: 0,
            messages_since_keyframe: 0,
            last_event,
            landmarks: Vec::new(),
            landmarks_written: (0, 0),
            failed: false,
        };
        writer.keyframe()?;
        writer.out.flush()?;
        Ok(writer)
    }

    /// Takes in a message that came so many microseconds after the start; times never fall.
    pub fn take(&mut self, at: Micros, message: Message) -> io::Result<()> {
        let at = at.max(self.until);
        if !self.chunk.is_empty() && at >= self.from + CHUNK {
            self.flush()?;
        }
        if self.chunk.is_empty() {
            self.from = at;
        }
        self.until = at;
        let begin = self.chunk.len();
        self.chunk.extend_from_slice(&[0; 12]);
        self.chunk[begin + 4..begin + 12].copy_from_slice(&at.to_le_bytes());
        encode(&mut self.chunk, &message).map_err(io::Error::other)?;
        let length = self.chunk.len() - begin - 12;
        if length + 12 > LONGEST_CHUNK {
            // Nothing that a target says is so long: what is read is cut before.
            return Err(io::Error::other("a message is longer than a recording can hold"));
        }
        let length = u32::try_from(length).map_err(io::Error::other)?;
        self.chunk[begin..begin + 4].copy_from_slice(&length.to_le_bytes());
        if self.chunk.len() > LONGEST_CHUNK {
            // The message goes into a chunk of its own.
            let message = self.chunk.split_off(begin);
            self.flush()?;
            (self.chunk, self.from) = (message, at);
        }
        drop(update(&mut self.model, message));
        self.note_landmarks(at);
        self.messages_since_keyframe += 1;
        if self.chunk.len() >= FULL_CHUNK || self.is_keyframe_due() {
            self.flush()?;
        }
        Ok(())
    }

    /// Since when messages wait for being written; `None` if none do.
    pub fn waiting_since(&self) -> Option<Micros> {
        (!self.chunk.is_empty()).then_some(self.from)
    }

    /// Writes what waits, and a keyframe if one is due. After an error nothing is written any more: what is in the file so far can be read.
    pub fn flush(&mut self) -> io::Result<()> {
        if !self.chunk.is_empty() {
            let chunk = std::mem::take(&mut self.chunk);
            let packed = self.packer.pack(&chunk)?;
            self.write(Kind::Messages, chunk.len(), (self.from, self.until), &packed)?;
            self.since_keyframe += chunk.len();
            self.chunk = chunk;
            self.chunk.clear();
        }
        self.write_landmarks()?;
        if self.is_keyframe_due() && self.since_keyframe > 0 {
            self.keyframe()?;
        }
        self.out.flush()
    }

    /// True if going to a moment from here on is worth another keyframe. One is made where the checks ran just now, so that
    /// running them once more over what it holds tells the same.
    fn is_keyframe_due(&self) -> bool {
        let since = self.until.saturating_sub(self.keyframe_at);
        let bytes = self.since_keyframe + self.chunk.len();
        let worth_it = bytes >= self.keyframe_bytes * KEYFRAME_SHARE || since >= LATEST_KEYFRAME;
        let messages = self.messages_since_keyframe;
        let is_wanted = since >= KEYFRAME && worth_it || messages >= ENOUGH_MESSAGES;
        is_wanted && self.model.is_just_checked() || messages >= KEYFRAME_MESSAGES
    }

    /// Writes what waits and gives back what was written to.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        Ok(self.out)
    }

    fn keyframe(&mut self) -> io::Result<()> {
        let mut raw = Vec::with_capacity(self.keyframe_bytes + self.keyframe_bytes / 8);
        encode(&mut raw, &self.model).map_err(io::Error::other)?;
        self.keyframe_at = self.until;
        self.keyframe_bytes = raw.len();
        self.since_keyframe = 0;
        self.messages_since_keyframe = 0;
        if raw.len() > LONGEST_KEYFRAME {
            return Ok(());
        }
        let mut parts = raw.chunks(PART).peekable();
        while let Some(part) = parts.next() {
            let kind = if parts.peek().is_some() { Kind::KeyframePart } else { Kind::Keyframe };
            self.write_whole(kind, part)?;
        }
        self.packer.restart()
    }

    /// Writes the landmarks that wait, as many as a file may have.
    fn write_landmarks(&mut self) -> io::Result<()> {
        for landmarks in std::mem::take(&mut self.landmarks).chunks(LANDMARKS_AT_ONCE) {
            let (count, bytes) = self.landmarks_written;
            let landmarks = &landmarks[..landmarks.len().min(MOST_LANDMARKS - count)];
            let mut raw = Vec::new();
            encode(&mut raw, &landmarks).map_err(io::Error::other)?;
            if landmarks.is_empty() || bytes + raw.len() > LONGEST_LANDMARKS_IN_ALL {
                break;
            }
            self.landmarks_written = (count + landmarks.len(), bytes + raw.len());
            self.write_whole(Kind::Landmarks, &raw)?;
        }
        Ok(())
    }

    /// Remembers the events of the last message that someone may want to go to.
    fn note_landmarks(&mut self, at: Micros) {
        let new = self.model.events.iter().rev().take_while(|event| event.number > self.last_event);
        let mut noted: Vec<Landmark> = new
            .filter(|event| event.severity == Severity::Error || self.model.marks.of_event(event.number).is_some())
            .map(|event| {
                let target = event.target.as_ref().map_or(String::new(), |target| format!("{target}: "));
                Landmark { at, text: Text::new(&format!("{target}{}", event.text)) }
            })
            .collect();
        self.last_event = self.model.events.iter().next_back().map_or(self.last_event, |event| event.number);
        noted.reverse();
        self.landmarks.extend(noted);
    }

    /// Writes a chunk that is a stream of its own.
    fn write_whole(&mut self, kind: Kind, raw: &[u8]) -> io::Result<()> {
        let packed = Packer::new()?.pack(raw)?;
        self.write(kind, raw.len(), (self.until, self.until), &packed)
    }

    fn write(&mut self, kind: Kind, raw: usize, (from, until): (Micros, Micros), packed: &[u8]) -> io::Result<()> {
        if self.failed {
            return Err(io::Error::other("the recording has stopped"));
        }
        let head = Head::new(kind, raw, from, until, packed);
        let mut bytes = head.bytes().to_vec();
        bytes.extend_from_slice(packed);
        // Set before the try: a panic within it is a failure too.
        self.failed = true;
        self.out.write_all(&bytes)?;
        self.failed = false;
        Ok(())
    }
}

/// Appends the form in which recordings hold things.
pub(super) fn encode<T: Serialize>(bytes: &mut Vec<u8>, value: &T) -> Result<(), rmp_serde::encode::Error> {
    value.serialize(&mut rmp_serde::Serializer::new(bytes).with_struct_map())
}
