//! The device nodes through which programs reach RDMA devices, and who may open them.

use super::ask;
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, Entity, EntityId};

/// The verbs nodes are there and everyone may open them.
pub const CHECK: Check = Check {
    id: "guest.device-nodes",
    title: "The device nodes of the RDMA devices can be opened",
    gate: "guests with RDMA devices that have a verbs node",
    rule: "fails if the node of a device is not in /dev/infiniband; warns if users other than its owner and group may not read and write it",
    source: Source { text: "kernel source: drivers/infiniband/core/uverbs_main.c (node mode 0666)", weak: false },
    thresholds: &[],
    explains: &["mpi.ucx-net-devices", "mpi.nccl-ib"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    ask::devices(scene).iter().filter_map(|device| judge_device(scene, device)).collect()
}

fn judge_device(scene: &Scene<'_>, device: &EntityId) -> Option<Judged> {
    let guest = &device.target;
    let verbs = scene.text(device, Attribute::VerbsNode)?;
    let path = format!("/dev/infiniband/{verbs}");
    let node = EntityId::new(guest, Entity::DeviceNode(path.as_str().into()));
    if let Some((lack, why)) = scene.unread(guest, "linux.device-nodes") {
        return Some(Judged::unknown(&node, lack, format!("{guest}: {why}"), format!("ls -l {path}")));
    }
    let Some(mode) = scene.text(&node, Attribute::Permissions) else {
        return Some(
            Judged::fail(
                &node,
                Confidence::Proved,
                format!("{guest}: {path} is missing"),
                format!("the kernel has {} as {verbs}, but there is no node through which a program could open it (a container without the device, or udev did not run)", device.entity.name()),
            )
            .shown(device, Attribute::VerbsNode, format!("the kernel calls it {verbs}"))
            .cured_by(
                Cure::on(guest, "Let udev make the nodes", Risk::None, ask::run(&["udevadm", "trigger", "--subsystem-match=infiniband_verbs"]))
                    .without_undo("nothing is set: udev makes the nodes that its rules name", vec![(device.clone(), Attribute::VerbsNode)])
                    .verified_by(&["guest.device-nodes"])
                    .noting("in a container the node is passed in when the container is made: --device=/dev/infiniband"),
            )
            .reaching([EntityId::new(guest, Entity::Guest)]),
        );
    };
    if mode.get(7..9) == Some("rw") {
        return Some(Judged::pass(&node, format!("{guest}: everyone may open {path}")));
    }
    let owner = scene.text(&node, Attribute::Owner).unwrap_or("its owner");
    let judged = Judged::warn(
        &node,
        Confidence::Proved,
        format!("{guest}: only {owner} may open {path}"),
        "the nodes are open for everyone by default, since the kernel checks each operation itself; jobs of other users find no RDMA device",
    )
    .shown(&node, Attribute::Permissions, format!("permissions {mode}"))
    .reaching([EntityId::new(guest, Entity::Guest)]);
    let set = |mode: &str| Step::run(&["chmod", mode, &path]);
    let mut cure = Cure::on(guest, "Open the node for everyone", Risk::None, vec![set("0666")])
        .verified_by(&["guest.device-nodes"])
        .noting("until the next start; a udev rule with KERNEL==\"uverbs*\", MODE=\"0666\" makes it last");
    if let Some(before) = octal(mode) {
        cure = cure.undone_by(vec![set(&before)], vec![(node, Attribute::Permissions)]);
    }
    Some(judged.cured_by(cure))
}

/// `0660` of `crw-rw----`.
fn octal(mode: &str) -> Option<String> {
    let bits = mode.as_bytes().get(1..10)?;
    let digit = |three: &[u8]| {
        let of = |at: usize, letter: u8, value: u32| match three.get(at) {
            Some(found) if *found == letter => Some(value),
            Some(b'-') => Some(0),
            _ => None,
        };
        Some(of(0, b'r', 4)? + of(1, b'w', 2)? + of(2, b'x', 1)?)
    };
    let mut digits = bits.chunks(3).map(digit);
    Some(format!("0{}{}{}", digits.next()??, digits.next()??, digits.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::finding::Status;

    const CLOSED: &str =
        "crw-rw-rw- root root a 7c /dev/infiniband/rdma_cm\ncrw-rw---- root rdma e7 c0 /dev/infiniband/uverbs0\n";

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || Site::sound().with("pv-a", says("linux.device-nodes", CLOSED)),
        healthy: Site::sound,
        unclear: || Site::sound().with("pv-a", fails("linux.device-nodes", 127, "stat: not found")),
    };

    #[test]
    fn the_way_back_is_the_mode_of_now() {
        let judged = (SAMPLES.trouble)().judge(&CHECK);
        let warned = judged.iter().find(|judged| judged.status == Status::Warn).expect("a warning");
        assert_eq!(warned.cures[0].undo[0].shown(), "chmod 0660 /dev/infiniband/uverbs0");
        assert_eq!(octal("crwxr-x--x").as_deref(), Some("0751"));
        assert_eq!(octal("crwsr-x--x"), None, "set-id bits have no way back here");
        assert_eq!(octal("c"), None);
    }

    #[test]
    fn a_missing_node_is_a_failure() {
        let none =
            fails("linux.device-nodes", 1, "stat: cannot statx '/dev/infiniband/*': No such file or directory\n");
        assert!(Site::sound().with("pv-a", none).statuses(&CHECK).contains(&Status::Fail));
    }
}
