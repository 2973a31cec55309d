//! Guests and VMs that belong together were found, with the adapters of both.

use crate::diagnose::check::{Check, DeviceKind, Exhibit, Judged, Lack, MachineKind, Reached, Scene, Source};
use crate::diagnose::join::Gap;
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// Every guest was found in a VM of the hosts, and its RDMA adapters in that VM.
pub const CHECK: Check = Check {
    id: "tool.joined",
    title: "Every guest was found in a VM, and its RDMA adapters in that VM",
    gate: "guests on VMware, if hosts are in the inventory",
    rule: "informs if a guest is in no VM of these hosts, or an RDMA adapter of it is none of its VM; is unclear as long as a host \
           was not reached",
    source: Source { text: "hardware addresses, BIOS UUIDs, PCI slots", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    if scene.hosts().next().is_none() {
        return Vec::new();
    }
    scene.guests().flat_map(|guest| of_guest(scene, guest)).collect()
}

fn of_guest(scene: &Scene<'_>, guest: &TargetId) -> Vec<Judged> {
    let id = EntityId::new(guest, Entity::Guest);
    if !scene.exists(&id) {
        let (lack, why) = scene.silence(guest);
        return vec![Judged::unknown(&id, lack, why, format!("ssh {guest} true"))];
    }
    // A guest on metal or on another hypervisor belongs to no VM of theirs.
    let is_elsewhere =
        scene.text(&id, Attribute::Virtualization).is_some_and(|word| !word.eq_ignore_ascii_case("vmware"));
    if is_elsewhere {
        return Vec::new();
    }
    let unreached =
        scene.machines.iter().find(|(_, machine)| machine.kind == MachineKind::Host && machine.reached != Reached::Yes);
    let Some(vm) = scene.joined.vm_of(guest) else {
        if let Some((host, _)) = unreached {
            let (_, why) = scene.silence(host);
            let title = format!("{guest} is in no VM of the hosts that were read; {why}");
            return vec![Judged::unknown(&id, Lack::Unreached, title, format!("vim-cmd vmsvc/getallvms on {host}"))];
        }
        let gap = scene.joined.gaps.iter().find(|gap| gap.about == id && gap.missing == "VM");
        let why = gap.map_or("no VM of the hosts that are read fits it", |gap| gap.why.as_str());
        let judged = Judged::info(
            &id,
            format!("{guest}: it was found in no VM of the hosts"),
            format!("{why}. Nothing below the guest is checked for it: neither its VM nor uplinks nor counters of a host"),
        )
        .decided_by("cat /sys/class/dmi/id/product_uuid in the guest (root) against uuid.bios in the VMX; is its host in the inventory?");
        return vec![with_basis(judged, gap, &id)];
    };
    let ports = scene.ports(guest).into_iter();
    let apart: Vec<_> = ports
        .filter(|port| matches!(port.kind, DeviceKind::Pvrdma | DeviceKind::Passthrough))
        .filter(|port| scene.chain_of(&port.device).is_none() && !is_of_a_chain(scene, port.netdev.as_ref()))
        .collect();
    if apart.is_empty() {
        return vec![Judged::pass(&id, format!("{guest} runs in {vm}, with its RDMA adapters"))];
    }
    apart
        .into_iter()
        .map(|port| {
            let name = port.device.entity.name();
            // What is said of another device of the guest is no reason for this one.
            let address = scene.fabric.text(&port.device, Attribute::PciAddress);
            let is_of_it = |gap: &&Gap| match &gap.about.entity {
                Entity::PciFunction(function) if gap.about.target == *guest => Some(function.as_str()) == address,
                _ => gap.about.target == *guest || gap.about == *vm,
            };
            let gap = scene.joined.gaps.iter().find(is_of_it);
            let why = gap
                .map_or_else(|| format!("no device of {vm} has its slot or hardware address"), |gap| gap.why.clone());
            let judged = Judged::info(
                &port.device,
                format!("{guest}: {name} was found among no devices of its VM"),
                format!("{why}. Nothing below the guest is checked for this adapter"),
            )
            .shown(&port.device, Attribute::PciAddress, format!("where the guest has {name}"))
            .decided_by(
                "lspci -D in the guest against pciPassthru*.pciSlotNumber or ethernet*.pciSlotNumber in the VMX",
            );
            with_basis(judged, gap, &port.device)
        })
        .collect()
}

fn is_of_a_chain(scene: &Scene<'_>, netdev: Option<&EntityId>) -> bool {
    netdev.is_some_and(|netdev| scene.chain_of(netdev).is_some())
}

fn with_basis(judged: Judged, gap: Option<&Gap>, otherwise: &EntityId) -> Judged {
    let basis = gap.map(|gap| gap.rests_on.as_slice()).unwrap_or_default();
    if basis.is_empty() {
        return judged.shown_by([Exhibit::thing(otherwise, "what the guest says of itself")]);
    }
    judged.shown_by(basis.iter().map(|(about, attribute)| Exhibit::of(about, *attribute, attribute.label())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site};
    use crate::diagnose::finding::Status;

    // The hosts know the VMs with PVRDMA only.
    pub const SAMPLES: Samples = Samples {
        says: Status::Info,
        trouble: Site::sound,
        healthy: || ["hca-a", "hca-b", "vf-a"].iter().fold(Site::sound(), |site, guest| site.without_target(guest)),
        unclear: || Site::sound().silent("esx02", "connection refused"),
    };

    fn of(site: &Site, guest: &str) -> Option<Judged> {
        site.judge(&CHECK).into_iter().find(|judged| judged.subject.target.as_str() == guest)
    }

    #[test]
    fn without_hosts_and_on_another_hypervisor_nothing_is_said() {
        let alone = Site::sound().without_target("esx01").without_target("esx02");
        assert!(alone.judge(&CHECK).is_empty());
        assert_eq!(of(&Site::sound(), "hca-a").map(|judged| judged.status), Some(Status::Info));
        let elsewhere = Site::sound().replacing("hca-a", "linux.system-files", "VMware, Inc.", "QEMU").replacing(
            "hca-a",
            "linux.system-files",
            "VMware7,1",
            "Standard PC (Q35 + ICH9, 2009)",
        );
        assert!(of(&elsewhere, "hca-a").is_none(), "a system on another hypervisor is in no VM of ESXi");
    }

    #[test]
    fn a_guest_whose_host_was_not_reached_is_not_said_to_be_a_stranger() {
        let site = Site::sound().silent("esx02", "connection refused");
        assert_eq!(of(&site, "pv-a").map(|judged| judged.status), Some(Status::Pass));
        assert_eq!(of(&site, "pv-b").map(|judged| judged.status), Some(Status::Unknown));
    }
}
