//! The port lets pass what the uplink sends.

use super::cures;
use super::ports::{missing, system_of, wired};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk};
use crate::fabric::Attribute;
use crate::probe::switch::SwitchSystem;

/// The MTU of the port is no smaller than that of the uplink.
pub const CHECK: Check = Check {
    id: "switch.mtu",
    title: "The switch port lets frames of the uplink's MTU pass",
    gate: "ports of switches into which uplinks with RDMA of VMs are plugged",
    rule: "fails if the MTU of the port is smaller than that of the uplink; passes otherwise",
    source: Source {
        text: "vSphere Networking: Enabling Jumbo Frames: end to end, on every physical switch",
        weak: false,
    },
    thresholds: &[],
    explains: &["guest.retransmits", "guest.queue-pairs", "guest.packet-loss", "guest.port-errors"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// What switches are set to for jumbo frames where the uplink is.
const JUMBO: u64 = 9214;

/// The default of `system jumbomtu` of NX-OS.
const NXOS_JUMBO: u64 = 9216;

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let judged = wired(scene).into_iter().map(|wired| {
        let (port, name) = (&wired.port, wired.name());
        let (Some(mtu), Some(needed)) = (scene.count(port, Attribute::Mtu), scene.count(&wired.uplink, Attribute::Mtu)) else {
            if scene.count(port, Attribute::Mtu).is_some() {
                let (lack, why) = scene.lack(&wired.uplink, Attribute::Mtu).unwrap_or_else(|| scene.silence(&wired.uplink.target));
                let decide = format!("on {}: esxcli network nic list", wired.uplink.target);
                return Judged::unknown(port, lack, format!("whether the MTU of {name} suffices: {why}"), decide);
            }
            let (lack, why, decide) = missing(scene, &wired, Attribute::Mtu, "interfaces");
            return Judged::unknown(port, lack, format!("whether the MTU of {name} suffices: {why}"), decide);
        };
        if mtu >= needed {
            return Judged::pass(port, format!("{name}: MTU {mtu}, {} sends up to {needed}", wired.host()));
        }
        let system = system_of(scene, &port.target);
        // NX-OS takes two values on a port that switches: the default, and that of `system jumbomtu`.
        let jumbo = if system == Some(SwitchSystem::NxOs) { NXOS_JUMBO } else { JUMBO };
        let (steps, undo) = cures::mtu(system, port, needed.max(jumbo), mtu);
        Judged::fail(
            port,
            Confidence::Proved,
            format!("{name} has an MTU of {mtu}, and {} sends up to {needed}", wired.host()),
            "the switch drops every frame above its own MTU without a word: small messages pass, large ones are sent again until \
             the queue pair ends in an error",
        )
        .shown(port, Attribute::Mtu, format!("{}: MTU {mtu}", port.entity.name()))
        .shown(&wired.uplink, Attribute::Mtu, format!("{}: MTU {needed}", wired.host()))
        .cured_by(
            Cure::on(&port.target, "Raise the MTU of the port", Risk::DisruptsRdma, steps)
                .undone_by(undo, vec![(port.clone(), Attribute::Mtu)])
                .verified_by(&["switch.mtu"])
                .noting("every port on the way needs it"),
        )
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
        trouble: || with(1500),
        healthy: || with(9000),
        unclear: || Site::sound().with("leaf1", fails("eos.interfaces", 1, "Connection timed out")),
    };

    fn with(mtu: u64) -> Site {
        let before =
            "\"description\": \"esx02 vmnic2\",\n            \"bandwidth\": 100000000000,\n            \"mtu\": 9214";
        let after = before.replace("9214", &mtu.to_string());
        Site::sound().replacing("leaf1", "eos.interfaces", before, &after)
    }

    #[test]
    fn a_remedy_and_its_way_back() {
        let judged = with(1500).judge(&CHECK);
        let found = judged.iter().find(|judged| judged.status == Status::Fail).expect("a failure");
        let steps = |steps: &[crate::diagnose::remedy::Step]| {
            steps.iter().map(crate::diagnose::remedy::Step::shown).collect::<Vec<_>>()
        };
        assert_eq!(steps(&found.cures[0].steps), ["interface Ethernet2", "mtu 9214"]);
        assert_eq!(steps(&found.cures[0].undo), ["interface Ethernet2", "mtu 1500"]);
        let unread = Site::sound().with("esx02", fails("esxi.nic-list", 1, "Connect to localhost failed"));
        assert!(!unread.statuses(&CHECK).contains(&Status::Fail));
    }
}
