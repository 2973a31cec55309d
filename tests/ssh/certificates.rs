//! OpenSSH certificates: of users and of hosts.

use std::path::Path;
use std::process::Command;

use rdmascope::collect::transport::ssh::{Deadlines, Failure, Memory, Retry, Route};
use rdmascope::config::openssh::{HostKeyChecking, HostSettings};

use crate::asking::{AskingServer, Person, Rules};
use crate::server::{Server, connect, connect_remembering, keygen, target};

/// Signs a public key: `words` say for whom, how long and of which type.
fn sign(authority: &Path, public: &Path, words: &[&str]) {
    let mut command = Command::new("ssh-keygen");
    command.args(["-q", "-I", "test", "-s"]).arg(authority).args(words).arg(public);
    assert!(command.status().expect("ssh-keygen runs").success());
}

#[tokio::test]
async fn certificates_of_every_kind_of_key_log_in() {
    let Some(first) = Server::start("") else { return };
    let folder = first.folder.path();
    let authority = keygen(folder, "authority", "ed25519", "");
    let Some(server) = Server::start(&format!("TrustedUserCAKeys {}.pub", authority.display())) else { return };
    let user = server.settings().user;
    for (kind, passphrase) in [("rsa", ""), ("ecdsa", ""), ("ed25519", "secret words")] {
        let key = keygen(folder, kind, kind, passphrase);
        sign(&authority, &key.with_extension("pub"), &["-n", &user]);
        // It lies beside the key, where ssh looks for it too.
        let route =
            Route { hops: vec![HostSettings { identity_files: vec![key], ..server.settings() }], ..Route::default() };
        let person = Person::typing(&["secret words"]);
        let connected = connect_remembering(&route, &person.asker, &Memory::default(), Deadlines::default()).await;
        let described = connected.unwrap_or_else(|error| panic!("{kind}: {error}")).described();
        assert!(described.contains(&format!("{kind} key with certificate")), "{described}");
        assert_eq!(person.requests().len(), usize::from(!passphrase.is_empty()));
    }
}

/// A server that shows a certificate, made with these words, and its settings; the authority is trusted.
fn certified(words: &[&str]) -> Option<(Server, Server, HostSettings)> {
    let first = Server::start("")?;
    let (authority, host) =
        (keygen(first.folder.path(), "ca", "ed25519", ""), keygen(first.folder.path(), "h", "ecdsa", ""));
    sign(&authority, &host.with_extension("pub"), words);
    let further = format!("HostKey {0}\nHostCertificate {0}-cert.pub", host.display());
    let server = Server::start(&further)?;
    let public = std::fs::read_to_string(authority.with_extension("pub")).expect("a public key");
    for file in ["ca", "h", "h.pub", "ca.pub"] {
        std::fs::copy(first.path(file), server.path(file)).expect("copied");
    }
    std::fs::write(server.path("known_hosts"), format!("@cert-authority * {public}")).expect("written");
    let settings = HostSettings { host_key_checking: HostKeyChecking::Strict, ..server.settings() };
    // The first one owns the folder in which the keys lie.
    Some((first, server, settings))
}

#[tokio::test]
async fn a_host_is_known_by_its_certificate() {
    let Some((_keys, server, settings)) = certified(&["-h", "-n", "other,127.0.0.*"]) else { return };
    connect(settings.clone()).await.expect("the authority vouches for it");
    let recorded = std::fs::read_to_string(server.path("known_hosts")).expect("there");
    assert_eq!(recorded.lines().count(), 1, "nothing has to be written down");
    let aliased = HostSettings { host_key_alias: Some("gpu-1".to_owned()), ..settings };
    let error = connect(aliased).await.expect_err("another name");
    let Failure::HostCertificateRefused { why, .. } = &error.failure else { panic!("{error:?}") };
    assert_eq!(*why, "it is for other, 127.0.0.*, not for gpu-1");
}

#[tokio::test]
async fn a_bad_certificate_is_refused_whatever_the_settings() {
    for (words, expected) in [
        (vec!["-h", "-n", "127.0.0.1", "-V", "20200101:20210101"], "it has expired"),
        (vec!["-h", "-n", "127.0.0.1", "-V", "20900101:20910101"], "it is not valid yet"),
        (vec!["-h"], "it names no host"),
    ] {
        let Some((_keys, _server, settings)) = certified(&words) else { return };
        let lax = HostSettings { host_key_checking: HostKeyChecking::AcceptNew, ..settings };
        let error = connect(lax).await.expect_err(expected);
        let Failure::HostCertificateRefused { why, .. } = &error.failure else { panic!("{error:?}") };
        assert_eq!(*why, *expected);
        assert_eq!(error.retry(), Retry::OnlyWhenAsked);
        assert!(error.problem(&target()).what.contains("certificate of its host key"), "{error}");
    }
}

#[tokio::test]
async fn a_revoked_authority_or_key_is_refused() {
    for revoked in ["ca.pub", "h.pub"] {
        let Some((_keys, server, settings)) = certified(&["-h", "-n", "127.0.0.1"]) else { return };
        let public = std::fs::read_to_string(server.path(revoked)).expect("a public key");
        let records = std::fs::read_to_string(server.path("known_hosts")).expect("there");
        std::fs::write(server.path("known_hosts"), format!("{records}@revoked * {public}")).expect("written");
        let error = connect(settings).await.expect_err("revoked");
        assert!(matches!(&error.failure, Failure::HostKeyRevoked { recorded, .. } if recorded.line == 2), "{error:?}");
    }
}

#[tokio::test]
async fn without_a_trusted_authority_the_key_in_the_certificate_counts() {
    let Some((_keys, server, settings)) = certified(&["-h", "-n", "127.0.0.1"]) else { return };
    let Some(other) = Server::start("") else { return };
    let public = std::fs::read_to_string(keygen(other.folder.path(), "ca2", "ed25519", "").with_extension("pub"));
    let untrusted = format!("@cert-authority * {}", public.expect("a public key"));
    std::fs::write(server.path("known_hosts"), &untrusted).expect("written");
    let error = connect(settings.clone()).await.expect_err("unknown");
    assert!(matches!(&error.failure, Failure::HostKeyUnknown { authority: Some(_), .. }), "{error:?}");
    let host = std::fs::read_to_string(server.path("h.pub")).expect("a public key");
    let known = format!("{untrusted}[127.0.0.1]:{} {host}", server.port);
    std::fs::write(server.path("known_hosts"), known).expect("written");
    connect(settings).await.expect("its key is recorded");
}

#[tokio::test]
async fn a_certificate_of_a_user_is_none_of_a_host() {
    let Some(tools) = Server::start("") else { return };
    let folder = tools.folder.path();
    let (authority, host) = (keygen(folder, "ca", "ed25519", ""), keygen(folder, "h", "ed25519", ""));
    sign(&authority, &host.with_extension("pub"), &["-n", "127.0.0.1"]);
    let key = russh::keys::load_secret_key(&host, None).expect("a key");
    let certificate = russh::keys::load_openssh_certificate(folder.join("h-cert.pub")).expect("a certificate");
    // OpenSSH's own server would not show it.
    let rules = Rules { host_key: Some(key), certificate: Some(certificate), ..Rules::default() };
    let server = AskingServer::start(rules).await;
    let public = std::fs::read_to_string(authority.with_extension("pub")).expect("a public key");
    std::fs::write(folder.join("kh"), format!("@cert-authority * {public}")).expect("written");
    let error = connect(HostSettings { user_known_hosts: vec![folder.join("kh")], ..server.settings() }).await;
    let error = error.expect_err("refused");
    let Failure::HostCertificateRefused { why, .. } = &error.failure else { panic!("{error:?}") };
    assert_eq!(*why, "it is one of a user, not of a host");
}
