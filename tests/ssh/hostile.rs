//! Peers that stall, talk nonsense, or speak SSH and break its manners.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rdmascope::collect::transport::TransportError;
use rdmascope::collect::transport::ssh::{ConnectError, Connected, Deadlines, Failure, Retry};
use rdmascope::config::openssh::{HostKeyChecking, HostSettings, IdentityAgent};
use russh::keys::{Algorithm, PrivateKey};
use russh::server::{Auth, Config, Handler, Msg, Session, run_stream};
use russh::{Channel, ChannelId, Sig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::server::{PATIENCE, Server, connect, connect_route, eventually, finish, first_line, free_port, target};

/// Deadlines that a test can wait for.
const SHORT: Deadlines = Deadlines {
    tcp: Duration::from_secs(2),
    handshake: Duration::from_secs(2),
    last_words: Duration::from_secs(2),
    login: Duration::from_secs(2),
    password_command: Duration::from_secs(2),
    answer: Duration::from_secs(2),
    command: Duration::from_secs(2),
};

fn settings(port: u16) -> HostSettings {
    HostSettings {
        identities_only: true,
        identity_agent: Some(IdentityAgent::None),
        host_key_checking: HostKeyChecking::AcceptNew,
        ..HostSettings::bare("somebody", "127.0.0.1", port)
    }
}

async fn listen() -> (TcpListener, u16) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("listening");
    let port = listener.local_addr().expect("an address").port();
    (listener, port)
}

/// Connects to a peer that says `words` and then nothing (or closes); gives the error and the peer's socket.
async fn against(words: &'static [u8], then_close: bool) -> (ConnectError, Option<TcpStream>) {
    let (listener, port) = listen().await;
    let peer = async {
        let (mut socket, _) = listener.accept().await.expect("accepted");
        socket.write_all(words).await.expect("said");
        if then_close { None } else { Some(socket) }
    };
    // Where the peer closes, no deadline has to pass.
    let deadlines = if then_close { Deadlines::default() } else { SHORT };
    let (result, socket) = tokio::join!(connect_route(vec![settings(port)], &None, deadlines), peer);
    (result.expect_err("it fails"), socket)
}

#[tokio::test]
async fn a_peer_that_says_nothing_times_out_and_leaves_no_task() {
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let started = Instant::now();
    let fail = async |words: &'static [u8]| {
        let (error, socket) = against(words, false).await;
        let greeted = !words.is_empty();
        assert_eq!(error.failure, Failure::HandshakeTimedOut { after: SHORT.handshake, greeted });
        assert_eq!(error.retry(), Retry::Automatic);
        let mut socket = socket.expect("open");
        let mut rest = Vec::new();
        let ended = tokio::time::timeout(PATIENCE, socket.read_to_end(&mut rest)).await.expect("our side hangs up");
        assert!(ended.is_ok() || ended.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset));
    };
    tokio::join!(fail(b""), fail(b"SSH-2.0-OpenSSH_9.2\r\n"));
    assert!(started.elapsed() < PATIENCE);
    eventually("the session's task is gone", || tasks() <= before).await;
}

#[tokio::test]
async fn a_cancelled_connect_leaves_no_task() {
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let (listener, port) = listen().await;
    let peer = async {
        let (mut socket, _) = listener.accept().await.expect("accepted");
        socket.write_all(b"SSH-2.0-OpenSSH_9.2\r\n").await.expect("said");
        let mut byte = [0_u8; 256];
        // Ours has greeted and sent its proposal: the session's task runs.
        while socket.read(&mut byte).await.expect("read") == byte.len() {}
        socket
    };
    let socket = tokio::select! {
        _ = connect(settings(port)) => panic!("it cannot connect"),
        socket = peer => socket,
    };
    eventually("the session's task is gone", || tasks() <= before).await;
    drop(socket);
}

#[tokio::test]
async fn something_else_than_ssh_is_told_in_its_own_words() {
    let (error, _) = against(b"HTTP/1.1 400 Bad Request\r\n\r\n\x1b[31m", true).await;
    assert_eq!(error.failure, Failure::NotSsh("HTTP/1.1 400 Bad Request".into()));
    let (error, _) = against(b"\x00\x01\x1b]0;title\x07\xff\xfe", false).await;
    assert!(matches!(error.failure, Failure::NotSsh(_)), "{error:?}");
    let problem = error.problem(&target());
    assert!(!problem.to_string().contains('\u{1b}'));
}

#[tokio::test]
async fn a_peer_that_hangs_up_is_told_apart_by_its_greeting() {
    let (error, _) = against(b"", true).await;
    assert_eq!(error.failure, Failure::ClosedInHandshake { greeted: false });
    let (error, _) = against(b"SSH-2.0-OpenSSH_9.2\r\n", true).await;
    assert_eq!(error.failure, Failure::ClosedInHandshake { greeted: true });
    assert_eq!(error.retry(), Retry::Automatic);
}

#[tokio::test]
async fn nonsense_after_the_greeting_is_an_error_and_no_hang() {
    let all = [
        &b"SSH-2.0-x\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"[..],
        b"SSH-2.0-x\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"SSH-2.0-x\r\n\x00\x00\x00\x0c\x0a\x14aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        b"SSH-1.5-old\r\n",
    ];
    // Side by side, because those that wait for more end by the deadline.
    let results = futures::future::join_all(all.map(|words| against(words, false))).await;
    for (words, (error, _)) in all.iter().zip(results) {
        assert!(
            matches!(
                error.failure,
                Failure::Protocol(_)
                    | Failure::HandshakeTimedOut { .. }
                    | Failure::ClosedInHandshake { .. }
                    | Failure::NotSsh(_)
            ),
            "{words:?}: {error:?}"
        );
    }
}

#[tokio::test]
async fn ports_and_names_that_are_nobody() {
    let error = connect(settings(free_port())).await.expect_err("refused");
    assert!(matches!(error.failure, Failure::Refused(_)), "{error:?}");
    let mut unknown = settings(22);
    unknown.hostname = "no-such-host.invalid".to_owned();
    let error = connect(unknown).await.expect_err("refused");
    assert!(matches!(error.failure, Failure::NameNotResolved(_)), "{error:?}");
    assert_eq!(error.retry(), Retry::Automatic);
    let error = connect_route(Vec::new(), &None, SHORT).await.expect_err("refused");
    assert_eq!((error.retry(), error.failure), (Retry::OnlyWhenAsked, Failure::NoRoute));
}

#[tokio::test]
async fn without_a_common_algorithm_both_lists_are_told() {
    let Some(server) = Server::start("KexAlgorithms sntrup761x25519-sha512@openssh.com") else { return };
    let error = connect(server.settings()).await.expect_err("it fails");
    let Failure::NoCommonAlgorithm { kind, ours, theirs, legacy_would_help } = &error.failure else {
        panic!("{error:?}")
    };
    assert!(!legacy_would_help);
    assert_eq!(*kind, "key exchange method");
    assert!(ours.iter().any(|name| name == "curve25519-sha256"), "{ours:?}");
    assert!(theirs.iter().any(|name| name.starts_with("sntrup761")), "{theirs:?}");
    assert_eq!(error.retry(), Retry::OnlyWhenAsked);
}

/// How a server of the test's own treats a command.
#[derive(Clone, Copy)]
enum Manner {
    RefusesCommands,
    NeverAnswers,
    SendsTinyPieces,
    DisconnectsWithWords,
    KeepsRunning,
}

/// What a client sends about a command, in its order.
type Told = Arc<Mutex<Vec<String>>>;

struct Peer(Manner, Told);

impl Peer {
    fn note(&self, what: &str) {
        self.1.lock().expect("unpoisoned").push(what.to_owned());
    }
}

impl Handler for Peer {
    type Error = russh::Error;

    async fn auth_none(&mut self, _user: &str) -> Result<Auth, russh::Error> {
        Ok(Auth::Accept)
    }

    async fn channel_open_session(
        &mut self,
        _channel: Channel<Msg>,
        reply: russh::server::ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), russh::Error> {
        reply.accept().await;
        Ok(())
    }

    async fn exec_request(&mut self, channel: ChannelId, _: &[u8], session: &mut Session) -> Result<(), russh::Error> {
        match self.0 {
            Manner::RefusesCommands => session.channel_failure(channel),
            Manner::NeverAnswers => Ok(()),
            Manner::SendsTinyPieces => {
                session.channel_success(channel)?;
                for _ in 0..20_000 {
                    session.data(channel, bytes_of(b"x"))?;
                }
                session.exit_status_request(channel, 0)?;
                session.close(channel)
            }
            Manner::KeepsRunning => {
                session.channel_success(channel)?;
                session.data(channel, bytes_of(b"up\n"))
            }
            Manner::DisconnectsWithWords => {
                session.disconnect(russh::Disconnect::ByApplication, "going down for\u{1b}[31m reboot", "")
            }
        }
    }

    async fn signal(&mut self, _: ChannelId, signal: Sig, _: &mut Session) -> Result<(), russh::Error> {
        self.note(&format!("{signal:?}"));
        Ok(())
    }

    async fn channel_eof(&mut self, _: ChannelId, _: &mut Session) -> Result<(), russh::Error> {
        self.note("eof");
        Ok(())
    }

    async fn channel_close(&mut self, _: ChannelId, _: &mut Session) -> Result<(), russh::Error> {
        self.note("close");
        Ok(())
    }
}

fn bytes_of(text: &'static [u8]) -> Vec<u8> {
    text.to_vec()
}

async fn peer(manner: Manner) -> Connected {
    noting_peer(manner).await.0
}

async fn noting_peer(manner: Manner) -> (Connected, Told) {
    let told = Told::default();
    let noted = told.clone();
    let (listener, port) = listen().await;
    let config = Config {
        keys: vec![PrivateKey::random(&mut rand::rng(), Algorithm::Ed25519).expect("a key")],
        auth_rejection_time: Duration::ZERO,
        nodelay: true,
        ..Config::default()
    };
    tokio::spawn(async move {
        // An unknown key is asked about on a first connection and accepted on a second.
        while let Ok((socket, _)) = listener.accept().await {
            let config = Arc::new(Config { keys: config.keys.clone(), ..Config::default() });
            let peer = Peer(manner, noted.clone());
            tokio::spawn(async move {
                if let Ok(session) = run_stream(config, socket, peer).await {
                    let _ = session.await;
                }
            });
        }
    });
    let command = if matches!(manner, Manner::NeverAnswers) { SHORT.command } else { PATIENCE };
    let deadlines = Deadlines { command, ..Deadlines::default() };
    (connect_route(vec![settings(port)], &None, deadlines).await.expect("connected"), told)
}

#[tokio::test]
async fn a_refused_command_is_told() {
    let connected = peer(Manner::RefusesCommands).await;
    for _ in 0..6 {
        assert_eq!(connected.exec("echo").await.expect_err("refused"), TransportError::ExecRefused);
    }
}

#[tokio::test]
async fn a_command_without_an_answer_times_out_and_ends_on_close() {
    let connected = peer(Manner::NeverAnswers).await;
    assert_eq!(connected.exec("echo").await.expect_err("timed out"), TransportError::TimedOut(SHORT.command));
    tokio::time::timeout(PATIENCE, connected.close()).await.expect("closed in time");
}

#[tokio::test]
async fn many_tiny_pieces_arrive() {
    let connected = peer(Manner::SendsTinyPieces).await;
    let finished = finish(connected.exec("flood").await.expect("started")).await;
    assert_eq!((finished.stdout.len(), finished.exit), (20_000, Some(0)));
}

#[tokio::test]
async fn the_servers_last_words_are_kept_and_cleaned() {
    let connected = peer(Manner::DisconnectsWithWords).await;
    assert!(connected.exec("echo").await.is_err());
    let reason = tokio::time::timeout(PATIENCE, connected.closed()).await.expect("noticed");
    assert_eq!(reason, "the server ended the connection: going down for reboot");
}

#[tokio::test]
async fn a_dropped_command_is_told_to_end_then_made_to() {
    let (connected, told) = noting_peer(Manner::KeepsRunning).await;
    let mut exec = connected.exec("stubborn").await.expect("started");
    assert_eq!(first_line(&mut exec).await, "up");
    drop(exec);
    eventually("the channel is closed", || told.lock().expect("unpoisoned").last().is_some_and(|last| last == "close"))
        .await;
    assert_eq!(*told.lock().expect("unpoisoned"), ["TERM", "eof", "KILL", "close"]);
}

#[tokio::test]
async fn the_end_of_the_input_is_told_once() {
    let (connected, told) = noting_peer(Manner::KeepsRunning).await;
    let mut exec = connected.exec("stubborn").await.expect("started");
    assert_eq!(first_line(&mut exec).await, "up");
    exec.end_input().await.expect("ended");
    eventually("it was told", || !told.lock().expect("unpoisoned").is_empty()).await;
    drop(exec);
    eventually("the channel is closed", || told.lock().expect("unpoisoned").last().is_some_and(|last| last == "close"))
        .await;
    assert_eq!(*told.lock().expect("unpoisoned"), ["eof", "TERM", "KILL", "close"]);
}
