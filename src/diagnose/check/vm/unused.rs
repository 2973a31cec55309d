//! A function that the host has given away, and that no VM takes: nobody can use it, the host itself included.

use std::collections::BTreeSet;

use super::machine::{self, HARDWARE, Kind};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::join::LinkKind;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId, TargetId, Text};

/// What a host passes through is used by a VM.
pub const CHECK: Check = Check {
    id: "vm.unused-passthrough",
    title: "Functions that the host passes through belong to a VM",
    gate: "network adapters and graphics devices that are enabled for passthrough, virtual functions left out",
    rule: "tells of a function that no VM of the host is configured for; passes if one is",
    source: Source { text: "vSphere: Enable Passthrough for a Network Device on a Host", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let vms = machine::all(scene);
    scene.hosts().flat_map(|host| of_host(scene, &vms, host)).collect()
}

fn of_host(scene: &Scene<'_>, vms: &[machine::Vm], host: &TargetId) -> Vec<Judged> {
    let given: Vec<EntityId> = scene
        .fabric
        .of_kind(host, Entity::PciFunction(Text::new("")))
        .map(|entity| EntityId::new(host, entity.clone()))
        .filter(|id| scene.flag(id, Attribute::PassthroughEnabled) == Some(true) && is_whole_card(scene, id))
        .collect();
    if given.is_empty() {
        return Vec::new();
    }
    let taken: BTreeSet<&EntityId> = scene
        .joined
        .chains
        .iter()
        .filter(|chain| chain.vm.target == *host)
        .flat_map(|chain| &chain.links)
        .filter(|link| link.kind == LinkKind::DeviceFunction)
        .map(|link| &link.to)
        .collect();
    // Of a device without an address of its own any may be meant.
    let is_open = vms.iter().filter(|vm| vm.id.target == *host).any(|vm| {
        vm.of(HARDWARE).any(|device| {
            !scene.joined.chains.iter().any(|chain| {
                chain.device == device.id && chain.links.iter().any(|link| link.kind == LinkKind::DeviceFunction)
            }) && device.kind != Kind::Virtual
        })
    });
    // Without all of its VMs nothing can be said of a function that none of those that are known takes.
    let unread = scene.unread(host, "esxi.vm-list").or_else(|| scene.unread(host, "esxi.vm-configs"));
    given
        .into_iter()
        .filter_map(|id| {
            let name = id.entity.name();
            let device = scene.text(&id, Attribute::DeviceName).unwrap_or("a function");
            if taken.contains(&id) {
                return Some(Judged::pass(&id, format!("{host}: {name} ({device}) belongs to a VM")));
            }
            if let Some((lack, why)) = &unread {
                let decide = format!("on {host}: for each VM vim-cmd vmsvc/device.getdevices, {name} in decimal");
                return Some(Judged::unknown(&id, *lack, format!("{host}: whether a VM takes {name}: {why}"), decide));
            }
            (!is_open).then(|| unused(host, &id, &name, device))
        })
        .collect()
}

fn unused(host: &TargetId, id: &EntityId, name: &str, device: &str) -> Judged {
    let set = |state: &str| {
        vec![Step::run(&["esxcli", "hardware", "pci", "pcipassthru", "set", "-d", name, "-e", state, "-a"])]
    };
    Judged::info(
        id,
        format!("{host}: {name} ({device}) is passed through, and no VM takes it"),
        "while it is given away the host cannot use it either: a network adapter is no uplink, and PVRDMA has no RDMA device there",
    )
    .shown(id, Attribute::PassthroughEnabled, format!("passthrough of {name} is enabled"))
    .cured_by(
        Cure::on(host, "Give it back to the host", Risk::None, set("false"))
            .undone_by(set("true"), vec![(id.clone(), Attribute::PassthroughEnabled)])
            .verified_by(&["vm.unused-passthrough"])
            .noting("7.0 and later; some devices change hands with the next boot only"),
    )
}

/// True for a network adapter or a graphics device that is no virtual function.
fn is_whole_card(scene: &Scene<'_>, id: &EntityId) -> bool {
    let text = |attribute| scene.text(id, attribute).unwrap_or_default();
    let is_virtual = text(Attribute::DeviceName).to_ascii_lowercase().contains("virtual function")
        || text(Attribute::KernelName).starts_with("PF_");
    let is_card = ["15b3", "10de", "14e4", "8086"].contains(&text(Attribute::VendorId));
    is_card && !is_virtual
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Info,
        trouble: || enabled(Site::sound()),
        healthy: Site::sound,
        unclear: || {
            let fault = "Connect to localhost failed: Connection failure";
            let site = enabled(Site::sound()).with("esx01", fails("esxi.vm-configs", 1, fault));
            site.with("esx01", fails("esxi.vm-devices", 1, fault))
        },
    };

    /// The second port of the adapter of esx01 is given away.
    fn enabled(site: Site) -> Site {
        site.replacing("esx01", "esxi.pci-passthrough", "0000:5e:00.1    false", "0000:5e:00.1     true").replacing(
            "esx01",
            "esxi.pci-list",
            "VMkernel Name: vmnic3\n   Vendor Name: Mellanox Technologies\n   Device Name: MT28908 Family [ConnectX-6]\n   \
             Configured Owner: VMkernel\n   Current Owner: VMkernel",
            "VMkernel Name:\n   Vendor Name: Mellanox Technologies\n   Device Name: MT28908 Family [ConnectX-6]\n   \
             Configured Owner: VM Passthru\n   Current Owner: VM Passthru",
        )
    }

    #[test]
    fn the_command_takes_its_own_way_back() {
        let found = enabled(Site::sound()).judge(&CHECK);
        let unused = found.iter().find(|judged| judged.status == Status::Info).expect("it is unused");
        assert_eq!(unused.cures[0].steps[0].shown(), "esxcli hardware pci pcipassthru set -d 0000:5e:00.1 -e false -a");
        assert_eq!(unused.cures[0].undo[0].shown(), "esxcli hardware pci pcipassthru set -d 0000:5e:00.1 -e true -a");
    }

    #[test]
    fn a_dynamic_device_may_take_any() {
        let changes = [
            ("VirtualPCIPassthrough.DeviceBackingInfo", "VirtualPCIPassthrough.DynamicBackingInfo"),
            ("id = \"00000:175:00.0\"", "assignedId = <unset>"),
        ];
        let site = changes.into_iter().fold(enabled(Site::sound()), |site, (from, to)| {
            site.replacing("esx01", "esxi.vm-devices", from, to).replacing("esx01", "esxi.vm-configs", from, to)
        });
        assert!(site.statuses(&CHECK).iter().all(|status| *status == Status::Pass), "{:?}", site.judge(&CHECK));
    }
}
