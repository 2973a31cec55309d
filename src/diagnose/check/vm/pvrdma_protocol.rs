//! A PVRDMA adapter speaks RoCE v1 or RoCE v2, as its settings say: two that are to talk must speak the same.

use super::machine::{self, Kind};
use crate::diagnose::check::{Check, Judged, Lack, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk};
use crate::fabric::Attribute;

/// PVRDMA adapters that are to talk speak one protocol.
pub const CHECK: Check = Check {
    id: "vm.pvrdma-protocol",
    title: "PVRDMA adapters that are to talk to each other speak the same RoCE",
    gate: "pairs of guests whose VMs both have a PVRDMA adapter",
    rule: "fails if one speaks RoCE v1 and the other RoCE v2; passes if both speak the same",
    source: Source { text: "vSphere API: VirtualVmxnet3Vrdma.deviceProtocol (rocev1, rocev2)", weak: false },
    thresholds: &[],
    explains: &["guest.gid-roce-v2", "guest.gid-index", "guest.queue-pairs", "guest.retransmits", "guest.transport"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let vms = machine::with(scene, &[Kind::Pvrdma]);
    let of = |guest| vms.iter().find(|vm| vm.guest.as_ref() == Some(guest));
    let mut found = Vec::new();
    for (one, other) in scene.pairs {
        let (Some(one), Some(other)) = (of(one), of(other)) else { continue };
        let (Some(first), Some(second)) = (one.of(&[Kind::Pvrdma]).next(), other.of(&[Kind::Pvrdma]).next()) else {
            continue;
        };
        let speaks = |id| scene.text(id, Attribute::DeviceProtocol).map(str::to_ascii_lowercase);
        let judged = match (speaks(&first.id), speaks(&second.id)) {
            (Some(left), Some(right)) if left == right => {
                one.pass(&first.id, &format!("{} and the one of {} both speak {left}", first.label, other.name))
            }
            (Some(left), Some(right)) => {
                let path =
                    |protocol: &str| vec![format!("Edit Settings > {} > Device Protocol: {protocol}", first.label)];
                let cause = "frames of RoCE v1 are Ethernet frames of their own type, those of RoCE v2 are UDP: neither adapter \
                             understands the other, and no connection over RDMA comes up";
                Judged::fail(
                    &first.id,
                    Confidence::Proved,
                    format!("{} speaks {left} and {} speaks {right}", one.name, other.name),
                    cause,
                )
                .shown(&first.id, Attribute::DeviceProtocol, format!("{}: {left}", one.name))
                .shown(&second.id, Attribute::DeviceProtocol, format!("{}: {right}", other.name))
                .cured_by(cure(one, &path(&right), &path(&left), &first.id))
                .reaching(one.way_of(scene, &first.id))
                .reaching(other.way_of(scene, &second.id))
            }
            (left, _) => {
                let (vm, lacking) = if left.is_none() { (one, first) } else { (other, second) };
                let (lack, why) = scene
                    .lack(&lacking.id, Attribute::DeviceProtocol)
                    .unwrap_or_else(|| (Lack::NotObservable, format!("{} leaves it empty", vm.host)));
                let what = format!("protocol of {}: {why}", lacking.label);
                vm.unclear(&lacking.id, lack, &what, vm.ask(scene, "device.getdevices | grep deviceProtocol"))
            }
        };
        found.push(judged);
    }
    found
}

fn cure(vm: &machine::Vm, there: &[String], back: &[String], id: &crate::fabric::EntityId) -> Cure {
    vm.edit("Let both speak the same", there)
        .risking(Risk::RebootsGuest)
        .undone_by(vm.steps(back), vec![(id.clone(), Attribute::DeviceProtocol)])
        .verified_by(&["vm.pvrdma-protocol"])
        .noting("the VM must be off; RoCE v2 is what passes routers, where the host's adapter offers it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || with("rocev1"),
        healthy: || with("ROCEV2"),
        unclear: || {
            Site::sound().replacing(
                "esx02",
                "esxi.vm-devices",
                "deviceProtocol = \"rocev2\"",
                "deviceProtocol = <unset>",
            )
        },
    };

    fn with(protocol: &str) -> Site {
        let text = format!("deviceProtocol = \"{protocol}\"");
        Site::sound().replacing("esx02", "esxi.vm-devices", "deviceProtocol = \"rocev2\"", &text)
    }

    #[test]
    fn guests_that_are_no_pair_may_differ() {
        assert!(with("rocev1").without_target("pv-a").judge(&CHECK).is_empty());
        assert!(Site::new().judge(&CHECK).is_empty());
    }
}
