//! A GPU whose VM waits for processors.

use crate::diagnose::check::limited::{Words, cured, each_gpu};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::limit::{Factor, READY};
use crate::diagnose::remedy::{Cure, Step};

/// The VM gets its processors.
pub const CHECK: Check = Check {
    id: "gpu.cpu-starved",
    title: "The VM of the GPU does not wait for processors of its host",
    gate: "GPUs that a stream has measured for some seconds, while esxtop is read on their host",
    rule: "warns if in 3 of 4 samples the VM is ready for 10 % of the time a virtual CPU, stopped for 3 %, or held by its limit for 5 %; \
           likely where the GPU works little meanwhile, else possible",
    source: Source { text: "field report", weak: true },
    thresholds: &[READY],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

const WORDS: Words = Words {
    factor: Factor::CpuStarved,
    cause: "the processors that feed the GPU wait for their turn on the host: other VMs want them, the VM has more virtual CPUs than \
            can run at once, or a limit holds it",
    ask: "on its host: esxtop, then c: %RDY and %CSTP of the VM",
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let help = || {
        let step = "vCenter: move other VMs off the host, reserve the VM's CPU, take its CPU limit away, or give it fewer virtual CPUs \
                    than one NUMA node has cores";
        Cure::by_hand("Give the VM its processors", vec![Step::ByHand(step.to_owned())])
            .verified_by(&["gpu.cpu-starved"])
    };
    cured(each_gpu(scene, &WORDS), |_| help())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::limited::testing::{around, sound, with};
    use crate::diagnose::check::testing::{Samples, Site};
    use crate::diagnose::finding::{Confidence, Status};
    use crate::diagnose::limit::testing::{DCGM, ESXTOP, SMI, dcgm, half_a_minute, with as column};
    use crate::diagnose::limit::{Factor, Standing};

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || waits("384.00", &dcgm("0.310", "2101344512", "901344512")),
        healthy: sound,
        unclear: || waits("", DCGM),
    };

    fn waits(ready: &str, dcgm: &str) -> Site {
        with(SMI, dcgm, &column(ESXTOP, "% Ready", ready))
    }

    #[test]
    fn it_is_counted_for_each_virtual_cpu_and_weighed_by_the_gpu() {
        // Sixteen virtual CPUs: 144 % is 9 % each.
        assert_eq!(waits("144.00", DCGM).statuses(&CHECK), [Status::Pass]);
        let busy = waits("384.00", DCGM).judge(&CHECK);
        assert_eq!(
            (busy[0].status, busy[0].confidence),
            (Status::Warn, Confidence::Possible),
            "the GPU is busy all the same"
        );
        let site = waits("384.00", &dcgm("0.310", "2101344512", "901344512"));
        let verdict = site.limits().all().next().expect("a verdict");
        assert_eq!((verdict.standing, verdict.confidence), (Standing::Limited(Factor::CpuStarved), Confidence::Likely));
    }

    #[test]
    fn without_esxtop_nothing_is_said() {
        assert_eq!(around().measured(&half_a_minute(SMI, DCGM, "")).statuses(&CHECK), []);
    }
}
