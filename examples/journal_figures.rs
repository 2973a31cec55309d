//! What a recording costs: writes a day of eight guests into a file and says how large it is, how much of a processor the
//! writing takes, and how long opening and going to a moment take. `cargo run --release --example journal_figures [HOURS]`

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use rdmascope::app::model::{Model, Options, Target, TargetKind};
use rdmascope::app::{Connection, Message};
use rdmascope::fabric::counter::{netdev_counter, port_counter};
use rdmascope::fabric::series::CounterValue;
use rdmascope::fabric::{
    Attribute, Entity, Fact, Observation, PortState, Reading, Report, Sample, SourceId, State, TargetId, Text,
    Timestamp, Value,
};
use rdmascope::record::format::{Header, Micros};
use rdmascope::record::writer::Writer;
use rdmascope::record::{Player, Recording};

const TARGETS: u64 = 8;
const SECOND: Micros = 1_000_000;

/// Counters of an mlx5 port and of an interface: names and how fast each grows at full load, a second.
const PORT: [(&str, &str, u64); 24] = [
    ("counters", "port_xmit_data", 2_900_000_000),
    ("counters", "port_rcv_data", 2_700_000_000),
    ("counters", "port_xmit_packets", 2_800_000),
    ("counters", "port_rcv_packets", 2_600_000),
    ("counters", "port_xmit_wait", 900),
    ("counters", "symbol_error", 0),
    ("counters", "link_error_recovery", 0),
    ("counters", "link_downed", 0),
    ("counters", "port_rcv_errors", 0),
    ("counters", "port_xmit_discards", 0),
    ("counters", "local_link_integrity_errors", 0),
    ("counters", "VL15_dropped", 0),
    ("hw_counters", "out_of_sequence", 12),
    ("hw_counters", "packet_seq_err", 9),
    ("hw_counters", "local_ack_timeout_err", 0),
    ("hw_counters", "rnr_nak_retry_err", 0),
    ("hw_counters", "np_cnp_sent", 400),
    ("hw_counters", "rp_cnp_handled", 380),
    ("hw_counters", "np_ecn_marked_roce_packets", 4100),
    ("hw_counters", "rx_write_requests", 90_000),
    ("hw_counters", "rx_read_requests", 1200),
    ("hw_counters", "out_of_buffer", 0),
    ("hw_counters", "duplicate_request", 0),
    ("hw_counters", "implied_nak_seq_err", 0),
];
const NETDEV: [(&str, u64); 10] = [
    ("rx_bytes", 40_000),
    ("tx_bytes", 35_000),
    ("rx_packets", 300),
    ("tx_packets", 280),
    ("rx_errors", 0),
    ("tx_errors", 0),
    ("rx_dropped", 1),
    ("tx_dropped", 0),
    ("rx_crc_errors", 0),
    ("collisions", 0),
];

fn at(second: u64) -> Timestamp {
    Timestamp::from_second(1_795_939_200 + i64::try_from(second).expect("small")).expect("within range")
}

fn target(number: u64) -> TargetId {
    TargetId::new(&format!("guest-{number:02}"))
}

/// Numbers that look like noise and are the same in each run.
struct Noise(u64);

impl Noise {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}

/// The counters of one guest.
struct Guest {
    id: TargetId,
    values: Vec<u64>,
}

impl Guest {
    /// One tick of a guest with a loaded RDMA port, two interfaces and its raw text.
    fn tick(&mut self, second: u64, noise: &mut Noise) -> Message {
        let (device, port) = ("mlx5_0", Entity::port("mlx5_0", 1));
        let mut text = format!("/proc/uptime:{}.{:02}\n", second + 1000, noise.below(100));
        let mut counters = Vec::new();
        for (number, (folder, name, rate)) in PORT.into_iter().enumerate() {
            self.values[number] += rate / 2 + noise.below(rate);
            let raw = self.values[number];
            let _ = writeln!(text, "/sys/class/infiniband/{device}/ports/1/{folder}/{name}:{raw}");
            let meaning = port_counter("mlx5_core", folder, name);
            counters.push(CounterValue {
                entity: port.clone(),
                name: Text::new(name),
                role: meaning.map(|meaning| meaning.role),
                scale: meaning.map_or(1, |meaning| meaning.scale),
                raw,
            });
        }
        for (place, netdev) in ["ens192", "ens224"].into_iter().enumerate() {
            for (number, (name, rate)) in NETDEV.into_iter().enumerate() {
                let value = &mut self.values[PORT.len() + place * NETDEV.len() + number];
                *value += rate / 2 + noise.below(rate);
                let _ = writeln!(text, "/sys/class/net/{netdev}/statistics/{name}:{value}");
                counters.push(CounterValue {
                    entity: Entity::Netdev(Text::new(netdev)),
                    name: Text::new(name),
                    role: netdev_counter(name).map(|meaning| meaning.role),
                    scale: 1,
                    raw: *value,
                });
            }
        }
        text.push_str("/sys/class/infiniband/mlx5_0/ports/1/state:4: ACTIVE\n/sys/class/net/ens192/operstate:up\n");
        let observation = Observation {
            target: self.id.clone(),
            sequence: second,
            at: at(second),
            ..Observation::of_text("linux.stream", &text)
        };
        let fact = |entity: Entity, attribute, value: Value, line| Fact {
            entity,
            attribute,
            reading: Reading { state: State::Known(value), at: at(second), source: observation.reference(), line },
        };
        let facts = vec![
            fact(port, Attribute::PortState, PortState::Active.into(), 46),
            fact(Entity::Netdev(Text::new("ens192")), Attribute::OperationalState, Text::new("up").into(), 47),
            fact(Entity::Netdev(Text::new("ens224")), Attribute::OperationalState, Text::new("up").into(), 48),
        ];
        Message::Sample(Sample {
            target: self.id.clone(),
            at: at(second),
            round_trip: Duration::from_micros(900 + noise.below(400)),
            uptime_centiseconds: second * 100 + 100_000 + noise.below(3),
            boot_id: Some(Text::new("7b0b1f0e-3a57-4c2f-9d5c-0c7a5d3b1e11")),
            counters,
            gauges: Vec::new(),
            facts,
            observation: Some(Arc::new(observation)),
            clock_offset_ms: Some(3),
        })
    }

    /// What a probe of the batch gives: a few hundred facts and some kilobytes of text.
    fn report(&self, second: u64, probe: usize) -> Message {
        let name = format!("linux.probe-{probe}");
        let mut text = String::new();
        for line in 0..120 {
            let _ = writeln!(text, "/sys/some/where/file-{probe}-{line}:value {} of {}", line * 37 % 101, self.id);
        }
        let observation = Observation {
            target: self.id.clone(),
            sequence: second,
            at: at(second),
            ..Observation::of_text(&name, &text)
        };
        let facts = (0..40)
            .map(|number| Fact {
                entity: Entity::Module(Text::new(&format!("module_{probe}_{number}"))),
                attribute: Attribute::Version,
                reading: Reading {
                    state: State::Known(Text::new(&format!("5.{number}.{probe}")).into()),
                    at: at(second),
                    source: observation.reference(),
                    line: number,
                },
            })
            .collect();
        let report = Report {
            target: self.id.clone(),
            probe: SourceId::new(&name),
            observations: vec![Arc::new(observation)],
            facts,
        };
        Message::Report { at: at(second), report }
    }
}

/// Time on a processor so far, of this thread, which is the only one.
fn used() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0))
}

#[allow(clippy::print_stdout, reason = "it is what this program is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let hours: u64 = std::env::args().nth(1).map_or(Ok(24), |word| word.parse())?;
    let file = tempfile::NamedTempFile::new()?;
    let targets = (0..TARGETS).map(|number| (target(number), Target::new(TargetKind::Linux))).collect();
    let mut model = Model::new(targets, Options::default(), at(0));
    (model.screen.columns, model.screen.rows) = (200, 50);
    let header = Header::of(&model, at(0), (200, 50));
    let mut writer = Writer::new(file.reopen()?, &header, model)?;
    let mut noise = Noise(0x9e37_79b9_7f4a_7c15);
    let mut guests: Vec<Guest> = (0..TARGETS)
        .map(|number| Guest { id: target(number), values: vec![0; PORT.len() + 2 * NETDEV.len()] })
        .collect();
    let mut writing = Duration::ZERO;
    for second in 0..hours * 3600 {
        let mut messages = Vec::new();
        for guest in &mut guests {
            if second == 0 {
                let connection = Connection::Connected { since: at(0), via: Text::new("root@10.0.0.1, ed25519 key") };
                messages.push(Message::Connection { target: guest.id.clone(), at: at(0), connection });
            }
            messages.push(guest.tick(second, &mut noise));
            // The fast probes every 10 s, the others every minute.
            for probe in 0..30 {
                if second % if probe < 5 { 10 } else { 60 } == 0 {
                    messages.push(guest.report(second, probe));
                }
            }
        }
        messages.push(Message::Clock(at(second)));
        let before = used();
        for message in messages {
            writer.take(second * SECOND, message)?;
        }
        writing += used().saturating_sub(before);
    }
    let before = used();
    drop(writer.finish()?);
    writing += used().saturating_sub(before);
    let bytes = file.as_file().metadata()?.len();
    println!("{hours} h of {TARGETS} targets: {:.1} MB", bytes as f64 / 1e6);
    println!("{:.0} kB a target and hour", bytes as f64 / 1e3 / (hours * TARGETS) as f64);
    println!("writing, folding and packing: {:.2} % of a core", writing.as_secs_f64() * 100.0 / (hours * 3600) as f64);

    let began = Instant::now();
    let recording = Recording::open(file.path())?;
    println!("opening: {:.0} ms", began.elapsed().as_secs_f64() * 1e3);
    let began = Instant::now();
    let mut player = Player::new(recording, TimeZone::UTC);
    println!("first screen: {:.0} ms", began.elapsed().as_secs_f64() * 1e3);
    let mut took: Vec<f64> = (0..50)
        .map(|_| {
            let to = noise.below(hours * 3600) * SECOND;
            let began = Instant::now();
            player.seek(to);
            began.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    took.sort_by(f64::total_cmp);
    println!("going to a moment: median {:.0} ms, longest {:.0} ms", took[25], took[49]);
    let began = Instant::now();
    player.seek(hours * 1800 * SECOND);
    let there = began.elapsed();
    let began = Instant::now();
    player.seek(hours * 1800 * SECOND - 10 * SECOND);
    println!(
        "to the middle {:.0} ms, ten seconds back from it {:.0} ms",
        there.as_secs_f64() * 1e3,
        began.elapsed().as_secs_f64() * 1e3
    );
    Ok(())
}
