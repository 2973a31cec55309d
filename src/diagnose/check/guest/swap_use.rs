//! Memory that the host swapped out: none may be where all memory is reserved.

use super::balloon::{Taken, reserved_guests, taken};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::fabric::Attribute;

/// The host swaps nothing of the guest.
pub const CHECK: Check = Check {
    id: "guest.swap-use",
    title: "The host has swapped out no memory of the guest",
    gate: "guests with a PVRDMA or passed-through adapter whose VMware Tools answer",
    rule: "fails at more than 0 MB",
    source: Source {
        text: "vSphere Virtual Machine Administration: memory reservation of VMs with PCI passthrough; PVRDMA requirements",
        weak: false,
    },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

const SWAP: Taken = Taken {
    attribute: Attribute::HostSwap,
    source: "linux.tools-swap",
    by: "the swap file of the host",
    command: "vmware-toolbox-cmd stat swap",
    check: "guest.swap-use",
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    reserved_guests(scene).into_iter().filter_map(|guest| taken(scene, guest, &SWAP)).collect()
}

#[cfg(test)]
mod tests {
    use crate::diagnose::check::testing::{Samples, Site, fails, says};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || Site::sound().with("pv-a", says("linux.tools-swap", "512 MB\n")),
        healthy: Site::sound,
        unclear: || Site::sound().with("pv-a", fails("linux.tools-swap", 75, "Failed to get swapped memory\n")),
    };
}
