use tokio::sync::oneshot;

use super::*;
use crate::collect::kind;
use crate::collect::link::{BatchError, Link};
use crate::collect::privilege::Privilege;
use crate::collect::rounds::{RoundEnd, Sequence, round};
use crate::collect::shell::ShellLink;
use crate::collect::testing::{Act, Behaviour, Fake, Far};
use crate::collect::transport::TransportError;
use crate::fabric::{Outcome, Report, Text};

/// One round over a target that does `act`.
async fn one(act: Act) -> (RoundEnd, Vec<Report>) {
    let link = ShellLink::new(Fake::new(&Behaviour::of([act])), Privilege::default());
    let (sender, mut reports) = mpsc::channel(16);
    let target = TargetId::new("t");
    let end = round(&link, &target, &Sequence::default(), PROBES.iter().collect(), &sender).await;
    drop(sender);
    let mut given = Vec::new();
    while let Some(report) = reports.recv().await {
        given.push(report);
    }
    link.close().await;
    (end, given)
}

/// The nonce of a script.
fn marker(script: &str) -> String {
    let at = script.find("@rdmascope:").expect("a marker");
    script[at..].chars().take_while(|c| !c.is_whitespace() && *c != '\'').collect()
}

/// Plays one round: `play` gets the far end and the script's marker.
async fn played<F: Future<Output = ()> + Send + 'static>(
    play: impl FnOnce(Far, String) -> F + Send + 'static,
) -> (RoundEnd, Vec<Report>) {
    let (sender, receiver) = oneshot::channel::<(String, Far)>();
    let player = tokio::spawn(async move {
        let (command, mut far) = receiver.await.expect("a command");
        assert_eq!(command, "/bin/sh -s");
        let marker = marker(&far.script().await);
        play(far, marker).await;
    });
    let result = one(Act::Play(sender)).await;
    player.await.expect("the play goes to its end");
    result
}

#[tokio::test]
async fn a_shell_gives_a_report_for_each_probe() {
    let (end, reports) = one(Act::Run).await;
    assert_eq!(end.result, Ok(()));
    assert_eq!(end.unread, Vec::<&str>::new());
    assert_eq!(reports.len(), 2);
    let hello = &reports[0];
    assert_eq!(hello.probe.as_str(), "test.hello");
    assert_eq!(&*hello.observations[0].stdout, "hello\n");
    assert_eq!(&*hello.observations[0].command, "echo hello");
    assert!(hello.observations[1].stdout.starts_with("/proc/sys/kernel/osrelease:"), "{hello:?}");
    assert_eq!(&*hello.observations[1].command, "grep -H '' /proc/sys/kernel/osrelease");
    assert_eq!(hello.facts.len(), 2);
    assert_eq!(reports[1].observations[0].outcome, Outcome::Exit(127));
    let numbers: Vec<u64> =
        reports.iter().flat_map(|report| &report.observations).map(|observation| observation.sequence).collect();
    assert_eq!(numbers, [1, 2, 3]);
}

#[tokio::test]
async fn a_banner_before_the_first_marker_does_no_harm() {
    let (end, reports) = played(|far, marker| async move {
        far.say("Welcome!\n\x1b[31mAuthorised use only").await;
        for index in 0..3 {
            let text = format!("\n{marker} {index} 1.00 begin\nx\n\n{marker} {index} 1.00 0\n");
            far.say(text.clone()).await;
            far.complain(&text).await;
        }
        far.exit(0).await;
    })
    .await;
    assert_eq!(end.result, Ok(()));
    assert_eq!(&*reports[0].observations[1].stdout, "x\n");
}

#[tokio::test]
async fn what_was_complete_before_the_connection_was_cut_is_kept_and_the_rest_is_not_told() {
    let (end, reports) = played(|far, marker| async move {
        let first = format!("\n{marker} 0 1.00 begin\nx\n\n{marker} 0 1.00 0\n");
        far.say(first.clone()).await;
        far.complain(&first).await;
        far.say(format!("\n{marker} 1 1.00 begin\nhalf")).await;
    })
    .await;
    assert_eq!(end.result, Err(BatchError::Closed));
    assert!(reports.is_empty(), "{reports:?}");
    assert_eq!(end.unread, ["test.hello", "test.missing"]);
}

#[tokio::test]
async fn a_shell_that_dies_leaves_what_it_gave() {
    let (end, reports) = played(|far, marker| async move {
        for index in 0..2 {
            let text = format!("\n{marker} {index} 1.00 begin\nx\n\n{marker} {index} 1.00 0\n");
            far.say(text.clone()).await;
            far.complain(&text).await;
        }
        far.exit(137).await;
    })
    .await;
    assert_eq!(end.result, Err(BatchError::Broken));
    assert_eq!(reports.len(), 1);
    assert_eq!(end.unread, ["test.missing"]);
}

#[tokio::test(start_paused = true)]
async fn what_hangs_times_out_and_what_comes_after_it_waits_for_the_next_batch() {
    let (end, reports) = played(|mut far, marker| async move {
        let text = format!("\n{marker} 0 1.00 begin\nx\n\n{marker} 0 1.00 0\n\n{marker} 1 1.00 begin\n");
        far.say(text.clone()).await;
        far.complain(&text).await;
        // Until our side gives up.
        far.output.closed().await;
        assert!(far.input.recv().await.is_none());
    })
    .await;
    assert!(matches!(end.result, Err(BatchError::TimedOut { begun: true, .. })), "{:?}", end.result);
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0].observations[0].outcome, Outcome::Exit(0));
    assert_eq!(reports[0].observations[1].outcome, Outcome::TimedOut);
    assert_eq!(end.read.iter().map(|done| (done.probe, done.late)).collect::<Vec<_>>(), [("test.hello", true)]);
    assert_eq!(end.unread, ["test.missing"]);
}

#[tokio::test(start_paused = true)]
async fn a_silent_target_times_out() {
    let (end, reports) = one(Act::Hang).await;
    assert!(matches!(end.result, Err(BatchError::TimedOut { begun: false, .. })), "{:?}", end.result);
    assert!(reports.is_empty());
}

#[tokio::test]
async fn a_flood_of_garbage_is_ended() {
    let (end, reports) = played(|far, marker| async move {
        far.say(format!("\n{marker} 0 1.00 begin\n")).await;
        let garbage: Vec<u8> = (0..=255u8).cycle().take(1 << 18).collect();
        while far.output.send(crate::collect::transport::Output::Stdout(garbage.clone())).await.is_ok() {}
    })
    .await;
    assert_eq!(end.result, Err(BatchError::Flooded));
    assert!(reports.is_empty(), "the second source of the probe was never read");
}

#[tokio::test]
async fn a_target_without_a_shell_says_so() {
    let target = TargetId::new("switch1");
    for (stdout, stderr, status, expected) in [
        ("", "sh: /bin/sh: not found\n", 127, "sh: /bin/sh: not found"),
        ("This account is currently not available.\n", "", 1, "This account is currently not available."),
        ("\x1b[2J% Invalid input at '^' marker.\r\n", "", 0, "% Invalid input at '^' marker."),
        ("", "", 126, ""),
    ] {
        let (end, reports) = one(Act::Say(stdout, stderr, status)).await;
        let Err(BatchError::NoShell { status: given, said }) = end.result else { panic!("{:?}", end.result) };
        assert_eq!((given, &*said), (Some(status), expected));
        assert!(reports.is_empty());
        let problem = kind::no_shell(&target, "/bin/sh -s", given, &said).problem;
        assert!(problem.what.starts_with("did not run `/bin/sh -s`: it said "), "{problem}");
        assert!(problem.what.contains(expected) && problem.what.contains(&status.to_string()), "{problem}");
    }
}

#[tokio::test]
async fn a_refused_channel_is_told_from_a_refused_command() {
    let refused = TransportError::ChannelRefused(Text::new("open failed"));
    assert_eq!(one(Act::Refuse(refused)).await.0.result, Err(BatchError::ChannelRefused(Text::new("open failed"))));
    assert_eq!(one(Act::Refuse(TransportError::ExecRefused)).await.0.result, Err(BatchError::ExecRefused));
}
