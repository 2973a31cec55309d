//! A GPU that answers on PCIe no more: Xid 79, or the same words without a number.

use super::gpus::{and_the_others, called, messages, subjects, with_gpu};
use super::xid::fell_off_bus;
use crate::diagnose::check::{Check, Exhibit, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, EntityId, TargetId};

/// No GPU fell off the bus since the boot.
pub const CHECK: Check = Check {
    id: "gpu.fell-off-bus",
    title: "No GPU has fallen off the bus since the boot",
    gate: "guests with an NVIDIA GPU",
    rule: "fails if the kernel says that a GPU has fallen off the bus, with Xid 79 or without",
    source: Source { text: "NVIDIA: Xid errors, Xid 79", weak: false },
    thresholds: &[],
    explains: &["gpu.xid", "gpu.driver-bound", "gpu.pcie-link", "guest.kernel-messages"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    with_gpu(scene).into_iter().flat_map(|(guest, gpus)| of_guest(scene, guest, &gpus)).collect()
}

fn of_guest(scene: &Scene<'_>, guest: &TargetId, gpus: &[EntityId]) -> Vec<Judged> {
    let all: Vec<_> = messages(scene, guest, &["fallen off the bus", "Xid ("])
        .into_iter()
        .filter(|message| fell_off_bus(message.text))
        .collect();
    let judged: Vec<Judged> = subjects(&all, gpus)
        .iter()
        .map(|subject| {
            let own: Vec<_> = all.iter().filter(|message| message.subject(gpus) == *subject).collect();
            let when = own.first().map(|message| message.when()).unwrap_or_default();
            let host = scene.host_of(guest).map_or_else(|| "its host".to_owned(), ToString::to_string);
            Judged::fail(
                subject,
                Confidence::Proved,
                format!("{guest}: {} has fallen off the bus, {when}", called(subject)),
                "the driver reads nothing but ones from it: the PCIe link is down, the card lost power or is too hot, or the host \
                 reset it. Nothing in the guest brings it back",
            )
            .shown_by(own.iter().map(|message| Exhibit::of(&message.id, Attribute::Message, "it does not answer")))
            .decided_by(format!("on {host}: grep -e 'link to the device is down' -e AER /var/log/vmkernel.log; the hardware's own log"))
            .cured_by(
                Cure::by_hand(
                    "Start the VM anew with its power off between, then look at the hardware",
                    vec![
                        Step::ByHand(format!("vCenter: VM of {guest}: Power Off, Power On")),
                        Step::ByHand(format!("if it is gone again: cold start of {host}; seat, power cables, cooling, firmware of the card")),
                    ],
                )
                .risking(Risk::RebootsGuest)
                .verified_by(&["gpu.fell-off-bus"]),
            )
        })
        .collect();
    and_the_others(scene, guest, gpus, judged, "is on the bus", "'fallen off'")
}

#[cfg(test)]
mod tests {
    use super::super::gpus::testing::{guest, unreadable, with_log};
    use super::*;
    use crate::diagnose::check::testing::Samples;
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples =
        Samples { says: Status::Fail, trouble: || with_log(WITHOUT_NUMBER), healthy: guest, unclear: unreadable };

    const WITHOUT_NUMBER: &str = include_str!("../../../../tests/fixtures/public/78-dmesg-fallen-off-bus-no-xid.txt");
    const XID_79: &str = include_str!("../../../../tests/fixtures/public/79-journal-xid-79.txt");

    #[test]
    fn the_classic_form_and_a_gpu_that_sysfs_has_too() {
        let classic = with_log(XID_79).judge(&CHECK);
        assert_eq!(classic[0].status, Status::Fail);
        assert_eq!(classic.len(), 2, "the other GPU is well: {classic:#?}");
        let own = with_log(&XID_79.replace("0000:01:00", "0000:05:00")).judge(&CHECK);
        assert_eq!(own.len(), 1, "{own:#?}");
        assert!(own[0].title.contains("GPU 0000:05:00.0 has fallen off the bus"), "{}", own[0].title);
    }
}
