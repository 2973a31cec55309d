//! What limits a GPU, over the lab: for every fault that holds one back, the console that reads the guest and its host comes
//! to the right verdict from their streams alone, its check stands first among the causes, and no other failure is claimed. A
//! GPU at full load in good order is healthy. What a scenario expects is known to this test alone.
//!
//! `RDMASCOPE_SEEDS=50` draws fifty labs for each scenario; without it one is drawn.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rdmascope::app::{Model, Options as View, Target, TargetKind, update};
use rdmascope::config::Kind;
use rdmascope::diagnose::finding::Status;
use rdmascope::diagnose::limit::{Factor, Standing};
use rdmascope::engine::plan::Options;
use rdmascope::engine::run::Engine;
use rdmascope::fabric::{TargetId, Timestamp};
use rdmascope::lab::scenario::{Scenario, by_name, scenarios};
use rdmascope::lab::{self, Delays, Lab, Timing};

/// The guest with the GPUs.
const GUEST: &str = "gpu-a";
/// A verdict that has not come by then does not come.
const DEADLINE: Duration = Duration::from_mins(4);
/// Labs that are looked at side by side: most of the time of each is waiting for rows.
const AT_ONCE: usize = 4;
/// A verdict has to stand for so long.
const STANDS: Duration = Duration::from_secs(4);

fn seeds() -> u64 {
    std::env::var("RDMASCOPE_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Reads a lab as the console does until `is_there` holds for some seconds; the model, and whether it did.
fn watched(scenario: &'static Scenario, seed: u64, is_there: impl Fn(&Model) -> bool) -> (Model, bool) {
    let options = lab::Options { seed, delays: Delays::none(), scenario: Some(scenario), timing: Timing::AtOnce };
    let lab = Lab::start(&options).expect("a lab");
    let kind = |kind: Kind| match kind {
        Kind::Linux | Kind::Local | Kind::Saved => TargetKind::Linux,
        Kind::Esxi => TargetKind::Esxi,
        Kind::Switch(_) => TargetKind::Switch,
    };
    let targets =
        lab.targets().iter().map(|target| (TargetId::new(&target.name), Target::new(kind(target.kind)))).collect();
    let mut model = Model::new(targets, View::default(), Timestamp::now());
    let (engine, mut messages) = Engine::start(lab.plans(), &Options::default()).expect("threads");
    let began = Instant::now();
    let mut since = None;
    let stood = loop {
        let message = messages.blocking_recv().expect("the engine lives");
        for effect in update(&mut model, message) {
            engine.run(&effect);
        }
        since = if is_there(&model) { since.or_else(|| Some(Instant::now())) } else { None };
        if since.is_some_and(|since| since.elapsed() >= STANDS) {
            break true;
        }
        if began.elapsed() > DEADLINE {
            break false;
        }
    };
    engine.shutdown();
    (model, stood)
}

/// How the GPUs of the guest stand, in words.
fn standing(model: &Model) -> String {
    let all: Vec<String> = model
        .limits
        .all()
        .map(|verdict| format!("{} {}: {}", verdict.gpu, verdict.standing.name(), verdict.says))
        .collect();
    if all.is_empty() { "no GPU has a verdict".to_owned() } else { all.join("; ") }
}

fn causes(model: &Model) -> String {
    let diagnosed = model.diagnosed();
    let all = diagnosed.diagnosis.causes.iter();
    all.map(|cause| format!("{} {}", cause.found.judged.status.name(), cause.found.check.id))
        .collect::<Vec<_>>()
        .join("; ")
}

/// The scenarios whose fault only streams show.
fn limiting() -> Vec<&'static Scenario> {
    let of_factor = |cause: &String| Factor::ALL.iter().any(|factor| factor.check() == cause);
    scenarios().iter().filter(|scenario| scenario.expected_causes.iter().any(of_factor)).collect()
}

/// Whether the verdict on a GPU of the guest is one of these checks.
fn is_limited_by(model: &Model, expected: &BTreeSet<&str>) -> bool {
    model.limits.all().any(|verdict| {
        verdict.gpu.target.as_str() == GUEST && verdict.factor().is_some_and(|factor| expected.contains(factor.check()))
    })
}

#[test]
fn every_fault_that_holds_a_gpu_back_is_its_limit_and_the_first_cause() {
    let limiting = limiting();
    assert!(limiting.len() >= 7, "faults that only streams show are played: {}", limiting.len());
    let look = |scenario: &'static Scenario, seed: u64| {
        let expected: BTreeSet<&str> = scenario.expected_causes.iter().map(String::as_str).collect();
        let first = |model: &Model| {
            let diagnosed = model.diagnosed();
            diagnosed.diagnosis.causes.first().is_some_and(|cause| expected.contains(cause.found.check.id))
        };
        let (model, stood) = watched(scenario, seed, |model| is_limited_by(model, &expected) && first(model));
        let mut wrong = Vec::new();
        if !stood {
            wrong.push(format!("expected {expected:?}; {}; causes: {}", standing(&model), causes(&model)));
        }
        for cause in &model.diagnosed().diagnosis.causes {
            if cause.found.judged.status == Status::Fail && !expected.contains(cause.found.check.id) {
                wrong.push(format!(
                    "another failure is claimed: {} ({})",
                    cause.found.check.id, cause.found.judged.title
                ));
            }
        }
        wrong.into_iter().map(|what| format!("{}, seed {seed}: {what}", scenario.name)).collect::<Vec<_>>()
    };
    let mut wrong = Vec::new();
    let cases: Vec<(&'static Scenario, u64)> =
        (1..=seeds()).flat_map(|seed| limiting.iter().map(move |&scenario| (scenario, seed))).collect();
    for cases in cases.chunks(AT_ONCE) {
        std::thread::scope(|scope| {
            let looks: Vec<_> =
                cases.iter().map(|&(scenario, seed)| scope.spawn(move || look(scenario, seed))).collect();
            wrong.extend(looks.into_iter().flat_map(|look| look.join().expect("it ends")));
        });
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_gpu_at_full_load_in_good_order_is_healthy() {
    let scenario = by_name("gpu-busy").expect("it is there");
    for seed in 1..=seeds() {
        let is_healthy = |model: &Model| {
            let mut of_guest = model.limits.all().filter(|verdict| verdict.gpu.target.as_str() == GUEST);
            of_guest.any(|verdict| verdict.standing == Standing::Healthy)
        };
        let (model, stood) = watched(scenario, seed, is_healthy);
        assert!(stood, "seed {seed}: {}", standing(&model));
        assert!(model.limits.all().all(|verdict| verdict.factor().is_none()), "seed {seed}: {}", standing(&model));
        let diagnosed = model.diagnosed();
        let alarm = diagnosed.diagnosis.causes.iter().any(|cause| cause.found.judged.status != Status::Info);
        assert!(!alarm, "seed {seed}: {}", causes(&model));
    }
}
