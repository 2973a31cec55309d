//! The modules between a driver and a program: verbs and the connection manager.

use super::ask;
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk};
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// The modules of the RDMA stack are loaded.
pub const CHECK: Check = Check {
    id: "guest.rdma-modules",
    title: "The modules of the RDMA stack are loaded",
    gate: "guests with RDMA devices",
    rule: "fails if ib_uverbs is not there (no node of any device), warns if rdma_ucm is not (no /dev/infiniband/rdma_cm)",
    source: Source { text: "kernel source: drivers/infiniband/core/uverbs_main.c, ucma.c", weak: false },
    thresholds: &[],
    explains: &["guest.device-nodes", "guest.provider-library", "mpi.ucx-net-devices"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let of = |guest: &TargetId| {
        let devices = ask::devices_of(scene, guest);
        devices.first().map(|first| [verbs(scene, guest, &devices, first), connections(scene, guest, first)])
    };
    scene.guests().filter_map(of).flatten().collect()
}

fn module(guest: &TargetId, name: &str) -> EntityId {
    EntityId::new(guest, Entity::Module(name.into()))
}

fn load(guest: &TargetId, name: &str, device: &EntityId) -> Cure {
    Cure::on(guest, "Load the module", Risk::None, ask::run(&["modprobe", name]))
        .undone_by(ask::run(&["modprobe", "-r", name]), vec![(device.clone(), Attribute::VerbsNode)])
        .verified_by(&["guest.rdma-modules"])
        .noting(
            "until the next start; a line in /etc/modules-load.d/rdma.conf, or rdma-core's own service, makes it last",
        )
}

fn verbs(scene: &Scene<'_>, guest: &TargetId, devices: &[EntityId], first: &EntityId) -> Judged {
    let id = module(guest, "ib_uverbs");
    if scene.exists(&id) || devices.iter().any(|device| scene.text(device, Attribute::VerbsNode).is_some()) {
        return Judged::pass(&id, format!("{guest}: ib_uverbs is there"));
    }
    if let Some((lack, why)) = scene.unread(guest, "linux.modules-loaded") {
        return Judged::unknown(&id, lack, format!("{guest}: {why}"), "lsmod | grep ib_uverbs");
    }
    Judged::fail(
        &id,
        Confidence::Proved,
        format!("{guest}: ib_uverbs is not loaded"),
        "the kernel has RDMA devices, but without this module no program can open them",
    )
    .shown(first, Attribute::NodeType, format!("{} is there and has no verbs node", first.entity.name()))
    .cured_by(load(guest, "ib_uverbs", first))
    .reaching(devices.iter().cloned().chain([EntityId::new(guest, Entity::Guest)]))
}

fn connections(scene: &Scene<'_>, guest: &TargetId, first: &EntityId) -> Judged {
    let id = module(guest, "rdma_ucm");
    let node = EntityId::new(guest, Entity::DeviceNode("/dev/infiniband/rdma_cm".into()));
    if scene.exists(&id) || scene.exists(&node) {
        return Judged::pass(&id, format!("{guest}: rdma_ucm is there"));
    }
    if let Some((lack, why)) =
        scene.unread(guest, "linux.modules-loaded").or_else(|| scene.unread(guest, "linux.device-nodes"))
    {
        return Judged::unknown(&id, lack, format!("{guest}: {why}"), "ls -l /dev/infiniband/rdma_cm");
    }
    Judged::warn(
        &id,
        Confidence::Proved,
        format!("{guest}: rdma_ucm is not loaded"),
        "programs that connect by address (rdma_cm: perftest with -R, storage, UCX sockaddr) fail; those that exchange \
             GIDs themselves work",
    )
    .shown(first, Attribute::NodeType, format!("{} is there, /dev/infiniband/rdma_cm is not", first.entity.name()))
    .cured_by(load(guest, "rdma_ucm", first))
    .reaching([EntityId::new(guest, Entity::Guest)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    fn without_ucm() -> Site {
        Site::sound()
            .replacing("pv-a", "linux.modules-loaded", "rdma_ucm 32768 0 - Live 0xffffffffc05e3000\n", "")
            .replacing("pv-a", "linux.modules-present", "/sys/module/rdma_ucm\n", "")
            .replacing("pv-a", "linux.device-nodes", "crw-rw-rw- root root a 7c /dev/infiniband/rdma_cm\n", "")
    }

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: without_ucm,
        healthy: Site::sound,
        unclear: || {
            without_ucm().with("pv-a", fails("linux.modules-loaded", 124, "timeout")).replacing(
                "pv-a",
                "linux.modules-present",
                "/sys/module/ib_uverbs\n",
                "",
            )
        },
    };

    #[test]
    fn without_verbs_nothing_works() {
        let site = Site::sound()
            .replacing(
                "pv-a",
                "linux.modules-loaded",
                "ib_uverbs 172032 2 vmw_pvrdma,rdma_ucm, Live 0xffffffffc05b7000\n",
                "",
            )
            .replacing("pv-a", "linux.modules-present", "/sys/module/ib_uverbs\n", "")
            .replacing("pv-a", "linux.rdma-sysfs", "/sys/class/infiniband_verbs/uverbs0/ibdev:rocep11s0f1\n", "");
        let judged = site.judge(&CHECK);
        let failed = judged.iter().find(|judged| judged.status == Status::Fail).expect("a failure");
        assert_eq!(failed.cures[0].steps[0].shown(), "modprobe ib_uverbs");
    }

    #[test]
    fn what_is_built_into_the_kernel_is_seen_by_its_node() {
        let site = Site::sound()
            .replacing("pv-a", "linux.modules-loaded", "rdma_ucm 32768 0 - Live 0xffffffffc05e3000\n", "")
            .replacing("pv-a", "linux.modules-present", "/sys/module/rdma_ucm\n", "");
        assert!(site.statuses(&CHECK).iter().all(|status| *status == Status::Pass));
    }
}
