//! A port uses flow control by priority or for the whole link, not both.

use super::cures;
use super::ports::{missing, system_of, wired};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk};
use crate::fabric::Attribute;
use crate::probe::switch::SwitchSystem;

/// Not both.
pub const CHECK: Check = Check {
    id: "switch.pause-with-pfc",
    title: "Global pause is off where priority flow control is on",
    gate: "ports with PFC on into which uplinks with RDMA of VMs are plugged",
    rule: "warns if global pause is on too; passes if it is off",
    source: Source {
        text: "Arista EOS manual: DCBX and Flow Control (PFC and 802.3x exclude each other); IEEE 802.1Qbb",
        weak: false,
    },
    thresholds: &[],
    explains: &["host.pause-drops"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let judged = wired(scene).into_iter().filter_map(|wired| {
        let (port, name) = (&wired.port, wired.name());
        if scene.flag(&wired.pfc(scene), Attribute::PfcEnabled) != Some(true) {
            return None;
        }
        let both = [Attribute::PauseRx, Attribute::PauseTx];
        let Some(on) = both.into_iter().find(|attribute| scene.flag(port, *attribute) == Some(true)) else {
            if both.iter().any(|attribute| scene.flag(port, *attribute) == Some(false)) {
                return Some(Judged::pass(port, format!("{name} uses PFC alone")));
            }
            let what = match system_of(scene, &port.target)? {
                SwitchSystem::Eos => "flow-control",
                SwitchSystem::NxOs | SwitchSystem::Onyx => "interfaces",
                // They show it in no table that is read.
                SwitchSystem::Cumulus | SwitchSystem::Sonic => return None,
            };
            let (lack, why, decide) = missing(scene, &wired, Attribute::PauseRx, what);
            return Some(Judged::unknown(port, lack, format!("whether {name} uses global pause beside PFC: {why}"), decide));
        };
        let is_on = both.map(|attribute| scene.flag(port, attribute) == Some(true));
        let (steps, undo) = cures::pause_off(system_of(scene, &port.target), port, (is_on[0], is_on[1]));
        let rests_on = both.into_iter().map(|attribute| (port.clone(), attribute)).collect();
        let direction = if on == Attribute::PauseRx { "received" } else { "sent" };
        Some(
            Judged::warn(
                port,
                Confidence::Proved,
                format!("{name} has global pause ({direction}) on beside PFC"),
                "the two exclude each other: one end may pause the whole link while the other waits for a pause of one priority, and \
                 which of them the switch obeys depends on its model",
            )
            .shown(port, on, format!("{}: global pause is on", port.entity.name()))
            .shown(&wired.pfc(scene), Attribute::PfcEnabled, format!("{}: PFC is on", port.entity.name()))
            .cured_by(
                Cure::on(&port.target, "Switch global pause off", Risk::DisruptsRdma, steps)
                    .undone_by(undo, rests_on)
                    .verified_by(&["switch.pause-with-pfc"]),
            )
            .reaching(wired.way(scene)),
        )
    });
    judged.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::finding::Status;
    use crate::diagnose::remedy::Step;

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || with("on"),
        healthy: || with("off"),
        unclear: || Site::sound().with("leaf1", fails("eos.flow-control", 1, "Connection timed out")),
    };

    fn with(receive: &str) -> Site {
        let text = format!(
            "{{\"interfaceFlowControls\": {{\n\"Ethernet1\": {{\"rxOperState\": \"off\", \"txOperState\": \"off\"}},\n\
             \"Ethernet2\": {{\"rxOperState\": \"{receive}\", \"txOperState\": \"off\"}}}}}}\n"
        );
        Site::sound().with("leaf1", says("eos.flow-control", &text))
    }

    #[test]
    fn only_what_is_on_is_switched_off_and_on_again() {
        let judged = with("on").judge(&CHECK).into_iter().find(|one| one.status == Status::Warn).expect("told");
        let shown = |steps: &[Step]| steps.iter().map(Step::shown).collect::<Vec<_>>();
        assert_eq!(shown(&judged.cures[0].steps), ["interface Ethernet2", "flowcontrol receive off"]);
        assert_eq!(shown(&judged.cures[0].undo), ["interface Ethernet2", "flowcontrol receive on"]);
    }

    #[test]
    fn where_pfc_is_off_pause_is_no_trouble() {
        let off = with("on").replacing("leaf1", "eos.pfc", "Et2     E A W", "Et2     D - -");
        assert_eq!(off.statuses(&CHECK), [Status::Pass]);
    }
}
