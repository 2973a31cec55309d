//! What goes wrong in the lab, by hand and by a scenario, as its clients see it.

use super::*;

#[test]
fn troubles_of_the_machine_reach_the_machine() {
    let machines = machines();
    let lab = started(&machines);
    assert!(lab.suffer("link-down", "pv-b", true) && lab.suffer("packet-loss", "vf-a", true));
    assert!(lab.suffer("link-down", "pv-b", false));
    assert!(!lab.suffer("link-down", "nobody", true) && !lab.suffer("earthquake", "pv-a", true));
    let suffered = |place: usize| machines[place].suffered.lock().expect("no panic").clone();
    assert_eq!(suffered(1), [(Trouble::LinkDown, true), (Trouble::LinkDown, false)]);
    assert_eq!(suffered(2), [(Trouble::Loss, true)]);
    assert!(suffered(0).is_empty());
}

#[test]
fn a_reboot_closes_the_port_and_comes_back_as_another_boot() {
    let lab = lab();
    let (engine, mut messages) = engine(&lab);
    let before = sample_of(&mut messages, "pv-a");
    assert!(lab.suffer("reboot", "pv-a", true));
    let refused = connection_of(&mut messages, "pv-a", |connection| !connection.is_up());
    assert!(matches!(refused, Connection::BackingOff { .. } | Connection::Connecting { .. }), "{refused:?}");
    connection_of(&mut messages, "pv-a", Connection::is_up);
    let after = sample_of(&mut messages, "pv-a");
    assert_ne!(before.boot_id, after.boot_id);
    engine.shutdown();
}

#[test]
fn a_cut_ends_connections_refuses_new_ones_and_has_an_end() {
    let lab = lab();
    let port = lab.targets()[0].port;
    let (engine, mut messages) = engine(&lab);
    sample_of(&mut messages, "pv-a");
    assert!(lab.suffer("cut", "pv-a", true));
    connection_of(&mut messages, "pv-a", |connection| matches!(connection, Connection::BackingOff { .. }));
    let deadline = Instant::now() + PATIENCE;
    while TcpStream::connect(("127.0.0.1", port)).is_ok() {
        assert!(Instant::now() < deadline, "the port stays open");
    }
    // The others live on.
    sample_of(&mut messages, "pv-b");
    assert!(lab.suffer("cut", "pv-a", false));
    engine.run(&Effect::Reconnect(TargetId::new("pv-a")));
    connection_of(&mut messages, "pv-a", Connection::is_up);
    sample_of(&mut messages, "pv-a");
    engine.shutdown();
}

#[test]
fn another_host_key_is_refused_as_changed() {
    let lab = lab();
    let (engine, mut messages) = engine(&lab);
    for name in ["pv-a", "pv-b"] {
        sample_of(&mut messages, name);
        assert!(lab.suffer("wrong-host-key", name, true));
        let failed = connection_of(&mut messages, name, |connection| matches!(connection, Connection::Failed { .. }));
        let Connection::Failed { problem } = failed else { panic!("it is lasting") };
        assert!(problem.what.contains("HOST KEY CHANGED"), "{problem}");
    }
    assert!(lab.suffer("wrong-host-key", "pv-b", false));
    engine.run(&Effect::Reconnect(TargetId::new("pv-b")));
    connection_of(&mut messages, "pv-b", Connection::is_up);
    engine.shutdown();
}

#[tokio::test]
async fn a_machine_that_hangs_takes_bytes_and_gives_none() {
    let lab = lab();
    let connected = connect(&lab, "pv-a").await;
    assert!(lab.suffer("hang", "pv-a", true));
    let short = Duration::from_millis(400);
    // A command on the old connection gets no answer, a new connection no greeting.
    assert!(tokio::time::timeout(short, connected.exec("uname -s")).await.is_err());
    let deadlines = Deadlines { handshake: short, ..Deadlines::default() };
    let route = route(&lab, "pv-a").await;
    let refused = connect_in("pv-a", &route, deadlines).await.expect_err("no greeting");
    let problem = refused.problem(&TargetId::new("pv-a"));
    assert!(problem.what.contains("the server said nothing"), "{problem}");
    assert!(lab.suffer("hang", "pv-a", false));
    assert_eq!(run(&connected, "uname -s", "").await.0, "Linux\n", "the old connection lives on");
    drop(connect(&lab, "pv-a").await);
}

#[test]
fn a_slow_machine_answers_late() {
    let lab = lab();
    let (engine, mut messages) = engine(&lab);
    sample_of(&mut messages, "pv-a");
    assert!(lab.suffer("slow", "pv-a", true));
    let late = until(&mut messages, "a late sample", |message| {
        matches!(message, Message::Sample(sample)
            if sample.target.as_str() == "pv-a" && sample.round_trip > Duration::from_millis(900))
    });
    assert!(is_sample_of(&late, "pv-a"));
    assert!(lab.suffer("slow", "pv-a", false));
    until(&mut messages, "a quick sample", |message| {
        matches!(message, Message::Sample(sample)
            if sample.target.as_str() == "pv-a" && sample.round_trip < Duration::from_millis(500))
    });
    engine.shutdown();
}

#[test]
fn garbage_is_survived_and_stays_on_its_machine() {
    let lab = lab();
    for host in ["pv-a", "pv-b"] {
        assert!(lab.suffer("garbage", host, true));
    }
    let mut spoiled = 0;
    for _ in 0..5 {
        let collected = read_once(&lab);
        let outputs = |target: &Collected| -> Vec<String> {
            target.reports.iter().flat_map(|report| &report.observations).map(|seen| seen.stdout.to_string()).collect()
        };
        let honest = outputs(&collected[2]);
        assert!(collected[2].reached.is_ok() && collected[2].incomplete.is_none());
        for target in &collected[..2] {
            spoiled += usize::from(target.reached.is_err() || target.incomplete.is_some() || outputs(target) != honest);
        }
    }
    assert_eq!(spoiled, 10, "no read of a spoiled machine looks healthy");
    let (engine, mut messages) = engine(&lab);
    sample_of(&mut messages, "vf-a");
    assert!(lab.suffer("garbage", "pv-a", false));
    // A stream whose answer broke off waits long for the rest of it.
    engine.run(&Effect::Reconnect(TargetId::new("pv-a")));
    sample_of(&mut messages, "pv-a");
    engine.shutdown();
}

#[test]
fn a_scenario_happens_by_itself_or_at_once() {
    let planned = Options { scenario: scenario::by_name("link-down"), timing: Timing::AtOnce, ..options() };
    let machines = machines();
    let start = || {
        let machines = machines.iter().map(|machine| machine.clone() as Arc<dyn Machine>).collect();
        Lab::with_machines(machines, &planned).expect("a lab")
    };
    let suffered =
        || -> usize { machines.iter().map(|machine| machine.suffered.lock().expect("no panic").len()).sum() };
    let lab = start();
    assert_eq!(suffered(), 1, "at once means before anybody connects");
    drop(lab);
    let cut: &'static Scenario = Box::leak(Box::new(Scenario {
        faults: vec![scenario::Planned {
            kind: "link-down".to_owned(),
            host: "drawn".to_owned(),
            among: vec![],
            after: scenario::After::At(0.05),
            lasts: Some(0.05),
        }],
        ..scenario::by_name("healthy").expect("it is there").clone()
    }));
    let planned = Options { scenario: Some(cut), ..options() };
    let started = Lab::with_machines(machines.iter().map(|m| m.clone() as Arc<dyn Machine>).collect(), &planned);
    let lab = started.expect("a lab");
    let deadline = Instant::now() + PATIENCE;
    while suffered() < 3 {
        assert!(Instant::now() < deadline, "it never happened");
        std::thread::park_timeout(Duration::from_millis(5));
    }
    drop(lab);
}
