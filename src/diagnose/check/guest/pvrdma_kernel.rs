//! Whether the driver in this kernel is new enough for RoCE v2 and for what the hypervisor offers.

use super::ask;
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId, GidType, TargetId, Value};

/// The kernel's PVRDMA driver is new enough.
pub const CHECK: Check = Check {
    id: "guest.pvrdma-kernel",
    title: "The PVRDMA driver of this kernel knows RoCE v2",
    gate: "guests with a PVRDMA function",
    rule: "fails if the kernel is older than 4.10 and not one of RHEL 7; warns if the driver speaks version 17 (RoCE v1 only)",
    source: Source {
        text: "driver source: vmw_pvrdma pvrdma_dev_api.h (17 RoCE v1, 18 RoCE v2, 19 PPN64, 20 QP handle)",
        weak: false,
    },
    thresholds: &[],
    explains: &["guest.pvrdma-driver", "guest.rdma-device", "guest.gid-roce-v2"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// The first version of the device interface with RoCE v2.
const ROCE_V2: u64 = 18;

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    ask::functions(scene, "PVRDMA").iter().map(|function| judge_function(scene, function)).collect()
}

/// The versions of `device version 20, driver version 17`, and the message.
fn versions(scene: &Scene<'_>, guest: &TargetId, address: &str) -> Option<(EntityId, u64, u64)> {
    let messages = scene.fabric.of_kind(guest, Entity::KernelMessage { stamp: 0, ordinal: 0 });
    messages
        .filter_map(|entity| {
            let id = EntityId::new(guest, entity.clone());
            let text = scene.text(&id, Attribute::Message)?;
            let (_, rest) = text.split_once(address)?;
            let (_, rest) = rest.split_once("device version ")?;
            let (device, rest) = rest.split_once(", driver version ")?;
            let driver = rest.split(|c: char| !c.is_ascii_digit()).next()?;
            Some((id, device.trim().parse().ok()?, driver.parse().ok()?))
        })
        .last()
}

fn judge_function(scene: &Scene<'_>, function: &EntityId) -> Judged {
    let guest = &function.target;
    let address = function.entity.name();
    let id = EntityId::new(guest, Entity::Guest);
    let newer = || {
        Cure::by_hand(
            "Run a newer kernel in the guest",
            vec![Step::ByHand(
                "install a kernel of 5.10 or newer (or a distribution that has it) and start the guest with it"
                    .to_owned(),
            )],
        )
        .risking(Risk::RebootsGuest)
        .verified_by(&["guest.pvrdma-kernel"])
    };
    let kernel = scene.text(&id, Attribute::KernelRelease);
    if let Some(kernel) = kernel
        && !kernel.contains(".el7")
        && ask::release(kernel).is_some_and(|release| release < (4, 10))
    {
        return Judged::fail(
            function,
            Confidence::Proved,
            format!("{guest}: kernel {kernel} has no PVRDMA driver"),
            "vmw_pvrdma came with kernel 4.10 (RHEL 7 has it in its own 3.10); an older kernel sees the function and does nothing with it",
        )
        .shown(&id, Attribute::KernelRelease, format!("kernel {kernel}"))
        .cured_by(newer())
        .reaching([id.clone()]);
    }
    match versions(scene, guest, &address) {
        Some((message, device, driver)) if driver < ROCE_V2 => Judged::warn(
            function,
            Confidence::Proved,
            format!("{guest}: the PVRDMA driver speaks version {driver} only"),
            format!("the hypervisor offers version {device}; up to {} the driver knows RoCE v1 only, and it gives up where the adapter's protocol is RoCE v2", ROCE_V2 - 1),
        )
        .shown(&message, Attribute::Message, format!("device version {device}, driver version {driver}"))
        .cured_by(newer())
        .reaching(scene.ports(guest).iter().flat_map(|port| ask::here(scene, port)).chain([id.clone()])),
        Some((_, _, driver)) => {
            Judged::pass(function, format!("{guest}: the PVRDMA driver speaks version {driver}"))
        }
        None if speaks_v2(scene, guest, &address) => {
            Judged::pass(function, format!("{guest}: the PVRDMA driver made RoCE v2 GIDs"))
        }
        None => {
            let attribute = if kernel.is_none() { Attribute::KernelRelease } else { Attribute::KernelLog };
            let source = if kernel.is_none() { "linux.system-files" } else { "linux.dmesg" };
            let mut judged = ask::untold(scene, &id, attribute, source, "dmesg | grep 'driver version', as root");
            judged.subject = function.clone();
            judged
        }
    }
}

/// True if a port of this function has a RoCE v2 entry, which only a driver that knows it makes.
fn speaks_v2(scene: &Scene<'_>, guest: &TargetId, address: &str) -> bool {
    scene.ports(guest).iter().any(|port| {
        scene.text(&port.device, Attribute::PciAddress) == Some(address)
            && ask::gids(scene, port).iter().any(|entry| {
                matches!(scene.value(&entry.id, Attribute::GidType), Some(Value::GidType(GidType::RoceV2)))
            })
    })
}

#[cfg(test)]
mod tests {
    use super::super::samples::{only, without_rdma};
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || Site::sound().replacing("pv-a", "linux.dmesg", "driver version 20", "driver version 17"),
        healthy: Site::sound,
        unclear: || {
            let denied = "dmesg: read kernel buffer failed: Operation not permitted\n";
            without_rdma(only(&["pv-a"]), "pv-a").with("pv-a", fails("linux.dmesg", 1, denied))
        },
    };

    #[test]
    fn old_kernels_have_no_driver_but_those_of_rhel_7_do() {
        let with = |release: &str| {
            only(&["pv-a"])
                .replacing("pv-a", "linux.system-files", "osrelease:6.1.0-57-amd64", &format!("osrelease:{release}"))
                .statuses(&CHECK)
        };
        assert_eq!(with("4.4.0-210-generic"), [Status::Fail]);
        assert_eq!(with("3.10.0-1160.el7.x86_64"), [Status::Pass]);
    }

    #[test]
    fn without_the_log_the_gids_tell() {
        let site = only(&["pv-a"])
            .with("pv-a", fails("linux.dmesg", 1, "dmesg: read kernel buffer failed: Operation not permitted\n"));
        assert_eq!(site.statuses(&CHECK), [Status::Pass]);
    }
}
