//! A GPU whose clocks are held down by heat.

use crate::diagnose::check::limited::{Words, cured, each_gpu};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::limit::Factor;
use crate::diagnose::remedy::{Cure, Step};

/// Heat does not hold the clocks.
pub const CHECK: Check = Check {
    id: "gpu.thermal",
    title: "Heat does not hold the GPU's clocks down",
    gate: "GPUs that a stream has measured for some seconds",
    rule: "in 4 of 6 samples: fails if the hardware slows the clocks down because of heat, warns if the driver does",
    source: Source { text: "NVML: clocks event reasons 8, 32, 64", weak: false },
    thresholds: &[],
    explains: &["gpu.clocks-held"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

const WORDS: Words = Words {
    factor: Factor::Thermal,
    cause: "the GPU gives up clocks to stay below its limit of temperature: the same job takes longer, and on a group of GPUs all wait \
            for the slowest",
    ask: "nvidia-smi -q -d PERFORMANCE,TEMPERATURE",
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let help = |judged: &Judged| {
        let host = scene.host_of(&judged.subject.target).map_or_else(|| "its host".to_owned(), ToString::to_string);
        let step = format!("{host}: fans and their profile, blanks of empty slots, dust, inlet temperature");
        Cure::by_hand("Cool the card", vec![Step::ByHand(step)]).verified_by(&["gpu.thermal"])
    };
    cured(each_gpu(scene, &WORDS), help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::limited::testing::{sound, with};
    use crate::diagnose::check::testing::{Samples, Site};
    use crate::diagnose::finding::Status;
    use crate::diagnose::limit::testing::{DCGM, ESXTOP, SMI, with as column};

    pub const SAMPLES: Samples =
        Samples { says: Status::Warn, trouble: || hot("0x0000000000000020"), healthy: sound, unclear: || hot("[N/A]") };

    fn hot(reasons: &str) -> Site {
        let smi = column(&column(SMI, "clocks_event_reasons.active", reasons), "temperature.gpu", "91");
        with(&column(&smi, "clocks.current.sm", "1065 MHz"), DCGM, ESXTOP)
    }

    #[test]
    fn what_the_hardware_does_is_grave_and_other_reasons_are_none() {
        assert_eq!(hot("0x0000000000000040").statuses(&CHECK), [Status::Fail]);
        assert_eq!(hot("0x0000000000000001").statuses(&CHECK), [Status::Pass], "idle");
        assert_eq!(hot("0x0000000000000088").statuses(&CHECK), [Status::Pass], "the power brake is no heat");
    }
}
