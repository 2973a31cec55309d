//! The stream of a guest's GPUs: the second one of its budget, and only where a batch found that NVIDIA's driver answers there. It
//! runs beside the stream of ticks and gives way where the target allows one channel at a time. Nothing is sent into it: the end of
//! its input ends it, and the programs that it started with it.

use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use super::backoff::Backoff;
use super::lines::Lines;
use super::link::Link;
use super::outlet::Outlet;
use super::rounds::{Delivered, Sequence};
use super::shell::{last_line, nonce};
use super::transport::{Exec, Output, TransportError};
use super::turns::Turns;
use crate::app::Severity;
use crate::fabric::{Measured, Text, Timestamp};
use crate::probe::gpu::stream::{Event, SOURCE, StreamParser, block};

/// How long the driver may take until it has answered for the first time: without persistence it starts each GPU for that.
const READY_DEADLINE: Duration = Duration::from_mins(1);

/// A stream that says nothing for so long is made anew.
const SILENCE: Duration = Duration::from_secs(10);

/// What comes between two rows is no more than this.
const MOST_BETWEEN_ROWS: usize = 1 << 20;

/// How long a stream that broke waits for the end of its connection to be known.
const CONNECTION_FIRST: Duration = Duration::from_millis(500);

/// How much of its standard error is kept to say why a stream ended.
const KEPT_COMPLAINT: usize = 1024;

/// How one stream ended.
#[derive(Debug)]
enum End {
    /// One channel at a time is all there is.
    Serial,
    /// The target refused one more channel.
    Refused(Text),
    /// There is no way to run it: GPUs of this target are read in another way.
    Never,
    /// The driver has nothing to tell any more; why.
    Nothing(Text),
    /// It broke; why.
    Broken(Text),
}

/// Rows of GPUs for as long as the connection lives.
pub async fn run<L: Link>(link: &L, outlet: &Outlet, sequence: &Sequence, turns: &Turns, delivered: &Delivered) -> ! {
    let mut backoff = Backoff::default();
    let mut told = None;
    loop {
        delivered.gpus_found().await;
        let began = Instant::now();
        let (end, had_rows) =
            if turns.is_serial() { (End::Serial, false) } else { stream(link, outlet, sequence, turns).await };
        backoff.was_up_for(began.elapsed());
        if had_rows {
            // Curves end here instead of going on as they were.
            outlet.measured(nothing(outlet)).await;
        }
        let why = match end {
            End::Never => std::future::pending().await,
            End::Serial => {
                let text = "one channel at a time is all there is: GPUs are read every 30 s, and have no curves";
                outlet.notice(Severity::Warning, text).await;
                std::future::pending().await
            }
            End::Refused(why) => Text::new(&format!(
                "the stream of GPUs got no channel ({why}): they are read every 30 s, and have no curves"
            )),
            End::Nothing(why) => {
                delivered.gpus_lost();
                Text::new(&format!("the stream of GPUs ended: {why}"))
            }
            End::Broken(why) => {
                // If the connection is what ended, that is told instead.
                sleep(CONNECTION_FIRST).await;
                Text::new(&format!("the stream of GPUs ended: {why}"))
            }
        };
        // The same complaint again and again is told once.
        if told.as_ref() != Some(&why) {
            outlet.notice(Severity::Warning, why.as_str()).await;
            told = Some(why);
        }
        sleep(backoff.next(rand::random())).await;
    }
}

/// A row that says that there is none.
fn nothing(outlet: &Outlet) -> Measured {
    Measured {
        target: outlet.target().clone(),
        at: Timestamp::now(),
        stream: Text::new(SOURCE),
        period: Duration::from_secs(1),
        gauges: Vec::new(),
        facts: Vec::new(),
        observation: None,
    }
}

/// One stream from its start to its end, and whether it gave rows.
async fn stream<L: Link>(link: &L, outlet: &Outlet, sequence: &Sequence, turns: &Turns) -> (End, bool) {
    let nonce = nonce();
    match link.shell(block(&nonce)).await {
        Ok(exec) => follow(exec, &nonce, outlet, sequence, turns).await,
        Err(TransportError::ChannelRefused(why)) => (End::Refused(why), false),
        Err(TransportError::ExecRefused) => (End::Never, false),
        Err(error) => (End::Broken(Text::new(&error.to_string())), false),
    }
}

async fn follow(mut exec: Exec, nonce: &str, outlet: &Outlet, sequence: &Sequence, turns: &Turns) -> (End, bool) {
    let mut parser = StreamParser::new(outlet.target(), nonce);
    let mut lines = Lines::default();
    let mut complaint = Vec::new();
    let mut status = None;
    let (mut last, mut patience) = (Instant::now(), READY_DEADLINE);
    let (mut since, mut had_rows) = (0, false);
    let end = 'all: loop {
        let output = tokio::select! {
            output = exec.next() => output,
            () = sleep_until(last + patience) => {
                let seconds = patience.as_secs();
                break End::Broken(Text::new(&format!("no answer for {seconds} s (the driver or a GPU may hang)")));
            }
        };
        match output {
            Some(Output::Stdout(bytes)) => {
                since += bytes.len();
                for line in lines.push(&bytes) {
                    match parser.line(&line, Timestamp::now(), || sequence.next()) {
                        None => continue,
                        Some(Event::Ready) => patience = SILENCE,
                        Some(Event::Nothing(why)) => break 'all End::Nothing(why),
                        Some(Event::Row(row)) => {
                            had_rows = true;
                            outlet.measured(*row).await;
                        }
                    }
                    (last, since) = (Instant::now(), 0);
                }
                if since > MOST_BETWEEN_ROWS {
                    break End::Broken(Text::new("the target sent too much that is no row of a GPU"));
                }
            }
            Some(Output::Stderr(bytes)) => {
                let room = KEPT_COMPLAINT.saturating_sub(complaint.len());
                complaint.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            Some(Output::Exit(code)) => status = Some(format!("status {code}")),
            Some(Output::Signal(name)) => status = Some(format!("signal {name}")),
            None => {
                let status = status.unwrap_or_else(|| "no status".to_owned());
                let said = last_line(&complaint).map_or(String::new(), |line| format!(": {line}"));
                break End::Broken(Text::new(&format!("the shell ended ({status}){said}")));
            }
        }
        if turns.is_serial() {
            break End::Serial;
        }
    };
    (end, had_rows)
}

#[cfg(test)]
mod tests;
