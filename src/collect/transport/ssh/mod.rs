//! Targets over SSH. This is the only place that knows the SSH library.
//!
//! [`connect()`] goes the whole way to a target, over its jump hosts, and gives a [`Connected`], on which commands run
//! (`Exec`). What goes wrong on the way is a [`ConnectError`] that says what happened, why, and whether a further try
//! makes sense. Nothing here decides when to try again.

mod agent;
mod algorithms;
mod authenticate;
mod connect;
mod error;
mod exec;
mod handler;
mod host_key;
mod identity;
mod known_hosts;
mod problem;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot, watch};
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

pub use error::{
    AgentState, ConnectError, Failure, JumpRefusal, KeysTried, NotAccepted, OfferedHostKey, Retry, SetAside,
    SetAsideReason, Stop,
};
pub use known_hosts::{KnownHostsFile, KnownKeys, Place, RecordedNames, Verdict};

use self::connect::{Hop, Setback};
use super::{Asker, Exec, TransportError};
use crate::config::openssh::HostSettings;
use crate::fabric::{TargetId, Text};

/// So many commands run at once on one connection. Servers allow ten, some fewer, and they are not ours alone.
const COMMANDS_AT_ONCE: usize = 4;

/// The way to a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The jump hosts, resolved, the first one first; then the target itself.
    pub hops: Vec<HostSettings>,
}

/// How long each step of a connection may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// The name's address and the TCP connection; for a target behind a jump host, the way that the jump host opens.
    pub tcp: Duration,
    /// Greeting, key exchange and host key.
    pub handshake: Duration,
    /// Logging in, with what an agent needs for a confirmation.
    pub login: Duration,
    /// The start of a command on a connection that is up.
    pub command: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            tcp: Duration::from_secs(10),
            handshake: Duration::from_secs(10),
            login: Duration::from_secs(30),
            command: Duration::from_secs(10),
        }
    }
}

/// A live connection. Dropping it ends its commands and closes it.
pub struct Connected {
    session: Arc<Vec<Hop>>,
    places: Arc<Semaphore>,
    commands: TaskTracker,
    ends: watch::Receiver<Option<Text>>,
    gone: watch::Receiver<bool>,
    stop: CancellationToken,
    deadlines: Deadlines,
    described: Text,
    _stop_on_drop: DropGuard,
}

/// Connects to a target with the usual deadlines.
pub async fn connect(target: &TargetId, route: &Route, asker: &Asker) -> Result<Connected, ConnectError> {
    connect_within(target, route, asker, Deadlines::default()).await
}

/// Connects to a target with these deadlines. An unknown host key is asked about where the settings want it; the time
/// that takes counts towards none of them.
pub async fn connect_within(
    target: &TargetId,
    route: &Route,
    asker: &Asker,
    deadlines: Deadlines,
) -> Result<Connected, ConnectError> {
    let Some(last) = route.hops.last() else {
        let stop = Stop { user: String::new(), host: target.to_string(), port: 0, is_jump: false };
        return Err(ConnectError { stop, failure: Failure::NoRoute });
    };
    let mut accepted = vec![None; route.hops.len()];
    loop {
        match connect::attempt(&route.hops, &accepted, &deadlines).await {
            Ok(hops) => return Ok(Connected::new(hops, last, deadlines)),
            Err(Setback::Failed(error)) => return Err(error),
            Err(Setback::Unknown { hop, key }) => {
                let settings = &route.hops[hop];
                let decision = host_key::decide(target, settings, &key.key, key.authority, asker).await;
                if let Err(failure) = decision {
                    let stop = connect::stop(settings, hop + 1 < route.hops.len());
                    return Err(ConnectError { stop, failure });
                }
                accepted[hop] = Some(key.key);
            }
        }
    }
}

impl Connected {
    fn new(hops: Vec<Hop>, target: &HostSettings, deadlines: Deadlines) -> Self {
        let described = describe(&hops, target);
        let stop = CancellationToken::new();
        let ends = hops.last().map_or_else(|| watch::channel(None).1, |hop| hop.ends.clone());
        let session = Arc::new(hops);
        let places = Arc::new(Semaphore::new(COMMANDS_AT_ONCE));
        let commands = TaskTracker::new();
        let (going, gone) = watch::channel(false);
        tokio::spawn(keep(session.clone(), places.clone(), commands.clone(), stop.clone(), going));
        let guard = stop.clone().drop_guard();
        Self { session, places, commands, ends, gone, stop, deadlines, described, _stop_on_drop: guard }
    }

    /// Starts a command. At most four run at once, more wait here; a channel that the server refuses is
    /// [`TransportError::ChannelRefused`].
    pub async fn exec(&self, command: &str) -> Result<Exec, TransportError> {
        let permit = self.places.clone().acquire_owned().await.map_err(|_| TransportError::Closed)?;
        let (started, answer) = oneshot::channel();
        let serving = exec::serve(self.session.clone(), command.to_owned(), permit, self.stop.clone(), started);
        self.commands.spawn(serving);
        match timeout(self.deadlines.command, answer).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(TransportError::Closed),
            Err(_) => Err(TransportError::TimedOut(self.deadlines.command)),
        }
    }

    /// Waits until the connection ends, and says why.
    pub async fn closed(&self) -> Text {
        let reason = handler::ended(self.ends.clone()).await;
        // A jump host that went takes the target along: then its reason is the true one, and it is there already,
        // because the inner session lives in a channel of the outer one.
        for hop in self.session.iter().filter(|hop| hop.stop.is_jump) {
            if hop.handle.is_closed() {
                let reason = handler::ended(hop.ends.clone()).await;
                return Text::new(&format!("jump host {}: {reason}", hop.stop));
            }
        }
        reason
    }

    /// True once the connection has ended.
    pub fn is_closed(&self) -> bool {
        self.session.last().is_none_or(|hop| hop.handle.is_closed())
    }

    /// Who is connected where, with which key, over which jump hosts.
    pub fn described(&self) -> Text {
        self.described.clone()
    }

    /// Ends the commands that still run and closes the connection in good order.
    pub async fn close(self) {
        let mut gone = self.gone.clone();
        // Dropping it tells the keeper.
        drop(self);
        let _ = gone.wait_for(|gone| *gone).await;
    }
}

impl std::fmt::Debug for Connected {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Connected").field("described", &self.described).finish_non_exhaustive()
    }
}

fn describe(hops: &[Hop], target: &HostSettings) -> Text {
    let Some(last) = hops.last() else { return Text::new("") };
    let over = match hops.len() {
        1 => String::new(),
        length => {
            let jumps: Vec<String> = hops[..length - 1].iter().map(|hop| hop.stop.to_string()).collect();
            format!(", over {}", jumps.join(" -> "))
        }
    };
    Text::new(&format!("{}, {}{over}", connect::stop(target, false), last.key))
}

/// Waits for the end of a connection, then ends its commands and closes its sessions.
async fn keep(
    session: Arc<Vec<Hop>>,
    places: Arc<Semaphore>,
    commands: TaskTracker,
    stop: CancellationToken,
    going: watch::Sender<bool>,
) {
    const PATIENCE: Duration = Duration::from_secs(3);
    let ends = session.last().map(|hop| hop.ends.clone());
    tokio::select! {
        () = stop.cancelled() => {}
        () = async { if let Some(ends) = ends { handler::ended(ends).await; } } => {}
    }
    places.close();
    stop.cancel();
    commands.close();
    if timeout(PATIENCE, commands.wait()).await.is_err() {
        tracing::debug!("commands were cut off with their connection");
    }
    connect::close(&session).await;
    drop(session);
    going.send_replace(true);
}
