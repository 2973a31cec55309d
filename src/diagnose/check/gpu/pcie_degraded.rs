//! A PCIe link that is slower or narrower under load than it could be.

use crate::diagnose::check::limited::{Words, cured, each_gpu};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::limit::Factor;
use crate::diagnose::remedy::{Cure, Risk, Step};

/// The link runs as fast under load as it can.
pub const CHECK: Check = Check {
    id: "gpu.pcie-degraded",
    title: "The GPU's PCIe link runs at its full generation and width under load",
    gate: "GPUs that a stream has measured for some seconds",
    rule: "warns if in 4 of 6 samples with load on the link (10 % of its ceiling; use of 50 % where its throughput is not told) its \
           generation or width is below the highest that GPU and slot have together. Says nothing of an idle link, nor of 32 lanes \
           that a virtual root port claims",
    source: Source {
        text: "NVML: current and maximum PCIe link generation and width; an idle GPU lowers its generation",
        weak: false,
    },
    thresholds: &[],
    explains: &["gpu.pcie-link", "gpu.pcie-bound"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

const WORDS: Words = Words {
    factor: Factor::PcieDegraded,
    cause: "an idle link lowers its generation, one under load does not: the slot, a riser, a bent contact, bifurcation or a firmware \
            setting keeps it below what card and slot could do, and all copies are slower by that",
    ask: "nvidia-smi -q | grep -A10 'GPU Link Info' under load",
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let help = |judged: &Judged| {
        let host = scene.host_of(&judged.subject.target).map_or_else(|| "its host".to_owned(), ToString::to_string);
        let step = format!(
            "{host}: look at the link speed of the slot in the firmware's menu (Auto, not Gen3), seat the card and its riser anew"
        );
        Cure::by_hand("Bring the link back to its full speed", vec![Step::ByHand(step)])
            .risking(Risk::RebootsHost)
            .verified_by(&["gpu.pcie-degraded"])
            .noting("PCIe replays that grow show a bad contact: nvidia-smi -q | grep -i replay")
    };
    cured(each_gpu(scene, &WORDS), help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::limited::testing::{sound, with};
    use crate::diagnose::check::testing::{Samples, Site};
    use crate::diagnose::finding::Status;
    use crate::diagnose::limit::testing::{DCGM, ESXTOP, SMI, dcgm, with as column};
    use crate::diagnose::limit::{Factor, Standing};

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: degraded,
        healthy: sound,
        unclear: || with(&column(SMI, "pcie.link.gen.max", "[N/A]"), DCGM, ESXTOP),
    };

    fn degraded() -> Site {
        let narrow = column(&column(SMI, "pcie.link.gen.gpucurrent", "3"), "pcie.link.width.current", "8");
        with(&narrow, &dcgm("0.310", "6901344512", "1101344512"), ESXTOP)
    }

    #[test]
    fn it_stands_before_the_full_link_that_follows_from_it() {
        let site = degraded();
        let verdict = site.limits().all().next().expect("a verdict");
        assert_eq!(
            (verdict.standing, verdict.runner_up),
            (Standing::Limited(Factor::PcieDegraded), Some(Factor::PcieBound))
        );
    }

    #[test]
    fn a_link_that_rests_is_not_judged() {
        let narrow = column(SMI, "pcie.link.gen.gpucurrent", "1");
        assert_eq!(with(&narrow, &dcgm("0.900", "90134451", "1101344"), ESXTOP).statuses(&CHECK), [Status::Pass]);
    }
}
