//! A GPU whose clocks are held down by a power limit that somebody set, or by the server's brake.

use crate::diagnose::check::limited::{Words, cured, each_gpu};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::limit::Factor;
use crate::diagnose::remedy::{Cure, Step};

/// No lowered limit holds the clocks.
pub const CHECK: Check = Check {
    id: "gpu.power",
    title: "Neither a lowered power limit nor the server's power brake holds the GPU's clocks down",
    gate: "GPUs that a stream has measured for some seconds",
    rule: "in 4 of 6 samples: fails if the power brake holds the clocks; warns if the power cap does and the limit is below the one that \
           the card came with. At its own limit under full load a card is well",
    source: Source { text: "NVML: clocks event reasons 4 and 128, enforced and default power limit", weak: false },
    thresholds: &[],
    explains: &["gpu.clocks-held"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

const WORDS: Words = Words {
    factor: Factor::Power,
    cause: "the GPU gives up clocks to stay below a limit that is lower than what it is made for",
    ask: "nvidia-smi -q -d POWER,PERFORMANCE",
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let help = || {
        let step = "in the guest, as root: nvidia-smi -i GPU -pl WATTS with the default limit of nvidia-smi -q -d POWER; with a power \
                    brake: the power supplies and the power cap of the server's management controller";
        Cure::by_hand("Give the card its power back", vec![Step::ByHand(step.to_owned())])
            .verified_by(&["gpu.power"])
            .noting("somebody may have set the limit for good reason; it is lost at the next load of the driver")
    };
    cured(each_gpu(scene, &WORDS), |_| help())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::check::limited::testing::{sound, with};
    use crate::diagnose::check::testing::{Samples, Site};
    use crate::diagnose::finding::Status;
    use crate::diagnose::limit::testing::{DCGM, ESXTOP, SMI, with as column};

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || held("0x0000000000000004", "250.00 W"),
        healthy: sound,
        unclear: || held("[Not Supported]", "250.00 W"),
    };

    fn held(reasons: &str, limit: &str) -> Site {
        let smi = column(&column(SMI, "clocks_event_reasons.active", reasons), "power.limit", limit);
        with(&column(&smi, "clocks.current.sm", "1005 MHz"), DCGM, ESXTOP)
    }

    #[test]
    fn full_load_at_the_cards_own_limit_is_well() {
        assert_eq!(held("0x0000000000000004", "400.00 W").statuses(&CHECK), [Status::Pass]);
        assert_eq!(held("0x0000000000000004", "[N/A]").statuses(&CHECK), [Status::Pass], "not known to be lowered");
        assert_eq!(held("0x0000000000000088", "400.00 W").statuses(&CHECK), [Status::Fail], "the brake");
    }
}
