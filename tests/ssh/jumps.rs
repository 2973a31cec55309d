//! Targets behind jump hosts.

use rdmascope::collect::transport::ssh::{ConnectError, Deadlines, Failure, JumpRefusal, Retry};

use crate::server::{
    PATIENCE, Server, connect_route, eventually, first_line, free_port, is_running, keygen, run, target,
};

#[tokio::test]
async fn each_host_on_the_way_is_checked_and_logged_in_by_its_own_settings() {
    let (Some(jump), Some(server)) = (Server::start(""), Server::start("")) else { return };
    let hops = vec![jump.settings(), server.settings()];
    let connected = connect_route(hops, &None, Deadlines::default()).await.expect("connected");
    assert_eq!(run(&connected, "echo through").await.text(), "through\n");
    let described = connected.described();
    assert!(described.contains(&format!(":{}, ed25519 key", server.port)), "{described}");
    assert!(described.ends_with(&format!(", over {}@127.0.0.1:{}", jump.settings().user, jump.port)), "{described}");
    for host in [&jump, &server] {
        let recorded = std::fs::read_to_string(host.path("known_hosts")).expect("recorded");
        assert!(recorded.starts_with(&format!("[127.0.0.1]:{} ", host.port)), "{recorded}");
    }
    connected.close().await;
    for host in [&jump, &server] {
        eventually("a goodbye was said to each", || host.log().contains("closed by rdmascope")).await;
    }
}

#[tokio::test]
async fn a_jump_host_that_goes_is_named() {
    let (Some(jump), Some(server)) = (Server::start(""), Server::start("")) else { return };
    let hops = vec![jump.settings(), server.settings()];
    let connected = connect_route(hops, &None, Deadlines::default()).await.expect("connected");
    jump.kill_sessions();
    let reason = tokio::time::timeout(PATIENCE, connected.closed()).await.expect("noticed");
    assert!(reason.starts_with(&format!("jump host {}@127.0.0.1:{}: ", jump.settings().user, jump.port)), "{reason}");
    assert!(connected.is_closed());
}

#[tokio::test]
async fn what_fails_behind_the_jump_is_told_of_the_right_host() {
    let (Some(jump), Some(server)) = (Server::start(""), Server::start("")) else { return };
    let fail =
        async |hops| -> ConnectError { connect_route(hops, &None, Deadlines::default()).await.expect_err("it fails") };

    let mut nobody = server.settings();
    nobody.port = free_port();
    let error = fail(vec![jump.settings(), nobody]).await;
    assert!(matches!(&error.failure, Failure::JumpRefused { reason: JumpRefusal::ConnectFailed, .. }), "{error:?}");
    assert!(!error.stop.is_jump);
    assert_eq!(error.retry(), Retry::Automatic);

    let mut wrong = jump.settings();
    wrong.identity_files = vec![keygen(jump.folder.path(), "wrong", "ed25519", "")];
    let error = fail(vec![wrong, server.settings()]).await;
    assert!(error.stop.is_jump && error.stop.port == jump.port, "{error:?}");
    assert!(matches!(error.failure, Failure::AuthenticationRefused(_)), "{error:?}");
    assert!(error.problem(&target()).what.contains("jump host"));

    let Some(closed) = Server::start("AllowTcpForwarding no") else { return };
    let error = fail(vec![closed.settings(), server.settings()]).await;
    assert!(matches!(&error.failure, Failure::JumpRefused { reason: JumpRefusal::Prohibited, .. }), "{error:?}");
    assert_eq!(error.retry(), Retry::OnlyWhenAsked);
}

#[tokio::test]
async fn a_command_behind_a_jump_host_ends_with_its_connection() {
    let (Some(jump), Some(server)) = (Server::start(""), Server::start("")) else { return };
    let hops = vec![jump.settings(), server.settings()];
    let connected = connect_route(hops, &None, Deadlines::default()).await.expect("connected");
    let mut exec = connected.exec("echo $$; exec cat").await.expect("started");
    let pid = first_line(&mut exec).await;
    drop(connected);
    eventually("the command is ended", || !is_running(&pid)).await;
}
