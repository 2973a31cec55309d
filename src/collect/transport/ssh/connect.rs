//! The way to a target: TCP to the first host, a session with each host on the way, each host's key checked and each
//! login made by that host's own settings. Every step has its deadline, and whatever is given up is cut at once.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use russh::client::{Handle, connect_stream};
use russh::{AlgorithmKind, ChannelOpenFailure, Disconnect};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::error::{ConnectError, Failure, JumpRefusal, Stop};
use super::handler::{Expectation, SessionError, UnknownKey, Watcher, ended};
use super::stream::{Cuttable, Greeting};
use super::{Deadlines, algorithms, authenticate, host_key};
use crate::config::openssh::HostSettings;
use crate::fabric::Text;

/// A session with one host on the way. Dropping it cuts it.
pub struct Hop {
    /// The library's handle.
    pub handle: Handle<Watcher>,
    /// Says why the session ended, once it has.
    pub ends: watch::Receiver<Option<Text>>,
    /// Which host.
    pub stop: Stop,
    /// The key that was accepted.
    pub key: String,
    _cut: DropGuard,
}

/// Why an attempt did not get through.
pub enum Setback {
    /// It failed.
    Failed(ConnectError),
    /// A host on the way shows an unknown key: somebody has to decide, and then it is tried anew. (Nobody can be asked
    /// in the middle: servers give a login two minutes, and people take longer.)
    Unknown {
        /// Number of the host on the way, from 0.
        hop: usize,
        /// Its key.
        key: Box<UnknownKey>,
    },
}

/// Which host of a route this is.
pub fn stop(settings: &HostSettings, is_jump: bool) -> Stop {
    Stop { user: settings.user.clone(), host: settings.hostname.clone(), port: settings.port, is_jump }
}

/// Goes the whole way once. `accepted` holds, per host, a key that was accepted a moment ago.
pub async fn attempt(
    route: &[HostSettings],
    accepted: &[Option<russh::keys::PublicKey>],
    deadlines: &Deadlines,
) -> Result<Vec<Hop>, Setback> {
    let mut hops: Vec<Hop> = Vec::new();
    for (number, settings) in route.iter().enumerate() {
        let accepted = accepted.get(number).cloned().flatten();
        let stop = stop(settings, number + 1 < route.len());
        match next_hop(hops.last(), settings, stop.clone(), accepted, deadlines).await {
            Ok(hop) => hops.push(hop),
            Err(HopError::Failed(failure)) => {
                close(&hops).await;
                return Err(Setback::Failed(ConnectError { stop, failure }));
            }
            Err(HopError::Unknown(key)) => {
                close(&hops).await;
                return Err(Setback::Unknown { hop: number, key });
            }
        }
    }
    Ok(hops)
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

enum HopError {
    Failed(Failure),
    Unknown(Box<UnknownKey>),
}

impl From<Failure> for HopError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

async fn next_hop(
    before: Option<&Hop>,
    settings: &HostSettings,
    stop: Stop,
    accepted: Option<russh::keys::PublicKey>,
    deadlines: &Deadlines,
) -> Result<Hop, HopError> {
    let known = host_key::read(settings).await?;
    let config = algorithms::config(&known.algorithms());
    let expectation = Arc::new(Expectation { names: host_key::names(settings), known, accepted });
    let (mut handle, ends, cut) = match before {
        None => {
            let socket = tcp(&settings.hostname, settings.port, deadlines.tcp).await?;
            handshake(socket, config, expectation, deadlines.handshake).await?
        }
        Some(before) => {
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
            handshake(channel.into_stream(), config, expectation, deadlines.handshake).await?
        }
    };
    let refused = AtomicBool::new(false);
    let login = authenticate::authenticate(&mut handle, settings, &ends, &refused);
    let key = match timeout(deadlines.login, login).await {
        Ok(Ok(key)) => key,
        Ok(Err(failure)) => {
            let hop = Hop { handle, ends, stop, key: String::new(), _cut: cut };
            close(&[hop]).await;
            return Err(failure.into());
        }
        Err(_) => {
            let refused = refused.load(Ordering::Relaxed);
            return Err(Failure::AuthenticationTimedOut { after: deadlines.login, refused }.into());
        }
    };
    Ok(Hop { handle, ends, stop, key, _cut: cut })
}

fn jump_refused(error: &russh::Error, before: &Hop) -> Failure {
    let reason = match error {
        russh::Error::ChannelOpenFailure(ChannelOpenFailure::AdministrativelyProhibited) => JumpRefusal::Prohibited,
        russh::Error::ChannelOpenFailure(ChannelOpenFailure::ConnectFailed) => JumpRefusal::ConnectFailed,
        other => JumpRefusal::Other(Text::new(&other.to_string())),
    };
    Failure::JumpRefused { reason, jump: before.stop.host.clone() }
}

/// Connects to the first address that answers; all of them share `limit`.
async fn tcp(host: &str, port: u16, limit: Duration) -> Result<TcpStream, Failure> {
    let deadline = Instant::now() + limit;
    let addresses: Vec<SocketAddr> = match timeout(limit, tokio::net::lookup_host((host, port))).await {
        Ok(Ok(addresses)) => addresses.collect(),
        Ok(Err(error)) => return Err(Failure::NameNotResolved(Text::new(&error.to_string()))),
        Err(_) => return Err(Failure::NameNotResolved(Text::new("the name server does not answer"))),
    };
    if addresses.is_empty() {
        return Err(Failure::NameNotResolved(Text::new("no address")));
    }
    let mut last = None;
    for (number, address) in addresses.iter().enumerate() {
        let share = u32::try_from(addresses.len() - number).unwrap_or(1);
        let left = deadline.saturating_duration_since(Instant::now()) / share;
        match timeout(left, TcpStream::connect(address)).await {
            Ok(Ok(socket)) => {
                // Without this every command takes 40 ms longer.
                if let Err(error) = socket.set_nodelay(true) {
                    tracing::debug!(%address, %error, "TCP_NODELAY could not be set");
                }
                return Ok(socket);
            }
            Ok(Err(error)) => last = Some(error),
            Err(_) => {}
        }
    }
    Err(match last {
        None => Failure::TcpTimedOut(limit, addresses),
        Some(error) => tcp_failure(&error, limit, addresses),
    })
}

fn tcp_failure(error: &std::io::Error, limit: Duration, addresses: Vec<SocketAddr>) -> Failure {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::ConnectionRefused => Failure::Refused(addresses),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
            Failure::Unreachable(Text::new(&error.to_string()))
        }
        ErrorKind::TimedOut => Failure::TcpTimedOut(limit, addresses),
        _ => Failure::Tcp(Text::new(&error.to_string())),
    }
}

type Session = (Handle<Watcher>, watch::Receiver<Option<Text>>, DropGuard);

/// Greets, exchanges keys and checks the host key.
async fn handshake<S>(
    stream: S,
    config: Arc<russh::client::Config>,
    expectation: Arc<Expectation>,
    limit: Duration,
) -> Result<Session, HopError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let token = CancellationToken::new();
    let cut = token.clone().drop_guard();
    let greeting = Greeting::default();
    let (watcher, ends) = Watcher::new(expectation);
    let stream = Cuttable::new(stream, token, greeting.clone());
    let result = timeout(limit, connect_stream(config, stream, watcher)).await;
    let said = greeting.bytes();
    match result {
        Ok(Ok(handle)) => Ok((handle, ends, cut)),
        Ok(Err(SessionError::Refused(failure))) => Err(HopError::Failed(*failure)),
        Ok(Err(SessionError::Unknown(key))) => Err(HopError::Unknown(key)),
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
            let kind = match kind {
                AlgorithmKind::Kex => "key exchange method",
                AlgorithmKind::Key => "host key type",
                AlgorithmKind::Cipher => "cipher",
                AlgorithmKind::Compression => "compression",
                AlgorithmKind::Mac => "message authentication",
            };
            let clean = |names: Vec<String>| names.iter().map(|name| Text::new(name).to_string()).collect();
            Failure::NoCommonAlgorithm { kind, ours: clean(ours), theirs: clean(theirs) }
        }
        russh::Error::HUP | russh::Error::Disconnect | russh::Error::IO(_) => Failure::ClosedInHandshake { greeted },
        russh::Error::UnknownKey => Failure::Protocol(Text::new("the server shows a host certificate unasked")),
        other => Failure::Protocol(Text::new(&other.to_string())),
    }
}
