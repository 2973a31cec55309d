//! Encrypted key files, and the order in which keys are offered.

use std::path::{Path, PathBuf};
use std::process::Command;

use rdmascope::app::SecretKind;
use rdmascope::collect::transport::ssh::{Deadlines, Failure, Memory, Retry, Route};
use rdmascope::config::openssh::HostSettings;

use crate::asking::Person;
use crate::login::Agent;
use crate::server::{Server, authorise, connect, connect_remembering, keygen, target};

/// Rewrites an encrypted key file in the old PEM format.
fn to_pem(key: &Path, passphrase: &str) {
    let words = ["-q", "-p", "-m", "PEM", "-P", passphrase, "-N", passphrase, "-f"];
    assert!(Command::new("ssh-keygen").args(words).arg(key).status().expect("ssh-keygen runs").success());
}

fn route(settings: HostSettings) -> Route {
    Route { hops: vec![settings], ..Route::default() }
}

/// A server and a locked key that it lets in.
fn locked(kind: &str, pem: bool) -> Option<(Server, PathBuf)> {
    let server = Server::start("")?;
    let key = keygen(server.folder.path(), "locked", kind, "secret words");
    if pem {
        to_pem(&key, "secret words");
    }
    authorise(&server, &key.with_extension("pub"));
    Some((server, key))
}

#[tokio::test]
async fn a_passphrase_is_asked_for_once_and_opens_the_key_for_good() {
    for (kind, pem, public) in
        [("ed25519", false, true), ("ecdsa", false, false), ("rsa", true, true), ("rsa", true, false)]
    {
        let Some((server, key)) = locked(kind, pem) else { return };
        if !public {
            std::fs::remove_file(key.with_extension("pub")).expect("removed");
        }
        let route = route(HostSettings { identity_files: vec![key.clone()], ..server.settings() });
        let (person, memory) = (Person::typing(&["secret words"]), Memory::default());
        for _ in 0..3 {
            let connected = connect_remembering(&route, &person.asker, &memory, Deadlines::default()).await;
            let connected = connected.unwrap_or_else(|error| panic!("{kind} {pem} {public}: {error}"));
            assert!(connected.described().contains(&format!("{kind} key")), "{}", connected.described());
        }
        let requests = person.requests();
        assert_eq!(requests.len(), 1, "{kind}");
        assert_eq!(requests[0].what, SecretKind::Passphrase(key.display().to_string().into()));
        assert_eq!(requests[0].instruction, "", "no word of the server's about a file of this machine");
        assert!(requests[0].may_reuse && !requests[0].echo);
        assert_eq!(person.verdicts().await, [Some(true)]);
    }
}

#[tokio::test]
async fn a_wrong_passphrase_is_told_and_waits_for_the_user() {
    let Some((server, key)) = locked("ed25519", false) else { return };
    let route = route(HostSettings { identity_files: vec![key.clone()], ..server.settings() });
    let (person, memory) = (Person::typing(&["wrong", "secret words"]), Memory::default());
    let error = connect_remembering(&route, &person.asker, &memory, Deadlines::default()).await.expect_err("wrong");
    assert_eq!(error.failure, Failure::WrongPassphrase { file: key.display().to_string() });
    assert_eq!(error.retry(), Retry::OnlyWhenAsked);
    assert!(error.problem(&target()).cause.contains("not sent anywhere"));
    assert_eq!(person.verdicts().await, [Some(false)]);
    memory.permit();
    connect_remembering(&route, &person.asker, &memory, Deadlines::default()).await.expect("connected");
    assert!(!server.log().contains("Failed"), "nothing was refused:\n{}", server.log());
}

#[tokio::test]
async fn an_empty_passphrase_leaves_the_key_out() {
    let Some((server, key)) = locked("ed25519", false) else { return };
    let other = keygen(server.folder.path(), "other", "ecdsa", "more words");
    authorise(&server, &other.with_extension("pub"));
    let route = route(HostSettings { identity_files: vec![key, other.clone()], ..server.settings() });
    let person = Person::typing(&["", "more words"]);
    let connected = connect_remembering(&route, &person.asker, &Memory::default(), Deadlines::default()).await;
    assert!(connected.expect("connected").described().contains("ecdsa key"));
    assert_eq!(person.requests().len(), 2);
}

#[tokio::test]
async fn nobody_is_asked_while_another_key_opens_the_way() {
    let Some((server, key)) = locked("ed25519", false) else { return };
    let person = Person::typing(&["secret words"]);
    let plain = route(HostSettings { identity_files: vec![key.clone(), server.path("login")], ..server.settings() });
    connect_remembering(&plain, &person.asker, &Memory::default(), Deadlines::default()).await.expect("connected");
    let agent = Agent::start(server.folder.path());
    agent.add(&server.path("login"));
    let held = route(HostSettings {
        identity_files: vec![key],
        identity_agent: Some(agent.setting()),
        identities_only: false,
        ..server.settings()
    });
    connect_remembering(&held, &person.asker, &Memory::default(), Deadlines::default()).await.expect("connected");
    assert!(person.requests().is_empty());
}

#[tokio::test]
async fn a_locked_key_that_the_server_would_refuse_is_not_asked_about() {
    let Some(server) = Server::start("") else { return };
    let key = keygen(server.folder.path(), "locked", "ed25519", "secret words");
    let person = Person::typing(&["secret words"]);
    let route = route(HostSettings { identity_files: vec![key], ..server.settings() });
    let error = connect_remembering(&route, &person.asker, &Memory::default(), Deadlines::default()).await;
    assert!(matches!(error.expect_err("refused").failure, Failure::AuthenticationRefused(_)));
    assert!(person.requests().is_empty());
}

#[tokio::test]
async fn a_pem_file_that_cannot_be_undone_is_not_taken_for_a_wrong_passphrase() {
    let Some(server) = Server::start("") else { return };
    let file = server.path("old");
    let text = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: DES-EDE3-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n";
    std::fs::write(&file, text).expect("written");
    crate::server::set_mode(&file, 0o600);
    let error = connect(HostSettings { identity_files: vec![file], ..server.settings() }).await.expect_err("no key");
    assert!(error.problem(&target()).cause.contains("ssh-keygen -p -f"), "{error}");
}

#[tokio::test]
async fn the_key_that_worked_last_time_comes_first() {
    let Some(server) = Server::start("MaxAuthTries 3") else { return };
    let agent = Agent::start(server.folder.path());
    for name in ["a", "b"] {
        agent.add(&keygen(server.folder.path(), name, "ed25519", ""));
    }
    agent.add(&server.path("login"));
    let route = route(HostSettings {
        identity_files: vec![],
        identity_agent: Some(agent.setting()),
        identities_only: false,
        ..server.settings()
    });
    let memory = Memory::default();
    connect_remembering(&route, &None, &memory, Deadlines::default()).await.expect("the third one is right");
    let refused = || server.log().matches("Failed publickey").count();
    let before = refused();
    connect_remembering(&route, &None, &memory, Deadlines::default()).await.expect("connected");
    assert_eq!(refused(), before, "the good one was the first:\n{}", server.log());
}

#[tokio::test]
async fn two_keys_open_a_way_that_needs_two() {
    let Some(server) = Server::start("AuthenticationMethods publickey,publickey") else { return };
    let second = keygen(server.folder.path(), "second", "ecdsa", "secret words");
    authorise(&server, &second.with_extension("pub"));
    let route = route(HostSettings { identity_files: vec![second, server.path("login")], ..server.settings() });
    let person = Person::typing(&["secret words"]);
    let connected = connect_remembering(&route, &person.asker, &Memory::default(), Deadlines::default()).await;
    let described = connected.expect("connected").described();
    assert!(
        described.contains("ed25519 key") && described.contains(", then ") && described.contains("ecdsa key"),
        "{described}"
    );
}
