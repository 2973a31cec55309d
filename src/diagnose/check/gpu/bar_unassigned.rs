//! A GPU whose memory found no place in the address space of the VM.

use super::gpus::{and_the_others, called, messages, subjects, with_gpu};
use crate::diagnose::check::{Check, Exhibit, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, EntityId, TargetId};

/// The GPU's memory has a place in the guest's address space.
pub const CHECK: Check = Check {
    id: "gpu.bar-unassigned",
    title: "The GPU's memory has a place in the guest's address space",
    gate: "guests with an NVIDIA GPU",
    rule: "fails if the driver says that an I/O region of the GPU is invalid, or that the adapter does not start",
    source: Source { text: "VMware: VMDirectPath and GPUs with large BARs; NVIDIA driver messages", weak: false },
    thresholds: &[],
    explains: &["gpu.driver-bound", "guest.kernel-messages"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

const INVALID: &str = "PCI I/O region assigned to your NVIDIA device is invalid";
const NOT_STARTED: &str = "RmInitAdapter failed";

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    with_gpu(scene).into_iter().flat_map(|(guest, gpus)| of_guest(scene, guest, &gpus)).collect()
}

fn of_guest(scene: &Scene<'_>, guest: &TargetId, gpus: &[EntityId]) -> Vec<Judged> {
    let all = messages(scene, guest, &[INVALID, NOT_STARTED]);
    let judged: Vec<Judged> = subjects(&all, gpus)
        .iter()
        .map(|subject| {
            let own: Vec<_> = all.iter().filter(|message| message.subject(gpus) == *subject).collect();
            let has_no_place = own.iter().any(|message| message.text.contains(INVALID));
            let name = called(subject);
            let vm = format!("VM of {guest}");
            let (title, cause, confidence) = if has_no_place {
                (
                    format!("{guest}: a memory region of {name} has no place in the address space"),
                    "the VM's firmware could not place it: a VM for a GPU with large regions needs EFI firmware and a window above 4 \
                     GiB that is large enough for all of them",
                    Confidence::Proved,
                )
            } else {
                (
                    format!("{guest}: the NVIDIA driver could not start {name}"),
                    "\"RmInitAdapter failed\": in a VM most often a window above 4 GiB that is missing or too small, or no EFI firmware; \
                     else a driver of the wrong release, or the card itself",
                    Confidence::Likely,
                )
            };
            Judged::fail(subject, confidence, title, cause)
                .shown_by(own.iter().map(|message| Exhibit::of(&message.id, Attribute::Message, "what the driver says")))
                .decided_by(format!(
                    "on {guest}: lspci -vv -d 10de: | grep Region (\"<unassigned>\"?); in the VMX: firmware, pciPassthru.use64bitMMIO, \
                     pciPassthru.64bitMMIOSizeGB"
                ))
                .cured_by(
                    Cure::by_hand(
                        "Give the VM EFI firmware and a window that is large enough",
                        vec![
                            Step::ByHand(format!("vCenter: {vm}: Power Off, Edit Settings > VM Options > Boot Options > Firmware: EFI (a system installed under BIOS must be installed anew)")),
                            Step::ByHand(format!("vCenter: {vm}: VM Options > Advanced > Edit Configuration: pciPassthru.use64bitMMIO = TRUE, pciPassthru.64bitMMIOSizeGB = the next power of two above the memory regions of all its GPUs")),
                        ],
                    )
                    .risking(Risk::RebootsGuest)
                    .undone_by(vec![Step::ByHand(format!("vCenter: {vm}: Power Off, and set both as they were"))], Vec::new())
                    .verified_by(&["gpu.bar-unassigned"]),
                )
        })
        .collect();
    and_the_others(scene, guest, gpus, judged, "has its memory regions", "NVRM")
}

#[cfg(test)]
mod tests {
    use super::super::gpus::testing::{guest, unreadable, with_log};
    use super::*;
    use crate::diagnose::check::testing::Samples;
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples =
        Samples { says: Status::Fail, trouble: || with_log(BAR), healthy: guest, unclear: unreadable };

    const BAR: &str = include_str!("../../../../tests/fixtures/public/63-guest-lspci-dmesg-bar1-unassigned.txt");

    #[test]
    fn an_adapter_that_does_not_start_is_less_sure() {
        let judged =
            with_log("[   12.000001] NVRM: GPU 0000:05:00.0: RmInitAdapter failed! (0x26:0x56:1463)\n").judge(&CHECK);
        assert_eq!((judged[0].status, judged[0].confidence), (Status::Fail, Confidence::Likely));
        let sure = with_log(BAR).judge(&CHECK);
        assert!(sure.iter().any(|judged| judged.confidence == Confidence::Proved), "{sure:#?}");
    }
}
