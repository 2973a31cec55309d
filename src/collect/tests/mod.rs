//! How a poller behaves towards targets that behave, and towards those that do not.

mod batches;
mod esxi;
mod esxi_shells;
mod esxtop;
mod privilege;
mod samples;
mod secrets;
mod supervisor;
mod switches;
mod systems;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::poller::{Command, Options, Poller};
use super::standing::Sparing;
use super::testing::FakeConnector;
use crate::app::{Connection, Message};
use crate::fabric::{Fact, Observation, TargetId};
use crate::probe::{Pace, Probe, Read, Rhythm, Source, Word};

/// One fact for each source: that it was read.
fn parse(observations: &[Arc<Observation>]) -> Vec<Fact> {
    observations
        .iter()
        .map(|observation| {
            let text = crate::fabric::Text::new(&observation.stdout);
            observation.known(crate::fabric::Entity::Guest, crate::fabric::Attribute::MtuPersistence, text, 1)
        })
        .collect()
}

const PROBES: &[Probe] = &[
    Probe {
        name: "test.hello",
        title: "two sources",
        privilege_adds: "",
        pace: Pace::Fast,
        rhythm: Rhythm::PACE,
        sources: &[
            Source {
                name: "test.echo",
                read: Read::Command { argv: &[Word::Plain("echo"), Word::Plain("hello")], keep: None },
            },
            Source { name: "test.release", read: Read::Files(&["/proc/sys/kernel/osrelease"]) },
        ],
        parse,
    },
    Probe {
        name: "test.missing",
        title: "a program that is not there",
        privilege_adds: "",
        pace: Pace::Slow,
        rhythm: Rhythm::PACE,
        sources: &[Source {
            name: "test.missing",
            read: Read::Command { argv: &[Word::Plain("no-such-program-here")], keep: None },
        }],
        parse,
    },
];

/// A poller at work.
struct Rig {
    messages: mpsc::Receiver<Message>,
    commands: mpsc::Sender<Command>,
    cancelled: CancellationToken,
    task: JoinHandle<()>,
}

impl Rig {
    fn start(connector: FakeConnector) -> Self {
        Self::with_period(connector, Duration::from_secs(1))
    }

    fn with_period(connector: FakeConnector, period: Duration) -> Self {
        Self::with_probes(connector, period, PROBES)
    }

    fn with_probes(connector: FakeConnector, period: Duration, probes: &[Probe]) -> Self {
        let (sender, messages) = mpsc::channel(64);
        let (commands, received) = mpsc::channel(4);
        let cancelled = CancellationToken::new();
        let options =
            Options { probes: Arc::from(probes), esxi: Arc::from(probes), period, sparing: Sparing::default() };
        let poller = Poller::new(TargetId::new("t"), connector, options, sender, received, cancelled.clone());
        Self { messages, commands, cancelled, task: tokio::spawn(poller.run()) }
    }

    async fn next(&mut self) -> Message {
        self.messages.recv().await.expect("the poller lives")
    }

    /// The first message that `wanted` likes.
    async fn until<T>(&mut self, mut wanted: impl FnMut(&Message) -> Option<T>) -> T {
        loop {
            let message = self.next().await;
            if let Some(found) = wanted(&message) {
                return found;
            }
        }
    }

    /// The next connection state that is not `Connecting`.
    async fn connection(&mut self) -> Connection {
        self.until(|message| match message {
            Message::Connection { connection: Connection::Connecting { .. }, .. } => None,
            Message::Connection { connection, .. } => Some(connection.clone()),
            _ => None,
        })
        .await
    }

    async fn stop(mut self) {
        self.cancelled.cancel();
        while self.messages.recv().await.is_some() {}
        self.task.await.expect("it ends when asked to");
    }
}
