//! An SSH server of the tests' own that asks for secrets and counts what it gets, and somebody who answers.

use std::borrow::Cow;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rdmascope::app::{Answer, PromptKind, Secret, SecretRequest};
use rdmascope::collect::transport::{Asker, Call, Notice};
use rdmascope::config::openssh::{HostKeyChecking, HostSettings, IdentityAgent};
use russh::keys::{Algorithm, PrivateKey};
use russh::server::{Auth, ChannelOpenHandle, Config, Handler, Msg, Response, Session, run_stream};
use russh::{Channel, ChannelId, MethodKind, MethodSet};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// One round of questions: what it says, the questions (echoed or not), and the right answers.
#[derive(Clone)]
pub struct Round {
    pub name: &'static str,
    pub instruction: &'static str,
    pub questions: Vec<(String, bool)>,
    pub answers: Vec<&'static str>,
}

impl Round {
    /// One question that is not echoed.
    pub fn password(question: &str, answer: &'static str) -> Self {
        Self { name: "", instruction: "", questions: vec![(question.to_owned(), false)], answers: vec![answer] }
    }

    /// A round without a question.
    pub fn empty() -> Self {
        Self { name: "", instruction: "", questions: vec![], answers: vec![] }
    }
}

/// What the server wants.
#[derive(Clone, Default)]
pub struct Rules {
    /// The methods, one after the other; each must succeed. With one step, several methods may be allowed at once.
    pub steps: Vec<Vec<MethodKind>>,
    /// The right password.
    pub password: &'static str,
    /// The questions.
    pub rounds: Vec<Round>,
    /// What it says to everybody.
    pub banner: Option<&'static str>,
    /// It ends the connection when it gets a secret.
    pub hangs_up: bool,
    /// It never answers a secret.
    pub is_mute: bool,
    /// Its rounds never end.
    pub is_endless: bool,
    /// Algorithms; `None` for the usual ones.
    pub preferred: Option<russh::Preferred>,
    /// Its host key; a fresh one if `None`.
    pub host_key: Option<PrivateKey>,
    /// Its host certificate.
    pub certificate: Option<russh::keys::Certificate>,
}

/// What it got.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Got {
    /// Passwords and answers, in order.
    pub secrets: Vec<String>,
    /// Logins that a wrong secret ended.
    pub failures: usize,
    /// Keyboard-interactive logins that were begun.
    pub begun: usize,
    /// Connections.
    pub connections: usize,
}

/// A running server. It ends with this value.
pub struct AskingServer {
    pub port: u16,
    got: Arc<Mutex<Got>>,
    task: tokio::task::JoinHandle<()>,
    sessions: Arc<Mutex<Vec<russh::server::Handle>>>,
}

impl AskingServer {
    pub async fn start(rules: Rules) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("listening");
        let port = listener.local_addr().expect("an address").port();
        let (got, sessions) = (Arc::<Mutex<Got>>::default(), Arc::<Mutex<Vec<_>>>::default());
        let key = rules.host_key.clone();
        let key = key.unwrap_or_else(|| PrivateKey::random(&mut rand::rng(), Algorithm::Ed25519).expect("a key"));
        let first = rules.steps.first().cloned().unwrap_or_default();
        let config = Arc::new(Config {
            keys: vec![key],
            certificates: rules.certificate.clone().into_iter().collect(),
            methods: methods(&first),
            auth_rejection_time: Duration::ZERO,
            auth_rejection_time_initial: Some(Duration::ZERO),
            preferred: rules.preferred.clone().unwrap_or_default(),
            nodelay: true,
            ..Config::default()
        });
        let (noted, running) = (got.clone(), sessions.clone());
        let task = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                noted.lock().expect("unpoisoned").connections += 1;
                let host = Host { rules: rules.clone(), got: noted.clone(), step: 0, round: 0 };
                let config = config.clone();
                let running = running.clone();
                tokio::spawn(async move {
                    if let Ok(session) = run_stream(config, socket, host).await {
                        running.lock().expect("unpoisoned").push(session.handle());
                        let _ = session.await;
                    }
                });
            }
        });
        Self { port, got, task, sessions }
    }

    pub fn got(&self) -> Got {
        self.got.lock().expect("unpoisoned").clone()
    }

    /// Ends all connections.
    pub async fn cut(&self) {
        let sessions = std::mem::take(&mut *self.sessions.lock().expect("unpoisoned"));
        for session in sessions {
            let _ = session.disconnect(russh::Disconnect::ByApplication, "cut".to_owned(), String::new()).await;
        }
    }

    /// Settings that reach it, without keys and with its host key accepted unseen.
    pub fn settings(&self) -> HostSettings {
        HostSettings {
            identities_only: true,
            identity_agent: Some(IdentityAgent::None),
            host_key_checking: HostKeyChecking::AcceptNew,
            ..HostSettings::bare("root", "127.0.0.1", self.port)
        }
    }
}

impl Drop for AskingServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn methods(kinds: &[MethodKind]) -> MethodSet {
    MethodSet::from(kinds)
}

struct Host {
    rules: Rules,
    got: Arc<Mutex<Got>>,
    step: usize,
    round: usize,
}

impl Host {
    fn note(&self, note: impl FnOnce(&mut Got)) {
        note(&mut self.got.lock().expect("unpoisoned"));
    }

    async fn accepted(&mut self) -> Result<Auth, russh::Error> {
        self.after_secret().await?;
        self.step += 1;
        Ok(match self.rules.steps.get(self.step) {
            None => Auth::Accept,
            Some(next) => Auth::Reject { proceed_with_methods: Some(methods(next)), partial_success: true },
        })
    }

    async fn refused(&mut self) -> Result<Auth, russh::Error> {
        self.note(|got| got.failures += 1);
        self.after_secret().await?;
        Ok(Auth::reject())
    }

    async fn after_secret(&self) -> Result<(), russh::Error> {
        if self.rules.is_mute {
            std::future::pending::<()>().await;
        }
        if self.rules.hangs_up { Err(russh::Error::Disconnect) } else { Ok(()) }
    }

    fn asks(&self) -> Auth {
        let round = &self.rules.rounds[self.round.min(self.rules.rounds.len() - 1)];
        let prompts: Vec<(Cow<'static, str>, bool)> =
            round.questions.iter().map(|(question, echo)| (Cow::Owned(question.clone()), *echo)).collect();
        Auth::Partial { name: round.name.into(), instructions: round.instruction.into(), prompts: prompts.into() }
    }
}

impl Handler for Host {
    type Error = russh::Error;

    async fn authentication_banner(&mut self) -> Result<Option<String>, russh::Error> {
        Ok(self.rules.banner.map(str::to_owned))
    }

    async fn auth_password(&mut self, _user: &str, password: &str) -> Result<Auth, russh::Error> {
        self.note(|got| got.secrets.push(password.to_owned()));
        if password == self.rules.password { self.accepted().await } else { self.refused().await }
    }

    async fn auth_keyboard_interactive<'a>(
        &'a mut self,
        _user: &str,
        _submethods: &str,
        response: Option<Response<'a>>,
    ) -> Result<Auth, russh::Error> {
        let Some(response) = response else {
            self.round = 0;
            self.note(|got| got.begun += 1);
            if self.rules.rounds.is_empty() {
                return Ok(Auth::reject());
            }
            return Ok(self.asks());
        };
        let answers: Vec<String> = response.map(|answer| String::from_utf8_lossy(&answer).into_owned()).collect();
        self.note(|got| got.secrets.extend(answers.iter().cloned()));
        if self.rules.is_endless {
            return Ok(self.asks());
        }
        if answers != self.rules.rounds[self.round].answers {
            return self.refused().await;
        }
        self.round += 1;
        if self.round == self.rules.rounds.len() { self.accepted().await } else { Ok(self.asks()) }
    }

    async fn channel_open_session(
        &mut self,
        _channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), russh::Error> {
        reply.accept().await;
        Ok(())
    }

    async fn channel_open_direct_tcpip(
        &mut self,
        channel: Channel<Msg>,
        host: &str,
        port: u32,
        _originator: &str,
        _originator_port: u32,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), russh::Error> {
        let there = (host.to_owned(), u16::try_from(port).expect("a port"));
        let Ok(mut socket) = TcpStream::connect(there).await else { return Ok(()) };
        reply.accept().await;
        tokio::spawn(async move { tokio::io::copy_bidirectional(&mut channel.into_stream(), &mut socket).await });
        Ok(())
    }

    async fn exec_request(
        &mut self,
        channel: ChannelId,
        command: &[u8],
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        session.channel_success(channel)?;
        session.data(channel, command.to_vec())?;
        session.exit_status_request(channel, 0)?;
        session.close(channel)
    }
}

/// Somebody at the console: gives the answers, in turn, and keeps what was asked and told.
pub struct Person {
    pub asker: Asker,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    requests: Vec<SecretRequest>,
    notices: Vec<Notice>,
    verdicts: Vec<tokio::sync::oneshot::Receiver<bool>>,
}

impl Person {
    /// One who types these, one for each question; after the last one nothing more is answered.
    pub fn typing(answers: &[&str]) -> Self {
        Self::acting(answers.iter().map(|text| (Some((*text).to_owned()), Duration::ZERO)).collect())
    }

    /// One who says no to every question.
    pub fn refusing() -> Self {
        Self::acting(vec![(None, Duration::ZERO); 8])
    }

    /// One who types this, after some time.
    pub fn typing_late(answer: &str, after: Duration) -> Self {
        Self::typing_after(&[(answer, after)])
    }

    /// One who types these, each after its time.
    pub fn typing_after(answers: &[(&str, Duration)]) -> Self {
        Self::acting(answers.iter().map(|(text, after)| (Some((*text).to_owned()), *after)).collect())
    }

    fn acting(answers: Vec<(Option<String>, Duration)>) -> Self {
        let (asker, mut calls) = mpsc::channel(4);
        let seen = Arc::<Mutex<Seen>>::default();
        let noted = seen.clone();
        tokio::spawn(async move {
            let (mut answers, mut unanswered) = (answers.into_iter(), Vec::new());
            while let Some(call) = calls.recv().await {
                let question = match call {
                    Call::Tell(notice) => {
                        noted.lock().expect("unpoisoned").notices.push(notice);
                        continue;
                    }
                    Call::Ask(question) => question,
                };
                let PromptKind::Secret(request) = &question.kind else { panic!("{:?}", question.kind) };
                {
                    let mut seen = noted.lock().expect("unpoisoned");
                    seen.requests.push(request.clone());
                    seen.verdicts.extend(question.reuse.map(|reuse| reuse.verdict));
                }
                let Some((answer, after)) = answers.next() else {
                    unanswered.push(question.answer);
                    continue;
                };
                tokio::time::sleep(after).await;
                match answer {
                    Some(text) => {
                        let answer = Answer::Secret { secret: Secret::new(text), reuse: false };
                        let _ = question.answer.send(answer);
                    }
                    None => {
                        let _ = question.answer.send(Answer::Refuse);
                    }
                }
            }
        });
        Self { asker: Some(asker), seen }
    }

    /// The questions, as they would be shown.
    pub fn requests(&self) -> Vec<SecretRequest> {
        self.seen.lock().expect("unpoisoned").requests.clone()
    }

    /// What was told.
    pub fn notices(&self) -> Vec<String> {
        self.seen.lock().expect("unpoisoned").notices.iter().map(|notice| notice.text.to_string()).collect()
    }

    /// The verdicts on the answers that others might have had, too.
    pub async fn verdicts(&self) -> Vec<Option<bool>> {
        let verdicts = std::mem::take(&mut self.seen.lock().expect("unpoisoned").verdicts);
        let mut found = Vec::new();
        for verdict in verdicts {
            found.push(verdict.await.ok());
        }
        found
    }
}
