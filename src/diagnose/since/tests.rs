//! What changed on a site, and which cause stands on it.

use super::*;
use crate::diagnose::cause::diagnose;
use crate::diagnose::check::testing::{Site, says};
use crate::diagnose::correlate::weigh_changes;
use crate::fabric::{Fact, ObservationRef, Reading, Report, SourceId, Text};

const CLOSED: &str = "Name       Enabled\n---------  -------\nsshServer     true\npvrdma       false\n";
const OPEN: &str = "Name       Enabled\n---------  -------\nsshServer     true\npvrdma        true\n";

fn targets() -> Vec<TargetId> {
    ["esx01", "esx02", "pv-a", "pv-b"].into_iter().map(TargetId::new).collect()
}

fn compared(before: &Fabric, after: &Fabric, partly: &[TargetId]) -> Since {
    let at = targets().into_iter().map(|id| (id, Timestamp::UNIX_EPOCH)).collect();
    let whole: Vec<TargetId> = targets().into_iter().filter(|id| !partly.contains(id)).collect();
    since(before, after, &at, &whole, partly)
}

fn told(since: &Since) -> Vec<String> {
    let word = |what: &What| match what {
        What::Value(one) => one.attribute.name(),
        What::Appeared(_) => "new",
        What::Gone(_) => "gone",
        What::Moved(_) => "moved",
    };
    since.changes.iter().map(|one| format!("{} {}", one.what.about(), word(&one.what))).collect()
}

fn open() -> Site {
    Site::sound().with("esx02", says("esxi.firewall-rulesets", OPEN))
}

/// The site with two changes: one that breaks PVRDMA, and one that does not matter to it.
fn broken() -> Site {
    Site::sound().with("esx02", says("esxi.firewall-rulesets", CLOSED)).replacing(
        "pv-a",
        "linux.netdev-files",
        "ens160/mtu:1500",
        "ens160/mtu:1400",
    )
}

#[test]
fn what_a_cause_stands_on_comes_first_and_speaks_for_it() {
    let (before, after) = (open(), broken());
    let mut found = compared(before.fabric(), after.fabric(), &[]);
    let mut diagnosis = diagnose(after.examine(), after.fabric());
    let cause = |diagnosis: &Diagnosis| {
        let one = diagnosis.causes.iter().find(|cause| cause.found.check.id == "host.pvrdma-ruleset");
        one.cloned().expect("the ruleset is closed")
    };
    let items = cause(&diagnosis).found.judged.evidence.len();
    weigh_changes(&found, &mut diagnosis, |one| format!("changed: {}", one.what.about()));
    found.arrange(&diagnosis);
    let order = told(&found);
    assert_eq!(order[0], "esx02 ruleset pvrdma ruleset-enabled", "{order:?}");
    assert!(order.iter().any(|line| line == "pv-a netdev ens160 mtu"), "{order:?}");
    assert_eq!(found.changes[0].near.map(|(near, _)| near), Some(Nearness::Evidence));
    let evidence = cause(&diagnosis).found.judged.evidence;
    assert_eq!(evidence.len(), items + 1);
    let last = evidence.last().expect("the change");
    assert_eq!(last.says, "changed: esx02 ruleset pvrdma");
    assert_eq!(last.attribute, Some(Attribute::RulesetEnabled), "it leads to the line of now");
}

#[test]
fn of_equal_causes_the_one_that_changed_last_comes_first() {
    let before = Site::sound().with("esx01", says("esxi.firewall-rulesets", OPEN));
    let before = before.with("esx02", says("esxi.firewall-rulesets", OPEN));
    let after = Site::sound().with("esx01", says("esxi.firewall-rulesets", CLOSED));
    let after = after.with("esx02", says("esxi.firewall-rulesets", CLOSED));
    let hosts = |seen: [Option<i64>; 2]| {
        let mut found = compared(before.fabric(), after.fabric(), &[]);
        found.changes.retain(|one| one.what.attribute() == Some(Attribute::RulesetEnabled));
        for one in &mut found.changes {
            let second = seen[usize::from(one.what.about().target.as_str() == "esx02")];
            one.seen = second.map(|second| Timestamp::from_second(second).expect("a small number"));
        }
        let mut diagnosis = diagnose(after.examine(), after.fabric());
        // What one of them explains beyond the other would make it the likelier.
        diagnosis.causes.iter_mut().for_each(|cause| cause.symptoms.clear());
        weigh_changes(&found, &mut diagnosis, |_| String::new());
        let causes = diagnosis.causes.iter().filter(|cause| cause.found.check.id == "host.pvrdma-ruleset");
        causes.map(|cause| cause.found.judged.subject.target.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(hosts([None, None]), ["esx01", "esx02"], "in the order of before");
    assert_eq!(hosts([None, Some(9)]), ["esx02", "esx01"]);
    assert_eq!(hosts([Some(10), Some(9)]), ["esx01", "esx02"]);
}

#[test]
fn a_vm_that_moved_is_one_change_and_not_that_of_its_devices() {
    let (before, after) = (Site::sound(), Site::sound().moving_vms("esx02", "esx01"));
    let found = compared(before.fabric(), after.fabric(), &[]);
    let order = told(&found);
    assert!(order.iter().any(|line| line.starts_with("esx01 vm ") && line.ends_with(" moved")), "{order:?}");
    let of_vms = |line: &&String| line.contains(" vm ") || line.contains(" vm-device ");
    assert!(order.iter().filter(of_vms).all(|line| line.ends_with(" moved")), "{order:?}");
}

#[test]
fn of_a_target_that_was_read_in_part_nothing_is_gone() {
    let (before, after) = (open(), broken().without("esx02", "esxi.firewall-rulesets"));
    let esx02 = TargetId::new("esx02");
    let whole = told(&compared(before.fabric(), after.fabric(), &[]));
    assert!(whole.iter().any(|line| line == "esx02 ruleset pvrdma gone"), "{whole:?}");
    let partly = told(&compared(before.fabric(), after.fabric(), std::slice::from_ref(&esx02)));
    assert!(!partly.iter().any(|line| line.starts_with("esx02")), "{partly:?}");
}

fn fabric(entity: &Entity, attribute: Attribute, value: Value) -> Fabric {
    let target = TargetId::new("pv-a");
    let source = ObservationRef { target: target.clone(), source: SourceId::new("s"), sequence: 1 };
    let reading = Reading { state: State::Known(value), at: Timestamp::UNIX_EPOCH, source, line: 1 };
    let facts = vec![Fact { entity: entity.clone(), attribute, reading }];
    let mut fabric = Fabric::default();
    fabric.apply(&Report { target, probe: SourceId::new("p"), observations: Vec::new(), facts });
    fabric
}

#[test]
fn shapes_and_secrets_are_no_changes() {
    let netdev = Entity::Netdev("ens1".into());
    let of = |entity: &Entity, one: Value, other: Value| {
        let attribute = Attribute::Mtu;
        told(&compared(&fabric(entity, attribute, one), &fabric(entity, attribute, other), &[]))
    };
    assert!(of(&netdev, Value::Signed(5), Value::Count(5)).is_empty(), "it went through a file");
    assert_eq!(of(&netdev, Value::Count(5), Value::Count(6)), ["pv-a netdev ens1 mtu"]);
    let text = |text: &str| Value::Text(Text::new(text));
    assert!(of(&netdev, text("a"), text("snmp Community x")).is_empty());
    let variable = Entity::Variable("HPC_TOKEN".into());
    assert!(of(&variable, text("a"), text("b")).is_empty());
    assert!(may_be_secret("--Password=x") && !may_be_secret("/sys/class/net/ens192/mtu:9000"));
}
