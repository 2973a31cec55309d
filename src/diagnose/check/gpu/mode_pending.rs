//! Modes of a GPU that were changed and are not in force before its next reset: MIG, ECC.

use super::told::{Told, named, read, told};
use super::xid::reset;
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::fabric::{Attribute, EntityId, TargetId, Value};

/// MIG is as it was asked for.
pub const MIG: Check = Check {
    id: "gpu.mig-pending",
    title: "MIG is on or off as it was asked for",
    gate: "GPUs that know MIG, read by NVIDIA's driver",
    rule: "warns if MIG after the next reset is another than now",
    source: Source { text: "NVIDIA: MIG user guide, enabling MIG mode in VMs: the GPU must be reset", weak: false },
    thresholds: &[],
    explains: &[],
    judge: |scene| judge(scene, &MIG_MODE),
    #[cfg(test)]
    samples: tests::OF_MIG,
};

/// ECC is as it was asked for.
pub const ECC: Check = Check {
    id: "gpu.ecc-pending",
    title: "ECC is on or off as it was asked for",
    gate: "GPUs that know ECC, read by NVIDIA's driver",
    rule: "warns if ECC after the next reset is another than now",
    source: Source { text: "nvidia-smi manual: a change of the ECC mode needs a reset", weak: false },
    thresholds: &[],
    explains: &[],
    judge: |scene| judge(scene, &ECC_MODE),
    #[cfg(test)]
    samples: tests::OF_ECC,
};

/// One mode.
struct Mode {
    name: &'static str,
    now: Attribute,
    then: Attribute,
    check: &'static str,
    shows: &'static str,
    follows: &'static str,
}

const MIG_MODE: Mode = Mode {
    name: "MIG",
    now: Attribute::MigMode,
    then: Attribute::MigModePending,
    check: "gpu.mig-pending",
    shows: "-q | grep -A2 'MIG Mode'",
    follows: "instances can neither be made nor be gone before that, and jobs see the GPU as it was",
};

const ECC_MODE: Mode = Mode {
    name: "ECC",
    now: Attribute::EccMode,
    then: Attribute::EccModePending,
    check: "gpu.ecc-pending",
    shows: "-q -d ECC",
    follows: "memory errors are dealt with as before, and the size of the memory stays as it was",
};

fn judge(scene: &Scene<'_>, mode: &Mode) -> Vec<Judged> {
    read(scene).into_iter().filter_map(|(guest, gpu)| of_gpu(scene, guest, &gpu, mode)).collect()
}

fn of_gpu(scene: &Scene<'_>, guest: &TargetId, gpu: &EntityId, mode: &Mode) -> Option<Judged> {
    let name = named(gpu);
    let mut both = Vec::new();
    for attribute in [mode.now, mode.then] {
        match told(scene, gpu, attribute, mode.name, mode.shows) {
            Told::Nothing => return None,
            Told::Unclear(judged) => return Some(*judged),
            Told::Known(Value::Flag(on)) => both.push(*on),
            Told::Known(_) => return None,
        }
    }
    let [now, then] = both[..] else { return None };
    let word = |on| if on { "on" } else { "off" };
    if now == then {
        return Some(Judged::pass(
            gpu,
            format!("{guest}: {} of {name} is {}, now and after a reset", mode.name, word(now)),
        ));
    }
    Some(
        Judged::warn(
            gpu,
            Confidence::Proved,
            format!("{guest}: {} of {name} was switched {} and is still {}", mode.name, word(then), word(now)),
            format!(
                "the change waits for a reset of the GPU, which in a VM often takes its power off and on: {}",
                mode.follows
            ),
        )
        .shown(gpu, mode.now, format!("{} now", word(now)))
        .shown(gpu, mode.then, format!("{} after the next reset", word(then)))
        .decided_by(format!("on {guest}: nvidia-smi {}", mode.shows))
        .cured_by(reset(guest, gpu).verified_by(&[mode.check])),
    )
}

#[cfg(test)]
mod tests {
    use super::super::told::testing::query;
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site};
    use crate::diagnose::finding::Status;

    pub const OF_MIG: Samples = Samples {
        says: Status::Warn,
        trouble: || mode("MIG Mode", "Disabled", "Enabled"),
        healthy: || mode("MIG Mode", "Enabled", "Enabled"),
        unclear: || mode("MIG Mode", "Unknown Error", "Unknown Error"),
    };

    pub const OF_ECC: Samples = Samples {
        says: Status::Warn,
        trouble: || mode("Ecc Mode", "Enabled", "Disabled"),
        healthy: || mode("ECC Mode", "Disabled", "Disabled"),
        unclear: || mode("ECC Mode", "Unknown Error", "Enabled"),
    };

    fn mode(name: &str, now: &str, then: &str) -> Site {
        query(&format!(
            "    {name}\n        Current                           : {now}\n        Pending                           : {then}\n"
        ))
    }

    #[test]
    fn a_gpu_without_the_mode_is_not_judged() {
        assert!(mode("MIG Mode", "N/A", "N/A").judge(&MIG).is_empty());
        assert!(query("").judge(&ECC).is_empty());
        let judged = mode("MIG Mode", "Enabled", "Disabled").judge(&MIG);
        assert_eq!(judged[0].title, "gpu-1: MIG of GPU 0000:05:00.0 was switched off and is still on");
    }
}
