//! The provider of the verbs library and the kernel's driver speak the same version of their interface.

use super::ask;
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId};

/// User space and kernel fit together.
pub const CHECK: Check = Check {
    id: "guest.verbs-abi",
    title: "The verbs library and the kernel's driver fit together",
    gate: "guests with RDMA devices",
    rule: "fails if the verbs library says that it does not support the kernel ABI of a device",
    source: Source { text: "rdma-core libibverbs/init.c; k8snetworkplumbingwg/sriov-cni issue 348", weak: false },
    thresholds: &[],
    explains: &["mpi.ucx-net-devices", "mpi.ucx-verbs", "mpi.nccl-ib"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    ask::devices(scene).iter().filter_map(|device| judge_device(scene, device)).collect()
}

fn judge_device(scene: &Scene<'_>, device: &EntityId) -> Option<Judged> {
    let guest = &device.target;
    let name = device.entity.name();
    let warning = scene.text(device, Attribute::VerbsWarning).unwrap_or_default();
    if let Some(at) = warning.find("kernel ABI") {
        let versions = warning[at..].split(" for device").next().unwrap_or_default();
        let judged = Judged::fail(
            device,
            Confidence::Proved,
            format!("{guest}: the verbs library is of another age than the kernel's driver of {name}"),
            format!("the provider does not support the {versions}: rdma link shows the port as ACTIVE, and every program says that there is no device"),
        )
        .shown(device, Attribute::VerbsListed, format!("ibv_devices does not list {name}"))
        .shown(device, Attribute::VerbsWarning, warning)
        .reaching([EntityId::new(guest, Entity::Guest)]);
        let judged = if scene.unread(guest, "linux.packages-dpkg").is_none() {
            let words = ["apt-get", "install", "-y", "--only-upgrade", "rdma-core", "ibverbs-providers", "libibverbs1"];
            judged.cured_by(
                Cure::on(guest, "Bring the verbs library to the kernel's version", Risk::None, vec![Step::run(&words)])
                    .without_undo(
                        "apt keeps no way back by itself: apt-cache policy libibverbs1 lists the versions that there are",
                        vec![(device.clone(), Attribute::VerbsWarning)],
                    )
                    .verified_by(&["guest.verbs-abi"])
                    .noting("programs that run keep the old library; mixing single libraries of two releases is not supported"),
            )
        } else {
            judged.cured_by(Cure::by_hand(
                "Bring rdma-core and the kernel (or the vendor's driver package) to the same release",
                vec![Step::ByHand(
                    "dnf upgrade rdma-core libibverbs, or the vendor's package of driver and library".to_owned(),
                )],
            ))
        };
        return Some(judged);
    }
    match scene.flag(device, Attribute::VerbsListed) {
        Some(true) => Some(Judged::pass(device, format!("{guest}: the verbs library fits the driver of {name}"))),
        // Not listed without a word about versions: the provider is missing.
        Some(false) => None,
        None => Some(ask::untold(
            scene,
            device,
            Attribute::VerbsListed,
            "linux.verbs-devices",
            "ibv_devices (package ibverbs-utils or libibverbs-utils)",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says, says_with};
    use crate::diagnose::finding::Status;

    const HEADING: &str = "    device          \t   node GUID\n    ------          \t----------------\n";
    // A real library with a real driver of another age.
    const WARNING: &str = "libibverbs: Warning: Driver bnxt_re does not support the kernel ABI of 6 (supports 1 to 1) for device /sys/class/infiniband/bnxt_re2\n";

    fn bnxt(stdout: &str, stderr: &str) -> Site {
        let link = "[{\"ifname\":\"bnxt_re2\",\"port\":1,\"state\":\"ACTIVE\",\"physical_state\":\"LINK_UP\"}]\n";
        Site::new().guest(
            "testpod1",
            &[
                says("linux.rdma-link", link),
                says_with("linux.verbs-devices", stdout, stderr),
                says("linux.verbs-kernel", "/sys/class/infiniband/bnxt_re2/node_type:1: CA\n"),
            ],
        )
    }

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || bnxt(HEADING, WARNING),
        healthy: || bnxt(&format!("{HEADING}    bnxt_re2        \tb02628fffe9b1c90\n"), ""),
        unclear: || Site::sound().with("pv-a", fails("linux.verbs-devices", 127, "ibv_devices: not found")),
    };

    #[test]
    fn the_versions_are_named() {
        let judged = &(SAMPLES.trouble)().judge(&CHECK)[0];
        assert!(judged.cause.contains("kernel ABI of 6 (supports 1 to 1)"), "{}", judged.cause);
    }

    #[test]
    fn noise_about_other_devices_is_no_finding() {
        let noise = "libibverbs: Warning: couldn't load driver 'libmana-rdmav34.so': libmana-rdmav34.so: cannot open shared object file: No such file or directory\n";
        let listed = format!("{HEADING}    bnxt_re2        \tb02628fffe9b1c90\n");
        assert_eq!(bnxt(&listed, noise).statuses(&CHECK), [Status::Pass]);
    }
}
