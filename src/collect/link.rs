//! What a poller needs from a connection, whatever it is made of: batches of sources and a stream of ticks.

use std::future::Future;
use std::time::Duration;

use tokio::sync::mpsc;

use super::change::Given;
use super::kind::System;
use super::privilege::{News, Privilege};
use super::rounds::Sequence;
use super::transport::ssh::{Connected, Retry};
use super::transport::{Exec, TransportError};
use super::work::Work;
use crate::app::Problem;
use crate::fabric::{Report, TargetId, Text};
use crate::probe::Source;
use crate::probe::dialect::sections::Section;

/// Why a target cannot be read now, told for the user, and whether a further try by itself is sensible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What happened, why, and what to do.
    pub problem: Problem,
    /// Whether to try again without being asked.
    pub retry: Retry,
}

impl Failure {
    /// A failure that may mend by itself.
    pub fn passing(problem: Problem) -> Self {
        Self { problem, retry: Retry::Automatic }
    }

    /// A failure that only somebody can mend.
    pub fn lasting(problem: Problem) -> Self {
        Self { problem, retry: Retry::OnlyWhenAsked }
    }
}

/// Why a batch did not read all of its sources. What it did read was handed on before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// The target refused one more channel.
    #[error("the target refused a channel: {0}")]
    ChannelRefused(Text),
    /// The target refuses to run commands at all.
    #[error("the target refused to run a command")]
    ExecRefused,
    /// The connection ended.
    #[error("the connection ended")]
    Closed,
    /// What runs there ended before it began to run the script.
    #[error("no shell: {said}")]
    NoShell {
        /// Its exit status, if it gave one.
        status: Option<u32>,
        /// What it said.
        said: Text,
    },
    /// The shell ended before the script did.
    #[error("the shell ended before the script did")]
    Broken,
    /// Not one command of a switch was answered.
    #[error("no answer")]
    Silent {
        /// The last one that was tried.
        command: Text,
        /// How long was waited for each.
        after: Duration,
    },
    /// Not done by the deadline.
    #[error("not done in time")]
    TimedOut {
        /// Whether the script began to run at all.
        begun: bool,
        /// How long was waited.
        after: Duration,
        /// What was said before it began.
        said: Text,
    },
    /// The target sent more than a batch may.
    #[error("the target sent too much")]
    Flooded,
}

/// What is to be told of the way in which a target is read.
#[derive(Debug)]
pub struct Told {
    /// What is known now, for the model, if that is anything for it.
    pub report: Option<Report>,
    /// A sentence for the events, if there is one that was not told yet.
    pub refusal: Option<String>,
}

impl From<News> for Told {
    fn from(News { report, refusal }: News) -> Self {
        Self { report: Some(report), refusal }
    }
}

/// A connection to a target that is up.
pub trait Link: Send + Sync + 'static {
    /// The way there, in words.
    fn described(&self) -> Text;

    /// What kind of system is read over it.
    fn system(&self) -> System {
        System::Linux
    }

    /// Reads all `sources` once; each section goes into `sections` as soon as it is complete. Sources that began and did
    /// not end give a section, too, with an outcome that says so; sources that never began give none. How long the shells
    /// of an ESXi host worked for it goes into `work`, also where it is dropped before its end.
    fn batch(
        &self,
        sources: &[Source],
        sections: &mpsc::Sender<Section>,
        work: &Work,
    ) -> impl Future<Output = Result<(), BatchError>> + Send;

    /// True as far as is known where one batch may begin before another one has ended.
    fn has_room(&self) -> bool {
        true
    }

    /// Starts a stream whose lines carry `nonce`: ticks go in, lines come out.
    fn stream(&self, nonce: &str) -> impl Future<Output = Result<Exec, TransportError>> + Send;

    /// Starts a shell with this block, which reads its input to the end and then ends by itself. Where no shell can be had,
    /// as on this machine itself, the refusal says so.
    fn shell(&self, _block: String) -> impl Future<Output = Result<Exec, TransportError>> + Send {
        std::future::ready(Err(TransportError::ExecRefused))
    }

    /// Runs a command that changes something, to its end.
    fn run(&self, words: &[String]) -> impl Future<Output = Result<Given, BatchError>> + Send;

    /// What `sudo` allows over it.
    fn privilege(&self) -> &Privilege;

    /// What is to be told of the way in which it is read, if anything is new.
    fn news(&self, target: &TargetId, sequence: &Sequence) -> Vec<Told> {
        self.privilege().news(target, sequence).into_iter().map(Told::from).collect()
    }

    /// Somebody asked for a read: what was found out about the way of reading may have changed.
    fn try_again(&self) {
        self.privilege().try_again();
    }

    /// Waits until the connection ends; says why.
    fn closed(&self) -> impl Future<Output = Text> + Send;

    /// Ends it in good order.
    fn close(self) -> impl Future<Output = ()> + Send;
}

/// Makes connections to one target.
pub trait Connector: Send + Sync + 'static {
    /// What it makes.
    type Link: Link;

    /// The user asks for a connection: what needs a person may be asked for (again).
    fn wanted(&self) {}

    /// Connects, once.
    fn connect(&self) -> impl Future<Output = Result<Self::Link, Failure>> + Send;
}

/// A connection that can run a command: the one primitive that batches and streams over SSH are built on.
pub trait Remote: Send + Sync + 'static {
    /// Starts a command.
    fn exec(&self, command: &str) -> impl Future<Output = Result<Exec, TransportError>> + Send;

    /// Waits until the connection ends; says why.
    fn closed(&self) -> impl Future<Output = Text> + Send;

    /// The way there, in words.
    fn described(&self) -> Text;

    /// Ends it in good order.
    fn close(self) -> impl Future<Output = ()> + Send;
}

impl Remote for Connected {
    async fn exec(&self, command: &str) -> Result<Exec, TransportError> {
        Connected::exec(self, command).await
    }

    async fn closed(&self) -> Text {
        Connected::closed(self).await
    }

    fn described(&self) -> Text {
        Connected::described(self)
    }

    async fn close(self) {
        Connected::close(self).await;
    }
}
