//! The ranking of causes, on findings made for it.

use super::*;
use crate::diagnose::check::Source;
use crate::diagnose::check::testing::{Samples, Site};
use crate::fabric::{Entity, Observation, Report, TargetId};

const fn check(id: &'static str, explains: &'static [&'static str]) -> Check {
    Check {
        id,
        title: "",
        gate: "",
        rule: "",
        source: Source { text: "", weak: false },
        thresholds: &[],
        explains,
        judge: |_| Vec::new(),
        samples: Samples { says: Status::Fail, trouble: Site::new, healthy: Site::new, unclear: Site::new },
    }
}

static WIRE: Check = check("switch.wire", &["host.uplink", "guest.port"]);
static UPLINK: Check = check("host.uplink", &["guest.port"]);
static PORT: Check = check("guest.port", &["guest.pairs"]);
static PAIRS: Check = check("guest.pairs", &["guest.port"]);
static DRIVER: Check = check("guest.driver", &["guest.port"]);
static CLOCK: Check = check("guest.clock", &[]);
static ONE: Check = check("guest.one", &["guest.two"]);
static TWO: Check = check("guest.two", &["guest.three"]);
static THREE: Check = check("guest.three", &["guest.one"]);

fn thing(name: &str) -> EntityId {
    EntityId::new(&TargetId::new("t"), Entity::Netdev(name.into()))
}

fn found(check: &'static Check, judged: Judged) -> Found {
    Found { check, judged }
}

/// A failure of a thing with so many items for it.
fn fails(check: &'static Check, name: &str, confidence: Confidence, items: usize) -> Found {
    let attributes = [Attribute::Mtu, Attribute::Speed, Attribute::Carrier, Attribute::AdminUp];
    let about = thing(name);
    let judged = attributes
        .into_iter()
        .take(items)
        .fold(Judged::fail(&about, confidence, "title", "cause"), |judged, attribute| {
            judged.shown(&about, attribute, "says")
        });
    found(check, judged)
}

fn reaching(mut one: Found, names: &[&str]) -> Found {
    one.judged.reaches = names.iter().map(|name| thing(name)).collect();
    one
}

/// The causes in their order, each with its symptoms: `host.uplink > guest.port guest.pairs`.
fn told(diagnosis: &Diagnosis) -> Vec<String> {
    let id = |found: &Found| found.check.id.to_owned();
    let told = |cause: &Cause| {
        let symptoms: Vec<String> = cause.symptoms.iter().map(id).collect();
        if symptoms.is_empty() { id(&cause.found) } else { format!("{} > {}", id(&cause.found), symptoms.join(" ")) }
    };
    diagnosis.causes.iter().map(told).collect()
}

fn causes(found: Vec<Found>) -> Vec<String> {
    told(&diagnose(found, &Fabric::default()))
}

#[test]
fn the_surest_comes_first_then_what_has_more_for_it() {
    let all = vec![
        fails(&CLOCK, "possible", Confidence::Possible, 4),
        fails(&UPLINK, "likely with one", Confidence::Likely, 1),
        fails(&WIRE, "proved", Confidence::Proved, 1),
        fails(&PORT, "likely with three", Confidence::Likely, 3),
    ];
    assert_eq!(causes(all), ["switch.wire", "guest.port", "host.uplink", "guest.clock"]);
    let warning = |confidence| {
        let judged = Judged::warn(&thing("w"), confidence, "title", "cause").shown(&thing("w"), Attribute::Mtu, "says");
        found(&CLOCK, judged)
    };
    let likely = fails(&UPLINK, "u", Confidence::Likely, 1);
    assert_eq!(causes(vec![warning(Confidence::Likely), likely.clone()]), ["host.uplink", "guest.clock"]);
    assert_eq!(causes(vec![likely, warning(Confidence::Proved)]), ["guest.clock", "host.uplink"]);
}

#[test]
fn one_fact_told_twice_is_one_item() {
    let mut twice = fails(&UPLINK, "u", Confidence::Likely, 1);
    twice.judged.evidence.extend(twice.judged.evidence.clone());
    let two = fails(&CLOCK, "c", Confidence::Likely, 2);
    assert_eq!(causes(vec![twice, two]), ["guest.clock", "host.uplink"]);
}

#[test]
fn what_speaks_against_it_counts_last() {
    let mut doubtful = fails(&UPLINK, "u", Confidence::Likely, 2);
    doubtful.judged.against.push(Exhibit::thing(&thing("u"), "it answers"));
    assert_eq!(causes(vec![doubtful, fails(&CLOCK, "c", Confidence::Likely, 2)]), ["guest.clock", "host.uplink"]);
}

#[test]
fn nothing_is_proved_that_something_speaks_against() {
    let mut doubtful = fails(&UPLINK, "u", Confidence::Proved, 1);
    doubtful.judged.against.push(Exhibit::thing(&thing("u"), "it answers"));
    let diagnosis = diagnose(vec![doubtful], &Fabric::default());
    assert_eq!(diagnosis.causes[0].found.judged.confidence, Confidence::Likely);
}

#[test]
fn a_symptom_folds_under_what_explains_it_on_its_way() {
    let wire = |reach: &[&str]| reaching(fails(&WIRE, "wire", Confidence::Likely, 1), reach);
    let port = || fails(&PORT, "port", Confidence::Proved, 1);
    assert_eq!(causes(vec![wire(&["port"]), port()]), ["switch.wire > guest.port"]);
    assert_eq!(causes(vec![wire(&["other"]), port()]), ["guest.port", "switch.wire"], "it is on another way");
    let clock = fails(&CLOCK, "port", Confidence::Likely, 1);
    assert_eq!(causes(vec![clock, port()]), ["guest.port", "guest.clock"], "it explains nothing of the kind");
}

#[test]
fn a_chain_of_explanations_folds_under_its_first_link() {
    let uplink = reaching(fails(&UPLINK, "uplink", Confidence::Proved, 1), &["port"]);
    let port = reaching(fails(&PORT, "port", Confidence::Proved, 1), &["pairs"]);
    let pairs = fails(&PAIRS, "pairs", Confidence::Proved, 1);
    assert_eq!(causes(vec![pairs, port, uplink]), ["host.uplink > guest.pairs guest.port"]);
}

#[test]
fn of_two_causes_the_surer_takes_the_symptom() {
    let other = reaching(fails(&DRIVER, "driver", Confidence::Possible, 1), &["port"]);
    let uplink = reaching(fails(&UPLINK, "uplink", Confidence::Likely, 1), &["port"]);
    let port = fails(&PORT, "port", Confidence::Proved, 1);
    assert_eq!(causes(vec![other, uplink, port]), ["host.uplink > guest.port", "guest.driver"]);
}

#[test]
fn a_circle_that_something_else_explains_folds_under_that() {
    let driver = reaching(fails(&DRIVER, "driver", Confidence::Possible, 1), &["port"]);
    let port = reaching(fails(&PORT, "port", Confidence::Proved, 1), &["pairs"]);
    let pairs = fails(&PAIRS, "pairs", Confidence::Proved, 1);
    assert_eq!(causes(vec![pairs, port, driver]), ["guest.driver > guest.pairs guest.port"]);
}

#[test]
fn in_a_circle_the_surest_is_the_cause() {
    let port = || reaching(fails(&PORT, "port", Confidence::Proved, 1), &["pairs"]);
    let pairs = |confidence| fails(&PAIRS, "pairs", confidence, 1);
    assert_eq!(causes(vec![pairs(Confidence::Likely), port()]), ["guest.port > guest.pairs"]);
    let mut unsure = port();
    unsure.judged.confidence = Confidence::Possible;
    assert_eq!(causes(vec![unsure, pairs(Confidence::Likely)]), ["guest.pairs > guest.port"]);
    let of_three = |order: [(&'static Check, Confidence); 3]| {
        causes(order.into_iter().map(|(check, confidence)| fails(check, "same", confidence, 1)).collect())
    };
    let (proved, likely, possible) = (Confidence::Proved, Confidence::Likely, Confidence::Possible);
    assert_eq!(of_three([(&THREE, likely), (&TWO, possible), (&ONE, proved)]), ["guest.one > guest.three guest.two"]);
    assert_eq!(of_three([(&ONE, possible), (&TWO, proved), (&THREE, likely)]), ["guest.two > guest.one guest.three"]);
    assert_eq!(of_three([(&ONE, likely), (&TWO, possible), (&THREE, proved)]), ["guest.three > guest.one guest.two"]);
}

#[test]
fn a_cause_is_as_grave_as_what_it_explains() {
    let mild = Judged::warn(&thing("uplink"), Confidence::Likely, "title", "cause")
        .shown(&thing("uplink"), Attribute::Mtu, "says")
        .reaching([thing("port")]);
    let all = vec![
        fails(&CLOCK, "c", Confidence::Likely, 1),
        found(&UPLINK, mild),
        fails(&PORT, "port", Confidence::Likely, 1),
    ];
    assert_eq!(causes(all), ["host.uplink > guest.port", "guest.clock"]);
}

#[test]
fn only_trouble_has_causes_and_nothing_gets_lost() {
    let all = vec![
        found(&CLOCK, Judged::pass(&thing("a"), "fine")),
        found(&PORT, Judged::info(&thing("b"), "worth knowing", "why")),
        fails(&UPLINK, "uplink", Confidence::Likely, 1),
    ];
    let diagnosis = diagnose(all, &Fabric::default());
    assert_eq!((diagnosis.causes.len(), diagnosis.rest.len(), diagnosis.findings().count()), (1, 2, 3));
}

/// A fabric in which each of these probes tells this carrier of an interface.
fn told_by(probes: &[(&str, bool)]) -> Fabric {
    let mut fabric = Fabric::default();
    for (probe, carrier) in probes {
        let mut observation = Observation::of_text(probe, "");
        observation.target = TargetId::new("t");
        let facts = vec![observation.known(Entity::Netdev("eth1".into()), Attribute::Carrier, *carrier, 3)];
        fabric.apply(&Report { target: TargetId::new("t"), probe: (*probe).into(), observations: vec![], facts });
    }
    fabric
}

#[test]
fn two_probes_that_disagree_are_shown_and_prove_nothing() {
    let down = || {
        let judged = Judged::fail(&thing("eth1"), Confidence::Proved, "title", "cause");
        vec![found(&UPLINK, judged.shown(&thing("eth1"), Attribute::Carrier, "no carrier"))]
    };
    let agreed = diagnose(down(), &told_by(&[("linux.a", false), ("linux.b", false)]));
    assert_eq!(agreed.contradictions, []);
    assert_eq!(agreed.causes[0].found.judged.confidence, Confidence::Proved);
    let fabric = told_by(&[("linux.a", true), ("linux.b", false)]);
    let diagnosis = diagnose(down(), &fabric);
    let [contradiction] = &diagnosis.contradictions[..] else { panic!("{:?}", diagnosis.contradictions) };
    let says: Vec<&str> = contradiction.opinions.iter().map(|one| one.says.as_str()).collect();
    assert_eq!(says, ["linux.b says: no carrier", "linux.a says carrier yes"]);
    let judged = &diagnosis.causes[0].found.judged;
    assert_eq!((judged.confidence, judged.against.len()), (Confidence::Likely, 1));
    assert!(judged.decide.contains("two probes disagree on carrier"), "{}", judged.decide);
    let reading = crate::diagnose::document::reading_of(&judged.against[0], &fabric).expect("its own word");
    assert_eq!(reading.source.source.as_str(), "linux.a");
}

#[test]
fn other_words_for_the_same_are_no_contradiction() {
    let text = |text: &str| Value::from(text);
    let differ = |one: &Value, other: &Value| differ(Attribute::SettingValue, one, other);
    assert!(!differ(&text("Up"), &text("up ")) && differ(&text("up"), &text("down")));
    assert!(!differ(&Value::List(vec!["b".into(), "a".into()]), &Value::List(vec!["a".into(), "b".into()])));
    assert!(!differ(&text("9000"), &Value::Count(9000)), "another shape");
    assert!(differ(&Value::Count(1500), &Value::Count(9000)));
}

#[test]
fn that_there_is_no_rdma_is_the_same_with_and_without_the_reason() {
    let presence =
        |one: &str, other: &str| super::differ(Attribute::RdmaPresence, &Value::from(one), &Value::from(other));
    let unloaded = "no RDMA: the kernel's RDMA core (ib_core) is not loaded";
    assert!(!presence("no RDMA device", unloaded) && !presence(unloaded, "no RDMA device"));
    assert!(presence("1 device, 1 port", unloaded) && presence("1 device, 1 port", "2 devices, 2 ports"));
}
