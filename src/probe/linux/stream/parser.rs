//! Reads the lines of a stream, one by one. What does not keep to the protocol is counted and left alone: a login banner,
//! a program that prints to the same output, a line cut in the middle.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use super::{HEADER_SOURCE, MOST_FILES, QUEUE_PAIR_SOURCE, SOURCE, StreamEvent, Tick};
use crate::fabric::counter::{Meaning, driver_family, netdev_counter, port_counter};
use crate::fabric::series::CounterValue;
use crate::fabric::{
    Attribute, Entity, Fact, Observation, Outcome, PhysicalState, PortState, Report, SourceId, State, TargetId, Text,
    Timestamp, Value,
};
use crate::probe::linux::queue_pairs;
use crate::probe::linux::rdma_files::{device_path, port_path};
use crate::probe::linux::rdma_sysfs::numbered;
use crate::probe::privilege;

/// Most bytes kept of one answer of `rdma`.
const MOST_QUEUE_PAIR_BYTES: usize = 4 << 20;
/// Most drivers kept of a header.
const MOST_DRIVERS: usize = 256;

/// What a watched file is to us.
#[derive(Clone, Debug, PartialEq)]
enum Meant {
    Counter {
        entity: Entity,
        name: Text,
        meaning: Option<Meaning>,
    },
    State {
        entity: Entity,
        attribute: Attribute,
    },
    /// A carrier cannot be read while its interface is down: that is a state, not a loss.
    Carrier(Entity),
    Nothing,
}

#[derive(Clone, Debug)]
struct Watched {
    path: String,
    meant: Meant,
}

/// A header that is still coming in.
#[derive(Debug, Default)]
struct Header {
    boot_id: Option<Text>,
    drivers: BTreeMap<String, String>,
    files: Vec<String>,
}

/// Answers of `rdma` that are still coming in.
#[derive(Debug)]
struct QueuePairs {
    tick: u64,
    /// Where the program lies, if `sudo` ran it.
    path: String,
    text: String,
    cut: u64,
}

/// Turns the lines of one stream into events. One parser serves one stream from its first line on.
#[derive(Debug)]
pub struct StreamParser {
    target: TargetId,
    nonce: String,
    header: Option<Header>,
    watched: Vec<Watched>,
    queue_pairs: Option<QueuePairs>,
    capabilities: Option<Observation>,
    wall_clock_ms: Option<i64>,
    left_out: usize,
    strangers: u64,
    /// Number of the last tick; before the first one that under which the stream began.
    last_number: u64,
    command: Arc<str>,
}

impl StreamParser {
    /// A parser for a stream whose block was made with this nonce: letters and digits only.
    pub fn new(target: &TargetId, nonce: &str) -> Self {
        Self {
            target: target.clone(),
            nonce: format!("{nonce} "),
            header: None,
            watched: Vec::new(),
            queue_pairs: None,
            capabilities: None,
            wall_clock_ms: None,
            left_out: 0,
            strangers: 0,
            last_number: 0,
            command: Arc::from(
                "grep -H '' /sys/class/infiniband/*/ports/*/*state /sys/class/infiniband/*/ports/*/*counters/* \
                 /sys/class/net/*/operstate /sys/class/net/*/mtu /sys/class/net/*/carrier /sys/class/net/*/statistics/*",
            ),
        }
    }

    /// The same for a stream whose header is the read of this number, below that of its first tick.
    #[must_use]
    pub fn beginning_with(mut self, sequence: u64) -> Self {
        self.last_number = sequence;
        self
    }

    /// Files that the last header left out because there were more than [`MOST_FILES`].
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// Lines so far that were no part of the protocol.
    pub fn strangers(&self) -> u64 {
        self.strangers
    }

    /// Takes in one line without its newline, which came at this time by our own clock.
    pub fn line(&mut self, line: &str, at: Timestamp) -> Option<StreamEvent> {
        let line = line.trim_end_matches(['\r', '\n']);
        let Some((kind, rest)) = line.strip_prefix(self.nonce.as_str()).map(split_word) else {
            self.stranger(line);
            return None;
        };
        match kind {
            "H" => {
                let boot_id = Some(Text::new(rest)).filter(|id| !id.is_empty());
                self.header = Some(Header { boot_id, ..Header::default() });
                None
            }
            "D" => {
                let (device, driver) = split_word(rest);
                if let Some(header) = self.header.as_mut().filter(|header| header.drivers.len() < MOST_DRIVERS) {
                    header.drivers.insert(device.to_owned(), driver.to_owned());
                }
                None
            }
            "F" => {
                if let Some(header) = self.header.as_mut().filter(|header| header.files.len() < MOST_FILES) {
                    header.files.push(rest.to_owned());
                }
                None
            }
            "R" => self.ready(rest, at),
            "T" => self.tick(rest, at).map(StreamEvent::Tick),
            "Q" => {
                let (tick, path) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
                let path = path.trim().to_owned();
                self.queue_pairs = tick.parse().ok().map(|tick| QueuePairs { tick, path, text: String::new(), cut: 0 });
                None
            }
            "E" => self.end_of_queue_pairs(rest, at),
            _ => {
                self.strangers = self.strangers.saturating_add(1);
                None
            }
        }
    }

    /// A line that is not ours: the output of `rdma` while that is awaited.
    fn stranger(&mut self, line: &str) {
        match &mut self.queue_pairs {
            Some(pairs) if pairs.text.len().saturating_add(line.len()) < MOST_QUEUE_PAIR_BYTES => {
                pairs.text.push_str(line);
                pairs.text.push('\n');
            }
            Some(pairs) => pairs.cut = pairs.cut.saturating_add(line.len() as u64 + 1),
            None if line.trim().is_empty() => {}
            None => self.strangers = self.strangers.saturating_add(1),
        }
    }

    fn ready(&mut self, rest: &str, at: Timestamp) -> Option<StreamEvent> {
        let header = self.header.take()?;
        let mut words = rest.split(' ');
        let mut word = || words.next().unwrap_or_default();
        let count: usize = word().parse().ok()?;
        if count != header.files.len() {
            // Lines of the header were lost: values could not be told apart.
            self.strangers = self.strangers.saturating_add(1);
            return None;
        }
        self.left_out = word().parse().unwrap_or(0);
        let uptime_centiseconds = hundredths(word());
        self.wall_clock_ms = wall_clock(word());
        let capabilities = word().trim();
        let status = if capabilities.is_empty() { String::new() } else { format!("CapEff:\t{capabilities}\n") };
        self.capabilities =
            Some(self.observation(HEADER_SOURCE, self.last_number, "grep CapEff /proc/self/status", &status, at));
        self.watched =
            header.files.into_iter().map(|path| Watched { meant: meant(&path, &header.drivers), path }).collect();
        Some(StreamEvent::Ready {
            files: self.watched.len(),
            boot_id: header.boot_id,
            wall_clock_ms: self.wall_clock_ms,
            uptime_centiseconds,
        })
    }

    fn tick(&mut self, rest: &str, at: Timestamp) -> Option<Tick> {
        let mut values = rest.split('|');
        let (number, uptime) = split_word(values.next().unwrap_or_default());
        let (Ok(number), Some(uptime_centiseconds)) = (number.parse::<u64>(), hundredths(uptime)) else {
            self.strangers = self.strangers.saturating_add(1);
            return None;
        };
        let values: Vec<&str> = values.take(MOST_FILES + 1).collect();
        if values.len() != self.watched.len() {
            self.strangers = self.strangers.saturating_add(1);
            return None;
        }
        self.last_number = number;
        let mut text = String::with_capacity(rest.len() + self.watched.len() * 48);
        for (watched, value) in self.watched.iter().zip(&values) {
            let _infallible = writeln!(text, "{}:{value}", watched.path);
        }
        let mut tick = Tick {
            number,
            uptime_centiseconds,
            counters: Vec::with_capacity(values.len()),
            facts: Vec::new(),
            observation: self.observation(SOURCE, number, &self.command, &text, at),
            vanished: 0,
            wall_clock_ms: self.wall_clock_ms.take(),
        };
        for ((watched, value), line) in self.watched.iter().zip(values).zip(1u32..) {
            take_value(watched, value.trim(), line, &mut tick);
        }
        Some(tick)
    }

    fn end_of_queue_pairs(&mut self, rest: &str, at: Timestamp) -> Option<StreamEvent> {
        let pairs = self.queue_pairs.take()?;
        let (tick, status) = split_word(rest);
        if tick.parse() != Ok(pairs.tick) {
            self.strangers = self.strangers.saturating_add(1);
            return None;
        }
        let outcome = match status.trim().parse() {
            // What `timeout` ends with when it ended the program.
            Ok(124) => Outcome::TimedOut,
            Ok(status) => Outcome::Exit(status),
            Err(_) => Outcome::Cut,
        };
        // Both outputs come over one way; the answer is the line that is JSON, the rest is complaint.
        let (answer, complaint): (Vec<&str>, Vec<&str>) =
            pairs.text.lines().filter(|line| !line.trim().is_empty()).partition(|line| {
                line.starts_with(['[', '{', ' ', '\t']) || line.starts_with("link ") || !line.contains(": ")
            });
        let lines = |lines: Vec<&str>| lines.iter().fold(String::new(), |text, line| text + line + "\n");
        let command = match pairs.path.as_str() {
            "" => "rdma -j res show qp".to_owned(),
            path => privilege::shown(Text::new(path).as_str(), "-j res show qp"),
        };
        let mut observation = self.observation(QUEUE_PAIR_SOURCE, pairs.tick, &command, &lines(answer), at);
        observation.stderr = Arc::from(lines(complaint));
        observation.outcome = outcome;
        observation.cut = pairs.cut;
        let status = match &self.capabilities {
            Some(status) => status.clone(),
            None => self.observation(HEADER_SOURCE, self.last_number, "grep CapEff /proc/self/status", "", at),
        };
        let facts = queue_pairs::parse_queue_pairs(&observation, &status);
        let report = Report {
            target: self.target.clone(),
            probe: SourceId::new(queue_pairs::PROBE.name),
            observations: vec![Arc::new(observation), Arc::new(status)],
            facts,
        };
        Some(StreamEvent::QueuePairs { tick: pairs.tick, report })
    }

    fn observation(&self, source: &str, sequence: u64, command: &str, stdout: &str, at: Timestamp) -> Observation {
        Observation {
            target: self.target.clone(),
            source: SourceId::new(source),
            sequence,
            command: Arc::from(command),
            at,
            duration: None,
            outcome: Outcome::Exit(0),
            stdout: Arc::from(stdout),
            stderr: Arc::from(""),
            cut: 0,
        }
    }
}

/// Takes one value into the tick.
fn take_value(watched: &Watched, value: &str, line: u32, tick: &mut Tick) {
    let missing = value.is_empty() || value == "!";
    if let Meant::Carrier(entity) = &watched.meant {
        let state = match value {
            "1" => State::Known(Value::from(true)),
            "0" => State::Known(Value::from(false)),
            _ if missing => State::NotObservable(Text::new("an interface that is down tells no carrier")),
            other => State::Failed(Text::new(other)),
        };
        tick.facts.push(tick.observation.fact(entity.clone(), Attribute::Carrier, state, line));
        return;
    }
    if value == "!" {
        tick.vanished = tick.vanished.saturating_add(1);
        return;
    }
    if missing {
        return;
    }
    match &watched.meant {
        Meant::Counter { entity, name, meaning } => {
            // `N/A (no PMA)` is no number, so there is no value.
            if let Ok(raw) = value.parse::<u64>() {
                tick.counters.push(CounterValue {
                    entity: entity.clone(),
                    name: name.clone(),
                    role: meaning.map(|meaning| meaning.role),
                    scale: meaning.map_or(1, |meaning| meaning.scale),
                    raw,
                });
            }
        }
        Meant::State { entity, attribute } => {
            let state = match attribute {
                Attribute::PortState => State::Known(PortState::from_word(numbered(value)).into()),
                Attribute::PhysicalState => State::Known(PhysicalState::from_word(numbered(value)).into()),
                Attribute::Mtu => match value.parse::<u64>() {
                    Ok(mtu) => State::Known(mtu.into()),
                    Err(_) => State::Failed(Text::new(&format!("{value:?} is not an MTU"))),
                },
                _ => State::Known(Value::from(value)),
            };
            let fact: Fact = tick.observation.fact(entity.clone(), *attribute, state, line);
            tick.facts.push(fact);
        }
        Meant::Carrier(_) | Meant::Nothing => {}
    }
}

/// What a file is, by its path and the driver of its device.
fn meant(path: &str, drivers: &BTreeMap<String, String>) -> Meant {
    if let Some((device, rest)) = device_path(path) {
        let Some((port, rest)) = port_path(rest) else { return Meant::Nothing };
        let entity = Entity::port(device, port);
        return match rest.split_once('/') {
            None if rest == "state" => Meant::State { entity, attribute: Attribute::PortState },
            None if rest == "phys_state" => Meant::State { entity, attribute: Attribute::PhysicalState },
            Some((folder @ ("counters" | "hw_counters"), name)) if name != "lifespan" => {
                let driver = driver_family(drivers.get(device).map(String::as_str), device);
                Meant::Counter { entity, name: Text::new(name), meaning: port_counter(driver, folder, name) }
            }
            _ => Meant::Nothing,
        };
    }
    let Some((name, rest)) = path.strip_prefix("/sys/class/net/").and_then(|rest| rest.split_once('/')) else {
        return Meant::Nothing;
    };
    let entity = Entity::Netdev(Text::new(name));
    match rest {
        "operstate" => Meant::State { entity, attribute: Attribute::OperationalState },
        "mtu" => Meant::State { entity, attribute: Attribute::Mtu },
        "carrier" => Meant::Carrier(entity),
        _ => match rest.strip_prefix("statistics/") {
            Some(name) => Meant::Counter { entity, name: Text::new(name), meaning: netdev_counter(name) },
            None => Meant::Nothing,
        },
    }
}

fn split_word(text: &str) -> (&str, &str) {
    text.split_once(' ').unwrap_or((text, ""))
}

/// Hundredths of a second of `1234.56`, as `/proc/uptime` prints it.
fn hundredths(text: &str) -> Option<u64> {
    let (seconds, parts) = fixed(text.trim(), 2)?;
    seconds.checked_mul(100)?.checked_add(parts)
}

/// Milliseconds of `1700000000.123456789`. A `date` that knows no parts of a second prints `1700000000.%N`: a clock of
/// whole seconds tells no offset.
fn wall_clock(text: &str) -> Option<i64> {
    let (seconds, parts) = fixed(text.trim(), 3)?;
    i64::try_from(seconds.checked_mul(1000)?.checked_add(parts)?).ok()
}

/// Whole and parts of a decimal number that has at least `places` digits after its point; more are cut off.
fn fixed(text: &str, places: usize) -> Option<(u64, u64)> {
    let (whole, parts) = text.split_once('.')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(parts) || parts.len() < places {
        return None;
    }
    Some((whole.parse().ok()?, parts[..places].parse().ok()?))
}
