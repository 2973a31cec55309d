//! One run: the server is started, waited for, then the client; both are ended with each other.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::Guest;
use super::sample::{Sample, Sampler};
use crate::app::Problem;
use crate::collect::bench::{self, End};
use crate::collect::link::Link;
use crate::diagnose::explain::explain;
use crate::diagnose::finding::Status;
use crate::fabric::Text;
use crate::probe::perftest::{Event, Item, PATIENCE_SECONDS, Printed, Row};
use crate::tune::bench::{Length, Plan, Role, Run, command};

/// perftest's own port; the next ones where somebody listens there.
const PORT: u16 = 18515;
/// So many ports are tried.
const PORTS: u16 = 8;

/// How long a server may take until it listens.
const LISTENING: Duration = Duration::from_secs(30);

/// How long a run may take beyond the time that it is asked for: connecting, allocating, the slowness of guests.
const GRACE: Duration = Duration::from_mins(1);

/// How long a run by number of messages may take.
const LONGEST: Duration = Duration::from_hours(1);

/// How long one side may take to end by itself after the other one has.
const AFTER: Duration = Duration::from_secs(5);

/// What is told while it runs.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// A run begins.
    Begins {
        /// Which, from 0.
        number: usize,
        /// What it is.
        run: Run,
    },
    /// A tool runs on a side, as this process there.
    Started {
        /// Which side.
        role: Role,
        /// Its process.
        process: u32,
        /// When it started, in ticks of the kernel since boot.
        began: u64,
    },
    /// The server listens.
    Listens,
    /// A second of it.
    Sampled(Sample),
    /// A row of results came.
    Row(Row),
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Whole.
    Completed,
    /// Somebody stopped it.
    Stopped,
    /// It failed, at this side of it.
    Failed(Role, Problem),
}

/// What one run gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Ran {
    /// What it was.
    pub run: Run,
    /// The command lines of server and client.
    pub commands: [Vec<String>; 2],
    /// How it ended.
    pub outcome: Outcome,
    /// The rows that the client printed.
    pub rows: Vec<Row>,
    /// Samples of each second.
    pub samples: Vec<Sample>,
    /// How both sides ended; `None` where one was never started.
    pub ends: [Option<End>; 2],
}

/// Runs it.
pub(super) async fn run<L: Link>(
    server: &Guest<L>,
    client: &Guest<L>,
    plan: &Plan,
    run: &Run,
    news: &mpsc::Sender<News>,
    stop: &CancellationToken,
) -> Ran {
    let mut port = PORT;
    loop {
        let mut once = Once::new(plan, run, news);
        once.go(server, client, port, stop).await;
        if once.is_busy && port + 1 < PORT + PORTS && !stop.is_cancelled() {
            port += 1;
            continue;
        }
        let commands = [Role::Server, Role::Client].map(|role| command(plan, run, role, port));
        return once.ran(commands, [server, client].map(|guest| guest.target.as_str()));
    }
}

/// One try at a port.
struct Once<'a> {
    plan: &'a Plan,
    run: &'a Run,
    news: &'a mpsc::Sender<News>,
    sampler: Sampler,
    samples: Vec<Sample>,
    printed: [Printed; 2],
    ends: [Option<End>; 2],
    began: Option<Instant>,
    is_busy: bool,
    is_stopped: bool,
    /// The side that ended first.
    first: Option<Role>,
    /// Why it was ended from here, at which side.
    late: Option<(Role, String)>,
}

fn place(role: Role) -> usize {
    usize::from(role == Role::Client)
}

impl<'a> Once<'a> {
    fn new(plan: &'a Plan, run: &'a Run, news: &'a mpsc::Sender<News>) -> Self {
        Self {
            plan,
            run,
            news,
            sampler: Sampler::new(plan, run),
            samples: Vec::new(),
            printed: [Printed::default(), Printed::default()],
            ends: [None, None],
            began: None,
            is_busy: false,
            is_stopped: false,
            first: None,
            late: None,
        }
    }

    async fn go<L: Link>(&mut self, server: &Guest<L>, client: &Guest<L>, port: u16, stop: &CancellationToken) {
        let stops = [stop.child_token(), stop.child_token()];
        let go = CancellationToken::new();
        let (sender, mut events) = mpsc::channel(64);
        let (of_server, of_client) = (pass(Role::Server, &sender), pass(Role::Client, &sender));
        let (server_events, passing_server) = of_server;
        let (client_events, passing_client) = of_client;
        drop(sender);
        let sides = [
            self.plan.pair.server.side(self.plan, self.run, Role::Server, port),
            self.plan.pair.client.side(self.plan, self.run, Role::Client, port),
        ];
        let serving = async {
            let end = bench::run(&server.link, &sides[0], &server_events, &stops[0]).await;
            drop(server_events);
            end
        };
        let asking = async {
            go.cancelled().await;
            let end = bench::run(&client.link, &sides[1], &client_events, &stops[1]).await;
            drop(client_events);
            end
        };
        tokio::pin!(serving, asking, passing_server, passing_client);
        let (mut passed_server, mut passed_client) = (false, false);
        let mut deadline = Instant::now() + LISTENING;
        loop {
            let is_over = self.ends[0].is_some() && (self.ends[1].is_some() || !go.is_cancelled());
            if is_over && events.is_empty() && passed_server && (passed_client || !go.is_cancelled()) {
                return;
            }
            tokio::select! {
                biased;
                event = events.recv() => {
                    let Some((role, event)) = event else { continue };
                    if matches!(event, Event::Listens { .. }) && !go.is_cancelled() && !stops[0].is_cancelled() {
                        self.began = Some(Instant::now());
                        deadline = Instant::now() + self.longest();
                        let _ = self.news.send(News::Listens).await;
                        go.cancel();
                    }
                    self.event(role, event).await;
                }
                () = &mut passing_server, if !passed_server => passed_server = true,
                () = &mut passing_client, if go.is_cancelled() && !passed_client => passed_client = true,
                end = &mut serving, if self.ends[0].is_none() => {
                    self.ends[0] = Some(end);
                    self.first.get_or_insert(Role::Server);
                    deadline = Instant::now() + AFTER;
                }
                end = &mut asking, if go.is_cancelled() && self.ends[1].is_none() => {
                    self.ends[1] = Some(end);
                    self.first.get_or_insert(Role::Client);
                    deadline = Instant::now() + AFTER;
                }
                () = sleep_until(deadline) => {
                    self.is_late(go.is_cancelled());
                    stops.iter().for_each(CancellationToken::cancel);
                    // Each side has its own deadline for its end from here on.
                    deadline = Instant::now() + LONGEST;
                }
                () = stop.cancelled(), if !self.is_stopped => self.is_stopped = true,
            }
        }
    }

    /// A deadline is over: whose was it?
    fn is_late(&mut self, is_going: bool) {
        if self.ends.iter().any(Option::is_some) {
            // One side has ended, the other one is told to.
            return;
        }
        self.late = Some(if is_going {
            (Role::Client, format!("did not end within {} s", self.longest().as_secs()))
        } else {
            (Role::Server, format!("did not listen within {} s", LISTENING.as_secs()))
        });
    }

    fn longest(&self) -> Duration {
        match self.run.length {
            Length::Seconds(seconds) => Duration::from_secs(u64::from(seconds)) + GRACE,
            Length::Iterations(_) | Length::Usual => LONGEST,
        }
    }

    async fn event(&mut self, role: Role, event: Event) {
        match event {
            Event::Busy(_) => self.is_busy = true,
            Event::Started { process, began } => {
                let _ = self.news.send(News::Started { role, process, began }).await;
            }
            Event::Said(line) => {
                if let Some(Item::Row(row)) = self.printed[place(role)].line(&line)
                    && role == Role::Client
                {
                    let _ = self.news.send(News::Row(row)).await;
                }
            }
            Event::Counted(counters) => {
                let is_receiver = self.sampler.is_at_server() == (role == Role::Server);
                if let Some(began) = self.began.filter(|_| is_receiver)
                    && let Some(sample) = self.sampler.take(counters, began.elapsed())
                {
                    self.samples.push(sample);
                    let _ = self.news.send(News::Sampled(sample)).await;
                }
            }
            Event::Missing(_) | Event::Listens { .. } | Event::Ended(_) => {}
        }
    }

    fn ran(self, commands: [Vec<String>; 2], names: [&str; 2]) -> Ran {
        let outcome = self.outcome(&commands, names);
        let [_, client] = self.printed;
        Ran { run: *self.run, commands, outcome, rows: client.rows, samples: self.samples, ends: self.ends }
    }

    fn outcome(&self, commands: &[Vec<String>; 2], names: [&str; 2]) -> Outcome {
        if self.is_stopped {
            return Outcome::Stopped;
        }
        if let Some((role, why)) = &self.late {
            return Outcome::Failed(*role, self.problem(*role, why, commands, names));
        }
        let bad = |end: &Option<End>| match end {
            Some(End::Tool(0)) => None,
            Some(End::Tool(status)) => Some(if *status > 128 {
                format!(
                    "was ended by signal {}: by somebody there, or by its watchdog, which had heard nothing from here for {PATIENCE_SECONDS} s",
                    status - 128
                )
            } else {
                format!("ended with status {status}")
            }),
            Some(End::NotStarted(why)) => Some(format!("was not started: {why}")),
            Some(End::Cut(why)) => Some(format!("was cut off: {why}")),
            None => Some("was never started".to_owned()),
        };
        // The side that was not started or cut off is the cause, else the client, who says more.
        let is_cause = |end: &Option<End>| matches!(end, Some(End::NotStarted(_) | End::Cut(_)));
        let is_killed = |end: &Option<End>| matches!(end, Some(End::Tool(129..)));
        let is_server = is_cause(&self.ends[0])
            || self.ends[1].is_none()
            || (self.first == Some(Role::Server) && (is_killed(&self.ends[0]) || is_killed(&self.ends[1])));
        let first = if is_server { Role::Server } else { Role::Client };
        let is_whole = self.ends[1] == Some(End::Tool(0)) && !self.printed[1].rows.is_empty();
        if is_whole {
            return Outcome::Completed;
        }
        let what = bad(&self.ends[place(first)]).unwrap_or_else(|| "printed no result".to_owned());
        Outcome::Failed(first, self.problem(first, &what, commands, names))
    }

    /// What happened, what its own words mean, and what to try.
    fn problem(&self, role: Role, what: &str, commands: &[Vec<String>; 2], names: [&str; 2]) -> Problem {
        let said: Vec<&Text> = self.printed[place(role)].said.iter().collect();
        let last = said.iter().rev().take(3).rev().map(|line| line.as_str()).collect::<Vec<_>>().join("; ");
        let last = if last.is_empty() { String::new() } else { format!(" ({last})") };
        let side = if role == Role::Server { "server" } else { "client" };
        let what = format!("{}: {} ({side}) {what}{last}", names[place(role)], commands[place(role)][0]);
        let text: String = [&self.printed[place(role)], &self.printed[1 - place(role)]]
            .iter()
            .flat_map(|printed| &printed.said)
            .fold(String::new(), |text, line| text + line.as_str() + "\n");
        let found = explain("-", text.as_bytes()).findings;
        let found = found.into_iter().find(|finding| matches!(finding.status, Status::Fail | Status::Warn));
        let (cause, help) = match found {
            Some(finding) => {
                let help = finding.remedies.first().map(|remedy| {
                    let commands = remedy.commands.join("; ");
                    if commands.is_empty() { remedy.title.clone() } else { format!("{}: {commands}", remedy.title) }
                });
                (format!("{}: {}", finding.title, finding.cause), help)
            }
            None => (String::new(), None),
        };
        let by_hand = format!("run it by hand: {}", commands[place(role)].join(" "));
        Problem::new(&what, &cause, &help.unwrap_or(by_hand))
    }
}

/// A channel for the events of one side, and what hands them on with its role.
fn pass(role: Role, to: &mpsc::Sender<(Role, Event)>) -> (mpsc::Sender<Event>, impl Future<Output = ()> + use<>) {
    let (sender, mut receiver) = mpsc::channel(16);
    let to = to.clone();
    let passing = async move {
        while let Some(event) = receiver.recv().await {
            let _ = to.send((role, event)).await;
        }
    };
    (sender, passing)
}
