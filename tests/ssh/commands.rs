//! Commands on a connection: input, output, ends, limits.

use std::time::Instant;

use rdmascope::collect::transport::{Output, TransportError};

use crate::server::{PATIENCE, Server, eventually, finish, first_line, is_running, next, run};

#[tokio::test]
async fn output_status_and_signal_come_apart() {
    let Some(server) = Server::start("") else { return };
    let connected = server.connect().await;
    let finished = run(&connected, "echo out; echo err >&2; exit 7").await;
    assert_eq!((finished.text(), &finished.stderr[..], finished.exit), ("out\n", &b"err\n"[..], Some(7)));
    let finished = run(&connected, "kill -9 $$").await;
    assert_eq!((finished.exit, finished.signal.as_deref()), (None, Some("KILL")));
    assert_eq!(run(&connected, "exit 0").await.exit, Some(0));
}

#[tokio::test]
async fn input_goes_in_and_ends() {
    let Some(server) = Server::start("") else { return };
    let connected = server.connect().await;
    let mut exec = connected.exec("/bin/sh -s").await.expect("started");
    // Told to be ready first, because a shell may read ahead what follows its script.
    exec.send("{ echo ready; while read line; do echo \"got $line\"; done; echo over; }\n").await.expect("sent");
    assert_eq!(first_line(&mut exec).await, "ready");
    exec.send("one\n").await.expect("sent");
    assert_eq!(first_line(&mut exec).await, "got one");
    exec.send("two\n").await.expect("sent");
    assert_eq!(first_line(&mut exec).await, "got two");
    exec.end_input().await.expect("ended");
    let finished = finish(exec).await;
    assert_eq!((finished.text(), finished.exit), ("over\n", Some(0)));
}

#[tokio::test]
async fn a_slow_reader_gets_all_of_it_and_holds_up_nobody() {
    let Some(server) = Server::start("") else { return };
    let connected = server.connect().await;
    let size = 8 * 1024 * 1024;
    let slow = connected.exec(&format!("head -c {size} /dev/zero")).await.expect("started");
    // The other command's answer comes after all that the first one floods the connection with.
    for _ in 0..20 {
        assert_eq!(run(&connected, "echo other").await.text(), "other\n");
    }
    let finished = finish(slow).await;
    assert_eq!((finished.stdout.len(), finished.exit), (size, Some(0)));
}

#[tokio::test]
async fn a_flood_that_nobody_reads_is_ended() {
    let Some(server) = Server::start("") else { return };
    let connected = server.connect().await;
    let mut exec = connected.exec("echo $$; exec cat /dev/zero").await.expect("started");
    let pid = first_line(&mut exec).await;
    eventually("the flood is ended", || !is_running(&pid)).await;
    assert_eq!(run(&connected, "echo other").await.text(), "other\n");
    let finished = finish(exec).await;
    assert_eq!(finished.exit, None, "what was cut off does not look complete");
}

#[tokio::test]
async fn input_that_the_command_does_not_read_waits() {
    let Some(server) = Server::start("") else { return };
    let connected = server.connect().await;
    // It ends by itself should the test fail; servers do not let root's commands be signalled.
    let exec = connected.exec("exec sleep 30").await.expect("started");
    let mut sent = 0_usize;
    let filling = async {
        loop {
            exec.send(vec![0_u8; 64 * 1024]).await.expect("the command is there");
            sent += 64 * 1024;
        }
    };
    // Until the way is full, and then some other commands get through all the same.
    let others = async {
        for _ in 0..10 {
            assert_eq!(run(&connected, "echo other").await.text(), "other\n");
        }
    };
    tokio::select! { () = filling => {}, () = others => {} }
    assert!(sent < 16 * 1024 * 1024, "{sent} bytes were taken for a command that reads nothing");
}

#[tokio::test]
async fn a_server_with_few_sessions_refuses_the_others() {
    let Some(server) = Server::start("MaxSessions 2") else { return };
    let connected = server.connect().await;
    let mut running = Vec::new();
    for _ in 0..2 {
        let mut exec = connected.exec("echo up; exec cat").await.expect("started");
        first_line(&mut exec).await;
        running.push(exec);
    }
    for _ in 2..6 {
        let refused = connected.exec("echo never").await.expect_err("refused");
        assert!(matches!(refused, TransportError::ChannelRefused(_)), "{refused:?}");
    }
    drop(running);
    let mut answer = Err(TransportError::Closed);
    let until = Instant::now() + PATIENCE;
    while answer.is_err() && Instant::now() < until {
        answer = connected.exec("echo again").await;
    }
    assert_eq!(finish(answer.expect("a place is free again")).await.text(), "again\n");
}

#[tokio::test]
async fn more_than_four_wait_for_a_place() {
    let Some(server) = Server::start("") else { return };
    let connected = server.connect().await;
    let mut running = Vec::new();
    for _ in 0..4 {
        running.push(connected.exec("exec cat").await.expect("started"));
    }
    let fifth = connected.exec("echo fifth");
    tokio::pin!(fifth);
    assert!(futures::poll!(&mut fifth).is_pending());
    drop(running.pop());
    let fifth = tokio::time::timeout(PATIENCE, fifth).await.expect("a place is free again").expect("started");
    assert_eq!(finish(fifth).await.text(), "fifth\n");
}

#[tokio::test]
async fn a_dropped_command_is_ended_and_its_place_is_free() {
    let Some(server) = Server::start("") else { return };
    let connected = server.connect().await;
    // More than the server's ten sessions, and than our four places.
    for _ in 0..12 {
        let mut exec = connected.exec("echo $$; exec cat").await.expect("started");
        let pid = first_line(&mut exec).await;
        assert!(is_running(&pid));
        drop(exec);
        eventually("the command is ended", || !is_running(&pid)).await;
    }
}

#[tokio::test]
async fn closing_ends_the_commands_and_the_connection() {
    let Some(server) = Server::start("") else { return };
    for politely in [true, false] {
        let connected = server.connect().await;
        let mut exec = connected.exec("echo $$ $PPID; exec cat").await.expect("started");
        let line = first_line(&mut exec).await;
        let (pid, session) = line.split_once(' ').expect("two numbers");
        if politely {
            connected.close().await;
        } else {
            drop(connected);
        }
        while next(&mut exec).await.is_some() {}
        assert_eq!(exec.send("x").await, Err(TransportError::Closed));
        eventually("the command is ended", || !is_running(pid)).await;
        eventually("the session is ended", || !is_running(session)).await;
    }
    eventually("a goodbye was said each time", || server.log().matches("closed by rdmascope").count() == 2).await;
}

#[tokio::test]
async fn a_killed_server_is_noticed_with_a_reason() {
    let Some(server) = Server::start("") else { return };
    let connected = server.connect().await;
    let mut exec = connected.exec("echo up; exec cat").await.expect("started");
    first_line(&mut exec).await;
    server.kill_sessions();
    let reason = tokio::time::timeout(PATIENCE, connected.closed()).await.expect("noticed");
    assert!(reason.contains("closed the connection") || reason.contains("reset"), "{reason}");
    assert!(connected.is_closed());
    while next(&mut exec).await.is_some() {}
    assert_eq!(connected.exec("echo").await.expect_err("closed"), TransportError::Closed);
}

#[tokio::test]
async fn output_comes_in_order_and_before_the_end() {
    let Some(server) = Server::start("") else { return };
    let connected = server.connect().await;
    let mut exec = connected.exec("printf 'a\\n'; printf 'b\\n'; exit 3").await.expect("started");
    let mut text = Vec::new();
    let mut exit = None;
    while let Some(piece) = next(&mut exec).await {
        match piece {
            Output::Stdout(bytes) => text.extend(bytes),
            Output::Exit(status) => exit = Some(status),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((text, exit), (b"a\nb\n".to_vec(), Some(3)));
}
