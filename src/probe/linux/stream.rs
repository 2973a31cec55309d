//! The one-second sampler of a Linux guest: counters and states of RDMA ports and netdevs, and queue pairs on request.
//!
//! The collector runs exactly `/bin/sh -s`, sends [`block()`], waits for [`StreamEvent::Ready`] (a shell may swallow what
//! comes earlier), then sends one [`TickRequest`] line per sample and feeds each line that comes back to a
//! [`StreamParser`]. The end of its input ends the block. Nothing runs on the guest between two ticks, and a tick starts
//! no process unless it asks for queue pairs or for a rescan.
//!
//! Lines of the protocol begin with the nonce and a letter: `H boot-id` begins a header, `D device driver` and `F path`
//! fill it, `R files left-out uptime wall-clock capabilities` ends it; `T number uptime|value|value...` is a tick, with a
//! value for each file in the header's order (`!` for one that could not be opened); `Q number` and `E number status`
//! enclose the output of `rdma` (`Q number path` where `sudo` ran the one at that path). The local transport has no shell: [`native`] makes the same lines.

mod block;
pub mod native;
mod parser;

pub use block::{MOST_FILES, block, block_by_root};
pub use parser::StreamParser;

use crate::fabric::series::CounterValue;
use crate::fabric::{Fact, Observation, Report, Text};

/// The source of what a tick tells; also the name under which its facts are kept.
pub const SOURCE: &str = "linux.stream";

/// The source of the queue pairs that a tick asked for. Their report replaces that of the probe `linux.queue-pairs`.
pub const QUEUE_PAIR_SOURCE: &str = "linux.stream-queue-pairs";

/// The source of what the header of a stream tells (the capabilities of the login).
pub const HEADER_SOURCE: &str = "linux.stream-header";

/// What one tick asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickRequest {
    /// Number of the tick. It must rise over the life of a target, also over reconnects: evidence is found by it.
    pub number: u64,
    /// Also run `rdma -j res show qp`.
    pub queue_pairs: bool,
    /// Run that by `sudo`; only a [`block_by_root`] can.
    pub by_root: bool,
    /// First look for files again and read the wall clock. A new [`StreamEvent::Ready`] comes before the tick.
    pub rescan: bool,
}

impl TickRequest {
    /// The line to send, with its newline.
    pub fn line(&self) -> String {
        let asked = match (self.queue_pairs, self.by_root, self.rescan) {
            (false, _, false) => "",
            (true, false, false) => " q",
            (true, true, false) => " s",
            (false, _, true) => " r",
            (true, false, true) => " qr",
            (true, true, true) => " sr",
        };
        format!("{}{asked}\n", self.number)
    }
}

/// What a line of the stream completed.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamEvent {
    /// The header is there: ticks may be sent.
    Ready {
        /// Number of files that are watched.
        files: usize,
        /// Id of the target's boot: another one means a reboot.
        boot_id: Option<Text>,
        /// Wall clock of the target, in milliseconds since 1970; `None` where its `date` tells no parts of a second.
        wall_clock_ms: Option<i64>,
        /// Seconds the target has been up, in hundredths.
        uptime_centiseconds: Option<u64>,
    },
    /// One sample.
    Tick(Tick),
    /// The queue pairs that a tick asked for.
    QueuePairs {
        /// Number of that tick.
        tick: u64,
        /// All that was read, as the probe `linux.queue-pairs` reports it.
        report: Report,
    },
}

/// One sample: what all watched files held at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Number of the request.
    pub number: u64,
    /// Seconds the target has been up, in hundredths: the true clock between two samples.
    pub uptime_centiseconds: u64,
    /// Raw counters with what they mean.
    pub counters: Vec<CounterValue>,
    /// States: of ports, and of netdevs their state, MTU and carrier.
    pub facts: Vec<Fact>,
    /// The raw sample, `path:value` a line.
    pub observation: Observation,
    /// Files that could not be opened: something went away, ask for a rescan.
    pub vanished: u32,
    /// Wall clock of the target, in milliseconds since 1970, if this tick asked for a rescan and the target tells it.
    pub wall_clock_ms: Option<i64>,
}

#[cfg(test)]
mod tests;
