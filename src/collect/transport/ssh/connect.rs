//! The way to a target: TCP to the first host, a session with each host on the way, each host's key checked and each
//! login made by that host's own settings. Every step has its deadline, and whatever is given up is cut at once.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use russh::client::{Handle, connect_stream};
use russh::{AlgorithmKind, ChannelOpenFailure, Disconnect};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::algorithms::Offer;
use super::authenticate::{Asking, Halt, Login, Risk, Wallet, Wanted};
use super::error::{Failure, JumpRefusal, Stop};
use super::handler::{Banner, Expectation, SessionError, UnknownKey, Watcher, ended};
use super::proxy::Proxy;
use super::stream::{Cuttable, Greeting};
use super::wording::short_path;
use super::{Deadlines, algorithms, host_key, tcp};
use crate::config::Access;
use crate::config::openssh::HostSettings;
use crate::fabric::Text;
use crate::probe::dialect::posix::quote;

/// A session with one host on the way. Dropping it cuts it.
pub struct Hop {
    /// The library's handle.
    pub handle: Handle<Watcher>,
    /// Says why the session ended, once it has.
    pub ends: watch::Receiver<Option<Text>>,
    /// Which host.
    pub stop: Stop,
    /// What opened the way, in words.
    pub key: String,
    /// The program that the connection runs over.
    pub proxy: Option<Proxy>,
    _cut: DropGuard,
}

/// Why a step of the way was not made.
pub enum Setback {
    /// It failed.
    Failed(Failure),
    /// The host shows an unknown key: somebody has to decide, and then it is tried anew. (Nobody can be asked in the
    /// middle: servers give a login two minutes, and people take longer.)
    Unknown(Box<UnknownKey>),
    /// Something has to be asked before the login can be made.
    Wanted(Box<Wanted>),
}

impl From<Failure> for Setback {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// What one host on the way is given.
pub struct Step<'a> {
    /// Its settings.
    pub settings: &'a HostSettings,
    /// Which host.
    pub stop: &'a Stop,
    /// What the inventory says, if it is the target.
    pub access: &'a Access,
    /// A host key that was accepted a moment ago.
    pub accepted: Option<&'a russh::keys::PublicKey>,
    /// How long things may take.
    pub deadlines: &'a Deadlines,
}

/// Which host of a route this is.
pub fn stop(settings: &HostSettings, ssh_config: Option<&Path>, is_jump: bool) -> Stop {
    Stop {
        user: settings.user.clone(),
        host: settings.hostname.clone(),
        port: settings.port,
        is_jump,
        by_hand: by_hand(settings, ssh_config),
    }
}

/// The `ssh` command that goes to a host by the same settings.
fn by_hand(settings: &HostSettings, ssh_config: Option<&Path>) -> String {
    let mut words = vec!["ssh".to_owned()];
    if let Some(file) = ssh_config {
        words.extend(["-F".to_owned(), quote(&short_path(file))]);
    }
    if let Some(port) = settings.asked_port {
        words.extend(["-p".to_owned(), port.to_string()]);
    }
    let host = &settings.alias;
    words.push(quote(&settings.asked_user.as_ref().map_or(host.clone(), |user| format!("{user}@{host}"))));
    words.join(" ")
}

/// Ends sessions in good order, the innermost first.
pub async fn close(hops: &[Hop]) {
    const PATIENCE: Duration = Duration::from_secs(1);
    for (number, hop) in hops.iter().enumerate().rev() {
        if hop.handle.is_closed() {
            continue;
        }
        let goodbye = async {
            if number + 1 < hops.len() {
                // A server drops what it still had to forward when it is told goodbye. Its answer to this says that
                // the goodbye of the session inside has gone out.
                let _ = hop.handle.send_ping().await;
            }
            if hop.handle.disconnect(Disconnect::ByApplication, "closed by rdmascope", "").await.is_ok() {
                ended(hop.ends.clone()).await;
            }
        };
        if timeout(PATIENCE, goodbye).await.is_err() {
            tracing::debug!(stop = %hop.stop, "cut, because it did not take the goodbye");
        }
    }
}

/// Goes to one host, directly or through the host before it, and logs in there.
pub async fn next_hop(
    before: Option<&Hop>,
    step: &Step<'_>,
    asking: &Asking<'_>,
    wallet: &mut Wallet,
) -> Result<Hop, Setback> {
    let Step { settings, stop, access, accepted, deadlines } = step;
    let known = host_key::read(settings).await?;
    let config = algorithms::config(Offer {
        recorded: &known.algorithms(),
        certificates: known.has_authority(),
        legacy: access.legacy_algorithms,
    });
    let expectation = Arc::new(Expectation { names: host_key::names(settings), known, accepted: accepted.cloned() });
    let mut proxy = None;
    let begun = match (before, &settings.proxy_command) {
        (None, None) => {
            let socket = tcp::connect(settings, deadlines.tcp).await?;
            handshake(socket, config, expectation, deadlines.handshake).await
        }
        (None, Some(command)) => {
            let (stream, started) = Proxy::start(command)?;
            proxy = Some(started);
            handshake(stream, config, expectation, deadlines.tcp + deadlines.handshake).await
        }
        (Some(before), _) => {
            let opening = before.handle.channel_open_direct_tcpip(
                settings.hostname.as_str(),
                u32::from(settings.port),
                "127.0.0.1",
                0,
            );
            let channel = match timeout(deadlines.tcp, opening).await {
                Ok(Ok(channel)) => channel,
                Ok(Err(error)) => return Err(jump_refused(&error, before).into()),
                Err(_) => return Err(Failure::TcpTimedOut(deadlines.tcp, Vec::new()).into()),
            };
            handshake(channel.into_stream(), config, expectation, deadlines.handshake).await
        }
    };
    let mut session = match (begun, proxy.take()) {
        (Ok(session), started) => {
            proxy = started;
            session
        }
        // A command that gives no connection usually says why.
        (
            Err(Setback::Failed(Failure::ClosedInHandshake { .. } | Failure::HandshakeTimedOut { .. })),
            Some(started),
        ) => {
            return Err(started.failure(deadlines.last_words).await.into());
        }
        (Err(setback), _) => return Err(setback),
    };
    let risk = Risk::default();
    let mut login = Login {
        handle: &mut session.handle,
        stop,
        settings,
        access,
        ends: &session.ends,
        banner: &session.banner,
        asking,
        wallet,
        risk: &risk,
        command_limit: deadlines.password_command,
        answer_limit: deadlines.answer,
    };
    let result = asking.pause.within(deadlines.login, login.run()).await;
    let Session { handle, ends, cut, .. } = session;
    let hop = Hop { handle, ends, stop: (*stop).clone(), key: String::new(), proxy, _cut: cut };
    match result {
        Some(Ok(key)) => Ok(Hop { key, ..hop }),
        Some(Err(halt)) => {
            close(&[hop]).await;
            Err(match halt {
                Halt::Failed(failure) => Setback::Failed(failure),
                Halt::Wanted(wanted) => Setback::Wanted(wanted),
            })
        }
        None => {
            if risk.has_sent() {
                asking.memory.refused();
            }
            Err(Failure::AuthenticationTimedOut { after: deadlines.login, refused: risk.is_any() }.into())
        }
    }
}

fn jump_refused(error: &russh::Error, before: &Hop) -> Failure {
    let reason = match error {
        russh::Error::ChannelOpenFailure(ChannelOpenFailure::AdministrativelyProhibited) => JumpRefusal::Prohibited,
        russh::Error::ChannelOpenFailure(ChannelOpenFailure::ConnectFailed) => JumpRefusal::ConnectFailed,
        other => JumpRefusal::Other(Text::new(&other.to_string())),
    };
    Failure::JumpRefused { reason, jump: before.stop.host.clone() }
}

/// A session whose host is the right one, before the login.
struct Session {
    handle: Handle<Watcher>,
    ends: watch::Receiver<Option<Text>>,
    banner: Banner,
    cut: DropGuard,
}

/// Greets, exchanges keys and checks the host key.
async fn handshake<S>(
    stream: S,
    config: Arc<russh::client::Config>,
    expectation: Arc<Expectation>,
    limit: Duration,
) -> Result<Session, Setback>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let token = CancellationToken::new();
    let cut = token.clone().drop_guard();
    let greeting = Greeting::default();
    let banner = Banner::default();
    let (watcher, ends) = Watcher::new(expectation, banner.clone());
    let stream = Cuttable::new(stream, token, greeting.clone());
    let result = timeout(limit, connect_stream(config, stream, watcher)).await;
    let said = greeting.bytes();
    match result {
        Ok(Ok(handle)) => Ok(Session { handle, ends, banner, cut }),
        Ok(Err(SessionError::Refused(failure))) => Err(Setback::Failed(*failure)),
        Ok(Err(SessionError::Unknown(key))) => Err(Setback::Unknown(key)),
        _ if !said.is_empty() && !has_greeted(&said) => Err(Failure::NotSsh(first_line(&said)).into()),
        Ok(Err(SessionError::Library(error))) => Err(handshake_failure(error, has_greeted(&said)).into()),
        Err(_) => Err(Failure::HandshakeTimedOut { after: limit, greeted: has_greeted(&said) }.into()),
    }
}

/// Servers may send lines of their own before the greeting.
fn has_greeted(said: &[u8]) -> bool {
    said.split(|&byte| byte == b'\n').any(|line| line.starts_with(b"SSH-"))
}

fn first_line(said: &[u8]) -> Text {
    let line = said.split(|&byte| byte == b'\n' || byte == 0).find(|line| !line.is_empty()).unwrap_or_default();
    let text = Text::new(&String::from_utf8_lossy(&line[..line.len().min(80)]));
    if text.is_empty() { Text::new("nothing readable") } else { text }
}

fn handshake_failure(error: russh::Error, greeted: bool) -> Failure {
    match error {
        russh::Error::NoCommonAlgo { kind, ours, theirs } => {
            // What is offered already did not help.
            let not_offered: Vec<String> = theirs.iter().filter(|name| !ours.contains(name)).cloned().collect();
            let legacy_would_help = algorithms::legacy_would_help(&kind, &not_offered);
            let kind = match kind {
                AlgorithmKind::Kex => "key exchange method",
                AlgorithmKind::Key => "host key type",
                AlgorithmKind::Cipher => "cipher",
                AlgorithmKind::Compression => "compression",
                AlgorithmKind::Mac => "message authentication",
            };
            let clean = |names: Vec<String>| names.iter().map(|name| Text::new(name).to_string()).collect();
            Failure::NoCommonAlgorithm { kind, ours: clean(ours), theirs: clean(theirs), legacy_would_help }
        }
        russh::Error::HUP | russh::Error::Disconnect | russh::Error::IO(_) => Failure::ClosedInHandshake { greeted },
        other => Failure::Protocol(Text::new(&other.to_string())),
    }
}
