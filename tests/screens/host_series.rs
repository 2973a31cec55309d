//! What a host counts as curves: for the host its uplinks, for a guest with PVRDMA the uplink behind it. Real text through
//! the real probes, read now and then.

use std::sync::Arc;
use std::time::Duration;

use rdmascope::app::{Message, Model, copy, live, update};
use rdmascope::fabric::{Attribute, Entity, Observation, Report, SourceId, TargetId, Value};
use rdmascope::probe::Probe;
use rdmascope::probe::esxi::statistics;

use super::guest::at;
use super::hosts::{tell, twins};
use super::{act, shown};

/// One read of a probe on a host: `second` by our clock, `clock` by the host's.
fn read(model: &mut Model, host: &str, probe: &Probe, second: i64, clock: i64, item: &str, lines: &[(&str, u64)]) {
    let lines: Vec<String> = lines.iter().map(|(label, value)| format!("   {label}: {value}")).collect();
    let text = format!("@item {item}\n@clock {clock}\n{}\n\n@status 0\n", lines.join("\n"));
    let mut observation = Observation::of_text(probe.name, &text);
    observation.target = TargetId::new(host);
    observation.at = at(second);
    observation.duration = Some(Duration::from_millis(700));
    let observations = vec![Arc::new(observation)];
    let facts = (probe.parse)(&observations);
    let report = Report { target: TargetId::new(host), probe: SourceId::new(probe.name), observations, facts };
    update(model, Message::Report { at: at(second + 1), report });
}

fn read_all(model: &mut Model, second: i64, [rdma, nic, pause]: [u64; 3]) {
    let host = "esx01";
    let both = |octets| [("Bytes sent", octets), ("Bytes received", octets * 4 / 5)];
    read(model, host, &statistics::RDMA, second, 9000 + second, "vmrdma0", &both(rdma));
    read(model, host, &statistics::NICS, second + 1, 9001 + second, "vmnic4", &both(nic));
    read(model, host, &statistics::PRIVATE, second + 2, 9002 + second, "vmnic4", &[("txPauseCtrlPhy", pause)]);
}

/// Reads at uneven distances; between 71 and 95 seconds the connection was lost.
fn moving() -> Model {
    let mut model = twins();
    read_all(&mut model, 10, [0, 0, 0]);
    read_all(&mut model, 40, [120_000_000_000, 7_500_000_000, 0]);
    read_all(&mut model, 71, [400_000_000_000, 15_000_000_000, 620]);
    update(&mut model, Message::Gap { target: TargetId::new("esx01"), at: at(75), dropped: 0 });
    read_all(&mut model, 95, [500_000_000_000, 20_000_000_000, 620]);
    read_all(&mut model, 125, [545_000_000_000, 21_000_000_000, 620]);
    update(&mut model, Message::Clock(at(137)));
    model
}

fn graphs(model: &Model, target: &str) -> Vec<live::Graph> {
    live::graphs(model, &TargetId::new(target))
}

#[test]
fn a_host_shows_its_uplinks_as_steps() {
    let mut model = moving();
    let spare = (Entity::Uplink("vmnic9".into()), Attribute::Carrier, Value::Flag(false));
    tell(&mut model, "esx01", "esxi.nics", "", vec![spare]);
    let all = graphs(&model, "esx01");
    let titles: Vec<&str> = all.iter().map(|graph| graph.title.as_str()).collect();
    assert_eq!(titles, ["esx01 vmnic4 vmrdma0", "esx01 vmnic4", "esx01 vmnic4 pause and errors"]);
    // Each mean stands at both ends of its time; over the lost connection nothing is drawn.
    let points = all[0].lines[0].points(&model, at(0), at(137));
    let gigabits = |value: f64| (value / 1e8).round() / 10.0;
    let drawn: Vec<(i64, Option<f64>)> =
        points.iter().map(|(time, value)| (time.duration_since(at(0)).as_secs(), value.map(gigabits))).collect();
    let expected = [(10, 32.0), (40, 32.0), (40, 72.3), (71, 72.3)].map(|(second, value)| (second, Some(value)));
    assert_eq!(drawn[..4], expected);
    assert_eq!(drawn[4..], [(71, None), (95, Some(12.0)), (125, Some(12.0))]);
    act(&mut model, &["panel-live"]);
    insta::assert_snapshot!("host_live_80x24", shown(&mut model, 80, 24));
    insta::assert_snapshot!("host_live_200x50", shown(&mut model, 200, 50));
}

#[test]
fn a_guest_with_pvrdma_shows_the_uplink_behind_it_and_whose_counters_they_are() {
    let mut model = moving();
    let shared: Vec<live::Graph> = graphs(&model, "hpc-a").into_iter().filter(live::Graph::is_shared).collect();
    assert_eq!(shared.len(), 3);
    for graph in &shared {
        let sentence = graph.sentence.as_deref().unwrap_or_default();
        assert!(graph.id.target.as_str() == "esx01" && graph.title.starts_with("esx01 vmnic4"), "{graph:?}");
        assert!(
            sentence.starts_with("all VMs of this uplink; mean of 30 s, ") && sentence.ends_with(" s old"),
            "{sentence}"
        );
    }
    assert!(graphs(&model, "lonely").is_empty(), "a guest of no known host shows none");
    act(&mut model, &["next-target", "next-target", "panel-live"]);
    insta::assert_snapshot!("guest_live_of_its_host_80x24", shown(&mut model, 80, 24));
    insta::assert_snapshot!("guest_live_of_its_host_200x50", shown(&mut model, 200, 50));
    let copied = format!("{:?}", copy::selected(&model, true).expect("values"));
    assert!(copied.contains("esx01 vmnic4 (all VMs of this uplink)  tx  267 Mb/s"), "{copied}");
    act(&mut model, &["evidence"]);
    let evidence = model.screen.evidence().expect("evidence");
    assert_eq!((evidence.reference.target.as_str(), evidence.line), ("esx01", 3));
}

#[test]
fn a_value_grows_old_and_then_is_none() {
    let mut model = moving();
    let tx = |model: &Model, second| graphs(model, "esx01")[0].lines[0].fresh_value(model, at(second));
    assert!(tx(&model, 137).is_some());
    update(&mut model, Message::Clock(at(300)));
    assert_eq!(tx(&model, 300), None, "three times its own length later it says nothing any more");
    let sentence = graphs(&model, "esx01")[0].sentence.clone().expect("a sentence");
    assert!(sentence.contains("not read any more, the last mean is 2 min"), "{sentence}");
    // Under a cursor only what was measured counts: in the gap there is nothing.
    act(&mut model, &["panel-live", "cursor"]);
    assert_eq!((tx(&model, 80), tx(&model, 130)), (None, None));
    assert!(tx(&model, 60).is_some() && tx(&model, 110).is_some());
}

#[test]
fn a_counter_that_was_set_back_is_told_and_one_that_stands_still_proves_nothing() {
    let mut model = twins();
    act(&mut model, &["panel-live"]);
    read_all(&mut model, 10, [500, 500, 0]);
    let sentence = |model: &Model| graphs(model, "esx01")[0].sentence.clone().expect("a sentence");
    assert!(sentence(&model).contains("a rate needs two reads"), "{}", sentence(&model));
    read_all(&mut model, 40, [500, 900, 0]);
    assert!(sentence(&model).contains("none has moved yet"), "{}", sentence(&model));
    // Where nothing is wrong there is no plot, but the words whose counters they are stay.
    let screen = shown(&mut model, 80, 24);
    let quiet = screen.split("pause and errors").nth(1).expect("the graph of trouble");
    assert!(quiet.lines().nth(1).is_some_and(|line| line.contains("all VMs of this uplink; mean of")), "{screen}");
    read_all(&mut model, 70, [20, 900, 0]);
    let told: Vec<&str> = model.events.iter().map(|event| event.text.as_str()).collect();
    assert!(told.contains(&"rdma-device vmrdma0: counters were set back"), "{told:?}");
    assert!(!told.iter().any(|text| text.contains("vmnic4")), "{told:?}");
}

#[test]
fn what_was_saved_earlier_has_no_live_graphs() {
    let mut model = twins();
    // The connection to a file is younger than what it holds.
    let since = at(4000);
    let via = "esx01, saved an hour ago".into();
    let connection = rdmascope::app::Connection::Connected { since, via };
    update(&mut model, Message::Connection { target: TargetId::new("esx01"), at: since, connection });
    read_all(&mut model, 10, [500, 500, 0]);
    assert!(graphs(&model, "esx01").is_empty());
    act(&mut model, &["panel-live"]);
    let screen = shown(&mut model, 80, 24);
    assert!(screen.contains("these values were saved earlier"), "{screen}");
    let of_guest = graphs(&model, "hpc-a");
    assert!(of_guest.iter().any(|graph| graph.sentence.as_deref().is_some_and(|text| text.contains("saved earlier"))));
}
