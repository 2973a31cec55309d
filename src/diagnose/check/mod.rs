//! The catalogue of checks: what can be wrong between a switch and a job, each with its gate, its rule, the evidence it
//! shows, and what helps. A check sees a [`Scene`] and says nothing where it does not apply.

mod catalogue;
#[cfg(test)]
mod cure_tests;
mod examination;
mod gpu;
mod guest;
mod host;
mod judged;
mod kept;
mod limited;
#[cfg(test)]
pub(in crate::diagnose) use limited::testing as limited_testing;
pub(in crate::diagnose) mod kernel;
mod mpi;
mod scene;
mod sight;
mod site;
mod switch;
#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;
mod thresholds;
mod tool;
mod vm;

pub use catalogue::{all, by_id};
pub use examination::{Examination, Given, pairs};
#[cfg(test)]
pub(in crate::diagnose) use guest::at_work;
pub use judged::{Exhibit, Judged, Lack};
pub use kept::Kept;
pub use scene::{Answer, Answers, Machine, MachineKind, Moved, Movements, Reached, Scene};
pub use sight::{DeviceKind, Port};
pub use site::{AcceptedFinding, SiteSays};
pub use thresholds::{Threshold, Thresholds};

use super::cause::Found;
pub use super::lint::Source;
use super::qualify;

/// One check.
#[derive(Clone, Copy)]
pub struct Check {
    /// Its id, `layer.kebab-name`.
    pub id: &'static str,
    /// What it looks at, one sentence without a full stop.
    pub title: &'static str,
    /// When it applies, in words.
    pub gate: &'static str,
    /// When it passes, warns and fails, in words.
    pub rule: &'static str,
    /// What it rests on.
    pub source: Source,
    /// The numbers in its rule that a site may set.
    pub thresholds: &'static [Threshold],
    /// Ids of the checks whose failure this one explains, when it fails on the same path.
    pub explains: &'static [&'static str],
    /// Looks. Empty where the gate is closed; one judgement for each subject otherwise, also for those that pass.
    pub judge: fn(&Scene<'_>) -> Vec<Judged>,
    /// Sites made of raw text that it must judge rightly.
    #[cfg(test)]
    pub samples: testing::Samples,
}

impl std::fmt::Debug for Check {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Check").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Check {
    /// Its layer: the first part of its id.
    pub fn layer(&self) -> &'static str {
        self.id.split_once('.').map_or("tool", |(layer, _)| layer)
    }
}

/// What all checks say of a site, in the order of the catalogue.
pub fn examine(scene: &Scene<'_>) -> Vec<Found> {
    let kept = Kept::default();
    let scene = &Scene { kept: Some(&kept), ..*scene };
    let judged = qualify::judgements(scene);
    let scene = &Scene { judged: Some(&judged), ..*scene };
    all().flat_map(|check| (check.judge)(scene).into_iter().map(move |judged| Found { check, judged })).collect()
}
