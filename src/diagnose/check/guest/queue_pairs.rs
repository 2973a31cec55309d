//! Queue pairs that are broken: their connection failed, and their program was told.

use std::collections::BTreeMap;

use super::ask;
use crate::diagnose::check::{Check, Judged, Lack, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::fabric::{Attribute, Entity, EntityId, QueuePairState, TargetId, Value};

/// No queue pair is in error.
pub const CHECK: Check = Check {
    id: "guest.queue-pairs",
    title: "No queue pair is in an error state",
    gate: "guests of which at least one queue pair is seen",
    rule: "warns if a queue pair is in ERR or SQE",
    source: Source { text: "iproute2 rdma-resource(8); InfiniBand specification: queue pair states", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    scene.guests().flat_map(|guest| judge_guest(scene, guest)).collect()
}

fn judge_guest(scene: &Scene<'_>, guest: &TargetId) -> Vec<Judged> {
    let devices = ask::devices_of(scene, guest);
    if let (Some(device), Some((lack, why))) = (devices.first(), scene.unread(guest, "linux.queue-pairs")) {
        return match lack {
            // A login that may not look is told once, by the check of privileges.
            Lack::NotObservable => Vec::new(),
            _ => vec![Judged::unknown(device, lack, format!("{guest}: {why}"), "rdma res show qp")],
        };
    }
    let mut of_device: BTreeMap<EntityId, (usize, Vec<EntityId>)> = BTreeMap::new();
    for entity in scene.fabric.of_kind(guest, Entity::QueuePair { device: "".into(), port: None, number: 0 }) {
        let Entity::QueuePair { device, .. } = entity else { continue };
        let id = EntityId::new(guest, entity.clone());
        let (seen, broken) = of_device.entry(EntityId::new(guest, Entity::RdmaDevice(device.clone()))).or_default();
        *seen += 1;
        if matches!(
            scene.value(&id, Attribute::QueuePairState),
            Some(Value::QueuePairState(QueuePairState::Error | QueuePairState::SendQueueError))
        ) {
            broken.push(id);
        }
    }
    of_device.iter().map(|(device, (seen, broken))| judge_device(scene, device, *seen, broken)).collect()
}

fn judge_device(scene: &Scene<'_>, device: &EntityId, seen: usize, broken: &[EntityId]) -> Judged {
    let guest = &device.target;
    let name = device.entity.name();
    if broken.is_empty() {
        return Judged::pass(device, format!("{guest}: none of {seen} queue pairs of {name} is in error"));
    }
    let mut owners: Vec<&str> = broken.iter().filter_map(|id| scene.text(id, Attribute::OwnerCommand)).collect();
    owners.sort_unstable();
    owners.dedup();
    let of = if owners.is_empty() { String::new() } else { format!(" of {}", owners.join(", ")) };
    let plural = if broken.len() == 1 { "queue pair" } else { "queue pairs" };
    let mut judged = Judged::warn(
        device,
        Confidence::Likely,
        format!("{guest}: {} {plural}{of} on {name} in error", broken.len()),
        "a queue pair goes to ERR when its retries are used up, when the peer goes away or refuses a request, or when its program \
         ends; all its requests are flushed, and the program must make a new connection",
    )
    .decided_by("the message of the program: status 12 (retry exceeded) speaks of the path, 10 and 11 of the program, 13 of a slow receiver");
    for id in broken.iter().take(4) {
        judged = judged.shown(id, Attribute::QueuePairState, format!("queue pair {}", id.entity.name()));
    }
    let ports = scene.ports(guest);
    let own = ports.iter().filter(|port| port.device == *device).flat_map(|port| ask::way(scene, port));
    // A connection breaks at either of its ends: what is wrong on the way to the other one breaks it, too.
    let others = ask::facing(scene)
        .into_iter()
        .flatten()
        .filter(|facing| [&facing.one, &facing.other].into_iter().any(|port| port.device == *device));
    let others: Vec<EntityId> = others.flat_map(|facing| facing.way(scene)).collect();
    judged.reaching(own.chain(others))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || {
            Site::sound().replacing(
                "pv-a",
                "linux.queue-pairs",
                "\"rqpn\":181,\"type\":\"RC\",\"state\":\"RTS\"",
                "\"rqpn\":181,\"type\":\"RC\",\"state\":\"ERR\"",
            )
        },
        healthy: Site::sound,
        unclear: || Site::sound().with("pv-a", fails("linux.queue-pairs", 124, "timeout")),
    };

    #[test]
    fn owners_and_numbers_are_named() {
        let judged = (SAMPLES.trouble)().judge(&CHECK);
        let warned = judged.iter().find(|judged| judged.status == Status::Warn).expect("a warning");
        assert_eq!(warned.title, "pv-a: 1 queue pair of IMB-MPI1 on rocep11s0f1 in error");
        assert!(warned.evidence[0].says.ends_with("rocep11s0f1/144"), "{:?}", warned.evidence);
    }

    #[test]
    fn connections_that_are_being_made_are_no_error() {
        let site = Site::sound().replacing("pv-a", "linux.queue-pairs", "\"state\":\"RTS\"", "\"state\":\"RTR\"");
        assert!(site.statuses(&CHECK).iter().all(|status| *status == Status::Pass));
    }
}
