//! A benchmark between two guests: what is asked for, which limits perftest and the devices set to it, and what it will
//! load and for how long, in words.

mod argv;
pub mod ceiling;
mod place;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use argv::{Role, command, listens};
pub use place::{Pair, Place, Places, pair};

/// Verb of the messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verb {
    /// RDMA Write.
    #[default]
    Write,
    /// RDMA Read.
    Read,
    /// Send and receive.
    Send,
}

impl Verb {
    /// The word in names of tools and documents.
    pub fn word(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
            Self::Send => "send",
        }
    }
}

/// What is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// How much passes in a time.
    #[default]
    Bandwidth,
    /// How long one message takes.
    Latency,
}

impl Kind {
    /// The word in documents.
    pub fn word(self) -> &'static str {
        match self {
            Self::Bandwidth => "bandwidth",
            Self::Latency => "latency",
        }
    }
}

/// Sizes of messages, in octets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sizes {
    /// Each of these, in a run of its own.
    These(Vec<u64>),
    /// All powers of two up to 8 MiB, in one run (`-a`).
    All,
}

/// How long a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Length {
    /// So many seconds.
    Seconds(u32),
    /// So many messages of each size.
    Iterations(u32),
    /// As perftest has it: 1000 messages of each size, 5000 of `ib_write_bw`.
    Usual,
}

/// What somebody asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Verb of the messages.
    pub verb: Verb,
    /// What is measured.
    pub kind: Kind,
    /// Sizes of messages; `None` for the usual one: 64 KiB for bandwidths, 2 octets for latencies.
    pub sizes: Option<Sizes>,
    /// How long; `None` for what suits the rest.
    pub length: Option<Length>,
    /// Queue pairs.
    pub queue_pairs: u32,
    /// Both directions at once.
    pub bidirectional: bool,
    /// Connect by `rdma_cm` (`-R`) instead of TCP sockets.
    pub by_connection_manager: bool,
    /// Index into the tables of GIDs, on both sides; `None` for that of the address.
    pub gid_index: Option<u32>,
    /// Size of packets in octets; `None` for that of the ports.
    pub mtu: Option<u32>,
    /// Messages under way at once; `None` for perftest's own 128.
    pub depth: Option<u32>,
    /// Use memory of this GPU on both sides.
    pub cuda: Option<u32>,
    /// How often all of it is repeated.
    pub repeats: u32,
}

impl Default for Asked {
    fn default() -> Self {
        Self {
            verb: Verb::Write,
            kind: Kind::Bandwidth,
            sizes: None,
            length: None,
            queue_pairs: 1,
            bidirectional: false,
            by_connection_manager: false,
            gid_index: None,
            mtu: None,
            depth: None,
            cuda: None,
            repeats: 1,
        }
    }
}

/// Seconds of a run where nothing else is asked for.
const SECONDS: u32 = 10;

/// perftest's own largest message.
const LARGEST: u64 = 1 << 31;

/// Size of a message in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// This one, in octets.
    One(u64),
    /// All powers of two up to 8 MiB.
    All,
}

impl fmt::Display for Size {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(octets) => write!(formatter, "{octets} octets"),
            Self::All => formatter.write_str("2 octets to 8 MiB"),
        }
    }
}

/// One run of perftest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Size of its messages.
    pub size: Size,
    /// How long it goes on.
    pub length: Length,
}

/// What will be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What was asked for.
    pub asked: Asked,
    /// Between which devices.
    pub pair: Pair,
    /// All runs in their order; repeats come one after another.
    pub runs: Vec<Run>,
}

/// The runs that what is asked for comes to, or why perftest refuses it. Only what holds on every device is looked at.
pub fn runs(asked: &Asked) -> Result<Vec<Run>, String> {
    let is_latency = asked.kind == Kind::Latency;
    if is_latency && asked.bidirectional {
        return Err("both directions at once are measured for bandwidths only: a latency already goes both ways".into());
    }
    if is_latency && asked.queue_pairs != 1 {
        return Err("a latency is measured with one queue pair".into());
    }
    if !(1..=16384).contains(&asked.queue_pairs) {
        return Err(format!("{} queue pairs: perftest takes 1 to 16384", asked.queue_pairs));
    }
    if let Some(mtu) = asked.mtu.filter(|mtu| ![256, 512, 1024, 2048, 4096].contains(mtu)) {
        return Err(format!("an MTU of {mtu}: RDMA knows 256, 512, 1024, 2048 and 4096"));
    }
    if asked.repeats == 0 {
        return Err("it is run at least once".into());
    }
    let sizes = match &asked.sizes {
        Some(Sizes::All) => vec![Size::All],
        Some(Sizes::These(these)) if these.is_empty() => return Err("no size of messages is named".into()),
        Some(Sizes::These(these)) => {
            if let Some(wrong) = these.iter().find(|size| !(1..=LARGEST).contains(*size)) {
                return Err(format!("a message of {wrong} octets: perftest sends 1 to {LARGEST}"));
            }
            these.iter().map(|size| Size::One(*size)).collect()
        }
        None => vec![Size::One(if is_latency { 2 } else { 65536 })],
    };
    let by_size = sizes == [Size::All];
    let length = match asked.length {
        Some(Length::Seconds(_)) if by_size => {
            return Err("all sizes in one run go by messages, not by time: perftest refuses -a with -D before 24.10; \
                        name the sizes to run each for a time"
                .into());
        }
        Some(Length::Seconds(0) | Length::Iterations(0)) => return Err("a run of no length".into()),
        Some(Length::Iterations(few)) if few < 5 => return Err("perftest sends at least 5 messages".into()),
        Some(length) => length,
        None if is_latency || by_size => Length::Usual,
        None => Length::Seconds(SECONDS),
    };
    Ok(sizes.into_iter().map(|size| Run { size, length }).collect())
}

/// What will be run between these devices, or why that cannot be.
pub fn plan(asked: Asked, pair: Pair) -> Result<Plan, String> {
    let runs = runs(&asked)?;
    if asked.cuda.is_some() {
        for place in [&pair.server, &pair.client] {
            if place.is_pvrdma {
                return Err(format!(
                    "{}: memory of GPUs cannot be used on a PVRDMA device: its driver registers none (no dma-buf); \
                     GPUDirect needs a passed-through adapter",
                    place.target
                ));
            }
        }
    }
    if let Some(mtu) = asked.mtu {
        for place in [&pair.server, &pair.client] {
            if let Some(most) = place.mtu.filter(|most| u64::from(mtu) > *most) {
                return Err(format!(
                    "{}: an MTU of {mtu} is more than the {most} of {}/{}",
                    place.target, place.device, place.port
                ));
            }
        }
    }
    let repeats = usize::try_from(asked.repeats).unwrap_or(1);
    let runs = runs.iter().copied().cycle().take(runs.len() * repeats).collect();
    Ok(Plan { asked, pair, runs })
}

impl Plan {
    /// The MTU that packets will have, if it is known.
    pub fn mtu(&self) -> Option<u64> {
        let least = self.pair.server.mtu.into_iter().chain(self.pair.client.mtu).min();
        self.asked.mtu.map(u64::from).or(least)
    }

    /// How long all runs take at least, in seconds, where they go by time.
    pub fn seconds(&self) -> Option<u64> {
        let of = |run: &Run| match run.length {
            Length::Seconds(seconds) => Some(u64::from(seconds)),
            Length::Iterations(_) | Length::Usual => None,
        };
        self.runs.iter().map(of).sum()
    }

    /// What it loads, and for how long, in sentences.
    pub fn words(&self) -> Vec<String> {
        let Self { asked, pair: Pair { server, client, .. }, runs } = self;
        let what = format!("{} {}", asked.verb.word(), asked.kind.word());
        let sizes: Vec<String> =
            runs.iter().take(runs.len() / asked.repeats as usize).map(|run| run.size.to_string()).collect();
        let direction = match (asked.bidirectional, asked.verb, asked.kind) {
            (_, _, Kind::Latency) => format!("between {} and {}", client.target, server.target),
            (true, ..) => format!("both ways between {} and {}", client.target, server.target),
            (false, Verb::Read, _) => format!("from {} to {}, who reads", server.target, client.target),
            (false, ..) => format!("from {} to {}", client.target, server.target),
        };
        let mut words = vec![format!(
            "{what} {direction}, {}, {} queue pair{}",
            sizes.join(", "),
            asked.queue_pairs,
            if asked.queue_pairs == 1 { "" } else { "s" }
        )];
        for (role, place) in [("server", server), ("client", client)] {
            let mtu = self.mtu().map(|mtu| format!(", RoCE MTU {mtu}")).unwrap_or_default();
            words.push(format!(
                "{role} {}: {}/{}, GID index {} ({}){mtu}",
                place.target,
                place.device,
                place.port,
                asked.gid_index.unwrap_or(place.gid_index),
                place.address
            ));
        }
        let times = if asked.repeats == 1 { String::new() } else { format!(", {} times", asked.repeats) };
        words.push(match (self.seconds(), asked.kind) {
            (Some(seconds), Kind::Bandwidth) => format!(
                "for {seconds} s in all{times} it sends as fast as it can: what else uses these links is slowed down, and a processor is busy on each side"
            ),
            (Some(seconds), Kind::Latency) => {
                format!("for {seconds} s in all{times} one message is under way at a time: little load, but a processor is busy on each side")
            }
            (None, Kind::Bandwidth) => format!(
                "by number of messages{times}, as fast as it can: how long that takes depends on the rate; what else uses these links is slowed down meanwhile"
            ),
            (None, Kind::Latency) => {
                format!("by number of messages{times}, one under way at a time: usually seconds, and little load")
            }
        });
        for place in [server, client] {
            for user in &place.users {
                words.push(format!("{}: {user}", place.target));
            }
        }
        words
    }
}
