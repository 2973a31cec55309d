//! From findings to causes: a cause is a finding that no other one explains; what it explains is folded under it. Causes
//! rank by how sure they are, then by how much speaks for them.

use std::collections::BTreeSet;

use super::check::{Check, Judged};
use super::finding::{Confidence, Status};
use crate::fabric::EntityId;

/// What one check said of one subject.
#[derive(Clone, Debug)]
pub struct Found {
    /// The check.
    pub check: &'static Check,
    /// What it said.
    pub judged: Judged,
}

impl Found {
    fn is_trouble(&self) -> bool {
        matches!(self.judged.status, Status::Fail | Status::Warn)
    }

    /// The subject and everything on whose way it stands.
    fn places(&self) -> impl Iterator<Item = &EntityId> {
        std::iter::once(&self.judged.subject).chain(&self.judged.reaches)
    }

    /// True if this one says why the other is so: the catalogue knows that the one check explains the other, and both speak
    /// of something that they share.
    fn explains(&self, other: &Self) -> bool {
        self.check.explains.contains(&other.check.id) && self.shares_a_place(other)
    }

    fn shares_a_place(&self, other: &Self) -> bool {
        let own: BTreeSet<&EntityId> = self.places().collect();
        other.places().any(|place| own.contains(place))
    }
}

/// A finding that nothing else explains, and its symptoms.
#[derive(Clone, Debug)]
pub struct Cause {
    /// The finding.
    pub found: Found,
    /// What it explains, in the order of the catalogue.
    pub symptoms: Vec<Found>,
}

/// What all checks together say.
#[derive(Clone, Debug, Default)]
pub struct Diagnosis {
    /// Failures and warnings that nothing else explains, the surest first.
    pub causes: Vec<Cause>,
    /// All other findings: what passed, what is worth knowing, what could not be told.
    pub rest: Vec<Found>,
}

/// Sorts findings into causes, symptoms and the rest.
pub fn diagnose(found: Vec<Found>) -> Diagnosis {
    let (troubles, rest): (Vec<Found>, Vec<Found>) = found.into_iter().partition(Found::is_trouble);
    // The surest explains first; a circle of explanations has a first one, which then is the cause.
    let mut order: Vec<usize> = (0..troubles.len()).collect();
    order.sort_by(|&one, &other| rank(&troubles[one]).cmp(&rank(&troubles[other])).then(one.cmp(&other)));
    let mut parent: Vec<Option<usize>> = vec![None; troubles.len()];
    for &symptom in &order {
        parent[symptom] = order.iter().copied().find(|&cause| {
            cause != symptom && troubles[cause].explains(&troubles[symptom]) && root(&parent, cause) != symptom
        });
    }
    let mut causes: Vec<Cause> = Vec::new();
    let mut at = vec![None; troubles.len()];
    for &index in &order {
        if parent[index].is_none() {
            at[index] = Some(causes.len());
            causes.push(Cause { found: troubles[index].clone(), symptoms: Vec::new() });
        }
    }
    for (index, found) in troubles.iter().enumerate() {
        if parent[index].is_some()
            && let Some(cause) = at[root(&parent, index)]
        {
            causes[cause].symptoms.push(found.clone());
        }
    }
    causes.sort_by_key(rank_with_symptoms);
    Diagnosis { causes, rest }
}

/// The one at the end of a chain of explanations.
fn root(parent: &[Option<usize>], mut index: usize) -> usize {
    while let Some(next) = parent[index] {
        index = next;
    }
    index
}

/// Less comes first: by how sure it is, then failures before warnings, then by how much speaks for it, then by how little
/// against it.
type Rank = (u8, u8, std::cmp::Reverse<usize>, usize);

fn rank(found: &Found) -> Rank {
    let confidence = match found.judged.confidence {
        Confidence::Proved => 0,
        Confidence::Likely => 1,
        Confidence::Possible => 2,
    };
    let status = u8::from(found.judged.status != Status::Fail);
    (confidence, status, std::cmp::Reverse(found.judged.evidence.len()), found.judged.against.len())
}

/// A cause is as grave as the worst that it explains, and what it explains speaks for it.
fn rank_with_symptoms(cause: &Cause) -> Rank {
    let (confidence, status, std::cmp::Reverse(items), against) = rank(&cause.found);
    let worst = cause.symptoms.iter().map(|symptom| rank(symptom).1).min().unwrap_or(status).min(status);
    (confidence, worst, std::cmp::Reverse(items + cause.symptoms.len()), against)
}
