//! The one stream of an ESXi host: `esxtop -b`, for as long as somebody wants it. Each run prints its titles anew and ends
//! after some minutes, so that VMs which were powered on meanwhile are seen; the next one follows at once.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::backoff::Backoff;
use super::link::Link;
use super::outlet::Outlet;
use super::rounds::{Sequence, one_channel};
use super::shell::{last_line, nonce};
use super::transport::{Exec, Output, TransportError};
use super::turns::Turns;
use crate::app::Severity;
use crate::fabric::series::GaugeValue;
use crate::fabric::{Fact, Measured, Observation, Text, Timestamp};
use crate::probe::esxi::esxtop::{Event, NOT_READ, Reader, Row, SOURCE, block, command};

/// How long the titles and two rows may take on a large host, beside their periods.
const FIRST_ROW: Duration = Duration::from_mins(1);

/// A run that prints no row for so many periods is begun anew.
const SILENT_PERIODS: u32 = 6;

/// How much of its standard error is kept to say why a run ended.
const KEPT_COMPLAINT: usize = 1024;

/// How long its complaint may come after its end.
const COMPLAINT: Duration = Duration::from_secs(2);

/// A row that comes later than the quickest one of its run by more than this was held up on its way.
const HELD_UP: SignedDuration = SignedDuration::from_secs(2);

/// What is wanted: time between two rows, or nothing.
pub type Wanted = Option<Duration>;

/// How one run ended.
#[derive(Debug)]
enum End {
    /// Nobody wants it any more, or with another period.
    Changed,
    /// It printed all its rows.
    Over,
    /// A batch wants the channel.
    Turn,
    /// The host refused the channel.
    Refused(Text),
    /// It broke; says why.
    Broken(Text),
}

/// What ends the output of a run.
enum Over {
    /// It ended with this status.
    Status(i32),
    /// Its rows do not fit its titles any more.
    Misfit,
}

/// Watches for as long as the connection lives, whenever that is wanted.
pub async fn run<L: Link>(
    link: &L,
    wanted: &mut watch::Receiver<Wanted>,
    outlet: &Outlet,
    sequence: &Sequence,
    turns: &Turns,
) -> ! {
    let mut backoff = Backoff::default();
    let mut told = None;
    loop {
        let Some(period) = *wanted.borrow_and_update() else {
            if wanted.changed().await.is_err() {
                // Nobody can want anything any more.
                std::future::pending::<()>().await;
            }
            told = None;
            continue;
        };
        let turn = turns.for_stream().await;
        let began = Instant::now();
        let mut watched = Watched::new(period, outlet, sequence);
        let end = watched.run(link, wanted, turns).await;
        drop(turn);
        match end {
            // The next run begins with a row that says nothing: no gap between the two is longer than that.
            End::Over => backoff.was_up_for(began.elapsed()),
            End::Turn => {}
            End::Changed => {
                backoff = Backoff::default();
                if wanted.borrow().is_none() {
                    watched.gap().await;
                }
            }
            End::Refused(why) => {
                if turns.serialise() {
                    one_channel(outlet, &why).await;
                }
                rest(&mut backoff, wanted).await;
            }
            End::Broken(why) => {
                watched.gap().await;
                backoff.was_up_for(began.elapsed());
                if told.as_ref() != Some(&why) {
                    outlet.notice(Severity::Warning, &format!("{NOT_READ}: {why}")).await;
                    told = Some(why);
                }
                rest(&mut backoff, wanted).await;
            }
        }
    }
}

/// Waits for the next try; who asks anew need not wait.
async fn rest(backoff: &mut Backoff, wanted: &mut watch::Receiver<Wanted>) {
    let wait = backoff.next(rand::random());
    tokio::select! {
        () = sleep(wait) => {}
        Ok(()) = wanted.changed() => {}
    }
}

/// One run.
struct Watched<'a> {
    period: Duration,
    outlet: &'a Outlet,
    sequence: &'a Sequence,
    clock: Clock,
    rows: u64,
    /// A row that could not be used was told of.
    refused: bool,
    /// Why the newest row, after ones that could, could not be used.
    left_out: Option<Text>,
}

impl<'a> Watched<'a> {
    fn new(period: Duration, outlet: &'a Outlet, sequence: &'a Sequence) -> Self {
        Self { period, outlet, sequence, clock: Clock::default(), rows: 0, refused: false, left_out: None }
    }

    async fn run<L: Link>(&mut self, link: &L, wanted: &mut watch::Receiver<Wanted>, turns: &Turns) -> End {
        let nonce = nonce();
        let mut exec = match link.shell(block(&nonce, self.period)).await {
            Ok(exec) => exec,
            Err(TransportError::ChannelRefused(why)) => return End::Refused(why),
            Err(error) => return End::Broken(Text::new(&error.to_string())),
        };
        let mut reader = Reader::new(&nonce);
        let mut complaint = Vec::new();
        let mut patience = Instant::now() + FIRST_ROW + 3 * self.period;
        let end = loop {
            tokio::select! {
                output = exec.next() => match output {
                    Some(Output::Stdout(bytes)) => {
                        let rows = self.rows;
                        match self.take(&mut reader, &bytes).await {
                            None => {}
                            Some(Over::Misfit) => break End::Over,
                            Some(Over::Status(status)) => {
                                break self.ended(status, &mut exec, &reader, &mut complaint).await;
                            }
                        }
                        if self.rows > rows {
                            patience = Instant::now() + SILENT_PERIODS * self.period.max(Duration::from_secs(5));
                        }
                    }
                    Some(Output::Stderr(bytes)) => keep(&mut complaint, &bytes),
                    Some(Output::Exit(_) | Output::Signal(_)) => {}
                    None => break self.broken("its shell ended", &reader, &complaint),
                },
                Ok(()) = wanted.changed() => {
                    if *wanted.borrow() != Some(self.period) {
                        break End::Changed;
                    }
                }
                () = turns.wanted(), if turns.is_serial() => break End::Turn,
                () = sleep_until(patience) => {
                    break self.broken("it printed no row in time: the host may be too busy for it", &reader, &complaint);
                }
            }
        };
        finish(exec).await;
        end
    }

    /// Takes a piece of its output; says if it is over, and how.
    async fn take(&mut self, reader: &mut Reader, bytes: &[u8]) -> Option<Over> {
        for event in reader.push(bytes) {
            match event {
                Event::Titles { .. } => {}
                Event::Row(row) => {
                    self.rows += 1;
                    if let Some(why) = self.left_out.take() {
                        self.leaves_out(&why).await;
                    }
                    self.row(row).await;
                }
                // Where not one row but all of them fit no more, VMs came or went: new titles help.
                Event::Refused(_) if self.left_out.is_some() => return Some(Over::Misfit),
                Event::Refused(why) if self.rows > 0 => self.left_out = Some(why),
                Event::Refused(why) => self.leaves_out(&why).await,
                Event::Ended(status) => return Some(Over::Status(status)),
            }
        }
        None
    }

    /// Tells once in a run that a row could not be used.
    async fn leaves_out(&mut self, why: &Text) {
        if !std::mem::replace(&mut self.refused, true) {
            self.outlet.notice(Severity::Warning, &format!("a row of esxtop is left out: {why}")).await;
        }
    }

    /// What the status says. Its complaint travels beside its output and may come after it: it is waited for.
    async fn ended(&self, status: i32, exec: &mut Exec, reader: &Reader, complaint: &mut Vec<u8>) -> End {
        if status == 0 && self.rows > 0 {
            return End::Over;
        }
        let _ = timeout(COMPLAINT, async {
            // With its input ends the shell, and with the shell all that it prints.
            let _ = exec.end_input().await;
            while let Some(output) = exec.next().await {
                if let Output::Stderr(bytes) = output {
                    keep(complaint, &bytes);
                }
            }
        })
        .await;
        let why =
            if status == 127 { "there is no esxtop".to_owned() } else { format!("it ended with status {status}") };
        self.broken(&why, reader, complaint)
    }

    fn broken(&self, why: &str, reader: &Reader, complaint: &[u8]) -> End {
        let said = last_line(complaint).unwrap_or_else(|| Text::new(reader.said()));
        let said = if said.as_str().is_empty() { String::new() } else { format!(" ({said})") };
        let hint = if self.rows == 0 { "; try `esxtop -b -n 1` on the host" } else { "" };
        End::Broken(Text::new(&format!("{why}{said}{hint}")))
    }

    async fn row(&mut self, row: Row) {
        let arrived = Timestamp::now();
        let at = self.clock.ours(row.at, arrived);
        let mut observation = Observation::of_text(SOURCE, &row.evidence);
        observation.target = self.outlet.target().clone();
        observation.sequence = self.sequence.next();
        observation.command = Arc::from(command(self.period));
        observation.at = at;
        let facts = row.facts(&observation);
        self.send(at, row.period, row.gauges, facts, Some(Arc::new(observation))).await;
    }

    /// Nothing is measured any more: all series of the stream have a gap.
    async fn gap(&mut self) {
        if self.rows > 0 {
            self.send(Timestamp::now(), self.period, Vec::new(), Vec::new(), None).await;
        }
    }

    async fn send(
        &self,
        at: Timestamp,
        period: Duration,
        gauges: Vec<GaugeValue>,
        facts: Vec<Fact>,
        observation: Option<Arc<Observation>>,
    ) {
        let (target, stream) = (self.outlet.target().clone(), Text::new(SOURCE));
        self.outlet.measured(Measured { target, at, stream, period, gauges, facts, observation }).await;
    }
}

/// Keeps the beginning of what a run complains of.
fn keep(complaint: &mut Vec<u8>, bytes: &[u8]) {
    let room = KEPT_COMPLAINT.saturating_sub(complaint.len());
    complaint.extend_from_slice(&bytes[..bytes.len().min(room)]);
}

/// Ends a run in good order: the end of its input ends what runs there, and its channel is closed.
async fn finish(exec: Exec) {
    let _ = timeout(Duration::from_secs(1), exec.end_input()).await;
    drop(exec);
}

/// When a row was measured, by our own clock. The stamp of a row has no parts of a second and is of the host's clock, so that
/// the moment at which it comes says more; but a row that was held up on its way is dated by its stamp, and by how far
/// the quickest row of the run was behind its own.
#[derive(Debug, Default)]
struct Clock {
    least: Option<SignedDuration>,
    last: Option<Timestamp>,
}

impl Clock {
    fn ours(&mut self, stamp: Timestamp, arrived: Timestamp) -> Timestamp {
        let behind = arrived.duration_since(stamp);
        let least = self.least.map_or(behind, |least| least.min(behind));
        self.least = Some(least);
        let held_up = behind.checked_sub(least).is_some_and(|late| late > HELD_UP);
        let own = if held_up { stamp.checked_add(least).unwrap_or(arrived) } else { arrived };
        // Time does not go back.
        let at = self.last.map_or(own, |last| own.max(last)).min(arrived);
        self.last = Some(at);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64, milliseconds: i64) -> Timestamp {
        Timestamp::from_millisecond(seconds * 1000 + milliseconds).expect("a time")
    }

    #[test]
    fn rows_are_dated_by_their_coming_unless_they_were_held_up() {
        let mut clock = Clock::default();
        // The clock of the host is 100 seconds behind ours.
        assert_eq!(clock.ours(at(1000, 0), at(1100, 400)), at(1100, 400));
        assert_eq!(clock.ours(at(1005, 0), at(1105, 410)), at(1105, 410));
        // Three rows that come at once, twelve seconds late.
        for (stamp, expected) in [(1010, at(1110, 400)), (1015, at(1115, 400)), (1020, at(1122, 0))] {
            assert_eq!(clock.ours(at(stamp, 0), at(1122, 0)), expected, "{stamp}");
        }
        assert_eq!(clock.ours(at(1025, 0), at(1125, 390)), at(1125, 390));
    }

    #[test]
    fn time_does_not_go_back() {
        let mut clock = Clock::default();
        assert_eq!(clock.ours(at(10, 0), at(20, 0)), at(20, 0));
        assert_eq!(clock.ours(at(9, 0), at(25, 0)), at(20, 0));
    }
}
