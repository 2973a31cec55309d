//! A console that watches two logins of a real guest: raw text as it was captured, through the real parsers.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rdmascope::app::model::{Options, Target, TargetKind};
use rdmascope::app::{Connection, Message, Model, update};
use rdmascope::fabric::counter::{Role, netdev_counter, port_counter};
use rdmascope::fabric::series::CounterValue;
use rdmascope::fabric::{
    Attribute, Entity, Observation, PortState, Report, Sample, SourceId, TargetId, Text, Timestamp,
};
use rdmascope::probe::dialect::sections::SectionReader;
use rdmascope::probe::linux::PROBES;

/// Seconds since a fixed morning.
pub fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_795_939_200 + second).expect("within range")
}

/// A console whose targets are connected, and nothing was read yet.
pub fn connected(names: &[&str]) -> Model {
    let targets = names.iter().map(|name| (TargetId::new(name), Target::new(TargetKind::Unknown))).collect();
    let options = Options { inventory: Text::new("lab"), ..Options::default() };
    let mut model = Model::new(targets, options, at(0));
    for (number, name) in names.iter().enumerate() {
        let via = Text::new(&format!("root@127.0.0.1:{}, ed25519 key ~/.ssh/id_lab", 2201 + number));
        let connection = Connection::Connected { since: at(0), via };
        update(&mut model, Message::Connection { target: TargetId::new(name), at: at(0), connection });
    }
    model
}

/// What the batch on a guest gave, as reports of all probes.
pub fn reports(capture: &str, target: &str, second: i64) -> Vec<Report> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/batch");
    let read = |name: &str| std::fs::read(folder.join(name)).expect("a capture of the project");
    let names = String::from_utf8(read("sources.txt")).expect("names");
    let names: Vec<&str> = names.lines().collect();
    let mut reader = SectionReader::new(names.len(), "00000000000000000000000000000000");
    let mut sections = reader.feed_stderr(&read(&format!("{capture}.stderr.txt")));
    sections.extend(reader.feed_stdout(&read(&format!("{capture}.stdout.txt"))));
    assert!(reader.is_complete(), "the capture is whole");
    sections.sort_by_key(|section| section.index);
    PROBES
        .iter()
        .map(|probe| {
            // A probe that is younger than the capture was read and found nothing.
            if !probe.sources.iter().all(|source| names.contains(&source.name)) {
                return Report {
                    target: TargetId::new(target),
                    probe: SourceId::new(probe.name),
                    observations: Vec::new(),
                    facts: Vec::new(),
                };
            }
            let observations: Vec<Arc<Observation>> = probe
                .sources
                .iter()
                .map(|source| {
                    let index = names.iter().position(|name| *name == source.name).expect("captured again");
                    let section = &sections[index];
                    Arc::new(Observation {
                        target: TargetId::new(target),
                        source: source.id(),
                        sequence: 1,
                        command: Arc::from(source.read.shown()),
                        at: at(second),
                        duration: section.duration,
                        outcome: section.outcome.clone(),
                        stdout: String::from_utf8_lossy(&section.stdout).as_ref().into(),
                        stderr: String::from_utf8_lossy(&section.stderr).as_ref().into(),
                        cut: section.cut,
                    })
                })
                .collect();
            Report {
                target: TargetId::new(target),
                probe: SourceId::new(probe.name),
                facts: (probe.parse)(&observations),
                observations,
            }
        })
        .collect()
}

/// Two logins of one guest, read once, with a minute of traffic.
pub fn running() -> Model {
    let mut model = connected(&["softroce1", "softroce1-lab", "softroce2"]);
    let connecting = Connection::Connecting { attempt: 1 };
    update(&mut model, Message::Connection { target: TargetId::new("softroce2"), at: at(0), connection: connecting });
    for (capture, second) in [("softroce1", 1), ("softroce1-lab", 2)] {
        for report in reports(capture, capture, second) {
            update(&mut model, Message::Report { at: at(second), report });
        }
    }
    let mut sent = 0;
    for second in 0..60 {
        sent += match second {
            0..20 => 0,
            20..50 => 4000 + 150 * u64::try_from(second % 7).expect("positive"),
            _ => 100,
        };
        sample(&mut model, "softroce1", second, sent, sent / 60);
        sample(&mut model, "softroce1-lab", second, sent, sent / 60);
        update(&mut model, Message::Clock(at(second)));
    }
    model
}

/// One tick: packets of the RDMA port, and bytes of the interface under it.
pub fn sample(model: &mut Model, target: &str, second: i64, sent: u64, received: u64) {
    update(model, tick(target, second, sent, received));
}

/// The message of such a tick.
pub fn tick(target: &str, second: i64, sent: u64, received: u64) -> Message {
    let counter = |entity: &Entity, name: &str, role: Role, raw: u64| CounterValue {
        entity: entity.clone(),
        name: Text::new(name),
        role: Some(role),
        scale: 1,
        raw,
    };
    let port = Entity::port("rxe0", 1);
    let netdev = Entity::Netdev(Text::new("eth1"));
    let of_port = |name: &str| port_counter("rxe", "hw_counters", name).expect("a counter of rxe").role;
    let of_netdev = |name: &str| netdev_counter(name).expect("a counter of interfaces").role;
    let counters = vec![
        counter(&port, "sent_pkts", of_port("sent_pkts"), sent),
        counter(&port, "rcvd_pkts", of_port("rcvd_pkts"), received),
        counter(&port, "completer_retry_err", of_port("completer_retry_err"), 0),
        counter(&port, "link_downed", of_port("link_downed"), 0),
        counter(&netdev, "tx_bytes", of_netdev("tx_bytes"), sent * 1100),
        counter(&netdev, "rx_bytes", of_netdev("rx_bytes"), received * 80),
    ];
    Message::Sample(Sample {
        target: TargetId::new(target),
        at: at(second),
        round_trip: Duration::from_micros(2300),
        uptime_centiseconds: u64::try_from(second).expect("positive") * 100 + 5000,
        boot_id: None,
        counters,
        gauges: vec![],
        facts: vec![],
        observation: None,
        clock_offset_ms: Some(-3),
    })
}

/// The port of the first guest goes down, as a stream tells it.
pub fn port_down(model: &mut Model) {
    let observation = Observation {
        target: TargetId::new("softroce1"),
        ..Observation::of_text("linux.stream", "/sys/class/infiniband/rxe0/ports/1/state:1: DOWN\n")
    };
    let fact = observation.known(Entity::port("rxe0", 1), Attribute::PortState, PortState::Down, 1);
    let fact = rdmascope::fabric::Fact { reading: rdmascope::fabric::Reading { at: at(60), ..fact.reading }, ..fact };
    update(
        model,
        Message::Sample(Sample {
            target: TargetId::new("softroce1"),
            at: at(60),
            round_trip: Duration::from_millis(2),
            uptime_centiseconds: 11_000,
            boot_id: None,
            counters: vec![],
            gauges: vec![],
            facts: vec![fact],
            observation: Some(Arc::new(observation)),
            clock_offset_ms: None,
        }),
    );
}

/// Names and values that try to move the cursor, set the title or paint.
pub fn hostile(model: &mut Model) {
    let evil = "\u{1b}[31mevil\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}5m\u{202e}\r\n\t\u{0}";
    let mut observation = Observation::of_text("linux.rdma-link", &format!("{evil}\n{}\n", "x".repeat(100_000)));
    observation.target = TargetId::new("softroce1");
    observation.stderr = Arc::from(evil);
    observation.command = Arc::from(evil);
    let observation = Arc::new(observation);
    let port = Entity::port(evil, 1);
    let facts = vec![
        observation.known(port.clone(), Attribute::PortState, PortState::from_word(evil), 1),
        observation.known(port, Attribute::PortNetdev, Text::new(evil), 1),
        observation.known(Entity::Netdev(Text::new(evil)), Attribute::OperationalState, Text::new(evil), 1),
        observation.known(Entity::KernelMessage { stamp: 1, ordinal: 0 }, Attribute::Message, Text::new(evil), 1),
    ];
    for probe in ["linux.evil", "linux.evil"] {
        let report = Report {
            target: TargetId::new("softroce1"),
            probe: SourceId::new(probe),
            observations: vec![observation.clone()],
            facts: facts.clone(),
        };
        update(model, Message::Report { at: at(60), report });
    }
}
