//! A GPU whose VM has its memory or its processors on another NUMA node.

use crate::diagnose::check::limited::{Words, cured, each_gpu};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::limit::{Factor, LOCAL};
use crate::diagnose::remedy::{Cure, Risk, Step};

/// The VM is on the node of its GPU.
pub const CHECK: Check = Check {
    id: "gpu.numa-remote",
    title: "The VM of the GPU has its memory and processors near it",
    gate: "GPUs that a stream has measured for some seconds, while esxtop is read on their host",
    rule: "warns if in 3 of 4 samples less than 80 % of the VM's memory lies on its home nodes, or none of these is the node of the host's \
           function behind the GPU; likely where the GPU works little meanwhile, else possible",
    source: Source {
        text: "vSphere Resource Management: NUMA home nodes and locality; field report for 80 %",
        weak: true,
    },
    thresholds: &[LOCAL],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

const WORDS: Words = Words {
    factor: Factor::NumaRemote,
    cause: "copies between guest and GPU, and the processors that feed it, go over the link between the sockets of the host",
    ask: "on its host: esxtop, then m, f, G: N%L and NHN of the VM",
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let help = || {
        let step = "vCenter: VM > Edit Settings > VM Options > Advanced > numa.nodeAffinity = the node of the GPU, or a VM that fits one \
                    node; then power it off and on";
        Cure::by_hand("Bring the VM to the node of its GPU", vec![Step::ByHand(step.to_owned())])
            .risking(Risk::RebootsGuest)
            .verified_by(&["gpu.numa-remote"])
    };
    cured(each_gpu(scene, &WORDS), |_| help())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::limited::testing::{sound, with};
    use crate::diagnose::check::testing::{Samples, Site};
    use crate::diagnose::finding::{Confidence, Status};
    use crate::diagnose::limit::testing::{DCGM, ESXTOP, SMI, dcgm, with as column};

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || local("42", &dcgm("0.310", "2101344512", "901344512")),
        healthy: sound,
        unclear: || local("", DCGM),
    };

    fn local(share: &str, dcgm: &str) -> Site {
        with(SMI, dcgm, &column(ESXTOP, "Numa % Local", share))
    }

    #[test]
    fn a_gpu_that_is_busy_all_the_same_leaves_it_possible() {
        let judged = local("42", DCGM).judge(&CHECK);
        assert_eq!((judged[0].status, judged[0].confidence), (Status::Warn, Confidence::Possible));
        assert_eq!(local("85", DCGM).statuses(&CHECK), [Status::Pass]);
    }
}
