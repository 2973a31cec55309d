//! A driver release that does not serve the GPU, or not as it is given to the VM.

use super::gpus::{and_the_others, called, messages, subjects, with_gpu};
use crate::diagnose::check::{Check, Exhibit, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, EntityId, TargetId};

/// The driver serves the GPU.
pub const CHECK: Check = Check {
    id: "gpu.driver-support",
    title: "The NVIDIA driver serves this GPU",
    gate: "guests with an NVIDIA GPU",
    rule: "fails if the driver says that the GPU is not supported by its release",
    source: Source { text: "gpu-operator issue 1371; nvtrust issue 55", weak: false },
    thresholds: &[],
    explains: &["gpu.driver-bound", "guest.kernel-messages"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    with_gpu(scene).into_iter().flat_map(|(guest, gpus)| of_guest(scene, guest, &gpus)).collect()
}

fn of_guest(scene: &Scene<'_>, guest: &TargetId, gpus: &[EntityId]) -> Vec<Judged> {
    let all: Vec<_> = messages(scene, guest, &["NVRM"])
        .into_iter()
        .filter(|message| message.text.contains("not supported by the") && message.text.contains("driver release"))
        .collect();
    let judged: Vec<Judged> = subjects(&all, gpus)
        .iter()
        .map(|subject| {
            let own: Vec<_> = all.iter().filter(|message| message.subject(gpus) == *subject).collect();
            let profile = scene.chain_of(subject).and_then(|chain| {
                Some((&chain.device, scene.text(&chain.device, Attribute::VgpuProfile)?))
            });
            let name = called(subject);
            let (cause, step, confidence) = match profile {
                Some((_, profile)) => (
                    format!("the VM has a vGPU ({profile}), and this is a driver for whole GPUs"),
                    "the guest driver of the vGPU release that its host has",
                    Confidence::Proved,
                ),
                None => (
                    "one of three: the VM has a vGPU and needs the guest driver of its host's vGPU release; the release is older \
                     than the GPU; or the open module does not know a GPU as old as this one"
                        .to_owned(),
                    "for a vGPU the guest driver of its host's release; else a release whose list of supported products names the GPU",
                    Confidence::Likely,
                ),
            };
            let mut judged = Judged::fail(
                subject,
                confidence,
                format!("{guest}: the NVIDIA driver does not serve {name}"),
                cause,
            )
            .shown_by(own.iter().map(|message| Exhibit::of(&message.id, Attribute::Message, "the driver says so")))
            .decided_by(format!(
                "on {guest}: lspci -nn -v -d 10de: (the subsystem of a vGPU is one of a profile); on its host: the kind of its device"
            ))
            .cured_by(
                Cure::by_hand("Install the driver that serves it", vec![Step::ByHand(format!("{guest}: install {step}"))])
                    .risking(Risk::RebootsGuest)
                    .undone_by(vec![Step::ByHand(format!("{guest}: install the driver of now"))], Vec::new())
                    .verified_by(&["gpu.driver-support", "gpu.driver-bound"]),
            );
            if let Some((device, profile)) = profile {
                judged = judged.shown(device, Attribute::VgpuProfile, format!("vGPU profile {profile}"));
            }
            judged
        })
        .collect();
    and_the_others(scene, guest, gpus, judged, "is served by its driver", "NVRM")
}

#[cfg(test)]
mod tests {
    use super::super::gpus::testing::{guest, unreadable, with_log};
    use super::*;
    use crate::diagnose::check::testing::Samples;
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples =
        Samples { says: Status::Fail, trouble: || with_log(NOT_SUPPORTED), healthy: guest, unclear: unreadable };

    const NOT_SUPPORTED: &str =
        include_str!("../../../../tests/fixtures/public/76-dmesg-nvrm-not-supported-multiline.txt");

    #[test]
    fn words_that_are_split_over_lines_name_the_gpu() {
        let judged = with_log(NOT_SUPPORTED).judge(&CHECK);
        assert_eq!(judged.len(), 1, "{judged:#?}");
        assert_eq!(judged[0].title, "gpu-1: the NVIDIA driver does not serve GPU 0000:05:00.0");
    }
}
