//! What the lab's server does with logins, sessions and commands: it executes nothing and keeps to its limits.

use super::*;

#[tokio::test]
async fn nothing_is_ever_executed() {
    let lab = lab();
    let folder = tempfile::tempdir().expect("a folder");
    let witness = folder.path().join("witness");
    let shown = witness.display();
    let connected = connect(&lab, "pv-a").await;
    for command in [
        format!("touch {shown}"),
        format!("echo $(touch {shown})"),
        format!("echo `touch {shown}`"),
        format!("rdma link; touch {shown}"),
        format!("sh -c 'touch {shown}'"),
        format!("/bin/sh -c \"touch {shown}\""),
        format!("rdma link > {shown}"),
        format!("rdma link\ntouch {shown}"),
        format!("sudo -n touch {shown}"),
    ] {
        let (_, stderr, status) = run(&connected, &command, "").await;
        assert!(status.is_some_and(|status| status != 0) && !stderr.is_empty(), "{command}");
    }
    for script in [
        format!("touch {shown}\n"),
        format!("{{\ntouch {shown}\nexit 0\n}}\n"),
        compile(&[], "0f").replace("exit 0\n", &format!("_mark 0 begin\ntouch {shown}\n_mark 0 \"$_s\"\nexit 0\n")),
        crate::probe::linux::stream::block("0f").replace("exec 2>/dev/null\n", &format!("touch {shown}\n")),
    ] {
        let (stdout, _, _) = run(&connected, "/bin/sh -s", &script).await;
        assert!(stdout.is_empty() || stdout.contains(" 0 "), "{script}: {stdout}");
    }
    assert!(!witness.exists());
    assert_eq!(run(&connected, "rdma link", "").await.2, Some(0), "and it still answers");
}

#[tokio::test]
async fn an_unknown_piece_is_a_command_that_is_not_there() {
    use crate::probe::{Read, Source, Word};
    let lab = lab();
    let connected = connect(&lab, "pv-a").await;
    let known = Source { name: "test.mtu", read: Read::Files(&["/sys/class/net/*/mtu"]) };
    let unknown =
        Source { name: "test.no", read: Read::Command { argv: &[Word::Plain("nmap"), Word::Plain("-A")], keep: None } };
    let (stdout, stderr, _) = run(&connected, "/bin/sh -s", &compile(&[unknown, known], "0f")).await;
    let mut reader = SectionReader::new(2, "0f");
    let mut sections = reader.feed_stdout(stdout.as_bytes());
    sections.extend(reader.feed_stderr(stderr.as_bytes()));
    assert_eq!(sections.len(), 2);
    assert_eq!(sections[0].outcome, Outcome::Exit(127));
    assert_eq!(String::from_utf8_lossy(&sections[0].stderr), "sh: 1: nmap: not found\n");
    assert_eq!(sections[1].outcome, Outcome::Exit(0));
}

#[tokio::test]
async fn sessions_give_their_places_back() {
    let lab = lab();
    let connected = connect(&lab, "pv-a").await;
    // The transport keeps to four at once. Those that are dropped in the middle give their places back, too.
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(connected.exec("/bin/sh -s").await.expect("a place"));
    }
    drop(held);
    for _ in 0..25 {
        assert_eq!(run(&connected, "uname -s", "").await.0, "Linux\n");
    }
}

#[test]
fn only_the_lab_s_own_key_logs_in() {
    let (one, two) = (lab(), lab());
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    runtime.block_on(async {
        let mut stranger = route(&one, "pv-a").await;
        stranger.hops[0].identity_files = route(&two, "pv-a").await.hops[0].identity_files.clone();
        let refused = connect_as("pv-a", &stranger).await;
        let problem = refused.expect_err("another key").problem(&TargetId::new("pv-a"));
        assert!(problem.to_string().contains("refused"), "{problem}");
        let mut nobody = route(&one, "pv-a").await;
        nobody.hops[0].user = "nobody".to_owned();
        assert!(connect_as("pv-a", &nobody).await.is_err());
        let mut lab_user = route(&one, "pv-a").await;
        lab_user.hops[0].user = "lab".to_owned();
        let connected = connect_as("pv-a", &lab_user).await;
        assert!(connected.is_ok(), "both accounts are everywhere");
    });
}

#[test]
fn twenty_connections_at_once_are_all_answered() {
    let lab = lab();
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    runtime.block_on(async {
        let all = (0..20).map(|number| {
            let lab = &lab;
            async move {
                let name = ["pv-a", "pv-b", "vf-a"][number % 3];
                let connected = connect(lab, name).await;
                run(&connected, "rdma link", "").await.0
            }
        });
        for answer in futures::future::join_all(all).await {
            assert!(answer.starts_with("link rocep2s3/1 state ACTIVE"), "{answer}");
        }
    });
}

/// A client of the library itself, which keeps to no limit of ours.
struct Anybody;

impl russh::client::Handler for Anybody {
    type Error = russh::Error;

    async fn check_server_key(&mut self, _key: &russh::keys::PublicKeyOrCertificate) -> Result<bool, russh::Error> {
        Ok(true)
    }
}

#[tokio::test]
async fn eleven_sessions_on_one_connection_are_one_too_many() {
    let lab = lab();
    let address = ("127.0.0.1", lab.targets()[0].port);
    let config = Arc::new(russh::client::Config { nodelay: true, ..Default::default() });
    let mut handle = russh::client::connect(config, address, Anybody).await.expect("a connection");
    let key = Arc::new(russh::keys::load_secret_key(lab.folder().join("id_ed25519"), None).expect("the key"));
    let key = russh::keys::PrivateKeyWithHashAlg::new(key, None);
    assert!(!handle.authenticate_password("root", "root").await.expect("an answer").success(), "no passwords");
    assert!(handle.authenticate_publickey("root", key).await.expect("an answer").success());
    let mut held = Vec::new();
    for _ in 0..10 {
        held.push(handle.channel_open_session().await.expect("a place"));
    }
    let refused = handle.channel_open_session().await.map(drop);
    assert!(
        matches!(refused, Err(russh::Error::ChannelOpenFailure(russh::ChannelOpenFailure::ConnectFailed))),
        "{refused:?}"
    );
    held.pop().expect("ten").close().await.expect("closed");
    let deadline = Instant::now() + PATIENCE;
    while handle.channel_open_session().await.is_err() {
        assert!(Instant::now() < deadline, "the place does not come back");
    }
    let forwarded = handle.channel_open_direct_tcpip("127.0.0.1", 22, "127.0.0.1", 0).await;
    assert!(forwarded.is_err(), "nothing is forwarded");
}

#[tokio::test]
async fn a_refused_request_is_told_and_harms_nothing() {
    let lab = lab();
    let connected = connect(&lab, "pv-a").await;
    let mut exec = connected.exec("/bin/sh -s").await.expect("it starts");
    exec.send("x".repeat(2 << 20)).await.expect("sent");
    let mut status = None;
    while let Some(output) = exec.next().await {
        if let Output::Exit(code) = output {
            status = Some(code);
        }
    }
    assert_eq!(status, Some(127), "a script without an end is given up");
    assert_ne!(connected.exec("uname -s").await.err(), Some(TransportError::Closed));
}
