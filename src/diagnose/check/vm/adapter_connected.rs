//! An adapter can be there and not be connected: its port in the guest is down then.

use super::machine::{self, Kind};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Status;
use crate::diagnose::remedy::Risk;
use crate::fabric::Attribute;

/// The PVRDMA adapters of VMs that run are connected.
pub const CHECK: Check = Check {
    id: "vm.adapter-connected",
    title: "PVRDMA adapters of VMs that run are connected",
    gate: "VMs that run and have a PVRDMA adapter",
    rule: "fails if the adapter is not connected; passes if it is",
    source: Source {
        text: "driver source vmw_pvrdma_main.c: the port follows the link of the paired vmxnet3",
        weak: false,
    },
    thresholds: &[],
    explains: &[
        "guest.port-active",
        "guest.netdev-up",
        "guest.address",
        "guest.neighbour",
        "guest.gid-table",
        "vm.port-blocked-or-down",
        "vm.configuration",
    ],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let mut found = Vec::new();
    // An adapter of a VM that is off is never connected.
    for vm in machine::with(scene, &[Kind::Pvrdma]).iter().filter(|vm| vm.is_on()) {
        for adapter in vm.of(&[Kind::Pvrdma]) {
            let path = |state: &str| vec![format!("Edit Settings > {} > {state}", adapter.label)];
            found.push(match scene.flag(&adapter.id, Attribute::DeviceConnected) {
                Some(true) => vm.pass(&adapter.id, &format!("{} is connected", adapter.label)),
                Some(false) => vm
                    .fault(
                        &adapter.id,
                        Status::Fail,
                        &format!("{} (PVRDMA) is not connected", adapter.label),
                        "the RDMA port in the guest follows the link of the adapter: it is DOWN, and no traffic passes",
                    )
                    .shown(&adapter.id, Attribute::DeviceConnected, format!("{}: connected = false", adapter.label))
                    .cured_by(
                        vm.edit("Connect the adapter", &path("check Connected, and Connect At Power On"))
                            .undone_by(
                                vm.steps(&path("uncheck Connected")),
                                vec![(adapter.id.clone(), Attribute::DeviceConnected)],
                            )
                            .risking(Risk::None)
                            .verified_by(&["vm.adapter-connected", "guest.port-active"]),
                    )
                    .reaching(vm.way_of(scene, &adapter.id)),
                None => vm.unknown(
                    scene,
                    &adapter.id,
                    Attribute::DeviceConnected,
                    &format!("whether {} is connected", adapter.label),
                    "device.getdevices",
                ),
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site};

    /// The connection of the PVRDMA adapter of pv-b, whose port and cookie stand before it.
    const COOKIE: &str = "connectionCookie = 731402118,\n            },\n         },\n         connectable = \
                          (vim.vm.device.VirtualDevice.ConnectInfo) {\n            migrateConnect = \"unset\",\n            \
                          startConnected = true,\n            allowGuestControl = true,\n            connected = true";

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || with("connected = false"),
        healthy: || with("connected = true"),
        unclear: || with("other = true"),
    };

    fn with(state: &str) -> Site {
        let by = format!("{}{state}", COOKIE.trim_end_matches("connected = true"));
        Site::sound().replacing("esx02", "esxi.vm-devices", COOKIE, &by)
    }

    #[test]
    fn an_adapter_of_a_vm_that_is_off_is_not_looked_at() {
        let site = with("connected = false")
            .replacing("esx02", "esxi.vm-summary", "poweredOn", "poweredOff")
            .silent("pv-b", "no route to host");
        assert_eq!(site.statuses(&CHECK), [Status::Pass], "pv-a alone");
    }
}
