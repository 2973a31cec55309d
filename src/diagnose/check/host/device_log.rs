//! What the VMkernel's log says of devices that VMs use: a lost PCIe link, an adapter that no longer answers its driver.

use std::collections::BTreeMap;

use super::bearing::{is_running, passed, rdma_uplinks, way};
use super::messages::{Message, names, of_host, quoted};
use crate::diagnose::check::{Check, Exhibit, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::join::{Chain, LinkKind};
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// The log has no errors of used devices.
pub const CHECK: Check = Check {
    id: "host.device-log",
    title: "The VMkernel's log has no errors of devices that VMs use",
    gate: "hosts with functions that stand behind devices of VMs, or with uplinks that RDMA of VMs leaves by",
    rule: "fails if the PCIe link of a function of a running VM is reported down; warns if the log of the last day has other \
           errors of such a function or adapter, or of its driver; passes if it has none",
    source: Source {
        text: "vmkernel.log of published cases: PCIe link down at a reset, NMLX command failed",
        weak: false,
    },
    thresholds: &[],
    explains: &["gpu.fell-off-bus", "gpu.xid", "guest.kernel-messages", "guest.port-active", "vm.power-on-failed"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// Modules whose errors concern devices.
const MODULES: [&str; 8] = ["PCIPassthru", "PCI: ", "NMLX_", "nmlx5_core", "nmlx4_core", "AER", "IOMMU", "PCIEHP"];

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    // Names by which the log may call what is used: addresses of functions, names of uplinks.
    let mut hosts: BTreeMap<&TargetId, Vec<(String, Vec<&Chain>)>> = BTreeMap::new();
    let used = rdma_uplinks(scene);
    for uplink in &used {
        let named = hosts.entry(&uplink.id.target).or_default();
        named.push((uplink.id.entity.name(), uplink.chains.clone()));
        if let Some(address) = scene.text(&uplink.id, Attribute::PciAddress) {
            named.push((address.to_owned(), uplink.chains.clone()));
        }
    }
    for chain in passed(scene) {
        if let Some(link) = chain.links.iter().find(|link| link.kind == LinkKind::DeviceFunction) {
            hosts.entry(&chain.vm.target).or_default().push((link.to.entity.name(), vec![chain]));
        }
    }
    hosts.into_iter().map(|(host, named)| of_one(scene, host, &named)).collect()
}

fn of_one(scene: &Scene<'_>, host: &TargetId, named: &[(String, Vec<&Chain>)]) -> Judged {
    let id = EntityId::new(host, Entity::Host);
    let messages = match of_host(scene, host) {
        Ok(messages) => messages,
        Err((lack, why)) => {
            let title = format!("what the log of {host} says of devices: {why}");
            return Judged::unknown(&id, lack, title, "tail -n 5000 /var/log/vmkernel.log");
        }
    };
    let mut told: Vec<(&Message<'_>, Vec<&Chain>)> = Vec::new();
    for message in messages.iter().filter(|message| message.severity == "error") {
        if !MODULES.iter().any(|module| message.text.contains(module)) || message.text.contains("nvmerdma") {
            continue;
        }
        let chains: Vec<&Chain> = named
            .iter()
            .filter(|(name, _)| names(message.text, name))
            .flat_map(|(_, chains)| chains.iter().copied())
            .collect();
        // A message that names another device is not about what is used; one that names none may be.
        if !chains.is_empty() || !names_a_device(message.text) {
            told.push((message, chains));
        }
    }
    let Some((last, _)) = told.last() else {
        return Judged::pass(&id, format!("the log of {host} has no errors of devices that VMs use"));
    };
    let is_lost = |text: &str| text.contains("PCIe link") && text.contains("is down");
    let lost = told.iter().find(|(message, chains)| is_lost(message.text) && !chains.is_empty());
    let mut chains: Vec<&Chain> = told.iter().flat_map(|(_, chains)| chains.iter().copied()).collect();
    if chains.is_empty() {
        chains = named.iter().flat_map(|(_, chains)| chains.iter().copied()).collect();
    }
    let vms = super::bearing::names(scene, &chains);
    let step = Step::ByHand(
        "seat, riser and power of the card, the firmware's settings for power saving of PCIe (ASPM) and hot-plug; then a cold start"
            .to_owned(),
    );
    let judged = match lost {
        Some((message, lost)) => {
            let runs = lost.iter().any(|chain| is_running(scene, &chain.vm));
            super::bearing::trouble(
                runs,
                &id,
                Confidence::Proved,
                format!("{host}: the PCIe link of a device of {} is down", super::bearing::names(scene, lost)),
                format!(
                    "the host itself no longer sees the device ({}): hardware, slot, power or power saving, not the driver in \
                     the guest",
                    quoted(message.text)
                ),
            )
        }
        None => Judged::warn(
            &id,
            Confidence::Likely,
            format!("{host}: vmkernel.log has errors of devices that {vms} use"),
            format!("the last one says: {}", quoted(last.text)),
        )
        .decided_by("the lines around these in /var/log/vmkernel.log, and the hardware health of the host in its service processor"),
    };
    judged
        .shown_by(told.iter().rev().take(3).map(|(message, _)| Exhibit::thing(&message.id, quoted(message.text))))
        .cured_by(
            Cure::by_hand("Look at the hardware of the device", vec![step])
                .risking(Risk::RebootsHost)
                .verified_by(&["host.device-log"]),
        )
        .reaching(way(scene, &chains))
}

/// True if a text names an uplink or a PCI address.
fn names_a_device(text: &str) -> bool {
    let is_address = |word: &str| {
        let parts: Vec<&str> = word.split([':', '.']).collect();
        let is_hex = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_hexdigit());
        parts.len() == 4 && parts[0].len() == 4 && parts[1].len() == 2 && parts.iter().all(is_hex)
    };
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == ':' || c == '.'))
        .map(|word| word.trim_matches([':', '.']))
        .any(|word| is_address(word) || (word.starts_with("vmnic") && word.len() > 5))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::finding::Status;

    /// Three lines of a host of release 8 of which a GPU fell off.
    const LINK_DOWN: &str = include_str!("../../../../tests/fixtures/esxi-logs/vmkernel-8-link-down.txt");
    const ABORTED: &str = "2026-11-24T12:54:18.973Z Al(177) vmkalert: cpu66:2097709)ALERT: <NMLX_ERR> nmlx5_coreQueryTir:268 \
                           command failed: IO was aborted\n";

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || log("esx01", &LINK_DOWN.replace("0000:05:00.0", "0000:af:00.0")),
        // The same words about a device that no VM uses.
        healthy: || log("esx01", LINK_DOWN),
        unclear: || {
            let no = "tail: can't open '/var/log/vmkernel.log': Permission denied";
            Site::sound().with("esx01", fails("esxi.vmkernel-log-tail", 1, no))
        },
    };

    fn log(host: &str, text: &str) -> Site {
        Site::sound().with(host, says("esxi.vmkernel-log-tail", text))
    }

    #[test]
    fn a_driver_that_names_nothing_is_taken_for_that_of_the_used_adapter() {
        assert_eq!(log("esx02", ABORTED).statuses(&CHECK), [Status::Pass, Status::Warn]);
    }

    #[test]
    fn devices_in_a_text() {
        for text in ["reset on 0000:05:00.0 because", "(0000:a9:00.0) Adapter", "nmlx5_core: vmnic2: link"] {
            assert!(names_a_device(text), "{text}");
        }
        for text in ["nmlx5_coreQueryTir:268 command failed", "9127.5:D:text", "vmnic", ""] {
            assert!(!names_a_device(text), "{text}");
        }
    }
}
