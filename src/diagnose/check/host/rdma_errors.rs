//! Errors that the RDMA device of the host counts. They are those of all VMs of the uplink.

use super::bearing::{label, moved, names, rdma_of, rdma_uplinks, way};
use super::uplink_errors::{is_one_of, unreadable};
use crate::diagnose::check::{Check, Exhibit, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::fabric::Attribute;

/// No errors rise.
pub const CHECK: Check = Check {
    id: "host.rdma-errors",
    title: "The RDMA device under the VMs' adapters counts no errors",
    gate: "RDMA devices under PVRDMA adapters or virtual functions of VMs, whose statistics were read twice",
    rule: "warns if packets with errors or queue pairs in state ERR or SQE rise; passes if they do not",
    source: Source { text: "ESXCLI Command Reference: esxcli rdma device stats get", weak: true },
    thresholds: &[],
    explains: &["guest.queue-pairs"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

const ERRORS: [&str; 5] = [
    "Error packets received",
    "Error packets sent",
    "Error length packets received",
    "Queue pairs in ERR state",
    "Queue pairs in SQE state",
];

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    rdma_uplinks(scene)
        .iter()
        .filter_map(|used| {
            let device = rdma_of(scene, &used.id)?;
            let (host, name) = (&device.target, device.entity.name());
            let counters = moved(scene, host, &name, |label| is_one_of(label, &ERRORS));
            if counters.is_empty() {
                let (lack, why) = unreadable(scene, &device, "esxi.rdma-stats")?;
                let title = format!("the errors of {name} of {host}: {why}");
                return Some(Judged::unknown(&device, lack, title, format!("esxcli rdma device stats get -d {name}")));
            }
            let rising: Vec<_> = counters.iter().filter(|(_, moved)| moved.by > 0).collect();
            if rising.is_empty() {
                return Some(Judged::pass(&device, format!("{name} of {host} counts no errors")));
            }
            let labels: Vec<String> = rising.iter().map(|(counter, _)| label(counter)).collect();
            let exhibits = rising.iter().map(|(counter, moved)| {
                let words = format!("{} of {name}: +{} in {} s", label(counter), moved.by, moved.over.as_secs());
                Exhibit::of(counter, Attribute::CounterValue, words)
            });
            Some(
                Judged::warn(
                    &device,
                    Confidence::Proved,
                    format!("{host}: {name} counts errors ({})", labels.join(", ")),
                    format!(
                        "connections over this device break or lose packets; the counters are those of all VMs of the uplink: {}",
                        names(scene, &used.chains)
                    ),
                )
                .shown_by(exhibits)
                .decided_by(
                    "the queue pairs of each guest (rdma resource show qp) and its kernel messages: in which of them do they \
                     end in ERR?",
                )
                .reaching(way(scene, &used.chains)),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;
    use crate::fabric::{Entity, EntityId, TargetId};

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || read(12),
        healthy: || read(0),
        unclear: || Site::sound().with("esx02", fails("esxi.rdma-stats", 1, "Connect to localhost failed")),
    };

    fn read(by: u64) -> Site {
        let counter = Entity::Counter { of: "vmrdma0".into(), name: "Queue pairs in ERR state".into() };
        Site::sound().moved(EntityId::new(&TargetId::new("esx02"), counter), by, 60)
    }

    #[test]
    fn a_single_read_and_an_unused_device_say_nothing() {
        assert!(Site::sound().judge(&CHECK).is_empty());
        let counter = Entity::Counter { of: "vmrdma1".into(), name: "Queue pairs in ERR state".into() };
        let site = Site::sound().moved(EntityId::new(&TargetId::new("esx02"), counter), 5, 60);
        assert!(site.judge(&CHECK).is_empty());
    }
}
