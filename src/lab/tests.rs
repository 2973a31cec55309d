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

#[tokio::test]
async fn nothing_is_ever_executed() {
    let lab = lab();
    let folder = tempfile::tempdir().expect("a folder");
    let witness = folder.path().join("witness");
    let shown = witness.display();
    let connected = connect(&lab, "pv-a").await;
    for command in [
        format!("touch {shown}"),
        format!("echo $(touch {shown})"),
        format!("echo `touch {shown}`"),
        format!("rdma link; touch {shown}"),
        format!("sh -c 'touch {shown}'"),
        format!("/bin/sh -c \"touch {shown}\""),
        format!("rdma link > {shown}"),
        format!("rdma link\ntouch {shown}"),
        format!("sudo -n touch {shown}"),
    ] {
        let (_, stderr, status) = run(&connected, &command, "").await;
        assert!(status.is_some_and(|status| status != 0) && !stderr.is_empty(), "{command}");
    }
    for script in [
        format!("touch {shown}\n"),
        format!("{{\ntouch {shown}\nexit 0\n}}\n"),
        compile(&[], "0f").replace("exit 0\n", &format!("_mark 0 begin\ntouch {shown}\n_mark 0 \"$_s\"\nexit 0\n")),
        crate::probe::linux::stream::block("0f").replace("exec 2>/dev/null\n", &format!("touch {shown}\n")),
    ] {
        let (stdout, _, _) = run(&connected, "/bin/sh -s", &script).await;
        assert!(stdout.is_empty() || stdout.contains(" 0 "), "{script}: {stdout}");
    }
    assert!(!witness.exists());
    assert_eq!(run(&connected, "rdma link", "").await.2, Some(0), "and it still answers");
}

#[tokio::test]
async fn an_unknown_piece_is_a_command_that_is_not_there() {
    use crate::probe::{Read, Source, Word};
    let lab = lab();
    let connected = connect(&lab, "pv-a").await;
    let known = Source { name: "test.mtu", read: Read::Files(&["/sys/class/net/*/mtu"]) };
    let unknown =
        Source { name: "test.no", read: Read::Command { argv: &[Word::Plain("nmap"), Word::Plain("-A")], keep: None } };
    let (stdout, stderr, _) = run(&connected, "/bin/sh -s", &compile(&[unknown, known], "0f")).await;
    let mut reader = SectionReader::new(2, "0f");
    let mut sections = reader.feed_stdout(stdout.as_bytes());
    sections.extend(reader.feed_stderr(stderr.as_bytes()));
    assert_eq!(sections.len(), 2);
    assert_eq!(sections[0].outcome, Outcome::Exit(127));
    assert_eq!(String::from_utf8_lossy(&sections[0].stderr), "sh: 1: nmap: not found\n");
    assert_eq!(sections[1].outcome, Outcome::Exit(0));
}

#[tokio::test]
async fn sessions_give_their_places_back() {
    let lab = lab();
    let connected = connect(&lab, "pv-a").await;
    // The transport keeps to four at once. Those that are dropped in the middle give their places back, too.
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(connected.exec("/bin/sh -s").await.expect("a place"));
    }
    drop(held);
    for _ in 0..25 {
        assert_eq!(run(&connected, "uname -s", "").await.0, "Linux\n");
    }
}

#[test]
fn only_the_lab_s_own_key_logs_in() {
    let (one, two) = (lab(), lab());
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    runtime.block_on(async {
        let mut stranger = route(&one, "pv-a").await;
        stranger.hops[0].identity_files = route(&two, "pv-a").await.hops[0].identity_files.clone();
        let refused = connect_as("pv-a", &stranger).await;
        let problem = refused.expect_err("another key").problem(&TargetId::new("pv-a"));
        assert!(problem.to_string().contains("refused"), "{problem}");
        let mut nobody = route(&one, "pv-a").await;
        nobody.hops[0].user = "nobody".to_owned();
        assert!(connect_as("pv-a", &nobody).await.is_err());
        let mut lab_user = route(&one, "pv-a").await;
        lab_user.hops[0].user = "lab".to_owned();
        let connected = connect_as("pv-a", &lab_user).await;
        assert!(connected.is_ok(), "both accounts are everywhere");
    });
}

#[test]
fn twenty_connections_at_once_are_all_answered() {
    let lab = lab();
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    runtime.block_on(async {
        let all = (0..20).map(|number| {
            let lab = &lab;
            async move {
                let name = ["pv-a", "pv-b", "vf-a"][number % 3];
                let connected = connect(lab, name).await;
                run(&connected, "rdma link", "").await.0
            }
        });
        for answer in futures::future::join_all(all).await {
            assert!(answer.starts_with("link rocep2s3/1 state ACTIVE"), "{answer}");
        }
    });
}

#[test]
fn troubles_of_the_machine_reach_the_machine() {
    let machines = machines();
    let lab = started(&machines);
    assert!(lab.suffer("link-down", "pv-b", true) && lab.suffer("packet-loss", "vf-a", true));
    assert!(lab.suffer("link-down", "pv-b", false));
    assert!(!lab.suffer("link-down", "nobody", true) && !lab.suffer("earthquake", "pv-a", true));
    let suffered = |place: usize| machines[place].suffered.lock().expect("no panic").clone();
    assert_eq!(suffered(1), [(Trouble::LinkDown, true), (Trouble::LinkDown, false)]);
    assert_eq!(suffered(2), [(Trouble::Loss, true)]);
    assert!(suffered(0).is_empty());
}

#[test]
fn a_reboot_closes_the_port_and_comes_back_as_another_boot() {
    let lab = lab();
    let (engine, mut messages) = engine(&lab);
    let before = sample_of(&mut messages, "pv-a");
    assert!(lab.suffer("reboot", "pv-a", true));
    let refused = connection_of(&mut messages, "pv-a", |connection| !connection.is_up());
    assert!(matches!(refused, Connection::BackingOff { .. } | Connection::Connecting { .. }), "{refused:?}");
    connection_of(&mut messages, "pv-a", Connection::is_up);
    let after = sample_of(&mut messages, "pv-a");
    assert_ne!(before.boot_id, after.boot_id);
    engine.shutdown();
}

#[test]
fn a_cut_ends_connections_refuses_new_ones_and_has_an_end() {
    let lab = lab();
    let port = lab.targets()[0].port;
    let (engine, mut messages) = engine(&lab);
    sample_of(&mut messages, "pv-a");
    assert!(lab.suffer("cut", "pv-a", true));
    connection_of(&mut messages, "pv-a", |connection| matches!(connection, Connection::BackingOff { .. }));
    let deadline = Instant::now() + PATIENCE;
    while TcpStream::connect(("127.0.0.1", port)).is_ok() {
        assert!(Instant::now() < deadline, "the port stays open");
    }
    // The others live on.
    sample_of(&mut messages, "pv-b");
    assert!(lab.suffer("cut", "pv-a", false));
    engine.run(&Effect::Reconnect(TargetId::new("pv-a")));
    connection_of(&mut messages, "pv-a", Connection::is_up);
    sample_of(&mut messages, "pv-a");
    engine.shutdown();
}

#[test]
fn another_host_key_is_refused_as_changed() {
    let lab = lab();
    let (engine, mut messages) = engine(&lab);
    for name in ["pv-a", "pv-b"] {
        sample_of(&mut messages, name);
        assert!(lab.suffer("wrong-host-key", name, true));
        let failed = connection_of(&mut messages, name, |connection| matches!(connection, Connection::Failed { .. }));
        let Connection::Failed { problem } = failed else { panic!("it is lasting") };
        assert!(problem.what.contains("HOST KEY CHANGED"), "{problem}");
    }
    assert!(lab.suffer("wrong-host-key", "pv-b", false));
    engine.run(&Effect::Reconnect(TargetId::new("pv-b")));
    connection_of(&mut messages, "pv-b", Connection::is_up);
    engine.shutdown();
}

#[tokio::test]
async fn a_machine_that_hangs_takes_bytes_and_gives_none() {
    let lab = lab();
    let connected = connect(&lab, "pv-a").await;
    assert!(lab.suffer("hang", "pv-a", true));
    let short = Duration::from_millis(400);
    // A command on the old connection gets no answer, a new connection no greeting.
    assert!(tokio::time::timeout(short, connected.exec("uname -s")).await.is_err());
    let deadlines = Deadlines { handshake: short, ..Deadlines::default() };
    let route = route(&lab, "pv-a").await;
    let refused = connect_in("pv-a", &route, deadlines).await.expect_err("no greeting");
    let problem = refused.problem(&TargetId::new("pv-a"));
    assert!(problem.what.contains("the server said nothing"), "{problem}");
    assert!(lab.suffer("hang", "pv-a", false));
    assert_eq!(run(&connected, "uname -s", "").await.0, "Linux\n", "the old connection lives on");
    drop(connect(&lab, "pv-a").await);
}

#[test]
fn a_slow_machine_answers_late() {
    let lab = lab();
    let (engine, mut messages) = engine(&lab);
    sample_of(&mut messages, "pv-a");
    assert!(lab.suffer("slow", "pv-a", true));
    let late = until(&mut messages, "a late sample", |message| {
        matches!(message, Message::Sample(sample)
            if sample.target.as_str() == "pv-a" && sample.round_trip > Duration::from_millis(900))
    });
    assert!(is_sample_of(&late, "pv-a"));
    assert!(lab.suffer("slow", "pv-a", false));
    until(&mut messages, "a quick sample", |message| {
        matches!(message, Message::Sample(sample)
            if sample.target.as_str() == "pv-a" && sample.round_trip < Duration::from_millis(500))
    });
    engine.shutdown();
}

#[test]
fn garbage_is_survived_and_stays_on_its_machine() {
    let lab = lab();
    for host in ["pv-a", "pv-b"] {
        assert!(lab.suffer("garbage", host, true));
    }
    let mut spoiled = 0;
    for _ in 0..5 {
        let collected = read_once(&lab);
        let outputs = |target: &Collected| -> Vec<String> {
            target.reports.iter().flat_map(|report| &report.observations).map(|seen| seen.stdout.to_string()).collect()
        };
        let honest = outputs(&collected[2]);
        assert!(collected[2].reached.is_ok() && collected[2].incomplete.is_none());
        for target in &collected[..2] {
            spoiled += usize::from(target.reached.is_err() || target.incomplete.is_some() || outputs(target) != honest);
        }
    }
    assert_eq!(spoiled, 10, "no read of a spoiled machine looks healthy");
    let (engine, mut messages) = engine(&lab);
    sample_of(&mut messages, "vf-a");
    assert!(lab.suffer("garbage", "pv-a", false));
    // A stream whose answer broke off waits long for the rest of it.
    engine.run(&Effect::Reconnect(TargetId::new("pv-a")));
    sample_of(&mut messages, "pv-a");
    engine.shutdown();
}

#[test]
fn a_scenario_happens_by_itself_or_at_once() {
    let planned = Options { scenario: scenario::by_name("link-down"), timing: Timing::AtOnce, ..options() };
    let machines = machines();
    let start = || {
        let machines = machines.iter().map(|machine| machine.clone() as Arc<dyn Machine>).collect();
        Lab::with_machines(machines, &planned).expect("a lab")
    };
    let suffered =
        || -> usize { machines.iter().map(|machine| machine.suffered.lock().expect("no panic").len()).sum() };
    let lab = start();
    assert_eq!(suffered(), 1, "at once means before anybody connects");
    drop(lab);
    let cut: &'static Scenario = Box::leak(Box::new(Scenario {
        faults: vec![scenario::Planned {
            kind: "link-down".to_owned(),
            host: "drawn".to_owned(),
            among: vec![],
            after: scenario::After::At(0.05),
            lasts: Some(0.05),
        }],
        ..scenario::by_name("healthy").expect("it is there").clone()
    }));
    let planned = Options { scenario: Some(cut), ..options() };
    let started = Lab::with_machines(machines.iter().map(|m| m.clone() as Arc<dyn Machine>).collect(), &planned);
    let lab = started.expect("a lab");
    let deadline = Instant::now() + PATIENCE;
    while suffered() < 3 {
        assert!(Instant::now() < deadline, "it never happened");
        std::thread::park_timeout(Duration::from_millis(5));
    }
    drop(lab);
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

/// A client of the library itself, which keeps to no limit of ours.
struct Anybody;

impl russh::client::Handler for Anybody {
    type Error = russh::Error;

    async fn check_server_key(&mut self, _key: &russh::keys::PublicKeyOrCertificate) -> Result<bool, russh::Error> {
        Ok(true)
    }
}

#[tokio::test]
async fn eleven_sessions_on_one_connection_are_one_too_many() {
    let lab = lab();
    let address = ("127.0.0.1", lab.targets()[0].port);
    let config = Arc::new(russh::client::Config { nodelay: true, ..Default::default() });
    let mut handle = russh::client::connect(config, address, Anybody).await.expect("a connection");
    let key = Arc::new(russh::keys::load_secret_key(lab.folder().join("id_ed25519"), None).expect("the key"));
    let key = russh::keys::PrivateKeyWithHashAlg::new(key, None);
    assert!(!handle.authenticate_password("root", "root").await.expect("an answer").success(), "no passwords");
    assert!(handle.authenticate_publickey("root", key).await.expect("an answer").success());
    let mut held = Vec::new();
    for _ in 0..10 {
        held.push(handle.channel_open_session().await.expect("a place"));
    }
    let refused = handle.channel_open_session().await.map(drop);
    assert!(
        matches!(refused, Err(russh::Error::ChannelOpenFailure(russh::ChannelOpenFailure::ConnectFailed))),
        "{refused:?}"
    );
    held.pop().expect("ten").close().await.expect("closed");
    let deadline = Instant::now() + PATIENCE;
    while handle.channel_open_session().await.is_err() {
        assert!(Instant::now() < deadline, "the place does not come back");
    }
    let forwarded = handle.channel_open_direct_tcpip("127.0.0.1", 22, "127.0.0.1", 0).await;
    assert!(forwarded.is_err(), "nothing is forwarded");
}

#[tokio::test]
async fn a_refused_request_is_told_and_harms_nothing() {
    let lab = lab();
    let connected = connect(&lab, "pv-a").await;
    let mut exec = connected.exec("/bin/sh -s").await.expect("it starts");
    exec.send("x".repeat(2 << 20)).await.expect("sent");
    let mut status = None;
    while let Some(output) = exec.next().await {
        if let Output::Exit(code) = output {
            status = Some(code);
        }
    }
    assert_eq!(status, Some(127), "a script without an end is given up");
    assert_ne!(connected.exec("uname -s").await.err(), Some(TransportError::Closed));
}
