//! Which changes are worth an event, and in which words.

use std::collections::BTreeMap;

use super::condition::{self, Gravity};
use super::events::Event;
use super::format;
use super::message::Severity;
use crate::fabric::attribute::Class;
use crate::fabric::{Attribute, Change, Entity, EntityId, Fabric, QueuePairState, Reading, State, Timestamp, Value};

/// What is said of a target that started anew.
pub const REBOOTED: &str = "was rebooted: counters start anew";

/// The events that some changes are worth. Queue pairs that come and go together are one event a process.
pub fn events(fabric: &Fabric, at: Timestamp, changes: &[Change]) -> Vec<Event> {
    let mut events = Vec::new();
    let mut opened: BTreeMap<(EntityId, String), usize> = BTreeMap::new();
    let mut closed: BTreeMap<EntityId, usize> = BTreeMap::new();
    let mut appeared = Vec::new();
    for change in changes.iter().filter(|change| !is_of_container(change)) {
        match change {
            Change::Appeared(id) => {
                appeared.push(id);
                match &id.entity {
                    Entity::QueuePair { .. } => {
                        *opened.entry((device_of(id), owner(fabric, id))).or_default() += 1;
                    }
                    _ => events.extend(appearance(fabric, at, id)),
                }
            }
            Change::Vanished(id) => match &id.entity {
                Entity::QueuePair { .. } => *closed.entry(device_of(id)).or_default() += 1,
                _ => events.extend(disappearance(at, id)),
            },
            // What appears is told as a whole.
            Change::Changed { id, .. } if appeared.contains(&id) => {}
            Change::Changed { id, attribute, before, now } => {
                events.extend(changed(fabric, at, id, *attribute, before.as_ref(), now));
            }
        }
    }
    for ((device, owner), count) in opened {
        let text = format!("{owner} opened {count} queue {} on {}", pairs(count), device.entity.name());
        events.push(event(at, &device, Severity::Info, text, None));
    }
    for (device, count) in closed {
        let text = format!("{count} queue {} closed on {}", pairs(count), device.entity.name());
        events.push(event(at, &device, Severity::Info, text, None));
    }
    events
}

/// How container runtimes and libvirt name the host's ends of their interfaces.
const CONTAINER_PREFIXES: [&str; 8] = ["veth", "cali", "lxc", "cni", "flannel", "cilium", "tap", "vnet"];

/// True for changes of interfaces that come and go with each container: they would push everything else out of sight.
fn is_of_container(change: &Change) -> bool {
    let (Change::Appeared(id) | Change::Vanished(id) | Change::Changed { id, .. }) = change;
    matches!(&id.entity, Entity::Netdev(name) if CONTAINER_PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
}

fn pairs(count: usize) -> &'static str {
    if count == 1 { "pair" } else { "pairs" }
}

fn device_of(id: &EntityId) -> EntityId {
    match &id.entity {
        Entity::QueuePair { device, .. } => EntityId::new(&id.target, Entity::RdmaDevice(device.clone())),
        _ => id.clone(),
    }
}

fn owner(fabric: &Fabric, id: &EntityId) -> String {
    match (fabric.value(id, Attribute::OwnerCommand), fabric.value(id, Attribute::OwnerProcess)) {
        (Some(command), Some(process)) => format!("{command} (pid {process})"),
        (Some(command), None) => command.to_string(),
        (None, Some(process)) => format!("pid {process}"),
        (None, None) => "a process that cannot be seen".to_owned(),
    }
}

fn event(at: Timestamp, id: &EntityId, severity: Severity, text: String, evidence: Option<&Reading<Value>>) -> Event {
    Event {
        number: 0,
        at,
        target: Some(id.target.clone()),
        severity,
        text,
        entity: Some(id.clone()),
        evidence: evidence.map(|reading| reading.source.clone()),
        line: evidence.map_or(0, |reading| reading.line),
    }
}

fn appearance(fabric: &Fabric, at: Timestamp, id: &EntityId) -> Option<Event> {
    match &id.entity {
        Entity::KernelMessage { .. } => {
            let reading = fabric.reading(id, Attribute::Message)?;
            let message = reading.state.known()?;
            let severity = match fabric.text(id, Attribute::Severity) {
                Some("error") => Severity::Error,
                Some("warning") => Severity::Warning,
                _ => Severity::Info,
            };
            Some(event(at, id, severity, format!("kernel: {message}"), Some(reading)))
        }
        Entity::Gid { .. } => {
            let reading = fabric.reading(id, Attribute::GidValue)?;
            let gid = reading.state.known()?;
            Some(event(at, id, Severity::Info, format!("{} is new: {gid}", id.entity), Some(reading)))
        }
        Entity::RdmaDevice(_) | Entity::RdmaPort { .. } | Entity::Netdev(_) | Entity::PciFunction(_) => {
            Some(event(at, id, Severity::Info, format!("{} is new", id.entity), None))
        }
        Entity::Module(name) => Some(event(at, id, Severity::Info, format!("module {name} was loaded"), None)),
        Entity::Package(name) => Some(event(at, id, Severity::Info, format!("package {name} was installed"), None)),
        _ => None,
    }
}

fn disappearance(at: Timestamp, id: &EntityId) -> Option<Event> {
    let severity = match &id.entity {
        Entity::RdmaDevice(_) | Entity::RdmaPort { .. } | Entity::PciFunction(_) => Severity::Error,
        Entity::Netdev(_) | Entity::Gid { .. } | Entity::Module(_) => Severity::Warning,
        Entity::Package(_) | Entity::DeviceNode(_) => Severity::Info,
        _ => return None,
    };
    Some(event(at, id, severity, format!("{} is gone", id.entity), None))
}

fn changed(
    fabric: &Fabric,
    at: Timestamp,
    id: &EntityId,
    attribute: Attribute,
    before: Option<&State<Value>>,
    now: &State<Value>,
) -> Option<Event> {
    // Processes, queue pairs' owners and the like change by themselves; a first value is no change.
    let before = before?;
    if attribute.class() == Class::Measure || matches!(id.entity, Entity::Process(_) | Entity::KernelMessage { .. }) {
        return None;
    }
    if matches!(attribute, Attribute::PhysicalState | Attribute::Carrier | Attribute::AdminUp) {
        // They follow the state that is told already.
        return None;
    }
    if matches!(before, State::Failed(_)) || matches!(now, State::Failed(_)) {
        // A read went wrong, or goes again: nothing is known to have changed.
        return None;
    }
    if attribute == Attribute::BootId {
        let both_known = matches!((before, now), (State::Known(_), State::Known(_)));
        let reading = fabric.reading(id, attribute);
        return both_known.then(|| event(at, id, Severity::Warning, REBOOTED.to_owned(), reading));
    }
    if attribute == Attribute::LinkSpeed {
        // Power management slows an idle PCIe link down and speeds it up again.
        return None;
    }
    if matches!(id.entity, Entity::QueuePair { .. })
        && (attribute != Attribute::QueuePairState
            || *now != State::Known(Value::QueuePairState(QueuePairState::Error)))
    {
        return None;
    }
    let severity = match condition::of_value(attribute, now) {
        Gravity::Bad => Severity::Error,
        Gravity::Warning | Gravity::Stale => Severity::Warning,
        Gravity::Good | Gravity::Neutral | Gravity::Unknown => Severity::Info,
    };
    let what = match id.entity {
        Entity::Guest => attribute.label().to_owned(),
        // Their names say what they are.
        Entity::RdmaPort { .. } | Entity::RdmaDevice(_) | Entity::Netdev(_) => {
            format!("{} {}", id.entity.name(), attribute.label())
        }
        // The news itself has to fit into a narrow list.
        Entity::QueuePair { .. } => format!("QP {}", id.entity.name()),
        _ => format!("{} {}", id.entity, attribute.label()),
    };
    Some(event(
        at,
        id,
        severity,
        format!("{what}: {} -> {}", format::state(attribute, before), format::state(attribute, now)),
        fabric.reading(id, attribute),
    ))
}
