//! Rows of a GPU's memory that were found broken and replaced by spare ones: Ampere and later do that, at the next reset.

use super::told::{Told, function, named, read, told};
use super::xid::reset;
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, EntityId, TargetId, Value};

/// No row waits to be remapped, and no remap failed.
pub const CHECK: Check = Check {
    id: "gpu.row-remap",
    title: "No row of the GPU's memory waits to be replaced",
    gate: "GPUs that remap rows (Ampere and later), read by NVIDIA's driver",
    rule: "fails if a remap failed, or if a row waits after an error that could not be corrected; warns if one waits after corrected \
           errors",
    source: Source { text: "NVIDIA: GPU memory error management, row remapping", weak: false },
    thresholds: &[],
    explains: &["gpu.ecc", "gpu.xid", "guest.kernel-messages"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    read(scene).into_iter().filter_map(|(guest, gpu)| of_gpu(scene, guest, &gpu)).collect()
}

fn of_gpu(scene: &Scene<'_>, guest: &TargetId, gpu: &EntityId) -> Option<Judged> {
    let name = named(gpu);
    let shows = "-q -d ROW_REMAPPER,ECC";
    let pending = match told(scene, gpu, Attribute::RemapPending, "rows that wait to be remapped", shows) {
        Told::Nothing => return None,
        Told::Unclear(judged) => return Some(*judged),
        Told::Known(value) => *value == Value::Flag(true),
    };
    let decide = format!("on {guest}: nvidia-smi {shows}; sudo dmesg | grep -e Xid -e 'Row Remapper'");
    if scene.flag(gpu, Attribute::RemapFailed) == Some(true) {
        return Some(
            Judged::fail(
                gpu,
                Confidence::Proved,
                format!("{guest}: {name} could not replace a broken row of its memory"),
                "its bank has no spare row left, or the place where remaps are noted is full: the broken row stays in use, and errors will \
                 come back. The GPU is to be replaced",
            )
            .shown(gpu, Attribute::RemapFailed, "a remap failed")
            .reaching([function(gpu)])
            .decided_by(decide)
            .cured_by(
                Cure::by_hand(
                    "Have the GPU replaced",
                    vec![Step::ByHand(format!(
                        "take {guest} out of the scheduler, run NVIDIA's field diagnostic, hand its log to the vendor"
                    ))],
                )
                .risking(Risk::RebootsGuest)
                .verified_by(&["gpu.row-remap"]),
            ),
        );
    }
    if !pending {
        return Some(Judged::pass(gpu, format!("{guest}: no row of {name} waits to be replaced")));
    }
    let uncorrected = scene.count(gpu, Attribute::EccUncorrected).filter(|errors| *errors > 0);
    let title = format!("{guest}: a row of {name} waits for a reset to be replaced");
    let judged = match uncorrected {
        Some(errors) => Judged::fail(
            gpu,
            Confidence::Proved,
            title,
            "an error that could not be corrected ended what used that memory; until the GPU is reset the broken row stays, and the \
             driver keeps jobs off it as well as it can",
        )
        .shown(gpu, Attribute::EccUncorrected, format!("{errors} uncorrectable since the driver was loaded")),
        None => Judged::warn(
            gpu,
            Confidence::Proved,
            title,
            "corrected errors came so often from one row that it is to be replaced; the data is right, and the next reset replaces it",
        ),
    };
    Some(
        judged
            .shown(gpu, Attribute::RemapPending, "a remap is pending")
            .reaching([function(gpu)])
            .decided_by(decide)
            .cured_by(reset(guest, gpu).verified_by(&["gpu.row-remap"])),
    )
}

#[cfg(test)]
mod tests {
    use super::super::told::testing::query;
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Fail,
        trouble: || rows("Yes", "No", 1),
        healthy: || rows("No", "No", 0),
        unclear: || rows("Unknown Error", "Unknown Error", 0),
    };

    fn rows(pending: &str, failed: &str, uncorrected: u32) -> Site {
        query(&format!(
            "    ECC Errors\n        Volatile\n            DRAM Uncorrectable            : {uncorrected}\n    Remapped Rows\n        \
             Correctable Error                 : 0\n        Uncorrectable Error               : {uncorrected}\n        \
             Pending                           : {pending}\n        Remapping Failure Occurred        : {failed}\n"
        ))
    }

    #[test]
    fn what_waits_after_corrected_errors_only_warns() {
        assert_eq!(rows("Yes", "No", 0).statuses(&CHECK), [Status::Warn]);
        assert_eq!(rows("No", "Yes", 0).statuses(&CHECK), [Status::Fail]);
        assert_eq!(rows("No", "No", 1).statuses(&CHECK), [Status::Pass], "an error long repaired");
    }

    #[test]
    fn a_gpu_that_remaps_nothing_is_not_judged() {
        assert!(query("    Remapped Rows                         : N/A\n").judge(&CHECK).is_empty());
        assert!(query("").judge(&CHECK).is_empty());
    }
}
