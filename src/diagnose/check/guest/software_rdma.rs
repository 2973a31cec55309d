//! RDMA devices that the kernel makes in software: legitimate in a lab, and no measure of anything.

use super::ask;
use crate::diagnose::check::{Check, DeviceKind, Judged, Scene, Source};
use crate::fabric::{Attribute, EntityId};

/// RDMA devices are hardware, or known to be software.
pub const CHECK: Check = Check {
    id: "guest.software-rdma",
    title: "The RDMA devices are no software devices",
    gate: "guests with RDMA devices",
    rule: "informs of devices of rxe and siw",
    source: Source { text: "kernel source: drivers/infiniband/sw", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    ask::devices(scene).iter().map(|device| judge_device(scene, device)).collect()
}

fn judge_device(scene: &Scene<'_>, device: &EntityId) -> Judged {
    let guest = &device.target;
    let name = device.entity.name();
    match ask::kind(scene, device) {
        DeviceKind::Software => Judged::info(
            device,
            format!("{guest}: {name} is a software device"),
            "the kernel carries RDMA over an ordinary interface: every program works as with an adapter, at the cost of processor time, and \
             its figures say nothing of the hardware",
        )
        .shown(device, Attribute::NodeType, format!("{name} has no PCI function")),
        DeviceKind::Pvrdma | DeviceKind::Passthrough => {
            Judged::pass(device, format!("{guest}: {name} is a device of the hardware or of the hypervisor"))
        }
        DeviceKind::Unclear => {
            let decide = format!("ls -l /sys/class/infiniband/{name}/device");
            ask::untold(scene, device, Attribute::PciAddress, "linux.rdma-links", &decide)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::soft_roce;
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Info,
        trouble: || soft_roce(Site::new(), "rxe-a", 10),
        healthy: Site::sound,
        unclear: || Site::sound().with("hca-a", fails("linux.rdma-links", 124, "timeout")),
    };

    #[test]
    fn a_name_of_ones_own_does_not_hide_it() {
        let site = soft_roce(Site::new(), "rxe-a", 10)
            .replacing("rxe-a", "linux.rdma-link", "rxe0", "roce_soft")
            .replacing("rxe-a", "linux.rdma-dev", "rxe0", "roce_soft")
            .replacing("rxe-a", "linux.rdma-sysfs", "rxe0", "roce_soft");
        assert_eq!(site.statuses(&CHECK), [Status::Info]);
    }
}
