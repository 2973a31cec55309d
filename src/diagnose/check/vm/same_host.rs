//! Two guests with PVRDMA on one host: memory is copied, and nothing that they do is seen on the wire.

use super::host_qualifies::way;
use crate::diagnose::check::{Check, DeviceKind, Judged, Lack, Reached, Scene, Source};
use crate::diagnose::path::ends;
use crate::fabric::{Attribute, EntityId};

/// Two guests of a pair run on different hosts.
pub const CHECK: Check = Check {
    id: "vm.same-host",
    title: "The VMs of a pair run on different hosts",
    gate: "pairs of guests with PVRDMA",
    rule: "informs if both run on one host; passes if they run on two",
    source: Source { text: "vSphere Networking: PVRDMA Support (memory copy on one host)", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    scene
        .pairs
        .iter()
        .filter_map(|(first, second)| {
            let (one, other) = ends(scene, first, second);
            let is_pvrdma = [&one, &other]
                .into_iter()
                .all(|end| end.port.as_ref().is_some_and(|port| port.kind == DeviceKind::Pvrdma));
            if !is_pvrdma {
                return None;
            }
            let (vm_of_one, vm_of_other) = (scene.joined.vm_of(first), scene.joined.vm_of(second));
            let (Some(vm_of_one), Some(vm_of_other)) = (vm_of_one, vm_of_other) else {
                let without = if vm_of_one.is_none() { first } else { second };
                let subject = EntityId::new(without, crate::fabric::Entity::Guest);
                let silent = scene.hosts().find(|host| scene.machines[*host].reached != Reached::Yes);
                let lack = if silent.is_some() { Lack::Unreached } else { Lack::NotObservable };
                let title = format!("on which host {without} runs is not known");
                let decide = format!("the ESXi host of {without} in the inventory");
                return Some(Judged::unknown(&subject, lack, title, decide));
            };
            Some(if vm_of_one.target == vm_of_other.target {
                let shown = |vm: &EntityId| crate::diagnose::path::runs_on(scene, vm);
                Judged::info(
                    vm_of_one,
                    format!("{first} and {second} both run on {}", vm_of_one.target),
                    "the hypervisor copies between them in memory: counters of adapters, uplinks and switches show nothing of \
                     it, a measurement says nothing of the network, and a move of one of them changes the transport",
                )
                .shown_by([shown(vm_of_one), shown(vm_of_other)])
                .reaching(way(scene, vm_of_one).into_iter().chain(way(scene, vm_of_other)))
            } else {
                let says = format!("{first} runs on {}, {second} on {}", vm_of_one.target, vm_of_other.target);
                Judged::pass(vm_of_one, says.clone()).shown(vm_of_one, Attribute::VmName, says)
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Info,
        trouble: || Site::sound().moving_vms("esx02", "esx01"),
        healthy: Site::sound,
        unclear: || Site::sound().silent("esx02", "connection timed out"),
    };

    #[test]
    fn without_the_host_in_the_inventory_nothing_was_missed() {
        let judged = Site::sound().without_target("esx02").judge(&CHECK);
        assert_eq!((judged[0].status, judged[0].lack), (Status::Unknown, Some(Lack::NotObservable)));
    }
}
