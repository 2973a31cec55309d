//! The lab as its clients see it: over real SSH, by our own engine and transport.

use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::testing::TestMachine;
use super::*;
use crate::app::{Connection, Effect, Message};
use crate::collect::transport::ssh::{Caller, ConnectError, Connected, Deadlines, Memory, Route, connect_within};
use crate::collect::transport::{Output, TransportError};
use crate::engine::once::{Collected, Once, collect_once};
use crate::engine::plan::{self, Way};
use crate::engine::run::{Engine, EngineHandle};
use crate::fabric::{Outcome, Sample, TargetId};
use crate::lab::machine::{Machine, Trouble};
use crate::probe::dialect::posix::compile;
use crate::probe::dialect::sections::SectionReader;
use crate::probe::linux::PROBES;

mod faults;
mod gpus;
mod sessions;

/// No test waits longer than this for anything.
const PATIENCE: Duration = Duration::from_secs(30);

fn options() -> Options {
    Options { seed: 7, delays: Delays::none(), scenario: None, timing: Timing::AsPlanned }
}

fn machines() -> Vec<Arc<TestMachine>> {
    ["pv-a", "pv-b", "vf-a"].map(|name| Arc::new(TestMachine::new(name).with_rdma())).into()
}

fn started(machines: &[Arc<TestMachine>]) -> Lab {
    let machines = machines.iter().map(|machine| machine.clone() as Arc<dyn Machine>).collect();
    Lab::with_machines(machines, &options()).expect("a lab")
}

fn lab() -> Lab {
    started(&machines())
}

fn read_once(lab: &Lab) -> Vec<Collected> {
    match collect_once(lab.plans(), &plan::Options::default()).expect("threads") {
        Once::Collected(collected) => collected,
        Once::Interrupted(signal) => panic!("signal {signal}"),
    }
}

/// The engine on the lab, with samples every 50 ms.
fn engine(lab: &Lab) -> (EngineHandle, mpsc::Receiver<Message>) {
    let options = plan::Options { period: Duration::from_millis(50), ..plan::Options::default() };
    Engine::start(lab.plans(), &options).expect("threads")
}

#[track_caller]
fn until(messages: &mut mpsc::Receiver<Message>, what: &str, mut wanted: impl FnMut(&Message) -> bool) -> Message {
    let deadline = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        let message = messages.blocking_recv().expect("the engine lives");
        if wanted(&message) {
            return message;
        }
    }
}

fn is_sample_of(message: &Message, name: &str) -> bool {
    matches!(message, Message::Sample(sample) if sample.target.as_str() == name)
}

fn sample_of(messages: &mut mpsc::Receiver<Message>, name: &str) -> Sample {
    match until(messages, "a sample", |message| is_sample_of(message, name)) {
        Message::Sample(sample) => sample,
        other => panic!("{other:?}"),
    }
}

/// The first connection of a target that fits.
fn connection_of(
    messages: &mut mpsc::Receiver<Message>,
    name: &str,
    wanted: impl Fn(&Connection) -> bool,
) -> Connection {
    let found = until(
        messages,
        "a connection",
        |message| matches!(message, Message::Connection { target, connection, .. } if target.as_str() == name && wanted(connection)),
    );
    let Message::Connection { connection, .. } = found else { panic!("{found:?}") };
    connection
}

async fn route(lab: &Lab, name: &str) -> Route {
    let Some(Way::Ssh { resolve, .. }) = lab.plan(name).map(|plan| plan.way) else { panic!("a way to {name}") };
    resolve().await.expect("the lab's own configuration")
}

async fn connect_as(name: &str, route: &Route) -> Result<Connected, ConnectError> {
    connect_in(name, route, Deadlines::default()).await
}

async fn connect_in(name: &str, route: &Route, deadlines: Deadlines) -> Result<Connected, ConnectError> {
    let (target, memory) = (TargetId::new(name), Memory::default());
    let caller = Caller { target: &target, asker: &None, memory: &memory };
    connect_within(caller, route, deadlines).await
}

async fn connect(lab: &Lab, name: &str) -> Connected {
    let route = route(lab, name).await;
    connect_as(name, &route).await.expect("the lab answers")
}

/// What a command gave: standard output, standard error, status.
async fn run(connected: &Connected, command: &str, input: &str) -> (String, String, Option<u32>) {
    let mut exec = connected.exec(command).await.expect("it starts");
    // It may have ended already.
    let _ = exec.send(input).await;
    let _ = exec.end_input().await;
    let (mut stdout, mut stderr, mut status) = (Vec::new(), Vec::new(), None);
    while let Some(output) = exec.next().await {
        match output {
            Output::Stdout(bytes) => stdout.extend(bytes),
            Output::Stderr(bytes) => stderr.extend(bytes),
            Output::Exit(code) => status = Some(code),
            Output::Signal(name) => panic!("ended by {name}"),
        }
    }
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (text(stdout), text(stderr), status)
}

#[test]
fn our_engine_reads_every_machine_once() {
    let lab = lab();
    let collected = read_once(&lab);
    assert_eq!(collected.len(), 3);
    for target in &collected {
        assert!(target.reached.is_ok() && target.incomplete.is_none(), "{target:?}");
        assert_eq!(target.reports.len(), PROBES.len());
        for observation in target.reports.iter().flat_map(|report| &report.observations) {
            assert!(matches!(observation.outcome, Outcome::Exit(_)), "{observation:?}");
        }
        let all: Vec<&str> =
            target.reports.iter().flat_map(|report| &report.observations).map(|seen| seen.stdout.as_ref()).collect();
        assert!(all.iter().any(|text| text.contains("/ports/1/state:4: ACTIVE\n")), "{all:?}");
    }
    let via = collected[2].reached.as_ref().expect("reached").to_string();
    assert!(via.starts_with("lab@127.0.0.1:"), "the unprivileged account: {via}");
}

#[test]
fn samples_come_and_queue_pairs_with_them() {
    let lab = lab();
    let (engine, mut messages) = engine(&lab);
    let sample = sample_of(&mut messages, "pv-b");
    assert!(sample.counters.iter().any(|counter| counter.raw == 2000), "{sample:?}");
    assert!(sample.boot_id.is_some() && sample.uptime_centiseconds >= 10_000, "{sample:?}");
    until(&mut messages, "queue pairs", |message| {
        matches!(message, Message::Report { report, .. }
            if report.observations.iter().any(|seen| seen.source.as_str() == "linux.stream-queue-pairs"))
    });
    engine.shutdown();
}

/// Everything between markers, as the real captures have it.
#[tokio::test]
async fn a_batch_has_the_form_of_a_real_shell() {
    let lab = lab();
    let connected = connect(&lab, "pv-a").await;
    let sources: Vec<_> = PROBES.iter().flat_map(|probe| probe.sources.iter().copied()).collect();
    let (stdout, stderr, status) = run(&connected, "/bin/sh -s", &compile(&sources, "0f")).await;
    assert_eq!(status, Some(0));
    // Markers with their numbers, an uptime in hundredths and `begin` or a status, each after an empty line.
    let shape = |text: &str, nonce: &str| -> Vec<(usize, bool)> {
        let needle = format!("\n@rdmascope:{nonce} ");
        text.match_indices(&needle)
            .map(|(at, _)| {
                let line = text[at + needle.len()..].lines().next().expect("a line");
                let words: Vec<&str> = line.split(' ').collect();
                assert_eq!(words.len(), 3, "{line}");
                let (_, hundredths) = words[1].split_once('.').expect("an uptime");
                assert_eq!(hundredths.len(), 2, "{line}");
                let begins = words[2] == "begin";
                assert!(begins || words[2].parse::<u8>().is_ok(), "{line}");
                (words[0].parse().expect("a number"), begins)
            })
            .collect()
    };
    let ours = shape(&stdout, "0f");
    assert_eq!(ours, shape(&stderr, "0f"));
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/batch");
    let capture = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a capture");
    let zeros = "0".repeat(32);
    let theirs = shape(&capture("softroce1.stdout.txt"), &zeros);
    assert_eq!(theirs, shape(&capture("softroce1.stderr.txt"), &zeros));
    assert_eq!(ours[..theirs.len().min(ours.len())], theirs[..theirs.len().min(ours.len())]);
    let mut reader = SectionReader::new(sources.len(), "0f");
    let given = reader.feed_stdout(stdout.as_bytes()).len() + reader.feed_stderr(stderr.as_bytes()).len();
    assert!(reader.is_complete() && given == sources.len());
    assert_eq!(reader.noise(), (&b""[..], &b""[..]));
}

#[test]
fn nothing_is_left_of_a_lab_that_ended() {
    let lab = lab();
    let (folder, ports) = (lab.folder().to_owned(), lab.targets().iter().map(|target| target.port).collect::<Vec<_>>());
    let (engine, mut messages) = engine(&lab);
    sample_of(&mut messages, "pv-a");
    let (switcher, name) = (lab.switcher(), lab.thread_name().to_owned());
    let threads = || {
        let tasks = std::fs::read_dir("/proc/self/task").expect("threads").flatten();
        let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
        names.filter(|thread| thread.trim_end() == name.get(..15).unwrap_or(&name)).count()
    };
    assert!(folder.exists() && threads() > 0);
    drop(lab);
    assert!(!folder.exists());
    assert!(!switcher.switch("cut", "pv-a", true), "nobody is there any more");
    let deadline = Instant::now() + PATIENCE;
    for port in ports {
        while TcpStream::connect(("127.0.0.1", port)).is_ok() {
            assert!(Instant::now() < deadline, "port {port} is still open");
        }
    }
    while threads() > 0 {
        assert!(Instant::now() < deadline, "a thread lives on");
        std::thread::park_timeout(Duration::from_millis(5));
    }
    connection_of(&mut messages, "pv-a", |connection| matches!(connection, Connection::BackingOff { .. }));
    engine.shutdown();
}
