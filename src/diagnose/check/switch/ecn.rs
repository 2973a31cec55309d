//! The queue of the lossless class marks congestion before it pauses.

use super::cures;
use super::ports::{list_or_none, lossless_of, missing, said, system_of, wired, with_attribute};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk};
use crate::fabric::Attribute;

/// The class of RDMA marks.
pub const CHECK: Check = Check {
    id: "switch.ecn",
    title: "The switch port marks congestion in the class of RDMA",
    gate: "ports with a lossless priority into which uplinks with RDMA of VMs are plugged",
    rule: "warns if no queue of a lossless priority marks with ECN; passes if one does",
    source: Source {
        text: "Congestion control for RoCE (DCQCN), SIGCOMM 2015; RoCE guides of NVIDIA, Arista and Cisco: ECN on the lossless queue",
        weak: false,
    },
    thresholds: &[],
    explains: &["switch.pause-storm", "host.pause-drops"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let judged = wired(scene).into_iter().filter_map(|wired| {
        let (port, name) = (&wired.port, wired.name());
        let lossless = lossless_of(scene, &wired.pfc(scene)).filter(|lossless| !lossless.is_empty())?;
        let Some(about) = with_attribute(scene, &wired, Attribute::EcnEnabled) else {
            let (lack, why, decide) = missing(scene, &wired, Attribute::EcnEnabled, "ecn");
            return Some(Judged::unknown(port, lack, format!("whether {name} marks congestion: {why}"), decide));
        };
        let on = scene.flag(&about, Attribute::EcnEnabled) == Some(true);
        let classes: Option<Vec<u64>> = list_or_none(scene, &about, Attribute::EcnClasses)
            .map(|list| list.iter().filter_map(|class| class.as_str().parse().ok()).collect());
        let marks = on && classes.as_ref().is_none_or(|classes| classes.iter().any(|class| lossless.contains(class)));
        if marks {
            return Some(Judged::pass(port, format!("{name} marks congestion in class {}", said(&lossless))));
        }
        let class = lossless.first().copied().unwrap_or(3);
        let (steps, undo) = cures::ecn_on(system_of(scene, &port.target), port, class);
        let which = classes.unwrap_or_default();
        let what = if which.is_empty() { "marks no congestion".to_owned() } else { format!("marks congestion in class {} only", said(&which)) };
        Some(
            Judged::warn(
                port,
                Confidence::Proved,
                format!("{name} keeps priority {} lossless and {what}", said(&lossless)),
                "senders learn of a full queue by pause frames alone, which stop everyone in that class, also those who did not fill \
                 it; with ECN the adapters slow down before it comes to that",
            )
            .shown(&about, Attribute::EcnEnabled, format!("{}: ECN {}", about.entity, if on { "in other classes" } else { "is off" }))
            .cured_by(
                Cure::on(&port.target, "Mark congestion in the class of RDMA", Risk::None, steps)
                    .undone_by(undo, vec![(about.clone(), Attribute::EcnEnabled)])
                    .verified_by(&["switch.ecn"])
                    .noting("thresholds depend on the buffers of the switch: its maker's guide for RoCE names them"),
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

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || with("5"),
        healthy: || with("3"),
        unclear: || Site::sound().with("leaf1", fails("eos.ecn", 1, "Connection timed out")),
    };

    /// The second port marks in this class only.
    fn with(class: &str) -> Site {
        let port = |name: &str, class: &str| {
            let row = |queue: &str| {
                if queue == class {
                    format!("   {queue}   150   1500   kbytes   100\n")
                } else {
                    format!("   {queue}   -   -   -   -\n")
                }
            };
            format!(
                "{name}:\n\nTx-Queue    Minimum Threshold    Maximum Threshold    Threshold Unit\n{}{}\n",
                row("5"),
                row("3")
            )
        };
        Site::sound().with("leaf1", says("eos.ecn", &format!("{}{}", port("Ethernet1", "3"), port("Ethernet2", class))))
    }

    #[test]
    fn no_marking_at_all_and_no_lossless_class() {
        assert_eq!(with("none").statuses(&CHECK), [Status::Pass, Status::Warn]);
        let lossy = with("none").replacing("leaf1", "eos.pfc", "Et2     E A W", "Et2     D - -");
        assert_eq!(lossy.statuses(&CHECK), [Status::Pass]);
    }
}
