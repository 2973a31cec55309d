//! Memory errors that could not be corrected since the driver was loaded.

use super::told::{Told, function, named, read, told};
use super::xid::reset;
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::fabric::{Attribute, EntityId, TargetId, Value};

/// No memory error that could not be corrected.
pub const CHECK: Check = Check {
    id: "gpu.ecc",
    title: "The GPU's memory had no error that could not be corrected",
    gate: "GPUs with ECC switched on, read by NVIDIA's driver",
    rule: "fails at any uncorrectable error since the driver was loaded; corrected errors are no fault",
    source: Source { text: "NVIDIA: GPU memory error management; Xid 48, 94, 95", weak: false },
    thresholds: &[],
    explains: &["gpu.xid", "guest.kernel-messages"],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    read(scene).into_iter().filter_map(|(guest, gpu)| of_gpu(scene, guest, &gpu)).collect()
}

fn of_gpu(scene: &Scene<'_>, guest: &TargetId, gpu: &EntityId) -> Option<Judged> {
    let name = named(gpu);
    let shows = "-q -d ECC,ROW_REMAPPER,PAGE_RETIREMENT";
    let errors = match told(scene, gpu, Attribute::EccUncorrected, "uncorrectable memory errors", shows) {
        Told::Nothing => return None,
        Told::Unclear(judged) => return Some(*judged),
        Told::Known(Value::Count(errors)) => *errors,
        Told::Known(_) => return None,
    };
    if errors == 0 {
        return Some(Judged::pass(
            gpu,
            format!("{guest}: {name} had no error of its memory that could not be corrected"),
        ));
    }
    let count = if errors == 1 { "an error".to_owned() } else { format!("{errors} errors") };
    Some(
        Judged::fail(
            gpu,
            Confidence::Proved,
            format!("{guest}: {name} had {count} of its memory that could not be corrected"),
            "what used that memory computed with wrong data or was ended; the counter begins anew when the driver is loaded, so it was in \
             this time",
        )
        .shown(gpu, Attribute::EccUncorrected, format!("{errors} uncorrectable"))
        .reaching([function(gpu)])
        .decided_by(format!("on {guest}: nvidia-smi {shows}; sudo dmesg | grep Xid"))
        .cured_by(reset(guest, gpu).verified_by(&["gpu.ecc"])),
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
        trouble: || errors("0", "2"),
        healthy: || errors("177", "0"),
        unclear: || errors("Unknown Error", "Unknown Error"),
    };

    fn errors(corrected: &str, uncorrected: &str) -> Site {
        query(&format!(
            "    ECC Errors\n        Volatile\n            SRAM Correctable              : 0\n            DRAM Correctable              : \
             {corrected}\n            DRAM Uncorrectable            : {uncorrected}\n"
        ))
    }

    #[test]
    fn without_ecc_nothing_is_judged() {
        assert!(errors("N/A", "N/A").judge(&CHECK).is_empty());
    }
}
