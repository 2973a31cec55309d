//! How a switch without a shell is read: one command at a time, each on its own channel, whatever it does with them.

use tokio::sync::oneshot;

use super::*;
use crate::collect::kind::System;
use crate::collect::link::{BatchError, Link};
use crate::collect::rounds::{RoundEnd, Sequence, round};
use crate::collect::setback;
use crate::collect::shell::ShellLink;
use crate::collect::switch::SwitchLink;
use crate::collect::testing::{Act, Behaviour, Fake, Far};
use crate::collect::transport::TransportError;
use crate::fabric::{Outcome, Report, Text};
use crate::probe::switch::SwitchSystem;

macro_rules! shows {
    ($name:literal, $what:literal) => {
        Probe {
            name: $name,
            title: "a table",
            privilege_adds: "",
            pace: Pace::Fast,
            rhythm: Rhythm::PACE,
            sources: &[Source {
                name: $name,
                read: Read::Command { argv: &[Word::Plain("show"), Word::Plain($what)], keep: None },
            }],
            parse,
        }
    };
}

const SHOWS: &[Probe] = &[shows!("t.version", "version"), shows!("t.lldp", "lldp neighbors"), shows!("t.vlan", "vlan")];

struct Whole {
    end: RoundEnd,
    reports: Vec<Report>,
    commands: Vec<String>,
}

impl Whole {
    fn outcomes(&self) -> Vec<Outcome> {
        self.reports.iter().map(|report| report.observations[0].outcome.clone()).collect()
    }
}

/// One read of all three over a switch that does this with the commands.
async fn read(acts: impl IntoIterator<Item = Act>) -> Whole {
    let behaviour = Behaviour::of(acts);
    read_from(Fake::new(&behaviour), &behaviour).await
}

async fn read_from(fake: Fake, behaviour: &Arc<Behaviour>) -> Whole {
    let link = SwitchLink::new(fake, SwitchSystem::NxOs);
    let (sender, mut given) = mpsc::channel(16);
    let target = TargetId::new("leaf");
    let end = round(&link, &target, &Sequence::default(), SHOWS.iter().collect(), &sender).await;
    drop(sender);
    let mut reports = Vec::new();
    while let Some(report) = given.recv().await {
        reports.push(report);
    }
    Whole { end, reports, commands: behaviour.commands() }
}

fn say(text: &'static str) -> Act {
    Act::Say(text, "", 0)
}

#[tokio::test]
async fn every_source_is_one_command_and_nothing_else_is_sent() {
    let read = read([say("Nexus\n"), say("\n"), say("VLAN\n")]).await;
    assert_eq!(read.end.result, Ok(()));
    assert_eq!(read.commands, ["show version", "show lldp neighbors", "show vlan"]);
    let texts: Vec<&str> = read.reports.iter().map(|report| &*report.observations[0].stdout).collect();
    assert_eq!(texts, ["Nexus\n", "\n", "VLAN\n"]);
    assert_eq!(&*read.reports[1].observations[0].command, "show lldp neighbors");
    assert!(read.reports.iter().all(|report| report.observations[0].duration.is_some()));
}

#[tokio::test]
async fn what_is_refused_in_words_has_failed_and_the_others_are_read() {
    let read = read([say("Nexus\n"), say("   ^\n% Invalid command at '^' marker.\n"), say("VLAN\n")]).await;
    assert_eq!(read.end.result, Ok(()));
    assert_eq!(read.outcomes(), [Outcome::Exit(0), Outcome::Exit(1), Outcome::Exit(0)]);
    assert!(read.reports[1].observations[0].stdout.contains("% Invalid"), "what it said is kept");
}

#[tokio::test(start_paused = true)]
async fn one_command_that_hangs_costs_only_itself() {
    let read = read([say("Nexus\n"), Act::Hang, say("VLAN\n")]).await;
    assert_eq!(read.end.result, Ok(()));
    assert_eq!(read.outcomes(), [Outcome::Exit(0), Outcome::TimedOut, Outcome::Exit(0)]);
}

#[tokio::test(start_paused = true)]
async fn a_switch_that_hangs_is_not_asked_everything() {
    let mute = read([Act::Hang, Act::Hang]).await;
    let Err(error @ BatchError::Silent { .. }) = &mute.end.result else { panic!("{:?}", mute.end.result) };
    let problem = setback::failure(&TargetId::new("leaf"), error).problem.to_string();
    assert!(problem.contains("did not answer `show lldp neighbors` within 15 s"), "{problem}");
    assert!(setback::fatal(&TargetId::new("leaf"), error, false, 1).is_some());
    assert_eq!((mute.commands.len(), mute.end.unread), (2, vec!["t.vlan"]));
    let later = read([say("Nexus\n"), Act::Hang, Act::Hang]).await;
    assert!(matches!(later.end.result, Err(BatchError::TimedOut { begun: true, .. })), "{:?}", later.end.result);
    assert_eq!(later.outcomes(), [Outcome::Exit(0), Outcome::TimedOut, Outcome::TimedOut]);
}

#[tokio::test]
async fn a_switch_that_refuses_commands_is_told() {
    let refused = read([Act::Refuse(TransportError::ExecRefused)]).await;
    let Err(error) = &refused.end.result else { panic!("refused") };
    let failure = setback::fatal(&TargetId::new("leaf"), error, false, 1).expect("for good");
    assert!(failure.problem.what.contains("runs no commands"), "{}", failure.problem);
    assert!(refused.reports.is_empty() && refused.commands.len() == 1);
}

#[tokio::test(start_paused = true)]
async fn a_channel_that_is_not_free_yet_is_waited_for() {
    let refusal = || Act::Refuse(TransportError::ChannelRefused(Text::new("no session left")));
    let again = read([say("Nexus\n"), refusal(), refusal(), say("x\n"), say("VLAN\n")]).await;
    assert_eq!(again.end.result, Ok(()));
    let never = read([refusal(), refusal(), refusal(), refusal()]).await;
    assert!(matches!(never.end.result, Err(BatchError::ChannelRefused(_))), "{:?}", never.end.result);
}

/// Plays the second command; the others say something.
async fn played<F: Future<Output = ()> + Send + 'static>(play: impl FnOnce(Far) -> F + Send + 'static) -> Whole {
    let (sender, receiver) = oneshot::channel::<(String, Far)>();
    let player = tokio::spawn(async move {
        let (_, far) = receiver.await.expect("a command");
        play(far).await;
    });
    let read = read([say("Nexus\n"), Act::Play(sender), say("VLAN\n")]).await;
    player.await.expect("the play goes to its end");
    read
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_its_end_is_cut() {
    let read = played(|far| async move { far.say("Chassis id: 0c42.a17c").await }).await;
    assert_eq!(read.end.result, Ok(()));
    assert_eq!(read.outcomes(), [Outcome::Exit(0), Outcome::Cut, Outcome::Exit(0)]);
    assert_eq!(&*read.reports[1].observations[0].stdout, "Chassis id: 0c42.a17c");
}

#[tokio::test]
async fn garbage_is_kept_as_it_is_and_a_large_answer_is_cut() {
    let read = played(|far| async move {
        far.say(b"\x1b[2J\xff\x00".to_vec()).await;
        for _ in 0..48 {
            far.say(vec![b'x'; 32 * 1024]).await;
        }
        far.exit(0).await;
    })
    .await;
    assert_eq!(read.end.result, Ok(()));
    let observation = &read.reports[1].observations[0];
    assert_eq!(observation.cut, 512 * 1024 + 6);
    assert!(observation.stdout.starts_with("\u{1b}[2J\u{fffd}\0"), "made harmless where it is shown");
}

#[tokio::test]
async fn a_switch_that_floods_is_left() {
    let read = played(|far| async move {
        while far.output.send(crate::collect::transport::Output::Stdout(vec![b'x'; 256 * 1024])).await.is_ok() {}
    })
    .await;
    assert_eq!(read.end.result, Err(BatchError::Flooded));
    assert_eq!(read.reports.len(), 1);
}

#[tokio::test]
async fn the_end_of_the_connection_is_no_answer() {
    let (sender, receiver) = oneshot::channel::<(String, Far)>();
    let behaviour = Behaviour::of([say("Nexus\n"), Act::Play(sender)]);
    let (ends, watched) = tokio::sync::watch::channel(None);
    let fake = Fake { ends: watched, ..Fake::new(&behaviour) };
    let player = tokio::spawn(async move {
        let (_, far) = receiver.await.expect("a command");
        far.say("half").await;
        ends.send(Some(Text::new("reset"))).expect("somebody listens");
        ends
    });
    let read = read_from(fake, &behaviour).await;
    let _ends = player.await.expect("the play goes to its end");
    assert_eq!(read.end.result, Err(BatchError::Closed));
    assert_eq!(read.reports.len(), 1);
}

#[tokio::test]
async fn a_switch_with_a_shell_is_read_by_a_script_and_known_as_a_switch() {
    let link = ShellLink::switch(Fake::new(&Behaviour::of([])), SwitchSystem::Sonic);
    assert_eq!(link.system(), System::Switch(SwitchSystem::Sonic));
    assert_eq!(link.described().as_str(), "a fake, SONiC switch");
    let link = SwitchLink::new(Fake::new(&Behaviour::of([])), SwitchSystem::Eos);
    assert_eq!(link.system(), System::Switch(SwitchSystem::Eos));
    assert_eq!(link.described().as_str(), "a fake, Arista EOS switch");
    assert!(link.stream("n").await.is_err(), "no script ever goes there");
}
