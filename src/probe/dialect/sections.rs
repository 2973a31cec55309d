//! Takes the output of a compiled script apart, as it arrives: pieces of standard output and standard error go in,
//! completed sections come out.
//!
//! Nothing that a target sends can break it. Whatever comes before the first marker (a login banner) is kept as noise;
//! a line that looks like a marker but does not fit in its place is content; what is too long is counted and dropped. The
//! lines around items, which carry the nonce of the script, are given in their fixed form (see [`items`]).

use std::time::Duration;

use super::items;
use super::posix::{COMMAND_SECONDS, marker};
use crate::fabric::Outcome;

/// The most bytes that are kept of one source, for each of its two outputs.
pub const MOST_OF_SECTION: usize = 1 << 20;

/// The most bytes that one whole batch may send; then it is ended.
pub const MOST_OF_BATCH: u64 = 16 << 20;

/// The most bytes of noise that are kept.
const MOST_NOISE: usize = 4096;

/// A marker line is short; what is longer is none.
const LONGEST_MARKER: usize = 200;

/// What one source gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Place of the source in the script, from 0.
    pub index: usize,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took on the target, where the target could tell.
    pub duration: Option<Duration>,
    /// Standard output, byte for byte; of items, with the lines around them in their fixed form.
    pub stdout: Vec<u8>,
    /// Standard error, the same way.
    pub stderr: Vec<u8>,
    /// Bytes of both that were dropped because there were too many.
    pub cut: u64,
    /// The command as it was run, where that is not what its source says: by `sudo`.
    pub command: Option<String>,
}

/// Reads the output of one script.
#[derive(Debug)]
pub struct SectionReader {
    stdout: Stream,
    stderr: Stream,
    /// Where each source stands.
    parts: Vec<Part>,
    received: u64,
    /// The start of every marker.
    marker: String,
}

#[derive(Clone, Debug, Default)]
struct Part {
    stdout: Half,
    stderr: Half,
    given: bool,
}

/// What one of the two outputs gave of one source.
#[derive(Clone, Debug, Default)]
struct Half {
    bytes: Vec<u8>,
    cut: u64,
    begun: Option<Mark>,
    ended: Option<Mark>,
}

impl Half {
    fn push(&mut self, bytes: &[u8]) {
        let kept = bytes.len().min(MOST_OF_SECTION.saturating_sub(self.bytes.len()));
        self.bytes.extend_from_slice(&bytes[..kept]);
        self.cut = self.cut.saturating_add((bytes.len() - kept) as u64);
    }
}

/// What a marker line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    index: usize,
    uptime_centiseconds: Option<u64>,
    /// `None` at the begin, the exit status at the end.
    status: Option<i32>,
}

impl SectionReader {
    /// A reader for a script of `count` sources that was compiled with `nonce`.
    pub fn new(count: usize, nonce: &str) -> Self {
        Self {
            stdout: Stream::new(nonce),
            stderr: Stream::new(nonce),
            parts: vec![Part::default(); count],
            received: 0,
            marker: marker(nonce),
        }
    }

    /// Takes a piece of standard output; gives the sections that are complete now.
    pub fn feed_stdout(&mut self, bytes: &[u8]) -> Vec<Section> {
        self.received = self.received.saturating_add(bytes.len() as u64);
        self.stdout.feed(bytes, &mut self.parts, |part| &mut part.stdout);
        self.completed()
    }

    /// Takes a piece of standard error; gives the sections that are complete now.
    pub fn feed_stderr(&mut self, bytes: &[u8]) -> Vec<Section> {
        self.received = self.received.saturating_add(bytes.len() as u64);
        self.stderr.feed(bytes, &mut self.parts, |part| &mut part.stderr);
        self.completed()
    }

    /// True once the target sent more than a batch may: nothing more should be read.
    pub fn flooded(&self) -> bool {
        self.received > MOST_OF_BATCH
    }

    /// True once the first marker came: there is a shell and it runs the script.
    pub fn has_started(&self) -> bool {
        self.stdout.started
    }

    /// True once every source gave its section.
    pub fn is_complete(&self) -> bool {
        self.parts.iter().all(|part| part.given)
    }

    /// What came before the first marker on each of the two outputs, cut to a few kilobytes: a banner, or the words of
    /// whatever runs there instead of a shell.
    pub fn noise(&self) -> (&[u8], &[u8]) {
        (&self.stdout.noise, &self.stderr.noise)
    }

    /// Nothing more comes. Gives the sections that began and never ended, with what there is of them and `outcome`;
    /// sources that never began give none.
    pub fn finish(mut self, outcome: &Outcome) -> Vec<Section> {
        self.stdout.end(&mut self.parts, |part| &mut part.stdout);
        self.stderr.end(&mut self.parts, |part| &mut part.stderr);
        let mut sections = self.completed();
        for (index, part) in self.parts.into_iter().enumerate() {
            if part.given || part.stdout.begun.is_none() {
                continue;
            }
            let mut section = section(index, part, &self.marker);
            // The end marker of one output alone still says how the command ended.
            if section.outcome == Outcome::Cut {
                section.outcome = outcome.clone();
            }
            sections.push(section);
        }
        sections
    }

    fn completed(&mut self) -> Vec<Section> {
        let mut sections = Vec::new();
        for (index, part) in self.parts.iter_mut().enumerate() {
            if !part.given && part.stdout.ended.is_some() && part.stderr.ended.is_some() {
                let whole = std::mem::replace(part, Part { given: true, ..Part::default() });
                sections.push(section(index, whole, &self.marker));
            }
        }
        sections
    }
}

fn section(index: usize, mut part: Part, marker: &str) -> Section {
    if items::are_marked(&part.stdout.bytes, marker) {
        for half in [&mut part.stdout, &mut part.stderr] {
            half.bytes = items::settled(&half.bytes, marker).into_owned();
        }
    }
    let duration = match (part.stdout.begun, part.stdout.ended) {
        (Some(begun), Some(ended)) => ended
            .uptime_centiseconds
            .zip(begun.uptime_centiseconds)
            .and_then(|(end, begin)| end.checked_sub(begin))
            .map(|centiseconds| Duration::from_millis(centiseconds.saturating_mul(10))),
        _ => None,
    };
    let outcome = match part.stdout.ended.and_then(|mark| mark.status) {
        None => Outcome::Cut,
        Some(status) if was_ended_by_timeout(status, duration) => Outcome::TimedOut,
        Some(status) => Outcome::Exit(status),
    };
    Section {
        index,
        outcome,
        duration,
        cut: part.stdout.cut.saturating_add(part.stderr.cut),
        stdout: part.stdout.bytes,
        stderr: part.stderr.bytes,
        command: None,
    }
}

/// `timeout` ends with 124 when it ended its command (some versions with the signal's status), which a program may also
/// say for reasons of its own: only together with the time that passed it is certain.
fn was_ended_by_timeout(status: i32, duration: Option<Duration>) -> bool {
    let long =
        duration.is_none_or(|duration| duration + Duration::from_millis(500) >= Duration::from_secs(COMMAND_SECONDS));
    match status {
        124 => long,
        137 | 143 => long && duration.is_some(),
        _ => false,
    }
}

/// One of the two outputs.
#[derive(Debug)]
struct Stream {
    /// A newline, the marker's start and a blank.
    needle: Vec<u8>,
    /// Bytes that may be the start of a marker.
    pending: Vec<u8>,
    inside: Option<usize>,
    next: usize,
    started: bool,
    noise: Vec<u8>,
}

impl Stream {
    fn new(nonce: &str) -> Self {
        Self {
            needle: format!("\n{} ", marker(nonce)).into_bytes(),
            pending: Vec::new(),
            inside: None,
            next: 0,
            started: false,
            noise: Vec::new(),
        }
    }

    fn feed(&mut self, bytes: &[u8], parts: &mut [Part], half: fn(&mut Part) -> &mut Half) {
        let mut buffer = std::mem::take(&mut self.pending);
        buffer.extend_from_slice(bytes);
        let mut rest: &[u8] = &buffer;
        loop {
            match self.look(rest) {
                Found::Nothing { keep } => {
                    let (content, kept) = rest.split_at(rest.len() - keep);
                    self.content(content, parts, half);
                    self.pending = kept.to_vec();
                    return;
                }
                Found::Line { at, end } => {
                    let line = &rest[at + self.needle.len()..end];
                    if let Some(mark) = self.fits(line, parts.len()) {
                        self.content(&rest[..at], parts, half);
                        self.take(mark, parts, half);
                        rest = &rest[end + 1..];
                    } else {
                        // Not in its place: content, and the newline at its end may start a true marker.
                        self.content(&rest[..end], parts, half);
                        rest = &rest[end..];
                    }
                }
                Found::TooLong { until } => {
                    self.content(&rest[..until], parts, half);
                    rest = &rest[until..];
                }
            }
        }
    }

    fn end(&mut self, parts: &mut [Part], half: fn(&mut Part) -> &mut Half) {
        let pending = std::mem::take(&mut self.pending);
        self.content(&pending, parts, half);
    }

    /// Looks for the first marker line.
    fn look(&self, bytes: &[u8]) -> Found {
        let mut from = 0;
        while let Some(offset) = bytes[from..].iter().position(|&byte| byte == b'\n') {
            let at = from + offset;
            let here = &bytes[at..];
            if here.len() < self.needle.len() {
                if self.needle.starts_with(here) {
                    return Found::Nothing { keep: here.len() };
                }
            } else if here.starts_with(&self.needle) {
                let line = &here[self.needle.len()..];
                return match line.iter().take(LONGEST_MARKER).position(|&byte| byte == b'\n') {
                    Some(length) => Found::Line { at, end: at + self.needle.len() + length },
                    None if line.len() < LONGEST_MARKER => Found::Nothing { keep: here.len() },
                    None => Found::TooLong { until: at + self.needle.len() },
                };
            }
            from = at + 1;
        }
        Found::Nothing { keep: 0 }
    }

    /// Reads a marker line; `None` if it is not one or not in its place.
    fn fits(&self, line: &[u8], count: usize) -> Option<Mark> {
        let mark = parse_mark(std::str::from_utf8(line).ok()?)?;
        let in_place = match (self.inside, mark.status) {
            (None, None) => mark.index >= self.next && mark.index < count,
            (Some(index), Some(_)) => mark.index == index,
            _ => false,
        };
        in_place.then_some(mark)
    }

    fn take(&mut self, mark: Mark, parts: &mut [Part], half: fn(&mut Part) -> &mut Half) {
        let Some(part) = parts.get_mut(mark.index) else { return };
        let half = half(part);
        self.started = true;
        if mark.status.is_none() {
            self.inside = Some(mark.index);
            self.next = mark.index + 1;
            half.begun = Some(mark);
        } else {
            self.inside = None;
            half.ended = Some(mark);
        }
    }

    fn content(&mut self, bytes: &[u8], parts: &mut [Part], half: fn(&mut Part) -> &mut Half) {
        if let Some(part) = self.inside.and_then(|index| parts.get_mut(index)) {
            half(part).push(bytes);
        } else if !self.started {
            let room = MOST_NOISE.saturating_sub(self.noise.len());
            self.noise.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }
}

enum Found {
    /// No whole marker; the last `keep` bytes may be the start of one.
    Nothing { keep: usize },
    /// A whole line: the needle starts at `at`, the line's newline is at `end`.
    Line { at: usize, end: usize },
    /// The needle, but no end of line where a marker would have one.
    TooLong { until: usize },
}

/// `INDEX UPTIME begin` or `INDEX UPTIME STATUS`; an uptime that the target cannot tell is `-`.
fn parse_mark(line: &str) -> Option<Mark> {
    let mut words = line.split(' ');
    let (index, uptime, last) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() {
        return None;
    }
    let status = if last == "begin" { None } else { Some(last.parse().ok().or(last.is_empty().then_some(1))?) };
    Some(Mark { index: index.parse().ok()?, uptime_centiseconds: centiseconds(uptime), status })
}

/// `12345.67` in hundredths.
fn centiseconds(uptime: &str) -> Option<u64> {
    let (seconds, rest) = uptime.split_once('.').unwrap_or((uptime, "0"));
    let hundredths: u64 = match rest.len() {
        1 => rest.parse::<u64>().ok()? * 10,
        2 => rest.parse().ok()?,
        _ => return None,
    };
    seconds.parse::<u64>().ok()?.checked_mul(100)?.checked_add(hundredths)
}

#[cfg(test)]
mod tests;
