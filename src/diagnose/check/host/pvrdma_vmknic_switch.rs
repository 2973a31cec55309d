//! The VMkernel adapter for PVRDMA has to be on the switch whose uplink is the RDMA adapter that the VMs use.

use super::bearing::{Carrier, carriers, is_on, tag, tagged, vmknics, why};
use super::pvrdma_vmknic::{restore, set};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, EntityId};

/// The tagged adapter is on the right switch.
pub const CHECK: Check = Check {
    id: "host.pvrdma-vmknic-switch",
    title: "The VMkernel adapter for PVRDMA is on the switch of the PVRDMA adapters",
    gate: "hosts with a VM that has a PVRDMA adapter, and a VMkernel adapter that is tagged for PVRDMA",
    rule: "fails if the tagged VMkernel adapter is on another switch than a PVRDMA adapter; passes if it is on the same",
    source: Source { text: "vSphere Networking: Configure an ESXi Host for PVRDMA", weak: false },
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
    let Some(vmknic) = tagged(scene, host) else {
        // Nothing tagged is another check's matter; a tag whose adapter could not be looked up is not.
        let name = scene.text(&tag(host), Attribute::SettingValue).filter(|_| vmknics(scene, host).is_empty())?;
        let (lack, why) = why(scene, &tag(host), Attribute::OnSwitch, "esxi.vmknic-list");
        let title = format!("the switch of {name} of {host}: {why}");
        return Some(Judged::unknown(&tag(host), lack, title, "esxcli network ip interface list"));
    };
    let name = vmknic.entity.name();
    let switches = &carrier.switches;
    if switches.is_empty() {
        return None;
    }
    let Some(own) = scene.text(&vmknic, Attribute::OnSwitch) else {
        let (lack, why) = why(scene, &vmknic, Attribute::OnSwitch, "esxi.vmknic-list");
        let title = format!("the switch of {name} of {host}: {why}");
        return Some(Judged::unknown(&vmknic, lack, title, "esxcli network ip interface list"));
    };
    let Some(apart) = switches.iter().find(|switch| !is_on(scene, &vmknic, switch)) else {
        return Some(Judged::pass(&vmknic, format!("{name} of {host} is on {own}, as the PVRDMA adapters are")));
    };
    let wanted = apart.entity.name();
    let judged = carrier
        .trouble(
            &vmknic,
            Confidence::Likely,
            format!("{host}: {name}, tagged for PVRDMA, is on {own}; the PVRDMA adapters are on {wanted}"),
            format!(
                "the host takes the RDMA device of the uplink under {name}; what {} sends leaves by {wanted}, so there is no \
                 RDMA for it and TCP takes its place",
                carrier.names(scene)
            ),
        )
        .shown(&vmknic, Attribute::OnSwitch, format!("{name} is on {own}"))
        .shown(apart, Attribute::SwitchKind, format!("the PVRDMA adapters are on {wanted}"))
        .decided_by("esxcli rdma device stats get -d vmrdmaN before and after a transfer: do bytes and queue pairs rise?")
        .cured_by(cure(scene, carrier, apart, &name))
        .reaching(carrier.way(scene));
    Some(judged)
}

fn cure(scene: &Scene<'_>, carrier: &Carrier<'_>, switch: &EntityId, old: &str) -> Cure {
    let there = vmknics(scene, carrier.host).into_iter().find(|vmknic| is_on(scene, vmknic, switch));
    let verified = ["host.pvrdma-vmknic-switch", "host.pvrdma-vmknic-address"];
    if let Some(vmknic) = there {
        let name = vmknic.entity.name();
        let title = format!("Tag {name}, which is on {}", switch.entity.name());
        Cure::on(carrier.host, &title, Risk::DisruptsRdma, set(&name))
            .undone_by(restore(old), vec![(tag(carrier.host), Attribute::SettingValue)])
            .verified_by(&verified)
    } else {
        let step = format!(
            "vCenter: Hosts > Configure > VMkernel adapters > Add Networking: an adapter with an address of its own on a \
                 port group of {}; then Advanced System Settings: Net.PVRDMAVmknic = its name",
            switch.entity.name()
        );
        Cure::by_hand("Make a VMkernel adapter on that switch and tag it", vec![Step::ByHand(step)])
            .verified_by(&verified)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || Site::sound().replacing("esx02", "esxi.pvrdma-vmknic", "String Value: vmk1", "String Value: vmk0"),
        healthy: || Site::sound(),
        unclear: || {
            Site::sound()
                .with("esx02", fails("esxi.vmknic-list", 1, "Connect to localhost failed"))
                .with("esx02", fails("esxi.vmknic-addresses", 1, "Connect to localhost failed"))
        },
    };

    #[test]
    fn the_other_adapter_is_proposed() {
        let judged = (SAMPLES.trouble)().judge(&CHECK);
        let cure = &judged[1].cures[0];
        assert_eq!(cure.steps[0].shown(), "esxcli system settings advanced set -o /Net/PVRDMAVmknic -s vmk1");
        assert_eq!(cure.undo[0].shown(), "esxcli system settings advanced set -o /Net/PVRDMAVmknic -s vmk0");
        assert!(judged[1].title.contains("vmk0, tagged for PVRDMA, is on vSwitch0"), "{}", judged[1].title);
    }

    #[test]
    fn without_a_tag_there_is_nothing_to_place() {
        let site = Site::sound().replacing("esx02", "esxi.pvrdma-vmknic", "String Value: vmk1\n", "String Value:\n");
        assert_eq!(site.statuses(&CHECK), [Status::Pass]);
    }
}
