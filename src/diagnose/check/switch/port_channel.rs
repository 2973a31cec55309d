//! The port of a PVRDMA uplink is no member of a bundle.

use super::cures;
use super::ports::{missing, system_of, wired};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk};
use crate::fabric::{Attribute, State};

/// No bundle.
pub const CHECK: Check = Check {
    id: "switch.port-channel",
    title: "The switch port of a PVRDMA uplink is in no port channel",
    gate: "ports of switches into which uplinks of PVRDMA adapters are plugged",
    rule: "fails if the port is a member of a port channel; passes if it is not",
    source: Source {
        text: "vSphere Networking: PVRDMA Support (one uplink, no NIC teaming); KB 382163 (no link aggregation for RDMA)",
        weak: false,
    },
    thresholds: &[],
    explains: &["host.lag", "guest.transport", "guest.neighbour", "guest.queue-pairs"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let judged = wired(scene).into_iter().filter_map(|wired| {
        if !wired.chains.iter().any(|chain| chain.is_pvrdma()) {
            return None;
        }
        let (port, name) = (&wired.port, wired.name());
        let channel = match scene.fabric.reading(port, Attribute::PortChannel).map(|reading| &reading.state) {
            Some(State::Known(channel)) => channel.to_string(),
            Some(State::Empty) => return Some(Judged::pass(port, format!("{name} is in no port channel"))),
            // A port that is read names its bundle, or is in none.
            _ if scene.value(port, Attribute::OperationalState).is_some() => {
                return Some(Judged::pass(port, format!("{name} is in no port channel")));
            }
            _ => {
                let (lack, why, decide) = missing(scene, &wired, Attribute::PortChannel, "interfaces");
                return Some(Judged::unknown(port, lack, format!("whether {name} is in a port channel: {why}"), decide));
            }
        };
        let (steps, undo) = cures::leave_bundle(system_of(scene, &port.target), port, &channel);
        Some(
            Judged::fail(
                port,
                Confidence::Proved,
                format!("{name}, the port of {}, is a member of {channel}", wired.host()),
                "PVRDMA takes exactly one uplink without teaming: the switch spreads frames over the members of the bundle, and what \
                 arrives at another member never reaches the RDMA device; with LACP and no partner the port forwards nothing at all",
            )
            .shown(port, Attribute::PortChannel, format!("{} is in {channel}", port.entity.name()))
            .cured_by(
                Cure::on(&port.target, "Take the port out of the bundle", Risk::DisruptsRdma, steps)
                    .undone_by(undo, vec![(port.clone(), Attribute::PortChannel)])
                    .verified_by(&["switch.port-channel", "switch.vlan"])
                    .noting("the mode of the bundle is not read: the way back assumes LACP; VLANs of the bundle must be set on the port"),
            )
            .reaching(wired.way(scene)),
        )
    });
    judged.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || {
            with(
                "\"description\": \"esx02 vmnic2\",\n            \"interfaceMembership\": \"Member of Port-Channel10\"",
            )
        },
        healthy: || with("\"description\": \"esx02 vmnic2, not in Port-Channel10\""),
        unclear: || Site::sound().with("leaf1", fails("eos.interfaces", 1, "Connection timed out")),
    };

    fn with(text: &str) -> Site {
        Site::sound().replacing("leaf1", "eos.interfaces", "\"description\": \"esx02 vmnic2\"", text)
    }

    #[test]
    fn the_way_back_names_the_bundle() {
        let judged = (SAMPLES.trouble)().judge(&CHECK);
        let undo: Vec<String> = judged[1].cures[0].undo.iter().map(crate::diagnose::remedy::Step::shown).collect();
        assert_eq!(undo, ["interface Ethernet2", "channel-group 10 mode active"]);
    }
}
