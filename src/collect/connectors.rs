//! What a connection to each kind of target is made of.

use std::sync::Arc;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use tokio::sync::mpsc;

use super::kind;
use super::link::{BatchError, Connector, Failure, Link};
use super::shell::ShellLink;
use super::transport::local::Local;
use super::transport::ssh::{self, Caller, Connected, Memory, Route};
use super::transport::{Asker, Exec, TransportError};
use crate::app::Problem;
use crate::fabric::{TargetId, Text};
use crate::probe::Source;
use crate::probe::dialect::sections::Section;

/// How many reads of this machine run at once.
const LOCAL_READS: usize = 4;

/// This machine.
#[derive(Clone, Debug, Default)]
pub struct LocalConnector(Local);

impl Connector for LocalConnector {
    type Link = LocalLink;

    async fn connect(&self) -> Result<LocalLink, Failure> {
        Ok(LocalLink(self.0.clone()))
    }
}

/// This machine is always connected.
#[derive(Clone, Debug)]
pub struct LocalLink(Local);

impl Link for LocalLink {
    fn described(&self) -> Text {
        Text::new("this machine")
    }

    async fn batch(&self, sources: &[Source], sections: &mpsc::Sender<Section>) -> Result<(), BatchError> {
        futures::stream::iter(sources.iter().copied().enumerate())
            .for_each_concurrent(LOCAL_READS, |(index, source)| async move {
                let section = self.0.read(index, source).await;
                let _ = sections.send(section).await;
            })
            .await;
        Ok(())
    }

    async fn stream(&self, nonce: &str) -> Result<Exec, TransportError> {
        Ok(self.0.stream(nonce))
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
    known_linux: bool,
    memory: Memory,
}

impl SshConnector {
    /// A connector to `target`. Its system is asked for first, unless it is known to be Linux.
    pub fn new(target: TargetId, resolve: Resolve, asker: Asker, known_linux: bool) -> Self {
        Self { target, resolve, asker, known_linux, memory: Memory::default() }
    }
}

impl std::fmt::Debug for SshConnector {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SshConnector").field("target", &self.target).finish_non_exhaustive()
    }
}

impl Connector for SshConnector {
    type Link = ShellLink<Connected>;

    fn wanted(&self) {
        self.memory.permit();
    }

    async fn connect(&self) -> Result<Self::Link, Failure> {
        let route = (self.resolve)().await.map_err(Failure::lasting)?;
        let caller = Caller { target: &self.target, asker: &self.asker, memory: &self.memory };
        let connected = ssh::connect(caller, &route)
            .await
            .map_err(|error| Failure { problem: error.problem(&self.target), retry: error.retry() })?;
        if !self.known_linux
            && let Err(failure) = kind::expect_linux(&connected, &self.target).await
        {
            connected.close().await;
            return Err(failure);
        }
        Ok(ShellLink::new(connected))
    }
}
