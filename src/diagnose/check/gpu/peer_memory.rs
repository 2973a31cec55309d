//! Whether a passed-through adapter can reach the memory of the GPUs beside it: by `nvidia_peermem`, which must be loaded
//! and registered, or by dma-buf of the open modules.

use super::gpus::gpus;
use crate::diagnose::check::{Check, DeviceKind, Judged, Lack, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId, TargetId, Text};

/// GPU memory is registered with the RDMA stack.
pub const CHECK: Check = Check {
    id: "gpu.peer-memory",
    title: "Memory of the GPUs is registered with the RDMA stack",
    gate: "guests with an NVIDIA GPU and a passed-through RDMA adapter",
    rule: "warns if nvidia_peermem is loaded and not registered; informs if it is not loaded; passes if it is registered",
    source: Source { text: "NCCL issue 1939; NVIDIA: GPUDirect RDMA", weak: false },
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
    let gpu = gpus(scene, guest).into_iter().next()?;
    let adapter = scene.ports(guest).into_iter().find(|port| port.kind == DeviceKind::Passthrough)?;
    let module = |name: &str| EntityId::new(guest, Entity::Module(Text::new(name)));
    let names = ["nvidia_peermem", "nv_peer_mem"];
    if let Some(registered) = names.into_iter().map(module).find(|id| scene.text(id, Attribute::PeerMemory).is_some()) {
        return Some(Judged::pass(&registered, format!("{guest}: {} is registered", registered.entity.name())));
    }
    let peermem = module("nvidia_peermem");
    let unread = scene.unread(guest, "linux.modules-loaded").or_else(|| scene.unread(guest, "linux.peer-memory"));
    if let Some((lack, why)) = unread {
        let decide = format!("on {guest}: lsmod | grep peer; ls /sys/kernel/mm/memory_peers");
        return Some(Judged::unknown(&gpu, lack, format!("peer memory of {guest}: {why}"), decide));
    }
    let by_dma_buf =
        "NCCL's log: \"GPU Direct RDMA Enabled for HCA\" or \"Disabled\"; ib_write_bw --use_cuda=0 --use_cuda_dmabuf";
    let reach = [adapter.id.clone(), adapter.device.clone(), gpu.clone()];
    if let Some(loaded) = names.into_iter().map(module).find(|id| scene.exists(id)) {
        let name = loaded.entity.name();
        return Some(
            Judged::warn(
                &loaded,
                Confidence::Likely,
                format!("{guest}: {name} is loaded and not registered"),
                "the kernel's own RDMA modules have no interface for it, only those of the adapter's vendor (OFED) have: it loads and \
                 does nothing. GPUDirect RDMA then goes by dma-buf (open modules, kernel 5.12), or not at all",
            )
            .shown(&loaded, Attribute::ModuleSize, format!("{name} is loaded"))
            .decided_by(by_dma_buf)
            .cured_by(
                Cure::by_hand(
                    "Use dma-buf, or the RDMA modules of the adapter's vendor",
                    vec![Step::ByHand(format!(
                        "{guest}: install the open modules of the NVIDIA driver; or install OFED (DOCA), then modprobe -r {name}; modprobe {name}"
                    ))],
                )
                .risking(Risk::DisruptsRdma)
                .undone_by(vec![Step::ByHand(format!("{guest}: install the modules of now"))], vec![(peermem, Attribute::PeerMemory)])
                .verified_by(&["gpu.peer-memory"]),
            )
            .reaching(reach),
        );
    }
    if scene.text(&gpu, Attribute::Driver) != Some("nvidia") {
        let title = format!("{guest}: the NVIDIA driver does not have the GPU, so nothing can be told of its memory");
        return Some(Judged::unknown(&gpu, Lack::NotObservable, title, by_dma_buf));
    }
    Some(
        Judged::info(
            &gpu,
            format!("{guest}: nvidia_peermem is not loaded"),
            "GPUDirect RDMA goes by dma-buf where the modules of the driver are the open ones and the kernel is 5.12 or newer; else \
             what GPUs send is copied through the memory of the guest",
        )
        .shown(&gpu, Attribute::Driver, "the NVIDIA driver has the GPU")
        .decided_by(by_dma_buf)
        .reaching(reach),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: loaded,
        healthy: || loaded().with("hca-a", says("linux.peer-memory", REGISTERED)),
        unclear: || loaded().with("hca-a", fails("linux.modules-loaded", 1, "sh: 1: Cannot fork")),
    };

    const REGISTERED: &str = "/sys/kernel/mm/memory_peers/nv_mem/version:535.129.03\n";

    fn with_gpu() -> Site {
        let site = ["vendor:0x10de", "device:0x20b5", "class:0x030200"].iter().fold(Site::sound(), |site, line| {
            let (name, _) = line.split_once(':').expect("a file and a value");
            let file = format!("/sys/bus/pci/devices/0000:13:00.0/{name}:");
            site.replacing(
                "hca-a",
                "linux.pci-functions",
                &file,
                &format!("/sys/bus/pci/devices/0000:1d:00.0/{line}\n{file}"),
            )
        });
        let driver = "'/sys/bus/pci/devices/0000:13:00.0/driver' ->";
        let new =
            format!("'/sys/bus/pci/devices/0000:1d:00.0/driver' -> '../../../../bus/pci/drivers/nvidia'\n{driver}");
        site.replacing("hca-a", "linux.pci-drivers", driver, &new)
    }

    fn loaded() -> Site {
        let line = "ib_umad 45056 0";
        with_gpu().replacing(
            "hca-a",
            "linux.modules-loaded",
            line,
            &format!("nvidia_peermem 16384 0 - Live 0xffffffffc0a00000\n{line}"),
        )
    }

    #[test]
    fn not_loaded_only_informs() {
        assert_eq!(with_gpu().statuses(&CHECK), [Status::Info]);
        assert!(Site::sound().judge(&CHECK).is_empty(), "no GPU");
    }
}
