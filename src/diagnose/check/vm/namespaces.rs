//! RDMA namespaces: with them a VM keeps the numbers of its queue pairs and keys when it moves to another host.

use super::machine::{self, Kind};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Status;
use crate::fabric::{Attribute, Entity, EntityId};

/// VMs with PVRDMA have namespaces.
pub const CHECK: Check = Check {
    id: "vm.namespaces",
    title: "VMs with PVRDMA have RDMA namespaces",
    gate: "VMs with a PVRDMA adapter and hardware 13 or newer",
    rule: "tells of hardware below 17, or of a host below 7.0; passes else",
    source: Source { text: "vSphere Networking: PVRDMA Support", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    machine::with(scene, &[Kind::Pvrdma])
        .iter()
        .filter_map(|vm| {
            let Some(version) = scene.count(&vm.id, Attribute::HardwareVersion) else {
                let command = "get.config | grep version";
                return Some(vm.unknown(scene, &vm.id, Attribute::HardwareVersion, "RDMA namespaces", command));
            };
            if version < 13 {
                return None;
            }
            let host = EntityId::new(&vm.host, Entity::Host);
            let is_old = scene.text(&host, Attribute::EsxiVersion).is_some_and(|release| release.starts_with("6."));
            let said = "without namespaces the host translates the numbers of queue pairs and keys: vMotion works, and peers \
                        must be PVRDMA VMs";
            let judged = if version < 17 {
                vm.fault(&vm.id, Status::Info, &format!("hardware {version} has no RDMA namespaces (17 has)"), said).shown(
                    &vm.id,
                    Attribute::HardwareVersion,
                    format!("hardware version {version}"),
                )
            } else if is_old {
                vm.fault(&vm.id, Status::Info, "its host has no RDMA namespaces (7.0 has)", said).shown(
                    &host,
                    Attribute::EsxiVersion,
                    "the release of the host",
                )
            } else {
                vm.pass(&vm.id, &format!("hardware {version} has RDMA namespaces, where the adapter supports them"))
            };
            Some(judged)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};

    pub const SAMPLES: Samples = Samples {
        says: Status::Info,
        trouble: || version("16"),
        healthy: || version("17"),
        unclear: || {
            Site::sound().with("esx02", fails("esxi.vm-configs", 1, "Connect to localhost failed: Connection failure"))
        },
    };

    fn version(number: &str) -> Site {
        Site::sound().replacing(
            "esx02",
            "esxi.vm-configs",
            "version = \"vmx-19\"",
            &format!("version = \"vmx-{number}\""),
        )
    }

    #[test]
    fn what_is_older_than_pvrdma_is_said_elsewhere() {
        assert_eq!(version("11").judge(&CHECK).len(), 1, "pv-a alone");
    }
}
