//! A VM that is bound to a NUMA node should be bound to that of its device.

use std::collections::BTreeSet;

use super::machine::{self, CONCERNED, Vm};
use crate::diagnose::check::{Check, Judged, Lack, Scene, Source};
use crate::diagnose::finding::Status;
use crate::diagnose::join::Chain;
use crate::diagnose::remedy::Risk;
use crate::fabric::{Attribute, Entity, EntityId};

/// VMs that are bound to NUMA nodes are bound to that of their device.
pub const CHECK: Check = Check {
    id: "vm.numa-affinity",
    title: "VMs that are bound to a NUMA node are bound to that of their device",
    gate: "VMs with numa.nodeAffinity and a device of the host or a PVRDMA adapter whose function is known",
    rule: "warns if the node of the device is none of those; passes if it is",
    source: Source {
        text: "vSphere Resource Management: Associate Virtual Machines with Specified NUMA Nodes",
        weak: false,
    },
    thresholds: &[],
    explains: &["guest.numa", "vm.configuration"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// The nodes of a list like `0,1`.
fn nodes(text: &str) -> Option<BTreeSet<u32>> {
    text.split(',').map(|node| node.trim().parse().ok()).collect()
}

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let mut found = Vec::new();
    for vm in machine::with(scene, CONCERNED) {
        let Some(bound) = scene.text(&vm.id, Attribute::NumaNode).and_then(nodes) else { continue };
        let own = scene.joined.chains.iter().filter(|chain| chain.vm == vm.id);
        for chain in own.filter(|chain| vm.of(CONCERNED).any(|device| device.id == chain.device)) {
            found.extend(of(scene, &vm, chain, &bound));
        }
    }
    found
}

fn of(scene: &Scene<'_>, vm: &Vm, chain: &Chain, bound: &BTreeSet<u32>) -> Option<Judged> {
    let function: &EntityId = chain.reaches(|entity| matches!(entity, Entity::PciFunction(_)))?;
    let shown: Vec<String> = bound.iter().map(ToString::to_string).collect();
    let (shown, name) = (shown.join(", "), function.entity.name());
    let Some(Entity::NumaNode(node)) =
        chain.reaches(|entity| matches!(entity, Entity::NumaNode(_))).map(|id| &id.entity)
    else {
        let (lack, why) =
            scene.lack(function, Attribute::NumaNode).unwrap_or((Lack::NotObservable, "the host says none".to_owned()));
        let decide = format!(
            "on {}: esxcli hardware pci list prints a NUMA Node on newer releases; else the server's manual",
            vm.host
        );
        return Some(vm.unclear(
            &chain.device,
            lack,
            &format!("bound to node {shown}; the node of {name}: {why}"),
            decide,
        ));
    };
    if bound.contains(node) {
        return Some(vm.pass(&chain.device, &format!("bound to node {shown}, where {name} is")));
    }
    let path = |nodes: &str| {
        vec![format!("Edit Settings > VM Options > Advanced > Edit Configuration: numa.nodeAffinity = \"{nodes}\"")]
    };
    Some(
        vm.fault(
            &chain.device,
            Status::Warn,
            &format!("bound to NUMA node {shown}, and its device {name} is at node {node}"),
            "all its traffic crosses the link between the processors: latency rises and bandwidth is shared with everything \
             else that crosses there",
        )
        .shown(&vm.id, Attribute::NumaNode, format!("numa.nodeAffinity = {shown}"))
        .shown(function, Attribute::NumaNode, format!("{name} is at node {node}"))
        .cured_by(
            vm.edit("Bind the VM to the node of its device", &path(&node.to_string()))
                .risking(if vm.is_on() { Risk::RebootsGuest } else { Risk::None })
                .undone_by(vm.steps(&path(&shown)), vec![(vm.id.clone(), Attribute::NumaNode)])
                .verified_by(&["vm.numa-affinity"])
                .noting("its memory and processors must fit in that node"),
        )
        .reaching(vm.way_of(scene, &chain.device)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site};

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || bound("0", "   NUMA Node: 1\n"),
        healthy: || bound("0,1", "   NUMA Node: 1\n"),
        unclear: || bound("1", ""),
    };

    /// gpu-a bound to these nodes, on a host that prints this of its GPU.
    fn bound(nodes: &str, node: &str) -> Site {
        let option = |nodes: &str| format!("key = \"numa.nodeAffinity\",\n         value = \"{nodes}\"");
        let gpu = "   Device Name: GA100 [A100 PCIe 40GB]\n";
        Site::sound().replacing("esx01", "esxi.vm-configs", &option("1"), &option(nodes)).replacing(
            "esx01",
            "esxi.pci-list",
            gpu,
            &format!("{gpu}{node}"),
        )
    }

    #[test]
    fn lists_of_nodes() {
        assert_eq!(nodes("0, 3"), Some(BTreeSet::from([0, 3])));
        assert_eq!((nodes(""), nodes("all"), nodes("1;2")), (None, None, None));
    }
}
