//! What the checks said of a host when they ran last, as rows: what it is, what shows it, what follows from it.

use super::super::condition::Gravity;
use super::super::diagnosis::{gravity, shown};
use super::super::model::Model;
use super::super::table::{Cell, Row, RowKey};
use super::super::vm_devices;
use crate::diagnose::cause::Found;
use crate::diagnose::finding::{Confidence, Status};
use crate::fabric::{Entity, EntityId, TargetId};

/// What the checks found to be wrong, and whether it is a cause or follows from one.
pub(super) fn troubles(model: &Model) -> Vec<(Found, bool)> {
    let diagnosed = model.diagnosed();
    let causes = diagnosed.diagnosis.causes.iter();
    let all = causes.flat_map(|cause| {
        std::iter::once((cause.found.clone(), true)).chain(cause.symptoms.iter().map(|found| (found.clone(), false)))
    });
    all.filter(|(found, _)| {
        let judged = &found.judged;
        // What is only possible, and no failure, stands in *Wizard*.
        judged.status == Status::Fail || (judged.status == Status::Warn && judged.confidence != Confidence::Possible)
    })
    .collect()
}

/// What the checks of hosts found on a host, causes first.
pub(super) fn of_host(model: &Model, host: &TargetId) -> Vec<(Found, Row)> {
    let mut own: Vec<(Found, bool)> = troubles(model)
        .into_iter()
        .filter(|(found, _)| found.check.layer() == "host" && found.judged.subject.target == *host)
        .collect();
    own.sort_by_key(|(_, is_cause)| !is_cause);
    own.into_iter().map(|(found, _)| (found.clone(), row(model, &found))).collect()
}

/// That the host of a VM does not qualify for its PVRDMA adapters.
pub(in crate::app) fn of_vm(model: &Model, vm: &EntityId) -> Vec<Row> {
    let is_meant = |found: &Found| found.check.id == "vm.host-qualifies" && found.judged.subject == *vm;
    let own = troubles(model).into_iter().filter(|(found, _)| is_meant(found));
    own.map(|(found, _)| Row { label: "RDMA for PVRDMA".into(), ..row(model, &found) }).collect()
}

/// What a thing is called at the left of its row.
fn label(model: &Model, id: &EntityId) -> String {
    match &id.entity {
        Entity::Host => "host".to_owned(),
        Entity::AdvancedSetting(path) => path.as_str().trim_start_matches('/').replace('/', "."),
        Entity::Ruleset(name) => format!("ruleset {name}"),
        Entity::Vm(_) => vm_devices::name(model, id),
        other => other.name(),
    }
}

fn row(model: &Model, found: &Found) -> Row {
    let judged = &found.judged;
    let source = judged.evidence.first().and_then(|first| shown(model, first, Gravity::Bad).source);
    let mut cells = vec![Cell { source, ..Cell::said(&judged.title, gravity(judged.status)) }];
    for exhibit in &judged.evidence {
        cells.push(Cell { text: exhibit.says.clone(), ..shown(model, exhibit, Gravity::Neutral) });
    }
    if !judged.cause.is_empty() {
        cells.push(Cell::said(&judged.cause, Gravity::Neutral));
    }
    let key = RowKey::Entity(judged.subject.entity.clone(), found.check.id.into());
    Row { key, label: label(model, &judged.subject), cells }
}
