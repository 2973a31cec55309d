//! Transparent huge pages: which word is chosen, and whether the kernel stops a program to make them.

use super::ask;
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::fabric::{Attribute, Entity, EntityId, TargetId};

/// Huge pages are not made at a program's cost.
pub const CHECK: Check = Check {
    id: "guest.transparent-hugepages",
    title: "Transparent huge pages do not stall programs",
    gate: "guests with RDMA ports",
    rule: "informs if huge pages and their defragmentation are both set to always",
    source: Source { text: "kernel documentation: admin-guide/mm/transhuge", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    ask::guests(scene).into_iter().map(|guest| judge_guest(scene, guest)).collect()
}

fn judge_guest(scene: &Scene<'_>, guest: &TargetId) -> Judged {
    let id = EntityId::new(guest, Entity::Guest);
    let Some(chosen) = scene.text(&id, Attribute::TransparentHugePages) else {
        let decide = "cat /sys/kernel/mm/transparent_hugepage/enabled";
        return ask::untold(scene, &id, Attribute::TransparentHugePages, "linux.memory-settings", decide);
    };
    let defrag = scene.text(&id, Attribute::TransparentHugePageDefrag).unwrap_or("not known");
    if chosen != "always" || defrag != "always" {
        return Judged::pass(&id, format!("{guest}: transparent huge pages {chosen}, defragmentation {defrag}"));
    }
    Judged::info(
        &id,
        format!("{guest}: huge pages are made while programs wait"),
        "with both set to always a page fault may stop until memory is compacted, which shows as single slow messages; the default for \
         defragmentation is madvise. It has nothing to do with the memory of GPUs or with GPUDirect",
    )
    .shown(&id, Attribute::TransparentHugePages, "enabled: always")
    .shown(&id, Attribute::TransparentHugePageDefrag, "defrag: always")
}

#[cfg(test)]
mod tests {
    use crate::diagnose::check::testing::{Samples, Site, fails};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Info,
        trouble: || {
            Site::sound().replacing(
                "pv-a",
                "linux.memory-settings",
                "always defer defer+madvise [madvise] never",
                "[always] defer defer+madvise madvise never",
            )
        },
        healthy: Site::sound,
        unclear: || Site::sound().with("pv-a", fails("linux.memory-settings", 124, "timeout")),
    };
}
