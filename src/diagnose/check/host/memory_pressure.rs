//! A host beside whose GPUs other VMs lose memory.

use crate::diagnose::check::limited::{Words, cured, each_around};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::limit::{Factor, Verdict};
use crate::diagnose::remedy::{Cure, Step};
use crate::fabric::{Entity, EntityId};

/// The host has memory enough.
pub const CHECK: Check = Check {
    id: "host.memory-pressure",
    title: "The host takes no memory from VMs beside a GPU",
    gate: "hosts of VMs with a GPU that is measured, while esxtop is read on them",
    rule: "warns if in 3 of 4 samples the memory state is soft, hard or low, the host swaps 1 MB/s, other VMs lost 512 MB to their \
           balloons while it is not high, or 256 MB in these samples",
    source: Source {
        text: "vSphere Resource Management: memory states and reclamation; thresholds of the rates: field report",
        weak: true,
    },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

const WORDS: Words = Words {
    factor: Factor::MemoryPressure,
    cause: "the VM with the GPU has its memory reserved and loses none, but the host spends time on taking it from others, their swapping \
            loads storage and processors, and the VM may not find memory to start on after a power-off",
    ask: "on its host: esxtop, then m: MEM state, MCTL and SWAP lines",
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let host = |verdict: &Verdict| Some(EntityId::new(verdict.host()?, Entity::Host));
    let help = || {
        let step = "vCenter: move VMs to other hosts, or take away memory that they do not need";
        Cure::by_hand("Relieve the host", vec![Step::ByHand(step.to_owned())]).verified_by(&["host.memory-pressure"])
    };
    cured(each_around(scene, &WORDS, host), |_| help())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::limited::testing::{sound, with};
    use crate::diagnose::check::testing::{Samples, Site};
    use crate::diagnose::finding::Status;
    use crate::diagnose::limit::testing::{DCGM, ESXTOP, SMI, with as column};
    use crate::diagnose::limit::{Factor, Standing};

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || with(SMI, DCGM, &pressed("2", "8192.00")),
        healthy: sound,
        unclear: || {
            let blind = column(&pressed("", ""), "Swap MBytes Read/sec", "");
            with(SMI, DCGM, &blind)
        },
    };

    fn pressed(state: &str, taken: &str) -> String {
        let host = column(&column(ESXTOP, "Memory State", state), "Memctl Current MBytes", taken);
        column(&host, "batch-7)\\Memctl MBytes", taken)
    }

    fn verdict_of(site: &Site) -> Standing {
        site.limits().all().next().expect("a verdict").standing
    }

    #[test]
    fn it_is_the_verdict_where_nothing_else_is_and_the_neighbour_is_named() {
        let site = with(SMI, DCGM, &pressed("2", "8192.00"));
        assert_eq!(verdict_of(&site), Standing::Limited(Factor::MemoryPressure));
        let judged = site.judge(&CHECK);
        assert!(judged[0].evidence.iter().any(|shown| shown.says.contains("batch-7 lost 8192 MB")), "{judged:#?}");
    }

    #[test]
    fn a_balloon_that_stays_while_the_host_has_memory_is_none_of_its() {
        let site = with(SMI, DCGM, &pressed("0", "8192.00"));
        assert_eq!((site.statuses(&CHECK), verdict_of(&site)), (vec![Status::Pass], Standing::Healthy));
    }
}
