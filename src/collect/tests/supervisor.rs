use tokio::sync::watch;
use tokio::time::Instant;

use super::*;
use crate::app::{Problem, Severity};
use crate::collect::link::Failure;
use crate::collect::testing::{Act, Behaviour, Fake};
use crate::fabric::Text;

fn report(message: &Message) -> Option<String> {
    if let Message::Report { report, .. } = message { Some(report.probe.to_string()) } else { None }
}

fn sample(message: &Message) -> Option<u64> {
    if let Message::Sample(sample) = message { Some(sample.uptime_centiseconds) } else { None }
}

#[tokio::test]
async fn a_target_that_behaves_is_connected_read_and_sampled() {
    let mut rig = Rig::with_period(FakeConnector::new(&Behaviour::of([])), Duration::from_millis(20));
    assert!(matches!(rig.next().await, Message::Connection { connection: Connection::Connecting { attempt: 1 }, .. }));
    assert!(matches!(rig.connection().await, Connection::Connected { .. }));
    let mut missing = vec!["test.hello", "test.missing"];
    let (mut samples, mut last) = (0, 0);
    while !missing.is_empty() || samples < 5 {
        let message = rig.next().await;
        missing.retain(|name| Some(*name) != report(&message).as_deref());
        if let Some(uptime) = sample(&message) {
            assert!(uptime >= last);
            last = uptime;
            samples += 1;
        }
        assert!(!matches!(message, Message::Notice { .. } | Message::Gap { .. }), "{message:?}");
    }
    rig.stop().await;
}

#[tokio::test]
async fn what_is_asked_for_is_read_at_once() {
    let mut rig = Rig::start(FakeConnector::new(&Behaviour::of([])));
    rig.until(|message| report(message).filter(|name| name == "test.missing")).await;
    let asked = Instant::now();
    rig.commands.send(Command::ReadNow).await.expect("the poller lives");
    // Its pace is five minutes.
    rig.until(|message| report(message).filter(|name| name == "test.missing")).await;
    assert!(asked.elapsed() < Duration::from_mins(1));
    rig.stop().await;
}

#[tokio::test]
async fn a_lost_connection_leaves_a_gap_and_comes_back_by_itself() {
    let behaviour = Behaviour::of([]);
    let (ends, ended) = watch::channel(None);
    let connector = FakeConnector::new(&behaviour).first(Ok(Fake { behaviour: Arc::clone(&behaviour), ends: ended }));
    let mut rig = Rig::with_period(connector, Duration::from_millis(20));
    rig.until(sample).await;
    ends.send(Some(Text::new("keepalive: no answer for 30 s"))).expect("the poller listens");
    let mut gap = false;
    let connection = rig
        .until(|message| match message {
            Message::Gap { .. } => {
                gap = true;
                None
            }
            Message::Connection { connection, .. } if !connection.is_up() => Some(connection.clone()),
            _ => None,
        })
        .await;
    let Connection::BackingOff { attempt: 1, problem, .. } = connection else { panic!("{connection:?}") };
    assert_eq!(problem.cause, "keepalive: no answer for 30 s");
    let mut up = false;
    rig.until(|message| {
        gap |= matches!(message, Message::Gap { .. });
        up |= matches!(message, Message::Connection { connection: Connection::Connected { .. }, .. });
        sample(message).filter(|_| gap && up)
    })
    .await;
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn failures_wait_longer_each_time_and_a_request_ends_the_wait() {
    let behaviour = Behaviour::of([]);
    let mut connector = FakeConnector::new(&behaviour);
    for _ in 0..5 {
        connector = connector.first(Err(Failure::passing(Problem::new("cannot be reached", "", ""))));
    }
    let mut rig = Rig::start(connector);
    let mut waits = Vec::new();
    let mut tried = Instant::now();
    for attempt in 1..=4u32 {
        let connecting = rig.next().await;
        assert!(
            matches!(connecting, Message::Connection { connection: Connection::Connecting { attempt: a }, .. } if a == attempt)
        );
        if attempt > 1 {
            waits.push(tried.elapsed());
        }
        tried = Instant::now();
        let Connection::BackingOff { attempt: failed, .. } = rig.connection().await else { panic!("not backing off") };
        assert_eq!(failed, attempt);
    }
    for (wait, base) in waits.iter().zip([1.0, 2.0, 4.0]) {
        assert!((0.75 * base..=1.26 * base).contains(&wait.as_secs_f64()), "{waits:?}");
    }
    let asked = Instant::now();
    rig.commands.send(Command::Reconnect).await.expect("the poller lives");
    let connecting = rig.next().await;
    assert!(
        matches!(connecting, Message::Connection { connection: Connection::Connecting { attempt: 1 }, .. }),
        "{connecting:?}"
    );
    assert_eq!(asked.elapsed(), Duration::ZERO);
    rig.cancelled.cancel();
}

#[tokio::test(start_paused = true)]
async fn a_refused_key_is_told_once_and_nothing_retries_until_asked() {
    let connector = FakeConnector::new(&Behaviour::of([]))
        .first(Err(Failure::lasting(Problem::new("refused every key", "", ""))))
        .first(Err(Failure::lasting(Problem::new("refused every key", "", ""))));
    let mut rig = Rig::start(connector);
    assert!(matches!(rig.connection().await, Connection::Failed { .. }));
    let quiet = tokio::time::timeout(Duration::from_hours(24), rig.next()).await;
    assert!(quiet.is_err(), "{quiet:?}");
    rig.commands.send(Command::ReadNow).await.expect("the poller lives");
    let quiet = tokio::time::timeout(Duration::from_hours(24), rig.next()).await;
    assert!(quiet.is_err(), "reading is no reason to try again: {quiet:?}");
    rig.commands.send(Command::Reconnect).await.expect("the poller lives");
    assert!(matches!(rig.connection().await, Connection::Failed { .. }));
    rig.cancelled.cancel();
}

#[tokio::test]
async fn a_request_makes_a_live_connection_anew() {
    let mut rig = Rig::with_period(FakeConnector::new(&Behaviour::of([])), Duration::from_millis(20));
    rig.until(sample).await;
    rig.commands.send(Command::Reconnect).await.expect("the poller lives");
    assert!(matches!(rig.connection().await, Connection::Connected { .. }), "no back-off: it was asked for");
    rig.until(sample).await;
    rig.stop().await;
}

#[tokio::test]
async fn a_request_during_a_login_that_hangs_begins_it_anew() {
    let hanging = Behaviour::of([Act::Hang]);
    let mut connector = FakeConnector::new(&Behaviour::of([Act::Say("Linux\n", "", 0)])).first(Ok(Fake::new(&hanging)));
    connector.ask_system = true;
    let mut rig = Rig::start(connector);
    while hanging.commands().is_empty() {
        tokio::task::yield_now().await;
    }
    rig.commands.send(Command::Reconnect).await.expect("the poller lives");
    assert!(rig.connection().await.is_up(), "the second try");
    rig.stop().await;
}

#[tokio::test]
async fn a_target_without_a_shell_is_a_problem_and_no_loop() {
    let answer = || Act::Say("", "sh: /bin/sh: not found\n", 127);
    let mut rig = Rig::start(FakeConnector::new(&Behaviour::of([answer(), answer()])));
    assert!(rig.connection().await.is_up());
    let Connection::Failed { problem } = rig.connection().await else { panic!("not failed") };
    assert!(problem.what.contains("/bin/sh: not found"), "{problem}");
    assert!(problem.cause.contains("restricted shell"), "{problem}");
    rig.stop().await;
}

#[tokio::test]
async fn an_unknown_system_gets_no_script() {
    let behaviour = Behaviour::of([Act::Say("Darwin\n", "", 0)]);
    let mut connector = FakeConnector::new(&behaviour);
    connector.ask_system = true;
    let mut rig = Rig::start(connector);
    let Connection::Failed { problem } = rig.connection().await else { panic!("not failed") };
    assert_eq!(problem.what, "is a macOS system");
    assert_eq!(behaviour.commands(), ["uname -s"]);
    rig.stop().await;
}

#[tokio::test]
async fn a_target_that_allows_one_channel_is_read_by_turns() {
    let behaviour = Arc::new(Behaviour { most_channels: 1, ..Behaviour::default() });
    let mut rig = Rig::with_period(FakeConnector::new(&behaviour), Duration::from_millis(20));
    let (mut notices, mut reports, mut samples) = (Vec::new(), 0, 0);
    // Twice all of both, so that each got its turn back from the other.
    while reports < 4 || samples < 10 {
        match rig.next().await {
            Message::Notice { severity, text, .. } => notices.push((severity, text)),
            Message::Report { .. } => {
                reports += 1;
                samples = 0;
                if reports == 2 {
                    rig.commands.send(Command::ReadNow).await.expect("the poller lives");
                }
            }
            Message::Sample(_) => samples += 1,
            Message::Connection { connection, .. } => {
                assert!(
                    matches!(connection, Connection::Connected { .. } | Connection::Connecting { .. }),
                    "{connection:?}"
                );
            }
            _ => {}
        }
    }
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert_eq!(notices[0].0, Severity::Warning);
    assert!(notices[0].1.contains("follow one another"), "{notices:?}");
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_connected_target_that_never_answers_backs_off_with_a_reason() {
    let mut rig = Rig::start(FakeConnector::new(&Behaviour::of([Act::Hang, Act::Hang, Act::Hang, Act::Hang])));
    assert!(rig.connection().await.is_up());
    let Connection::BackingOff { problem, .. } = rig.connection().await else { panic!("not backing off") };
    assert!(problem.what.contains("did not begin to work within 20 s"), "{problem}");
    rig.cancelled.cancel();
}
