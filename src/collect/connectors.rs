//! What a connection to each kind of target is made of.

use std::sync::Arc;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use tokio::sync::mpsc;

use super::change::Given;
use super::kind::{self, System};
use super::link::{BatchError, Connector, Failure, Link, Told};
use super::privilege::{Privilege, Way};
use super::rounds::Sequence;
use super::shell::ShellLink;
use super::switch::SwitchLink;
use super::transport::local::Local;
use super::transport::ssh::{self, Caller, Connected, Memory, Route};
use super::transport::{Asker, Exec, TransportError};
use super::work::Work;
use crate::app::Problem;
use crate::fabric::{TargetId, Text};
use crate::probe::Source;
use crate::probe::dialect::sections::Section;
use crate::probe::privilege::{Become, shown_read};

/// How many reads of this machine run at once.
const LOCAL_READS: usize = 4;

/// This machine.
#[derive(Debug, Default)]
pub struct LocalConnector {
    local: Local,
    privilege: Privilege,
}

impl LocalConnector {
    /// This machine, whose privileged commands are run in this way.
    pub fn new(by: Become) -> Self {
        Self { local: Local::new(), privilege: Privilege::new(by) }
    }
}

impl Connector for LocalConnector {
    type Link = LocalLink;

    async fn connect(&self) -> Result<LocalLink, Failure> {
        Ok(LocalLink { local: self.local.clone(), privilege: self.privilege.anew() })
    }
}

/// This machine is always connected.
#[derive(Debug)]
pub struct LocalLink {
    local: Local,
    privilege: Privilege,
}

impl LocalLink {
    /// Reads one source, by `sudo` if that is the way and as the login is where `sudo` refuses.
    async fn read(&self, index: usize, source: Source) -> Section {
        let Way::ByRoot(command) = self.privilege.way(&source) else {
            return self.local.read(index, source, None).await;
        };
        let mut section = self.local.read(index, source, Some(&command)).await;
        if self.privilege.answered(&command, &mut section) {
            return self.local.read(index, source, None).await;
        }
        section.command = Some(shown_read(&source.read, &command));
        section
    }
}

impl Link for LocalLink {
    fn described(&self) -> Text {
        Text::new("this machine")
    }

    async fn batch(
        &self,
        sources: &[Source],
        sections: &mpsc::Sender<Section>,
        _work: &Work,
    ) -> Result<(), BatchError> {
        if sources.iter().any(|source| self.privilege.way(source) == Way::AskFirst) {
            self.privilege.learned(&self.local.login().await);
        }
        futures::stream::iter(sources.iter().copied().enumerate())
            .for_each_concurrent(LOCAL_READS, |(index, source)| async move {
                let section = self.read(index, source).await;
                let _ = sections.send(section).await;
            })
            .await;
        Ok(())
    }

    async fn stream(&self, nonce: &str) -> Result<Exec, TransportError> {
        Ok(self.local.stream(nonce))
    }

    async fn run(&self, words: &[String]) -> Result<Given, BatchError> {
        Ok(self.local.run(words, self.privilege.by() == Become::Sudo).await)
    }

    fn privilege(&self) -> &Privilege {
        &self.privilege
    }

    async fn closed(&self) -> Text {
        std::future::pending().await
    }

    async fn close(self) {}
}

/// Finds out the way to a target, anew for every connection: what the user mended is in force with the next try.
pub type Resolve = Arc<dyn Fn() -> BoxFuture<'static, Result<Route, Problem>> + Send + Sync>;

/// A target over SSH.
#[derive(Clone)]
pub struct SshConnector {
    target: TargetId,
    resolve: Resolve,
    asker: Asker,
    known: Option<System>,
    memory: Memory,
    privilege: Arc<Privilege>,
}

impl SshConnector {
    /// A connector to `target`. Its system is asked for first, unless the inventory tells it. Privileged commands are
    /// run in the way that `by` says.
    pub fn new(target: TargetId, resolve: Resolve, asker: Asker, known: Option<System>, by: Become) -> Self {
        let privilege = Arc::new(Privilege::new(by));
        Self { target, resolve, asker, known, memory: Memory::default(), privilege }
    }
}

impl std::fmt::Debug for SshConnector {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SshConnector").field("target", &self.target).finish_non_exhaustive()
    }
}

impl Connector for SshConnector {
    type Link = SshLink;

    fn wanted(&self) {
        self.memory.permit();
    }

    async fn connect(&self) -> Result<Self::Link, Failure> {
        let route = (self.resolve)().await.map_err(Failure::lasting)?;
        let caller = Caller { target: &self.target, asker: &self.asker, memory: &self.memory };
        let connected = ssh::connect(caller, &route)
            .await
            .map_err(|error| Failure { problem: error.problem(&self.target), retry: error.retry() })?;
        let system = match self.known {
            Some(system) => Ok(system),
            None => kind::recognise(&connected, &self.target).await,
        };
        match system {
            Ok(System::Linux) => Ok(SshLink::Shell(ShellLink::new(connected, self.privilege.anew()))),
            Ok(System::Esxi) => Ok(SshLink::Shell(ShellLink::esxi(connected))),
            Ok(System::Switch(system)) if system.has_shell() => {
                Ok(SshLink::Shell(ShellLink::switch(connected, system)))
            }
            Ok(System::Switch(system)) => Ok(SshLink::Switch(SwitchLink::new(connected, system))),
            Err(failure) => {
                connected.close().await;
                Err(failure)
            }
        }
    }
}

/// A connection over SSH: to a shell, or to the command line of a switch.
#[allow(clippy::large_enum_variant, reason = "there is one for each connection, and it is not moved about")]
#[derive(Debug)]
pub enum SshLink {
    /// A POSIX shell.
    Shell(ShellLink<Connected>),
    /// The command line of a switch.
    Switch(SwitchLink<Connected>),
}

impl Link for SshLink {
    fn described(&self) -> Text {
        match self {
            Self::Shell(link) => link.described(),
            Self::Switch(link) => link.described(),
        }
    }

    fn system(&self) -> System {
        match self {
            Self::Shell(link) => link.system(),
            Self::Switch(link) => link.system(),
        }
    }

    async fn batch(&self, sources: &[Source], sections: &mpsc::Sender<Section>, work: &Work) -> Result<(), BatchError> {
        match self {
            Self::Shell(link) => link.batch(sources, sections, work).await,
            Self::Switch(link) => link.batch(sources, sections, work).await,
        }
    }

    async fn stream(&self, nonce: &str) -> Result<Exec, TransportError> {
        match self {
            Self::Shell(link) => link.stream(nonce).await,
            Self::Switch(link) => link.stream(nonce).await,
        }
    }

    async fn shell(&self, block: String) -> Result<Exec, TransportError> {
        match self {
            Self::Shell(link) => link.shell(block).await,
            Self::Switch(link) => link.shell(block).await,
        }
    }

    async fn run(&self, words: &[String]) -> Result<Given, BatchError> {
        match self {
            Self::Shell(link) => link.run(words).await,
            Self::Switch(link) => link.run(words).await,
        }
    }

    fn privilege(&self) -> &Privilege {
        match self {
            Self::Shell(link) => link.privilege(),
            Self::Switch(link) => link.privilege(),
        }
    }

    fn has_room(&self) -> bool {
        match self {
            Self::Shell(link) => link.has_room(),
            Self::Switch(link) => link.has_room(),
        }
    }

    fn news(&self, target: &TargetId, sequence: &Sequence) -> Vec<Told> {
        match self {
            Self::Shell(link) => link.news(target, sequence),
            Self::Switch(link) => link.news(target, sequence),
        }
    }

    fn try_again(&self) {
        match self {
            Self::Shell(link) => link.try_again(),
            Self::Switch(link) => link.try_again(),
        }
    }

    async fn closed(&self) -> Text {
        match self {
            Self::Shell(link) => link.closed().await,
            Self::Switch(link) => link.closed().await,
        }
    }

    async fn close(self) {
        match self {
            Self::Shell(link) => link.close().await,
            Self::Switch(link) => link.close().await,
        }
    }
}
