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
mod host_certificate;
mod host_key;
mod identity;
mod known_hosts;
mod memory;
mod password_command;
mod problem;
mod proxy;
mod stream;
mod tcp;
mod wording;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot, watch};
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

pub use error::{
    AgentState, CommandProblem, ConnectError, Failure, JumpRefusal, KeysTried, NotAccepted, NotGiven, OfferedHostKey,
    ProxyEnd, Retry, SecretFrom, SetAside, SetAsideReason, Stop,
};
pub use known_hosts::{KnownHostsFile, KnownKeys, Place, RecordedNames, Verdict};
pub use memory::Memory;

use self::authenticate::{Asking, Wallet};
use self::connect::{Hop, Setback, Step};
use super::{Asker, Exec, TransportError};
use crate::config::Access;
use crate::config::openssh::HostSettings;
use crate::fabric::{TargetId, Text};

/// So many commands run at once on one connection. Servers allow ten, some fewer, and they are not ours alone.
const COMMANDS_AT_ONCE: usize = 4;

/// A jump host that goes while somebody is asked is gone to again so many times.
const REMADE_AT_MOST: usize = 2;

/// The way to a target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// The jump hosts, resolved, the first one first; then the target itself.
    pub hops: Vec<HostSettings>,
    /// What the inventory says about the target's login.
    pub access: Access,
    /// The file that stood in for OpenSSH's own configuration: commands to type name it.
    pub ssh_config: Option<PathBuf>,
}

/// Who wants a connection.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    /// For which target.
    pub target: &'a TargetId,
    /// The way to the console.
    pub asker: &'a Asker,
    /// What is remembered of the target's earlier logins.
    pub memory: &'a Memory,
}

/// How long each step of a connection may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// The name's address and the TCP connection; for a target behind a jump host, the way that the jump host opens.
    pub tcp: Duration,
    /// Greeting, key exchange and host key.
    pub handshake: Duration,
    /// The end of a `ProxyCommand` that gave no connection, and what it complains.
    pub last_words: Duration,
    /// Logging in, with what an agent needs for a confirmation; not the time in which somebody is asked.
    pub login: Duration,
    /// The command that gives a password.
    pub password_command: Duration,
    /// An answer to a server's question that took longer is given in a new session: servers end a login after two
    /// minutes.
    pub answer: Duration,
    /// The start of a command on a connection that is up.
    pub command: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            tcp: Duration::from_secs(10),
            handshake: Duration::from_secs(10),
            last_words: Duration::from_secs(3),
            login: Duration::from_secs(30),
            password_command: Duration::from_secs(15),
            answer: Duration::from_secs(100),
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
pub async fn connect(caller: Caller<'_>, route: &Route) -> Result<Connected, ConnectError> {
    connect_within(caller, route, Deadlines::default()).await
}

/// Connects to a target with these deadlines. Unknown host keys and missing secrets are asked about where the settings
/// want it; the time that takes counts towards none of them. Hosts on the way that were reached stay connected meanwhile.
pub async fn connect_within(
    caller: Caller<'_>,
    route: &Route,
    deadlines: Deadlines,
) -> Result<Connected, ConnectError> {
    let Some((last, jumps)) = route.hops.split_last() else {
        let (host, by_hand) = (caller.target.to_string(), String::new());
        let stop = Stop { user: String::new(), host, port: 0, is_jump: false, by_hand };
        return Err(ConnectError { stop, failure: Failure::NoRoute });
    };
    let asking = Asking::new(caller.target, caller.asker, caller.memory);
    let of_jumps = Access::default();
    let mut accepted = vec![None; route.hops.len()];
    let mut wallets: Vec<Wallet> = route.hops.iter().map(|_| Wallet::default()).collect();
    let mut hops: Vec<Hop> = Vec::new();
    let mut remade = 0;
    while hops.len() <= jumps.len() {
        if let Some(gone) = hops.iter().position(|hop| hop.handle.is_closed())
            && remade < REMADE_AT_MOST
        {
            remade += 1;
            hops.truncate(gone);
        }
        let number = hops.len();
        let settings = &route.hops[number];
        let is_jump = number < jumps.len();
        let stop = connect::stop(settings, route.ssh_config.as_deref(), is_jump);
        let access = if is_jump { &of_jumps } else { &route.access };
        let step = Step { settings, stop: &stop, access, accepted: accepted[number].as_ref(), deadlines: &deadlines };
        let result = match connect::next_hop(hops.last(), &step, &asking, &mut wallets[number]).await {
            Ok(hop) => {
                hops.push(hop);
                Ok(())
            }
            Err(Setback::Failed(failure)) => Err(failure),
            Err(Setback::Unknown(key)) => {
                let decision = host_key::decide(caller.target, settings, &key.key, key.authority, caller.asker).await;
                accepted[number] = Some(key.key);
                decision
            }
            Err(Setback::Wanted(wanted)) => asking.get(*wanted, &stop, &mut wallets[number]).await,
        };
        if let Err(failure) = result {
            connect::close(&hops).await;
            return Err(ConnectError { stop, failure });
        }
    }
    Ok(Connected::new(hops, last, deadlines))
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
        let said = self.session.first().and_then(|hop| hop.proxy.as_ref()).and_then(proxy::Proxy::said);
        match said {
            Some(said) => Text::new(&format!("{reason} (ProxyCommand said: {said})")),
            None => reason,
        }
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
    let by = if target.proxy_command.is_some() && hops.len() == 1 { ", by ProxyCommand" } else { "" };
    Text::new(&format!("{}, {}{over}{by}", last.stop, last.key))
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
