//! Keys that are accepted, refused or cannot be used.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rdmascope::app::SecretKind;
use rdmascope::collect::transport::ssh::{AgentState, Failure, KeysTried, NotGiven, Retry, SetAsideReason};
use rdmascope::config::openssh::{IdentityAgent, LoginMethod};

use crate::server::{Server, authorise, connect, fingerprint, keygen, run, set_mode, target};

/// An agent of the test's own.
pub struct Agent {
    child: Child,
    socket: PathBuf,
}

impl Agent {
    pub fn start(folder: &Path) -> Self {
        let socket = folder.join("agent");
        let child = Command::new("ssh-agent")
            .args(["-D", "-a"])
            .arg(&socket)
            .stdout(Stdio::null())
            .spawn()
            .expect("ssh-agent starts");
        while !socket.exists() {
            std::thread::yield_now();
        }
        Self { child, socket }
    }

    pub fn add(&self, key: &Path) {
        let added = Command::new("ssh-add")
            .arg(key)
            .env("SSH_AUTH_SOCK", &self.socket)
            .stderr(Stdio::null())
            .status()
            .expect("ssh-add runs");
        assert!(added.success());
    }

    pub fn setting(&self) -> IdentityAgent {
        IdentityAgent::Socket(self.socket.clone())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn refused(failure: Failure) -> KeysTried {
    match failure {
        Failure::AuthenticationRefused(tried) | Failure::NoKeyToOffer(tried) => *tried,
        other => panic!("not refused, but {other:?}"),
    }
}

#[tokio::test]
async fn a_key_file_logs_in_and_is_described() {
    let Some(server) = Server::start("") else { return };
    let connected = server.connect().await;
    assert_eq!(run(&connected, "echo hello").await.text(), "hello\n");
    let described = connected.described();
    assert!(described.contains(&format!("@127.0.0.1:{}", server.port)), "{described}");
    assert!(described.contains("ed25519 key"), "{described}");
    assert!(described.contains(&fingerprint(&server.path("login.pub"))), "{described}");
    assert!(!connected.is_closed());
    connected.close().await;
}

#[tokio::test]
async fn keys_of_other_kinds_log_in() {
    let Some(server) = Server::start("") else { return };
    for kind in ["rsa", "ecdsa"] {
        let key = keygen(server.folder.path(), kind, kind, "");
        authorise(&server, &key.with_extension("pub"));
        let mut settings = server.settings();
        settings.identity_files = vec![key];
        let connected = connect(settings).await.unwrap_or_else(|error| panic!("{kind}: {error}"));
        assert!(connected.described().contains(&format!("{kind} key")), "{}", connected.described());
    }
}

#[tokio::test]
async fn a_pem_file_of_rsa_logs_in() {
    let Some(server) = Server::start("") else { return };
    let key = keygen(server.folder.path(), "pem", "rsa", "");
    let converted = Command::new("ssh-keygen").args(["-q", "-p", "-m", "PEM", "-N", "", "-f"]).arg(&key).status();
    assert!(converted.expect("ssh-keygen runs").success());
    authorise(&server, &key.with_extension("pub"));
    let mut settings = server.settings();
    settings.identity_files = vec![key];
    connect(settings).await.expect("connected");
}

#[tokio::test]
async fn the_agent_logs_in_with_the_named_key_first() {
    let Some(server) = Server::start("MaxAuthTries 2") else { return };
    let agent = Agent::start(server.folder.path());
    for name in ["a", "b", "c", "d"] {
        agent.add(&keygen(server.folder.path(), name, "ed25519", ""));
    }
    agent.add(&server.path("login"));
    let mut settings = server.settings();
    settings.identity_agent = Some(agent.setting());
    settings.identities_only = false;
    // Only the public half is left on disk: the agent has the key.
    std::fs::remove_file(server.path("login")).expect("removed");
    let connected = connect(settings).await.expect("connected");
    assert!(connected.described().contains("from the agent"), "{}", connected.described());
}

#[tokio::test]
async fn an_rsa_key_of_the_agent_logs_in() {
    let Some(server) = Server::start("") else { return };
    let agent = Agent::start(server.folder.path());
    let key = keygen(server.folder.path(), "rsa", "rsa", "");
    authorise(&server, &key.with_extension("pub"));
    agent.add(&key);
    let mut settings = server.settings();
    settings.identity_agent = Some(agent.setting());
    settings.identity_files.clear();
    settings.identities_only = false;
    connect(settings).await.expect("connected");
}

#[tokio::test]
async fn few_keys_are_offered_and_the_rest_is_told() {
    let Some(server) = Server::start("") else { return };
    let agent = Agent::start(server.folder.path());
    for name in ["a", "b", "c", "d", "e"] {
        agent.add(&keygen(server.folder.path(), name, "ed25519", ""));
    }
    let mut settings = server.settings();
    settings.identity_agent = Some(agent.setting());
    settings.identity_files.clear();
    settings.identities_only = false;
    let error = connect(settings.clone()).await.expect_err("refused");
    assert_eq!(error.retry(), Retry::OnlyWhenAsked);
    assert!(error.problem(&target()).next_step.contains("IdentitiesOnly"));
    let tried = refused(error.failure);
    assert_eq!((tried.offered.len(), tried.left_out, tried.agent), (3, 2, AgentState::Holds(5)));

    settings.identities_only = true;
    let tried = refused(connect(settings).await.expect_err("refused").failure);
    assert_eq!(tried.offered, Vec::<String>::new());
}

#[tokio::test]
async fn a_refused_key_is_told_with_file_and_fingerprint() {
    let Some(server) = Server::start("") else { return };
    let wrong = keygen(server.folder.path(), "wrong", "ed25519", "");
    let mut settings = server.settings();
    settings.identity_files = vec![server.path("missing"), wrong.clone()];
    let error = connect(settings).await.expect_err("refused");
    assert_eq!(error.retry(), Retry::OnlyWhenAsked);
    let problem = error.problem(&target());
    assert!(problem.what.contains(&wrong.display().to_string()), "{problem}");
    assert!(problem.what.contains(&fingerprint(&server.path("wrong.pub"))), "{problem}");
    assert!(problem.what.contains("the server takes publickey"), "{problem}");
    assert!(!problem.cause.contains("missing"), "a default file that is not there is no news: {problem}");
    let tried = refused(error.failure);
    assert_eq!(tried.offered.len(), 1);
    let attempts = server.log().matches("Failed publickey").count();
    assert_eq!(attempts, 1, "offered once:\n{}", server.log());
}

#[tokio::test]
async fn too_many_refused_keys_are_told_as_such() {
    let Some(server) = Server::start("MaxAuthTries 2") else { return };
    let mut settings = server.settings();
    settings.identity_files =
        ["a", "b", "c"].iter().map(|name| keygen(server.folder.path(), name, "ed25519", "")).collect();
    let error = connect(settings).await.expect_err("refused");
    assert!(matches!(error.failure, Failure::TooManyFailures(_)), "{error:?}");
    assert_eq!(error.retry(), Retry::OnlyWhenAsked);
}

#[tokio::test]
async fn without_a_console_a_locked_key_is_told_by_name() {
    let Some(server) = Server::start("") else { return };
    for (kind, pem, is_wanted) in [("ed25519", false, true), ("rsa", true, true), ("ecdsa", false, false)] {
        let name = format!("locked-{kind}");
        let key = keygen(server.folder.path(), &name, kind, "secret words");
        if pem {
            let convert = ["-q", "-p", "-m", "PEM", "-P", "secret words", "-N", "secret words", "-f"];
            assert!(Command::new("ssh-keygen").args(convert).arg(&key).status().expect("ssh-keygen runs").success());
        }
        let mut settings = server.settings();
        settings.identity_files = vec![key.clone()];
        if is_wanted {
            authorise(&server, &key.with_extension("pub"));
        }
        let error = connect(settings).await.expect_err("refused");
        assert_eq!(error.retry(), Retry::OnlyWhenAsked);
        let problem = error.problem(&target());
        assert!(!problem.to_string().contains("secret"), "{problem}");
        match (&error.failure, is_wanted) {
            (Failure::SecretNeeded { asked, why, tried }, true) => {
                assert!(matches!(&asked.what, SecretKind::Passphrase(file) if **file == *key.display().to_string()));
                assert_eq!(
                    (*why, tried.set_aside[0].reason.clone()),
                    (NotGiven::NobodyToAsk, SetAsideReason::Encrypted)
                );
                assert!(problem.next_step.contains(&format!("ssh-add {}", key.display())), "{problem}");
            }
            // The server would not take it: then its passphrase is nobody's business.
            (Failure::AuthenticationRefused(tried), false) => assert!(tried.offered[0].contains(&name), "{tried:?}"),
            (other, _) => panic!("{kind}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn files_that_are_no_good_are_told() {
    let Some(server) = Server::start("") else { return };
    let garbage = server.path("garbage");
    std::fs::write(&garbage, "hello\u{1b}[31m").expect("written");
    set_mode(&garbage, 0o600);
    let open = keygen(server.folder.path(), "open", "ed25519", "");
    set_mode(&open, 0o644);
    let mut settings = server.settings();
    settings.identity_files = vec![server.path("missing"), garbage, open, server.folder.path().to_owned()];
    settings.identity_agent = Some(IdentityAgent::Socket(server.path("no-agent")));
    let error = connect(settings).await.expect_err("refused");
    let problem = error.problem(&target());
    assert!(problem.next_step.starts_with("chmod 600"), "{problem}");
    let tried = refused(error.failure);
    let reasons: Vec<_> = tried.set_aside.iter().map(|aside| &aside.reason).collect();
    assert!(
        matches!(
            reasons[..],
            [
                SetAsideReason::Missing,
                SetAsideReason::NotAKey(_),
                SetAsideReason::TooOpen(0o644),
                SetAsideReason::Unreadable(_)
            ]
        ),
        "{reasons:?}"
    );
    assert!(matches!(tried.agent, AgentState::Unreachable { .. }), "{:?}", tried.agent);
}

#[tokio::test]
async fn a_certificate_logs_in_and_one_without_its_key_is_told() {
    let Some(server) = Server::start("") else { return };
    let authority = keygen(server.folder.path(), "authority", "ed25519", "");
    let key = keygen(server.folder.path(), "certified", "ed25519", "");
    let settings = server.settings();
    let signed = Command::new("ssh-keygen")
        .args(["-q", "-I", "test", "-n", &settings.user, "-s"])
        .arg(&authority)
        .arg(key.with_extension("pub"))
        .status();
    assert!(signed.expect("ssh-keygen runs").success());
    let trusting = format!("TrustedUserCAKeys {}.pub", authority.display());
    let Some(trusting) = Server::start(&trusting) else { return };
    let mut settings = trusting.settings();
    settings.certificate_files = vec![server.path("certified-cert.pub")];
    settings.identity_files = vec![key];
    let connected = connect(settings.clone()).await.expect("connected");
    assert!(connected.described().contains("with certificate"), "{}", connected.described());

    settings.identity_files = vec![server.path("login")];
    let tried = refused(connect(settings).await.expect_err("refused").failure);
    assert!(tried.set_aside.iter().any(|aside| aside.reason == SetAsideReason::CertificateWithoutKey), "{tried:?}");
}

#[tokio::test]
async fn without_a_console_a_missing_secret_is_told_by_name() {
    let Some(server) = Server::start("PubkeyAuthentication no\nPasswordAuthentication yes") else { return };
    let error = connect(server.settings()).await.expect_err("refused");
    let Failure::SecretNeeded { asked, why, .. } = &error.failure else { panic!("{error:?}") };
    assert_eq!((&asked.what, *why), (&SecretKind::Password, NotGiven::NobodyToAsk));
    assert_eq!(error.retry(), Retry::OnlyWhenAsked);
    let problem = error.problem(&target());
    assert!(problem.what.contains("needs the password of"), "{problem}");
    assert!(problem.next_step.contains("password_command"), "{problem}");

    let mut settings = server.settings();
    settings.login.methods = vec![LoginMethod::PublicKey];
    let error = connect(settings).await.expect_err("refused");
    let both = |accepts: &str, allowed: &str| Failure::NoMethod {
        accepts: vec![accepts.to_owned()],
        allowed: vec![allowed.to_owned()],
    };
    assert_eq!(error.failure, both("password", "publickey"));
    assert_eq!(error.retry(), Retry::OnlyWhenAsked);

    let Some(server) = Server::start("AuthenticationMethods publickey,publickey") else { return };
    let error = connect(server.settings()).await.expect_err("refused");
    assert!(matches!(error.failure, Failure::SecondStepNeeded { .. }), "{error:?}");
    assert_eq!(error.retry(), Retry::OnlyWhenAsked);
}
