//! The stream of an ESXi host: it runs while it is wanted, and says why it does not.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use crate::app::{Message, Severity};
use crate::collect::esxtop;
use crate::collect::outlet::Outlet;
use crate::collect::rounds::Sequence;
use crate::collect::shell::ShellLink;
use crate::collect::testing::{Act, Behaviour, Fake, Far, spawn};
use crate::collect::transport::{Input, Output, TransportError};
use crate::collect::turns::Turns;
use crate::fabric::{Attribute, Entity, Measure, Measured, TargetId, Text};
use crate::probe::esxi::esxtop::{Event, Reader, block, command};

const RUN: &str = include_str!("../../../tests/fixtures/esxtop/two-vms.csv");

/// A host that behaves so and is watched.
struct Watched {
    wanted: watch::Sender<esxtop::Wanted>,
    messages: mpsc::Receiver<Message>,
    task: tokio::task::JoinHandle<()>,
}

impl Watched {
    fn new(behaviour: &Arc<Behaviour>) -> Self {
        let (wanted, mut receiver) = watch::channel(None);
        let (sender, messages) = mpsc::channel(64);
        let link = ShellLink::esxi(Fake::new(behaviour));
        let task = tokio::spawn(async move {
            let (outlet, sequence, turns) =
                (Outlet::new(TargetId::new("esx01"), sender), Sequence::default(), Turns::default());
            esxtop::run(&link, &mut receiver, &outlet, &sequence, &turns).await;
        });
        Self { wanted, messages, task }
    }

    fn want(&self, seconds: u64) {
        self.wanted.send_replace(Some(Duration::from_secs(seconds)));
    }

    async fn row(&mut self) -> Measured {
        match self.messages.recv().await.expect("it lives") {
            Message::Measured(row) => *row,
            other => panic!("{other:?}"),
        }
    }

    async fn told(&mut self) -> String {
        match self.messages.recv().await.expect("it lives") {
            Message::Notice { severity: Severity::Warning, text, .. } => text.to_string(),
            other => panic!("{other:?}"),
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The block that was sent, and the nonce in it.
async fn asked(far: &mut Far) -> (String, String) {
    let Some(Input::Bytes(bytes)) = far.input.recv().await else { panic!("a block") };
    let block = String::from_utf8(bytes).expect("our own block");
    let nonce =
        block.lines().find_map(|line| line.strip_prefix("n='")?.strip_suffix('\'')).expect("a nonce").to_owned();
    (block, nonce)
}

fn played(count: usize) -> (Arc<Behaviour>, Vec<oneshot::Receiver<(String, Far)>>) {
    let (acts, players) = (0..count)
        .map(|_| oneshot::channel())
        .map(|(act, player)| (Act::Play(act), player))
        .unzip::<_, _, Vec<_>, Vec<_>>();
    (Behaviour::of(acts), players)
}

#[tokio::test]
async fn rows_come_while_they_are_wanted_and_end_with_the_input() {
    let (behaviour, mut players) = played(2);
    let mut watched = Watched::new(&behaviour);
    watched.want(5);
    let (command, mut far) = players.remove(0).await.expect("it is started");
    assert_eq!(command, "/bin/sh -s");
    let (block, nonce) = asked(&mut far).await;
    assert!(block.contains("esxtop -b -d 5 "), "{block}");
    far.say(RUN).await;
    let row = watched.row().await;
    assert_eq!((row.stream.as_str(), row.period), ("esxi.esxtop", Duration::from_secs(3)));
    let vm = Entity::Group(Text::new("vm001"));
    assert!(row.gauges.contains(&Measure::Ready.of(&vm, Some(84.5))));
    assert!(row.facts.iter().any(|fact| fact.entity == vm && fact.attribute == Attribute::Balloon));
    let observation = row.observation.expect("evidence");
    assert!(observation.command.starts_with("esxtop -b -d 5") && observation.stdout.contains("Memory State"));
    assert_eq!(watched.row().await.period, Duration::from_secs(4));
    // It has printed all its rows: the next run follows.
    far.say(format!("{nonce} E 0\n")).await;
    let (_, mut far) = players.remove(0).await.expect("it is started again");
    asked(&mut far).await;
    far.say(RUN).await;
    watched.row().await;
    watched.row().await;
    // Nobody wants it any more: its input ends, and its values have a gap.
    watched.wanted.send_replace(None);
    assert!(matches!(far.input.recv().await, Some(Input::End) | None));
    let end = watched.row().await;
    assert!(end.gauges.is_empty() && end.facts.is_empty());
}

#[tokio::test]
async fn another_period_is_another_run() {
    let (behaviour, mut players) = played(2);
    let watched = Watched::new(&behaviour);
    watched.want(5);
    let (_, mut first) = players.remove(0).await.expect("it is started");
    asked(&mut first).await;
    watched.want(2);
    let (_, mut second) = players.remove(0).await.expect("it is started again");
    assert!(asked(&mut second).await.0.contains("esxtop -b -d 2 "));
    assert!(matches!(first.input.recv().await, Some(Input::End) | None), "the first one is over");
}

#[tokio::test]
async fn a_host_without_esxtop_says_so_once() {
    // The real shell of this machine, which has none.
    let behaviour = Behaviour::of([Act::Run]);
    let mut watched = Watched::new(&behaviour);
    watched.want(5);
    let text = watched.told().await;
    assert!(text.contains("there is no esxtop") && text.contains("not found"), "{text}");
}

#[tokio::test]
async fn rows_that_fit_the_titles_no_more_are_begun_anew_in_silence() {
    let (behaviour, mut players) = played(2);
    let mut watched = Watched::new(&behaviour);
    watched.want(5);
    let (_, mut far) = players.remove(0).await.expect("it is started");
    asked(&mut far).await;
    far.say(RUN).await;
    watched.row().await;
    watched.row().await;
    // A VM was powered on: each row has cells that no title is for.
    let longer = RUN.lines().last().expect("a row").to_owned() + ",\"1\",\"2\",\"3\"\n";
    far.say(longer.clone()).await;
    far.say(longer).await;
    let (_, mut far) = players.remove(0).await.expect("it is started again");
    asked(&mut far).await;
    far.say(RUN).await;
    assert_eq!(watched.row().await.period, Duration::from_secs(3));
}

#[tokio::test]
async fn a_complaint_that_comes_after_the_end_is_told() {
    let (behaviour, mut players) = played(1);
    let mut watched = Watched::new(&behaviour);
    watched.want(5);
    let (_, mut far) = players.remove(0).await.expect("it is started");
    let (_, nonce) = asked(&mut far).await;
    far.say(format!("{nonce} E 127\n")).await;
    assert!(matches!(far.input.recv().await, Some(Input::End) | None), "nothing more is wanted of it");
    far.complain("/bin/sh: esxtop: not found\n").await;
    drop(far);
    let text = watched.told().await;
    assert!(text.contains("there is no esxtop (/bin/sh: esxtop: not found)"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn what_breaks_is_told_once_with_a_next_step_and_tried_again() {
    let (act, player) = oneshot::channel();
    let behaviour = Behaviour::of([
        Act::Refuse(TransportError::ExecRefused),
        Act::Refuse(TransportError::ExecRefused),
        Act::Hang,
        Act::Play(act),
    ]);
    let mut watched = Watched::new(&behaviour);
    watched.want(5);
    assert!(watched.told().await.contains("refused to run a command"));
    // The second refusal is no news; the third one prints nothing.
    let text = watched.told().await;
    assert!(text.contains("no row in time") && text.contains("`esxtop -b -n 1`"), "{text}");
    let (_, mut far) = player.await.expect("it is tried again");
    asked(&mut far).await;
    far.say(RUN.replacen("02:13:09\",\"0.12\",", "02:13:09\",", 1)).await;
    assert!(watched.told().await.contains("a row of esxtop is left out"));
    assert_eq!(watched.row().await.period, Duration::from_secs(7));
}

/// The next line of a shell.
async fn line(exec: &mut crate::collect::transport::Exec) -> String {
    let mut text = String::new();
    while !text.ends_with('\n') {
        match exec.next().await.expect("it lives") {
            Output::Stdout(bytes) => text.push_str(&String::from_utf8_lossy(&bytes)),
            other => panic!("{other:?}"),
        }
    }
    text.trim().to_owned()
}

#[tokio::test]
async fn what_runs_on_the_host_ends_with_its_input() {
    let period = Duration::from_secs(5);
    for shell in [&["/bin/sh", "-s"][..], &["busybox", "sh", "-s"]] {
        if shell[0] == "busybox" && std::process::Command::new("busybox").arg("true").output().is_err() {
            continue;
        }
        let text = block("c0ffee", period).replace(&command(period), "sh -c 'echo $$; exec sleep 600'");
        let mut exec = spawn(shell);
        exec.send(text).await.expect("it reads");
        let process = line(&mut exec).await;
        let entry = format!("/proc/{process}");
        assert!(std::path::Path::new(&entry).exists(), "{process} runs");
        exec.end_input().await.expect("it reads");
        // The output is over once nobody holds it any more: also what ran beside the shell has ended then.
        let ended = async {
            let mut status = None;
            while let Some(output) = exec.next().await {
                if let Output::Exit(code) = output {
                    status = Some(code);
                }
            }
            status
        };
        let status =
            tokio::time::timeout(Duration::from_mins(1), ended).await.expect("it ends long before its ten minutes");
        assert_eq!(status, Some(0), "{shell:?}");
    }
}

#[tokio::test]
async fn what_ends_by_itself_says_so() {
    let period = Duration::from_secs(5);
    let text = block("c0ffee", period).replace(&command(period), "sh -c 'echo odd; exit 3'");
    let mut exec = spawn(&["/bin/sh", "-s"]);
    exec.send(text).await.expect("it reads");
    let mut reader = Reader::new("c0ffee");
    let mut events = Vec::new();
    while events.is_empty() {
        if let Output::Stdout(bytes) = exec.next().await.expect("it lives") {
            events.extend(reader.push(&bytes));
        }
    }
    assert_eq!((events, reader.said()), (vec![Event::Ended(3)], "odd"));
}
