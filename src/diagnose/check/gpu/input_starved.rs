//! A GPU that works in bursts beside a quiet link: its data comes too slowly.

use crate::diagnose::check::limited::{Words, cured, each_gpu};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::limit::Factor;
use crate::diagnose::remedy::{Cure, Step};

/// The GPU has enough to do.
pub const CHECK: Check = Check {
    id: "gpu.input-starved",
    title: "The GPU has enough to do while a job is on it",
    gate: "GPUs that a stream has measured for some seconds",
    rule: "warns, as possible only, if in 4 of 6 samples the GPU works little and its link carries less than 30 % of its ceiling, it is \
           not idle, and nothing else is found that holds it up",
    source: Source {
        text: "NVML: utilization.gpu is the share of time with any kernel; field report for 30 %",
        weak: true,
    },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

const WORDS: Words = Words {
    factor: Factor::InputStarved,
    cause: "neither the GPU nor its link is busy: the job waits for something else, mostly for its loader (processors, storage, network), \
            or it simply has little to do",
    ask: "dcgmi dmon -e 1002,1009,1010 -d 1000",
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let help = || {
        let step = "more loader processes (num_workers), data decoded beforehand, storage nearer to the guest; a profile (nsys) shows which";
        Cure::by_hand("Feed the job faster", vec![Step::ByHand(step.to_owned())]).verified_by(&["gpu.input-starved"])
    };
    cured(each_gpu(scene, &WORDS), |_| help())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::limited::testing::{sound, with};
    use crate::diagnose::check::testing::{Samples, Site};
    use crate::diagnose::finding::{Confidence, Status};
    use crate::diagnose::limit::testing::{ESXTOP, SMI, dcgm, with as column};

    pub const SAMPLES: Samples =
        Samples { says: Status::Warn, trouble: bursts, healthy: sound, unclear: || with(SMI, "", ESXTOP) };

    fn bursts() -> Site {
        with(&column(SMI, "utilization.gpu", "38 %"), &dcgm("0.220", "1101344512", "301344512"), ESXTOP)
    }

    #[test]
    fn it_is_never_more_than_possible_and_never_said_of_a_gpu_at_rest() {
        assert_eq!(bursts().judge(&CHECK)[0].confidence, Confidence::Possible);
        let idle = with(&column(SMI, "utilization.gpu", "0 %"), &dcgm("0.000", "120000", "80000"), ESXTOP);
        assert_eq!(idle.statuses(&CHECK), [Status::Pass]);
    }
}
