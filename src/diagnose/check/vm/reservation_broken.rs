//! A VM with a GPU from which memory was taken.

use crate::diagnose::check::limited::{Words, cured, each_around};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::limit::{Factor, Verdict};
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Entity, EntityId};

/// Nothing was taken from a VM with a GPU.
pub const CHECK: Check = Check {
    id: "vm.reservation-broken",
    title: "No memory was taken from the VM of a GPU",
    gate: "VMs with a GPU that is measured, while esxtop is read on their host or VMware Tools in the guest",
    rule: "fails if in 3 of 4 samples balloon, swap or swap-in of the VM is above 0, or the last read of host or guest says so",
    source: Source {
        text: "vSphere Virtual Machine Administration: a PCI passthrough device makes vSphere reserve all memory of its VM",
        weak: false,
    },
    thresholds: &[],
    explains: &["vm.balloon", "guest.balloon"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

const WORDS: Words = Words {
    factor: Factor::ReservationBroken,
    cause: "a device of the host reaches the memory of the VM by itself, so all of it must be reserved, and of reserved memory nothing is \
            taken: the reservation was lowered, or a limit stands below the memory of the VM",
    ask: "vmware-toolbox-cmd stat balloon; on its host: esxtop, then m: MCTLSZ and SWCUR of the VM",
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    let subject = |verdict: &Verdict| {
        Some(verdict.vm.clone().unwrap_or_else(|| EntityId::new(&verdict.gpu.target, Entity::Guest)))
    };
    let help = || {
        let step = "vCenter: VM > Edit Settings > Memory > Reserve all guest memory (All locked), Limit: Unlimited";
        Cure::by_hand("Reserve all memory of the VM", vec![Step::ByHand(step.to_owned())])
            .risking(Risk::RebootsGuest)
            .verified_by(&["vm.reservation-broken", "vm.memory-reservation"])
            .noting("the host must have the memory free")
    };
    cured(each_around(scene, &WORDS, subject), |_| help())
}

#[cfg(test)]
mod tests {
    use crate::diagnose::check::limited::testing::{sound, with};
    use crate::diagnose::check::testing::{Samples, Site};
    use crate::diagnose::finding::Status;
    use crate::diagnose::limit::testing::{DCGM, ESXTOP, SMI, with as column};
    use crate::diagnose::limit::{Factor, Standing};

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || taken("2048.00"),
        healthy: sound,
        unclear: || {
            let blind = column(&column(ESXTOP, "gpu-a)\\Memctl MBytes", ""), "Swapped MBytes", "");
            with(SMI, DCGM, &blind)
        },
    };

    fn taken(megabytes: &str) -> Site {
        with(SMI, DCGM, &column(ESXTOP, "gpu-a)\\Memctl MBytes", megabytes))
    }

    #[test]
    fn it_stands_before_everything_and_is_no_pressure_of_neighbours() {
        let host = column(&column(ESXTOP, "gpu-a)\\Memctl MBytes", "2048.00"), "Memctl Current MBytes", "2048.00");
        let site = with(SMI, DCGM, &column(&host, "Memory State", "1"));
        let verdict = site.limits().all().next().expect("a verdict");
        assert_eq!((verdict.standing, verdict.runner_up), (Standing::Limited(Factor::ReservationBroken), None));
        assert!(verdict.says.contains("balloon 2048 MB"), "{}", verdict.says);
    }
}
