//! A function that can do RDMA has an RDMA device in the kernel; and a guest that is to talk to another one has any.

use super::ask;
use crate::diagnose::check::{Check, Judged, Lack, Reached, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// Every RDMA function has its RDMA device.
pub const CHECK: Check = Check {
    id: "guest.rdma-device",
    title: "The adapters that can do RDMA have an RDMA device",
    gate: "guests with a PVRDMA adapter or a passed-through RDMA adapter, and guests of a pair",
    rule: "fails if a PVRDMA function, or the only RDMA function of a guest of a pair, has no RDMA device; warns if another \
           RDMA-capable function of a guest without any RDMA device has none; informs of further ones",
    source: Source { text: "driver source: vmw_pvrdma pvrdma_main.c, mlx5_ib main.c", weak: false },
    thresholds: &[],
    explains: &["guest.device-nodes", "mpi.ucx-net-devices", "mpi.ucx-tls", "mpi.nccl-ib", "mpi.gpudirect"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

/// Kinds of functions that are there for RDMA, and the module that makes their RDMA device.
const KINDS: [(&str, &str); 4] =
    [("PVRDMA", "vmw_pvrdma"), ("RDMA-capable NIC", "mlx5_ib"), ("InfiniBand adapter", "mlx5_ib"), ("EFA", "efa")];

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let mut all = Vec::new();
    for guest in scene.guests() {
        let is_paired = scene.pairs.iter().any(|(one, other)| one == guest || other == guest);
        let devices = ask::devices_of(scene, guest);
        let mut functions = Vec::new();
        for (kind, module) in KINDS {
            let of_guest = ask::functions_of(scene, guest, kind);
            functions.extend(of_guest.into_iter().map(|id| (id, kind, module)));
        }
        for (function, kind, module) in &functions {
            let address = function.entity.name();
            let has_device =
                devices.iter().any(|device| scene.text(device, Attribute::PciAddress) == Some(address.as_str()));
            all.push(if has_device {
                Judged::pass(function, format!("{guest}: {kind} {address} has its RDMA device"))
            } else if let Some((lack, why)) = scene.unread(guest, "linux.rdma-sysfs") {
                Judged::unknown(function, lack, format!("{guest}: {why}"), "ls -l /sys/class/infiniband")
            } else if devices.iter().any(|device| scene.lack(device, Attribute::PciAddress).is_some()) {
                let why = "which function its RDMA devices belong to could not be read";
                let decide = "ls -l /sys/class/infiniband/*/device";
                Judged::unknown(function, Lack::ProbeFailed, format!("{guest}: {why}"), decide)
            } else {
                missing(guest, function, (kind, module), is_paired, devices.is_empty())
            });
        }
        let is_read = scene.machines.get(guest).is_some_and(|machine| machine.reached == Reached::Yes);
        if is_paired && is_read && functions.is_empty() && devices.is_empty() {
            all.extend(nothing_at_all(scene, guest));
        }
    }
    all
}

fn missing(
    guest: &TargetId,
    function: &EntityId,
    (kind, module): (&str, &str),
    is_paired: bool,
    is_alone: bool,
) -> Judged {
    let address = function.entity.name();
    let title = format!("{guest}: {kind} {address} has no RDMA device");
    let cause = if kind == "PVRDMA" {
        "the function is in the VM, but vmw_pvrdma made no device of it: the driver is not loaded, or it gave up, and then \
         the kernel log says why; no program can use RDMA here"
    } else {
        "its network driver runs, but the part of the driver that makes the RDMA device is not loaded or refused it; no \
         program can use RDMA over this adapter"
    };
    let judged = match (kind == "PVRDMA" || (is_paired && is_alone), is_alone) {
        (true, _) => Judged::fail(function, Confidence::Proved, title, cause),
        (false, true) => Judged::warn(function, Confidence::Proved, title, cause),
        (false, false) => Judged::info(function, title, cause),
    };
    judged
        .shown(function, Attribute::FunctionKind, format!("{address} is a {kind}"))
        .shown(&EntityId::new(guest, Entity::Guest), Attribute::RdmaPresence, "the kernel lists no such RDMA device")
        .decided_by(format!("dmesg | grep {module}"))
        .cured_by(
            Cure::on(guest, "Load the module that makes the RDMA device", Risk::None, ask::run(&["modprobe", module]))
                .undone_by(ask::run(&["modprobe", "-r", module]), vec![(function.clone(), Attribute::Driver)])
                .verified_by(&["guest.rdma-device"])
                .noting("until the next start; /etc/modules-load.d makes it last"),
        )
        .reaching([EntityId::new(guest, Entity::Guest)])
}

/// A guest of a pair that has nothing for RDMA at all.
fn nothing_at_all(scene: &Scene<'_>, guest: &TargetId) -> Option<Judged> {
    let id = EntityId::new(guest, Entity::Guest);
    // Functions that could not be read may be there.
    if scene.unread(guest, "linux.pci-functions").is_some() || scene.unread(guest, "linux.rdma-sysfs").is_some() {
        return None;
    }
    let judged = Judged::fail(
        &id,
        Confidence::Proved,
        format!("{guest}: there is no RDMA adapter"),
        "the guest is to talk to another one over RDMA, but its VM gives it neither a PVRDMA adapter nor a function of an \
         RDMA adapter, and no soft-RoCE device was made",
    )
    .shown(&id, Attribute::RdmaPresence, "no RDMA device in the kernel")
    .cured_by(Cure::by_hand(
        "Give the VM a PVRDMA adapter",
        vec![Step::ByHand(
            "vCenter: VM > Edit Settings > Add New Device > Network Adapter > Adapter Type: PVRDMA (VM powered off)"
                .to_owned(),
        )],
    ));
    Some(judged)
}

#[cfg(test)]
mod tests {
    use super::super::samples::without_rdma;
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || {
            without_rdma(Site::sound(), "pv-a").replacing(
                "pv-a",
                "linux.pci-drivers",
                "\n'/sys/bus/pci/devices/0000:0b:00.1/driver' -> '../../../../bus/pci/drivers/vmw_pvrdma'",
                "",
            )
        },
        healthy: Site::sound,
        unclear: || without_rdma(Site::sound(), "pv-a").with("pv-a", fails("linux.rdma-sysfs", 124, "timeout")),
    };

    #[test]
    fn a_second_adapter_that_lies_idle_is_only_told() {
        // hca-a with a second function, used for plain Ethernet.
        let more = |file: &str, value: &str| format!("/sys/bus/pci/devices/0000:1b:00.0/{file}:{value}\n");
        let text = ["vendor:0x15b3", "device:0x101b", "class:0x020000"]
            .iter()
            .filter_map(|pair| pair.split_once(':'))
            .map(|(file, value)| more(file, value))
            .collect::<String>();
        let first = "/sys/bus/pci/devices/0000:00:00.0/vendor:0x8086\n";
        let site = Site::sound().replacing("hca-a", "linux.pci-functions", first, &format!("{first}{text}"));
        let statuses = site.statuses(&CHECK);
        assert!(statuses.contains(&Status::Info) && !statuses.contains(&Status::Fail), "{statuses:?}");
    }

    #[test]
    fn a_guest_of_a_pair_without_any_adapter_is_told() {
        let site = Site::new()
            .guest(
                "plain",
                &[
                    fails("linux.rdma-sysfs", 2, "grep: /sys/class/infiniband/*/node_type: No such file or directory\n"),
                    fails("linux.rdma-links", 1, "stat: cannot statx '/sys/class/infiniband': No such file or directory\n"),
                    says("linux.pci-functions", "/sys/bus/pci/devices/0000:03:00.0/vendor:0x15ad\n/sys/bus/pci/devices/0000:03:00.0/device:0x07b0\n/sys/bus/pci/devices/0000:03:00.0/class:0x020000\n"),
                ],
            )
            .pair("plain", "elsewhere");
        assert_eq!(site.statuses(&CHECK), [Status::Fail]);
    }
}
