//! Host keys: known, unknown, changed, revoked.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use rdmascope::app::{Answer, PromptKind, Severity};
use rdmascope::collect::transport::ssh::{Failure, NotAccepted, Retry};
use rdmascope::collect::transport::{Call, Question};
use rdmascope::config::openssh::HostKeyChecking;
use tokio::sync::mpsc;

use crate::server::{PATIENCE, Server, connect, connect_asking, fingerprint, keygen, target};

/// `[127.0.0.1]:port type base64`
fn recorded(server: &Server, key: &str) -> String {
    let public = std::fs::read_to_string(server.path(key)).expect("a public key");
    let fields: Vec<&str> = public.split_whitespace().collect();
    format!("[127.0.0.1]:{} {} {}", server.port, fields[0], fields[1])
}

fn known_hosts(server: &Server) -> String {
    std::fs::read_to_string(server.path("known_hosts")).unwrap_or_default()
}

async fn asked(calls: &mut mpsc::Receiver<Call>) -> Question {
    match tokio::time::timeout(PATIENCE, calls.recv()).await.expect("asked in time").expect("asked") {
        Call::Ask(question) => question,
        Call::Tell(notice) => panic!("told, not asked: {notice:?}"),
    }
}

fn not_accepted(failure: &Failure) -> NotAccepted {
    match failure {
        Failure::HostKeyUnknown { why, .. } => *why,
        other => panic!("not an unknown host key, but {other:?}"),
    }
}

#[tokio::test]
async fn an_accepted_key_is_recorded_and_not_asked_about_again() {
    let Some(server) = Server::start("") else { return };
    let mut settings = server.settings();
    settings.host_key_checking = HostKeyChecking::Ask;
    settings.user_known_hosts = vec![server.path("new/folder/known_hosts")];
    let (asker, mut questions) = mpsc::channel(1);
    let asker = Some(asker);
    let answering = async {
        let question = asked(&mut questions).await;
        assert_eq!(question.target, target());
        let PromptKind::UnknownHostKey(key) = &question.kind else { panic!("a host key") };
        assert_eq!(key.host, *format!("[127.0.0.1]:{}", server.port));
        assert_eq!(key.algorithm, "ssh-ed25519");
        assert_eq!(key.fingerprint, *fingerprint(&server.path("host.pub")));
        question.answer.send(Answer::Accept).expect("somebody waits");
    };
    let (connected, ()) = tokio::join!(connect_asking(settings.clone(), &asker), answering);
    connected.expect("connected").close().await;
    let file = server.path("new/folder/known_hosts");
    assert_eq!(std::fs::read_to_string(&file).expect("written"), format!("{}\n", recorded(&server, "host.pub")));
    let mode = |path: &std::path::Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().expect("a folder"))), (0o600, 0o700));

    settings.host_key_checking = HostKeyChecking::Strict;
    connect(settings).await.expect("known now");
}

#[tokio::test]
async fn an_accepted_key_that_cannot_be_written_is_told() {
    let Some(server) = Server::start("") else { return };
    let (elsewhere, link) = (server.path("elsewhere"), server.path("link"));
    std::fs::write(&elsewhere, "# known hosts\n").expect("written");
    std::os::unix::fs::symlink(&elsewhere, &link).expect("a link");
    let mut settings = server.settings();
    settings.host_key_checking = HostKeyChecking::Ask;
    settings.user_known_hosts = vec![link.clone()];
    let (asker, mut calls) = mpsc::channel(1);
    let asker = Some(asker);
    let answering = async {
        asked(&mut calls).await.answer.send(Answer::Accept).expect("somebody waits");
        match tokio::time::timeout(PATIENCE, calls.recv()).await.expect("told in time").expect("told") {
            Call::Tell(notice) => notice,
            Call::Ask(question) => panic!("asked, not told: {:?}", question.kind),
        }
    };
    let (connected, notice) = tokio::join!(connect_asking(settings, &asker), answering);
    connected.expect("somebody accepted the key").close().await;
    assert_eq!((notice.target, notice.severity), (target(), Severity::Warning));
    assert_eq!(
        notice.text,
        *format!(
            "the key of [127.0.0.1]:{} is trusted for now; it could not be written to {}: it is a symbolic link, which \
             is not followed",
            server.port,
            link.display()
        )
    );
    assert_eq!(std::fs::read_to_string(&elsewhere).expect("there"), "# known hosts\n");
}

#[tokio::test]
async fn a_refused_key_is_not_recorded() {
    let Some(server) = Server::start("") else { return };
    let mut settings = server.settings();
    settings.host_key_checking = HostKeyChecking::Ask;
    let (asker, mut questions) = mpsc::channel(1);
    let asker = Some(asker);
    let refusing = async { asked(&mut questions).await.answer.send(Answer::Refuse).expect("somebody waits") };
    let (result, ()) = tokio::join!(connect_asking(settings.clone(), &asker), refusing);
    let error = result.expect_err("refused");
    assert_eq!(not_accepted(&error.failure), NotAccepted::RefusedByUser);
    assert_eq!(error.retry(), Retry::OnlyWhenAsked);

    let leaving = async { drop(asked(&mut questions).await) };
    let (result, ()) = tokio::join!(connect_asking(settings, &asker), leaving);
    assert_eq!(not_accepted(&result.expect_err("refused").failure), NotAccepted::NobodyToAsk);
    assert!(!server.path("known_hosts").exists());
}

#[tokio::test]
async fn without_a_console_an_unknown_key_is_refused_by_its_fingerprint() {
    let Some(server) = Server::start("") else { return };
    for (checking, why) in
        [(HostKeyChecking::Ask, NotAccepted::NobodyToAsk), (HostKeyChecking::Strict, NotAccepted::Strict)]
    {
        let mut settings = server.settings();
        settings.host_key_checking = checking;
        let error = connect(settings).await.expect_err("refused");
        assert_eq!(not_accepted(&error.failure), why);
        let problem = error.problem(&target());
        assert!(problem.what.contains(&fingerprint(&server.path("host.pub"))), "{problem}");
    }
    assert!(!server.path("known_hosts").exists());
}

#[tokio::test]
async fn a_new_key_is_recorded_on_a_line_of_its_own() {
    let Some(server) = Server::start("") else { return };
    std::fs::write(server.path("known_hosts"), "other ssh-ed25519 AAAA").expect("written");
    connect(server.settings()).await.expect("connected");
    assert_eq!(known_hosts(&server), format!("other ssh-ed25519 AAAA\n{}\n", recorded(&server, "host.pub")));
    connect(server.settings()).await.expect("connected");
    assert_eq!(known_hosts(&server).lines().count(), 2, "recorded once");
}

#[tokio::test]
async fn dev_null_records_nothing_and_an_unwritable_file_refuses() {
    let Some(server) = Server::start("") else { return };
    let mut settings = server.settings();
    settings.user_known_hosts = vec!["/dev/null".into()];
    connect(settings.clone()).await.expect("connected");

    settings.user_known_hosts = vec!["/proc/known_hosts".into()];
    let error = connect(settings.clone()).await.expect_err("refused");
    assert!(matches!(error.failure, Failure::HostKeyNotRecorded { .. }), "{error:?}");

    settings.user_known_hosts = vec![server.folder.path().to_owned()];
    let error = connect(settings).await.expect_err("refused");
    assert!(matches!(error.failure, Failure::KnownHostsUnreadable { .. }), "{error:?}");
    assert_eq!(error.retry(), Retry::OnlyWhenAsked);
}

#[tokio::test]
async fn a_changed_key_is_refused_with_file_and_line() {
    let Some(server) = Server::start("") else { return };
    keygen(server.folder.path(), "former", "ed25519", "");
    let text = format!("# comment\n\n{}\n", recorded(&server, "former.pub"));
    std::fs::write(server.path("known_hosts"), &text).expect("written");
    let error = connect(server.settings()).await.expect_err("refused");
    assert_eq!(error.retry(), Retry::OnlyWhenAsked);
    let problem = error.problem(&target());
    assert!(problem.what.contains(&format!("{}:3", server.path("known_hosts").display())), "{problem}");
    assert!(problem.what.contains(&fingerprint(&server.path("host.pub"))), "{problem}");
    assert!(problem.what.contains(&fingerprint(&server.path("former.pub"))), "{problem}");
    assert!(problem.next_step.contains("ssh-keygen -R"), "{problem}");
    assert_eq!(known_hosts(&server), text, "nothing is written");
}

#[tokio::test]
async fn a_revoked_key_is_refused() {
    let Some(server) = Server::start("") else { return };
    let line = recorded(&server, "host.pub");
    let key = line.split_once(' ').expect("a line").1;
    std::fs::write(server.path("known_hosts"), format!("{line}\n@revoked * {key}\n")).expect("written");
    let error = connect(server.settings()).await.expect_err("refused");
    assert!(matches!(&error.failure, Failure::HostKeyRevoked { recorded, .. } if recorded.line == 2), "{error:?}");

    // The server listens on a port of its own; the line names the host alone.
    let text = format!("@revoked 127.0.0.1 {key}\n");
    std::fs::write(server.path("known_hosts"), &text).expect("written");
    let settings = server.settings();
    assert_eq!(settings.host_key_checking, HostKeyChecking::AcceptNew);
    let error = connect(settings).await.expect_err("refused");
    assert!(matches!(&error.failure, Failure::HostKeyRevoked { recorded, .. } if recorded.line == 1), "{error:?}");
    assert_eq!((known_hosts(&server), error.retry()), (text, Retry::OnlyWhenAsked), "nothing is recorded");
}

#[tokio::test]
async fn hashed_names_aliases_and_the_bare_name_are_found() {
    let Some(server) = Server::start("") else { return };
    let line = recorded(&server, "host.pub");
    let key = line.split_once(' ').expect("a line").1;
    let mut settings = server.settings();
    settings.host_key_checking = HostKeyChecking::Strict;

    std::fs::write(server.path("known_hosts"), format!("{line}\n")).expect("written");
    let hashed = Command::new("ssh-keygen").args(["-q", "-H", "-f"]).arg(server.path("known_hosts")).output();
    assert!(hashed.expect("ssh-keygen runs").status.success());
    assert!(known_hosts(&server).starts_with("|1|"));
    connect(settings.clone()).await.expect("found by its hash");

    std::fs::write(server.path("known_hosts"), format!("127.0.0.1 {key}\n")).expect("written");
    connect(settings.clone()).await.expect("found by the bare name");

    std::fs::write(server.path("known_hosts"), format!("the-alias {key}\n")).expect("written");
    settings.host_key_alias = Some("The-Alias".to_owned());
    connect(settings).await.expect("found by the alias");
}

#[tokio::test]
async fn a_recorded_type_is_asked_for_first() {
    let Some(server) = Server::start("") else { return };
    let Some(with_both) =
        Server::start(&format!("HostKey {}", keygen(server.folder.path(), "host-rsa", "rsa", "").display()))
    else {
        return;
    };
    let public = std::fs::read_to_string(server.path("host-rsa.pub")).expect("a public key");
    let line = format!("[127.0.0.1]:{} {public}", with_both.port);
    std::fs::write(with_both.path("known_hosts"), line).expect("written");
    let mut settings = with_both.settings();
    settings.host_key_checking = HostKeyChecking::Strict;
    connect(settings).await.expect("the recorded RSA key was compared");
}

#[tokio::test]
async fn an_authority_is_told_and_not_taken_for_a_host_key() {
    let Some(server) = Server::start("") else { return };
    let line = recorded(&server, "host.pub");
    std::fs::write(server.path("known_hosts"), format!("@cert-authority {line}\n")).expect("written");
    let mut settings = server.settings();
    settings.host_key_checking = HostKeyChecking::Strict;
    let problem = connect(settings).await.expect_err("refused").problem(&target());
    assert!(
        problem.cause.contains("trusts an authority for this host, and it shows no certificate of it"),
        "{problem}"
    );
}
