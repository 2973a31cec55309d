//! What it costs to look at everything with all checks: 64 targets, nine times two hosts with their five guests and one more
//! guest, read from the texts that the tests of the checks use. Less than 50 ms is the goal. After the benchmarks the dearest
//! checks are printed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rdmascope::app::{Connection, Message, Model, Options, Target, TargetKind, update};
use rdmascope::diagnose::cause::diagnose;
use rdmascope::diagnose::check::{self, Examination, Given, MachineKind, Reached, Scene, SiteSays};
use rdmascope::diagnose::qualify;
use rdmascope::fabric::{Observation, Outcome, Report, SourceId, TargetId, Timestamp};
use rdmascope::probe::{Probe, esxi, linux};

/// After so many seconds the checks of the console run, whatever was read.
const REST: i64 = 60;

/// How many targets there are.
const TARGETS: usize = 64;

macro_rules! site {
    ($name:literal) => {
        ($name, include_str!(concat!("../src/diagnose/check/testing/site/", $name, ".txt")))
    };
}

/// Names and outputs; hosts are those that are called `esx`.
const SITE: [(&str, &str); 7] =
    [site!("esx01"), site!("esx02"), site!("pv-a"), site!("pv-b"), site!("hca-a"), site!("hca-b"), site!("vf-a")];

fn main() {
    divan::main();
    dearest();
}

/// What each check takes, the dearest first.
#[expect(clippy::print_stdout, reason = "a benchmark reports to whoever ran it")]
fn dearest() {
    const ROUNDS: u32 = 20;
    const SHOWN: usize = 15;
    let examination = examination();
    let scene = examination.scene();
    let judged = qualify::judgements(&scene);
    let scene = Scene { judged: Some(&judged), ..scene };
    let mut times: Vec<(Duration, &str, usize)> = check::all()
        .map(|check| {
            let before = Instant::now();
            let found = (0..ROUNDS).map(|_| (check.judge)(&scene).len()).max();
            (before.elapsed() / ROUNDS, check.id, found.unwrap_or_default())
        })
        .collect();
    times.sort_unstable();
    let all: Duration = times.iter().map(|(time, ..)| *time).sum();
    println!("{} checks of {TARGETS} targets take {all:?}; the dearest:", times.len());
    for (time, id, found) in times.iter().rev().take(SHOWN) {
        println!("{time:>12.1?}  {id} ({found} findings)");
    }
}

/// The outputs of a target: source, exit status, standard output, standard error.
fn outputs(text: &str) -> Vec<(&str, i32, &str, &str)> {
    let blocks = text.strip_prefix("=== ").expect("a first source").split("\n=== ");
    blocks
        .map(|block| {
            let (head, body) = block.split_once('\n').unwrap_or((block, ""));
            let (source, status) = head.split_once(' ').expect("a name and a status");
            let (stdout, stderr) = match body.strip_prefix("--- stderr\n") {
                Some(stderr) => ("", stderr),
                None => body.split_once("\n--- stderr\n").unwrap_or((body, "")),
            };
            (source, status.parse().expect("a number"), stdout, stderr)
        })
        .collect()
}

/// The same text of another copy of the site: its hardware addresses and identifiers are its own.
fn of_copy(text: &str, copy: usize) -> String {
    let mut out = text.replace("00:50:56:", &format!("00:50:{:02x}:", 0x56 + copy));
    // An identifier, 027d333e-809d-441b-9d96-cb8825da26d3, is known by its hyphens.
    let hyphens: Vec<usize> = out.match_indices('-').map(|(at, _)| at).collect();
    for at in hyphens {
        let begin = at.checked_sub(8).filter(|begin| {
            out.get(*begin..at + 28).is_some_and(|id| {
                [8, 13, 18, 23].iter().all(|place| id.as_bytes()[*place] == b'-')
                    && id.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
            })
        });
        if let Some(begin) = begin {
            out.replace_range(begin..begin + 2, &format!("{copy:02x}"));
        }
    }
    out
}

fn reports(target: &TargetId, probes: &[Probe], text: &str) -> Vec<Report> {
    let outputs = outputs(text);
    let mut sequence = 0;
    let used = probes
        .iter()
        .filter(|probe| probe.sources.iter().any(|source| outputs.iter().any(|(known, ..)| *known == source.name)));
    used.map(|probe| {
        let observations: Vec<Arc<Observation>> = probe
            .sources
            .iter()
            .map(|source| {
                let given = outputs.iter().find(|(known, ..)| *known == source.name);
                let (_, status, stdout, stderr) = given.copied().unwrap_or((source.name, 127, "", "not found"));
                let mut observation =
                    Observation::of_text(source.name, stdout).with_stderr(stderr).with_outcome(Outcome::Exit(status));
                observation.target = target.clone();
                sequence += 1;
                observation.sequence = sequence;
                Arc::new(observation)
            })
            .collect();
        let facts = (probe.parse)(&observations);
        Report { target: target.clone(), probe: SourceId::new(probe.name), observations, facts }
    })
    .collect()
}

/// What all targets say.
fn said() -> Vec<(TargetId, MachineKind, Vec<Report>)> {
    (0..TARGETS)
        .map(|number| {
            let (copy, (name, text)) = (number / SITE.len(), SITE[number % SITE.len()]);
            let target = TargetId::new(&format!("{name}-{copy}"));
            let (kind, probes) = if name.starts_with("esx") {
                (MachineKind::Host, esxi::PROBES)
            } else {
                (MachineKind::Guest, linux::PROBES)
            };
            let reports = reports(&target, probes, &of_copy(text, copy));
            (target, kind, reports)
        })
        .collect()
}

fn examination() -> Examination {
    let all = said();
    let reached = Reached::Yes;
    let given: Vec<Given<'_>> = all
        .iter()
        .map(|(target, kind, reports)| Given {
            target,
            kind: *kind,
            reached: &reached,
            reports,
            again: &[],
            clock: Some((3, 1)),
        })
        .collect();
    let examination = Examination::of(&given, SiteSays::default(), Timestamp::UNIX_EPOCH);
    assert_eq!(examination.machines.len(), TARGETS);
    // Two of the guests of each copy are in VMs of its hosts.
    assert_eq!(examination.joined.pairs.len(), TARGETS / SITE.len() * 2, "guests are in their VMs");
    examination
}

/// All checks.
#[divan::bench]
fn sixty_four_targets(bencher: divan::Bencher<'_, '_>) {
    let examination = examination();
    bencher.bench(|| examination.examine().len());
}

/// All checks, and the causes that follow.
#[divan::bench]
fn sixty_four_targets_with_causes(bencher: divan::Bencher<'_, '_>) {
    let examination = examination();
    bencher.bench(|| diagnose(examination.examine(), &examination.fabric).causes.len());
}

/// A second of the console's clock with which the checks run: for so long no key is answered.
#[divan::bench]
fn sixty_four_targets_in_the_console(bencher: divan::Bencher<'_, '_>) {
    let (said, at) = (said(), |second| Timestamp::from_second(second).expect("a small number"));
    let targets = said.iter().map(|(target, kind, _)| {
        let kind = if *kind == MachineKind::Host { TargetKind::Esxi } else { TargetKind::Linux };
        let connection = Connection::Connected { since: at(0), via: "test".into() };
        (target.clone(), Target { connection, ..Target::new(kind) })
    });
    let mut model = Model::new(targets.collect(), Options::default(), at(0));
    for report in said.into_iter().flat_map(|(_, _, reports)| reports) {
        update(&mut model, Message::Report { at: at(1), report });
    }
    let mut second = 0;
    bencher.bench_local(|| {
        second += REST;
        update(&mut model, Message::Clock(at(second))).len()
    });
    assert!(!model.diagnosed().found.is_empty(), "the checks ran");
}
