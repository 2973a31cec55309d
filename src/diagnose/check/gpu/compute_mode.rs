//! How many programs may compute on a GPU at once.

use super::told::{Told, named, read, told};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::finding::Confidence;
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, EntityId, TargetId};

/// Programs may compute on the GPU.
pub const CHECK: Check = Check {
    id: "gpu.compute-mode",
    title: "Programs may compute on the GPU, several at once",
    gate: "GPUs read by NVIDIA's driver",
    rule: "warns if no program may; informs if only one may at a time",
    source: Source { text: "NVML: nvmlComputeMode_t; nvidia-smi manual, -c", weak: false },
    thresholds: &[],
    explains: &[],
    judge,
    #[cfg(test)]
    samples: tests::SAMPLES,
};

fn judge(scene: &Scene<'_>) -> Vec<Judged> {
    read(scene).into_iter().filter_map(|(guest, gpu)| of_gpu(scene, guest, &gpu)).collect()
}

fn of_gpu(scene: &Scene<'_>, guest: &TargetId, gpu: &EntityId) -> Option<Judged> {
    let name = named(gpu);
    let shows = "-q -d COMPUTE";
    let mode = match told(scene, gpu, Attribute::ComputeMode, "compute mode", shows) {
        Told::Nothing => return None,
        Told::Unclear(judged) => return Some(*judged),
        Told::Known(value) => value.as_text()?.as_str(),
    };
    let judged = match mode {
        "default" => {
            return Some(Judged::pass(gpu, format!("{guest}: several programs may compute on {name} at once")));
        }
        "prohibited" => Judged::warn(
            gpu,
            Confidence::Proved,
            format!("{guest}: no program may compute on {name}"),
            "its compute mode is prohibited: CUDA programs fail with \"no CUDA-capable device\" or pick another GPU",
        ),
        _ => Judged::info(
            gpu,
            format!("{guest}: one program at a time may compute on {name}"),
            format!(
                "its compute mode is {mode}: a second process on the same GPU fails (\"all CUDA-capable devices are busy\"), as with several \
                 ranks a GPU without MPS. It has nothing to do with TCC, a driver model of Windows"
            ),
        ),
    };
    Some(
        judged.shown(gpu, Attribute::ComputeMode, mode).decided_by(format!("on {guest}: nvidia-smi {shows}")).cured_by(
            Cure::on(
                guest,
                "Let several programs compute on it",
                Risk::None,
                vec![Step::run(&["nvidia-smi", "-i", &gpu.entity.name(), "-c", "DEFAULT"])],
            )
            .undone_by(
                vec![Step::run(&[
                    "nvidia-smi",
                    "-i",
                    &gpu.entity.name(),
                    "-c",
                    &mode.to_ascii_uppercase().replace(' ', "_"),
                ])],
                vec![(gpu.clone(), Attribute::ComputeMode)],
            )
            .verified_by(&["gpu.compute-mode"])
            .noting("needs root; lost at the next start of the guest"),
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::super::told::testing::query;
    use super::*;
    use crate::diagnose::check::testing::{Samples, Site};
    use crate::diagnose::finding::Status;

    pub const SAMPLES: Samples = Samples {
        says: Status::Warn,
        trouble: || mode("Prohibited"),
        healthy: || mode("Default"),
        unclear: || mode("Unknown Error"),
    };

    fn mode(mode: &str) -> Site {
        query(&format!("    Compute Mode                          : {mode}\n"))
    }

    #[test]
    fn one_at_a_time_is_worth_knowing() {
        let judged = mode("Exclusive_Process").judge(&CHECK);
        assert_eq!(judged[0].status, Status::Info);
        assert!(judged[0].cause.contains("exclusive process"), "{}", judged[0].cause);
        assert_eq!(judged[0].cures[0].undo[0].shown(), "nvidia-smi -i 0000:05:00.0 -c EXCLUSIVE_PROCESS");
    }
}
