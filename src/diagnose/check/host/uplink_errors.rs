//! Errors that the adapter counts while it works: a bad cable shows here first.

use super::bearing::{label, moved, names, rdma_uplinks, way};
use crate::diagnose::check::{Check, Exhibit, Judged, Lack, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::{Attribute, Entity, EntityId};
use crate::probe::esxi::statistics::is_label;

/// No errors rise.
pub const CHECK: Check = Check {
    id: "host.uplink-errors",
    title: "The uplink under the VMs' RDMA adapters counts no errors",
    gate: "uplinks that PVRDMA adapters or virtual functions of VMs leave by, whose statistics were read twice",
    rule: "warns if a counter of errors rises; passes if none does",
    source: Source { text: "ESXCLI Command Reference: esxcli network nic stats get", weak: false },
    thresholds: &[],
    explains: &["guest.retransmits", "guest.packet-loss", "host.rdma-errors", "guest.port-errors"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// What adapters count of errors.
const ERRORS: [&str; 13] = [
    "Total receive errors",
    "Receive length errors",
    "Receive over errors",
    "Receive CRC errors",
    "Receive frame errors",
    "Receive FIFO errors",
    "Receive missed errors",
    "Total transmit errors",
    "Transmit aborted errors",
    "Transmit carrier errors",
    "Transmit FIFO errors",
    "Transmit heartbeat errors",
    "Transmit window errors",
];

/// Errors of the wire, as against those of a host that is too slow.
const WIRE: [&str; 4] =
    ["Receive CRC errors", "Receive frame errors", "Receive length errors", "Transmit carrier errors"];

/// Errors of a host that does not take packets fast enough.
const SLOW: [&str; 3] = ["Receive over errors", "Receive FIFO errors", "Receive missed errors"];

/// True if a label is one of these.
pub(super) fn is_one_of(label: &str, meant: &[&str]) -> bool {
    meant.iter().any(|meant| is_label(label, meant))
}

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    rdma_uplinks(scene)
        .iter()
        .filter_map(|used| {
            let (id, host, name) = (&used.id, &used.id.target, used.id.entity.name());
            let counters = moved(scene, host, &name, |label| is_one_of(label, &ERRORS));
            if counters.is_empty() {
                let (lack, why) = unreadable(scene, id, "esxi.nic-stats")?;
                let title = format!("the errors of {name} of {host}: {why}");
                return Some(Judged::unknown(id, lack, title, format!("esxcli network nic stats get -n {name}")));
            }
            let rising: Vec<_> = counters.iter().filter(|(_, moved)| moved.by > 0).collect();
            let Some((_, first)) = rising.first() else {
                return Some(Judged::pass(id, format!("{name} of {host} counts no errors")));
            };
            let labels: Vec<String> = rising.iter().map(|(counter, _)| label(counter)).collect();
            let any = |meant: &[&str]| labels.iter().any(|label| is_one_of(label, meant));
            let (cause, step) = if any(&WIRE) {
                (
                    "packets arrive damaged: a cable, a transceiver, dirt on a fibre, or FEC that the two ends do not share. Each \
                     one is a retransmission of RDMA",
                    format!("exchange cable and transceiver of {name}, look at FEC on the switch port, and see whether the counter stands still"),
                )
            } else if any(&SLOW) {
                (
                    "the adapter has no room for what arrives: the host does not take it fast enough, and nothing held the sender \
                     back. Each one is a retransmission of RDMA",
                    format!("flow control on {name} and its switch port; ring size (esxcli network nic ring current get -n {name}); other load on the uplink"),
                )
            } else {
                (
                    "the adapter counts errors while it works: packets are lost between host and switch",
                    format!("esxcli network nic stats get -n {name} over some minutes under load, with the counters of the switch port beside it"),
                )
            };
            let exhibits = rising.iter().map(|(counter, moved)| {
                let words = format!("{} of {name}: +{} in {} s", label(counter), moved.by, moved.over.as_secs());
                Exhibit::of(counter, Attribute::CounterValue, words)
            });
            let seconds = first.over.as_secs();
            Some(
                Judged::warn(
                    id,
                    Confidence::Proved,
                    format!("{host}: {name} counts errors ({}) within {seconds} s", labels.join(", ")),
                    format!("{cause}. On the way of {}", names(scene, &used.chains)),
                )
                .shown_by(exhibits)
                .cured_by(
                    Cure::by_hand("Find out where packets are damaged", vec![Step::ByHand(step)])
                        .verified_by(&["host.uplink-errors"]),
                )
                .reaching(way(scene, &used.chains)),
            )
        })
        .collect()
}

/// Why the counters of a thing can never be told: their source fails, or the driver has none. `None` where they were just not
/// read twice yet.
pub(super) fn unreadable(scene: &Scene<'_>, id: &EntityId, source: &str) -> Option<(Lack, String)> {
    let whole = EntityId::new(&id.target, Entity::Counter { of: id.entity.name().as_str().into(), name: "*".into() });
    let is_told = scene.fabric.reading(&whole, Attribute::CounterValue).is_some();
    let told = if is_told { scene.lack(&whole, Attribute::CounterValue) } else { None };
    let answers = scene.machines.get(&id.target).map(|machine| &machine.answers)?;
    // A source that was never asked will be.
    told.or_else(|| answers.of(source).and_then(|_| scene.unread(&id.target, source)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;
    use crate::fabric::TargetId;

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || read(&[("Receive CRC errors", 17), ("Total receive errors", 17)]),
        healthy: || read(&[("Receive CRC errors", 0), ("Total receive errors", 0)]),
        unclear: || Site::sound().with("esx02", fails("esxi.nic-stats", 1, "Connect to localhost failed")),
    };

    fn read(moved: &[(&str, u64)]) -> Site {
        moved.iter().fold(Site::sound(), |site, (name, by)| {
            let counter = Entity::Counter { of: "vmnic2".into(), name: (*name).into() };
            site.moved(EntityId::new(&TargetId::new("esx02"), counter), *by, 60)
        })
    }

    #[test]
    fn a_cable_and_a_slow_host_are_told_apart() {
        let told = |name| read(&[(name, 3)]).judge(&CHECK).pop().expect("judged");
        assert!(told("Receive CRC errors").cause.starts_with("packets arrive damaged"));
        assert!(told("Receive missed errors").cause.starts_with("the adapter has no room"));
        let judged = told("Transmit window errors");
        assert_eq!(judged.title, "esx02: vmnic2 counts errors (Transmit window errors) within 60 s");
    }

    #[test]
    fn a_single_read_says_nothing() {
        assert!(Site::sound().judge(&CHECK).is_empty());
    }
}
