//! How readily the kernel swaps. Pinned memory is never swapped, whatever it says.

use super::ask;
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// The guest does not swap more readily than by default.
pub const CHECK: Check = Check {
    id: "guest.swappiness",
    title: "The guest does not swap more readily than by default",
    gate: "guests with RDMA ports",
    rule: "informs above 60, the default of the kernel",
    source: Source { text: "kernel documentation: admin-guide/sysctl/vm", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

const DEFAULT: u64 = 60;

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    ask::guests(scene).into_iter().map(|guest| judge_guest(scene, guest)).collect()
}

fn judge_guest(scene: &Scene<'_>, guest: &TargetId) -> Judged {
    let id = EntityId::new(guest, Entity::Guest);
    match scene.count(&id, Attribute::Swappiness) {
        None => ask::untold(scene, &id, Attribute::Swappiness, "linux.memory-settings", "sysctl vm.swappiness"),
        Some(value) if value <= DEFAULT => Judged::pass(&id, format!("{guest}: vm.swappiness is {value}")),
        Some(value) => Judged::info(
            &id,
            format!("{guest}: vm.swappiness is {value}"),
            "the kernel swaps memory of programs more readily than by default; what RDMA has registered is pinned and stays in any \
             case, but the rest of a job may wait for its pages",
        )
        .shown(&id, Attribute::Swappiness, format!("{value}, by default {DEFAULT}")),
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Info,
        trouble: || Site::sound().replacing("pv-a", "linux.memory-settings", "swappiness:60", "swappiness:100"),
        healthy: Site::sound,
        unclear: || Site::sound().with("pv-a", fails("linux.memory-settings", 124, "timeout")),
    };
}
