//! PVRDMA works on a distributed switch only: its adapters take part there in what the hosts agree on.

use super::machine::{self, Kind};
use crate::diagnose::check::{Check, Judged, Lack, Scene, Source};
use crate::diagnose::finding::Status;
use crate::diagnose::remedy::Risk;
use crate::fabric::Attribute;

/// PVRDMA adapters are on a distributed switch.
pub const CHECK: Check = Check {
    id: "vm.distributed-switch",
    title: "PVRDMA adapters are on a port group of a distributed switch",
    gate: "VMs with a PVRDMA adapter",
    rule: "fails if the adapter is on a port group of a standard switch; passes on a distributed one",
    source: Source { text: "vSphere Networking: PVRDMA Support", weak: false },
    thresholds: &[],
    explains: &[
        "guest.port-active",
        "guest.rdma-device",
        "guest.pvrdma-driver",
        "guest.transport",
        "vm.configuration",
        "host.pvrdma-vmknic-switch",
    ],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let mut found = Vec::new();
    for vm in machine::with(scene, &[Kind::Pvrdma]) {
        for adapter in vm.of(&[Kind::Pvrdma]) {
            let id = &adapter.id;
            if scene.text(id, Attribute::SwitchId).is_some() {
                found.push(vm.pass(id, &format!("{} is on a distributed switch", adapter.label)));
                continue;
            }
            let Some(group) = scene.text(id, Attribute::PortGroupKey) else {
                let (lack, why) = scene
                    .lack(id, Attribute::PortGroupKey)
                    .unwrap_or_else(|| (Lack::NotObservable, "its backing names none".to_owned()));
                let what = format!("the network of {}: {why}", adapter.label);
                found.push(vm.unclear(id, lack, &what, vm.ask(scene, "device.getdevices")));
                continue;
            };
            let path = |group: &str| vec![format!("Edit Settings > {} > Network: {group}", adapter.label)];
            found.push(
                vm.fault(
                    id,
                    Status::Fail,
                    &format!("{} (PVRDMA) is on {group}, a port group of a standard switch", adapter.label),
                    "PVRDMA needs a port group of a distributed switch whose uplink is the RDMA adapter: on a standard switch \
                     the adapter has no RDMA",
                )
                .shown(id, Attribute::PortGroupKey, format!("the backing names the port group {group}"))
                .cured_by(
                    vm.edit("Connect it to the distributed switch", &path("a distributed port group of the RDMA uplink"))
                        .risking(Risk::DisruptsRdma)
                        .undone_by(vm.steps(&path(group)), vec![(id.clone(), Attribute::PortGroupKey)])
                        .verified_by(&["vm.distributed-switch"]),
                )
                .reaching(vm.way_of(scene, id)),
            );
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site};

    const DISTRIBUTED: &str = "backing = (vim.vm.device.VirtualEthernetCard.DistributedVirtualPortBackingInfo) {\n            port = \
                               (vim.dvs.PortConnection) {\n               switchUuid = \"50 1e 81 57 81 ea ba d3-94 e9 0f 7b c9 1b da 81\",\n               \
                               portgroupKey = \"dvportgroup-117201\",\n               portKey = \"17\",\n               connectionCookie = 731402118,\n            },\n         }";

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || {
            with(
                "backing = (vim.vm.device.VirtualEthernetCard.NetworkBackingInfo) {\n            deviceName = \"VM Network\",\n            \
                 useAutoDetect = false,\n         }",
            )
        },
        healthy: Site::sound,
        unclear: || with("backing = (vim.vm.device.VirtualDevice.BackingInfo) null"),
    };

    fn with(backing: &str) -> Site {
        Site::sound().replacing("esx02", "esxi.vm-devices", DISTRIBUTED, backing)
    }
}
