//! Placeholder of the stream.

use crate::fabric::series::CounterValue;
use crate::fabric::{Fact, Observation, Report, TargetId, Text, Timestamp};

/// The block.
pub fn block(nonce: &str) -> String {
    format!(
        "{{ _k={nonce}; read -r _u _r </proc/uptime; echo \"$_k READY $_u\"; while read -r _n _q; do read -r _u _r </proc/uptime; echo \"$_k tick $_n $_u\"; done; exit 0; }}\n"
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
        let asked = match (self.queue_pairs, self.rescan) {
            (false, false) => "",
            (true, false) => " q",
            (false, true) => " r",
            (true, true) => " qr",
        };
        format!("{}{asked}\n", self.number)
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
    pub observation: Observation,
    /// Files that are gone.
    pub vanished: u32,
    /// Wall clock.
    pub wall_clock_ms: Option<i64>,
}

/// What a line completed.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)]
pub enum StreamEvent {
    /// Ready.
    Ready {
        /// Files.
        files: usize,
        /// Boot.
        boot_id: Option<Text>,
        /// Wall clock.
        wall_clock_ms: Option<i64>,
        /// Uptime.
        uptime_centiseconds: Option<u64>,
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
            "R" => {
                let words: Vec<&str> = words.collect();
                Some(StreamEvent::Ready {
                    files: 0,
                    boot_id: None,
                    wall_clock_ms: words.get(3).and_then(|clock| clock.replace('.', "").parse().ok()),
                    uptime_centiseconds: words.get(2).and_then(|uptime| centiseconds(uptime)),
                })
            }
            "READY" => Some(StreamEvent::Ready {
                files: 0,
                boot_id: None,
                wall_clock_ms: None,
                uptime_centiseconds: centiseconds(words.next()?),
            }),
            "tick" | "T" => Some(StreamEvent::Tick(Tick {
                number: words.next()?.parse().ok()?,
                uptime_centiseconds: centiseconds(words.next()?)?,
                counters: vec![],
                facts: vec![],
                observation: Observation::of_text("linux.stream", line),
                vanished: 0,
                wall_clock_ms: None,
            })),
            _ => None,
        }
    }
}

pub mod native {
    //! Placeholder of the lines made without a shell.

    /// Patterns of the files that are watched.
    pub fn wanted_globs() -> &'static [&'static str] {
        &[]
    }

    /// Pattern of the files that name the netdevs under RDMA ports.
    pub fn carrier_glob() -> &'static str {
        "/sys/class/infiniband/*/ports/*/gid_attrs/ndevs/[0-9]"
    }

    /// What decides whether a netdev is watched.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct Netdev {
        /// Its name.
        pub name: String,
        /// Has hardware.
        pub has_device: bool,
        /// Is a bond.
        pub is_bond: bool,
        /// Is a VLAN.
        pub is_vlan: bool,
        /// Carries RDMA.
        pub carries_rdma: bool,
    }

    /// The list of files to watch.
    pub fn watch(port_files: &[String], _netdevs: &[Netdev]) -> (Vec<String>, usize) {
        (port_files.to_vec(), 0)
    }

    /// What a header tells beside the files.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct HeaderFacts<'a> {
        /// RDMA devices and their drivers.
        pub drivers: &'a [(String, String)],
        /// The boot.
        pub boot_id: &'a str,
        /// Uptime.
        pub uptime: &'a str,
        /// Wall clock.
        pub wall_clock_ms: i64,
        /// Capabilities.
        pub capabilities: &'a str,
        /// Files left out.
        pub left_out: usize,
    }

    /// The lines of a header.
    pub fn header_lines(nonce: &str, _files: &[String], facts: &HeaderFacts<'_>) -> Vec<String> {
        vec![format!("{nonce} R {}", facts.uptime)]
    }

    /// The line of one tick.
    pub fn tick_line(nonce: &str, number: u64, uptime: &str, _values: &[Option<String>]) -> String {
        format!("{nonce} T {number} {uptime}")
    }

    /// The lines of the queue pairs.
    pub fn queue_pair_lines(nonce: &str, number: u64, stdout: &str, _stderr: &str, status: i32) -> Vec<String> {
        vec![format!("{nonce} Q {number}"), stdout.to_owned(), format!("{nonce} E {number} {status}")]
    }
}
