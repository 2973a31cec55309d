//! On which NUMA node of the guest the adapter is, if the VM says so.

use super::ask;
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// The guest knows where its adapter is.
pub const CHECK: Check = Check {
    id: "guest.numa",
    title: "The guest knows on which NUMA node its RDMA adapter is",
    gate: "guests with an RDMA function",
    rule: "passes with one node, or if the function names its node; informs if the guest has several and the function names none (-1, usual in VMs)",
    source: Source {
        text: "kernel ABI: sysfs-bus-pci numa_node; vSphere Resource Management: virtual NUMA",
        weak: false,
    },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let mut all = Vec::new();
    for guest in scene.guests() {
        for device in ask::devices_of(scene, guest) {
            let Some(address) = scene.text(&device, Attribute::PciAddress) else { continue };
            let function = EntityId::new(guest, Entity::PciFunction(address.into()));
            all.push(judge_function(scene, guest, &function));
        }
    }
    all
}

fn judge_function(scene: &Scene<'_>, guest: &TargetId, function: &EntityId) -> Judged {
    let address = function.entity.name();
    let nodes = scene.fabric.of_kind(guest, Entity::NumaNode(0)).count();
    if nodes == 0 {
        let first = EntityId::new(guest, Entity::NumaNode(0));
        let mut judged =
            ask::untold(scene, &first, Attribute::NodeProcessors, "linux.numa-nodes", "numactl --hardware");
        judged.subject = function.clone();
        return judged;
    }
    if nodes == 1 {
        return Judged::pass(function, format!("{guest}: there is one NUMA node"));
    }
    let node = scene.value(function, Attribute::NumaNode).map(ToString::to_string);
    match node.as_deref() {
        None => ask::untold(scene, function, Attribute::NumaNode, "linux.pci-functions", &format!("cat /sys/bus/pci/devices/{address}/numa_node")),
        Some("-1") => Judged::info(
            function,
            format!("{guest}: the VM does not say on which of {nodes} NUMA nodes {address} is"),
            "usual for a VM: its virtual nodes follow those of the host, but nothing tells the guest which of them is near the adapter; the \
             chain below the adapter names the host's node, and a job is best measured on each of the guest's nodes",
        )
        .shown(function, Attribute::NumaNode, "numa_node is -1"),
        Some(node) => Judged::pass(function, format!("{guest}: {address} is on NUMA node {node}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::only;
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Info,
        trouble: Site::sound,
        healthy: || only(&["pv-a", "pv-b"]),
        unclear: || {
            only(&["pv-a"])
                .with("pv-a", fails("linux.numa-nodes", 124, "timeout"))
                .with("pv-a", fails("linux.numa-memory", 124, "timeout"))
        },
    };

    #[test]
    fn a_function_that_names_its_node_is_well() {
        let site = only(&["hca-a"]).replacing(
            "hca-a",
            "linux.pci-functions",
            "0000:13:00.0/numa_node:-1",
            "0000:13:00.0/numa_node:1",
        );
        assert_eq!(site.statuses(&CHECK), [Status::Pass]);
    }
}
