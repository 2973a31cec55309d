//! The program itself, with the stand-in named by its variable.

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::stand_in::StandIn;

fn snapshot(library: &std::path::Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rdmascope"))
        .args(["snapshot", "local", "--format", "json"])
        .env("RDMASCOPE_NVML", library)
        .stdin(Stdio::null())
        .output()
        .expect("the program starts")
}

#[test]
fn a_snapshot_of_this_machine_has_its_gpus() {
    let stand_in = StandIn::new("gpus 2\n");
    let output = snapshot(&stand_in.path());
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a document");
    let text = document.to_string();
    for words in ["NVIDIA A100-SXM4-40GB", "535.129.03", "0000:0c:00.0"] {
        assert!(text.contains(words), "no {words}");
    }
}

#[test]
fn a_snapshot_ends_though_the_driver_hangs() {
    let stand_in = StandIn::new("call nvmlDeviceGetName hang\n");
    let began = Instant::now();
    let output = snapshot(&stand_in.path());
    assert!(began.elapsed() < Duration::from_mins(2));
    assert!(String::from_utf8_lossy(&output.stdout).contains("hangs in the driver"));
}
