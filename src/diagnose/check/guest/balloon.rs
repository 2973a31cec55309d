//! Memory that the balloon driver took: none may be where all memory is reserved.

use super::ask;
use crate::diagnose::check::{Check, DeviceKind, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::{Attribute, Entity, EntityId, State, TargetId};

/// The balloon is empty.
pub const CHECK: Check = Check {
    id: "guest.balloon",
    title: "The balloon driver holds no memory",
    gate: "guests with a PVRDMA or passed-through adapter whose VMware Tools answer",
    rule: "fails at more than 0 MB",
    source: Source {
        text: "vSphere Virtual Machine Administration: memory reservation of VMs with PCI passthrough; PVRDMA requirements",
        weak: false,
    },
    thresholds: &[],
    explains: &["vm.balloon"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    reserved_guests(scene).into_iter().filter_map(|guest| taken(scene, guest, &BALLOON)).collect()
}

const BALLOON: Taken = Taken {
    attribute: Attribute::Balloon,
    source: "linux.tools-balloon",
    by: "the balloon driver",
    command: "vmware-toolbox-cmd stat balloon",
    check: "guest.balloon",
};

/// What takes memory away from a guest.
pub(super) struct Taken {
    pub attribute: Attribute,
    pub source: &'static str,
    pub by: &'static str,
    pub command: &'static str,
    pub check: &'static str,
}

/// Guests whose VM must reserve all its memory.
pub(super) fn reserved_guests<'a>(scene: &Scene<'a>) -> Vec<&'a TargetId> {
    let reserves = |device: &EntityId| matches!(ask::kind(scene, device), DeviceKind::Pvrdma | DeviceKind::Passthrough);
    scene.guests().filter(|guest| ask::devices_of(scene, guest).iter().any(reserves)).collect()
}

/// Judges one kind of memory that was taken.
pub(super) fn taken(scene: &Scene<'_>, guest: &TargetId, what: &Taken) -> Option<Judged> {
    let id = EntityId::new(guest, Entity::Guest);
    let reading = scene.fabric.reading(&id, what.attribute)?;
    match &reading.state {
        // Without VMware Tools, or outside of VMware, there is nothing to judge.
        State::NotInstalled(_) | State::NotObservable(_) => None,
        State::Known(_) => {
            let megabytes = scene.count(&id, what.attribute)?;
            if megabytes == 0 {
                return Some(Judged::pass(&id, format!("{guest}: {} holds no memory", what.by)));
            }
            let mut judged = Judged::fail(
                &id,
                Confidence::Proved,
                format!("{guest}: {} holds {megabytes} MB", what.by),
                "a VM with a PVRDMA or passed-through adapter must reserve all its memory, and then nothing can be taken from it: the \
                 reservation is broken, and what the adapter is to reach may be gone",
            )
            .shown(&id, what.attribute, format!("{megabytes} MB"))
            .reaching(scene.joined.vm_of(guest).cloned());
            if scene.value(&id, Attribute::MemoryReservation).is_some() {
                judged = judged.shown(&id, Attribute::MemoryReservation, "what the VM reserves");
            }
            Some(
                judged.cured_by(
                    Cure::by_hand(
                        "Reserve all memory of the VM",
                        vec![Step::ByHand(
                            "vCenter: VM > Edit Settings > Memory > Reserve all guest memory (All locked)".to_owned(),
                        )],
                    )
                    .verified_by(&["vm.memory-reservation"])
                    .noting("the host must have the memory free"),
                ),
            )
        }
        _ => {
            let mut judged = ask::untold(scene, &id, what.attribute, what.source, what.command);
            judged.title = format!("{} ({})", judged.title, what.check);
            Some(judged)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || Site::sound().with("pv-a", says("linux.tools-balloon", "2048 MB\n")),
        healthy: Site::sound,
        unclear: || Site::sound().with("pv-a", fails("linux.tools-balloon", 75, "Failed to get balloon memory\n")),
    };

    #[test]
    fn a_guest_without_tools_is_not_judged() {
        let site = Site::sound().with("pv-a", fails("linux.tools-balloon", 127, "vmware-toolbox-cmd: not found"));
        assert!(!site.judge(&CHECK).iter().any(|judged| judged.subject.target.as_str() == "pv-a"));
    }
}
