//! A GPU works for CUDA only under the driver of NVIDIA; nouveau takes it first where nobody keeps it off.

use super::gpus::{called, gpus, messages};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId, State, TargetId, Text};

/// The NVIDIA driver has the GPU.
pub const CHECK: Check = Check {
    id: "gpu.driver-bound",
    title: "The NVIDIA driver has the GPU",
    gate: "guests with an NVIDIA GPU",
    rule: "fails if nouveau has it, or if no driver has it and the one of NVIDIA is loaded or installed; warns if no driver has it \
           and none is installed",
    source: Source { text: "NVIDIA driver README; forum threads on \"probe routine was not called\"", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    scene.guests().flat_map(|guest| gpus(scene, guest).into_iter().map(move |gpu| of_gpu(scene, guest, &gpu))).collect()
}

fn of_gpu(scene: &Scene<'_>, guest: &TargetId, gpu: &EntityId) -> Judged {
    let name = called(gpu);
    let decide = format!("on {guest}: lspci -nnk -s {}", gpu.entity.name());
    match scene.fabric.reading(gpu, Attribute::Driver).map(|reading| &reading.state) {
        Some(State::Known(_)) => {}
        Some(State::Empty) => return without(scene, guest, gpu).decided_by(decide),
        _ => {
            let (lack, why) = scene.lack(gpu, Attribute::Driver).unwrap_or_else(|| scene.silence(guest));
            return Judged::unknown(gpu, lack, format!("driver of {name} on {guest}: {why}"), decide);
        }
    }
    let driver = scene.text(gpu, Attribute::Driver).unwrap_or_default();
    if driver == "nvidia" {
        return Judged::pass(gpu, format!("{guest}: the NVIDIA driver has {name}"));
    }
    if driver == "nouveau" {
        let block = "blacklist nouveau\\noptions nouveau modeset=0\\n";
        let file = "/etc/modprobe.d/block-nouveau.conf";
        let mut judged = Judged::fail(
            gpu,
            Confidence::Proved,
            format!("{guest}: nouveau has {name}"),
            "nouveau came first and keeps the GPU; the NVIDIA module loads and finds nothing (\"probe routine was not called\", \
             \"No NVIDIA graphics adapter probed!\"), so CUDA has no device",
        )
        .shown(gpu, Attribute::Driver, "driver in use: nouveau");
        for message in messages(scene, guest, &["probe routine was not called"]).iter().take(1) {
            judged = judged.shown(&message.id, Attribute::Message, "the NVIDIA driver says so, too");
        }
        return judged.cured_by(
            Cure::on(
                guest,
                "Keep nouveau off, and start anew",
                Risk::RebootsGuest,
                vec![
                    Step::run(&["sh", "-c", &format!("printf '{block}' > {file}")]),
                    Step::ByHand(
                        "build the initramfs anew: Debian: update-initramfs -u; Red Hat: dracut --force".to_owned(),
                    ),
                    Step::run(&["reboot"]),
                ],
            )
            .undone_by(
                vec![Step::run(&["rm", file]), Step::ByHand("build the initramfs anew, and start anew".to_owned())],
                vec![(gpu.clone(), Attribute::Driver)],
            )
            .verified_by(&["gpu.driver-bound"])
            .noting("needs root"),
        );
    }
    Judged::info(
        gpu,
        format!("{guest}: {driver} has {name}"),
        "that driver hands the GPU on (to a nested VM or a program of its own); CUDA in this guest has none",
    )
    .shown(gpu, Attribute::Driver, format!("driver in use: {driver}"))
}

fn without(scene: &Scene<'_>, guest: &TargetId, gpu: &EntityId) -> Judged {
    let name = called(gpu);
    let module = EntityId::new(guest, Entity::Module(Text::new("nvidia")));
    let packages = scene.fabric.of_kind(guest, Entity::Package(Text::new("")));
    let package = packages.map(|entity| EntityId::new(guest, entity.clone())).find(|id| {
        let name = id.entity.name();
        let is_driver = ["nvidia-driver", "nvidia-kernel", "nvidia-open", "kmod-nvidia"]
            .iter()
            .any(|start| name.starts_with(start));
        is_driver && scene.text(id, Attribute::Version).is_some()
    });
    let refusal =
        messages(scene, guest, &["NVIDIA probe routine failed", "None of the NVIDIA devices were initialized"]);
    let judged = if scene.exists(&module) || package.is_some() || !refusal.is_empty() {
        Judged::fail(
            gpu,
            Confidence::Proved,
            format!("{guest}: no driver has {name}, although the one of NVIDIA is there"),
            "the module was not built for this kernel, Secure Boot refuses it unsigned, or it tried to start the GPU and failed: the \
             kernel log says which",
        )
        .cured_by(
            Cure::by_hand(
                "Have the module built and signed for this kernel",
                vec![Step::ByHand(format!(
                    "{guest}: dkms status; modprobe nvidia (\"Key was rejected by service\": sign it, or switch Secure Boot of the VM off)"
                ))],
            )
            .verified_by(&["gpu.driver-bound"]),
        )
    } else {
        Judged::warn(
            gpu,
            Confidence::Proved,
            format!("{guest}: no driver has {name}"),
            "the VM has the GPU and nothing in the guest uses it: CUDA has no device",
        )
        .cured_by(
            Cure::by_hand(
                "Install the NVIDIA driver",
                vec![Step::ByHand(format!("{guest}: the driver of the distribution or of NVIDIA; for a vGPU the guest driver of its host's release"))],
            )
            .undone_by(vec![Step::ByHand(format!("{guest}: remove the driver"))], vec![(gpu.clone(), Attribute::Driver)])
            .verified_by(&["gpu.driver-bound"]),
        )
    };
    let mut judged = judged.shown(gpu, Attribute::FunctionKind, "an NVIDIA GPU without a driver");
    if scene.exists(&module) {
        judged = judged.shown(&module, Attribute::ModuleSize, "the module nvidia is loaded");
    }
    if let Some(package) = package {
        judged = judged.shown(&package, Attribute::Version, format!("{} is installed", package.entity.name()));
    }
    for message in refusal.iter().take(1) {
        judged = judged.shown(&message.id, Attribute::Message, "the driver gave up");
    }
    judged
}

#[cfg(test)]
mod tests {
    use super::super::gpus::testing::guest;
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || driven_by("nouveau").with("gpu-1", says("linux.dmesg", NOUVEAU)),
        healthy: guest,
        unclear: || guest().with("gpu-1", fails("linux.pci-drivers", 1, "sh: 1: Cannot fork")),
    };

    const NOUVEAU: &str = include_str!("../../../../tests/fixtures/public/118-dmesg-nouveau-owns-gpu.txt");

    fn driven_by(driver: &str) -> Site {
        guest().replacing("gpu-1", "linux.pci-drivers", "drivers/nvidia", &format!("drivers/{driver}"))
    }

    #[test]
    fn no_driver_and_other_drivers() {
        let none = guest().replacing(
            "gpu-1",
            "linux.pci-drivers",
            "'/sys/bus/pci/devices/0000:05:00.0",
            "'/sys/bus/pci/devices/0000:06:00.0",
        );
        assert_eq!(none.statuses(&CHECK), [Status::Warn]);
        let loaded =
            none.with("gpu-1", says("linux.modules-loaded", "nvidia 56823808 0 - Live 0xffffffffc0a00000 (PO)\n"));
        assert_eq!(loaded.statuses(&CHECK), [Status::Fail]);
        assert_eq!(driven_by("vfio-pci").statuses(&CHECK), [Status::Info]);
        assert!(Site::sound().judge(&CHECK).is_empty());
    }
}
