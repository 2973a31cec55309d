//! Remedies against the lab over real SSH, as the console applies them: the state is read again, the audit log is written
//! first, the commands run, the check passes, and the way back restores every setting.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use rdmascope::app::change::Stage;
use rdmascope::app::model::{Options, Target, TargetKind};
use rdmascope::app::{Edit, Effect, Message, Model, Severity, update};
use rdmascope::engine::plan;
use rdmascope::engine::run::{Engine, EngineHandle};
use rdmascope::fabric::attribute::Class;
use rdmascope::fabric::{EntityId, TargetId, Text, Timestamp};
use rdmascope::lab::{self, Delays, Lab, Timing};
use rdmascope::record::audit::Audit;
use tokio::sync::mpsc;

/// How long anything may take before it is a failure.
const DEADLINE: Duration = Duration::from_mins(2);

/// A console without a screen on the lab in a scenario.
struct Bench {
    _lab: Lab,
    engine: EngineHandle,
    messages: mpsc::Receiver<Message>,
    model: Model,
}

impl Bench {
    fn new(scenario: &str, allow_changes: bool, audit: Option<&Path>) -> Self {
        let scenario = lab::scenario::by_name(scenario).expect("a scenario of the lab");
        let options =
            lab::Options { seed: 3, delays: Delays::none(), scenario: Some(scenario), timing: Timing::AtOnce };
        let lab = Lab::start(&options).expect("the lab starts");
        let plans: Vec<_> = lab.targets().iter().filter_map(|target| lab.plan(&target.name)).collect();
        let targets = lab.targets().iter().map(|target| {
            let kind = if target.name.starts_with("esx") { TargetKind::Esxi } else { TargetKind::Unknown };
            (TargetId::new(&target.name), Target::new(kind))
        });
        let model = Model::new(targets.collect(), Options { allow_changes, ..Options::default() }, Timestamp::now());
        let audit = audit.map(|path| Audit::new(path.to_owned(), "tester".to_owned()));
        let options = plan::Options { audit, ..plan::Options::default() };
        let (engine, messages) = Engine::start(plans, &options).expect("threads");
        Self { _lab: lab, engine, messages, model }
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
            assert!(Instant::now() < end, "never: {what}; findings: {:#?}", findings(&self.model));
            let message = self.messages.blocking_recv().expect("the engine lives");
            self.take(message);
        }
    }

    fn act(&mut self, name: &str) {
        self.take(Message::Action(Text::new(name)));
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
}

fn findings(model: &Model) -> Vec<(String, String)> {
    let of = |(id, target): (&TargetId, &Target)| {
        target.findings.values().map(|finding| (id.to_string(), finding.text.clone())).collect::<Vec<_>>()
    };
    model.targets.iter().flat_map(of).collect()
}

/// All that was set on a target, by thing and property.
fn settings(model: &Model, target: &TargetId) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for entity in model.fabric.entities(target) {
        let id = EntityId::new(target, entity.clone());
        for (attribute, reading) in model.fabric.readings(&id) {
            if attribute.class() == Class::Setting {
                all.insert(format!("{} {}", id.entity.key(), attribute.name()), format!("{:?}", reading.state));
            }
        }
    }
    all
}

/// The host with a finding that names this.
fn host_with(model: &Model, words: &str) -> Option<TargetId> {
    let found = findings(model);
    let (host, _) = found.iter().find(|(host, text)| host.starts_with("esx") && text.contains(words))?;
    Some(TargetId::new(host))
}

/// Opens the remedy for the finding that names this.
fn open(bench: &mut Bench, words: &str) {
    bench.act("panel-wizard");
    bench.act("top");
    let causes = bench.model.diagnosed();
    let place = causes.diagnosis.causes.iter().position(|cause| cause.found.judged.title.contains(words));
    assert_eq!(place, Some(0), "it is the first cause");
    bench.act("fix");
    assert!(bench.model.change.is_some(), "{:?}", bench.model.screen.notice);
}

fn audited(path: &Path) -> Vec<(String, u64)> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = |line: &str| {
        let json: serde_json::Value = serde_json::from_str(line).expect("JSON");
        (json["event"].as_str().expect("an event").to_owned(), json["number"].as_u64().expect("a number"))
    };
    text.lines().map(line).collect()
}

#[test]
fn a_closed_ruleset_is_opened_verified_and_closed_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("audit.jsonl");
    let mut bench = Bench::new("ruleset-closed", true, Some(&path));
    bench.until("the ruleset is found closed", |model| host_with(model, "ruleset pvrdma is closed").is_some());
    let host = host_with(&bench.model, "ruleset pvrdma is closed").expect("a host");
    bench.until("all of the host was read", |model| rdmascope::app::condition::first_read(model, &host).is_none());
    let before = settings(&bench.model, &host);
    open(&mut bench, "ruleset pvrdma is closed");
    bench.confirm("not the host");
    assert_eq!((bench.stage(), audited(&path)), (Stage::Asking, vec![]), "another name confirms nothing");
    bench.confirm(host.as_str());
    let (verdict, good) = bench.until_over();
    assert!(good, "{verdict}");
    bench.until("the finding is gone", |model| host_with(model, "ruleset pvrdma is closed").is_none());
    bench.act("undo-remedy");
    bench.confirm(host.as_str());
    let (verdict, good) = bench.until_over();
    assert!(good, "{verdict}");
    let after = settings(&bench.model, &host);
    let differs: Vec<_> = after.iter().filter(|(key, value)| before.get(*key) != Some(value)).collect();
    assert!(differs.is_empty() && after.len() == before.len(), "{differs:#?}");
    bench.until("the end was noted", |_| audited(&path).len() == 6);
    let one = |number| ["begin", "end", "verdict"].map(|event| (event.to_owned(), number));
    assert_eq!(audited(&path), [one(1), one(2)].concat());
    let told: Vec<_> = bench.model.events.iter().filter(|event| event.text.starts_with("change: ")).collect();
    assert_eq!(told.len(), 4, "{told:#?}");
    assert_eq!(told[0].severity, Severity::Warning);
    bench.engine.shutdown();
}

#[test]
fn without_an_audit_log_nothing_runs() {
    let mut bench = Bench::new("ruleset-closed", true, None);
    bench.until("the ruleset is found closed", |model| host_with(model, "ruleset pvrdma is closed").is_some());
    let host = host_with(&bench.model, "ruleset pvrdma is closed").expect("a host");
    open(&mut bench, "ruleset pvrdma is closed");
    bench.confirm(host.as_str());
    let (verdict, good) = bench.until_over();
    assert!(!good && verdict.contains("audit log"), "{verdict}");
    bench.act("read-now");
    assert!(host_with(&bench.model, "ruleset pvrdma is closed").is_some());
    bench.engine.shutdown();
}
