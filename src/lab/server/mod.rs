//! The lab's SSH servers, one for each machine, on this machine's own loopback. They speak real SSH, accept one key that
//! was made for this start, and execute nothing: a request is recognised and answered from what the machine says.
//!
//! What goes wrong with a connection is done here, between the socket and the SSH library: a machine that hangs takes
//! bytes and gives none, a cut ends every connection and closes the port. The port itself stays ours all the time, by a
//! second socket that is bound to it and never listens, so it can be opened again.

pub mod command;
mod esxtop;
mod gpus;
pub mod keys;
pub mod leftovers;
mod line;
pub mod logins;
pub mod print;
pub mod script;
mod sed;
mod serve;
mod session;
mod stream;

use std::borrow::Cow;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use russh::keys::{Algorithm, PrivateKey, PublicKey};
use russh::server::Config;
use russh::{MethodKind, MethodSet, Preferred, SshId, cipher, kex};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use line::Line;

use super::delays::Delays;
use super::machine::{Machine, Manners};
use logins::{Count, Served};
use session::Session;

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 128;

/// Tries at a login, as OpenSSH allows them.
const LOGIN_TRIES: usize = 6;

/// How long a refused login takes: long enough not to be a busy loop, short enough for tests.
const REFUSAL: Duration = Duration::from_millis(20);

/// After an error at accepting (no more descriptors), this long until the next try.
const ACCEPT_REST: Duration = Duration::from_millis(100);

/// One machine of the lab with its server.
pub struct Host {
    machine: Arc<dyn Machine>,
    accounts: &'static [&'static str],
    credential: PublicKey,
    usual: Arc<Config>,
    /// The same with a key of the same kind that nobody knows, once it was needed.
    foreign: OnceLock<Arc<Config>>,
    usual_key: PublicKey,
    port: u16,
    line: watch::Sender<Line>,
    delays: Delays,
    seed: u64,
    /// How its server behaves.
    manners: Manners,
    /// What it was asked to do.
    count: Count,
    /// How many answers were garbled or could have been.
    answers: AtomicU64,
    runtime: Handle,
    stop: CancellationToken,
    tasks: TaskTracker,
    /// Keeps the port while nobody listens on it.
    _kept: TcpSocket,
}

/// What a host is made of.
pub struct Parts {
    /// The machine.
    pub machine: Arc<dyn Machine>,
    /// The accounts that exist on it.
    pub accounts: &'static [&'static str],
    /// The one key that logs in.
    pub credential: PublicKey,
    /// Its own key.
    pub key: PrivateKey,
    /// How long things take.
    pub delays: Delays,
    /// What garbage is made of.
    pub seed: u64,
    /// Ends it.
    pub stop: CancellationToken,
    /// Where its tasks are counted.
    pub tasks: TaskTracker,
}

impl Host {
    /// Opens its port and starts to serve. Must be called within a runtime.
    pub fn start(parts: Parts) -> io::Result<Arc<Self>> {
        let kept = bind(0)?;
        let port = kept.local_addr()?.port();
        let listener = listen(port)?;
        let manners = parts.machine.manners();
        let host = Arc::new(Self {
            manners,
            count: Count::default(),
            usual_key: parts.key.public_key().clone(),
            usual: Arc::new(config(parts.machine.ssh_version(), manners, parts.key)),
            foreign: OnceLock::new(),
            machine: parts.machine,
            accounts: parts.accounts,
            credential: parts.credential,
            port,
            line: watch::Sender::new(Line::default()),
            delays: parts.delays,
            seed: parts.seed,
            answers: AtomicU64::new(0),
            runtime: Handle::current(),
            stop: parts.stop,
            tasks: parts.tasks,
            _kept: kept,
        });
        host.tasks.spawn(serve(host.clone(), listener));
        Ok(host)
    }

    /// The machine behind it.
    pub fn machine(&self) -> &Arc<dyn Machine> {
        &self.machine
    }

    /// Its TCP port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its true host key.
    pub fn key(&self) -> &PublicKey {
        &self.usual_key
    }

    /// How its server behaves.
    pub fn manners(&self) -> Manners {
        self.manners
    }

    /// What it was asked to do since the lab began.
    pub fn served(&self) -> Served {
        self.count.told()
    }

    /// How the line to it is now.
    pub fn line(&self) -> Line {
        *self.line.borrow()
    }

    /// Changes how the line to it is; connections notice at once.
    pub fn change_line(&self, change: impl FnOnce(&mut Line)) {
        self.line.send_modify(change);
    }

    /// The settings of a connection that begins on a line like this; `None` if no key can be made.
    fn config(&self, line: Line) -> Option<Arc<Config>> {
        if !line.foreign_key {
            return Some(self.usual.clone());
        }
        if self.foreign.get().is_none() {
            let key = keys::host_key(self.machine.name(), self.manners.fips).ok()?;
            // Two connections at once may both have made one: the first is kept.
            let _ = self.foreign.set(Arc::new(config(self.machine.ssh_version(), self.manners, key)));
        }
        self.foreign.get().cloned()
    }

    /// Changes the line once more after the machine had its time to boot.
    pub fn after_boot(self: &Arc<Self>, change: impl FnOnce(&mut Line) + Send + 'static) {
        let host = self.clone();
        let task = async move {
            tokio::select! {
                () = tokio::time::sleep(host.delays.boot()) => host.change_line(change),
                () = host.stop.cancelled() => {}
            }
        };
        self.tasks.spawn_on(task, &self.runtime);
    }
}

fn config(version: &str, manners: Manners, key: PrivateKey) -> Config {
    let method = if manners.secret.is_some() { MethodKind::KeyboardInteractive } else { MethodKind::PublicKey };
    let mut preferred = Preferred::default();
    if manners.fips {
        // Source: VMware's knowledge base, the exchanges and ciphers of 8.x; its security guide, the keys of FIPS mode.
        preferred.kex = Cow::Borrowed(&[
            kex::ECDH_SHA2_NISTP256,
            kex::ECDH_SHA2_NISTP384,
            kex::ECDH_SHA2_NISTP521,
            kex::DH_G16_SHA512,
            kex::DH_G18_SHA512,
            kex::EXTENSION_SUPPORT_AS_SERVER,
            kex::EXTENSION_OPENSSH_STRICT_KEX_AS_SERVER,
        ]);
        preferred.cipher =
            Cow::Borrowed(&[cipher::AES_256_GCM, cipher::AES_128_GCM, cipher::AES_256_CTR, cipher::AES_128_CTR]);
        preferred.key = Cow::Owned(preferred.key.iter().filter(|kind| **kind != Algorithm::Ed25519).cloned().collect());
    }
    Config {
        server_id: SshId::Standard(format!("SSH-2.0-{version}").into()),
        methods: MethodSet::from(&[method][..]),
        preferred,
        auth_rejection_time: REFUSAL,
        auth_rejection_time_initial: Some(Duration::ZERO),
        max_auth_attempts: LOGIN_TRIES,
        keys: vec![key],
        inactivity_timeout: None,
        nodelay: true,
        ..Config::default()
    }
}

/// A socket on a port of the loopback that others of ours may share.
fn bind(port: u16) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseport(true)?;
    socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    Ok(socket)
}

fn listen(port: u16) -> io::Result<TcpListener> {
    bind(port)?.listen(BACKLOG)
}

/// Accepts connections while the port is open.
async fn serve(host: Arc<Host>, listener: TcpListener) {
    let mut line = host.line.subscribe();
    // The line may have been cut before this task began to run.
    let mut listener = Some(listener).filter(|_| line.borrow_and_update().is_open());
    loop {
        let accepted = async {
            match &listener {
                Some(listener) => listener.accept().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = host.stop.cancelled() => return,
            changed = line.changed() => {
                if changed.is_err() {
                    return;
                }
                let open = line.borrow_and_update().is_open();
                if !open {
                    listener = None;
                } else if listener.is_none() {
                    match listen(host.port) {
                        Ok(opened) => listener = Some(opened),
                        Err(error) => tracing::warn!("the lab cannot open port {} again: {error}", host.port),
                    }
                }
            }
            connection = accepted => match connection {
                Ok((stream, _)) => {
                    host.tasks.spawn(connected(host.clone(), stream));
                }
                Err(_) => tokio::time::sleep(ACCEPT_REST).await,
            },
        }
    }
}

/// One connection, from its first byte to its end.
async fn connected(host: Arc<Host>, stream: TcpStream) {
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let mut line = host.line.subscribe();
    let begun = *line.borrow_and_update();
    if !begun.is_open() {
        return; // it came in just before the port was closed
    }
    let Some(config) = host.config(begun) else { return };
    let stop = host.stop.child_token();
    let _ended = stop.clone().drop_guard();
    let (near, far) = tokio::io::duplex(line::PIPE);
    let session = Session::new(host.clone(), stop.clone());
    let speaking = async {
        // The greeting and the key exchange belong to it; both fail where the other end goes away.
        if let Ok(running) = russh::server::run_stream(config, far, session).await {
            let _ = running.await;
        }
    };
    tokio::select! {
        () = host.stop.cancelled() => {}
        () = line::cut(line.clone(), begun.generation) => {}
        () = async { tokio::join!(speaking, line::carry(stream, near, line.clone())); } => {}
    }
}
