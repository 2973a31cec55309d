//! What the kernel said of RDMA since it started, as far as it is not settled by a later message.

use std::collections::BTreeMap;

use super::ask;
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// The kernel reports no errors of RDMA.
pub const CHECK: Check = Check {
    id: "guest.kernel-messages",
    title: "The kernel reports no errors of its RDMA and network drivers",
    gate: "guests with RDMA devices or functions whose kernel log can be read",
    rule: "fails if a driver says that a device did not start or does not answer, and nothing later says that it did; warns of its other errors",
    source: Source { text: "driver sources: vmw_pvrdma, vmxnet3, mlx5_core, ib_core", weak: false },
    thresholds: &[],
    explains: &[
        "guest.rdma-device",
        "guest.pvrdma-driver",
        "guest.port-active",
        "guest.gid-table",
        "guest.queue-pairs",
    ],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// Words of the drivers that this layer is about.
const ABOUT: [&str; 9] =
    ["vmw_pvrdma", "vmxnet3", "mlx5_", "mlx4_", "rdma_rxe", "infiniband ", "RDMA CMA", "bnxt_re", "irdma"];

/// A device that did not start, or that no longer answers.
const FATAL: [&str; 14] = [
    "failed to find paired",
    "failed to get vmxnet3 device",
    "driver needs RoCE",
    "failed with error",
    "cannot enable PCI device",
    "register mapping failed",
    "PCI BAR region not MMIO",
    "failed to allocate interrupts",
    "dma_set_mask failed",
    "failed to activate device",
    "failed to register",
    "health compromised",
    "health recovery failed",
    "Will cause a leak of a command resource",
];

/// Words that settle what a driver said before.
const GOOD: [(&str, &[&str]); 4] = [
    ("vmw_pvrdma", &["attached to device"]),
    ("vmxnet3", &["NIC Link is Up"]),
    ("mlx5_", &["Link up", "Cable plugged", "health recovery succeeded"]),
    ("infiniband ", &["set active"]),
];

/// One message.
struct Message<'a> {
    id: EntityId,
    text: &'a str,
    severity: &'a str,
}

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let concerned = |guest: &&TargetId| {
        !ask::devices_of(scene, guest).is_empty()
            || ["PVRDMA", "RDMA-capable NIC", "InfiniBand adapter"]
                .iter()
                .any(|kind| !ask::functions_of(scene, guest, kind).is_empty())
    };
    scene.guests().filter(concerned).flat_map(|guest| judge_guest(scene, guest)).collect()
}

fn judge_guest(scene: &Scene<'_>, guest: &TargetId) -> Vec<Judged> {
    let id = EntityId::new(guest, Entity::Guest);
    if scene.flag(&id, Attribute::KernelLog) != Some(true) {
        return vec![ask::untold(scene, &id, Attribute::KernelLog, "linux.dmesg", "dmesg, as root")];
    }
    let messages: Vec<Message<'_>> = scene
        .fabric
        .of_kind(guest, Entity::KernelMessage { stamp: 0, ordinal: 0 })
        .filter_map(|entity| {
            let id = EntityId::new(guest, entity.clone());
            let text = scene.text(&id, Attribute::Message)?;
            let severity = scene.text(&id, Attribute::Severity)?;
            Some(Message { id, text, severity })
        })
        .collect();
    let mut groups: BTreeMap<String, Vec<&Message<'_>>> = BTreeMap::new();
    for (at, message) in messages.iter().enumerate() {
        let later = messages[at + 1..].iter().map(|message| message.text);
        if message.severity == "error" && is_ours(message.text) && !is_settled(message.text, later) {
            let meaning = scene.text(&message.id, Attribute::Meaning).unwrap_or(message.text);
            groups.entry(meaning.to_owned()).or_default().push(message);
        }
    }
    // "probe of ... failed" only repeats what the line before it says.
    if groups.len() > 1 {
        groups.retain(|_, messages| !messages.iter().all(|message| message.text.contains("failed with error")));
    }
    if groups.is_empty() {
        return vec![Judged::pass(&id, format!("{guest}: the kernel reports no errors of RDMA"))];
    }
    groups.iter().map(|(meaning, messages)| judge_group(scene, guest, meaning, messages)).collect()
}

/// True for a message of a driver that this layer is about.
pub fn is_ours(text: &str) -> bool {
    ABOUT.iter().any(|words| text.contains(words))
}

/// True for a message after which a device does not work.
pub fn is_fatal(text: &str) -> bool {
    FATAL.iter().any(|words| text.contains(words))
}

/// True if a later message of the same driver, about the same function where one is named, says that all is well.
pub fn is_settled<'a>(text: &str, mut later: impl Iterator<Item = &'a str>) -> bool {
    let Some((driver, words)) = GOOD.iter().find(|(driver, _)| text.contains(driver)) else { return false };
    let function = function_of(text);
    later.any(|other| {
        other.contains(driver)
            && words.iter().any(|word| other.contains(word))
            && (function.is_none() || function_of(other) == function)
    })
}

/// The PCI function that a message names: `0000:0b:00.1`.
fn function_of(text: &str) -> Option<&str> {
    text.split([' ', ',']).map(|word| word.trim_end_matches(':')).find(|word| {
        word.len() >= 12
            && word.matches(':').count() == 2
            && word.bytes().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.'))
    })
}

fn judge_group(scene: &Scene<'_>, guest: &TargetId, meaning: &str, messages: &[&Message<'_>]) -> Judged {
    let first = messages[0];
    let fatal = messages.iter().any(|message| is_fatal(message.text));
    let subject = first.id.clone();
    let title = format!("{guest}: {}", first.text.chars().take(110).collect::<String>());
    let mut judged = if fatal {
        Judged::fail(&subject, Confidence::Proved, title, meaning)
    } else {
        Judged::warn(&subject, Confidence::Likely, title, format!("{meaning}; it may be over since"))
    };
    for message in messages.iter().take(3) {
        judged = judged.shown(&message.id, Attribute::Message, "the kernel says");
    }
    let mut reaches = vec![EntityId::new(guest, Entity::Guest)];
    let address = messages.iter().find_map(|message| function_of(message.text));
    if let Some(address) = address {
        reaches.push(EntityId::new(guest, Entity::PciFunction(address.into())));
    }
    for port in scene.ports(guest) {
        let is_its = address.is_none_or(|address| {
            scene.text(&port.device, Attribute::PciAddress) == Some(address)
                || port.netdev.as_ref().and_then(|netdev| scene.text(netdev, Attribute::PciAddress)) == Some(address)
        });
        if is_its {
            reaches.extend(ask::way(scene, &port));
        }
    }
    judged.decided_by(decision(first.text)).reaching(reaches)
}

/// Where to look next.
pub fn decision(text: &str) -> &'static str {
    if text.contains("driver needs RoCE") || text.contains("failed to activate") || text.contains("unknown response") {
        "the host of this VM: Net.PVRDMAVmknic, the RDMA device of the uplink, the ruleset pvrdma, and vmkernel.log"
    } else if text.contains("mlx5_") {
        "the link and the firmware of the adapter: ethtool, mlxfwmanager, and the log of the host"
    } else if text.contains("create queuepair not supported") {
        "the version of rdma-core in this guest"
    } else {
        "dmesg -T around this line, and the checks of the device that it names"
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{only, without_rdma};
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::finding::Status;

    // A driver that found no RoCE type, in the words of a real log.
    const NO_ROCE: &str = "[    3.201443] vmw_pvrdma 0000:0b:00.1: device version 20, driver version 20\n\
        [    3.207912] vmw_pvrdma 0000:0b:00.1: driver needs RoCE v1 or v2 support\n\
        [    3.214480] vmw_pvrdma: probe of 0000:0b:00.1 failed with error -14\n";

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || {
            let link = "\n'/sys/bus/pci/devices/0000:0b:00.1/driver' -> '../../../../bus/pci/drivers/vmw_pvrdma'";
            without_rdma(only(&["pv-a"]), "pv-a")
                .replacing("pv-a", "linux.pci-drivers", link, "")
                .with("pv-a", says("linux.dmesg", NO_ROCE))
        },
        healthy: || Site::sound().without_target("vf-a"),
        unclear: || {
            Site::sound()
                .with("pv-a", fails("linux.dmesg", 1, "dmesg: read kernel buffer failed: Operation not permitted\n"))
        },
    };

    /// What the check says of one guest that printed this.
    fn of(name: &str, log: &str) -> Vec<Status> {
        only(&[name]).with(name, says("linux.dmesg", log)).statuses(&CHECK)
    }

    #[test]
    fn the_line_that_tells_stands_for_the_one_that_repeats_it() {
        let judged = (SAMPLES.trouble)().judge(&CHECK);
        assert_eq!(judged.len(), 1, "{judged:#?}");
        assert!(judged[0].cause.contains("RoCE type"), "{}", judged[0].cause);
        assert!(judged[0].decide.contains("Net.PVRDMAVmknic"));
    }

    #[test]
    fn a_driver_that_started_later_is_well() {
        let log = format!("{NO_ROCE}[   93.214480] vmw_pvrdma 0000:0b:00.1: attached to device\n");
        assert_eq!(of("pv-a", &log), [Status::Pass]);
        // Another function that started settles nothing.
        let other = format!("{NO_ROCE}[   93.214480] vmw_pvrdma 0000:13:00.1: attached to device\n");
        assert_eq!(of("pv-a", &other), [Status::Fail]);
    }

    #[test]
    fn errors_of_other_drivers_are_other_checks() {
        let gpu = "[   10.000001] NVRM: Xid (PCI:0000:9b:00): 79, pid=0, GPU has fallen off the bus.\n";
        assert_eq!(of("hca-a", gpu), [Status::Pass]);
    }

    #[test]
    fn a_cable_that_was_plugged_in_again_is_no_error() {
        let log = "[   10.000001] mlx5_core 0000:13:00.0: Port module event: module 0, Cable unplugged\n\
                   [   20.000001] mlx5_core 0000:13:00.0: Port module event: module 0, Cable plugged\n";
        assert_eq!(of("hca-a", log), [Status::Pass]);
        assert_eq!(of("hca-a", log.lines().next().expect("a line")), [Status::Warn]);
    }
}
