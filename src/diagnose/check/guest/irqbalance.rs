//! Whether anything spreads interrupts over the processors.

use super::ask;
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// Interrupts are spread.
pub const CHECK: Check = Check {
    id: "guest.irqbalance",
    title: "Interrupts are spread over the processors",
    gate: "guests with RDMA ports and more than one processor",
    rule: "informs if irqbalance does not run",
    source: Source { text: "irqbalance(1)", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let guests = ask::guests(scene).into_iter();
    guests
        .filter(|guest| {
            scene.count(&EntityId::new(guest, Entity::Guest), Attribute::ProcessorCount).is_none_or(|count| count > 1)
        })
        .map(|guest| judge_guest(scene, guest))
        .collect()
}

fn judge_guest(scene: &Scene<'_>, guest: &TargetId) -> Judged {
    let id = EntityId::new(guest, Entity::Guest);
    match scene.flag(&id, Attribute::IrqBalance) {
        None => ask::untold(scene, &id, Attribute::IrqBalance, "linux.irqbalance", "pgrep irqbalance"),
        Some(true) => Judged::pass(&id, format!("{guest}: irqbalance runs")),
        Some(false) => Judged::info(
            &id,
            format!("{guest}: irqbalance does not run"),
            "interrupts stay on the processors that the kernel chose; right where someone pinned them on purpose (a running irqbalance \
             would move them again), else many of them share one processor",
        )
        .shown(&id, Attribute::IrqBalance, "no process of this name")
        .shown(&id, Attribute::ProcessorCount, "processors"),
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnose::check::testing::{Samples, Site, gave, says};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Info,
        trouble: || Site::sound().with("pv-a", says("linux.irqbalance", "")),
        healthy: Site::sound,
        unclear: || {
            // Processes of others are hidden (hidepid).
            let hidden = "grep: /proc/1/comm: No such file or directory\n";
            Site::sound()
                .with("pv-a", gave("linux.memory-settings", "/proc/sys/vm/swappiness:60\n", hidden, 2))
                .with("pv-a", says("linux.irqbalance", ""))
        },
    };
}
