//! One side of a benchmark over a connection: the block is started, a tick is sent each second, what it prints is told, and
//! whatever happens here the tool over there ends: by the end of its input, or by its watchdog, which hears no tick.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::link::Link;
use super::shell::nonce;
use super::transport::{Output, TransportError};
use crate::fabric::Text;
use crate::probe::perftest::{Event, Reader, Side};

/// Time between two ticks.
const TICK: Duration = Duration::from_secs(1);

/// How long a side may take to end once it is told to: SIGTERM, two seconds, SIGKILL.
pub const ENDING: Duration = Duration::from_secs(8);

/// How long the shell may take to start the tool.
const STARTING: Duration = Duration::from_secs(20);

/// How a side ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The tool ended with this status; 128 and more is a signal.
    Tool(i32),
    /// It never started: why.
    NotStarted(Text),
    /// The connection or the shell ended first. The watchdog over there ends the tool.
    Cut(Text),
}

/// Runs one side to its end, and ends it early once `stop` is cancelled. Events go to `events`; where nobody takes them any
/// more the side is ended, too.
pub async fn run<L: Link>(link: &L, side: &Side, events: &mpsc::Sender<Event>, stop: &CancellationToken) -> End {
    let nonce = nonce();
    let mut exec = match link.shell(side.block(&nonce)).await {
        Ok(exec) => exec,
        Err(TransportError::ExecRefused) => {
            return End::NotStarted(Text::new("a benchmark needs a shell over SSH there"));
        }
        Err(error) => return End::NotStarted(Text::new(&error.to_string())),
    };
    let mut reader = Reader::new(&nonce);
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut number, mut is_started, mut is_ending) = (0_u64, false, false);
    let mut deadline = Instant::now() + STARTING;
    let mut complaint = Vec::new();
    loop {
        tokio::select! {
            output = exec.next() => match output {
                Some(Output::Stdout(bytes)) => {
                    for event in reader.push(&bytes) {
                        match &event {
                            Event::Ended(status) => {
                                let end = End::Tool(*status);
                                let _ = events.send(event).await;
                                finish(exec).await;
                                return end;
                            }
                            Event::Missing(program) => {
                                let why = format!("{program} is not installed there (package perftest)");
                                finish(exec).await;
                                return End::NotStarted(Text::new(&why));
                            }
                            Event::Busy(port) => {
                                let why = format!("somebody listens at TCP port {port} there already");
                                let _ = events.send(event.clone()).await;
                                finish(exec).await;
                                return End::NotStarted(Text::new(&why));
                            }
                            Event::Started { .. } => is_started = true,
                            _ => {}
                        }
                        if events.send(event).await.is_err() {
                            stop.cancel();
                        }
                    }
                }
                Some(Output::Stderr(bytes)) => complaint.extend(bytes.iter().take(1024_usize.saturating_sub(complaint.len()))),
                Some(Output::Exit(_) | Output::Signal(_)) => {}
                None => {
                    let said = String::from_utf8_lossy(&complaint);
                    let said = said.trim();
                    let why = if said.is_empty() { "its shell ended".to_owned() } else { format!("its shell ended: {said}") };
                    return End::Cut(Text::new(&why));
                }
            },
            _ = ticks.tick(), if is_started && !is_ending => {
                number += 1;
                // A way there that is full must not keep this from reading: the tick is left out.
                if let Ok(Err(error)) = timeout(TICK, exec.send(format!("{number}\n"))).await {
                    return End::Cut(Text::new(&error.to_string()));
                }
            }
            () = stop.cancelled(), if !is_ending => {
                is_ending = true;
                deadline = Instant::now() + ENDING;
                let _ = timeout(TICK, exec.end_input()).await;
            }
            () = sleep_until(deadline), if is_ending || !is_started => {
                finish(exec).await;
                return if is_ending {
                    End::Cut(Text::new("it was told to end and did not say so in time; its watchdog ends it"))
                } else {
                    End::NotStarted(Text::new(&format!("its shell did not start it within {} s", STARTING.as_secs())))
                };
            }
        }
    }
}

/// Ends the input, which ends what runs there, and closes the channel.
async fn finish(exec: super::transport::Exec) {
    let _ = timeout(Duration::from_secs(1), exec.end_input()).await;
    drop(exec);
}
