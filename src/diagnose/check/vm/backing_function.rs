//! A device that is passed through names a function of its host: one that the host does not have is that of another host, of
//! another slot, or of a card that is gone.

use super::machine::{self, HARDWARE, Kind, Vm};
use crate::diagnose::check::{Check, Exhibit, Judged, Lack, Scene, Source};
use crate::diagnose::finding::Status;
use crate::diagnose::remedy::Risk;
use crate::fabric::{Attribute, Entity, EntityId};

/// The functions behind passed-through devices exist on the host.
pub const CHECK: Check = Check {
    id: "vm.backing-function",
    title: "The functions behind passed-through devices exist on the host and are what the VM expects",
    gate: "devices that are passed through, virtual functions left out that are assigned at power-on only",
    rule: "fails if the host has no such function, or none of the allowed models; warns if the function is another model than \
           the VM says; passes else",
    source: Source {
        text: "vSphere: Add a PCI Device to a Virtual Machine; vSphere API: VirtualPCIPassthrough backings",
        weak: false,
    },
    thresholds: &[],
    explains: &["vm.power-on-failed", "vm.configuration", "gpu.driver-bound", "guest.rdma-device"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let mut found = Vec::new();
    for vm in machine::with(scene, HARDWARE) {
        for device in vm.of(&[Kind::Function, Kind::Dynamic]) {
            found.push(of(scene, &vm, device));
        }
    }
    found
}

fn of(scene: &Scene<'_>, vm: &Vm, device: &machine::Device) -> Judged {
    let id = &device.id;
    if let Some((lack, why)) = scene.unread(&vm.host, "esxi.pci-list") {
        let decide = format!("on {}: esxcli hardware pci list", vm.host);
        return vm.unclear(id, lack, &format!("the function behind {}: {why}", device.label), decide);
    }
    let chain = scene.joined.chains.iter().find(|chain| chain.device == *id);
    let Some(function) = chain.and_then(|chain| chain.reaches(|entity| matches!(entity, Entity::PciFunction(_))))
    else {
        return unjoined(scene, vm, device);
    };
    let ids = |id: &EntityId| {
        let text = |attribute| scene.text(id, attribute).map(str::to_ascii_lowercase);
        Some((text(Attribute::VendorId)?, text(Attribute::DeviceId)?))
    };
    let name = function.entity.name();
    match (ids(id), ids(function)) {
        (Some(said), Some(there)) if said != there && device.kind == Kind::Function => {
            let (said, there) = (format!("{}:{}", said.0, said.1), format!("{}:{}", there.0, there.1));
            let cause = "the card was moved to another slot, or another one was put in: the VM gets a device that its guest may have \
                         no driver for, or does not start";
            let title = format!("{} was a {said} when it was added, and {name} is a {there}", device.label);
            vm.fault(id, Status::Warn, &title, cause)
                .shown(id, Attribute::DeviceId, format!("the VM says {said}"))
                .shown(function, Attribute::DeviceId, format!("the host says {there}"))
                .cured_by(again(vm, device))
                .reaching(vm.way_of(scene, id))
        }
        _ => vm.pass(id, &format!("{} is {name} of the host", device.label)),
    }
}

/// A device of which the join could not say which function of the host it is.
fn unjoined(scene: &Scene<'_>, vm: &Vm, device: &machine::Device) -> Judged {
    let id = &device.id;
    let gap = scene.joined.gaps.iter().find(|gap| gap.about == *id && gap.missing == "PCI function of the host");
    let Some(gap) = gap else {
        let what = format!("the function behind {}: the configuration names none", device.label);
        return vm.unclear(id, Lack::NotObservable, &what, vm.ask(scene, "device.getdevices"));
    };
    if !gap.why.contains("has no ") {
        // Several could be meant, or it is not said which is given.
        if device.kind == Kind::Dynamic {
            return vm.pass(id, &format!("{}: {}", device.label, gap.why));
        }
        let what = format!("the function behind {}: {}", device.label, gap.why);
        return vm.unclear(id, Lack::NotObservable, &what, vm.ask(scene, "device.getdevices"));
    }
    let cause = format!("{}; the VM does not start with it", gap.why);
    let title = format!("{} names a function that the host does not have", device.label);
    let basis = gap.rests_on.iter().map(|(about, attribute)| Exhibit::of(about, *attribute, "as the VM is configured"));
    vm.fault(id, Status::Fail, &title, &cause)
        .shown_by(basis)
        .cured_by(again(vm, device))
        .reaching(vm.way_of(scene, id))
}

fn again(vm: &Vm, device: &machine::Device) -> crate::diagnose::remedy::Cure {
    vm.edit(
        "Give the VM the device of this host",
        &[
            format!("Edit Settings > {} > Remove, while the VM is off", device.label),
            "Edit Settings > Add New Device > PCI Device".to_owned(),
        ],
    )
    .risking(if vm.is_on() { Risk::RebootsGuest } else { Risk::None })
    .verified_by(&["vm.backing-function"])
    .noting("or put the VM on the host for which it was configured")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::check::vm::machine::tests::{gpu_missed, gpu_off};

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || elsewhere(Site::sound()),
        healthy: Site::sound,
        unclear: || {
            gpu_missed().with("esx01", fails("esxi.pci-list", 1, "Connect to localhost failed: Connection failure"))
        },
    };

    /// gpu-a names a slot that its host does not have.
    fn elsewhere(site: Site) -> Site {
        ["esxi.vm-devices", "esxi.vm-configs", "esxi.vmx-files"]
            .into_iter()
            .fold(site, |site, source| site.replacing("esx01", source, "00000:175:00.0", "00000:225:00.0"))
    }

    #[test]
    fn it_weighs_by_who_uses_the_vm() {
        assert_eq!(elsewhere(gpu_off()).statuses(&CHECK), [Status::Info]);
        assert_eq!(elsewhere(gpu_missed()).statuses(&CHECK), [Status::Warn]);
        let found = elsewhere(Site::sound()).judge(&CHECK);
        assert!(found[0].status == Status::Fail && found[0].cause.contains("0000:e1:00.0"), "{found:?}");
    }

    #[test]
    fn another_card_in_the_slot() {
        let site = Site::sound().replacing("esx01", "esxi.pci-list", "Device ID: 0x20f1", "Device ID: 0x2331");
        let found = site.judge(&CHECK);
        assert!(found[0].status == Status::Warn && found[0].title.contains("10de:20f1"), "{found:?}");
    }
}
