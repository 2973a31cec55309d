//! A PVRDMA adapter asks for RoCE v1 or v2; the RDMA device of the host has to speak it.

use super::bearing::{is_running, rdma_of, switch_of, trouble, uplinks_of, vm_name, why};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::join::Chain;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId};

/// The device speaks what the adapter asks for.
pub const CHECK: Check = Check {
    id: "host.rdma-protocol",
    title: "The RDMA device of the host speaks the RoCE version that the PVRDMA adapter asks for",
    gate: "PVRDMA adapters over an uplink with an RDMA device",
    rule: "fails if the adapter is set to RoCE v1 or v2 and the device says that it does not speak it; passes if it does",
    source: Source { text: "vSphere Networking: PVRDMA Support", weak: false },
    thresholds: &[],
    explains: &[
        "guest.transport",
        "guest.gid-roce-v2",
        "guest.pvrdma-driver",
        "guest.kernel-messages",
        "host.pvrdma-log",
    ],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let mut found: Vec<Judged> = scene.pvrdma_chains().filter_map(|chain| of_adapter(scene, chain)).collect();
    found.sort_by(|one, other| one.subject.cmp(&other.subject));
    found
}

fn of_adapter(scene: &Scene<'_>, chain: &Chain) -> Option<Judged> {
    let host = &chain.vm.target;
    let protocol = scene.text(&chain.device, Attribute::DeviceProtocol)?;
    let (wanted, other, words, rest) = match protocol.to_ascii_lowercase().as_str() {
        "rocev1" => (Attribute::RoceV1, Attribute::RoceV2, "RoCE v1", "v2"),
        "rocev2" => (Attribute::RoceV2, Attribute::RoceV1, "RoCE v2", "v1"),
        _ => return None,
    };
    let device = if let Some(device) = chain.reaches(|to| matches!(to, Entity::RdmaDevice(_))) {
        device.clone()
    } else {
        let switch = switch_of(scene, chain)?;
        uplinks_of(scene, switch).iter().find_map(|uplink| rdma_of(scene, uplink))?
    };
    let (name, vm) = (device.entity.name(), vm_name(scene, &chain.vm));
    Some(match scene.flag(&device, wanted) {
        Some(true) => Judged::pass(&chain.device, format!("{name} of {host} speaks {words}, as {vm} asks for")),
        Some(false) => {
            let mut judged = trouble(
                is_running(scene, &chain.vm),
                &chain.device,
                Confidence::Proved,
                format!("{vm}: its PVRDMA adapter is set to {words}, which {name} of {host} does not speak"),
                format!(
                    "the adapter gets no RDMA from this host: its connections to other hosts fall back to TCP, or the driver in \
                     the guest refuses the device ({name} offers {})",
                    if scene.flag(&device, other) == Some(true) { format!("RoCE {rest}") } else { "neither".to_owned() }
                ),
            )
            .shown(&device, wanted, format!("{name}: {words} false"))
            .shown(&chain.device, Attribute::DeviceProtocol, format!("{vm} asks for {protocol}"))
            .reaching(scene.way_of(chain));
            judged = judged.cured_by(cure(scene, &device, other, rest, &vm));
            judged
        }
        None => {
            let (lack, why) = why(scene, &device, wanted, "esxi.rdma-protocols");
            let title = format!("whether {name} of {host} speaks {words}: {why}");
            Judged::unknown(&chain.device, lack, title, "esxcli rdma device protocol list")
        }
    })
}

fn cure(scene: &Scene<'_>, device: &EntityId, other: Attribute, rest: &str, vm: &str) -> Cure {
    let verified = ["host.rdma-protocol", "vm.pvrdma-protocol"];
    if scene.flag(device, other) == Some(true) {
        let step = format!(
            "vCenter: {vm} shut down > Edit Settings > the PVRDMA network adapter > Device Protocol: RoCE {rest}; the same for \
             every VM that it talks to"
        );
        Cure::by_hand(&format!("Set the adapter to RoCE {rest}"), vec![Step::ByHand(step)])
            .risking(Risk::RebootsGuest)
            .verified_by(&verified)
    } else {
        let step =
            "a driver, firmware or adapter that offers RoCE: esxcli rdma device protocol list shows it".to_owned();
        Cure::by_hand("Give the host an adapter that speaks RoCE", vec![Step::ByHand(step)]).verified_by(&verified)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || {
            // As ConnectX-3 of a vendor's table, turned round: v1 only.
            Site::sound().replacing(
                "esx02",
                "esxi.rdma-protocols",
                "vmrdma0     true     true",
                "vmrdma0     true    false",
            )
        },
        healthy: || Site::sound(),
        unclear: || Site::sound().with("esx02", fails("esxi.rdma-protocols", 1, "Connect to localhost failed")),
    };

    #[test]
    fn the_version_that_the_device_speaks_is_proposed() {
        let judged = (SAMPLES.trouble)().judge(&CHECK);
        let second = judged.last().expect("judged");
        assert_eq!(second.cures[0].title, "Set the adapter to RoCE v1");
        assert_eq!(second.cures[0].risk, Risk::RebootsGuest);
    }

    #[test]
    fn an_adapter_of_v1_does_not_need_v2() {
        let site = (SAMPLES.trouble)().replacing("esx02", "esxi.vm-devices", "\"rocev2\"", "\"rocev1\"");
        assert_eq!(site.statuses(&CHECK), [Status::Pass, Status::Pass]);
    }
}
