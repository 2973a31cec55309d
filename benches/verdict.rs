//! How soon a pair of guests on two ESXi hosts is judged, where each question to the agent of a host takes what it takes on a
//! real one: by `check`, once with everything and once with what can be read in twelve seconds, and by the console that was just
//! opened. Less than 15 s is the goal.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rdmascope::app::{Message, Model, Options as View, Target, TargetKind, path, update};
use rdmascope::diagnose::cause::diagnose;
use rdmascope::diagnose::check::SiteSays;
use rdmascope::diagnose::path::Transport;
use rdmascope::engine::examined::Examined;
use rdmascope::engine::once::{Once, collect_once};
use rdmascope::engine::plan::{Options, TargetPlan};
use rdmascope::engine::run::Engine;
use rdmascope::fabric::{TargetId, Timestamp};
use rdmascope::lab::{self, Delays, Lab, Timing, scenario};

/// What a question takes, and how soon the verdict is to stand.
const QUESTION: Duration = Duration::from_millis(700);
const GOAL: Duration = Duration::from_secs(15);

/// How long after the first read counters are read again, as `check` has it.
const AGAIN: Duration = Duration::from_secs(3);

/// The time that `check` is given; reading ends then, and judging comes after it.
const WITHIN: Duration = Duration::from_secs(12);

/// One of the two hosts has no adapter that is tagged for PVRDMA: the pair uses TCP.
const SCENARIO: &str = "vmknic-untagged";
const PAIR: [&str; 2] = ["pv-a", "pv-b"];
const HOSTS: [&str; 2] = ["esx01", "esx02"];

fn main() {
    let whole = check(None);
    let check = check(Some(WITHIN));
    let console = console();
    if !cfg!(debug_assertions) {
        assert!(whole < GOAL, "check takes {whole:?}");
        assert!(check < GOAL, "check takes {check:?}");
        assert!(console < GOAL, "the console takes {console:?}");
    }
}

fn lab() -> Lab {
    let delays = Delays::none().with_agent(QUESTION);
    let scenario = Some(scenario::by_name(SCENARIO).expect("it is there"));
    Lab::start(&lab::Options { seed: 7, delays, scenario, timing: Timing::AtOnce }).expect("a lab")
}

fn plans(lab: &Lab) -> Vec<TargetPlan> {
    PAIR.iter().chain(&HOSTS).map(|name| lab.plan(name).expect("a target of the scenario")).collect()
}

/// Everything is read once, counters twice, as far as time allows, and judged.
#[expect(clippy::print_stdout, reason = "a benchmark reports to whoever ran it")]
fn check(within: Option<Duration>) -> Duration {
    let lab = lab();
    let options = Options { within, ..Options::of_check(AGAIN) };
    let began = Instant::now();
    let Once::Collected(results) = collect_once(plans(&lab), &options).expect("threads") else {
        panic!("nobody interrupts it");
    };
    let read = began.elapsed();
    let examined = Examined::of(&[None; 4], &results, SiteSays::default(), Timestamp::now());
    let diagnosis = diagnose(examined.examination.examine(), &examined.examination.fabric);
    let took = began.elapsed();
    let questions: Vec<u64> = HOSTS.iter().filter_map(|name| lab.served(name)).map(|served| served.by_agent).collect();
    println!(
        "check of {} and {} with their hosts, within {within:?}: {took:.1?}, of which {:.1?} are for judging; questions to \
         each host: {questions:?}",
        PAIR[0],
        PAIR[1],
        took.saturating_sub(read),
    );
    assert!(diagnosis.causes.iter().any(|cause| cause.found.check.id == "host.pvrdma-vmknic"), "the fault is found");
    took
}

/// The console is opened on the pair and shows its way.
#[expect(clippy::print_stdout, reason = "a benchmark reports to whoever ran it")]
fn console() -> Duration {
    let lab = lab();
    let targets = PAIR.iter().map(|name| (TargetId::new(name), Target::new(TargetKind::Linux)));
    let hosts = HOSTS.iter().map(|name| (TargetId::new(name), Target::new(TargetKind::Esxi)));
    let mut model = Model::new(targets.chain(hosts).collect(), View::default(), Timestamp::now());
    update(&mut model, Message::Action("panel-path".into()));
    let began = Instant::now();
    let (engine, mut messages) = Engine::start(plans(&lab), &Options::default()).expect("threads");
    let mut read = BTreeSet::new();
    let took = loop {
        let message = messages.blocking_recv().expect("the engine lives");
        if let Message::Report { report, .. } = &message
            && report.target.as_str() == HOSTS[0]
            && read.insert(report.probe.clone())
        {
            println!("  {:5.1} s {}", began.elapsed().as_secs_f64(), report.probe);
        }
        update(&mut model, message);
        let verdict = path::shown_path(&model).map(|path| path.verdict.transport);
        if verdict == Some(Transport::Tcp) || began.elapsed() > GOAL * 4 {
            break began.elapsed();
        }
    };
    let questions: Vec<u64> = HOSTS.iter().filter_map(|name| lab.served(name)).map(|served| served.by_agent).collect();
    println!(
        "console, until the way from {} to {} says TCP: {took:.1?} (goal {GOAL:?}); {} probes of {} were read, questions to \
         each host: {questions:?}",
        PAIR[0],
        PAIR[1],
        read.len(),
        HOSTS[0],
    );
    engine.shutdown();
    took
}
