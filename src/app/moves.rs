//! VMs that are on another host than before: by vMotion, by DRS, after a restart by HA. Such a VM is named at once, with where
//! it was, where it is, whether its RDMA still works there, and how it gets back.

use std::collections::{BTreeMap, BTreeSet};

use super::condition;
use super::effect::Effect;
use super::events::Event;
use super::format;
use super::host_binding::is_host;
use super::message::Severity;
use super::model::Model;
use crate::diagnose::finding::Status;
use crate::diagnose::qualify::Place;
use crate::fabric::{Attribute, Change, Entity, EntityId, TargetId, Text};

/// On which hosts each VM is known; a VM that is just moving can be on two for a while.
fn places(model: &Model) -> BTreeMap<Text, Vec<TargetId>> {
    let mut places: BTreeMap<Text, Vec<TargetId>> = BTreeMap::new();
    for host in model.order.iter().filter(|target| is_host(model, target)) {
        for entity in model.fabric.of_kind(host, Entity::Vm(Text::new(""))) {
            // Without its UUID a VM has the number that one host gives it, which says nothing on another.
            if let Entity::Vm(uuid) = entity
                && !uuid.starts_with("vmid-")
            {
                places.entry(uuid.clone()).or_default().push(host.clone());
            }
        }
    }
    places
}

/// The host that a VM is on, where that is one alone: a host that is silent says nothing of now.
fn home(model: &Model, hosts: &[TargetId]) -> Option<TargetId> {
    match hosts {
        [only] => Some(only.clone()),
        several => {
            let mut fresh = several.iter().filter(|host| !condition::is_stale(model, host));
            fresh.next().filter(|_| fresh.next().is_none()).cloned()
        }
    }
}

/// Tells of each VM that is on another host since the checks ran before. They ran just now.
pub(super) fn tell(model: &mut Model) {
    for (uuid, hosts) in places(model) {
        let Some(to) = home(model, &hosts) else { continue };
        let from = model.homes.insert(uuid.clone(), to.clone()).filter(|from| *from != to);
        if let Some(from) = from {
            let event = event(model, &from, EntityId::new(&to, Entity::Vm(uuid)));
            if let Some(reference) = &event.evidence {
                model.raw.cite(reference);
            }
            model.events.push(event);
        }
    }
}

/// Hosts to read again, since a VM of theirs just turned up on another one.
pub(super) fn left(model: &Model, changes: &[Change]) -> Vec<Effect> {
    let appeared = changes.iter().filter_map(|change| match change {
        Change::Appeared(id) => Some(id),
        _ => None,
    });
    let left: BTreeSet<&TargetId> = appeared
        .filter_map(|id| match &id.entity {
            Entity::Vm(uuid) => model.homes.get(uuid).filter(|home| **home != id.target),
            _ => None,
        })
        .filter(|home| model.targets.get(*home).is_some_and(|target| target.connection.is_up()))
        .collect();
    left.into_iter().cloned().map(Effect::ReadNow).collect()
}

fn event(model: &Model, from: &TargetId, vm: EntityId) -> Event {
    let diagnosed = model.diagnosed();
    let place = diagnosed.qualification.places.iter().find(|place| place.vm == vm);
    let (severity, text) = said(&format::named(&model.fabric, &vm), from, &vm.target, place);
    let reading = model.fabric.reading(&vm, Attribute::VmName);
    Event {
        number: 0,
        at: model.now,
        target: Some(vm.target.clone()),
        severity,
        text,
        evidence: reading.map(|reading| reading.source.clone()),
        line: reading.map_or(0, |reading| reading.line),
        entity: Some(vm),
    }
}

/// What is said of a move. `place` is where the VM is, if it has RDMA.
fn said(name: &str, from: &TargetId, to: &TargetId, place: Option<&Place>) -> (Severity, String) {
    let moved = format!("{name} moved from {from} to {to}");
    let Some(here) = place.and_then(|place| place.here.as_ref()) else { return (Severity::Info, moved) };
    let why = |status: Status| here.needed(status).map(|cell| cell.says.as_str()).collect::<Vec<_>>().join("; ");
    match here.status() {
        Status::Fail => {
            let back = place.map_or_else(String::new, |place| way_back(place, from));
            let text = format!("{moved}, which does not qualify for RDMA: {}. {back}", why(Status::Fail));
            (Severity::Error, text)
        }
        Status::Unknown => {
            let text = format!("{moved}; whether that host qualifies for RDMA is not known: {}", why(Status::Unknown));
            (Severity::Warning, text)
        }
        _ => (Severity::Info, format!("{moved}, which qualifies for RDMA")),
    }
}

/// How the VM gets RDMA again by another move.
fn way_back(place: &Place, from: &TargetId) -> String {
    let keeps = |host: &TargetId| place.moves.iter().any(|one| one.host == *host && one.keeps == Status::Pass);
    let better = place.moves.iter().find(|one| one.keeps == Status::Pass).map(|one| &one.host);
    let name = &place.name;
    let step = |host: &TargetId| format!("vCenter: {name} > Migrate > Change compute resource only > {host}");
    if keeps(from) {
        format!("Back: {}", step(from))
    } else if let Some(host) = better {
        format!("{from} does not keep its RDMA either; {host} does: {}", step(host))
    } else {
        "No other host of the inventory is known to keep its RDMA".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::connection::Connection;
    use super::super::model::{Options, Target, TargetKind};
    use super::super::{Message, update};
    use super::*;
    use crate::diagnose::check::testing::{Site, says};
    use crate::fabric::Timestamp;

    const CLOSED: &str = "Name       Enabled\n---------  -------\nsshServer     true\npvrdma       false\n";

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a small number")
    }

    fn console() -> Model {
        let targets = ["esx01", "esx02", "pv-a", "pv-b"].map(|name| {
            let kind = if name.starts_with("esx") { TargetKind::Esxi } else { TargetKind::Linux };
            let connection = Connection::Connected { since: second(0), via: Text::new("test") };
            (TargetId::new(name), Target { connection, ..Target::new(kind) })
        });
        Model::new(targets.to_vec(), Options::default(), second(0))
    }

    /// Takes in a site, of the hosts in this order; returns what was asked to be read again.
    fn read(model: &mut Model, site: &Site, at: i64, first: &str) -> Vec<Effect> {
        let (mine, others): (Vec<_>, Vec<_>) =
            site.reports().into_iter().partition(|report| report.target.as_str() == first);
        let mut effects = Vec::new();
        for report in mine.into_iter().chain(others) {
            effects.extend(update(model, Message::Report { at: second(at), report }));
        }
        update(model, Message::Clock(second(at + 3)));
        effects
    }

    fn told(model: &Model) -> Vec<(Severity, String)> {
        let all = model.events.iter().filter(|event| event.text.contains(" moved from "));
        all.map(|event| (event.severity, event.text.clone())).collect()
    }

    #[test]
    fn a_vm_that_moved_is_named_with_both_hosts_whether_the_new_one_qualifies_and_the_way_back() {
        let closed = Site::sound().with("esx01", says("esxi.firewall-rulesets", CLOSED));
        let mut model = console();
        read(&mut model, &closed, 1, "esx01");
        assert_eq!(told(&model), [], "where VMs are first seen they did not move to");
        read(&mut model, &closed, 10, "esx01");
        assert_eq!(told(&model), []);
        read(&mut model, &closed.clone().moving_vms("esx02", "esx01"), 20, "esx02");
        let all = told(&model);
        let of_pv_b: Vec<&(Severity, String)> = all.iter().filter(|(_, text)| text.starts_with("VM pv-b ")).collect();
        let [(severity, text)] = &of_pv_b[..] else { panic!("{all:#?}") };
        assert_eq!(*severity, Severity::Error);
        assert!(text.starts_with("VM pv-b moved from esx02 to esx01, which does not qualify for RDMA: "), "{text}");
        assert!(text.ends_with("Back: vCenter: pv-b > Migrate > Change compute resource only > esx02"), "{text}");
        let event = model.events.iter().find(|event| event.text == *text).expect("it");
        assert!(event.evidence.is_some() && event.target == Some(TargetId::new("esx01")), "{event:?}");
        // And back again, to a host that qualifies.
        read(&mut model, &closed, 30, "esx01");
        let (severity, text) = told(&model).into_iter().rfind(|(_, text)| text.contains("pv-b")).expect("a move");
        assert_eq!(severity, Severity::Info);
        assert_eq!(text, "VM pv-b moved from esx01 to esx02, which qualifies for RDMA");
    }

    #[test]
    fn the_host_that_it_left_is_read_at_once_and_it_is_told_once() {
        let mut model = console();
        read(&mut model, &Site::sound(), 1, "esx01");
        let effects = read(&mut model, &Site::sound().moving_vms("esx02", "esx01"), 20, "esx01");
        assert!(effects.contains(&Effect::ReadNow(TargetId::new("esx02"))), "{effects:?}");
        assert_eq!(told(&model).iter().filter(|(_, text)| text.contains("pv-b")).count(), 1);
    }

    #[test]
    fn a_vm_that_two_hosts_know_did_not_move() {
        let mut model = console();
        read(&mut model, &Site::sound(), 1, "esx01");
        let other = TargetId::new("esx02");
        let both = [TargetId::new("esx01"), other.clone()];
        assert_eq!(home(&model, &both), None);
        // After a host failed, HA starts its VMs on another one: that is where they are.
        let gone = Connection::Failed { problem: super::super::connection::Problem::new("gone", "", "") };
        update(&mut model, Message::Connection { target: other.clone(), at: second(9), connection: gone });
        assert_ne!(home(&model, &both), Some(other));
    }
}
