//! A GPU that waits for its PCIe link.

use crate::diagnose::check::limited::{Words, cured, each_gpu};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::limit::{FULL, Factor};
use crate::diagnose::remedy::{Cure, Step};

/// The GPU does not wait for its link.
pub const CHECK: Check = Check {
    id: "gpu.pcie-bound",
    title: "The GPU does not wait for its PCIe link",
    gate: "GPUs that a stream has measured for some seconds",
    rule: "warns if in 4 of 6 samples less than half of the multiprocessors are busy (without DCGM: use below 85 %) while the link \
           carries 80 % of the usable ceiling of its generation and width of that moment; ends when that is met in one sample at most. \
           With gpu_rule = \"published\": use above 85 % and more than 60 % of the raw rate towards the GPU",
    source: Source {
        text: "NVML: utilization.gpu is the share of time with any kernel; PCI Express: coding and packet headers; DCGM fields 1002, 1009, 1010",
        weak: false,
    },
    thresholds: &[FULL],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

const WORDS: Words = Words {
    factor: Factor::PcieBound,
    cause: "the GPU works little while its link is full: it waits for copies between its memory and that of the guest",
    ask: "dcgmi dmon -e 1002,1009,1010 -d 1000",
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let help = || {
        let step = "keep data on the GPU, copy pinned memory asynchronously (cudaMemcpyAsync), send smaller types";
        Cure::by_hand("Copy less, or beside the work", vec![Step::ByHand(step.to_owned())])
            .verified_by(&["gpu.pcie-bound"])
            .noting("a faster link helps as far as the card and its slot have one")
    };
    cured(each_gpu(scene, &WORDS), |_| help())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::GpuRule;
    use crate::diagnose::check::limited::testing::{around, sound, with};
    use crate::diagnose::check::testing::{Samples, Site};
    use crate::diagnose::finding::{Confidence, Status};
    use crate::diagnose::limit::testing::{DCGM, ESXTOP, SMI, dcgm, half_a_minute, with as column};

    pub const SAMPLES: Samples =
        Samples { says: Status::Warn, trouble: saturated, healthy: sound, unclear: || with(SMI, "", ESXTOP) };

    fn saturated() -> Site {
        with(SMI, &dcgm("0.310", "27901344512", "2101344512"), ESXTOP)
    }

    #[test]
    fn a_busy_gpu_beside_a_full_link_is_well() {
        let site = with(SMI, &dcgm("0.930", "27901344512", "2101344512"), ESXTOP);
        assert_eq!(site.statuses(&CHECK), [Status::Pass]);
    }

    #[test]
    fn an_idle_link_of_the_first_generation_raises_nothing() {
        let idle = column(&column(SMI, "utilization.gpu", "0 %"), "pcie.link.gen.gpucurrent", "1");
        let idle = column(&column(&idle, "pcie.link.width.max", "32"), "pcie.link.width.current", "16");
        let site = with(&idle, &dcgm("0.000", "120000", "80000"), ESXTOP);
        assert!(site.examine().iter().all(|found| !found.is_trouble()), "{:#?}", site.limits());
    }

    #[test]
    fn without_rows_nothing_is_said() {
        assert_eq!(around().statuses(&CHECK), []);
        assert_eq!(around().measured(&half_a_minute(SMI, DCGM, ESXTOP)[..3]).statuses(&CHECK), [], "too few");
    }

    #[test]
    fn the_published_rule_says_what_is_wrong_with_it() {
        let rows = half_a_minute(SMI, &dcgm("0.930", "22901344512", "2101344512"), ESXTOP);
        let site = around().measured_by(GpuRule::Published, &rows);
        let judged = site.judge(&CHECK);
        assert_eq!((judged[0].status, judged[0].confidence), (Status::Warn, Confidence::Possible));
        assert!(judged[0].cause.contains("published rule") && !judged[0].against.is_empty(), "{judged:#?}");
        assert_eq!(around().measured(&rows).statuses(&CHECK), [Status::Pass], "by the default rule it is well");
    }

    #[test]
    fn a_site_says_what_is_full() {
        let rows = half_a_minute(SMI, &dcgm("0.310", "20901344512", "2101344512"), ESXTOP);
        assert_eq!(around().measured(&rows).statuses(&CHECK), [Status::Pass]);
        let strict = around().with_threshold("gpu.pcie-bound.full", 60.0).measured(&rows);
        assert_eq!(strict.statuses(&CHECK), [Status::Warn]);
    }
}
