//! What can be compared with the last healthy snapshot now, and what differs.

use std::collections::BTreeSet;

use super::super::condition;
use super::super::connection::Connection;
use super::super::model::{Model, Target, TargetKind};
use crate::diagnose::since::{Since, since};
use crate::fabric::{SourceId, TargetId};
use crate::probe::linux;

/// How long the first reads of a target are waited for, in seconds.
const FIRST_READ_SECONDS: i64 = 600;

/// How far a target can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// All of it.
    Whole,
    /// Only what was read on both sides; why.
    Partly(String),
    /// Not at all; why.
    Not(String),
}

/// How far a target can be compared.
pub fn standing(model: &Model, id: &TargetId) -> Standing {
    let is_there = model.healthy.baseline.as_ref().is_some_and(|baseline| baseline.targets.contains_key(id));
    match read(model, id) {
        _ if !model.targets.contains_key(id) => Standing::Not("is no longer in the inventory".to_owned()),
        _ if !is_there => Standing::Not("is in no healthy snapshot that can be read".to_owned()),
        standing => standing,
    }
}

/// How far a target was read.
fn read(model: &Model, id: &TargetId) -> Standing {
    let Some(target) = model.targets.get(id) else { return Standing::Not(String::new()) };
    if !target.connection.is_up() {
        return Standing::Not("is not connected".to_owned());
    }
    if is_saved(target) {
        return Standing::Not("was saved in a file, and is not read now".to_owned());
    }
    if let Some((done, all)) = reading(model, id, target) {
        return Standing::Not(format!("is still being read: {done} of {all} probes so far"));
    }
    if let Some(late) = target.late.first() {
        return Standing::Partly(format!("is compared in part: {late} did not answer in time"));
    }
    let broken = model.raw.all_newest().find(|read| read.target == *id && !read.is_whole());
    match broken {
        Some(read) => Standing::Partly(format!("is compared in part: {} was not read to its end", read.source)),
        None => Standing::Whole,
    }
}

/// How many of how many probes were read, while not all were.
fn reading(model: &Model, id: &TargetId, target: &Target) -> Option<(usize, usize)> {
    match target.kind {
        TargetKind::Esxi | TargetKind::Switch => condition::first_read(model, id).or_else(|| none_yet(target)),
        TargetKind::Linux | TargetKind::Local => {
            let is_read = |probe: &&crate::probe::Probe| target.read.contains(&SourceId::new(probe.name));
            let done = linux::PROBES.iter().filter(is_read).count();
            (done < linux::PROBES.len()).then_some((done, linux::PROBES.len()))
        }
        TargetKind::Unknown => Some((0, 1)),
    }
}

/// True for values that were saved in a file: they are older than its being opened.
fn is_saved(target: &Target) -> bool {
    let Connection::Connected { since, .. } = target.connection else { return false };
    target.last_report.is_some_and(|at| at < since)
}

/// Of a switch it is not known what is to be read before something was.
fn none_yet(target: &Target) -> Option<(usize, usize)> {
    target.read.is_empty().then_some((0, 1))
}

/// The targets that were read in full and answer; `None` while one may still be.
pub(super) fn in_full(model: &Model) -> Option<Vec<(TargetId, TargetKind)>> {
    let mut whole = Vec::new();
    for id in &model.order {
        let Some(target) = model.targets.get(id) else { continue };
        let is_coming = match &target.connection {
            Connection::Waiting | Connection::Asking => true,
            Connection::Connecting { attempt } => *attempt == 1,
            // What never comes must not keep all others from being kept.
            Connection::Connected { since, .. } => {
                let is_new = model.now.duration_since(*since).as_secs() < FIRST_READ_SECONDS;
                is_new && !is_saved(target) && reading(model, id, target).is_some()
            }
            Connection::BackingOff { .. } | Connection::Failed { .. } => false,
        };
        if is_coming {
            return None;
        }
        if read(model, id) == Standing::Whole && !condition::is_stale(model, id) {
            whole.push((id.clone(), target.kind));
        }
    }
    Some(whole)
}

/// What differs from the last healthy snapshot now; `None` without one.
pub fn compare(model: &Model) -> Option<Since> {
    let baseline = model.healthy.baseline.as_ref()?;
    let (whole, partly) = comparable(model);
    let mut found = since(&baseline.fabric, &model.fabric, &baseline.times(), &whole, &partly);
    for one in &mut found.changes {
        one.seen = model.healthy.seen.get(&one.what.key()).copied().flatten();
    }
    Some(found)
}

fn comparable(model: &Model) -> (Vec<TargetId>, Vec<TargetId>) {
    let (mut whole, mut partly) = (Vec::new(), Vec::new());
    for id in &model.order {
        match standing(model, id) {
            Standing::Whole => whole.push(id.clone()),
            Standing::Partly(_) => partly.push(id.clone()),
            Standing::Not(_) => {}
        }
    }
    (whole, partly)
}

/// Notes when changes were first seen, in what was just compared too.
pub fn note_seen(model: &mut Model, since: &mut Since) {
    let (whole, partly) = comparable(model);
    let now: BTreeSet<TargetId> = whole.into_iter().chain(partly).collect();
    let healthy = &mut model.healthy;
    let mut seen = std::mem::take(&mut healthy.seen);
    for one in &mut since.changes {
        let key = one.what.key();
        // What differed when its target was first compared may have changed at any time since the snapshot.
        let first = healthy.compared.contains(&key.0.target).then_some(model.now);
        let at = seen.remove(&key).unwrap_or(first);
        one.seen = at;
        healthy.seen.insert(key, at);
    }
    // What cannot be compared for a while is no news when it can be again; what is as it was is forgotten.
    let away = seen.into_iter().filter(|((id, _), _)| !now.contains(&id.target));
    healthy.seen.extend(away);
    healthy.compared = now;
}
