//! Which changes are worth an event, and in which words.

use std::collections::{BTreeMap, BTreeSet};

use super::condition::{self, Gravity};
use super::events::Event;
use super::format;
use super::message::Severity;
use crate::fabric::attribute::Class;
use crate::fabric::{
    Attribute, Change, Entity, EntityId, Fabric, Fact, QueuePairState, Reading, Report, State, Text, Timestamp, Value,
};
use crate::probe::linux::kernel_log::Unstamped;

/// What is said of a target that started anew.
pub const REBOOTED: &str = "was rebooted: counters start anew";

/// The events that some changes are worth. Queue pairs that come and go together are one event a process.
pub fn events(fabric: &Fabric, at: Timestamp, changes: &[Change]) -> Vec<Event> {
    let mut events = Vec::new();
    let mut opened: BTreeMap<(EntityId, String), usize> = BTreeMap::new();
    let mut closed: BTreeMap<EntityId, usize> = BTreeMap::new();
    let mut appeared = BTreeSet::new();
    for change in changes.iter().filter(|change| !is_of_container(change)) {
        match change {
            Change::Appeared(id) => {
                appeared.insert(id);
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
            Change::Changed { id, .. } if appeared.contains(id) => {}
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
        // Without a stamp its number says nothing of whether it is new.
        Entity::KernelMessage { stamp: 0, .. } => None,
        Entity::KernelMessage { .. } => {
            let reading = fabric.reading(id, Attribute::Message)?;
            let message = reading.state.known()?;
            Some(event(at, id, severity_of_message(fabric, id), format!("kernel: {message}"), Some(reading)))
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

fn severity_of_message(fabric: &Fabric, id: &EntityId) -> Severity {
    match fabric.text(id, Attribute::Severity) {
        Some("error") => Severity::Error,
        Some("warning") => Severity::Warning,
        _ => Severity::Info,
    }
}

/// The event of a kernel message without a stamp, which a report that was just taken in tells.
pub fn unstamped(fabric: &Fabric, at: Timestamp, report: &Report, message: &Unstamped) -> Event {
    let text = Text::new(&message.text);
    // The facts keep the first and the last of the same words.
    let says = |fact: &&Fact| {
        fact.attribute == Attribute::Message
            && fact.reading.state.known().and_then(Value::as_text).is_some_and(|said| *said == text)
    };
    let fact = report.facts.iter().rfind(says);
    let id = fact.map(|fact| EntityId::new(&report.target, fact.entity.clone()));
    let times = if message.times > 1 { format!("{} times, ", message.times) } else { String::new() };
    Event {
        number: 0,
        at,
        target: Some(report.target.clone()),
        severity: id.as_ref().map_or(Severity::Info, |id| severity_of_message(fabric, id)),
        text: format!("kernel: {text} ({times}without a time of its own: this is when it was read)"),
        entity: id,
        evidence: report.observations.first().map(|observation| observation.reference()),
        line: message.line,
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
        _ => format!("{} {}", format::named(fabric, id), attribute.label()),
    };
    Some(event(
        at,
        id,
        severity,
        format!("{what}: {} -> {}", format::state(attribute, before), format::state(attribute, now)),
        fabric.reading(id, attribute),
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::model::{Model, Options, Target, TargetKind};
    use super::super::{Message, update};
    use super::*;
    use crate::fabric::{Observation, SourceId, TargetId};
    use crate::probe::linux::kernel_log;

    #[test]
    fn kernel_messages_without_stamps_are_told_as_they_come() {
        let target = TargetId::new("guest-a");
        let at = |second| Timestamp::from_second(second).expect("a small number");
        let targets = vec![(target.clone(), Target::new(TargetKind::Linux))];
        let mut model = Model::new(targets, Options::default(), at(0));
        let mut read = |second: i64, log: &str| {
            let observation = Observation {
                target: target.clone(),
                sequence: second.unsigned_abs(),
                ..Observation::of_text("linux.dmesg", log)
            };
            let observations = vec![Arc::new(observation)];
            let facts = (kernel_log::PROBE.parse)(&observations);
            let probe = SourceId::new(kernel_log::PROBE.name);
            let report = Report { target: target.clone(), probe, observations, facts };
            let known = model.events.len();
            update(&mut model, Message::Report { at: at(second), report });
            let told = model.events.iter().skip(known);
            told.map(|event| (event.at, event.severity, event.line, event.text.clone())).collect::<Vec<_>>()
        };
        let xid = "NVRM: Xid (PCI:0000:01:00): 79, fallen off the bus";
        assert!(read(1, "mlx5_core one\nmlx5_core two\n").is_empty(), "what was there is no event");
        assert!(read(2, "mlx5_core one\nmlx5_core two\n").is_empty());
        let untimed = |text: &str| format!("kernel: {text} (without a time of its own: this is when it was read)");
        assert_eq!(
            read(3, &format!("mlx5_core two\n{xid}\nmlx5_core one\n")),
            [(at(3), Severity::Error, 2, untimed(xid)), (at(3), Severity::Info, 3, untimed("mlx5_core one"))],
        );
        let again = read(4, &format!("{xid}\nmlx5_core one\n{xid}\n{xid}\n[   12.345678] mlx5_core late\n"));
        let texts: Vec<&str> = again.iter().map(|(.., text)| text.as_str()).collect();
        assert_eq!(texts[0], "kernel: mlx5_core late", "{texts:?}");
        assert!(texts[1].ends_with("(2 times, without a time of its own: this is when it was read)"), "{texts:?}");
        assert_eq!(texts.len(), 2, "{texts:?}");
    }
}
