//! Xid messages of the NVIDIA driver: each has a number, and the number says what is broken and what helps.

use std::collections::BTreeMap;

use super::gpus::{Message, and_the_others, called, messages, with_gpu};
use crate::diagnose::check::{Check, Exhibit, Judged, Scene, Source};
use crate::diagnose::finding::{Confidence, Status};
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, EntityId, TargetId};
use crate::probe::linux::kernel_meaning::recovery_action;

/// No Xid since the boot.
pub const CHECK: Check = Check {
    id: "gpu.xid",
    title: "The NVIDIA driver reported no fault of a GPU since the boot",
    gate: "guests with an NVIDIA GPU",
    rule: "fails for an Xid after which the GPU must be reset or replaced, or of the NVSwitch; warns for one that ends jobs or \
           announces trouble; informs for one that an application causes; Xid 79 is gpu.fell-off-bus",
    source: Source { text: "NVIDIA: Xid errors, the catalogue; k8s-device-plugin internal/rm/health.go", weak: false },
    thresholds: &[],
    explains: &["guest.kernel-messages"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// How grave a number is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// An application did it.
    Application,
    /// Worth a look.
    Notice,
    /// The GPU must be reset, or is broken.
    Fault,
}

/// Those that applications cause: other programs leave them out of the health of a GPU.
const APPLICATION: &[u64] = &[13, 31, 32, 43, 45, 68, 69, 70, 109, 137];

/// Those after which the GPU must be reset or looked at; all of NVLink 5 (144 to 150) too.
const FAULT: &[u64] = &[46, 48, 62, 64, 74, 95, 119, 120, 136, 140, 143, 151, 154, 167];

fn class(number: u64) -> Class {
    if APPLICATION.contains(&number) {
        Class::Application
    } else if FAULT.contains(&number) || (144..=150).contains(&number) {
        Class::Fault
    } else {
        Class::Notice
    }
}

/// How a message is judged: by its number, and Xid 154 by the action that it names.
fn class_of(text: &str, number: u64) -> Class {
    match recovery_action(text) {
        Some((0, _)) if number == 154 => Class::Application,
        _ => class(number),
    }
}

/// True if a message says that a GPU fell off the bus: in one of an Xid the number says it, because the name of a process in it
/// may be any words.
pub fn fell_off_bus(text: &str) -> bool {
    match number(text) {
        Some(number) => number == (79, false),
        None => text.contains("fallen off the bus"),
    }
}

/// How a message with this number is judged.
pub fn status(text: &str, number: u64, is_switch: bool) -> Status {
    match class_of(text, number) {
        _ if is_switch => Status::Fail,
        Class::Fault => Status::Fail,
        Class::Notice => Status::Warn,
        Class::Application => Status::Info,
    }
}

/// The number of a message, and whether it is of the `NVSwitch`: `Xid (PCI:0000:9b:00): 119, ...`, `SXid (PCI:...): 20034`.
pub fn number(text: &str) -> Option<(u64, bool)> {
    let (before, rest) = text.split_once("Xid (")?;
    let (_, rest) = rest.split_once("): ")?;
    let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    Some((rest[..digits].parse().ok()?, before.ends_with('S')))
}

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    with_gpu(scene).into_iter().flat_map(|(guest, gpus)| of_guest(scene, guest, &gpus)).collect()
}

fn of_guest(scene: &Scene<'_>, guest: &TargetId, gpus: &[EntityId]) -> Vec<Judged> {
    let mut found: BTreeMap<(EntityId, bool, u64), Vec<Message<'_>>> = BTreeMap::new();
    for message in messages(scene, guest, &["Xid ("]) {
        if let Some((number, is_switch)) =
            number(message.text).filter(|(number, is_switch)| *is_switch || *number != 79)
        {
            found.entry((message.subject(gpus), is_switch, number)).or_default().push(message);
        }
    }
    let judged: Vec<Judged> = found
        .iter()
        .map(|((subject, is_switch, number), all)| of_number(scene, guest, subject, (*is_switch, *number), all))
        .collect();
    and_the_others(scene, guest, gpus, judged, "has reported no Xid", "Xid")
}

fn of_number(
    scene: &Scene<'_>,
    guest: &TargetId,
    subject: &EntityId,
    (is_switch, number): (bool, u64),
    all: &[Message<'_>],
) -> Judged {
    let kind = if is_switch { "SXid" } else { "Xid" };
    let when = match all {
        [one] => one.when(),
        [first, .., last] => format!("{} and again {}", first.when(), last.when()),
        [] => String::new(),
    };
    // What the driver wants done changes; the last message holds.
    let decides = if number == 154 { all.last() } else { all.first() };
    let meaning = decides.and_then(|message| scene.text(&message.id, Attribute::Meaning)).unwrap_or_default();
    // "Xid 119 of GPU 0000:9b:00: GSP did not answer; reset the GPU; ...": the part behind the name says it.
    let meaning = meaning.split_once(": ").map_or(meaning, |(_, meaning)| meaning);
    let title = format!("{guest}: {kind} {number} of {}: {when}", called(subject));
    let exhibits = all.iter().map(|message| Exhibit::of(&message.id, Attribute::Message, format!("{kind} {number}")));
    let class = match decides {
        _ if is_switch => Class::Fault,
        Some(message) => class_of(message.text, number),
        None => class(number),
    };
    let judged = match class {
        Class::Fault => Judged::fail(subject, Confidence::Proved, title, sentence(meaning)),
        Class::Notice => Judged::warn(subject, Confidence::Proved, title, sentence(meaning)),
        Class::Application => Judged::info(subject, title, sentence(meaning)),
    };
    let judged = judged.shown_by(exhibits).decided_by(format!(
        "on {guest}: sudo dmesg | grep -A3 Xid; nvidia-smi -q; the number in NVIDIA's Xid catalogue"
    ));
    match class {
        Class::Application => judged,
        Class::Fault | Class::Notice => judged.cured_by(reset(guest, subject)),
    }
}

fn sentence(meaning: &str) -> String {
    if meaning.is_empty() {
        "NVIDIA's Xid catalogue says what the number stands for".to_owned()
    } else {
        meaning.to_owned()
    }
}

/// A GPU started anew: what that takes in a VM.
pub fn reset(guest: &TargetId, gpu: &EntityId) -> Cure {
    let address = gpu.entity.name();
    let step = if address.is_empty() {
        "nvidia-smi --gpu-reset".to_owned()
    } else {
        format!("nvidia-smi --gpu-reset -i {address}")
    };
    Cure::by_hand(
        "Reset the GPU",
        vec![
            Step::ByHand(format!("{guest}: end all that uses it (nvidia-smi, fuser -v /dev/nvidia*), then {step}")),
            Step::ByHand(format!(
                "where the guest may not reset it: power the VM of {guest} off and on, not only restart it"
            )),
        ],
    )
    .risking(Risk::RebootsGuest)
    .verified_by(&["gpu.xid"])
    .noting("a reset cannot be taken back; the message stays in the log until the next boot")
}

#[cfg(test)]
mod tests {
    use super::super::gpus::testing::{LOG, guest, unreadable, with_log};
    use super::*;
    use crate::diagnose::check::testing::Samples;

    pub const SAMPLES: Samples =
        Samples { says: Status::Fail, trouble: || with(GSP), healthy: guest, unclear: unreadable };

    const GSP: &str = "NVRM: Xid (PCI:0000:05:00): 119, pid=2024380, name=nvidia-smi, Timeout after 6s of waiting for RPC response \
                       from GPU4 GSP! Expected function 76 (GSP_RM_CONTROL) (0x20800a4c 0x4).";

    fn with(message: &str) -> crate::diagnose::check::testing::Site {
        with_log(&format!("{LOG}[273728.112233] {message}\n"))
    }

    #[test]
    fn numbers_and_their_classes() {
        for (text, expected) in [
            ("NVRM: Xid (PCI:0000:05:00): 13, pid=1, name=x, Graphics Exception", Status::Info),
            ("NVRM: Xid (PCI:0000:05:00 GPU-I:05): 31, pid=1, name=x, MMU Fault", Status::Info),
            ("NVRM: Xid (PCI:0000:05:00): 63, pid=1, Row Remapper", Status::Warn),
            ("NVRM: Xid (PCI:0000:05:00): 94, Contained", Status::Warn),
            ("NVRM: Xid (0000:05:00): 48, pid=1, DBE", Status::Fail),
            ("NVRM: Xid (PCI:0000:05:00): 149, NETIR", Status::Fail),
            ("NVRM: Xid (PCI:0000:05:00): 999, new", Status::Warn),
            (
                "NVRM: Xid (PCI:0000:05:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)",
                Status::Info,
            ),
            (
                "NVRM: Xid (PCI:0000:05:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
                Status::Fail,
            ),
            ("nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal", Status::Fail),
        ] {
            assert_eq!(with(text).statuses(&CHECK), [expected], "{text}");
        }
        assert_eq!(
            with("NVRM: Xid (PCI:0000:05:00): 79, GPU has fallen off the bus.").statuses(&CHECK),
            [Status::Pass]
        );
        assert_eq!(with("NVRM: Xid (PCI:0000:05:00): x").statuses(&CHECK), [Status::Pass]);
    }

    #[test]
    fn a_title_says_which_and_when() {
        let judged = with(GSP).judge(&CHECK);
        assert_eq!(judged[0].title, "gpu-1: Xid 119 of GPU 0000:05:00.0: 3 d 4 h after the boot");
        assert!(judged[0].cause.starts_with("GSP did not answer"), "{}", judged[0].cause);
    }
}
