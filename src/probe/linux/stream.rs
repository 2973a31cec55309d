//! Placeholder of the stream.

use std::sync::Arc;

use crate::fabric::series::CounterValue;
use crate::fabric::{Fact, Observation, Report, TargetId, Timestamp};

/// The block.
pub fn block(nonce: &str) -> String {
    format!(
        "{{ _k={nonce}; read -r _u _r </proc/uptime; echo \"$_k READY $_u\"; while read -r _n _q _s; do read -r _u _r </proc/uptime; echo \"$_k tick $_n $_u\"; done; exit 0; }}\n"
    )
}

/// One tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickRequest {
    /// Number.
    pub number: u64,
    /// With queue pairs.
    pub queue_pairs: bool,
    /// With a new look for files.
    pub rescan: bool,
}

impl TickRequest {
    /// The line to send.
    pub fn line(&self) -> String {
        format!("{} {} {}\n", self.number, u8::from(self.queue_pairs), u8::from(self.rescan))
    }
}

/// What a tick gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Number.
    pub number: u64,
    /// Uptime.
    pub uptime_centiseconds: u64,
    /// Counters.
    pub counters: Vec<CounterValue>,
    /// Facts.
    pub facts: Vec<Fact>,
    /// Raw.
    pub observation: Option<Arc<Observation>>,
    /// Files that are gone.
    pub vanished: Vec<String>,
    /// Wall clock.
    pub wall_clock_ms: Option<i64>,
}

/// What a line completed.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamEvent {
    /// Ready.
    Ready {
        /// Files.
        files: usize,
        /// Boot.
        boot_id: Option<String>,
        /// Wall clock.
        wall_clock_ms: Option<i64>,
        /// Uptime.
        uptime_centiseconds: u64,
    },
    /// A tick.
    Tick(Tick),
    /// Queue pairs.
    QueuePairs {
        /// Number of the tick.
        tick: u64,
        /// Report.
        report: Report,
    },
}

/// Reads the lines.
#[derive(Debug)]
pub struct StreamParser {
    nonce: String,
}

impl StreamParser {
    /// New.
    pub fn new(_target: &TargetId, nonce: &str) -> Self {
        Self { nonce: nonce.to_owned() }
    }

    /// One line.
    pub fn line(&mut self, line: &str, _at: Timestamp) -> Option<StreamEvent> {
        let mut words = line.strip_prefix(&self.nonce)?.split_whitespace();
        let centiseconds = |text: &str| text.replace('.', "").parse().ok();
        match words.next()? {
            "READY" => Some(StreamEvent::Ready {
                files: 0,
                boot_id: None,
                wall_clock_ms: None,
                uptime_centiseconds: centiseconds(words.next()?)?,
            }),
            "tick" => Some(StreamEvent::Tick(Tick {
                number: words.next()?.parse().ok()?,
                uptime_centiseconds: centiseconds(words.next()?)?,
                counters: vec![],
                facts: vec![],
                observation: None,
                vanished: vec![],
                wall_clock_ms: None,
            })),
            _ => None,
        }
    }
}
