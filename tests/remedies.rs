//! Remedies against the lab over real SSH, as the console applies them: the state is read again, the audit log is written
//! first, the commands run, the check passes or says what waits, and the way back restores every setting. For each fault of
//! the lab whose remedy are commands for a target, and for what an administrator can break there by hand.
//!
//! `RDMASCOPE_SEEDS=10` draws ten labs for each; without it two are drawn.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rdmascope::app::change::{self, Stage};
use rdmascope::app::model::{Options, Target, TargetKind};
use rdmascope::app::{Connection, Edit, Effect, Message, Model, Severity, update};
use rdmascope::cli::document::{Collected, TargetStatus};
use rdmascope::diagnose::cause::Cause;
use rdmascope::diagnose::check::by_id;
use rdmascope::diagnose::remedy::{Cure, Step};
use rdmascope::engine::once::{Once, collect_once};
use rdmascope::engine::plan;
use rdmascope::engine::run::{Engine, EngineHandle};
use rdmascope::fabric::attribute::Class;
use rdmascope::fabric::{Attribute, Fabric, SourceId, TargetId, Text, Timestamp};
use rdmascope::lab::scenario::{self, scenarios};
use rdmascope::lab::{self, Delays, Lab, Timing};
use rdmascope::probe::{esxi, linux};
use rdmascope::record::audit::Audit;
use serde_json::Value as Json;
use tokio::sync::mpsc;

/// How long anything may take before it is a failure.
const DEADLINE: Duration = Duration::from_mins(4);

/// So many labs are drawn where nobody says more.
const FEW: u64 = 2;

/// Labs that are worked on side by side.
const AT_ONCE: usize = 3;

fn seeds() -> u64 {
    std::env::var("RDMASCOPE_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(FEW)
}

/// A console without a screen on the lab in a scenario.
struct Bench {
    lab: Lab,
    engine: EngineHandle,
    messages: mpsc::Receiver<Message>,
    model: Model,
}

impl Bench {
    fn new(scenario: &str, seed: u64, audit: Option<&Path>) -> Self {
        let scenario = scenario::by_name(scenario).expect("a scenario of the lab");
        let options = lab::Options { seed, delays: Delays::none(), scenario: Some(scenario), timing: Timing::AtOnce };
        let lab = Lab::start(&options).expect("the lab starts");
        let plans: Vec<_> = lab.targets().iter().filter_map(|target| lab.plan(&target.name)).collect();
        let targets = lab.targets().iter().map(|target| {
            let kind = match target.name.as_str() {
                name if name.starts_with("esx") => TargetKind::Esxi,
                name if name.starts_with("leaf") => TargetKind::Switch,
                _ => TargetKind::Linux,
            };
            (TargetId::new(&target.name), Target::new(kind))
        });
        let options = Options { allow_changes: true, ..Options::default() };
        let model = Model::new(targets.collect(), options, Timestamp::now());
        let audit = audit.map(|path| Audit::new(path.to_owned(), "tester".to_owned()));
        let options = plan::Options { audit, ..plan::Options::default() };
        let (engine, messages) = Engine::start(plans, &options).expect("threads");
        Self { lab, engine, messages, model }
    }

    fn take(&mut self, message: Message) {
        for effect in update(&mut self.model, message) {
            self.perform(&effect);
        }
    }

    fn perform(&mut self, effect: &Effect) {
        assert!(self.engine.run(effect), "{effect:?}");
    }

    /// Takes in what comes until something is so.
    fn until(&mut self, what: &str, mut is_so: impl FnMut(&Model) -> bool) {
        let end = Instant::now() + DEADLINE;
        while !is_so(&self.model) {
            assert!(Instant::now() < end, "never: {what}; causes: {:#?}", told(&self.model));
            let message = self.messages.blocking_recv().expect("the engine lives");
            self.take(message);
        }
    }

    fn act(&mut self, name: &str) {
        self.take(Message::Action(Text::new(name)));
    }

    /// Waits until everything of all targets was read, and the checks saw it.
    fn until_read(&mut self) {
        self.until("everything was read", |model| {
            let is_read = |(id, target): (&TargetId, &Target)| {
                let names: Vec<&str> = match target.kind {
                    TargetKind::Esxi => esxi::PROBES.iter().map(|probe| probe.name).collect(),
                    TargetKind::Switch => return rdmascope::app::condition::first_read(model, id).is_none(),
                    _ => linux::PROBES.iter().map(|probe| probe.name).collect(),
                };
                let is_connected = matches!(target.connection, Connection::Connected { .. });
                is_connected && names.iter().all(|name| target.read.contains(&SourceId::new(name)))
            };
            model.targets.iter().all(is_read) && model.is_just_checked()
        });
    }

    /// Waits until this check says something that is a cause, and gives it.
    fn until_cause(&mut self, check: &str) -> (usize, Cause) {
        self.until(check, |model| cause(model, check).is_some());
        cause(&self.model, check).expect("it is there")
    }

    fn confirm(&mut self, typed: &str) {
        self.act("apply-remedy");
        self.take(Message::Edit(Edit::Paste(typed.to_owned())));
        self.act("accept");
    }

    fn stage(&self) -> Stage {
        self.model.change.as_ref().expect("a change").stage.clone()
    }

    fn until_over(&mut self) -> (String, bool) {
        self.until("the change is over", |model| {
            matches!(model.change.as_ref().map(|change| &change.stage), Some(Stage::Over { .. }))
        });
        let Stage::Over { verdict, good } = self.stage() else { panic!("it is over") };
        (verdict, good)
    }

    /// What a machine says to somebody else.
    fn says(&self, target: &TargetId, line: &str) -> String {
        let words: Vec<&str> = line.split(' ').collect();
        let answer = self.lab.at_console(target.as_str(), &words).expect("a machine");
        assert_eq!(answer.status, 0, "{line}: {answer:?}");
        answer.stdout
    }

    /// All that is set on a target, read once more by a connection of its own: that part of the snapshot, as it is written.
    fn settings(&self, target: &TargetId) -> String {
        let plan = self.lab.plan(target.as_str()).expect("a machine");
        let Once::Collected(read) = collect_once(vec![plan], &plan::Options::default()).expect("threads") else {
            panic!("nobody interrupts it")
        };
        let mut fabric = Fabric::default();
        for report in read.iter().flat_map(|read| &read.reports) {
            fabric.apply(report);
        }
        let status = TargetStatus { name: target.clone(), kind: "any".to_owned(), reachable: true, problem: None };
        let collected = Collected { at: Timestamp::now(), fabric, observations: Vec::new(), targets: vec![status] };
        let document = serde_json::to_value(collected.document()).expect("a document");
        let facts = document["targets"][0]["facts"].as_object().expect("facts").iter();
        let mut text = String::new();
        for (thing, facts) in facts {
            for (name, fact) in facts.as_object().expect("facts of a thing") {
                if Attribute::from_name(name).is_some_and(|attribute| attribute.class() == Class::Setting) {
                    let shown = ["state", "value", "unit", "why"].map(|part| fact[part].to_string());
                    let _ = writeln!(text, "{thing} {name} {}", shown.join(" "));
                }
            }
        }
        assert!(text.lines().count() > 20, "{target}: {text}");
        text
    }
}

/// The first cause that this check says, and its place.
fn cause(model: &Model, check: &str) -> Option<(usize, Cause)> {
    let diagnosed = model.diagnosed();
    let mut causes = diagnosed.diagnosis.causes.iter().enumerate();
    causes.find(|(_, cause)| cause.found.check.id == check).map(|(place, cause)| (place, cause.clone()))
}

fn told(model: &Model) -> Vec<String> {
    let diagnosed = model.diagnosed();
    let causes = diagnosed.diagnosis.causes.iter();
    causes.map(|cause| format!("{}: {}", cause.found.check.id, cause.found.judged.title)).collect()
}

fn audited(path: &Path) -> Vec<(String, u64)> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = |line: &str| {
        let json: Json = serde_json::from_str(line).expect("JSON");
        (json["event"].as_str().expect("an event").to_owned(), json["number"].as_u64().expect("a number"))
    };
    text.lines().map(line).collect()
}

/// True for what is done by commands on a target, apart from what a person does after them.
fn is_automatic(cure: &Cure) -> bool {
    cure.on.is_some() && matches!(cure.steps.first(), Some(Step::Run(_)))
}

/// What is the matter.
#[derive(Clone, Copy)]
enum Matter {
    /// A fault of the lab, by the scenario that plans it.
    Fault(&'static str),
    /// What somebody did on a machine in good order.
    Done(&'static str, &'static str),
}

/// How it comes out.
#[derive(Clone, Copy, PartialEq)]
enum End {
    /// The check passes at once.
    Passes,
    /// It is set, and waits for a new start; the verdict says so.
    Waits,
    /// The check passes, and there is no way back.
    Final,
}

/// What is the matter, the check that finds it, which of its remedies is applied, how that comes out, and a word of the
/// verdict.
const CASES: &[(Matter, &str, usize, End, &str)] = &[
    (Matter::Fault("ruleset-closed"), "host.pvrdma-ruleset", 0, End::Passes, "host.pvrdma-ruleset passes"),
    (Matter::Fault("vmknic-untagged"), "host.pvrdma-vmknic", 0, End::Passes, "host.pvrdma-vmknic passes"),
    (Matter::Fault("hca-passthrough"), "host.passthrough-owner", 0, End::Passes, "left to do by hand: vCenter"),
    (Matter::Fault("parameter-differs"), "host.module-options", 0, End::Passes, "in force once the host started anew"),
    (Matter::Fault("reboot-pending"), "host.reboot-pending", 1, End::Passes, "host.reboot-pending passes"),
    (Matter::Fault("vm-moved"), "host.rdma-module", 0, End::Waits, "nmlx5_rdma is not loaded"),
    (Matter::Fault("hostd-dead"), "host.management-agent", 0, End::Final, "host.management-agent passes"),
    (Matter::Done("esx02", "esxcli network nic down -n vmnic2"), "host.uplink-link", 0, End::Passes, "passes"),
    (Matter::Done("esx01", "vmkload_mod -u nmlx5_rdma"), "host.rdma-module", 0, End::Passes, "passes"),
    (
        Matter::Done("esx01", "esxcli network ip interface set -i vmk1 -e false"),
        "host.pvrdma-vmknic-address",
        0,
        End::Passes,
        "passes",
    ),
    (
        Matter::Done("esx02", "esxcli system settings advanced set -o /Net/PVRDMAVmknic -s vmk0"),
        "host.pvrdma-vmknic-switch",
        0,
        End::Passes,
        "passes",
    ),
    (
        Matter::Done("esx02", "esxcli network nic pauseParams set -n vmnic2 -r true -t true"),
        "host.pause-with-pfc",
        0,
        End::Passes,
        "passes",
    ),
    (
        Matter::Done("esx02", "esxcli system module parameters set -m nmlx5_core -p max_vfs=2"),
        "host.module-options",
        0,
        End::Passes,
        "in force once the host started anew",
    ),
    (Matter::Done("pv-b", "ip link set dev ens192 mtu 1500"), "guest.mtu-pair", 0, End::Passes, "passes"),
    (Matter::Done("pv-a", "ip link set dev ens192 down"), "guest.netdev-up", 0, End::Passes, "passes"),
];

/// Faults whose remedies are for people: cables, vCenter, what is typed into a switch.
const BY_HAND: &[&str] = &[
    "link-down",
    "packet-loss",
    "two-uplinks",
    "vlan-mismatch",
    "dcb-cee",
    "firmware-differs",
    "switch-pfc-off",
    "switch-pfc-priority",
    "switch-ecn-off",
    "switch-mtu-small",
    "switch-vlan",
    "switch-errors",
    "gpu-off-the-bus",
    "gpu-double-bit",
    "gpu-mig-pending",
    "gpu-pcie-saturated",
    "gpu-narrow-link",
    "gpu-too-hot",
    "vm-ready-high",
    "neighbour-balloons",
    "own-balloon",
    "numa-remote",
];

/// Faults whose remedies the machines of the lab do not play: a module that is loaded, a file of limits, the start of a VM,
/// another package.
const NOT_PLAYED: &[&str] = &[
    "driver-unloaded",
    "no-locked-memory",
    "gpu-not-given",
    "gpu-window-missing",
    "other-open-mpi",
    "ucx-over-tcp",
    "gpu-nouveau",
];

/// Does this for each case, some side by side; gives what went wrong.
fn each<T: Sync>(cases: &[T], look: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let wrong: Mutex<Vec<String>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| look(case)));
                    if let Err(panic) = looked {
                        let text = panic.downcast_ref::<String>().cloned();
                        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                        wrong.lock().expect("no thread panics with it").push(text.unwrap_or_default());
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("all threads are done");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn every_remedy_by_commands_helps_and_its_way_back_restores_all_settings() {
    let cases: Vec<_> = CASES.iter().flat_map(|case| (1..=seeds()).map(move |seed| (case, seed))).collect();
    each(&cases, |&(&(matter, check, which, end, word), seed)| {
        applied_and_taken_back(matter, check, which, end, word, seed);
    });
}

fn applied_and_taken_back(matter: Matter, check: &str, which: usize, end: End, word: &str, seed: u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("audit.jsonl");
    let name = match matter {
        Matter::Fault(scenario) => format!("{scenario}, seed {seed}"),
        Matter::Done(target, line) => format!("{line} on {target}, seed {seed}"),
    };
    let mut bench = match matter {
        Matter::Fault(scenario) => Bench::new(scenario, seed, Some(&path)),
        Matter::Done(..) => Bench::new("with-hosts", seed, Some(&path)),
    };
    bench.until_read();
    if let Matter::Done(target, line) = matter {
        let causes: Vec<String> = told(&bench.model).into_iter().filter(|told| !is_of_load(told)).collect();
        assert!(causes.is_empty(), "{name}: {causes:#?}");
        bench.says(&TargetId::new(target), line);
        bench.perform(&Effect::ReadNow(TargetId::new(target)));
    }
    let (place, cause) = bench.until_cause(check);
    let before_it = told(&bench.model).into_iter().take(place).filter(|told| !is_of_load(told)).collect::<Vec<_>>();
    if let Matter::Fault(scenario) = matter {
        let expected = &scenario::by_name(scenario).expect("it is there").expected_causes;
        let is_expected = |told: &String| expected.iter().any(|id| told.starts_with(id.as_str()));
        assert!(before_it.iter().all(is_expected), "{name}: {before_it:#?}");
    }
    let cure = cause.found.judged.cures.get(which).cloned().unwrap_or_else(|| panic!("{name}: {cause:#?}"));
    let target = cure.on.clone().expect("it has a target");
    let before = bench.settings(&target);
    change::open(&mut bench.model, &cause).expect("it opens");
    for _ in 0..which {
        bench.act("next-remedy");
    }
    // What another name confirms is nothing.
    bench.confirm("not the target");
    assert_eq!((bench.stage(), audited(&path)), (Stage::Asking, vec![]), "{name}");
    bench.confirm(target.as_str());
    let (verdict, good) = bench.until_over();
    assert!(good && verdict.contains(word), "{name}: {verdict}");
    assert_eq!(verdict.contains("waits for the host to start anew"), end == End::Waits, "{name}: {verdict}");
    if end != End::Waits {
        let is_left = |found: &rdmascope::diagnose::cause::Found| found.check.id == check && found.is_trouble();
        assert!(!bench.model.diagnosed().found.iter().any(is_left), "{name}: {:#?}", told(&bench.model));
    }
    if end == End::Final {
        bench.act("undo-remedy");
        assert!(bench.model.change.as_ref().is_some_and(|change| !change.undo), "{name}: nothing is to be taken back");
    } else {
        if cure.rests_on.iter().any(|(_, attribute)| attribute.class() == Class::Setting) {
            assert!(!differing(&before, &bench.settings(&target)).is_empty(), "{name}: nothing is set otherwise");
        }
        bench.act("undo-remedy");
        bench.confirm(target.as_str());
        let (verdict, good) = bench.until_over();
        assert!(good && verdict.starts_with("taken back: all "), "{name}: {verdict}");
        let after = bench.settings(&target);
        assert!(after == before, "{name}: not as before: {:#?}", differing(&before, &after));
        bench.until("the matter is there again", |model| cause_or_symptom(model, check));
    }
    let changes = if end == End::Final { 1 } else { 2 };
    bench.until("the end was noted", |_| audited(&path).len() == 3 * changes);
    let noted: Vec<_> = (1..=changes as u64)
        .flat_map(|number| ["begin", "end", "verdict"].map(|event| (event.to_owned(), number)))
        .collect();
    assert_eq!(audited(&path), noted, "{name}");
    let warned = bench.model.events.iter().filter(|event| event.text.starts_with("change: "));
    assert_eq!(warned.filter(|event| event.severity == Severity::Warning).count(), changes, "{name}");
    bench.engine.shutdown();
}

/// Machines that test side by side answer late, which a clock that is compared cannot tell from a clock that is wrong.
fn is_of_load(told: &str) -> bool {
    told.starts_with("guest.clock: ")
}

/// The lines that only one of two texts has.
fn differing<'a>(before: &'a str, after: &'a str) -> Vec<&'a str> {
    let (before, after): (BTreeSet<&str>, BTreeSet<&str>) = (before.lines().collect(), after.lines().collect());
    before.symmetric_difference(&after).copied().collect()
}

fn cause_or_symptom(model: &Model, check: &str) -> bool {
    model.diagnosed().found.iter().any(|found| found.check.id == check && found.is_trouble())
}

#[test]
fn faults_without_such_a_remedy_are_for_people_and_no_fault_is_forgotten() {
    let in_table: BTreeSet<&str> = CASES
        .iter()
        .filter_map(|case| match case.0 {
            Matter::Fault(scenario) => Some(scenario),
            Matter::Done(..) => None,
        })
        .collect();
    for scenario in scenarios() {
        let is_found = |id: &String| by_id(id).is_some() && id != "tool.completeness";
        if scenario.expected_causes.iter().any(is_found) {
            let name = scenario.name.as_str();
            let lists = [in_table.contains(name), BY_HAND.contains(&name), NOT_PLAYED.contains(&name)];
            assert_eq!(lists.iter().filter(|is_in| **is_in).count(), 1, "{name} stands in one of the lists");
        }
    }
    each(BY_HAND, |&name| {
        let mut bench = Bench::new(name, 1, None);
        let expected = &scenario::by_name(name).expect("it is there").expected_causes;
        let is_told = |model: &Model| expected.iter().any(|id| cause(model, id).is_some());
        bench.until(name, is_told);
        let (_, cause) = expected.iter().find_map(|id| cause(&bench.model, id)).expect("it is told");
        let cures = &cause.found.judged.cures;
        assert!(!cures.is_empty() || !cause.found.judged.decide.is_empty(), "{name}: {cause:#?}");
        assert!(!cures.iter().any(is_automatic), "{name} has a remedy by commands and is not in the table: {cures:#?}");
        if cures.is_empty() {
            return;
        }
        change::open(&mut bench.model, &cause).expect("it opens");
        let script = bench.model.change.as_ref().and_then(change::Change::script).expect("a file");
        assert!(script.contains("risk: ") && script.contains("undo: "), "{script}");
        bench.act("apply-remedy");
        let notice = bench.model.screen.notice.as_ref().map(|(said, _)| said.clone()).unwrap_or_default();
        let typed = cures[0].steps.iter().any(|step| matches!(step, Step::Configure(_)));
        let why = if typed { "a switch is never changed from here" } else { "this is done by hand" };
        assert!(notice.starts_with(why), "{name}: {notice}");
        assert_eq!(script.starts_with("! "), typed, "{name}: {script}");
        assert!(bench.model.screen.editing.is_none(), "{name}: no name is asked for");
        bench.engine.shutdown();
    });
}

const RULESET: &str = "esxcli network firewall ruleset list -r pvrdma";

/// The host whose ruleset is closed, with the remedy open.
fn closed_ruleset(audit: Option<&Path>) -> (Bench, TargetId) {
    let mut bench = Bench::new("ruleset-closed", 3, audit);
    let (place, cause) = bench.until_cause("host.pvrdma-ruleset");
    assert_eq!(place, 0, "it is the first cause");
    let host = cause.found.judged.subject.target.clone();
    bench.until("all of the host was read", |model| rdmascope::app::condition::first_read(model, &host).is_none());
    bench.act("panel-wizard");
    bench.act("top");
    bench.act("fix");
    assert!(bench.model.change.is_some(), "{:?}", bench.model.screen.notice);
    (bench, host)
}

#[test]
fn without_an_audit_log_nothing_is_sent() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "").expect("it is written");
    // Neither without any, nor with one that cannot be written.
    for audit in [None, Some(file.join("audit.jsonl"))] {
        let (mut bench, host) = closed_ruleset(audit.as_deref());
        let closed = bench.says(&host, RULESET);
        bench.confirm(host.as_str());
        let (verdict, good) = bench.until_over();
        assert!(!good && verdict.starts_with("nothing was done: ") && verdict.contains("audit log"), "{verdict}");
        assert_eq!(bench.says(&host, RULESET), closed);
        bench.act("undo-remedy");
        assert!(bench.model.change.as_ref().is_some_and(|change| !change.undo), "there is nothing to take back");
        bench.engine.shutdown();
    }
}

#[test]
fn what_somebody_else_changed_meanwhile_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("audit.jsonl");
    let (mut bench, host) = closed_ruleset(Some(&path));
    bench.says(&host, "esxcli network firewall ruleset set -r pvrdma -e true");
    bench.confirm(host.as_str());
    let (verdict, good) = bench.until_over();
    assert!(!good && verdict.starts_with("nothing was done: ") && verdict.ends_with("look again"), "{verdict}");
    bench.until("it was noted", |_| !audited(&path).is_empty());
    assert_eq!(audited(&path), [("verdict".to_owned(), 1)], "no command began");
    bench.engine.shutdown();
}

#[test]
fn while_one_change_runs_there_is_no_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut bench, host) = closed_ruleset(Some(&folder.path().join("audit.jsonl")));
    bench.confirm(host.as_str());
    let mut stages = BTreeMap::new();
    let end = Instant::now() + DEADLINE;
    while !matches!(bench.stage(), Stage::Over { .. }) {
        assert!(Instant::now() < end, "it is never over");
        let stage = format!("{:?}", bench.stage());
        for action in ["close", "fix", "undo-remedy", "next-remedy", "apply-remedy"] {
            bench.act(action);
        }
        let change = bench.model.change.as_ref().expect("a change");
        assert_eq!((change.number, change.undo, format!("{:?}", change.stage)), (1, false, stage.clone()));
        assert!(bench.model.screen.editing.is_none(), "no second name is asked for");
        stages.insert(stage, bench.model.screen.notice.clone());
        let message = bench.messages.blocking_recv().expect("the engine lives");
        bench.take(message);
    }
    assert_eq!(stages.keys().collect::<Vec<_>>(), ["Applying", "ReadingAgain", "Verifying"]);
    assert!(
        stages.values().all(|notice| notice.as_ref().is_some_and(|(said, _)| said.contains("under way"))),
        "{stages:#?}"
    );
    bench.engine.shutdown();
}

/// The functions that the remedy gives back to the host, one after the other.
const FUNCTIONS: [&str; 2] = ["0000:5e:00.0", "0000:5e:00.1"];

#[test]
fn where_the_connection_ends_in_the_middle_it_is_told_what_was_done() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("audit.jsonl");
    let mut bench = Bench::new("hca-passthrough", 5, Some(&path));
    bench.until_read();
    let (_, cause) = bench.until_cause("host.passthrough-owner");
    let host = cause.found.judged.subject.target.clone();
    change::open(&mut bench.model, &cause).expect("it opens");
    // Commands take their time, so that one of them is under way when the connection ends.
    assert!(bench.lab.suffer("slow", host.as_str(), true));
    let list = "esxcli hardware pci pcipassthru list";
    let row = |text: &str, address: &str| text.lines().find(|line| line.starts_with(address)).map(str::to_owned);
    let before = bench.says(&host, list);
    let is_changed = |bench: &Bench, address: &str| row(&bench.says(&host, list), address) != row(&before, address);
    let mut number = 0;
    loop {
        bench.confirm(host.as_str());
        let is_begun = |model: &Model| {
            model.change.as_ref().is_some_and(|change| !matches!(change.stage, Stage::Asking | Stage::ReadingAgain))
        };
        bench.until("it is applied", is_begun);
        number += 1;
        while !FUNCTIONS.iter().any(|address| is_changed(&bench, address)) {
            std::thread::yield_now();
        }
        if !FUNCTIONS.iter().all(|address| is_changed(&bench, address)) {
            break;
        }
        // Whoever looked was too late: both commands are done. It is taken back, and tried once more.
        assert!(number < 20, "it is never looked in time");
        bench.until_over();
        bench.act("undo-remedy");
        bench.confirm(host.as_str());
        assert!(bench.until_over().1);
        number += 1;
        change::open(&mut bench.model, &cause).expect("it opens");
    }
    assert!(bench.lab.suffer("cut", host.as_str(), true));
    let (verdict, good) = bench.until_over();
    assert!(!good && verdict.contains("was cut off; whether it took effect is not known"), "{verdict}");
    let (commands, left) = verdict.split_once("; not begun: ").expect("what was not begun");
    let (_, done) = commands.split_once("; done before it: ").expect("what was done");
    // Two functions are taken back: what is told to be done is done, and what was not begun is not.
    for address in FUNCTIONS {
        let is_changed = is_changed(&bench, address);
        assert!(!done.contains(address) || is_changed, "{verdict}");
        assert!(!left.contains(address) || !is_changed, "{verdict}");
    }
    assert!(done != "nothing" || left != "nothing", "{verdict}");
    bench.until("the end was noted", |_| audited(&path).len() == 3 * number);
    let text = std::fs::read_to_string(&path).expect("the log");
    let end = text.lines().rev().nth(1).expect("the end of the commands");
    assert!(end.contains("Cut: esxcli hardware pci pcipassthru"), "{text}");
    // The next one finds nobody to ask, and does nothing.
    let change = bench.model.change.as_ref().expect("a change");
    assert!(change.ran.len() <= 2 && !change.ran.is_empty(), "{change:#?}");
    let is_away = |model: &Model| !matches!(model.targets[&host].connection, Connection::Connected { .. });
    bench.until("the connection is known to be gone", is_away);
    bench.act("undo-remedy");
    bench.confirm(host.as_str());
    let notice = bench.model.screen.notice.as_ref().map(|(said, _)| said.clone()).unwrap_or_default();
    assert!(notice.ends_with("is not connected") && bench.stage() == Stage::Asking, "{notice}");
    bench.engine.shutdown();
}

#[test]
fn what_waits_is_in_force_once_the_host_started_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut bench = Bench::new("vm-moved", 2, Some(&folder.path().join("audit.jsonl")));
    bench.until_read();
    let (_, cause) = bench.until_cause("host.rdma-module");
    let host = cause.found.judged.subject.target.clone();
    change::open(&mut bench.model, &cause).expect("it opens");
    bench.confirm(host.as_str());
    let (verdict, good) = bench.until_over();
    assert!(good && verdict.contains("waits for the host to start anew"), "{verdict}");
    let row = |bench: &Bench| {
        let list = bench.says(&host, "esxcli system module list");
        let row = list.lines().find(|line| line.starts_with("nmlx5_rdma")).expect("a row").to_owned();
        row.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(row(&bench), ["false", "true"], "enabled, and not loaded");
    assert!(bench.lab.suffer("reboot", host.as_str(), true));
    assert_eq!(row(&bench), ["true", "true"]);
    bench.until("the check passes", |model| !cause_or_symptom(model, "host.rdma-module"));
    bench.engine.shutdown();
}
