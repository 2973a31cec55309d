//! Ways that lead through a program, and through several jump hosts.

use std::path::{Path, PathBuf};

use rdmascope::collect::transport::ssh::{Connected, Deadlines, Failure, Memory, ProxyEnd, Retry, Route};
use rdmascope::collect::transport::{Exec, TransportError};
use rdmascope::config::openssh::{AddressFamily, HostKeyChecking, HostSettings};

use crate::asking::Person;
use crate::server::{
    PATIENCE, Server, connect, connect_remembering, connect_route, eventually, is_running, run, target,
};

/// A command of OpenSSH's own that leads through `jump` to `server`.
fn through(jump: &Server, server: &Server) -> String {
    format!(
        "ssh -q -i {} -p {} -o IdentitiesOnly=yes -o IdentityAgent=none -o StrictHostKeyChecking=no \
         -o UserKnownHostsFile=/dev/null -F none -W 127.0.0.1:{} {}@127.0.0.1",
        jump.path("login").display(),
        jump.port,
        server.port,
        jump.settings().user
    )
}

#[tokio::test]
async fn a_command_leads_to_the_host_and_ends_with_the_connection() {
    let (Some(jump), Some(server)) = (Server::start(""), Server::start("")) else { return };
    let pid = server.path("pid");
    let command = format!("sh -c 'echo $$ > {}; exec {}'", pid.display(), through(&jump, &server));
    // No name is looked up here: that is the command's business.
    let settings = HostSettings {
        hostname: "no-such-host.invalid".to_owned(),
        host_key_alias: Some("behind".to_owned()),
        proxy_command: Some(command),
        ..server.settings()
    };
    for politely in [true, false] {
        let connected = connect(settings.clone()).await.expect("connected");
        assert_eq!(run(&connected, "echo through").await.text(), "through\n");
        assert!(connected.described().ends_with(", by ProxyCommand"), "{}", connected.described());
        let running = std::fs::read_to_string(&pid).expect("it ran");
        assert!(is_running(running.trim()));
        if politely {
            connected.close().await;
        } else {
            drop(connected);
        }
        eventually("the command is ended", || !is_running(running.trim())).await;
    }
    let recorded = std::fs::read_to_string(server.path("known_hosts")).expect("recorded");
    assert!(recorded.starts_with("behind ssh-ed25519"), "{recorded}");
}

#[tokio::test]
async fn a_command_that_leads_nowhere_is_told_with_its_last_words() {
    let Some(server) = Server::start("") else { return };
    let failing = |command: &str| {
        let settings = HostSettings { proxy_command: Some(command.to_owned()), ..server.settings() };
        connect_route(vec![settings], &None, Deadlines { last_words: PATIENCE, ..Deadlines::default() })
    };
    let error = failing("sh -c 'echo one >&2; echo \"no \u{1b}[31mroute\" >&2; exit 3'").await.expect_err("no way");
    let Failure::ProxyCommand { end, .. } = &error.failure else { panic!("{error:?}") };
    assert_eq!(*end, ProxyEnd::Ended { status: Some(3), said: Some("no route".into()) });
    assert_eq!(error.retry(), Retry::Automatic);
    let problem = error.problem(&target());
    assert!(problem.what.contains("ended with status 3; it said: no route"), "{problem}");
    let error = failing("echo hello").await.expect_err("no SSH");
    assert_eq!(error.failure, Failure::NotSsh("hello".into()));

    let pid = server.path("pid");
    let settings = HostSettings {
        proxy_command: Some(format!("sh -c 'echo $$ > {}; exec sleep 1000'", pid.display())),
        ..server.settings()
    };
    let last_words = std::time::Duration::from_millis(500);
    // It is tried with ever more time until that was enough for the shell to write its number.
    let mut seconds = 1;
    let running = loop {
        let handshake = std::time::Duration::from_secs(seconds);
        let deadlines = Deadlines { tcp: handshake, handshake, last_words, ..Deadlines::default() };
        let error = connect_route(vec![settings.clone()], &None, deadlines).await.expect_err("it hangs");
        assert!(
            matches!(error.failure, Failure::ProxyCommand { end: ProxyEnd::Ended { status: None, .. }, .. }),
            "{error:?}"
        );
        match std::fs::read_to_string(&pid) {
            Ok(number) if number.ends_with('\n') => break number,
            _ => seconds *= 2,
        }
        assert!(seconds <= 64, "it never ran");
    };
    eventually("the command is ended", || !is_running(running.trim())).await;
}

#[tokio::test]
async fn two_jump_hosts_lead_to_the_target() {
    let (Some(one), Some(two), Some(server)) = (Server::start(""), Server::start(""), Server::start("")) else {
        return;
    };
    let hops = vec![one.settings(), two.settings(), server.settings()];
    let connected = connect_route(hops, &None, Deadlines::default()).await.expect("connected");
    assert_eq!(
        run(&connected, "echo $SSH_CONNECTION").await.text().split(' ').nth(3),
        Some(&*format!("{}\n", server.port))
    );
    let described = connected.described();
    let over =
        format!("{}@127.0.0.1:{} -> {}@127.0.0.1:{}", one.settings().user, one.port, two.settings().user, two.port);
    assert!(described.ends_with(&format!(", over {over}")), "{described}");
    one.kill_sessions();
    let reason = tokio::time::timeout(PATIENCE, connected.closed()).await.expect("noticed");
    assert!(reason.starts_with("jump host"), "{reason}");
}

/// A command on a connection whose server takes a moment to see that the one before has ended.
async fn when_there_is_room(connected: &Connected, command: &str) -> Exec {
    let until = std::time::Instant::now() + PATIENCE;
    loop {
        match connected.exec(command).await {
            Ok(exec) => return exec,
            Err(error) => {
                assert!(matches!(error, TransportError::ChannelRefused(_)), "{error:?}");
                assert!(std::time::Instant::now() < until, "no room");
            }
        }
    }
}

#[tokio::test]
async fn one_session_is_enough_and_a_second_is_refused() {
    let Some(server) = Server::start("MaxSessions 1") else { return };
    let connected = server.connect().await;
    for _ in 0..3 {
        let exec = when_there_is_room(&connected, "echo one").await;
        assert_eq!(crate::server::finish(exec).await.text(), "one\n");
    }
    let mut running = when_there_is_room(&connected, "echo up; exec cat").await;
    assert_eq!(crate::server::first_line(&mut running).await, "up");
    let refused = connected.exec("echo two").await.expect_err("refused");
    assert!(matches!(refused, TransportError::ChannelRefused(_)), "{refused:?}");
}

#[tokio::test]
async fn a_server_that_checks_on_its_clients_keeps_us_and_one_that_drops_idle_ones_is_told() {
    let Some(server) = Server::start("ClientAliveInterval 1\nClientAliveCountMax 2") else { return };
    let connected = server.connect().await;
    assert_eq!(run(&connected, "sleep 5; echo still there").await.text(), "still there\n");
    // Old servers do not know this keyword and do not start with it.
    if !Path::new("/usr/sbin/sshd").exists() || !knows_unused_timeout() {
        println!("skipped: sshd has no UnusedConnectionTimeout");
        return;
    }
    let Some(server) = Server::start("UnusedConnectionTimeout 1s") else { return };
    let connected = server.connect().await;
    let reason = tokio::time::timeout(PATIENCE, connected.closed()).await.expect("noticed");
    assert!(reason.contains("closed the connection") || reason.contains("ended the connection"), "{reason}");
}

fn knows_unused_timeout() -> bool {
    let words = ["-T", "-o", "UnusedConnectionTimeout=1s", "-f", "/dev/null"];
    let asked = std::process::Command::new("/usr/sbin/sshd").args(words).output();
    asked.is_ok_and(|output| !String::from_utf8_lossy(&output.stderr).contains("Bad configuration option"))
}

#[tokio::test]
async fn a_key_accepted_unseen_is_told_once_and_written_under_a_hash_if_wanted() {
    let Some(server) = Server::start("") else { return };
    let settings = HostSettings {
        hash_known_hosts: true,
        host_key_checking: HostKeyChecking::AcceptNew,
        address_family: AddressFamily::Inet,
        ..server.settings()
    };
    let (person, route) = (Person::refusing(), Route { hops: vec![settings], ..Route::default() });
    for _ in 0..2 {
        connect_remembering(&route, &person.asker, &Memory::default(), Deadlines::default()).await.expect("connected");
    }
    let notices = person.notices();
    assert_eq!(notices.len(), 1, "{notices:?}");
    let fingerprint = crate::server::fingerprint(&server.path("host.pub"));
    let name = format!("[127.0.0.1]:{}", server.port);
    let file = server.path("known_hosts").display().to_string();
    assert_eq!(
        notices[0],
        format!("new host key of {name} accepted unseen: ssh-ed25519 {fingerprint}; written to {file}")
    );
    let recorded = std::fs::read_to_string(server.path("known_hosts")).expect("recorded");
    assert!(
        recorded.starts_with("|1|") && !recorded.contains("127.0.0.1") && recorded.lines().count() == 1,
        "{recorded}"
    );
    let found =
        std::process::Command::new("ssh-keygen").args(["-F", &name, "-f"]).arg(&file).output().expect("it runs");
    assert!(found.status.success(), "OpenSSH finds it too");
    let mut wrong_family = route;
    wrong_family.hops[0].address_family = AddressFamily::Inet6;
    let error = connect_remembering(&wrong_family, &None, &Memory::default(), Deadlines::default()).await;
    assert!(matches!(error.expect_err("no address").failure, Failure::NameNotResolved(_)));
}

#[tokio::test]
async fn the_next_step_names_the_file_that_was_given() {
    let Some(server) = Server::start("") else { return };
    let mut settings = server.settings();
    settings.asked_user = None;
    settings.asked_port = Some(2222);
    settings.host_key_checking = HostKeyChecking::Strict;
    let ssh_config = Some(PathBuf::from("/tmp/my config"));
    let route = Route { hops: vec![settings], ssh_config, ..Route::default() };
    let error =
        connect_remembering(&route, &None, &Memory::default(), Deadlines::default()).await.expect_err("unknown");
    let next = error.problem(&target()).next_step;
    assert!(next.ends_with("connect once: ssh -F '/tmp/my config' -p 2222 guest"), "{next}");
}
