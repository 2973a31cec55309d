//! Recordings of the real program in a real terminal: killed, on a full disk, and replayed.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use rdmascope::record::{Player, Recording};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::pty::{Console, Size};
use crate::support::words;

/// More than any of this ever needs.
const PATIENCE: Duration = Duration::from_mins(1);
const PROGRAM: &str = env!("CARGO_BIN_EXE_rdmascope");

fn start(home: &Path, program: &str, arguments: &[&str]) -> Console {
    let folder = home.to_str().expect("a plain path");
    let environment = [("HOME", folder), ("XDG_CONFIG_HOME", folder), ("XDG_STATE_HOME", folder), ("TZ", "UTC")];
    Console::start(program, arguments, Size::DESIGN, &environment)
}

/// Waits until a file has grown by something since it had `size` bytes.
fn grown(file: &Path, size: u64) -> u64 {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let now = std::fs::metadata(file).map_or(0, |data| data.len());
        if now > size {
            return now;
        }
        assert!(Instant::now() < deadline, "{} does not grow", file.display());
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

#[test]
fn a_kill_costs_a_second_at_most_and_the_rest_replays_in_the_console() {
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("x.rec");
    let name = file.to_str().expect("a plain path");
    let mut console = start(home.path(), PROGRAM, &["--record", name, "local"]);
    console.wait_for("REC in the header", PATIENCE, |view| view.has_row(&["LIVE", "REC"]));
    console.wait_for("values", PATIENCE, |view| view.has_row(&["local", "ok"]));
    console.keys("8");
    console.wait_for("the events", PATIENCE, |view| view.has("connected"));
    let begun = Instant::now();
    let mut size = grown(&file, 0);
    while begun.elapsed() < Duration::from_secs(4) {
        size = grown(&file, size);
    }
    kill_process(Pid::from_raw(console.id()).expect("not zero"), Signal::KILL).expect("it lives");
    let killed = jiff::Timestamp::now();
    console.wait_for_end(PATIENCE);

    let recording = Recording::open(&file).expect("a recording");
    let lost = killed.duration_since(recording.clock(recording.end()));
    // One second, and what a loaded machine needs to write it.
    assert!(lost.as_secs_f64() < 2.5, "{lost:?} were lost");
    let mut player = Player::new(recording, TimeZone::UTC);
    player.control(rdmascope::app::Control::End);
    player.finish();
    assert!(player.model().events.iter().any(|event| event.text.starts_with("connected")));

    let mut console = start(home.path(), PROGRAM, &["replay", name]);
    console.wait_for("the replay", PATIENCE, |view| view.has("REPLAY 00:00:0"));
    console.keys("$");
    console.wait_for("its end, where it stands still", PATIENCE, |view| {
        view.has("paused") && view.has_row(&["local", "ok"]) && view.has("connected")
    });
    console.keys("^");
    console.wait_for("its start", PATIENCE, |view| {
        view.has("REPLAY 00:00:00/") && view.has("paused") && !view.has_row(&["local", "ok"])
    });
    console.keys("t0:02\r");
    console.wait_for("the typed time", PATIENCE, |view| view.has("REPLAY 00:00:02/") && view.has("paused"));
    console.keys(";");
    console.wait_for("a second more", PATIENCE, |view| view.has("REPLAY 00:00:03/") && view.has("paused"));
    console.keys("5");
    console.wait_for("a view of one's own", PATIENCE, |view| view.has("own view"));
    console.keys("R");
    console.wait_for("that nothing is asked of targets", PATIENCE, |view| view.has("this is a recording"));
    console.keys("F");
    console.wait_for("the recorded view", PATIENCE, |view| !view.has("own view"));
    console.keys(words::QUIT);
    assert_eq!(console.wait_for_end(PATIENCE).exit_code(), 0);
}

#[test]
fn a_full_disk_stops_the_recording_and_not_the_console() {
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("x.rec");
    let name = file.to_str().expect("a plain path");
    // The limit is in blocks of 512 bytes (POSIX); the console itself takes care of the signal that comes with it.
    let script = format!("ulimit -f 40; exec {PROGRAM} --record {name} local");
    let mut console = start(home.path(), "/bin/sh", &["-c", &script]);
    console.wait_for("REC in the header", PATIENCE, |view| view.has_row(&["LIVE", "REC"]));
    console.keys("8");
    console.wait_for("what happened", PATIENCE, |view| {
        view.has("recording has stopped") && !view.has_row(&["LIVE", "REC"])
    });
    console.wait_for("values all the same", PATIENCE, |view| view.has_row(&["local", "ok"]));
    console.keys(words::HELP);
    console.wait_for("the help", PATIENCE, |view| view.has(words::HELP_TITLE));
    console.keys("q");
    console.wait_for("no help", PATIENCE, |view| !view.has(words::HELP_TITLE));
    console.keys(words::QUIT);
    assert_eq!(console.wait_for_end(PATIENCE).exit_code(), 0);
    // What fitted can be replayed.
    let recording = Recording::open(&file).expect("a recording");
    assert!(recording.loss(&TimeZone::UTC).is_some_and(|loss| loss.starts_with("the recording ends at ")));
    let mut player = Player::new(recording, TimeZone::UTC);
    player.control(rdmascope::app::Control::End);
    player.finish();
    assert!(player.position() > Duration::ZERO);
}

#[test]
fn signals_write_what_is_there() {
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("x.rec");
    let mut console = start(home.path(), PROGRAM, &["--record", file.to_str().expect("a plain path"), "local"]);
    console.wait_for("values", PATIENCE, |view| view.has_row(&["local", "ok"]));
    console.keys("8");
    console.wait_for("the events", PATIENCE, |view| view.has("connected"));
    kill_process(Pid::from_raw(console.id()).expect("not zero"), Signal::TERM).expect("it lives");
    assert_eq!(console.wait_for_end(PATIENCE).exit_code(), 143);
    let recording = Recording::open(&file).expect("a recording");
    assert_eq!(recording.loss(&TimeZone::UTC), None);
    let mut player = Player::new(recording, TimeZone::UTC);
    player.control(rdmascope::app::Control::End);
    player.finish();
    assert_eq!(player.model().screen.panel, rdmascope::app::screen::Panel::Events, "the last key is there");
}

#[test]
fn what_cannot_be_recorded_or_replayed_is_told_before_anything_starts() {
    let home = tempfile::tempdir().expect("a folder");
    let run = |arguments: &[&str]| {
        let output = Command::new(PROGRAM).args(arguments).env("HOME", home.path()).output().expect("it runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let path = home.path().join("x");
    std::fs::write(&path, "something else").expect("a file");
    let name = path.to_str().expect("a plain path");
    let (status, told) = run(&["replay", name]);
    assert_eq!(status, Some(2));
    assert_eq!(
        told,
        format!("rdmascope: {name}: is no recording of rdmascope; one is made with `rdmascope --record FILE`\n")
    );
    let folder = home.path().to_str().expect("a plain path");
    let (status, told) = run(&["replay", folder]);
    assert_eq!(
        (status, told.as_str()),
        (Some(2), format!("rdmascope: {folder}: is no file; give the name of a recording\n").as_str())
    );
    let (status, told) = run(&["replay", "/no/such"]);
    assert!(status == Some(2) && told.contains("No such file"), "{told}");
    let (status, told) = run(&["--record", "f", "snapshot", "local"]);
    assert!(status == Some(2) && told.contains("--record FILE records a console"), "{told}");
    let mut console = start(home.path(), PROGRAM, &["--record", name, "local"]);
    assert_eq!(console.wait_for_end(PATIENCE).exit_code(), 2);
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), "something else");
}
