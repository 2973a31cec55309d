//! A guest that does not answer may simply be powered off.

use super::machine::{self, Power, Vm};
use crate::diagnose::check::{Check, Judged, Reached, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, TargetId};

/// The VMs of the guests of the inventory run.
pub const CHECK: Check = Check {
    id: "vm.power-state",
    title: "The VMs of the guests of the inventory run",
    gate: "guests of the inventory whose VM is known: by hardware address and BIOS UUID, or by its name if it did not answer",
    rule: "fails if the guest did not answer and its VM is off or suspended; passes if the VM runs",
    source: Source { text: "vSphere API: VirtualMachinePowerState", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    machine::all(scene).iter().filter_map(|vm| of(scene, vm, vm.guest.as_ref()?)).collect()
}

fn of(scene: &Scene<'_>, vm: &Vm, guest: &TargetId) -> Option<Judged> {
    let (state, command, back) = match vm.power {
        Power::On => return Some(vm.pass(&vm.id, "runs")),
        Power::Off => ("powered off", "power.on", "power.shutdown"),
        Power::Suspended => ("suspended", "power.on", "power.suspend"),
        Power::Unclear => {
            return Some(vm.unknown(scene, &vm.id, Attribute::PowerState, "whether it runs", "power.getstate"));
        }
    };
    // A guest that answers runs, whatever was read of its VM a while ago.
    let reached = scene.machines.get(guest).map(|machine| &machine.reached);
    let Some(Reached::No(why)) = reached else { return None };
    // By its name alone a VM may be that of another machine.
    let is_joined = scene.joined.vm_of(guest).is_some();
    let mut judged = Judged::fail(
        &vm.id,
        if is_joined { Confidence::Proved } else { Confidence::Likely },
        format!("{guest}: its VM is {state} on {}", vm.host),
        format!("the guest does not answer ({why}) because the VM of its name does not run"),
    )
    .shown(&vm.id, Attribute::PowerState, format!("the host says that {} is {state}", vm.name))
    .reaching(vm.way(scene));
    if let Some(number) = scene.count(&vm.id, Attribute::VmNumber) {
        let number = number.to_string();
        let step = |command: &str| vec![Step::run(&["vim-cmd", &format!("vmsvc/{command}"), &number])];
        judged = judged.cured_by(
            Cure::on(&vm.host, "Power the VM on", Risk::None, step(command))
                .undone_by(step(back), vec![(vm.id.clone(), Attribute::PowerState)])
                .verified_by(&["vm.power-state"])
                .noting("in a cluster better from vCenter, which places it"),
        );
    } else {
        judged = judged.cured_by(vm.edit("Power the VM on", &["Power > Power On".to_owned()]));
    }
    Some(judged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::check::vm::machine::tests::{gpu_missed, gpu_off};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: gpu_missed,
        healthy: Site::sound,
        unclear: || {
            gpu_missed().with("esx01", fails("esxi.vm-summary", 1, "Connect to localhost failed: Connection failure"))
        },
    };

    #[test]
    fn a_vm_that_is_no_guest_of_the_inventory_may_be_off() {
        assert_eq!(gpu_off().statuses(&CHECK), [Status::Pass, Status::Pass]);
    }

    #[test]
    fn the_remedy_is_exact_and_has_a_way_back() {
        let found = gpu_missed().judge(&CHECK);
        let off = found.iter().find(|judged| judged.status == Status::Fail).expect("it is off");
        assert_eq!(off.cures[0].steps[0].shown(), "vim-cmd vmsvc/power.on 5");
        assert_eq!(off.cures[0].undo[0].shown(), "vim-cmd vmsvc/power.shutdown 5");
        assert!(off.cause.contains("no route to host"), "{}", off.cause);
    }
}
