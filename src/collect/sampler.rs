//! The stream of one connection: a tick goes out, its answer comes back, once a period. Ticks never pile up: while an
//! answer is out, no further tick is sent, unless the way there and back takes longer than a period.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout};

use super::backoff::Backoff;
use super::cadence::Cadence;
use super::lines::Lines;
use super::link::Link;
use super::outlet::{Outlet, Samples};
use super::privilege::Privilege;
use super::rounds::{Delivered, Sequence, one_channel};
use super::shell::{last_line, nonce};
use super::transport::{Exec, Output, TransportError};
use super::turns::Turns;
use crate::app::Severity;
use crate::fabric::{Sample, Text, Timestamp};
use crate::probe::Source;
use crate::probe::linux::queue_pairs;
use crate::probe::linux::stream::{StreamEvent, StreamParser, Tick, TickRequest};

/// How long the stream may take to say that it is ready.
const READY_DEADLINE: Duration = Duration::from_secs(10);

/// A stream that says nothing for so long is made anew.
const SILENCE: Duration = Duration::from_secs(30);

/// The most ticks whose answers may be out.
const MOST_OUTSTANDING: u32 = 3;

/// What comes between two answers is no more than this; a target that sends more does not speak our language.
const MOST_BETWEEN_ANSWERS: usize = 16 << 20;

/// How long a stream that broke waits for the end of its connection to be known.
const CONNECTION_FIRST: Duration = Duration::from_millis(500);

/// How much of its standard error is kept to say why a stream ended.
const KEPT_COMPLAINT: usize = 1024;

/// A wall clock that comes by a longer way says too little.
const HONEST_CLOCK: Duration = Duration::from_secs(2);

/// The source that the stream reads queue pairs of.
const QUEUE_PAIRS: Source = queue_pairs::PROBE.sources[0];

/// How one stream ended.
#[derive(Debug)]
enum End {
    /// A batch wants the channel.
    Turn,
    /// The target refused the channel.
    Refused(Text),
    /// It broke; says why.
    Broken(Text),
}

/// Samples for as long as the connection lives.
pub async fn run<L: Link>(
    link: &L,
    period: Duration,
    outlet: &Outlet,
    samples: &mut Samples,
    sequence: &Sequence,
    turns: &Turns,
    delivered: &Delivered,
) -> ! {
    let mut backoff = Backoff::default();
    let mut told = None;
    loop {
        let turn = turns.for_stream().await;
        let began = Instant::now();
        let end = stream(link, period, outlet, samples, sequence, turns, delivered).await;
        drop(turn);
        backoff.was_up_for(began.elapsed());
        match end {
            End::Turn => {}
            End::Refused(why) => {
                if turns.serialise() {
                    one_channel(outlet, &why).await;
                }
                sleep(backoff.next(rand::random())).await;
            }
            End::Broken(why) => {
                // If the connection is what ended, that is told instead.
                sleep(CONNECTION_FIRST).await;
                samples.gap().await;
                // The same complaint again and again is told once.
                if told.as_ref() != Some(&why) {
                    outlet.notice(Severity::Warning, &format!("the stream of samples ended: {why}")).await;
                    told = Some(why);
                }
                sleep(backoff.next(rand::random())).await;
            }
        }
    }
}

/// A tick on its way.
struct Sent {
    number: u64,
    at: Instant,
    rescan: bool,
}

/// One stream from its start to its end.
struct Stream<'a> {
    exec: Exec,
    parser: StreamParser,
    lines: Lines,
    complaint: Vec<u8>,
    cadence: Cadence,
    began: Instant,
    last_answer: Instant,
    since_answer: usize,
    ready: bool,
    outstanding: VecDeque<Sent>,
    round_trip: Duration,
    period: Duration,
    /// The shortest way there and back so far, of a tick that asked for no look for files.
    shortest: Option<Duration>,
    /// The target's wall clock in milliseconds, and when it came.
    clock: Option<(i64, Timestamp)>,
    /// Id of the boot that the stream runs in.
    boot_id: Option<Text>,
    outlet: &'a Outlet,
    samples: &'a mut Samples,
    sequence: &'a Sequence,
    delivered: &'a Delivered,
    privilege: &'a Privilege,
}

async fn stream<L: Link>(
    link: &L,
    period: Duration,
    outlet: &Outlet,
    samples: &mut Samples,
    sequence: &Sequence,
    turns: &Turns,
    delivered: &Delivered,
) -> End {
    let nonce = nonce();
    let began = Instant::now();
    let exec = match link.stream(&nonce).await {
        Ok(exec) => exec,
        Err(TransportError::ChannelRefused(why)) => return End::Refused(why),
        Err(error) => return End::Broken(Text::new(&error.to_string())),
    };
    let mut stream = Stream {
        exec,
        parser: StreamParser::new(outlet.target(), &nonce).beginning_with(sequence.next()),
        lines: Lines::default(),
        complaint: Vec::new(),
        cadence: Cadence::default(),
        began,
        last_answer: began,
        since_answer: 0,
        ready: false,
        outstanding: VecDeque::new(),
        round_trip: Duration::ZERO,
        period,
        shortest: None,
        clock: None,
        boot_id: None,
        outlet,
        samples,
        sequence,
        delivered,
        privilege: link.privilege(),
    };
    stream.run(turns).await
}

impl Stream<'_> {
    async fn run(&mut self, turns: &Turns) -> End {
        let mut ticks = interval(self.period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut status = None;
        loop {
            let patience = if self.ready { SILENCE } else { READY_DEADLINE };
            tokio::select! {
                output = self.exec.next() => match output {
                    Some(Output::Stdout(bytes)) => {
                        self.since_answer += bytes.len();
                        for line in self.lines.push(&bytes) {
                            self.line(&line).await;
                        }
                        if self.since_answer > MOST_BETWEEN_ANSWERS {
                            return End::Broken(Text::new("the target sent too much that is no answer"));
                        }
                    }
                    Some(Output::Stderr(bytes)) => {
                        let room = KEPT_COMPLAINT.saturating_sub(self.complaint.len());
                        self.complaint.extend_from_slice(&bytes[..bytes.len().min(room)]);
                    }
                    Some(Output::Exit(code)) => status = Some(format!("status {code}")),
                    Some(Output::Signal(name)) => status = Some(format!("signal {name}")),
                    None => return self.ended(status),
                },
                _ = ticks.tick(), if self.ready => {
                    if self.outstanding.len() < self.allowed() && !self.send().await {
                        return self.ended(status);
                    }
                }
                () = turns.wanted(), if turns.is_serial() => return End::Turn,
                () = sleep_until(self.last_answer + patience) => {
                    let seconds = patience.as_secs();
                    return End::Broken(Text::new(&format!("no answer for {seconds} s (a driver may hang)")));
                }
            }
        }
    }

    fn ended(&self, status: Option<String>) -> End {
        let mut why = format!("the shell ended ({})", status.unwrap_or_else(|| "no status".to_owned()));
        if let Some(complaint) = last_line(&self.complaint) {
            why = format!("{why}: {complaint}");
        }
        End::Broken(Text::new(&why))
    }

    /// How many answers may be out: one, or as many as fit into the way there and back.
    fn allowed(&self) -> usize {
        let periods = self.round_trip.as_secs_f64() / self.period.as_secs_f64().max(0.001);
        (1..MOST_OUTSTANDING).take_while(|&count| periods > f64::from(count)).count() + 1
    }

    /// Sends the next tick; false if the way there is closed or full.
    async fn send(&mut self) -> bool {
        let by_root = self.privilege.of_stream(&QUEUE_PAIRS);
        let request: TickRequest = self.cadence.next(self.sequence.next(), self.began.elapsed(), by_root);
        let sent = timeout(SILENCE, self.exec.send(request.line())).await;
        self.outstanding.push_back(Sent { number: request.number, at: Instant::now(), rescan: request.rescan });
        matches!(sent, Ok(Ok(())))
    }

    async fn line(&mut self, line: &str) {
        let (now, at) = (Instant::now(), Timestamp::now());
        let Some(event) = self.parser.line(line, at) else { return };
        self.last_answer = now;
        self.since_answer = 0;
        match event {
            StreamEvent::Ready { wall_clock_ms, boot_id, .. } => {
                self.ready = true;
                self.boot_id = boot_id;
                self.clock = wall_clock_ms.map(|clock| (clock, at));
            }
            StreamEvent::Tick(tick) => self.tick(tick, at, now),
            StreamEvent::QueuePairs { report, .. } if self.privilege.answered_stream(&QUEUE_PAIRS, &report) => {
                self.cadence.read_queue_pairs();
            }
            StreamEvent::QueuePairs { report, .. } => {
                self.delivered.note(&report.probe);
                self.outlet.report(report).await;
            }
        }
    }

    fn tick(&mut self, tick: Tick, at: Timestamp, now: Instant) {
        // Answers come in the order of their ticks; one that is missing will not come any more.
        while self.outstanding.front().is_some_and(|sent| sent.number < tick.number) {
            self.outstanding.pop_front();
        }
        if self.outstanding.front().is_none_or(|sent| sent.number != tick.number) {
            return;
        }
        let Some(sent) = self.outstanding.pop_front() else { return };
        self.round_trip = now.duration_since(sent.at);
        if !sent.rescan {
            self.shortest = Some(self.shortest.map_or(self.round_trip, |shortest| shortest.min(self.round_trip)));
        }
        self.cadence.answered(&tick, now.duration_since(self.began));
        let clock_offset_ms = self.clock_offset();
        let mut observation = tick.observation;
        observation.duration = Some(self.round_trip);
        self.samples.offer(Sample {
            target: self.outlet.target().clone(),
            at,
            round_trip: self.round_trip,
            uptime_centiseconds: tick.uptime_centiseconds,
            boot_id: self.boot_id.clone(),
            counters: tick.counters,
            gauges: vec![],
            facts: tick.facts,
            observation: Some(Arc::new(observation)),
            clock_offset_ms,
        });
    }

    /// How far the target's wall clock is ahead of ours, in milliseconds, once after each time that it came. It was read
    /// as the last thing before it was sent, so it is older than its arrival by the way back: half of a round trip
    /// without any work.
    fn clock_offset(&mut self) -> Option<i64> {
        let shortest = self.shortest?;
        let (clock, received) = self.clock.take()?;
        if shortest > HONEST_CLOCK {
            return None;
        }
        let way_back = i64::try_from(shortest.as_millis() / 2).ok()?;
        clock.checked_sub(received.as_millisecond().checked_sub(way_back)?)
    }
}
