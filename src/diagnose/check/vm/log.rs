//! What the log of a VM says of its last power-on. A VM begins its log anew each time it is started, so what stands there
//! is about the last time, and a VM that runs was not stopped by anything in it.

use crate::diagnose::check::{Exhibit, Scene};
use crate::fabric::{Attribute, Entity, EntityId, Text};
use crate::probe::logs::vmware;

/// One line that matters.
#[derive(Clone, Debug)]
pub(super) struct Line<'a> {
    /// The message.
    pub(super) id: EntityId,
    /// Its text.
    pub(super) text: &'a str,
}

impl Line<'_> {
    /// The line as evidence.
    pub(super) fn exhibit(&self, says: &str) -> Exhibit {
        Exhibit::of(&self.id, Attribute::Message, says)
    }
}

/// The lines of the log of a VM, in their order.
pub(super) fn lines<'a>(scene: &Scene<'a>, vm: &EntityId) -> Vec<Line<'a>> {
    let Some((folder, _)) = scene.text(vm, Attribute::VmxPath).and_then(|path| path.rsplit_once('/')) else {
        return Vec::new();
    };
    let own = Text::new(&format!("{folder}/vmware.log"));
    scene
        .fabric
        .of_kind(&vm.target, Entity::LogMessage { log: own.clone(), stamp: 0, ordinal: 0 })
        .take_while(|entity| matches!(entity, Entity::LogMessage { log, .. } if *log == own))
        .filter_map(|entity| {
            let id = EntityId::new(&vm.target, entity.clone());
            let text = scene.text(&id, Attribute::Message)?;
            Some(Line { id, text })
        })
        .collect()
}

/// What stopped a power-on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// The devices need more address space than the VM offers: pages of 4 KiB, needed and allowed.
    Window(u64, u64),
    /// Not all memory is reserved.
    Reservation,
    /// Nested virtualization is on.
    Nested,
    /// No PCIe root ports.
    NoSlot,
    /// The id of a device names none of this host.
    Id,
    /// The host does not give the device away.
    NotGiven,
    /// The host's passthrough did not take the device.
    NotRegistered,
}

/// The reason that a line gives; `None` if it gives none.
pub(super) fn reason(text: &str) -> Option<Reason> {
    if let Some((needed, limit)) = vmware::pages_needed(text) {
        return Some(Reason::Window(needed, limit));
    }
    let says = |words: &str| text.contains(words);
    if says("Invalid memory setting") || (says("memory reservation") && says("should be equal to memsize")) {
        Some(Reason::Reservation)
    } else if says("when Nested Hardware-Assisted Virtualization is enabled") {
        Some(Reason::Nested)
    } else if says("No PCIe slot available") || says("noslotavail") || says("Too many PCI devices") {
        Some(Reason::NoSlot)
    } else if says("No device hints found") {
        Some(Reason::Id)
    } else if says("is not a passthrough device") {
        Some(Reason::NotGiven)
    } else if says("Failed to register the device pciPassthru") {
        Some(Reason::NotRegistered)
    } else {
        None
    }
}

/// True for a line that says that a power-on failed, or why.
pub(super) fn is_failure(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let is_module = lower.contains("module '") && lower.contains("power on failed");
    is_module || lower.starts_with("power on failed") || reason(text).is_some()
}

/// The sizes of the 64-bit BARs that the log shows, in bytes: the newest of each.
pub(super) fn large_bars<'a>(lines: &[Line<'a>]) -> Vec<(&'a str, u32, u64, EntityId)> {
    let mut bars: Vec<(&str, u32, u64, EntityId)> = Vec::new();
    for line in lines.iter().filter(|line| line.text.contains(" type 3 ")) {
        let Some((address, number, size)) = vmware::bar(line.text) else { continue };
        bars.retain(|(other, of, ..)| (*other, *of) != (address, number));
        bars.push((address, number, size, line.id.clone()));
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_words_and_what_they_mean() {
        for (text, expected) in [
            (
                "PCIPassthru: total number of pages needed (4206594) exceeds limit (917504), failing",
                Some(Reason::Window(4_206_594, 917_504)),
            ),
            (
                "Invalid memory setting: memory reservation (sched.mem.min) should be equal to memsize(16384).",
                Some(Reason::Reservation),
            ),
            (
                "PCI passthrough devices cannot be added when Nested Hardware-Assisted Virtualization is enabled.",
                Some(Reason::Nested),
            ),
            (
                "msg.pci.noslotavail: \"No PCIe slot available for SCSI0. Remove SCSI0 and try again.\"",
                Some(Reason::NoSlot),
            ),
            ("AH No device hints found", Some(Reason::Id)),
            ("Device 6:0.0 is not a passthrough device.", Some(Reason::NotGiven)),
            (
                "Failed to register the device pciPassthru0 for 94:0.0 due to unavailable hardware or software support.",
                Some(Reason::NotRegistered),
            ),
            ("Module 'DevicePowerOn' power on failed.", None),
            ("PCIPassthru: Device 0000:af:00.0 barIndex 0 type 2 realaddr 0xb5000000 size 16777216 flags 0", None),
            ("PCIPassthru: Registered the device pciPassthru0 for 94:0.0", None),
        ] {
            assert_eq!(reason(text), expected, "{text}");
        }
        assert!(is_failure("Module 'DevicePowerOn' power on failed."));
        assert!(is_failure("Power on failed: (vim.fault.GenericVmConfigFault) ..."));
        assert!(!is_failure("if the power on failed, open a ticket"));
    }
}
