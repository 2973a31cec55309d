//! The parser over streams of a real guest, as they came, and over what a broken or hostile one might send.

use proptest::prelude::*;

use super::native::{HeaderFacts, Netdev, header_lines, keep_netdev, queue_pair_lines, tick_line, watch};
use super::{
    HEADER_SOURCE, MOST_FILES, QUEUE_PAIR_SOURCE, SOURCE, StreamEvent, StreamParser, Tick, TickRequest, block,
};
use crate::fabric::counter::Role;
use crate::fabric::{Attribute, Entity, State, TargetId, Text, Timestamp};
use crate::probe::linux::rdma_testing::{known, state};
use crate::probe::testing::{CASES, assert_clean, mutated_texts};

const NONCE: &str = "n0nce5";
const ROOT: &str = include_str!("../../../../tests/fixtures/stream/soft-roce-root.txt");
const LAB: &str = include_str!("../../../../tests/fixtures/stream/soft-roce-unprivileged.txt");

fn at() -> Timestamp {
    Timestamp::from_second(1_800_000_000).expect("a time")
}

fn parser() -> StreamParser {
    StreamParser::new(&TargetId::new("softroce1"), NONCE)
}

fn feed<'a>(parser: &mut StreamParser, lines: impl IntoIterator<Item = &'a str>) -> Vec<StreamEvent> {
    lines.into_iter().filter_map(|line| parser.line(line, at())).collect()
}

fn ticks(events: &[StreamEvent]) -> Vec<&Tick> {
    events.iter().filter_map(|event| if let StreamEvent::Tick(tick) = event { Some(tick) } else { None }).collect()
}

#[test]
fn requests_are_lines() {
    let line = |queue_pairs, rescan| TickRequest { number: 7, queue_pairs, by_root: false, rescan }.line();
    assert_eq!(line(false, false), "7\n");
    assert_eq!(line(true, false), "7 q\n");
    assert_eq!(line(false, true), "7 r\n");
    assert_eq!(line(true, true), "7 qr\n");
}

#[test]
fn the_block_is_one_group_and_the_nonce_cannot_break_out() {
    let text = block("a'; rm -rf / #");
    assert!(text.starts_with("{\n") && text.ends_with("\n}\n"));
    assert!(text.contains("\nn='armrf'\n"));
    assert!(!text.contains("@NONCE@") && !text.contains("@MOST@"));
}

#[test]
fn a_real_stream_is_read() {
    let mut parser = parser();
    let events = feed(&mut parser, ROOT.lines());
    let kinds: Vec<&str> = events
        .iter()
        .map(|event| match event {
            StreamEvent::Ready { .. } => "ready",
            StreamEvent::Tick(_) => "tick",
            StreamEvent::QueuePairs { .. } => "queue pairs",
        })
        .collect();
    assert_eq!(kinds, ["ready", "tick", "tick", "queue pairs", "ready", "tick", "queue pairs"]);
    assert_eq!((parser.strangers(), parser.left_out()), (0, 0));
    let StreamEvent::Ready { files, boot_id, wall_clock_ms, uptime_centiseconds } = &events[0] else { unreachable!() };
    assert_eq!(*files, 40);
    assert!(boot_id.as_ref().is_some_and(|id| id.len() == 36));
    assert!(wall_clock_ms.is_some() && uptime_centiseconds.is_some());
    let ticks = ticks(&events);
    let port = Entity::port("rxe0", 1);
    assert_eq!(ticks.iter().map(|tick| tick.number).collect::<Vec<_>>(), [1, 2, 3]);
    // The clock belongs to the first tick after a header, and to no other.
    assert_eq!(ticks.iter().map(|tick| tick.wall_clock_ms.is_some()).collect::<Vec<_>>(), [true, false, true]);
    for tick in ticks {
        assert_eq!(tick.vanished, 0);
        assert_eq!(tick.observation.source.as_str(), SOURCE);
        assert_eq!(tick.observation.sequence, tick.number);
        let sent = tick.counters.iter().find(|counter| counter.name == "sent_pkts").expect("rxe counts packets");
        assert_eq!((&sent.entity, sent.role), (&port, Some(Role::TransmitPackets)));
        assert!(tick.counters.iter().all(|counter| counter.name != "lifespan"));
        assert_eq!(known(&tick.facts, &port, Attribute::PortState), "ACTIVE");
        assert_eq!(known(&tick.facts, &port, Attribute::PhysicalState), "LINK_UP");
        assert_eq!(known(&tick.facts, &Entity::Netdev(Text::new("eth1")), Attribute::OperationalState), "up");
        assert_eq!(known(&tick.facts, &Entity::Netdev(Text::new("eth1")), Attribute::Carrier), "yes");
        assert!(tick.facts.iter().all(|fact| fact.entity != Entity::Netdev(Text::new("lo"))));
        // Each fact points at the line that says it.
        for fact in &tick.facts {
            let (_, line) = tick.observation.lines().nth(fact.reading.line as usize - 1).expect("the line is there");
            assert!(line.starts_with("/sys/class/"), "{line}");
        }
    }
}

#[test]
fn queue_pairs_replace_those_of_the_probe_and_say_what_is_hidden() {
    for (saved, foreign) in [(ROOT, "known"), (LAB, "needs-privilege")] {
        let events = feed(&mut parser(), saved.lines());
        let report = events.iter().find_map(|event| match event {
            StreamEvent::QueuePairs { tick: 2, report } => Some(report),
            _ => None,
        });
        let report = report.expect("they were asked for");
        assert_eq!(report.probe.as_str(), "linux.queue-pairs");
        assert_eq!(report.observations[0].source.as_str(), QUEUE_PAIR_SOURCE);
        assert_eq!(report.observations[1].source.as_str(), HEADER_SOURCE);
        let services = Entity::QueuePair { device: Text::new("rxe0"), port: Some(1), number: 1 };
        assert_eq!(known(&report.facts, &services, Attribute::OwnerCommand), "[ib_core]");
        let said = state(&report.facts, &Entity::Guest, Attribute::ForeignQueuePairs).map(|state| state.name());
        assert_eq!(said, Some(foreign));
    }
}

#[test]
fn a_tool_that_is_missing_or_hangs_is_no_empty_list() {
    for (status, output, name) in [
        (127, "sh: 71: rdma: not found", "not-installed"),
        (124, "", "failed"),
        (1, "error: Invalid argument", "failed"),
    ] {
        let mut parser = parser();
        feed(&mut parser, ROOT.lines().take_while(|line| !line.starts_with("n0nce5 T")));
        let lines = [format!("{NONCE} Q 9"), output.to_owned(), String::new(), format!("{NONCE} E 9 {status}")];
        let events = feed(&mut parser, lines.iter().map(String::as_str));
        let [StreamEvent::QueuePairs { tick: 9, report }] = events.as_slice() else { panic!("{events:?}") };
        let said = state(&report.facts, &Entity::Guest, Attribute::ForeignQueuePairs).map(|state| state.name());
        assert_eq!(said, Some(name), "{output}");
        assert_eq!(report.facts.len(), 1);
    }
}

#[test]
fn what_is_no_part_of_the_protocol_is_counted() {
    let mut parser = parser();
    let banner = ["Welcome to the guest", "", "\u{1b}[31mred", "other5 T 1 1.00|1"];
    assert_eq!(feed(&mut parser, banner), Vec::new());
    assert_eq!(parser.strangers(), 3);
    // A tick before any header, a header that lost a line, a tick of another length, an unknown kind.
    for line in
        ["n0nce5 T 1 1.00|1", "n0nce5 H x", "n0nce5 F /sys/class/net/a/mtu", "n0nce5 R 2 0 1.00 1.000 0", "n0nce5 Z"]
    {
        assert_eq!(parser.line(line, at()), None, "{line}");
    }
    assert_eq!(parser.strangers(), 6);
}

#[test]
fn missing_values_are_never_zero() {
    let mut parser = parser();
    let files: Vec<String> = ["state", "hw_counters/sent_pkts", "hw_counters/rcvd_pkts", "counters/symbol_error"]
        .map(|file| format!("/sys/class/infiniband/rxe0/ports/1/{file}"))
        .into_iter()
        .chain(["mtu", "carrier"].map(|file| format!("/sys/class/net/eth1/{file}")))
        .collect();
    let facts = HeaderFacts { uptime: "5.00", wall_clock_ms: -1500, ..HeaderFacts::default() };
    feed(&mut parser, header_lines(NONCE, &files, &facts).iter().map(String::as_str));
    let values = ["!", "", "N/A (no PMA)", "18446744073709551616", "odd", ""].map(|value| Some(value.to_owned()));
    let line = tick_line(NONCE, 1, "5.25", &values);
    let Some(StreamEvent::Tick(tick)) = parser.line(&line, at()) else { panic!("{line}") };
    assert_eq!(tick.counters, Vec::new());
    assert_eq!(tick.vanished, 1);
    assert_eq!(tick.uptime_centiseconds, 525);
    assert_eq!(tick.wall_clock_ms, None);
    let netdev = Entity::Netdev(Text::new("eth1"));
    assert!(matches!(state(&tick.facts, &netdev, Attribute::Mtu), Some(State::Failed(_))));
    assert!(matches!(state(&tick.facts, &netdev, Attribute::Carrier), Some(State::NotObservable(_))));
    assert_eq!(tick.facts.len(), 2);
}

#[test]
fn the_native_twin_makes_what_the_shell_makes() {
    let mut shell = parser();
    let expected = feed(&mut shell, LAB.lines().take_while(|line| !line.starts_with("n0nce5 Q")));
    let rest = |letter: &str| {
        let start = format!("{NONCE} {letter} ");
        LAB.lines().filter_map(|line| line.strip_prefix(&start).map(str::to_owned)).collect::<Vec<_>>()
    };
    let count = rest("F").len() / 2;
    let files = rest("F")[..count].to_vec();
    let ready = rest("R")[0].clone();
    let words: Vec<&str> = ready.split(' ').collect();
    let StreamEvent::Ready { wall_clock_ms: Some(wall_clock_ms), .. } = expected[0] else { panic!("{expected:?}") };
    let driver = rest("D")[0].split_once(' ').map(|(device, driver)| (device.to_owned(), driver.to_owned()));
    let facts = HeaderFacts {
        drivers: &[driver.expect("rxe is told")],
        boot_id: &rest("H")[0],
        uptime: words[2],
        wall_clock_ms,
        capabilities: words[4],
        left_out: 0,
    };
    let mut lines = header_lines(NONCE, &files, &facts);
    for tick in &rest("T")[..2] {
        let mut values = tick.split('|');
        let (number, uptime) = values.next().and_then(|head| head.split_once(' ')).expect("a head");
        let values: Vec<Option<String>> = values.map(|value| Some(value.to_owned())).collect();
        lines.push(tick_line(NONCE, number.parse().expect("a number"), uptime, &values));
    }
    let mut native = parser();
    assert_eq!(feed(&mut native, lines.iter().map(String::as_str)), expected);
    let lines = queue_pair_lines(NONCE, 4, None, "[]\n", "", 0);
    let events = feed(&mut native, lines.iter().map(String::as_str));
    assert!(matches!(events.as_slice(), [StreamEvent::QueuePairs { tick: 4, .. }]), "{events:?}");
}

#[test]
fn the_native_list_takes_whole_groups_and_rdma_first() {
    let port = |number: u32, file: &str| format!("/sys/class/infiniband/mlx5_{number}/ports/1/{file}");
    let mut files: Vec<String> = (0..9).map(|number| port(number, "state")).collect();
    files.extend((0..9).flat_map(|number| (0..65).map(move |c| port(number, &format!("hw_counters/c{c}")))));
    let device = Netdev { name: "eth0".to_owned(), has_device: true, ..Netdev::default() };
    let bridge = Netdev { name: "br0".to_owned(), ..Netdev::default() };
    assert!(keep_netdev(&device) && !keep_netdev(&bridge));
    assert!(keep_netdev(&Netdev { carries_rdma: true, ..bridge.clone() }));
    // Nine ports of 66 files are 594: a netdev of eleven does not fit any more.
    assert_eq!(watch(&files, &[device.clone(), bridge.clone()]), (watch(&files, &[]).0, 11));
    assert!(watch(&files, &[]).0.len() <= MOST_FILES);
    let (list, left_out) = watch(&files[..1], &[bridge, device]);
    assert_eq!((list.len(), left_out), (12, 0));
    assert_eq!(list[0], files[0]);
    assert_eq!(list[1], "/sys/class/net/eth0/operstate");
    assert_eq!(watch(&["odd".to_owned(), "/".to_owned()], &[]).0.len(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]
    #[test]
    fn survives_anything(text in mutated_texts(&[ROOT, LAB])) {
        let mut parser = parser();
        for event in feed(&mut parser, text.split('\n')) {
            match event {
                StreamEvent::Tick(tick) => {
                    assert_clean(&tick.facts)?;
                    prop_assert!(tick.counters.len() <= MOST_FILES);
                    for counter in &tick.counters {
                        prop_assert!(!counter.name.chars().any(char::is_control));
                    }
                }
                StreamEvent::QueuePairs { report, .. } => assert_clean(&report.facts)?,
                StreamEvent::Ready { files, .. } => prop_assert!(files <= MOST_FILES),
            }
        }
    }
}
