//! One SSH connection: who may log in, and what a channel asks for. Handlers run inside the library's own loop, so
//! nothing here waits: each request becomes a task that owns its channel.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use russh::server::{Auth, ChannelOpenHandle, Handler, Msg, PublicKeyOffer, Response, VerifiedPublicKey};
use russh::{Channel, ChannelId, ChannelOpenFailure, Pty};
use tokio_util::sync::CancellationToken;

use super::Host;
use super::serve::{self, Asked};
use crate::lab::machine::Login;

/// Sessions that one connection may have at once, as OpenSSH allows them.
const MOST_SESSIONS: usize = 10;

/// One place of the sessions of a connection; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A channel that nobody asked anything on yet.
struct Waiting {
    channel: Channel<Msg>,
    place: Place,
    has_terminal: bool,
}

/// One connection.
pub(super) struct Session {
    host: Arc<Host>,
    stop: CancellationToken,
    login: Option<Login>,
    /// Rounds of questions that were asked.
    rounds: u8,
    sessions: Arc<AtomicUsize>,
    waiting: HashMap<ChannelId, Waiting>,
}

impl Session {
    /// A connection on which nobody is logged in. `stop` ends its tasks.
    pub fn new(host: Arc<Host>, stop: CancellationToken) -> Self {
        Self { host, stop, login: None, rounds: 0, sessions: Arc::default(), waiting: HashMap::new() }
    }

    fn admits(&self, user: &str, key: &russh::keys::PublicKey) -> bool {
        self.host.manners().secret.is_none()
            && self.host.accounts.contains(&user)
            && key.key_data() == self.host.credential.key_data()
    }

    /// Starts the task that answers a request; false if the channel was asked something before.
    fn start(&mut self, id: ChannelId, asked: Asked) -> bool {
        let (Some(waiting), Some(login)) = (self.waiting.remove(&id), self.login.clone()) else { return false };
        let (host, stop) = (self.host.clone(), self.stop.clone());
        self.host.tasks.spawn(async move {
            let Waiting { channel, place, has_terminal } = waiting;
            tokio::select! {
                () = stop.cancelled() => {}
                () = serve::serve(&host, &login, channel, asked, has_terminal) => {}
            }
            drop(place);
        });
        true
    }

    fn reply(session: &mut russh::server::Session, channel: ChannelId, accepted: bool) -> Result<(), russh::Error> {
        if accepted { session.channel_success(channel) } else { session.channel_failure(channel) }
    }
}

impl Handler for Session {
    type Error = russh::Error;

    /// Questions as an ESXi host asks them: one for the secret, and a round without any when it is right.
    async fn auth_keyboard_interactive<'a>(
        &'a mut self,
        user: &str,
        _submethods: &str,
        response: Option<Response<'a>>,
    ) -> Result<Auth, russh::Error> {
        let manners = self.host.manners();
        let Some(secret) = manners.secret else { return Ok(Auth::reject()) };
        let nothing = || Cow::Borrowed("");
        let Some(response) = response else {
            self.rounds = 1;
            let prompt = format!("({user}@{}) Password: ", self.host.machine.name());
            let prompts = Cow::Owned(vec![(Cow::Owned(prompt), false)]);
            return Ok(Auth::Partial { name: nothing(), instructions: nothing(), prompts });
        };
        if self.rounds == 2 {
            self.login = Some(Login { user: user.to_owned(), is_root: user == "root" });
            return Ok(Auth::Accept);
        }
        let answers: Vec<Vec<u8>> = response.map(|answer| answer.to_vec()).collect();
        let right = self.host.accounts.contains(&user)
            && answers.len() == 1
            && answers.iter().all(|answer| answer == secret.as_bytes());
        if !self.host.count.admits(right, manners.locks, self.host.line().locked, Instant::now()) {
            self.rounds = 0;
            return Ok(Auth::reject());
        }
        self.rounds = 2;
        Ok(Auth::Partial { name: nothing(), instructions: nothing(), prompts: Cow::Borrowed(&[]) })
    }

    async fn auth_publickey_offered(&mut self, user: &str, offer: PublicKeyOffer<'_>) -> Result<Auth, russh::Error> {
        Ok(if self.admits(user, offer.public_key) { Auth::Accept } else { Auth::reject() })
    }

    async fn auth_publickey(&mut self, user: &str, key: VerifiedPublicKey<'_>) -> Result<Auth, russh::Error> {
        if !self.admits(user, key.public_key) {
            return Ok(Auth::reject());
        }
        self.login = Some(Login { user: user.to_owned(), is_root: user == "root" });
        Ok(Auth::Accept)
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _session: &mut russh::server::Session,
    ) -> Result<(), russh::Error> {
        if self.sessions.fetch_add(1, Ordering::Relaxed) >= MOST_SESSIONS {
            self.sessions.fetch_sub(1, Ordering::Relaxed);
            reply.reject(ChannelOpenFailure::ConnectFailed).await;
            return Ok(());
        }
        let place = Place(self.sessions.clone());
        reply.accept().await;
        self.waiting.insert(channel.id(), Waiting { channel, place, has_terminal: false });
        Ok(())
    }

    async fn channel_close(
        &mut self,
        channel: ChannelId,
        _session: &mut russh::server::Session,
    ) -> Result<(), russh::Error> {
        self.waiting.remove(&channel);
        Ok(())
    }

    async fn pty_request(
        &mut self,
        channel: ChannelId,
        _term: &str,
        _columns: u32,
        _rows: u32,
        _width: u32,
        _height: u32,
        _modes: &[(Pty, u32)],
        session: &mut russh::server::Session,
    ) -> Result<(), russh::Error> {
        if let Some(waiting) = self.waiting.get_mut(&channel) {
            waiting.has_terminal = true;
        }
        session.channel_success(channel)
    }

    async fn exec_request(
        &mut self,
        channel: ChannelId,
        data: &[u8],
        session: &mut russh::server::Session,
    ) -> Result<(), russh::Error> {
        let line = String::from_utf8_lossy(data).into_owned();
        let accepted = self.start(channel, Asked::Command(line));
        Self::reply(session, channel, accepted)
    }

    async fn shell_request(
        &mut self,
        channel: ChannelId,
        session: &mut russh::server::Session,
    ) -> Result<(), russh::Error> {
        let accepted = self.start(channel, Asked::Shell);
        Self::reply(session, channel, accepted)
    }

    async fn subsystem_request(
        &mut self,
        channel: ChannelId,
        _name: &str,
        session: &mut russh::server::Session,
    ) -> Result<(), russh::Error> {
        session.channel_failure(channel)
    }

    async fn agent_request(
        &mut self,
        _channel: ChannelId,
        _session: &mut russh::server::Session,
    ) -> Result<bool, russh::Error> {
        Ok(false)
    }
}
