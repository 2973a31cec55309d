//! The advisor on two real guests: which line runs there is found by a trial, the failure of the first one is explained,
//! and what was used is said.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::document::run;
use crate::support::lab::Lab;
use crate::{lab_assert, lab_assert_eq};

/// What `tune` says of both guests, as a document, and its exit status.
fn tune(lab: &Lab, more: &[&str]) -> (i32, Value) {
    let config = lab.config.to_str().expect("a path of text");
    let arguments = [&["tune", "softroce1", "softroce2", "--format", "json", "--ssh-config", config], more].concat();
    let output = run(&arguments);
    let text = String::from_utf8_lossy(&output.stdout);
    let document = serde_json::from_str(&text)
        .unwrap_or_else(|wrong| panic!("{wrong} in: {text}{}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code().expect("it ended by itself"), document)
}

fn words(candidate: &Value) -> String {
    let words = candidate["words"].as_array().expect("words");
    words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_trial_finds_the_line_that_runs_and_says_tcp() {
    let Some(lab) = Lab::enter("a_trial_finds_the_line_that_runs_and_says_tcp") else { return };
    let began = Instant::now();
    let (status, document) = tune(&lab, &["--trial", "--yes"]);
    lab_assert_eq!(status, 0, "{}", document["guests"]);
    let candidates = document["candidates"].as_array().expect("a list");
    let first = words(&candidates[0]);
    for part in [
        "--mca pml ucx",
        "UCX_NET_DEVICES=rxe0:1",
        "UCX_IB_GID_INDEX=1",
        "--allow-run-as-root",
        "softroce1:1,softroce2:1",
    ] {
        lab_assert!(first.contains(part), "{part}: {first}");
    }
    let trials = document["trials"].as_array().expect("a list");
    lab_assert!(trials.len() >= 2, "{trials:?}");
    lab_assert_eq!(trials[0]["ran"], false, "the wire-up of UCX over datagrams fails here");
    let findings = trials[0]["findings"].to_string();
    lab_assert!(findings.contains("over UD"), "and that is said: {findings}");
    let last = trials.last().expect("a trial");
    lab_assert_eq!(last["ran"], true, "{last}");
    lab_assert_eq!(document["chosen"], last["candidate"], "the one that runs is proposed");
    lab_assert_eq!(last["carrier"], "TCP", "what was used: {last}");
    lab_assert_eq!(last["ranks"].as_array().map(Vec::len), Some(2), "of both ranks: {last}");
    // Nothing of it is left.
    for guest in lab.guests() {
        let gone = |text: &str| text.trim().is_empty();
        guest.wait_until(
            "the end of all ranks",
            "pgrep -x 'NPopenmpi|mpirun|orted'; true",
            Duration::from_secs(20),
            gone,
        );
    }
    println!("a trial of {} lines took {:?}", trials.len(), began.elapsed());
}

#[test]
fn what_is_advised_without_a_trial_says_that_it_is_not_sure() {
    let Some(lab) = Lab::enter("what_is_advised_without_a_trial_says_that_it_is_not_sure") else { return };
    let (status, document) = tune(&lab, &[]);
    lab_assert_eq!(status, 0, "{}", document["guests"]);
    lab_assert_eq!(document["candidates"][0]["confidence"], "possible", "soft-RoCE needs a trial");
    lab_assert!(document["build"].as_array().is_some_and(Vec::is_empty), "{}", document["build"]);
    let ways: Vec<&str> =
        document["candidates"].as_array().expect("a list").iter().filter_map(|one| one["way"].as_str()).collect();
    lab_assert_eq!(ways, ["ucx-rdma", "ucx-tcp", "tcp"], "all ways in their order");
}
