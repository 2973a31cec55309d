//! A PVRDMA function works only beside a vmxnet3 at function 0 of the same slot.

use super::ask;
use crate::diagnose::check::{Check, Judged, Lack, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId, State};

/// PVRDMA functions are paired with a vmxnet3.
pub const CHECK: Check = Check {
    id: "guest.pvrdma-pairing",
    title: "Each PVRDMA function has its vmxnet3 at function 0 of the same slot",
    gate: "guests with a PVRDMA function",
    rule: "fails if function 0 of its slot is no vmxnet3, or if that one has no driver",
    source: Source { text: "driver source: vmw_pvrdma pvrdma_main.c (pvrdma_pci_probe)", weak: false },
    thresholds: &[],
    explains: &[
        "guest.pvrdma-driver",
        "guest.rdma-device",
        "guest.kernel-messages",
        "guest.port-active",
        "guest.gid-table",
    ],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    ask::functions(scene, "PVRDMA").iter().map(|function| judge_function(scene, function)).collect()
}

fn judge_function(scene: &Scene<'_>, function: &EntityId) -> Judged {
    let guest = &function.target;
    let address = function.entity.name();
    let reading = scene.fabric.reading(function, Attribute::PairedFunction).map(|reading| &reading.state);
    let partner = match reading {
        Some(State::Known(partner)) => EntityId::new(guest, Entity::PciFunction(partner.to_string().as_str().into())),
        Some(State::Failed(why)) => {
            return Judged::fail(
                function,
                Confidence::Proved,
                format!("{guest}: PVRDMA {address} has no vmxnet3 beside it"),
                format!("{why}; an adapter of type PVRDMA shows up as two functions, so one that lacks the first was taken apart by settings of the VM"),
            )
            .shown(function, Attribute::PairedFunction, "no vmxnet3 at function 0")
            .cured_by(Cure::by_hand(
                "Restore the adapter of the VM",
                vec![Step::ByHand(
                    "vCenter: power the VM off, remove the adapter and add it again as PVRDMA; take settings such as ethernetN.present = FALSE out of the VMX"
                        .to_owned(),
                )],
            ).risking(Risk::RebootsGuest).verified_by(&["guest.pvrdma-pairing", "guest.rdma-device"]))
            .reaching([EntityId::new(guest, Entity::Guest)]);
        }
        _ => {
            return ask::untold(
                scene,
                function,
                Attribute::PairedFunction,
                "linux.pci-functions",
                "lspci -nn -d 15ad:",
            );
        }
    };
    match scene.fabric.reading(&partner, Attribute::Driver).map(|reading| &reading.state) {
        Some(State::Known(driver)) if driver.to_string() == "vmxnet3" => {
            Judged::pass(function, format!("{guest}: PVRDMA {address} is paired with {}", partner.entity.name()))
        }
        Some(State::Known(_) | State::Empty) => Judged::fail(
            function,
            Confidence::Proved,
            format!("{guest}: the vmxnet3 beside PVRDMA {address} is not driven by vmxnet3"),
            "vmw_pvrdma asks the driver of function 0 for its interface, and gives up if there is none",
        )
        .shown(&partner, Attribute::FunctionKind, "a vmxnet3 without its driver")
        .cured_by(
            Cure::on(
                guest,
                "Load vmxnet3, then vmw_pvrdma",
                Risk::DisruptsRdma,
                vec![
                    Step::run(&["modprobe", "vmxnet3"]),
                    Step::run(&["modprobe", "-r", "vmw_pvrdma"]),
                    Step::run(&["modprobe", "vmw_pvrdma"]),
                ],
            )
            .without_undo(
                "both modules belong to this VM's adapters; without them it has no network",
                vec![(partner.clone(), Attribute::Driver)],
            )
            .verified_by(&["guest.pvrdma-pairing", "guest.rdma-device"]),
        )
        .reaching([EntityId::new(guest, Entity::Guest)]),
        _ => {
            let (lack, why) = scene
                .unread(guest, "linux.pci-drivers")
                .or_else(|| scene.lack(&partner, Attribute::Driver))
                .unwrap_or((Lack::NotObservable, format!("{guest} does not say which driver vmxnet3 has")));
            Judged::unknown(function, lack, format!("{guest}: {why}"), "ls -l /sys/bus/pci/devices/*/driver")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::only;
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || {
            only(&["pv-a"])
                .replacing("pv-a", "linux.pci-functions", "0000:0b:00.0/vendor:0x15ad", "0000:0b:00.0/vendor:0x8086")
                .replacing("pv-a", "linux.pci-functions", "0000:0b:00.0/device:0x07b0", "0000:0b:00.0/device:0x10d3")
        },
        healthy: Site::sound,
        unclear: || Site::sound().with("pv-a", fails("linux.pci-drivers", 127, "stat: not found")),
    };

    #[test]
    fn a_vmxnet3_without_a_driver_is_as_bad_as_none() {
        let link = "'/sys/bus/pci/devices/0000:0b:00.0/driver' -> '../../../../bus/pci/drivers/vmxnet3'\n";
        let site = Site::sound().replacing("pv-a", "linux.pci-drivers", link, "");
        let judged = site.judge(&CHECK);
        assert!(judged.iter().any(|judged| judged.status == Status::Fail), "{judged:#?}");
    }

    #[test]
    fn a_guest_without_pvrdma_is_not_asked() {
        assert!(only(&["hca-a"]).judge(&CHECK).is_empty());
    }
}
