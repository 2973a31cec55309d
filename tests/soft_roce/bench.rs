//! `bench` between the two guests: its results are perftest's own, and whatever ends it, nothing of it stays in a guest.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::support::lab::Lab;
use crate::{START, lab_assert, lab_assert_eq};

/// Writes of one packet, few at a time: what an emulated wire carries without loss.
const RELIABLE: [&str; 4] = ["--size", "1024", "--depth", "8"];

/// How soon nothing of a benchmark may be left.
const ENDED: Duration = Duration::from_secs(10);

/// What lists tools of perftest in a guest.
const TOOLS: &str = "ps -eo pid,args | grep -E '[i]b_(write|read|send)_(bw|lat)' || true";

fn command(lab: &Lab, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rdmascope"));
    command.arg("--ssh-config").arg(&lab.config).args(["bench", "softroce1", "softroce2", "--yes"]).args(more);
    command.stdin(Stdio::null());
    command
}

/// Runs it to its end; the document and the exit status.
fn document(lab: &Lab, more: &[&str]) -> (Value, Option<i32>) {
    lab.meet();
    let output = command(lab, &[&["--format", "json"], more].concat()).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    let document = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    (document, output.status.code())
}

/// Starts it and waits until traffic is seen.
fn started(lab: &Lab, more: &[&str]) -> Child {
    lab.meet();
    let mut child = command(lab, more).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("its standard error")).lines();
    let seen =
        lines.by_ref().any(|line| line.is_ok_and(|line| line.contains("packets/s") && !line.contains(" 0 packets")));
    assert!(seen, "it ended before packets were seen");
    // What it says later must not fill the pipe.
    std::thread::spawn(move || lines.for_each(drop));
    child
}

/// Nothing of it is left in either guest within the time that there is.
fn nothing_is_left(lab: &Lab) {
    for guest in lab.guests() {
        guest.clone().without_sharing().wait_until("the end of perftest", TOOLS, ENDED, |text| text.trim().is_empty());
    }
}

/// The figures of a row that perftest printed, as its own line has them.
fn figures(line: &str) -> Vec<f64> {
    line.split_whitespace().map(|word| word.parse().expect("a figure")).collect()
}

#[test]
fn results_are_those_of_the_last_line_of_perftest() {
    let Some(lab) = Lab::enter("results_are_those_of_the_last_line_of_perftest") else { return };
    for more in [
        &["--duration", "6"][..],
        &["--verb", "read", "--duration", "6"],
        &["--verb", "send", "--cm", "--iterations", "300"],
        &["--bidirectional", "--duration", "6"],
    ] {
        let (document, status) = document(&lab, &[&RELIABLE, more].concat());
        lab_assert_eq!(status, Some(0), "{more:?}: {document}");
        let row = &document["runs"][0]["rows"][0];
        let line = figures(row["line"].as_str().expect("a line"));
        lab_assert_eq!(row["gigabits_per_second"].as_f64(), Some(line[3]), "{more:?}: {row}");
        lab_assert_eq!(document["results"][0]["median"].as_f64(), Some(line[3]), "{more:?}");
        lab_assert!(
            document["against"].as_str().is_some_and(|text| text.starts_with("no ceiling known")),
            "a soft device has no rate: {document}"
        );
        if more.contains(&"--duration") {
            let samples = document["runs"][0]["samples"].as_array().expect("samples");
            lab_assert!(samples.len() >= 5, "a sample a second: {samples:?}");
        }
        nothing_is_left(&lab);
    }
}

#[test]
fn latencies_are_those_of_perftest() {
    let Some(lab) = Lab::enter("latencies_are_those_of_perftest") else { return };
    let (document, status) = document(&lab, &["--kind", "latency", "--iterations", "200"]);
    lab_assert_eq!(status, Some(0), "{document}");
    let row = &document["runs"][0]["rows"][0];
    let line = figures(row["line"].as_str().expect("a line"));
    lab_assert_eq!(row["microseconds"]["typical"].as_f64(), Some(line[4]), "{row}");
    lab_assert_eq!(row["microseconds"]["p99.9"].as_f64(), Some(line[8]), "{row}");
    nothing_is_left(&lab);
}

#[test]
fn whatever_ends_it_nothing_stays() {
    let Some(lab) = Lab::enter("whatever_ends_it_nothing_stays") else { return };
    let long = [&RELIABLE[..], &["--duration", "120"]].concat();
    let signal = |child: &Child, name: &str| {
        let status = Command::new("kill").args([name, &child.id().to_string()]).status().expect("kill");
        assert!(status.success());
    };
    for (name, expected) in [("-INT", Some(130)), ("-KILL", None)] {
        let mut child = started(&lab, &long);
        signal(&child, name);
        let status = child.wait().expect("it ends");
        lab_assert_eq!(status.code(), expected, "{name}");
        nothing_is_left(&lab);
    }
    // One that is alive and says nothing is what a connection that was cut looks like over there.
    let mut child = started(&lab, &long);
    signal(&child, "-STOP");
    nothing_is_left(&lab);
    signal(&child, "-CONT");
    lab_assert_eq!(child.wait().expect("it ends").code(), Some(3), "it was silent");
    // A side that ends takes the other one along.
    let mut child = started(&lab, &long);
    lab.two.run("pkill -KILL -x ib_write_bw");
    lab_assert_eq!(child.wait().expect("it ends").code(), Some(3), "its server is gone");
    nothing_is_left(&lab);
}

#[test]
fn a_server_that_never_listens_is_given_up() {
    let Some(lab) = Lab::enter("a_server_that_never_listens_is_given_up") else { return };
    let tool = "/usr/local/bin/ib_write_bw";
    let put = format!("printf '#!/bin/sh\\nexec sleep 600\\n' >{tool} && chmod 755 {tool}");
    let _changed = lab.two.change(&put, &format!("rm -f {tool}"));
    let output = command(&lab, &RELIABLE).output().expect("it starts");
    lab_assert_eq!(output.status.code(), Some(3), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    lab_assert!(said.contains("did not listen within"), "{said}");
    let sleeps = "ps -eo args | grep '[s]leep 600' || true";
    lab.two.wait_until("the end of what stood for it", sleeps, START, |text| text.trim().is_empty());
    nothing_is_left(&lab);
}
