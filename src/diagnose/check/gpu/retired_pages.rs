//! Pages of a GPU's memory that were taken out of use: GPUs before Ampere do that, at the next reboot.

use super::told::{Told, function, named, read, told};
use crate::diagnose::check::{Check, Judged, Scene, Source, Threshold};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, EntityId, TargetId, Value};

const MOST: Threshold = Threshold {
    key: "gpu.retired-pages.most",
    default: 60.0,
    unit: "",
    meaning: "as many retired pages are a reason to replace the GPU, which can retire 64",
    source: "NVIDIA: Dynamic page retirement, when to replace a GPU",
};

/// Few pages were retired, and none waits for it.
pub const CHECK: Check = Check {
    id: "gpu.retired-pages",
    title: "Few pages of the GPU's memory were retired, and none waits for it",
    gate: "GPUs that retire pages (before Ampere), read by NVIDIA's driver",
    rule: "fails at the threshold of retired pages; warns if a page waits for a reboot to be retired",
    source: Source { text: "NVIDIA: Dynamic page retirement", weak: false },
    thresholds: &[MOST],
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
    let shows = "-q -d PAGE_RETIREMENT";
    let pending = match told(scene, gpu, Attribute::RetirementPending, "pages that wait to be retired", shows) {
        Told::Nothing => return None,
        Told::Unclear(judged) => return Some(*judged),
        Told::Known(value) => *value == Value::Flag(true),
    };
    let kinds = [Attribute::RetiredSingleBit, Attribute::RetiredDoubleBit];
    let pages: u64 = kinds.iter().filter_map(|kind| scene.count(gpu, *kind)).sum();
    let most = scene.thresholds.of(&MOST);
    let many = pages as f64 >= most;
    if !many && !pending {
        return Some(Judged::pass(gpu, format!("{guest}: {pages} pages of {name} are retired, and none waits for it")));
    }
    let mut judged = if many {
        Judged::fail(
            gpu,
            Confidence::Proved,
            format!("{guest}: {pages} pages of {name} are retired"),
            format!("a GPU can retire 64 pages; from {most:.0} on it is to be replaced, because the next errors find no room"),
        )
        .cured_by(
            Cure::by_hand(
                "Have the GPU replaced",
                vec![Step::ByHand(format!("{guest}: nvidia-bug-report.sh; hand its file to the vendor"))],
            )
            .risking(Risk::RebootsGuest)
            .verified_by(&["gpu.retired-pages"]),
        )
    } else {
        Judged::warn(
            gpu,
            Confidence::Proved,
            format!("{guest}: a page of {name} waits for a reboot to be retired"),
            "the page stays in use until the driver is loaded anew, and its errors can come back until then",
        )
        .cured_by(
            Cure::by_hand(
                "Have the driver loaded anew",
                vec![Step::ByHand(format!("{guest}: end all that uses the GPU, then restart the guest"))],
            )
            .risking(Risk::RebootsGuest)
            .verified_by(&["gpu.retired-pages"]),
        )
    };
    for kind in kinds {
        if let Some(pages) = scene.count(gpu, kind) {
            judged = judged.shown(gpu, kind, format!("{pages} pages"));
        }
    }
    if pending {
        judged = judged.shown(gpu, Attribute::RetirementPending, "one waits");
    }
    Some(judged.reaching([function(gpu)]).decided_by(format!("on {guest}: nvidia-smi {shows}")))
}

#[cfg(test)]
mod tests {
    use super::super::told::testing::query;
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || pages("2", "1", "Yes"),
        healthy: || pages("2", "1", "No"),
        unclear: || pages("Unknown Error", "Unknown Error", "Unknown Error"),
    };

    fn pages(single: &str, double: &str, pending: &str) -> Site {
        query(&format!(
            "    Retired Pages\n        Single Bit ECC                    : {single}\n        Double Bit ECC                    : {double}\n        \
             Pending Page Blacklist            : {pending}\n"
        ))
    }

    #[test]
    fn many_pages_are_a_fault() {
        assert_eq!(pages("50", "10", "No").statuses(&CHECK), [Status::Fail]);
        assert_eq!(pages("50", "9", "No").statuses(&CHECK), [Status::Pass]);
        assert_eq!(pages("3", "2", "No").with_threshold(MOST.key, 5.0).statuses(&CHECK), [Status::Fail]);
        assert!(pages("N/A", "N/A", "N/A").judge(&CHECK).is_empty());
    }
}
