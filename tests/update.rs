//! What the console makes of what happens: messages in, model and effects out. No terminal, no clock, no network.

use std::sync::Arc;
use std::time::Duration;

use rdmascope::app::action::{Context, context};
use rdmascope::app::condition::{self, Gravity};
use rdmascope::app::model::{Model, Options, Target, TargetKind};
use rdmascope::app::screen::{Overlay, Panel};
use rdmascope::app::{
    Answer, Connection, Edit, Effect, Message, Problem, Prompt, PromptKind, Severity, UnknownHostKey, guest_link, live,
    tree, update,
};
use rdmascope::fabric::counter::Role;
use rdmascope::fabric::series::CounterValue;
use rdmascope::fabric::{
    Attribute, Entity, Fact, Observation, PortState, QueuePairState, QueuePairType, Reading, Report, Sample, SourceId,
    State, TargetId, Text, Timestamp, Value,
};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a small number")
}

fn target() -> TargetId {
    TargetId::new("guest-a")
}

fn model() -> Model {
    let targets = ["guest-a", "guest-b"].map(|name| (TargetId::new(name), Target::new(TargetKind::Unknown)));
    let mut model = Model::new(targets.to_vec(), Options::default(), at(0));
    for name in ["guest-a", "guest-b"] {
        update(
            &mut model,
            Message::Connection {
                target: TargetId::new(name),
                at: at(0),
                connection: Connection::Connected { since: at(0), via: Text::new("root@10.0.0.1") },
            },
        );
    }
    model
}

fn action(model: &mut Model, name: &str) -> Vec<Effect> {
    update(model, Message::Action(Text::new(name)))
}

fn sample_of(name: &str, second: i64, uptime: u64, packets: u64) -> Sample {
    Sample {
        target: TargetId::new(name),
        at: at(second),
        round_trip: Duration::from_millis(3),
        uptime_centiseconds: uptime,
        boot_id: None,
        counters: vec![CounterValue {
            entity: Entity::port("rxe0", 1),
            name: Text::new("sent_pkts"),
            role: Some(Role::TransmitPackets),
            scale: 1,
            raw: packets,
        }],
        gauges: vec![],
        facts: vec![],
        observation: None,
        clock_offset_ms: Some(2),
    }
}

fn sample(model: &mut Model, name: &str, second: i64, uptime: u64, packets: u64) {
    update(model, Message::Sample(sample_of(name, second, uptime, packets)));
}

fn clock(model: &mut Model, second: i64) {
    update(model, Message::Clock(at(second)));
}

fn texts(model: &Model) -> Vec<String> {
    model.events.iter().map(|event| event.text.clone()).collect()
}

fn report(probe: &str, facts: Vec<(Entity, Attribute, State<Value>)>) -> Report {
    let mut observation = Observation::of_text(probe, "raw text of the probe\n");
    observation.target = target();
    let facts = facts
        .into_iter()
        .map(|(entity, attribute, state)| Fact {
            entity,
            attribute,
            reading: Reading { state, at: at(1), source: observation.reference(), line: 1 },
        })
        .collect();
    Report { target: target(), probe: SourceId::new(probe), observations: vec![Arc::new(observation)], facts }
}

fn reported(model: &mut Model, second: i64, report: Report) {
    update(model, Message::Report { at: at(second), report });
}

fn port(state: PortState) -> Vec<(Entity, Attribute, State<Value>)> {
    vec![(Entity::port("rxe0", 1), Attribute::PortState, State::Known(state.into()))]
}

#[test]
fn interfaces_of_containers_come_and_go_without_a_word() {
    let mut model = model();
    let netdevs = |names: &[&str]| {
        let of = |name: &&str| {
            (Entity::Netdev(Text::new(name)), Attribute::OperationalState, State::Known(Value::from("up")))
        };
        report("p", names.iter().map(of).collect())
    };
    reported(&mut model, 1, netdevs(&["eth0"]));
    let before = texts(&model).len();
    reported(&mut model, 2, netdevs(&["eth0", "veth12ab", "cali7", "eth1"]));
    reported(&mut model, 3, netdevs(&["eth0"]));
    let told = texts(&model)[before..].join("\n");
    assert!(told.contains("eth1 is new") && told.contains("eth1 is gone"), "{told}");
    assert!(!told.contains("veth") && !told.contains("cali"), "{told}");
}

#[test]
fn a_silent_target_becomes_stale_after_three_periods_and_recovers_while_the_other_goes_on() {
    let mut model = model();
    for second in 1..=3 {
        sample(&mut model, "guest-a", second, 100 * u64::try_from(second).expect("positive"), 10);
        sample(&mut model, "guest-b", second, 100 * u64::try_from(second).expect("positive"), 10);
        clock(&mut model, second);
    }
    for second in 4..=6 {
        sample(&mut model, "guest-b", second, 100 * u64::try_from(second).expect("positive"), 10);
        clock(&mut model, second);
    }
    assert_eq!(condition::of_target(&model, &target()).word, "ok", "three periods are still fresh");
    sample(&mut model, "guest-b", 7, 700, 10);
    clock(&mut model, 7);
    assert_eq!(condition::of_target(&model, &target()).word, "stale 4s");
    assert_eq!(condition::of_target(&model, &TargetId::new("guest-b")).gravity, Gravity::Good);
    clock(&mut model, 8);
    let stale: Vec<String> = texts(&model).into_iter().filter(|text| text.contains("stale")).collect();
    assert_eq!(stale.len(), 1, "told once: {stale:?}");
    sample(&mut model, "guest-a", 9, 900, 10);
    clock(&mut model, 9);
    assert_eq!(condition::of_target(&model, &target()).word, "ok");
    assert_eq!(texts(&model).last().map(String::as_str), Some("answers again"));
    // A target that flaps is not told of each time.
    for second in (14..60).step_by(5) {
        clock(&mut model, second);
        sample(&mut model, "guest-a", second, 100 * u64::try_from(second).expect("positive"), 10);
        sample(&mut model, "guest-b", second, 100 * u64::try_from(second).expect("positive"), 10);
    }
    let told = texts(&model).iter().filter(|text| text.contains("stale")).count();
    assert!(told <= 2, "{:?}", texts(&model));
    sample(&mut model, "guest-a", 60, 6000, 10);
    sample(&mut model, "guest-b", 60, 6000, 10);
    clock(&mut model, 60);
    let tally = condition::tally(&model);
    assert_eq!((tally.up, tally.stale, tally.down, tally.pending), (2, 0, 0, 0));
}

#[test]
fn a_reboot_is_told_and_counters_start_cleanly() {
    let mut model = model();
    sample(&mut model, "guest-a", 1, 100_000, 5000);
    sample(&mut model, "guest-a", 2, 100_100, 5100);
    sample(&mut model, "guest-a", 40, 900, 3);
    sample(&mut model, "guest-a", 41, 1000, 8);
    assert!(texts(&model).iter().any(|text| text.contains("rebooted")), "{:?}", texts(&model));
    let (id, entity) = (target(), Entity::port("rxe0", 1));
    let (_, series) = model.series.of(&id, &entity).next().expect("one series");
    let values: Vec<Option<f64>> = series.points.iter().map(|point| point.value).collect();
    assert_eq!(values, vec![Some(100.0), None, Some(5.0)]);
}

#[test]
fn a_reboot_while_nobody_looked_is_told_once_by_its_boot_id() {
    let mut model = model();
    let boot = |id: &str| report("linux.system", vec![(Entity::Guest, Attribute::BootId, State::Known(id.into()))]);
    let told = |model: &Model| texts(model).iter().filter(|text| text.contains("rebooted")).count();
    reported(&mut model, 1, boot("one"));
    reported(&mut model, 2, boot("two"));
    assert_eq!(told(&model), 1);
    sample(&mut model, "guest-a", 3, 100_000, 5);
    sample(&mut model, "guest-a", 100, 900, 3);
    reported(&mut model, 101, boot("three"));
    assert_eq!(told(&model), 2, "the uptime showed it first");
}

#[test]
fn a_connection_that_came_back_has_its_time_before_it_is_called_stale() {
    let mut model = model();
    sample(&mut model, "guest-a", 1, 100, 10);
    let connected = Connection::Connected { since: at(60), via: Text::new("root@10.0.0.1") };
    update(&mut model, Message::Connection { target: target(), at: at(60), connection: connected });
    for second in 60..=63 {
        clock(&mut model, second);
    }
    assert!(condition::is_stale(&model, &target()), "its values are old all the same");
    let stale = |model: &Model| texts(model).iter().filter(|text| text.contains("are stale")).count();
    assert_eq!(stale(&model), 0);
    clock(&mut model, 64);
    assert_eq!(stale(&model), 1);
}

#[test]
fn a_read_that_failed_is_no_change_and_no_number_of_queue_pairs() {
    let mut model = model();
    let failed = || State::Failed(Text::new("no answer before its deadline"));
    let others = |state| report("linux.queue-pairs", vec![(Entity::Guest, Attribute::ForeignQueuePairs, state)]);
    reported(&mut model, 1, others(State::Known(true.into())));
    let before = model.events.len();
    reported(&mut model, 2, others(failed()));
    reported(&mut model, 3, others(State::Known(true.into())));
    assert_eq!(model.events.len(), before, "{:?}", texts(&model));
    let (id, guest) = (target(), Entity::Guest);
    let (_, series) = model.series.of(&id, &guest).next().expect("a series");
    let values: Vec<Option<f64>> = series.points.iter().map(|point| point.value).collect();
    assert_eq!(values, [Some(0.0), None, Some(0.0)]);
}

#[test]
fn a_link_that_goes_down_is_an_error_with_evidence_and_stands_first() {
    let mut model = model();
    reported(&mut model, 1, report("linux.rdma", port(PortState::Active)));
    assert!(model.events.iter().all(|event| event.severity == Severity::Info));
    reported(&mut model, 2, report("linux.rdma", port(PortState::Down)));
    let event = model.events.iter().next_back().expect("an event").clone();
    assert_eq!(event.severity, Severity::Error);
    assert_eq!(event.text, "rxe0/1 state: ACTIVE -> DOWN");
    let rows = guest_link::rows(&model, &target());
    assert_eq!(rows[0].label, "Attention");
    assert_eq!(rows[1].label, "rxe0/1");
    assert_eq!(rows[1].gravity(), Gravity::Bad);
    assert!(tree::rows(&model).iter().any(|row| row.label == "rxe0/1" && row.condition.word == "DOWN"));
    action(&mut model, "panel-events");
    action(&mut model, "evidence");
    let evidence = model.screen.evidence().expect("the overlay is open");
    assert_eq!(evidence.lines(), vec![(1, "raw text of the probe".to_owned())]);
    assert_eq!(evidence.line, 1);
    reported(&mut model, 3, report("linux.rdma", port(PortState::Active)));
    assert_eq!(model.events.iter().next_back().map(|event| event.severity), Some(Severity::Info));
}

#[test]
fn the_same_failure_over_and_over_is_told_once() {
    let mut model = model();
    let before = model.events.len();
    let down = |second: i64, attempt: u32, what: &str| Message::Connection {
        target: target(),
        at: at(second),
        connection: Connection::BackingOff {
            until: at(second + 4),
            attempt,
            problem: Problem::new(what, "a cause", "a step"),
        },
    };
    for attempt in 1..5 {
        update(&mut model, down(i64::from(attempt), attempt, "connection refused"));
        update(
            &mut model,
            Message::Connection {
                target: target(),
                at: at(i64::from(attempt)),
                connection: Connection::Connecting { attempt: attempt + 1 },
            },
        );
    }
    update(&mut model, down(9, 5, "no route"));
    let told = &texts(&model)[before..];
    assert_eq!(told, ["connection refused; a cause; a step", "no route; a cause; a step"]);
    assert_eq!(condition::of_target(&model, &target()).word, "down, retry 4s");
}

#[test]
fn a_failed_target_waits_for_the_user() {
    let mut model = model();
    update(
        &mut model,
        Message::Connection {
            target: target(),
            at: at(1),
            connection: Connection::Failed { problem: Problem::new("key refused", "", "ssh-copy-id") },
        },
    );
    assert_eq!(condition::of_target(&model, &target()).word, "failed");
    clock(&mut model, 100);
    assert_eq!(condition::of_target(&model, &target()).word, "failed");
    assert_eq!(action(&mut model, "read-now"), vec![]);
    assert_eq!(action(&mut model, "reconnect"), vec![Effect::Reconnect(target())]);
}

fn ask(model: &mut Model, id: u64) {
    update(
        model,
        Message::Asked {
            at: at(1),
            prompt: Prompt {
                id,
                target: target(),
                kind: PromptKind::UnknownHostKey(UnknownHostKey {
                    host: Text::new("[10.0.0.1]:2201"),
                    algorithm: Text::new("ssh-ed25519"),
                    fingerprint: Text::new("SHA256:abc"),
                    recorded_in: Text::new("~/.ssh/known_hosts"),
                }),
            },
        },
    );
}

#[test]
fn a_question_waits_while_text_is_typed_and_is_answered_by_its_own_number() {
    let mut model = model();
    action(&mut model, "filter");
    ask(&mut model, 7);
    ask(&mut model, 8);
    assert_eq!(context(&model), Context::Filter, "typed text must not answer a question");
    update(&mut model, Message::Edit(Edit::Insert('y')));
    assert_eq!(model.screen.filter.text(), "y");
    assert_eq!(model.prompts.len(), 2);
    action(&mut model, "cancel");
    assert_eq!(context(&model), Context::Prompt);
    assert_eq!(action(&mut model, "accept-keys"), vec![], "nothing of it was seen");
    assert_eq!(action(&mut model, "refuse-keys"), vec![], "nothing at all");
    update(&mut model, Message::Seen { questions: vec![7, 99] });
    assert_eq!(action(&mut model, "accept-keys"), vec![Effect::Answer { id: 7, answer: Answer::Accept }]);
    assert_eq!(action(&mut model, "accept-key"), vec![], "8 was not seen");
    assert_eq!(action(&mut model, "refuse-key"), vec![Effect::Answer { id: 8, answer: Answer::Refuse }]);
    assert_eq!(action(&mut model, "accept-keys"), vec![], "nothing is asked any more");
    assert_eq!(model.screen.questions, rdmascope::app::questions::QuestionView::default());
    ask(&mut model, 9);
    update(&mut model, Message::Withdrawn { id: 9 });
    assert_ne!(context(&model), Context::Prompt);
}

#[test]
fn queue_pairs_are_counted_by_owner_and_state_and_errors_are_told() {
    let mut model = model();
    let qp = |number: u32, state: QueuePairState, owner: &str, process: Option<u32>| {
        let entity = Entity::QueuePair { device: Text::new("rxe0"), port: None, number };
        let mut facts = vec![
            (entity.clone(), Attribute::QueuePairType, State::Known(QueuePairType::ReliableConnection.into())),
            (entity.clone(), Attribute::QueuePairState, State::Known(state.into())),
            (entity.clone(), Attribute::OwnerCommand, State::Known(owner.into())),
        ];
        facts.extend(process.map(|pid| (entity, Attribute::OwnerProcess, State::Known(pid.into()))));
        facts
    };
    let probe = "linux.queue-pairs";
    reported(&mut model, 1, report(probe, qp(1, QueuePairState::ReadyToSend, "[ib_core]", None)));
    let mut facts = qp(1, QueuePairState::ReadyToSend, "[ib_core]", None);
    for number in 17..21 {
        facts.extend(qp(number, QueuePairState::ReadyToSend, "ib_write_bw", Some(399)));
    }
    reported(&mut model, 2, report(probe, facts.clone()));
    assert_eq!(texts(&model).last().map(String::as_str), Some("ib_write_bw (pid 399) opened 4 queue pairs on rxe0"));
    let rows = guest_link::rows(&model, &target());
    let row = rows.iter().find(|row| row.label == "ib_write_bw 399").expect("a row for the process");
    let cells: Vec<&str> = row.cells.iter().map(|cell| cell.text.as_str()).collect();
    assert_eq!(cells, ["4 RC on rxe0", "RTS 4"]);
    let mut broken = qp(1, QueuePairState::ReadyToSend, "[ib_core]", None);
    for number in 17..21 {
        let state = if number < 20 { QueuePairState::Error } else { QueuePairState::ReadyToSend };
        broken.extend(qp(number, state, "ib_write_bw", Some(399)));
    }
    reported(&mut model, 3, report(probe, broken));
    let errors = model.events.iter().filter(|event| event.severity == Severity::Error).count();
    assert_eq!(errors, 3);
    assert_eq!(guest_link::rows(&model, &target())[1].label, "ib_write_bw 399", "what is wrong stands first");
    let graphs = live::graphs(&model, &target());
    assert!(graphs.is_empty(), "without a port there is nothing to draw: {graphs:?}");
}

#[test]
fn a_graph_without_a_source_is_a_sentence() {
    let mut model = model();
    let port = Entity::port("rocep27s0f1", 1);
    reported(
        &mut model,
        1,
        report(
            "linux.counters",
            vec![
                (port.clone(), Attribute::PortState, State::Known(PortState::Active.into())),
                (port.clone(), Attribute::ByteCounters, State::NotPublished(Text::new("vmw_pvrdma"))),
                (port, Attribute::PacketCounters, State::NotPublished(Text::new("vmw_pvrdma"))),
            ],
        ),
    );
    let graphs = live::graphs(&model, &target());
    assert_eq!(graphs[0].title, "rocep27s0f1/1 traffic");
    assert!(graphs[0].lines.is_empty());
    assert_eq!(graphs[0].sentence.as_deref(), Some("byte rate not published by vmw_pvrdma"));
}

#[test]
fn packets_are_drawn_where_bytes_are_not_counted() {
    let mut model = model();
    let port = Entity::port("rxe0", 1);
    reported(
        &mut model,
        1,
        report(
            "linux.counters",
            vec![
                (port.clone(), Attribute::PortState, State::Known(PortState::Active.into())),
                (port.clone(), Attribute::ByteCounters, State::NotPublished(Text::new("rxe"))),
                (port, Attribute::Ceiling, State::NotObservable(Text::new("no honest link rate"))),
            ],
        ),
    );
    sample(&mut model, "guest-a", 1, 100, 0);
    sample(&mut model, "guest-a", 2, 200, 500);
    let graphs = live::graphs(&model, &target());
    assert_eq!(graphs[0].title, "rxe0/1 packets");
    assert_eq!(graphs[0].sentence.as_deref(), Some("byte rate not published by rxe"));
    assert!(matches!(&graphs[0].ceiling, live::Ceiling::Unknown(why) if why.contains("no honest link rate")));
    assert_eq!(graphs[0].lines[0].value_at(&model, at(2)), Some(500.0));
    assert_eq!(graphs[0].lines[0].points(&model, at(0), at(9)), vec![(at(2), Some(500.0))]);
}

#[test]
fn frozen_graphs_stand_still_while_values_come_in() {
    let mut model = model();
    sample(&mut model, "guest-a", 1, 100, 0);
    action(&mut model, "panel-live");
    action(&mut model, "freeze");
    clock(&mut model, 60);
    assert_eq!(model.shown_time(), at(1));
    assert_eq!(model.now, at(60));
    action(&mut model, "freeze");
    assert_eq!(model.shown_time(), at(60));
    let window = model.screen.live.window();
    action(&mut model, "zoom-in");
    assert!(model.screen.live.window() < window);
    for _ in 0..10 {
        action(&mut model, "zoom-out");
    }
    assert_eq!(model.screen.live.window(), 600, "ten minutes are kept");
    action(&mut model, "cursor");
    assert_eq!(model.screen.live.cursor, Some(300));
    action(&mut model, "left");
    assert_eq!(model.screen.live.cursor, Some(312));
    action(&mut model, "zoom-in");
    assert!(model.screen.live.cursor.is_some_and(|cursor| cursor <= model.screen.live.window()));
}

#[test]
fn the_filter_narrows_as_it_is_typed_and_cancel_takes_it_back() {
    let mut model = model();
    assert_eq!(tree::rows(&model).len(), 2);
    action(&mut model, "filter");
    for character in "guest-b".chars() {
        update(&mut model, Message::Edit(Edit::Insert(character)));
    }
    assert_eq!(tree::rows(&model).len(), 1);
    action(&mut model, "accept");
    assert_eq!(model.screen.filter.text(), "guest-b");
    action(&mut model, "filter");
    update(&mut model, Message::Edit(Edit::DeleteToStart));
    update(&mut model, Message::Edit(Edit::Paste("\u{1b}[31mx\r\ny".to_owned())));
    assert_eq!(model.screen.filter.text(), "xy");
    assert_eq!(tree::rows(&model).len(), 0);
    action(&mut model, "cancel");
    assert_eq!(model.screen.filter.text(), "guest-b");
    action(&mut model, "close");
    assert_eq!(tree::rows(&model).len(), 2);
}

#[test]
fn overlays_lie_on_each_other_and_close_from_the_top() {
    let mut model = model();
    reported(&mut model, 1, report("linux.rdma", port(PortState::Active)));
    action(&mut model, "panel-guest");
    action(&mut model, "down");
    action(&mut model, "evidence");
    assert_eq!(context(&model), Context::Evidence);
    action(&mut model, "help");
    assert_eq!(context(&model), Context::Help);
    action(&mut model, "close");
    assert!(matches!(model.screen.overlays.last(), Some(Overlay::Evidence(_))));
    action(&mut model, "close");
    assert_eq!(context(&model), Context::Guest);
    assert_eq!(model.screen.panel, Panel::GuestLink);
    action(&mut model, "next-focus");
    assert_eq!(context(&model), Context::Tree);
}

#[test]
fn selections_survive_rows_that_come_and_go() {
    let mut model = model();
    let gid = |index: u32| {
        (
            Entity::Gid { device: Text::new("rxe0"), port: 1, index },
            Attribute::GidValue,
            State::Known(Value::Gid("::ffff:10.0.0.1".parse().expect("a GID"))),
        )
    };
    reported(&mut model, 1, report("linux.gids", vec![gid(0), gid(1), gid(2)]));
    action(&mut model, "panel-guest");
    action(&mut model, "bottom");
    let selected = model.screen.guest.selected.clone();
    assert!(selected.is_some());
    reported(&mut model, 2, report("linux.gids", vec![gid(0), gid(2)]));
    assert_eq!(model.screen.guest.selected, selected);
    reported(&mut model, 3, report("linux.gids", vec![gid(0)]));
    action(&mut model, "up");
    let rows = guest_link::rows(&model, &target());
    assert!(rows.iter().any(|row| Some(&row.key) == model.screen.guest.selected.as_ref()));
}

#[test]
fn events_follow_the_newest_until_one_is_chosen() {
    let mut model = model();
    action(&mut model, "panel-events");
    assert_eq!(model.screen.events.selected, None);
    action(&mut model, "up");
    let chosen = model.screen.events.selected;
    assert_eq!(chosen, Some(1));
    reported(&mut model, 1, report("linux.rdma", port(PortState::Active)));
    reported(&mut model, 2, report("linux.rdma", port(PortState::Down)));
    assert_eq!(model.screen.events.selected, chosen, "the chosen one stays");
    action(&mut model, "bottom");
    assert_eq!(model.screen.events.selected, None);
    action(&mut model, "top");
    assert_eq!(model.screen.events.selected, Some(1));
}

#[test]
fn dropped_samples_are_counted_and_leave_a_gap() {
    let mut model = model();
    sample(&mut model, "guest-a", 1, 100, 0);
    sample(&mut model, "guest-a", 2, 200, 10);
    update(&mut model, Message::Gap { target: target(), at: at(3), dropped: 4 });
    assert_eq!(model.targets[&target()].dropped, 4);
    assert!(texts(&model).last().is_some_and(|text| text.starts_with("4 samples were dropped")));
    let (id, entity) = (target(), Entity::port("rxe0", 1));
    let (_, series) = model.series.of(&id, &entity).next().expect("one series");
    assert_eq!(series.newest(), None);
}

#[test]
fn every_action_is_harmless_in_every_state() {
    use rdmascope::app::action::ALL;
    let mut empty = Model::new(vec![], Options::default(), at(0));
    let mut full = model();
    reported(&mut full, 1, report("linux.rdma", port(PortState::Active)));
    sample(&mut full, "guest-a", 1, 100, 0);
    for first in ALL {
        for second in ALL {
            for model in [&mut empty, &mut full] {
                action(model, first.name);
                action(model, second.name);
                if model.screen.overlays.len() > 20 {
                    model.screen.overlays.clear();
                }
            }
        }
    }
    assert_eq!(action(&mut full, "no-such-action"), vec![]);
}
