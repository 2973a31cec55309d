use super::*;
use crate::collect::kind::{System, recognise};
use crate::collect::link::Failure;
use crate::collect::testing::{Act, Behaviour, Fake};
use crate::collect::transport::TransportError;
use crate::collect::transport::ssh::Retry;
use crate::fabric::Text;

async fn asked(act: Act) -> Result<System, Failure> {
    let behaviour = Behaviour::of([act]);
    let result = recognise(&Fake::new(&behaviour), &TargetId::new("host1")).await;
    assert_eq!(behaviour.commands(), ["uname -s"], "nothing else is sent to an unknown system");
    result
}

#[tokio::test]
async fn systems_are_recognised_by_their_own_words() {
    assert_eq!(asked(Act::Run).await, Ok(System::Linux));
    assert_eq!(asked(Act::Say("motd\nLinux\r\nbye\n", "noise\n", 0)).await, Ok(System::Linux));
    assert_eq!(asked(Act::Say("VMkernel\n", "", 0)).await, Ok(System::Esxi));
}

#[tokio::test]
async fn other_systems_are_named_and_get_no_script() {
    for (answer, expected) in [
        ("Darwin\n", "is a macOS system"),
        ("FreeBSD\n", "is a Unix system that is not Linux"),
        ("MINGW64_NT-10.0\n", "is a Windows system"),
    ] {
        let failure = asked(Act::Say(answer, "", 0)).await.expect_err("not Linux");
        assert_eq!(failure.retry, Retry::OnlyWhenAsked);
        assert_eq!(failure.problem.what, expected);
    }
}

#[tokio::test]
async fn what_is_no_system_at_all_is_quoted() {
    for (stdout, stderr, status) in [
        ("% Invalid input detected at '^' marker.\n", "", 1),
        ("", "rbash: uname: command not found\n", 127),
        ("Not Linux but Linux-like\n", "", 0),
        ("", "", 0),
    ] {
        let failure = asked(Act::Say(stdout, stderr, status)).await.expect_err("no system");
        assert_eq!(failure.retry, Retry::OnlyWhenAsked);
        let said = Text::new(&format!("{stdout}{stderr}"));
        assert!(failure.problem.what.contains(said.as_str()), "{}", failure.problem);
        assert!(!failure.problem.next_step.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn silence_is_tried_again() {
    let failure = asked(Act::Hang).await.expect_err("no answer");
    assert_eq!(failure.retry, Retry::Automatic);
}

#[tokio::test]
async fn a_login_that_may_run_nothing_waits_for_the_user() {
    for error in [TransportError::ExecRefused, TransportError::ChannelRefused(Text::new("prohibited"))] {
        let failure = asked(Act::Refuse(error)).await.expect_err("refused");
        assert_eq!(failure.retry, Retry::OnlyWhenAsked);
    }
    let failure = asked(Act::Refuse(TransportError::Closed)).await.expect_err("closed");
    assert_eq!(failure.retry, Retry::Automatic);
}
