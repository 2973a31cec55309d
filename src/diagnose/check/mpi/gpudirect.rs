//! GPUDirect RDMA: the adapter reads and writes the memory of a GPU. PVRDMA cannot; a passed-through adapter can, if the
//! driver of the GPU gives its memory away.

use super::jobs::{hardware_ports, is_active, system};
use crate::diagnose::check::{Check, DeviceKind, Judged, Scene, Source};
use crate::fabric::{Attribute, Entity, EntityId, TargetId, Text};

/// Whether the RDMA adapter can reach the memory of the guest's GPUs.
pub const CHECK: Check = Check {
    id: "mpi.gpudirect",
    title: "The RDMA adapter can reach the memory of the GPUs",
    gate: "guests with an NVIDIA GPU and an active port of an RDMA adapter",
    rule: "informs if all adapters are PVRDMA, which has no GPUDirect RDMA; passes if one is passed through",
    source: Source { text: "driver source pvrdma_main.c: no registration of dma-buf", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    scene.guests().filter_map(|guest| of_guest(scene, guest)).collect()
}

fn of_guest(scene: &Scene<'_>, guest: &TargetId) -> Option<Judged> {
    let ports: Vec<_> = hardware_ports(scene, guest).into_iter().filter(|port| is_active(scene, port)).collect();
    let first = ports.first()?;
    if let Some((lack, why)) = scene.unread(guest, "linux.pci-functions") {
        let title = format!("GPUs of {guest}: {why}");
        return Some(Judged::unknown(&system(guest), lack, title, format!("on {guest}: lspci -d 10de:")));
    }
    let functions = scene.fabric.of_kind(guest, Entity::PciFunction(Text::new("")));
    let gpu = functions
        .map(|entity| EntityId::new(guest, entity.clone()))
        .find(|id| scene.text(id, Attribute::FunctionKind) == Some("NVIDIA GPU"))?;
    if let Some(port) = ports.iter().find(|port| port.kind == DeviceKind::Passthrough) {
        let name = port.device.entity.name();
        return Some(Judged::pass(
            &port.device,
            format!("{guest}: {name} is passed through and can reach memory of GPUs"),
        ));
    }
    let name = first.device.entity.name();
    Some(
        Judged::info(
            &first.device,
            format!("{guest}: no GPUDirect RDMA by {name}, a PVRDMA adapter"),
            "its driver registers no memory of devices, so what GPUs send is copied through the memory of the guest, whatever \
             NCCL_NET_GDR_LEVEL or UCX are told; GPUDirect RDMA needs a passed-through adapter or a virtual function beside the GPU",
        )
        .shown(&first.device, Attribute::PciAddress, format!("{name} is PVRDMA"))
        .shown(&gpu, Attribute::FunctionKind, "a GPU in the same guest")
        .reaching([first.id.clone(), gpu.clone()]),
    )
}

#[cfg(test)]
mod tests {
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Info,
        trouble: || with_gpu("pv-a", "0000:0b:00.1"),
        healthy: || with_gpu("hca-a", "0000:13:00.0"),
        unclear: || Site::sound().with("pv-a", fails("linux.pci-functions", 1, "sh: 1: Cannot fork")),
    };

    /// A guest with a GPU that the NVIDIA driver drives, beside its adapter.
    fn with_gpu(guest: &str, beside: &str) -> Site {
        let file = |name: &str| format!("/sys/bus/pci/devices/{beside}/{name}:");
        let site = ["vendor:0x10de", "device:0x20b5", "class:0x030200"].iter().fold(Site::sound(), |site, line| {
            let (name, _) = line.split_once(':').expect("a file and a value");
            let new = format!("/sys/bus/pci/devices/0000:1d:00.0/{line}\n{}", file(name));
            site.replacing(guest, "linux.pci-functions", &file(name), &new)
        });
        let driver = format!("'/sys/bus/pci/devices/{beside}/driver' ->");
        let new =
            format!("'/sys/bus/pci/devices/0000:1d:00.0/driver' -> '../../../../bus/pci/drivers/nvidia'\n{driver}");
        site.replacing(guest, "linux.pci-drivers", &driver, &new)
    }
}
