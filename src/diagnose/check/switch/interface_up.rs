//! The port at the other end of an uplink's cable is up.

use super::cures;
use super::ports::{missing, system_of, wired};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::Attribute;

/// The port is up.
pub const CHECK: Check = Check {
    id: "switch.interface-up",
    title: "The switch port of an RDMA uplink is up",
    gate: "ports of switches into which uplinks with RDMA of VMs are plugged",
    rule: "fails if the port is shut down, err-disabled or has no link; passes if it is up",
    source: Source { text: "IEEE 802.3 link state; Arista EOS manual: show interfaces", weak: false },
    thresholds: &[],
    explains: &["host.uplink-link", "host.rdma-port-active", "guest.port-active", "guest.transport", "guest.neighbour"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let judged = wired(scene).into_iter().map(|wired| {
        let (port, name) = (&wired.port, wired.name());
        let Some(state) = scene.text(port, Attribute::OperationalState) else {
            let (lack, why, decide) = missing(scene, &wired, Attribute::OperationalState, "interfaces");
            return Judged::unknown(port, lack, format!("whether {name} is up: {why}"), decide);
        };
        let is_shut = scene.flag(port, Attribute::AdminUp) == Some(false);
        if state.starts_with("up") && !is_shut {
            return Judged::pass(port, format!("{name} is up"));
        }
        let (why, cure) = if is_shut {
            let (steps, undo) = cures::enable(system_of(scene, &port.target), port);
            let cure = Cure::on(&port.target, "Switch the port on", Risk::None, steps);
            ("someone shut it down", cure.undone_by(undo, vec![(port.clone(), Attribute::AdminUp)]))
        } else if state.contains("err") {
            let what = format!("{}: read why the port was disabled (show interfaces status errdisabled), remove the cause, then shutdown and no shutdown", port.target);
            ("the switch disabled it because of an error", Cure::by_hand("Find the error and enable the port", vec![Step::ByHand(what)]))
        } else {
            let what = format!("check cable and transceiver between {} and {name}", wired.host());
            ("it has no link", Cure::by_hand("Check the cable", vec![Step::ByHand(what)]))
        };
        Judged::fail(
            port,
            Confidence::Proved,
            format!("{name}, the port of {}, is {state}", wired.host()),
            format!("{why}: nothing that VMs send over {} leaves the host, and PVRDMA falls back to TCP or stops", wired.host()),
        )
        .shown(port, Attribute::OperationalState, format!("{} is {state}", port.entity.name()))
        .cured_by(cure.verified_by(&["switch.interface-up"]))
        .reaching(wired.way(scene))
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
        trouble: || with("down", "errdisabled"),
        healthy: Site::sound,
        unclear: || Site::sound().with("leaf1", fails("eos.interfaces", 1, "Connection timed out")),
    };

    /// The second port in another state; the switch remembers its neighbour for two minutes.
    fn with(line: &str, status: &str) -> Site {
        let before = "\"name\": \"Ethernet2\",\n            \"forwardingModel\": \"bridged\",\n            \
                      \"lineProtocolStatus\": \"up\",\n            \"interfaceStatus\": \"connected\"";
        let after = before.replace("\"up\"", &format!("\"{line}\"")).replace("connected", status);
        Site::sound().replacing("leaf1", "eos.interfaces", before, &after)
    }

    #[test]
    fn each_state_has_its_own_remedy() {
        for (status, words) in [("disabled", "no shutdown"), ("errdisabled", "errdisabled"), ("notconnect", "cable")] {
            let judged = with("down", status).judge(&CHECK);
            let found = judged.iter().find(|judged| judged.status == Status::Fail).expect("a failure");
            let steps: Vec<String> = found.cures.iter().flat_map(|cure| cure.steps.iter().map(Step::shown)).collect();
            assert!(steps.join("\n").contains(words), "{status}: {steps:?}");
        }
        assert_eq!(Site::sound().without_target("leaf1").statuses(&CHECK), []);
    }
}
