//! What it costs to follow eight GPUs at one row a second: the time of the processors that all threads of this process take,
//! with the stand-in for NVIDIA's library that the tests use. Less than 1 % of one core is the goal.
#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::fs;
use std::time::{Duration, Instant};

use rdmascope::app::Message;
use rdmascope::collect::nvml::{Settings, follow};
use rdmascope::fabric::TargetId;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../tests/nvml/stand_in.rs"]
mod stand_in;

const GPUS: u32 = 8;
const PERIOD: Duration = Duration::from_secs(1);
const WATCHED: Duration = Duration::from_secs(30);
const GOAL: f64 = 0.01;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        let stand_in = stand_in::StandIn::new(&format!("gpus {GPUS}\ngpm 1\nmig 7 7\n"));
        let (sender, mut messages) = mpsc::channel(64);
        let cancelled = CancellationToken::new();
        let settings = Settings::new(PERIOD, Some(stand_in.path().into()));
        let following = tokio::spawn(follow(TargetId::new("local"), settings, sender, cancelled.clone()));
        // Opening the library is no part of it.
        messages.recv().await.expect("a first row");
        let (began, before) = (Instant::now(), processor_time());
        let (mut rows, mut numbers) = (0, 0);
        while began.elapsed() < WATCHED {
            if let Some(Message::Measured(row)) = messages.recv().await {
                rows += 1;
                numbers += row.gauges.len();
            }
        }
        let share = processor_time().saturating_sub(before).as_secs_f64() / began.elapsed().as_secs_f64();
        cancelled.cancel();
        following.await.expect("it ends");
        println!("{GPUS} GPUs, {rows} rows with {numbers} numbers: {:.3} % of a core", share * 100.0);
        if !cfg!(debug_assertions) {
            assert!(share < GOAL, "{share} of a core");
        }
    });
}

/// The time of the processors that all threads of this process took so far.
fn processor_time() -> Duration {
    let threads = fs::read_dir("/proc/self/task").expect("a process has threads").flatten();
    let nanoseconds = threads.filter_map(|thread| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}
