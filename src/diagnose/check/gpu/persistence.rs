//! Whether the driver stays loaded while nothing uses the GPU.

use super::told::{Told, named, read, told};
use crate::diagnose::check::{Check, Judged, Scene, Source};
use crate::diagnose::remedy::{Cure, Risk, Step};
use crate::fabric::{Attribute, EntityId, TargetId, Value};

/// The driver stays loaded.
pub const CHECK: Check = Check {
    id: "gpu.persistence",
    title: "The driver keeps the GPU started while nothing uses it",
    gate: "GPUs read by NVIDIA's driver",
    rule: "informs if persistence mode is off",
    source: Source { text: "NVIDIA: driver persistence", weak: false },
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
    let shows = "-q | grep 'Persistence Mode'";
    match told(scene, gpu, Attribute::PersistenceMode, "persistence mode", shows) {
        Told::Nothing => return None,
        Told::Unclear(judged) => return Some(*judged),
        Told::Known(Value::Flag(true)) => {
            return Some(Judged::pass(gpu, format!("{guest}: the driver keeps {name} started")));
        }
        Told::Known(_) => {}
    }
    Some(
        Judged::info(
            gpu,
            format!("{guest}: persistence mode of {name} is off"),
            "while nothing uses the GPU the driver stops it: each program then waits some seconds until it is started, and clocks, limits \
             and the counters of errors begin anew",
        )
        .shown(gpu, Attribute::PersistenceMode, "off")
        .decided_by(format!("on {guest}: nvidia-smi {shows}; systemctl status nvidia-persistenced"))
        .cured_by(
            Cure::on(
                guest,
                "Keep the GPU started",
                Risk::None,
                vec![Step::run(&["systemctl", "enable", "--now", "nvidia-persistenced"])],
            )
            .undone_by(
                vec![Step::run(&["systemctl", "disable", "--now", "nvidia-persistenced"])],
                vec![(gpu.clone(), Attribute::PersistenceMode)],
            )
            .verified_by(&["gpu.persistence"])
            .noting("needs root; where there is no such service: nvidia-smi -pm 1, which is lost at the next start"),
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
        says: Status::Info,
        trouble: || mode("Disabled"),
        healthy: || mode("Enabled"),
        unclear: || mode("Unknown Error"),
    };

    fn mode(mode: &str) -> Site {
        query(&format!("    Persistence Mode                      : {mode}\n"))
    }

    #[test]
    fn a_release_that_does_not_say_it_is_not_judged() {
        assert!(query("").judge(&CHECK).is_empty());
    }
}
