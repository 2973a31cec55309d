//! Someone watches over priorities that stay paused.

use super::ports::{configure, lossless_of, missing, said, system_of, wired};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::remedy::{Cure, Risk};
use crate::fabric::Attribute;
use crate::probe::switch::SwitchSystem;

/// The watchdog is on.
pub const CHECK: Check = Check {
    id: "switch.pfc-watchdog",
    title: "The PFC watchdog watches over lossless priorities",
    gate: "ports with a lossless priority into which uplinks with RDMA of VMs are plugged, on systems that show the watchdog by port",
    rule: "informs if the watchdog is off; passes if it is on",
    source: Source {
        text: "Arista EOS manual: PFC Watchdog; Cisco Nexus 9000 QoS guide: priority-flow-control watch-dog-interval",
        weak: false,
    },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let judged = wired(scene).into_iter().filter_map(|wired| {
        let (port, name) = (&wired.port, wired.name());
        let system = system_of(scene, &port.target);
        // The others show it for the whole switch or not at all.
        let (source, line, back) = match system? {
            SwitchSystem::Eos => ("pfc", "priority-flow-control pause watchdog", "no priority-flow-control pause watchdog"),
            SwitchSystem::NxOs => ("pfc-watchdog", "priority-flow-control watch-dog-interval on", "priority-flow-control watch-dog-interval off"),
            SwitchSystem::Sonic => ("pfc-watchdog", "sudo pfcwd start --action drop PORT 200 --restoration-time 400", "sudo pfcwd stop PORT"),
            SwitchSystem::Cumulus | SwitchSystem::Onyx => return None,
        };
        let lossless = match lossless_of(scene, &wired.pfc(scene)) {
            Some(lossless) if lossless.is_empty() => return None,
            Some(lossless) => lossless,
            None => {
                let (lack, why, decide) = missing(scene, &wired, Attribute::PfcWatchdog, source);
                return Some(Judged::unknown(port, lack, format!("whether {name} has a PFC watchdog: {why}"), decide));
            }
        };
        let Some(watchdog) = scene.text(port, Attribute::PfcWatchdog) else {
            let (lack, why, decide) = missing(scene, &wired, Attribute::PfcWatchdog, source);
            return Some(Judged::unknown(port, lack, format!("whether {name} has a PFC watchdog: {why}"), decide));
        };
        if watchdog != "disabled" {
            return Some(Judged::pass(port, format!("{name}: PFC watchdog {watchdog}")));
        }
        Some(
            Judged::info(
                port,
                format!("{name} keeps priority {} lossless without a PFC watchdog", said(&lossless)),
                "an adapter that never stops pausing can bring this class to a standstill on every switch behind it, and nothing ends it",
            )
            .shown(port, Attribute::PfcWatchdog, format!("{}: watchdog is off", port.entity.name()))
            .cured_by(
                Cure::on(&port.target, "Switch the watchdog on", Risk::None, configure(system, port, &[line]))
                    .undone_by(configure(system, port, &[back]), vec![(port.clone(), Attribute::PfcWatchdog)])
                    .verified_by(&["switch.pfc-watchdog"])
                    .noting("timeout and action are set for the whole switch; without a timeout it does nothing"),
            ),
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
        says: Status::Info,
        trouble: || with("E A -"),
        healthy: || with("E A W"),
        unclear: || Site::sound().with("leaf1", fails("eos.pfc", 1, "Connection timed out")),
    };

    fn with(letters: &str) -> Site {
        Site::sound().replacing("leaf1", "eos.pfc", "Et2     E A W", &format!("Et2     {letters}"))
    }

    #[test]
    fn a_port_without_a_lossless_class_needs_none() {
        assert_eq!(with("D - -").statuses(&CHECK), [Status::Pass]);
    }
}
