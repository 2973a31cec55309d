//! The width of a GPU's PCIe link. Its speed is not judged: an idle GPU lowers it, and only a link under load tells.

use super::gpus::{called, gpus};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, EntityId, TargetId};

/// The GPU's link has all its lanes.
pub const CHECK: Check = Check {
    id: "gpu.pcie-link",
    title: "The GPU's PCIe link has all its lanes",
    gate: "guests with an NVIDIA GPU that is passed through",
    rule: "warns if the link has fewer lanes than the GPU can use; says nothing of its speed",
    source: Source { text: "PCI Express: a link lowers its speed when idle, not its width", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    scene.guests().flat_map(|guest| gpus(scene, guest).into_iter().map(move |gpu| of_gpu(scene, guest, &gpu))).collect()
}

fn of_gpu(scene: &Scene<'_>, guest: &TargetId, gpu: &EntityId) -> Judged {
    let name = called(gpu);
    let host = scene.host_of(guest).map_or_else(|| "its host".to_owned(), ToString::to_string);
    let decide =
        format!("on {host}: lspci -v for the card; in the guest under load: nvidia-smi -q | grep -A8 'GPU Link Info'");
    let count = |attribute| scene.count(gpu, attribute);
    let (Some(lanes), Some(most)) = (count(Attribute::LinkWidth), count(Attribute::LinkWidthMax)) else {
        let missing =
            [Attribute::LinkWidth, Attribute::LinkWidthMax].into_iter().find(|attribute| count(*attribute).is_none());
        let lack = missing.and_then(|attribute| scene.lack(gpu, attribute));
        let (lack, why) = lack.unwrap_or_else(|| scene.silence(guest));
        return Judged::unknown(gpu, lack, format!("PCIe link of {name} on {guest}: {why}"), decide);
    };
    if lanes >= most {
        return Judged::pass(gpu, format!("{guest}: {name} has {lanes} lanes"));
    }
    let slot = format!(
        "{host}: seat the card anew; look at the slot's wiring, its riser, and bifurcation in the firmware's menu"
    );
    Judged::warn(
        gpu,
        Confidence::Likely,
        format!("{guest}: {name} has {lanes} of {most} PCIe lanes"),
        format!(
            "copies between the memories of guest and GPU reach {lanes} of {most} parts of what the link could carry. A link does \
             not give up lanes when it is idle: the slot has no more, or some are broken"
        ),
    )
    .shown(gpu, Attribute::LinkWidth, format!("{lanes} lanes"))
    .shown(gpu, Attribute::LinkWidthMax, format!("{most} lanes are possible"))
    .decided_by(decide)
    .cured_by(
        Cure::by_hand("Bring the card to a slot with all its lanes", vec![Step::ByHand(slot)])
            .risking(Risk::RebootsHost)
            .verified_by(&["gpu.pcie-link"])
            .noting("some servers wire slots with fewer lanes than they are long"),
    )
}

#[cfg(test)]
mod tests {
    use super::super::gpus::testing::{FUNCTIONS, guest};
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, says};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || with("8.0 GT/s PCIe", "8", "16"),
        healthy: || with("2.5 GT/s PCIe", "16", "16"),
        unclear: || with("Unknown", "63", "255"),
    };

    fn with(speed: &str, lanes: &str, most: &str) -> Site {
        let gpu = "/sys/bus/pci/devices/0000:05:00.0";
        let links = format!(
            "{FUNCTIONS}{gpu}/current_link_speed:{speed}\n{gpu}/max_link_speed:16.0 GT/s PCIe\n{gpu}/current_link_width:{lanes}\n\
             {gpu}/max_link_width:{most}\n"
        );
        guest().with("gpu-1", says("linux.pci-links", &links))
    }

    #[test]
    fn an_idle_link_is_no_fault() {
        assert_eq!(with("2.5 GT/s PCIe", "16", "16").statuses(&CHECK), [Status::Pass]);
        assert_eq!(with("16.0 GT/s PCIe", "16", "8").statuses(&CHECK), [Status::Pass], "more than it says it can");
        assert_eq!(guest().statuses(&CHECK), [Status::Unknown], "never read");
    }
}
