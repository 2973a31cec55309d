use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tokio::sync::mpsc;

use super::super::testing::{Act, Behaviour, Fake, pair, spawn};
use super::*;
use crate::app::Message;
use crate::collect::privilege::Privilege;
use crate::collect::shell::ShellLink;
use crate::fabric::{Measure, TargetId};

/// No test waits longer than this for anything.
const PATIENCE: Duration = Duration::from_secs(30);

const HEADER: &str = "index, count, pci.bus_id, utilization.gpu [%]\n";
const ROW: &str = "0, 1, 00000000:0B:00.0, 97\n";

/// A tool that knows the names of an older release, and that goes on for ever where a loop is asked for.
const TOOL: &str = r#"#!/bin/sh
case "$*" in
dmon*) echo $$ >"${0%/*}/dmon"
printf '# gpu  rxpci  txpci \n# Idx   MB/s   MB/s \n    0   4321     12 \n'
exec sleep 1000;;
*event_reasons*) echo 'Field "clocks_event_reasons.active" is not a valid field to query.'; exit 2;;
*"-l 1") echo $$ >"${0%/*}/loop"
while [ ! -s "${0%/*}/dmon" ]; do :; done
printf 'index, count, pci.bus_id, utilization.gpu [%%]\n0, 1, 00000000:0B:00.0, 97\n0, 1, 00000000:0B:00.0, 96\n'
exec sleep 1000;;
esac
"#;

fn outlet() -> (Outlet, mpsc::Receiver<Message>) {
    let (sender, messages) = mpsc::channel(64);
    (Outlet::new(TargetId::new("g"), sender), messages)
}

/// True if a process still does anything.
fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z') && !rest.starts_with('X'))
}

async fn in_shell(shell: &[&str], folder: &Path) {
    let tool = folder.join("nvidia-smi");
    std::fs::write(&tool, TOOL).expect("a file");
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).expect("its mode");
    let path = format!("PATH={}:/usr/bin:/bin", folder.display());
    let words: Vec<&str> = ["env", &path].into_iter().chain(shell.iter().copied()).chain(["-s"]).collect();
    let mut exec = spawn(&words);
    exec.send(block("c0ffee")).await.expect("it takes the block");
    let mut parser = StreamParser::new(&TargetId::new("g"), "c0ffee");
    let mut lines = Lines::default();
    let mut rows = Vec::new();
    while rows.len() < 2 {
        let output = tokio::time::timeout(PATIENCE, exec.next()).await.expect("in time").expect("it goes on");
        let Output::Stdout(bytes) = output else { continue };
        for line in lines.push(&bytes) {
            if let Some(Event::Row(row)) = parser.line(&line, Timestamp::now(), || 1) {
                rows.push(row);
            }
        }
    }
    let value = rows[1].gauges.iter().find(|gauge| gauge.name.as_str() == Measure::GpuUse.name());
    assert_eq!(value.map(|gauge| gauge.value), Some(Some(96.0)));
    let pids = ["loop", "dmon"].map(|name| std::fs::read_to_string(folder.join(name)).expect("it was started"));
    assert!(pids.iter().all(|pid| is_alive(pid)), "{pids:?}");
    exec.end_input().await.expect("it listens");
    let mut status = None;
    while let Some(output) = tokio::time::timeout(PATIENCE, exec.next()).await.expect("it ends with its input") {
        if let Output::Exit(code) = output {
            status = Some(code);
        }
    }
    assert_eq!(status, Some(0));
    let deadline = Instant::now() + PATIENCE;
    while pids.iter().any(|pid| is_alive(pid)) {
        assert!(Instant::now() < deadline, "its programs run on");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_block_ends_with_its_input_and_ends_what_it_started() {
    for shell in [&["sh"][..], &["bash"], &["busybox", "ash"]] {
        if std::process::Command::new(shell[0]).arg("--help").output().is_err() {
            continue;
        }
        let folder = tempfile::tempdir().expect("a folder");
        in_shell(shell, folder.path()).await;
    }
}

#[tokio::test]
async fn a_target_without_the_tool_says_so() {
    let behaviour = Behaviour::of([Act::Say("c0ffee N sh: 1: nvidia-smi: not found\n", "", 1)]);
    let link = ShellLink::new(Fake::new(&behaviour), Privilege::default());
    let exec = link.shell(block("c0ffee")).await.expect("a shell");
    let (outlet, _messages) = outlet();
    let (end, had_rows) = follow(exec, "c0ffee", &outlet, &Sequence::default(), &Turns::default()).await;
    assert!(matches!(&end, End::Nothing(why) if why.as_str().contains("not found")), "{end:?}");
    assert!(!had_rows);
}

#[tokio::test]
async fn rows_are_passed_on_and_the_stream_gives_way_to_a_batch() {
    let (exec, far) = pair();
    let (outlet, mut messages) = outlet();
    let turns = Turns::default();
    let sequence = Sequence::default();
    let following = follow(exec, "c0ffee", &outlet, &sequence, &turns);
    let playing = async {
        far.say(format!("c0ffee R\n{HEADER}{ROW}")).await;
        let Some(Message::Measured(row)) = messages.recv().await else { panic!("a row") };
        assert_eq!((row.stream.as_str(), row.gauges.len()), (SOURCE, 1));
        assert!(turns.serialise());
        far.say(ROW).await;
        messages.recv().await.expect("it was on its way")
    };
    let ((end, had_rows), _) = tokio::join!(following, playing);
    assert!(matches!(end, End::Serial), "{end:?}");
    assert!(had_rows);
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_hangs_is_given_up() {
    let (exec, far) = pair();
    let (outlet, mut messages) = outlet();
    far.say(format!("c0ffee R\n{HEADER}{ROW}")).await;
    let (end, had_rows) = follow(exec, "c0ffee", &outlet, &Sequence::default(), &Turns::default()).await;
    assert!(matches!(&end, End::Broken(why) if why.as_str().contains("may hang")), "{end:?}");
    assert!(had_rows && messages.try_recv().is_ok());
}

#[tokio::test]
async fn it_waits_until_a_batch_has_found_gpus() {
    let behaviour = Behaviour::of([]);
    let link = ShellLink::new(Fake::new(&behaviour), Privilege::default());
    let (outlet, _messages) = outlet();
    let (sequence, turns, delivered) = (Sequence::default(), Turns::default(), Delivered::default());
    let running = run(&link, &outlet, &sequence, &turns, &delivered);
    let waited = tokio::time::timeout(Duration::from_millis(50), running).await;
    assert!(waited.is_err());
    assert!(behaviour.commands().is_empty(), "no channel is opened on a guest without GPUs");
}
