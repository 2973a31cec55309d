//! The hosts of the lab read as targets are: over SSH, by the program's own probes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use tokio::sync::mpsc;

use crate::app::{Connection, Effect, Message, Problem};
use crate::collect::lanes;
use crate::collect::standing::Sparing;
use crate::collect::window::{MOST_WORK, WINDOW};
use crate::engine::once::{Collected, Once, collect_once};
use crate::engine::plan::{self, TargetPlan, Way};
use crate::engine::run::{Engine, EngineHandle};
use crate::fabric::{Attribute, Entity, Outcome, TargetId, Text};
use crate::lab::{Delays, Lab, Options, Timing, scenario};
use crate::probe::Turn;

fn lab(delays: Delays, name: &str) -> Lab {
    let scenario = Some(scenario::by_name(name).expect("it is there"));
    Lab::start(&Options { seed: 7, delays, scenario, timing: Timing::AtOnce }).expect("a lab")
}

fn read(lab: &Lab, names: &[&str]) -> Vec<Collected> {
    let plans = names.iter().map(|name| lab.plan(name).expect("a host")).collect();
    let Once::Collected(collected) = collect_once(plans, &plan::Options::default()).expect("threads") else {
        panic!("nobody interrupts it");
    };
    collected
}

/// Commands that gave no answer, with what they said.
fn unanswered(collected: &Collected) -> Vec<String> {
    let observations = collected.reports.iter().flat_map(|report| &report.observations);
    observations
        .filter(|observation| observation.outcome != Outcome::Exit(0))
        .map(|observation| {
            format!("{}: {:?} {}{}", observation.command, observation.outcome, observation.stdout, observation.stderr)
        })
        // A file that a host need not have.
        .filter(|said| !said.contains("passthru.map"))
        .collect()
}

#[test]
fn both_hosts_answer_everything_that_is_asked() {
    let lab = lab(Delays::none(), "with-hosts");
    let names: Vec<&str> = lab.targets().iter().map(|target| target.name.as_str()).collect();
    assert_eq!(names, ["esx01", "esx02", "pv-a", "pv-b", "hca-a", "hca-b", "vf-a"]);
    for collected in read(&lab, &["esx01", "esx02"]) {
        let name = collected.target.to_string();
        assert!(collected.reached.is_ok() && collected.incomplete.is_none(), "{collected:?}");
        assert_eq!(unanswered(&collected), Vec::<String>::new());
        let facts: usize = collected.reports.iter().map(|report| report.facts.len()).sum();
        assert!(facts > 200, "{facts}");
        let served = lab.served(&name).expect("a host");
        assert_eq!((served.failures, served.refused_locked), (0, 0));
        assert!(served.logins > 0 && served.by_agent > 20, "{served:?}");
    }
}

#[test]
fn what_the_agent_costs_is_counted() {
    let lab = lab(Delays::none().with_agent(Duration::from_millis(2)), "with-hosts");
    read(&lab, &["esx01"]);
    let served = lab.served("esx01").expect("a host");
    assert!(served.busy >= Duration::from_millis(2) * u32::try_from(served.by_agent).expect("few"), "{served:?}");
}

/// What a question to the agent of a real host takes, and how soon a pair of guests on two hosts is to be judged.
const QUESTION: Duration = Duration::from_millis(700);
const VERDICT: Duration = Duration::from_secs(15);

#[test]
fn what_decides_of_a_pair_and_its_hosts_is_read_in_time_at_what_questions_cost() {
    let lab = lab(Delays::none(), "with-hosts");
    let names = ["esx01", "esx02", "pv-a", "pv-b"];
    let plans = names.iter().map(|name| lab.plan(name).expect("a target")).collect();
    // It has its turn before all others.
    let mut options = plan::Options::of_check(Duration::ZERO);
    options.esxi = options.esxi.iter().filter(|probe| probe.rhythm.turn == Turn::Deciding).copied().collect();
    let Once::Collected(collected) = collect_once(plans, &options).expect("threads") else {
        panic!("nobody interrupts it");
    };
    assert!(collected.iter().all(|one| one.incomplete.is_none()), "{collected:?}");
    for name in ["esx01", "esx02"] {
        let served = lab.served(name).expect("a host");
        let questions = u32::try_from(served.by_agent).expect("few");
        // One after the other is the question that times the tool; the rest is spread over the shells, not quite evenly.
        let shells = u32::try_from(lanes::MOST).expect("few");
        let takes = QUESTION * (1 + (questions - 1).div_ceil(shells) + 2);
        assert!(takes < VERDICT, "{name}: {questions} questions take {takes:?}");
    }
}

#[test]
fn a_locked_account_and_a_stopped_service_admit_nobody() {
    let lab = lab(Delays::none(), "with-hosts");
    assert!(!lab.suffer("account-locked", "pv-a", true), "a guest locks nobody");
    assert!(lab.suffer("account-locked", "esx01", true) && lab.suffer("ssh-stopped", "esx02", true));
    let collected = read(&lab, &["esx01", "esx02"]);
    assert!(collected.iter().all(|one| one.reached.is_err()), "{collected:?}");
    let served = lab.served("esx01").expect("a host");
    assert_eq!((served.logins, served.refused_locked), (0, 1));
    assert!(lab.suffer("account-locked", "esx01", false) && lab.suffer("ssh-stopped", "esx02", false));
    assert!(read(&lab, &["esx01", "esx02"]).iter().all(|one| one.reached.is_ok()));
}

#[test]
fn a_dead_agent_is_read_around() {
    let lab = lab(Delays::none(), "with-hosts");
    assert!(lab.suffer("hostd-dead", "esx01", true));
    let collected = read(&lab, &["esx01"]).remove(0);
    assert!(collected.reached.is_ok(), "{collected:?}");
    let said = unanswered(&collected);
    // The collector's own first try of `esxcli` is told too.
    let expected = ["vim-cmd", "NAME", "esxcli system version get"];
    assert!(said.iter().all(|said| expected.iter().any(|text| said.contains(text))), "{said:?}");
}

/// No test waits longer than this for anything.
const PATIENCE: Duration = Duration::from_secs(30);

/// The engine on one host.
fn engine(plan: TargetPlan) -> (EngineHandle, mpsc::Receiver<Message>) {
    Engine::start(vec![plan], &plan::Options::default()).expect("threads")
}

/// The first message that `wanted` makes something of.
#[track_caller]
fn until<T>(messages: &mut mpsc::Receiver<Message>, mut wanted: impl FnMut(Message) -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < deadline, "waited in vain");
        if let Some(found) = wanted(messages.blocking_recv().expect("the engine lives")) {
            return found;
        }
    }
}

fn is_report(message: &Message, probe: &str) -> bool {
    matches!(message, Message::Report { report, .. } if report.probe.as_str() == probe)
}

/// Takes in what comes for so long.
fn listen(messages: &mut mpsc::Receiver<Message>, length: Duration) -> Vec<Message> {
    let until = Instant::now() + length;
    let mut heard = Vec::new();
    while Instant::now() < until {
        match messages.try_recv() {
            Ok(message) => heard.push(message),
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
    heard
}

/// The plan of a host with another program that prints the password.
fn with_password(lab: &Lab, name: &str, password: &str) -> TargetPlan {
    let TargetPlan { id, way, by } = lab.plan(name).expect("a host");
    let Way::Ssh { resolve, known } = way else { panic!("over SSH") };
    let command = vec!["echo".to_owned(), password.to_owned()];
    let resolve = Arc::new(move || {
        let (resolving, command) = (resolve(), command.clone());
        async move {
            let mut route = resolving.await?;
            route.access.password_command = Some(command);
            Ok(route)
        }
        .boxed()
    });
    TargetPlan { id, way: Way::Ssh { resolve, known }, by }
}

/// A problem that nothing is tried after until the user asks.
fn failed(message: Message) -> Option<Problem> {
    match message {
        Message::Connection { connection: Connection::Failed { problem }, .. } => Some(problem),
        _ => None,
    }
}

#[test]
fn a_wrong_password_fails_once_each_time_the_user_asks() {
    let lab = lab(Delays::none(), "with-hosts");
    let (engine, mut messages) = engine(with_password(&lab, "esx01", "wrong"));
    let problem = until(&mut messages, failed);
    assert!(problem.what.contains("login refused: the password that echo printed was not accepted"), "{problem}");
    assert!(problem.next_step.contains("nothing is tried again by itself"), "{problem}");
    listen(&mut messages, Duration::from_secs(2));
    let served = lab.served("esx01").expect("a host");
    assert_eq!((served.failures, served.logins, served.refused_locked), (1, 0, 0), "{served:?}");
    engine.run(&Effect::Reconnect(TargetId::new("esx01")));
    until(&mut messages, failed);
    listen(&mut messages, Duration::from_secs(1));
    assert_eq!(lab.served("esx01").expect("a host").failures, 2);
    engine.shutdown();
    assert!(read(&lab, &["esx01"])[0].reached.is_ok(), "the account is not locked");
}

#[test]
fn a_host_is_watched_as_long_as_that_is_wanted() {
    let lab = lab(Delays::none(), "with-hosts");
    let (engine, mut messages) = engine(lab.plan("esx01").expect("a host"));
    let watch = |period| engine.run(&Effect::Watch { target: TargetId::new("esx01"), period });
    let row = |message| if let Message::Measured(row) = message { Some(*row) } else { None };
    assert!(watch(Some(Duration::from_secs(5))));
    for _ in 0..3 {
        let row = until(&mut messages, row);
        assert_eq!((row.stream.as_str(), row.period), ("esxi.esxtop", Duration::from_secs(5)));
        let vm = Entity::Group(Text::new("pv-a"));
        assert!(row.gauges.iter().any(|gauge| gauge.entity == vm && gauge.value.is_some()), "{:?}", row.gauges);
        assert!(row.facts.iter().any(|fact| fact.attribute == Attribute::MemoryState));
    }
    watch(None);
    until(&mut messages, |message| row(message).filter(|row| row.gauges.is_empty()));
    assert!(lab.suffer("neighbour-balloons", "esx01", true));
    watch(Some(Duration::from_secs(2)));
    let soft = until(&mut messages, |message| {
        let state = row(message)?.facts.into_iter().find(|fact| fact.attribute == Attribute::MemoryState)?;
        state.reading.state.known().map(ToString::to_string)
    });
    assert_eq!(soft, "soft");
    engine.shutdown();
}

#[test]
fn a_service_that_stops_leaves_the_session_at_work() {
    let lab = lab(Delays::none(), "with-hosts");
    let (engine, mut messages) = engine(lab.plan("esx01").expect("a host"));
    until(&mut messages, |message| is_report(&message, "esxi.version").then_some(()));
    assert!(lab.suffer("ssh-stopped", "esx01", true));
    listen(&mut messages, Duration::from_secs(1));
    engine.run(&Effect::ReadNow(TargetId::new("esx01")));
    until(&mut messages, |message| is_report(&message, "esxi.version").then_some(()));
    let problem = read(&lab, &["esx01"]).remove(0).reached.expect_err("nobody new comes in");
    assert!(problem.what.contains("connection refused"), "{problem}");
    assert!(problem.cause.contains("no SSH server listens"), "{problem}");
    assert!(problem.next_step.contains("on an ESXi host the SSH service is off by default"), "{problem}");
    engine.shutdown();
}

#[test]
fn a_locked_account_is_told_and_left_alone() {
    let lab = lab(Delays::none(), "with-hosts");
    let (engine, mut messages) = engine(lab.plan("esx01").expect("a host"));
    until(&mut messages, |message| is_report(&message, "esxi.version").then_some(()));
    assert!(lab.suffer("account-locked", "esx01", true));
    let problem = until(&mut messages, failed);
    assert!(problem.what.contains("login refused: the password that"), "{problem}");
    assert!(!problem.what.contains("wrong"), "the host does not say which: {problem}");
    assert!(problem.cause.contains("a login that is locked"), "{problem}");
    assert!(problem.cause.contains("an ESXi host answers a locked login exactly as a wrong password"), "{problem}");
    assert!(problem.cause.contains("five failures in a row lock one there for 15 min"), "{problem}");
    assert!(problem.next_step.contains("wait until the lock is over"), "{problem}");
    assert!(problem.next_step.contains("several failures lock a login"), "{problem}");
    listen(&mut messages, Duration::from_secs(2));
    let served = lab.served("esx01").expect("a host");
    assert_eq!((served.failures, served.refused_locked), (0, 1), "{served:?}");
    engine.shutdown();
}

/// What a call of the agent costs in the lab: a hundredth of the real cost. Time goes by a hundred times faster there.
const CALL: Duration = Duration::from_millis(7);
const HASTE: u32 = 100;

/// Reads a host for so long, at the pace of the hurried time; gives when how much work of its agent was done.
fn work_of(sparing: Sparing, length: Duration) -> Vec<(Duration, Duration)> {
    let lab = lab(Delays::none().with_agent(CALL), "with-hosts");
    let options = plan::Options { sparing, ..plan::Options::default() };
    let (engine, mut messages) = Engine::start(vec![lab.plan("esx01").expect("a host")], &options).expect("threads");
    let began = Instant::now();
    let mut seen = Vec::new();
    while began.elapsed() < length {
        listen(&mut messages, Duration::from_millis(50));
        seen.push((began.elapsed(), lab.served("esx01").expect("a host").busy));
    }
    engine.shutdown();
    seen
}

/// The most work of any stretch that is as long as ten minutes of the hurried time.
fn most_of_ten_minutes(seen: &[(Duration, Duration)]) -> Duration {
    let length = WINDOW / HASTE;
    let ends = seen.iter().map(|&(end, work)| {
        // What was looked at after the stretch began: some of its work may be left out, none too much counted.
        let before = seen.iter().find(|(at, _)| *at + length >= end).map_or(Duration::ZERO, |&(_, work)| work);
        work.saturating_sub(if end <= length { Duration::ZERO } else { before })
    });
    ends.max().expect("it was looked at")
}

#[test]
fn reading_takes_a_minute_of_ten_of_the_agent() {
    let seen = work_of(Sparing { haste: HASTE, ..Sparing::default() }, Duration::from_secs(20));
    let most = most_of_ten_minutes(&seen);
    // Two looks and one call are what is not seen to the point.
    assert!(most <= MOST_WORK / HASTE + CALL * 4, "{most:?}");
    let (half, all) = (seen[seen.len() / 2].1, seen.last().expect("some").1);
    assert!(half > CALL * 20 && all > half, "it is read again and again: {half:?} {all:?}");
    // The same without a governor is more: the test can fail.
    let seen = work_of(Sparing { haste: HASTE, governed: false }, Duration::from_secs(8));
    let most = most_of_ten_minutes(&seen);
    assert!(most > MOST_WORK / HASTE + CALL * 4, "{most:?}");
}
