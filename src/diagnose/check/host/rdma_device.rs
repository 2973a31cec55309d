//! PVRDMA of two hosts is RDMA only if an uplink of the switch under it is an adapter with an RDMA device.

use super::bearing::{Carrier, carriers, rdma_devices, rdma_of, uplinks_of};
use crate::diagnose::check::{Check, Exhibit, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// The uplink has an RDMA device.
pub const CHECK: Check = Check {
    id: "host.rdma-device",
    title: "An RDMA device works on the uplink of the PVRDMA adapters",
    gate: "hosts with a VM that has a PVRDMA adapter",
    rule: "fails if the host has no RDMA device, or none that is paired with an uplink of the switch under a PVRDMA adapter; \
           passes if one is",
    source: Source { text: "vSphere Networking: PVRDMA Support", weak: false },
    thresholds: &[],
    explains: &["guest.transport", "vm.host-qualifies", "host.pvrdma-log"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    carriers(scene).iter().filter_map(|carrier| of_host(scene, carrier)).collect()
}

fn of_host(scene: &Scene<'_>, carrier: &Carrier<'_>) -> Option<Judged> {
    let host = carrier.host;
    let id = EntityId::new(host, Entity::Host);
    let devices = rdma_devices(scene, host);
    // The lists of protocols and of VMkernel adapters name devices too, but not what they are paired with.
    if let Some((lack, why)) = scene.unread(host, "esxi.rdma-devices") {
        let title = format!("the RDMA devices of {host}: {why}");
        return Some(Judged::unknown(&id, lack, title, "esxcli rdma device list"));
    }
    let switches = &carrier.switches;
    let mut lacking: Vec<(&EntityId, Vec<EntityId>)> = Vec::new();
    for switch in switches.iter().copied() {
        let uplinks = uplinks_of(scene, switch);
        if !uplinks.iter().any(|uplink| rdma_of(scene, uplink).is_some()) && !uplinks.is_empty() {
            lacking.push((switch, uplinks));
        }
    }
    let vms = carrier.names(scene);
    if devices.is_empty() {
        let mut judged = carrier.trouble(
            &id,
            Confidence::Proved,
            format!("{host} has no RDMA device"),
            format!(
                "no adapter with a driver for RoCE is left to the host, so PVRDMA of {vms} goes over TCP to other hosts"
            ),
        );
        judged = judged.shown(&id, Attribute::RdmaPresence, "the list of RDMA devices is empty");
        judged = judged.shown_by(reasons(scene, host, &switches.iter().copied().collect::<Vec<_>>()));
        return Some(judged.cured_by(cure(scene, &lacking, &devices)).reaching(carrier.way(scene)));
    }
    let Some((switch, uplinks)) = lacking.first() else {
        // Without an uplink at all there is nothing to be paired with: another check tells of it.
        if switches.iter().all(|switch| uplinks_of(scene, switch).is_empty()) {
            return None;
        }
        return Some(Judged::pass(&id, format!("an RDMA device of {host} works on the uplink of the PVRDMA adapters")));
    };
    let names: Vec<String> = uplinks.iter().map(|uplink| uplink.entity.name()).collect();
    let (names, on) = (names.join(", "), switch.entity.name());
    let mut judged = carrier
        .trouble(
            &id,
            Confidence::Proved,
            format!("{host}: no RDMA device works on {names}, the uplink of {on}"),
            format!(
                "the PVRDMA adapters of {vms} leave by {names}, which does no RDMA: to other hosts they go over TCP"
            ),
        )
        .shown(switch, Attribute::Uplinks, format!("{on} leaves by {names}"));
    for device in &devices {
        if let Some(paired) = scene.text(device, Attribute::PairedUplink) {
            let words = format!("{} works on {paired}", device.entity.name());
            judged = judged.shown(device, Attribute::PairedUplink, words);
        }
    }
    Some(judged.cured_by(cure(scene, &lacking, &devices)).reaching(carrier.way(scene)))
}

/// What shows why there is none: an adapter that was given away, the uplinks that are left.
fn reasons(scene: &Scene<'_>, host: &TargetId, switches: &[&EntityId]) -> Vec<Exhibit> {
    let mut found: Vec<Exhibit> = super::passthrough_owner::given_away(scene, host)
        .into_iter()
        .map(|(function, words)| Exhibit::of(&function, Attribute::CurrentOwner, words))
        .collect();
    for switch in switches {
        let names: Vec<String> = uplinks_of(scene, switch).iter().map(|uplink| uplink.entity.name()).collect();
        let names = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
        let attribute = if scene.exists(switch) { Attribute::Uplinks } else { Attribute::SwitchKind };
        found.push(Exhibit::of(switch, attribute, format!("{} leaves by {names}", switch.entity.name())));
    }
    found
}

fn cure(scene: &Scene<'_>, lacking: &[(&EntityId, Vec<EntityId>)], devices: &[EntityId]) -> Cure {
    let other = devices.iter().find_map(|device| scene.text(device, Attribute::PairedUplink));
    let verified = ["host.rdma-device", "host.sole-uplink"];
    match (lacking.first(), other) {
        (Some((switch, uplinks)), Some(better)) => {
            let names: Vec<String> = uplinks.iter().map(|uplink| uplink.entity.name()).collect();
            let step = format!(
                "vCenter: Networking > {} > Add and Manage Hosts > Manage host networking > physical adapters: {better} in the \
                 place of {}",
                switch.entity.name(),
                names.join(", ")
            );
            Cure::by_hand(&format!("Make {better} the only uplink of the switch"), vec![Step::ByHand(step)])
                .verified_by(&verified)
        }
        _ => Cure::by_hand(
            "Give the host an adapter with a driver for RoCE",
            vec![Step::ByHand(
                "an adapter that the VMware Compatibility Guide lists with RoCE, its driver installed and enabled (esxcli \
                 system module list), not in passthrough, and uplink of the distributed switch"
                    .to_owned(),
            )],
        )
        .verified_by(&verified),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || without(Site::sound()),
        healthy: || Site::sound(),
        unclear: || {
            let dead = "Connect to localhost failed";
            Site::sound().with("esx02", fails("esxi.rdma-devices", 1, dead))
        },
    };

    /// A host of which no driver speaks RoCE prints an empty list.
    fn without(site: Site) -> Site {
        ["esxi.rdma-devices", "esxi.rdma-vmknics", "esxi.rdma-protocols"]
            .iter()
            .fold(site, |site, source| site.with("esx02", says(source, "")))
            .with("esx02", says("esxi.rdma-stats", ""))
    }

    #[test]
    fn a_device_on_another_adapter_does_not_help() {
        let site = Site::sound().replacing("esx02", "esxi.distributed-switches", "Uplinks: vmnic2", "Uplinks: vmnic0");
        let judged = site.judge(&CHECK);
        let second = judged.last().expect("judged");
        assert_eq!(second.title, "esx02: no RDMA device works on vmnic0, the uplink of dvs-rdma");
        assert!(second.cures[0].title.contains("vmnic2"), "{:?}", second.cures);
    }

    #[test]
    fn a_switch_without_an_uplink_is_not_told_twice() {
        let site = Site::sound().replacing("esx02", "esxi.distributed-switches", "Uplinks: vmnic2", "Uplinks:");
        assert_eq!(site.statuses(&CHECK), [Status::Pass]);
    }

    #[test]
    fn a_release_without_the_command_is_unknown() {
        let unknown = "Error: Unknown command or namespace rdma device list";
        let site = without(Site::sound()).with("esx02", fails("esxi.rdma-devices", 1, unknown));
        assert_eq!(site.statuses(&CHECK), [Status::Pass, Status::Unknown]);
    }
}
