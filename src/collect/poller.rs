//! The supervisor of one target: it connects, lets batches and stream run over the connection until that ends, waits,
//! and connects again. Whatever happens to a target happens here and delays nobody else.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::backoff::Backoff;
use super::change::{self, Request};
use super::esxtop;
use super::gpus;
use super::kind::System;
use super::link::{Connector, Failure, Link};
use super::outlet::{Outlet, Samples};
use super::rounds::{self, Delivered, Sequence};
use super::sampler;
use super::standing::{Sparing, Standing};
use super::transport::ssh::Retry;
use super::turns::Turns;
use crate::app::{Connection, Message, Problem};
use crate::fabric::{TargetId, Timestamp};
use crate::probe::Probe;

/// How long closing a connection in good order may take.
const CLOSE_DEADLINE: Duration = Duration::from_millis(150);

/// What somebody asks of a poller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Connect again now, whatever state the connection is in.
    Reconnect,
    /// Read everything now.
    ReadNow,
}

/// What a poller does.
#[derive(Clone, Debug)]
pub struct Options {
    /// What it reads on a Linux system.
    pub probes: Arc<[Probe]>,
    /// What it reads on an ESXi host.
    pub esxi: Arc<[Probe]>,
    /// Time between two samples.
    pub period: Duration,
    /// How ESXi hosts are spared.
    pub sparing: Sparing,
}

/// The supervisor of one target.
#[derive(Debug)]
pub struct Poller<C> {
    connector: C,
    options: Options,
    outlet: Outlet,
    commands: mpsc::Receiver<Command>,
    requests: mpsc::Receiver<Request>,
    watched: watch::Receiver<esxtop::Wanted>,
    cancelled: CancellationToken,
}

/// How a session ended.
enum SessionEnd {
    Cancelled,
    Asked,
    Failed(Failure),
}

impl<C: Connector> Poller<C> {
    /// A poller of `target` that sends what it learns into `messages`.
    pub fn new(
        target: TargetId,
        connector: C,
        options: Options,
        messages: mpsc::Sender<Message>,
        commands: mpsc::Receiver<Command>,
        cancelled: CancellationToken,
    ) -> Self {
        // Until somebody gives it another one there is nobody who could ask.
        let (_, requests) = mpsc::channel(change::WAITING);
        let (_, watched) = watch::channel(None);
        Self { connector, options, outlet: Outlet::new(target, messages), commands, requests, watched, cancelled }
    }

    /// The same, which also serves requests to change the target.
    #[must_use]
    pub fn serving(mut self, requests: mpsc::Receiver<Request>) -> Self {
        self.requests = requests;
        self
    }

    /// The same, which watches a host as long as that is wanted.
    #[must_use]
    pub fn watching(mut self, watched: watch::Receiver<esxtop::Wanted>) -> Self {
        self.watched = watched;
        self
    }

    /// Runs until it is cancelled; its connection is then closed in good order.
    pub async fn run(mut self) {
        let (mut samples, forward) = Samples::new(self.outlet.clone());
        let cancelled = self.cancelled.clone();
        let forwarding = tokio::spawn(async move {
            tokio::select! {
                () = forward => {}
                () = cancelled.cancelled() => {}
            }
        });
        let sequence = Sequence::default();
        let mut backoff = Backoff::default();
        let mut standing = None;
        loop {
            let attempt = backoff.failures().saturating_add(1);
            self.outlet.connection(Connection::Connecting { attempt }).await;
            let connected = {
                let connecting = self.connector.connect();
                tokio::pin!(connecting);
                loop {
                    tokio::select! {
                        () = self.cancelled.cancelled() => break None,
                        connected = &mut connecting => break Some(connected),
                        command = recv(&mut self.commands) => match command {
                            // It may wait for something that will never come: it is begun anew.
                            Command::Reconnect => {
                                self.connector.wanted();
                                backoff.reset();
                                connecting.set(self.connector.connect());
                                self.outlet.connection(Connection::Connecting { attempt: 1 }).await;
                            }
                            // Once it is connected everything is read.
                            Command::ReadNow => {}
                        }
                    }
                }
            };
            let Some(connected) = connected else { break };
            let failure = match connected {
                Err(failure) => failure,
                Ok(link) => {
                    let began = Instant::now();
                    let connection = Connection::Connected { since: Timestamp::now(), via: link.described() };
                    self.outlet.connection(connection).await;
                    let probes = match link.system() {
                        System::Linux => Arc::clone(&self.options.probes),
                        System::Esxi => Arc::clone(&self.options.esxi),
                        System::Switch(system) => Arc::from(system.probes()),
                    };
                    let sparing = self.options.sparing;
                    let connected = Standing::connected(standing.take(), link.system(), probes, sparing);
                    let stands = standing.insert(connected);
                    let end = self.session(&link, stands, &mut samples, &sequence).await;
                    stands.ended();
                    // A target that does not answer any more must not hold up the next try.
                    let _ = timeout(CLOSE_DEADLINE, link.close()).await;
                    backoff.was_up_for(began.elapsed());
                    match end {
                        SessionEnd::Cancelled => break,
                        SessionEnd::Asked => {
                            self.connector.wanted();
                            samples.gap().await;
                            backoff.reset();
                            continue;
                        }
                        SessionEnd::Failed(failure) => {
                            samples.gap().await;
                            failure
                        }
                    }
                }
            };
            if !self.rest(failure, &mut backoff).await {
                break;
            }
        }
        drop(samples);
        let _ = forwarding.await;
    }

    /// Everything that happens over one connection.
    async fn session(
        &mut self,
        link: &C::Link,
        standing: &mut Standing,
        samples: &mut Samples,
        sequence: &Sequence,
    ) -> SessionEnd {
        let (turns, delivered, read_now) = (Turns::default(), Delivered::default(), Notify::new());
        let commands = async {
            loop {
                match recv(&mut self.commands).await {
                    Command::ReadNow => read_now.notify_one(),
                    Command::Reconnect => return,
                }
            }
        };
        let sampling = async {
            match link.system() {
                System::Linux => {
                    let ticks =
                        sampler::run(link, self.options.period, &self.outlet, samples, sequence, &turns, &delivered);
                    tokio::select! {
                        never = ticks => never,
                        never = gpus::run(link, &self.outlet, sequence, &turns, &delivered) => never,
                    }
                }
                // There is nothing there that a stream of ticks could read at little cost.
                System::Esxi => esxtop::run(link, &mut self.watched, &self.outlet, sequence, &turns).await,
                System::Switch(_) => std::future::pending().await,
            }
        };
        // The batches hold what stands of the target: what is read besides is read by the same probes.
        let probes = Arc::clone(&standing.probes);
        let besides = Arc::clone(&standing.besides);
        let changes = change::serve(link, &probes, &self.outlet, sequence, &besides, &mut self.requests);
        tokio::select! {
            biased;
            () = self.cancelled.cancelled() => SessionEnd::Cancelled,
            () = commands => SessionEnd::Asked,
            why = link.closed() => SessionEnd::Failed(Failure::passing(Problem::new(
                "the connection was lost",
                &why,
                "it is tried again by itself",
            ))),
            failure = rounds::run(link, standing, &self.outlet, sequence, &turns, &delivered, &read_now) => {
                SessionEnd::Failed(failure)
            }
            never = sampling => never,
            () = changes => SessionEnd::Cancelled,
        }
    }

    /// Waits for the next try; false if there is none.
    async fn rest(&mut self, failure: Failure, backoff: &mut Backoff) -> bool {
        let Failure { problem, retry } = failure;
        let wait = match retry {
            Retry::Automatic => {
                let wait = backoff.next(rand::random());
                let until = Timestamp::now().checked_add(wait).unwrap_or(Timestamp::MAX);
                let attempt = backoff.failures();
                self.outlet.connection(Connection::BackingOff { until, attempt, problem }).await;
                Some(wait)
            }
            Retry::OnlyWhenAsked => {
                self.outlet.connection(Connection::Failed { problem }).await;
                None
            }
        };
        let time = async {
            match wait {
                Some(wait) => sleep(wait).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(time);
        loop {
            tokio::select! {
                () = self.cancelled.cancelled() => return false,
                () = &mut time => return true,
                command = self.commands.recv() => match command {
                    Some(Command::Reconnect) => {
                        self.connector.wanted();
                        backoff.reset();
                        return true;
                    }
                    // There is nothing to read from.
                    Some(Command::ReadNow) => {}
                    None => {
                        // Nobody can ask any more; only time helps.
                        tokio::select! {
                            () = self.cancelled.cancelled() => return false,
                            () = &mut time => return true,
                        }
                    }
                }
            }
        }
    }
}

/// The next command; where nobody can ask any more there is none, ever.
async fn recv(commands: &mut mpsc::Receiver<Command>) -> Command {
    match commands.recv().await {
        Some(command) => command,
        None => std::future::pending().await,
    }
}
