use super::*;
use crate::app::message::Message;
use crate::app::model::{Options, Target, TargetKind};
use crate::app::screen::{Overlay, Panel};
use crate::app::tree::Node;
use crate::app::{action, update};
use crate::fabric::{Attribute, Entity, Gid, Observation, Report, SourceId, Value};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

/// Two soft-RoCE guests, read by the real probes from captures.
fn model() -> Model {
    let names = ["softroce1", "softroce2"];
    let targets = names.map(|name| (TargetId::new(name), Target::new(TargetKind::Linux))).to_vec();
    let mut model = Model::new(targets, Options::default(), Timestamp::UNIX_EPOCH);
    for (number, name) in (10_u8..).zip(names) {
        let target = TargetId::new(name);
        let connection = Connection::Connected { since: at(0), via: Text::new(name) };
        update(&mut model, Message::Connection { target: target.clone(), at: at(0), connection });
        let mut observation = Observation::of_text("linux.rdma", "rxe0");
        observation.target = target.clone();
        let mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 168, 100, number];
        let port = Entity::RdmaPort { device: "rxe0".into(), port: 1 };
        let gid = Entity::Gid { device: "rxe0".into(), port: 1, index: 1 };
        let facts = [
            (port.clone(), Attribute::PortState, Value::PortState(crate::fabric::PortState::Active)),
            (port.clone(), Attribute::PathMtu, Value::Count(1024)),
            (port, Attribute::PortNetdev, Value::from("eth1")),
            (gid.clone(), Attribute::GidType, Value::GidType(crate::fabric::GidType::RoceV2)),
            (gid.clone(), Attribute::GidValue, Value::Gid(Gid(mapped))),
            (gid, Attribute::GidNetdev, Value::from("eth1")),
        ];
        let facts = facts
            .into_iter()
            .zip(1u32..)
            .map(|((entity, attribute, value), line)| observation.known(entity, attribute, value, line))
            .collect();
        let report = Report { target, probe: SourceId::new("linux.rdma"), facts, observations: Vec::new() };
        update(&mut model, Message::Report { at: at(1), report });
    }
    model.screen.tree.selected = Some(Node::Target(TargetId::new("softroce1")));
    update(&mut model, Message::Clock(at(10)));
    model
}

fn lines(model: &Model) -> Vec<String> {
    rows(model).iter().map(crate::app::table::Row::line).collect()
}

fn has(model: &Model, words: &str) -> bool {
    lines(model).iter().any(|line| line.contains(words))
}

fn told(model: &mut Model, second: i64, news: BenchNews) {
    update(model, Message::Bench { at: at(second), number: 1, news });
}

fn row(gigabits: f64) -> BenchNews {
    let line = Text::new("65536 100 0.00 0.08 0.0001");
    BenchNews::Row(BenchRow { bytes: 65536, gigabits: Some(gigabits), microseconds: None, line })
}

#[test]
fn nothing_begins_before_it_was_shown_and_confirmed() {
    let mut model = model();
    assert!(action::run(&mut model, "start-bench").is_empty(), "it is not shown");
    assert!(action::run(&mut model, "bench").is_empty(), "it is only shown");
    assert_eq!(model.screen.overlays.last(), Some(&Overlay::Bench { scroll: 0 }));
    let effects = action::run(&mut model, "start-bench");
    let [Effect::Bench(BenchAsked::Start { number: 1, plan })] = &effects[..] else {
        panic!("{effects:?} {:?} {:?}", model.screen.notice, planned(&model))
    };
    assert_eq!((plan.pair.server.target.as_str(), plan.pair.client.target.as_str()), ("softroce1", "softroce2"));
    assert!(model.screen.overlays.is_empty() && model.screen.panel == Panel::Tune);
    assert!(has(&model, "write bandwidth from softroce2 to softroce1"), "{:#?}", lines(&model));
    // One at a time.
    action::run(&mut model, "bench");
    assert!(action::run(&mut model, "start-bench").is_empty());
    assert!(model.screen.notice.as_ref().is_some_and(|(text, _)| text.contains("under way")));
}

#[test]
fn samples_and_results_are_shown_as_they_come_and_stay_after_the_end() {
    let mut model = model();
    action::run(&mut model, "bench");
    action::run(&mut model, "start-bench");
    for (second, packets) in [(11, 500.0), (12, 1000.0), (13, 0.0)] {
        told(&mut model, second, BenchNews::Packets(packets));
    }
    told(&mut model, 13, BenchNews::Packets(f64::NAN));
    // A run has one unit.
    told(&mut model, 13, BenchNews::Rate(3.0));
    assert!(has(&model, "0 packets/s") && has(&model, "▅█▁"), "{:#?}", lines(&model));
    told(&mut model, 14, row(0.08));
    assert!(has(&model, "65536 B 0.08 Gb/s"));
    assert!(has(&model, "no ceiling known"), "{:#?}", lines(&model));
    told(&mut model, 15, BenchNews::Over(None));
    assert!(has(&model, "done") && has(&model, "took 5 s"), "{:#?}", lines(&model));
    assert!(model.tune.running().is_none());
    // What comes late is of no run.
    told(&mut model, 16, row(9.0));
    assert_eq!(model.tune.runs[0].rows.len(), 1);
    assert!(model.events.iter().any(|event| event.text == "benchmark 1: write bandwidth: 0.08 Gb/s"));
}

#[test]
fn it_is_ended_on_both_sides_and_a_failure_says_why() {
    let mut model = model();
    assert!(action::run(&mut model, "stop-bench").is_empty());
    action::run(&mut model, "bench");
    action::run(&mut model, "start-bench");
    let effects = action::run(&mut model, "stop-bench");
    assert_eq!(effects, [Effect::Bench(BenchAsked::Stop { number: 1 })]);
    assert!(has(&model, "is being ended on both sides"));
    told(&mut model, 12, BenchNews::Over(Some(Text::new("it was ended on both sides"))));
    assert!(model.events.iter().any(|event| event.severity == Severity::Info && event.text.contains("was ended")));
    action::run(&mut model, "bench");
    action::run(&mut model, "start-bench");
    let why = Text::new("softroce1: did not listen within 30 s");
    update(&mut model, Message::Bench { at: at(50), number: 2, news: BenchNews::Over(Some(why)) });
    assert!(has(&model, "did not listen within 30 s"));
    assert!(model.events.iter().any(|event| event.severity == Severity::Warning && event.text.contains("listen")));
}

#[test]
fn what_is_asked_for_changes_what_would_run() {
    let mut model = model();
    for (key, words) in [
        ("bench-verb", "read bandwidth"),
        ("bench-verb", "send bandwidth"),
        ("bench-direction", "both ways between"),
        ("bench-kind", "send latency between"),
    ] {
        action::run(&mut model, key);
        assert!(has(&model, words), "{key}: {:#?}", lines(&model));
    }
    assert!(!model.tune.asked.bidirectional, "a latency goes both ways already");
}

#[test]
fn without_a_connection_or_in_a_recording_nothing_begins() {
    let mut model = model();
    let connection = Connection::Connecting { attempt: 1 };
    update(&mut model, Message::Connection { target: TargetId::new("softroce2"), at: at(11), connection });
    assert_eq!(obstacle(&model).as_deref(), Some("softroce2 is not connected"));
    action::run(&mut model, "bench");
    assert!(action::run(&mut model, "start-bench").is_empty());
    assert!(has(&model, "softroce2 is not connected"));
}
