//! A host speaks RDMA for PVRDMA only if one of its VMkernel adapters is tagged for it.

use super::bearing::{Carrier, carriers, is_on, tag, vmknics, why};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId, State};

/// A VMkernel adapter is tagged.
pub const CHECK: Check = Check {
    id: "host.pvrdma-vmknic",
    title: "A VMkernel adapter is tagged for PVRDMA",
    gate: "hosts with a VM that has a PVRDMA adapter",
    rule: "fails if Net.PVRDMAVmknic is empty or names an adapter that the host does not have; passes if it names one",
    source: Source { text: "vSphere Networking: Tag a VMkernel Adapter for PVRDMA", weak: false },
    thresholds: &[],
    explains: &["guest.transport", "vm.host-qualifies", "host.pvrdma-log"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    carriers(scene).iter().map(|carrier| of_host(scene, carrier)).collect()
}

fn of_host(scene: &Scene<'_>, carrier: &Carrier<'_>) -> Judged {
    let host = carrier.host;
    let setting = tag(host);
    let state = scene.fabric.reading(&setting, Attribute::SettingValue).map(|reading| &reading.state);
    let name = match state {
        Some(State::Empty) => String::new(),
        Some(State::Known(value)) => value.to_string().trim().to_owned(),
        _ => {
            let (lack, why) = why(scene, &setting, Attribute::SettingValue, "esxi.pvrdma-vmknic");
            let decide = "esxcli system settings advanced list -o /Net/PVRDMAVmknic";
            return Judged::unknown(&setting, lack, format!("Net.PVRDMAVmknic of {host}: {why}"), decide);
        }
    };
    if name.is_empty() {
        let vms = carrier.names(scene);
        return carrier
            .trouble(
                &setting,
                Confidence::Proved,
                format!("{host}: no VMkernel adapter is tagged for PVRDMA"),
                format!(
                    "without it the host has no address for RDMA: what {vms} sends to other hosts goes over TCP, in silence \
                     and slower"
                ),
            )
            .shown(&setting, Attribute::SettingValue, "Net.PVRDMAVmknic is empty")
            .cured_by(cure(scene, carrier, &setting, &name))
            .reaching(carrier.way(scene));
    }
    let adapter = EntityId::new(host, Entity::Vmknic(name.as_str().into()));
    if !scene.exists(&adapter) && !vmknics(scene, host).is_empty() {
        let there: Vec<String> = vmknics(scene, host).iter().map(|id| id.entity.name()).collect();
        return carrier
            .trouble(
                &setting,
                Confidence::Proved,
                format!("{host}: {name} is tagged for PVRDMA and does not exist"),
                format!("the host has {} only: without the tagged adapter PVRDMA goes over TCP", there.join(", ")),
            )
            .shown(&setting, Attribute::SettingValue, format!("Net.PVRDMAVmknic is {name}"))
            .cured_by(cure(scene, carrier, &setting, &name))
            .reaching(carrier.way(scene));
    }
    Judged::pass(&setting, format!("{name} of {host} is tagged for PVRDMA"))
}

/// Tags an adapter that is on the switch of the PVRDMA adapters, if there is one.
fn cure(scene: &Scene<'_>, carrier: &Carrier<'_>, setting: &EntityId, old: &str) -> Cure {
    let switches = &carrier.switches;
    let mut fitting: Vec<EntityId> = vmknics(scene, carrier.host)
        .into_iter()
        .filter(|vmknic| switches.iter().any(|switch| is_on(scene, vmknic, switch)))
        .collect();
    fitting.sort_by_key(|vmknic| scene.list(vmknic, Attribute::Addresses).is_none_or(<[_]>::is_empty));
    if let Some(vmknic) = fitting.first() {
        let name = vmknic.entity.name();
        Cure::on(carrier.host, &format!("Tag {name} for PVRDMA"), Risk::None, set(&name))
            .undone_by(restore(old), vec![(setting.clone(), Attribute::SettingValue)])
            .verified_by(&["host.pvrdma-vmknic", "host.pvrdma-vmknic-switch", "host.pvrdma-vmknic-address"])
    } else {
        let switch = switches.first().map_or_else(|| "the switch".to_owned(), |switch| switch.entity.name());
        let by_hand = format!(
            "vCenter: Hosts > Configure > VMkernel adapters > Add Networking: an adapter with an address of its own on a \
                 port group of {switch}"
        );
        let then = "vCenter: Hosts > Configure > Advanced System Settings > Edit: Net.PVRDMAVmknic = the new adapter";
        Cure::by_hand(
            "Make a VMkernel adapter on the switch of the PVRDMA adapters and tag it",
            vec![Step::ByHand(by_hand), Step::ByHand(then.to_owned())],
        )
        .verified_by(&["host.pvrdma-vmknic", "host.pvrdma-vmknic-switch", "host.pvrdma-vmknic-address"])
    }
}

/// Tags an adapter.
pub(super) fn set(name: &str) -> Vec<Step> {
    vec![Step::run(&["esxcli", "system", "settings", "advanced", "set", "-o", "/Net/PVRDMAVmknic", "-s", name])]
}

/// Brings the tag back that was there: none is the default.
pub(super) fn restore(old: &str) -> Vec<Step> {
    if old.is_empty() {
        vec![Step::run(&["esxcli", "system", "settings", "advanced", "set", "-o", "/Net/PVRDMAVmknic", "-d"])]
    } else {
        set(old)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || {
            Site::sound().replacing("esx02", "esxi.pvrdma-vmknic", "   String Value: vmk1\n", "   String Value: \n")
        },
        healthy: || Site::sound(),
        unclear: || Site::sound().with("esx02", fails("esxi.pvrdma-vmknic", 1, "Connect to localhost failed")),
    };

    /// The line of a published report of a host on which nobody tagged an adapter.
    const REPORT: &str = "| Net.PTSwitchingTimeout | Timeout (in ms) when asking the VMX/guest to switch in/out of passthru | 20000 \
                          | 20000 | 0 | 60000 | True |\n| Net.PVRDMAVmknic | Vmknic for PVRDMA |  |  | N/A | N/A | True |\n";

    fn of_second(site: &Site) -> Judged {
        site.judge(&CHECK).into_iter().find(|judged| judged.subject.target.as_str() == "esx02").expect("judged")
    }

    #[test]
    fn the_adapter_on_the_switch_is_tagged_and_the_old_tag_comes_back() {
        let judged = of_second(&(SAMPLES.trouble)());
        let shown = |steps: &[Step]| steps.iter().map(Step::shown).collect::<Vec<_>>();
        let cure = &judged.cures[0];
        assert_eq!(shown(&cure.steps), ["esxcli system settings advanced set -o /Net/PVRDMAVmknic -s vmk1"]);
        assert_eq!(shown(&cure.undo), ["esxcli system settings advanced set -o /Net/PVRDMAVmknic -d"]);
        let site = Site::sound().replacing("esx02", "esxi.pvrdma-vmknic", "String Value: vmk1", "String Value: vmk7");
        let judged = of_second(&site);
        assert_eq!(judged.title, "esx02: vmk7 is tagged for PVRDMA and does not exist");
        assert_eq!(shown(&judged.cures[0].undo), ["esxcli system settings advanced set -o /Net/PVRDMAVmknic -s vmk7"]);
    }

    #[test]
    fn an_empty_cell_of_a_report_is_a_value() {
        let judged = of_second(&Site::sound().with("esx02", says("esxi.pvrdma-vmknic", REPORT)));
        assert_eq!(judged.status, Status::Fail);
    }

    #[test]
    fn a_host_without_such_a_vm_needs_no_tag() {
        let site = (SAMPLES.trouble)().replacing("esx02", "esxi.vm-devices", "VirtualVmxnet3Vrdma", "VirtualVmxnet3");
        let site = site.replacing("esx02", "esxi.vmx-files", "\"vrdma\"", "\"vmxnet3\"");
        assert!(site.judge(&CHECK).iter().all(|judged| judged.subject.target.as_str() != "esx02"));
    }

    #[test]
    fn for_a_vm_that_is_off_it_is_a_warning() {
        let site = (SAMPLES.trouble)().replacing("esx02", "esxi.vm-summary", "\"poweredOn\"", "\"poweredOff\"");
        assert_eq!(of_second(&site).status, Status::Warn);
    }

    #[test]
    fn without_an_adapter_on_the_switch_a_person_makes_one() {
        let site = (SAMPLES.trouble)().replacing("esx02", "esxi.vmknic-list", "VDS Name: dvs-rdma", "VDS Name: other");
        let site = site.replacing("esx02", "esxi.vmknic-list", "VDS UUID: 50 1e", "VDS UUID: 51 1e");
        assert!(matches!(of_second(&site).cures[0].steps[0], Step::ByHand(_)));
    }
}
