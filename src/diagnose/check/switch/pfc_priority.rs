//! The class that the host keeps lossless is lossless at the switch too.

use super::cures;
use super::ports::{lossless_of, missing, said, system_of, wired};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk};
use crate::fabric::Attribute;

/// The same priority.
pub const CHECK: Check = Check {
    id: "switch.pfc-priority",
    title: "Host and switch port keep the same priority lossless",
    gate: "uplinks with RDMA of VMs with PFC on at both ends",
    rule: "fails if a lossless priority of the host is not lossless at the port; passes if all are",
    source: Source { text: "KB 326624 (PFC on priority 3, the same on host and switch); IEEE 802.1Qbb", weak: false },
    thresholds: &[],
    explains: &["switch.drops", "host.pause-drops", "guest.retransmits", "guest.queue-pairs", "guest.packet-loss"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let judged = wired(scene).into_iter().filter_map(|wired| {
        let (port, uplink, name, host) = (&wired.port, &wired.uplink, wired.name(), wired.host());
        if scene.flag(uplink, Attribute::PfcEnabled) != Some(true) {
            return None;
        }
        let about = wired.pfc(scene);
        match scene.flag(&about, Attribute::PfcEnabled) {
            // Which is what the check of flow control itself says.
            Some(false) => return None,
            Some(true) => {}
            None => {
                let (lack, why, decide) = missing(scene, &wired, Attribute::PfcPriorities, "pfc");
                return Some(Judged::unknown(port, lack, format!("which priorities {name} keeps lossless: {why}"), decide));
            }
        }
        let (Some(wanted), Some(kept)) = (lossless_of(scene, uplink), lossless_of(scene, &about)) else {
            let (lack, why, decide) = missing(scene, &wired, Attribute::PfcPriorities, "pfc");
            return Some(Judged::unknown(port, lack, format!("which priorities {name} keeps lossless: {why}"), decide));
        };
        let Some(priority) = wanted.iter().find(|priority| !kept.contains(priority)).copied() else {
            return Some(Judged::pass(port, format!("priority {} is lossless at {host} and at {name}", said(&wanted))));
        };
        let (steps, undo) = cures::lossless(system_of(scene, &port.target), port, priority);
        let judged = Judged::fail(
            port,
            Confidence::Proved,
            format!("{host} keeps priority {} lossless, {name} keeps {}", said(&wanted), said(&kept)),
            format!(
                "RDMA of the VMs travels in priority {priority}, which the switch drops when its buffers fill; what it keeps lossless \
                 instead nobody uses"
            ),
        );
        Some(
            judged
                .shown(&about, Attribute::PfcPriorities, format!("{}: lossless {}", port.entity.name(), said(&kept)))
                .shown(uplink, Attribute::PfcPriorities, format!("{host}: lossless {}", said(&wanted)))
                .cured_by(
                    Cure::on(&port.target, "Keep the host's priority lossless at the port", Risk::DisruptsRdma, steps)
                        .undone_by(undo, vec![(about.clone(), Attribute::PfcPriorities)])
                        .verified_by(&["switch.pfc-priority"])
                        .noting("frames must be put into that class on the way in: see the trusted marking of the port"),
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
    use crate::diagnose::remedy::Step;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || with("4  "),
        healthy: || with("3 4"),
        unclear: || Site::sound().with("leaf1", fails("eos.pfc", 1, "Connection timed out")),
    };

    fn with(priorities: &str) -> Site {
        Site::sound().replacing("leaf1", "eos.pfc", "Et2     E A W   3  ", &format!("Et2     E A W   {priorities}"))
    }

    #[test]
    fn what_is_lossless_already_stays_and_flow_control_stays_on() {
        let judged =
            (SAMPLES.trouble)().judge(&CHECK).into_iter().find(|one| one.status == Status::Fail).expect("told");
        let shown = |steps: &[Step]| steps.iter().map(Step::shown).collect::<Vec<_>>();
        let (cure, port) = (&judged.cures[0], "interface Ethernet2".to_owned());
        assert_eq!(shown(&cure.steps), [port.clone(), "priority-flow-control priority 3 no-drop".to_owned()]);
        assert_eq!(shown(&cure.undo), [port, "no priority-flow-control priority 3 no-drop".to_owned()]);
    }

    #[test]
    fn none_at_all_is_a_mismatch_and_off_is_another_matter() {
        assert_eq!(with("-  ").statuses(&CHECK), [Status::Pass, Status::Fail]);
        let off = Site::sound().replacing("leaf1", "eos.pfc", "Et2     E A W", "Et2     D - -");
        assert_eq!(off.statuses(&CHECK), [Status::Pass]);
    }
}
