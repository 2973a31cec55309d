//! What the checks say of all that is known, kept until something new was read: the console's own diagnosis, from which
//! the tree, the events and the panels *Path* and *Wizard* tell.

mod causes;
mod findings;
mod scene;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

pub use causes::{gravity, name, of_cause as cause_detail, rows as cause_rows, selected_cause, shown};

pub use findings::Finding;
pub(super) use findings::{is_news, judge, judge_now, short};
pub use scene::{Unread, unread};

use super::healthy;
use super::model::Model;
use crate::diagnose::cause::{Diagnosis, Found, diagnose};
use crate::diagnose::check::{Scene, examine};
use crate::diagnose::correlate::{weigh, weigh_changes};
use crate::diagnose::path::Path;
use crate::diagnose::qualify::Qualification;
use crate::diagnose::since::Since;
use crate::fabric::TargetId;

/// What all checks said at one time.
#[derive(Debug, Default)]
pub struct Diagnosed {
    /// All of it, in the order of the catalogue.
    pub found: Vec<Found>,
    /// Which hosts qualify for PVRDMA, and where each VM would keep RDMA.
    pub qualification: Qualification,
    /// The same as causes with their symptoms, and the rest.
    pub diagnosis: Diagnosis,
    /// What changed since the last healthy snapshot; `None` without one.
    pub since: Option<Since>,
    /// Ways between guests that were asked for since.
    paths: Mutex<BTreeMap<(TargetId, TargetId), Arc<Path>>>,
}

impl Diagnosed {
    /// Runs all checks over what is known now. `since` is what changed since nothing was wrong.
    pub fn of(model: &Model, mut since: Option<Since>) -> Arc<Self> {
        scene::with(model, |scene| {
            let found = examine(scene);
            let mut diagnosis = diagnose(found.clone(), &model.fabric);
            weigh(scene, &mut diagnosis);
            let qualification = Qualification::of(scene, &found);
            if let Some(since) = &mut since {
                weigh_changes(since, &mut diagnosis, |one| healthy::view::sentence(model, one));
                since.arrange(&diagnosis);
            }
            Arc::new(Self { found, qualification, diagnosis, since, paths: Mutex::default() })
        })
    }
}

/// The way between two guests as it stood when the checks ran last: it is drawn with each frame, and worked out once.
pub fn path(model: &Model, one: &TargetId, other: &TargetId) -> Arc<Path> {
    let diagnosed = model.diagnosed();
    let mut paths = diagnosed.paths.lock().unwrap_or_else(PoisonError::into_inner);
    let work_out = || {
        let look = |scene: &Scene<'_>| crate::diagnose::path::path(scene, &diagnosed.found, one, other);
        Arc::new(scene::with(model, look))
    };
    Arc::clone(paths.entry((one.clone(), other.clone())).or_insert_with(work_out))
}
