//! What the checks of GPUs ask: which GPUs a guest has, and what its kernel said of them.

use crate::diagnose::check::{Judged, Lack, Scene};
use crate::fabric::{Attribute, Entity, EntityId, State, TargetId, Text};

/// NVIDIA GPUs of a guest, by their PCI functions.
pub fn gpus(scene: &Scene<'_>, guest: &TargetId) -> Vec<EntityId> {
    scene
        .fabric
        .of_kind(guest, Entity::PciFunction(Text::new("")))
        .map(|entity| EntityId::new(guest, entity.clone()))
        .filter(|id| scene.text(id, Attribute::FunctionKind) == Some("NVIDIA GPU"))
        .collect()
}

/// One message of the kernel.
#[derive(Clone, Debug)]
pub struct Message<'a> {
    /// Which.
    pub id: EntityId,
    /// When it came, in microseconds since the boot; 0 where it does not say.
    pub stamp: u64,
    /// Its words.
    pub text: &'a str,
}

/// Messages of the kernel that hold any of these words, in their order.
pub fn messages<'a>(scene: &Scene<'a>, guest: &TargetId, words: &[&str]) -> Vec<Message<'a>> {
    let mut messages: Vec<Message<'_>> = scene
        .fabric
        .of_kind(guest, Entity::KernelMessage { stamp: 0, ordinal: 0 })
        .filter_map(|entity| {
            let Entity::KernelMessage { stamp, .. } = entity else { return None };
            let id = EntityId::new(guest, entity.clone());
            let text = scene.text(&id, Attribute::Message)?;
            words.iter().any(|word| text.contains(word)).then_some(Message { id, stamp: *stamp, text })
        })
        .collect();
    messages.sort_by(|one, other| one.id.cmp(&other.id));
    messages
}

impl Message<'_> {
    /// When it came, in words: `3 d 4 h after the boot`.
    pub fn when(&self) -> String {
        let seconds = self.stamp / 1_000_000;
        match (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60) {
            _ if self.stamp == 0 => "at a time that it does not say".to_owned(),
            (0, 0, 0) => format!("{seconds} s after the boot"),
            (0, 0, minutes) => format!("{minutes} min after the boot"),
            (0, hours, minutes) => format!("{hours} h {minutes} min after the boot"),
            (days, hours, _) => format!("{days} d {hours} h after the boot"),
        }
    }

    /// The address that it names, as the PCI functions are named: `0000:9b:00.0`. Some leave out the function.
    pub fn address(&self) -> Option<String> {
        self.text.split(|letter: char| !letter.is_ascii_hexdigit() && letter != ':' && letter != '.').find_map(|word| {
            let word = word.trim_matches(':').trim_end_matches('.');
            let (slot, function) = word.split_once('.').unwrap_or((word, "0"));
            let mut parts = slot.split(':');
            let is_part = |part: Option<&str>, length: std::ops::RangeInclusive<usize>| {
                part.is_some_and(|part| {
                    length.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_hexdigit())
                })
            };
            let is_address = is_part(parts.next(), 4..=8)
                && is_part(parts.next(), 2..=2)
                && is_part(parts.next(), 2..=2)
                && parts.next().is_none()
                && function.len() == 1;
            is_address.then(|| format!("{slot}.{function}").to_ascii_lowercase())
        })
    }

    /// The GPU that it names, also one that is not on the bus any more; the only one where it names none; else the guest.
    pub fn subject(&self, gpus: &[EntityId]) -> EntityId {
        let target = &self.id.target;
        match (self.address(), gpus) {
            (Some(address), _) => EntityId::new(target, Entity::PciFunction(Text::new(&address))),
            (None, [only]) => only.clone(),
            (None, _) => EntityId::new(target, Entity::Guest),
        }
    }
}

/// A GPU as a sentence names it: `GPU 0000:9b:00.0`, or `its GPU`.
pub fn called(subject: &EntityId) -> String {
    match &subject.entity {
        Entity::PciFunction(address) => format!("GPU {address}"),
        _ => "its GPU".to_owned(),
    }
}

/// Guests that show an NVIDIA GPU: by a PCI function, or because their kernel speaks of one.
pub fn with_gpu<'a>(scene: &Scene<'a>) -> Vec<(&'a TargetId, Vec<EntityId>)> {
    scene
        .guests()
        .map(|guest| (guest, gpus(scene, guest)))
        .filter(|(guest, gpus)| !gpus.is_empty() || !messages(scene, guest, &["NVRM"]).is_empty())
        .collect()
}

/// What messages are about, each once, in order.
pub fn subjects(messages: &[Message<'_>], gpus: &[EntityId]) -> Vec<EntityId> {
    let mut subjects: Vec<EntityId> = messages.iter().map(|message| message.subject(gpus)).collect();
    subjects.sort();
    subjects.dedup();
    subjects
}

/// What was judged of some GPUs of a guest, and what its log tells of the others: nothing at all where all were judged.
pub fn and_the_others(
    scene: &Scene<'_>,
    guest: &TargetId,
    gpus: &[EntityId],
    mut judged: Vec<Judged>,
    well: &str,
    pattern: &str,
) -> Vec<Judged> {
    let is_judged = |gpu: &&EntityId| judged.iter().any(|judged| judged.subject == **gpu);
    let others: Vec<EntityId> = gpus.iter().filter(|gpu| !is_judged(gpu)).cloned().collect();
    if judged.is_empty() || !others.is_empty() {
        judged.extend(quiet(scene, guest, &others, well, pattern));
    }
    judged
}

/// Said of a guest's GPUs where no message was found: they are well, or its log could not be read.
fn quiet(scene: &Scene<'_>, guest: &TargetId, gpus: &[EntityId], well: &str, pattern: &str) -> Vec<Judged> {
    let log = EntityId::new(guest, Entity::Guest);
    let state = scene.fabric.reading(&log, Attribute::KernelLog).map(|reading| &reading.state);
    let unknown = |lack, why: String| {
        let title = format!("{guest}: the kernel log could not be read: {why}");
        vec![Judged::unknown(&log, lack, title, format!("on {guest}: sudo dmesg | grep -e {pattern}"))]
    };
    match state {
        Some(State::Known(_)) => {
            gpus.iter().map(|gpu| Judged::pass(gpu, format!("{guest}: {} {well}", called(gpu)))).collect()
        }
        Some(State::Failed(why)) => unknown(Lack::ProbeFailed, why.to_string()),
        Some(state) => unknown(Lack::NotObservable, state.why().unwrap_or_default()),
        None => {
            let (lack, why) = scene.unread(guest, "linux.dmesg").unwrap_or_else(|| scene.silence(guest));
            unknown(lack, why)
        }
    }
}

/// Raw text of guests with a GPU, for the tests of this layer.
#[cfg(test)]
pub mod testing {
    use crate::diagnose::check::testing::{Site, fails, says};

    /// The files of a GPU at `0000:05:00.0`, next to a vmxnet3.
    pub const FUNCTIONS: &str = "/sys/bus/pci/devices/0000:03:00.0/vendor:0x15ad\n/sys/bus/pci/devices/0000:05:00.0/vendor:0x10de\n\
                                 /sys/bus/pci/devices/0000:03:00.0/device:0x07b0\n/sys/bus/pci/devices/0000:05:00.0/device:0x26b9\n\
                                 /sys/bus/pci/devices/0000:03:00.0/class:0x020000\n/sys/bus/pci/devices/0000:05:00.0/class:0x030200\n\
                                 /sys/bus/pci/devices/0000:03:00.0/numa_node:-1\n/sys/bus/pci/devices/0000:05:00.0/numa_node:-1\n";
    /// Who drives them.
    pub const DRIVERS: &str = "'/sys/bus/pci/devices/0000:03:00.0/driver' -> '../../../../bus/pci/drivers/vmxnet3'\n\
                               '/sys/bus/pci/devices/0000:05:00.0/driver' -> '../../../../bus/pci/drivers/nvidia'\n";
    /// The guest, whose login may not read the log.
    pub fn unreadable() -> Site {
        guest().with("gpu-1", fails("linux.dmesg", 1, "dmesg: read kernel buffer failed: Operation not permitted"))
    }

    /// A driver that starts.
    pub const LOG: &str = "[    8.410021] nvidia: module license 'NVIDIA' taints kernel.\n\
                           [    8.520077] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023\n";

    /// A guest with a GPU that is well.
    pub fn guest() -> Site {
        Site::new().guest(
            "gpu-1",
            &[says("linux.pci-functions", FUNCTIONS), says("linux.pci-drivers", DRIVERS), says("linux.dmesg", LOG)],
        )
    }

    /// The same with this log.
    pub fn with_log(log: &str) -> Site {
        guest().with("gpu-1", says("linux.dmesg", log))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_in_their_spellings() {
        let of = |text: &str| {
            let id = EntityId::new(&TargetId::new("g"), Entity::KernelMessage { stamp: 0, ordinal: 0 });
            Message { id, stamp: 0, text }.address()
        };
        for text in [
            "NVRM: Xid (PCI:0000:9b:00): 119, pid=2024380, name=nvidia-smi",
            "NVRM: Xid (0000:9B:00): 79, GPU has fallen off the bus.",
            "NVRM: Xid (PCI:0000:9b:00 GPU-I:05): 13, x",
            "NVRM: GPU 0000:9b:00.0: RmInitAdapter failed! (0x24:0x72:1447)",
            "NVRM: GPU at PCI:0000:9b:00: GPU-00000000-0000-0000-0000-000000000001",
        ] {
            assert_eq!(of(text).as_deref(), Some("0000:9b:00.0"), "{text}");
        }
        assert_eq!(of("NVRM: None of the NVIDIA devices were initialized."), None);
    }
}
