//! From findings to causes: a cause is a finding that no other one explains; what it explains is folded under it. Causes
//! rank by how sure they are, then by how much speaks for them. Where two probes tell different things of a fact that a
//! finding stands on, that is shown, and nothing is proved by it.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::check::{Check, Exhibit, Judged};
use super::finding::{Confidence, Status};
use crate::fabric::{Attribute, EntityId, Fabric, Value};

/// What one check said of one subject.
#[derive(Clone, Debug)]
pub struct Found {
    /// The check.
    pub check: &'static Check,
    /// What it said.
    pub judged: Judged,
}

impl Found {
    /// True for what does not work, or not as it should.
    pub fn is_trouble(&self) -> bool {
        matches!(self.judged.status, Status::Fail | Status::Warn)
    }

    /// The subject and everything on whose way it stands.
    fn places(&self) -> impl Iterator<Item = &EntityId> {
        std::iter::once(&self.judged.subject).chain(&self.judged.reaches)
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

/// A fact of which two probes tell different things, and on which a finding stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Contradiction {
    /// Of what.
    pub about: EntityId,
    /// Which property.
    pub attribute: Attribute,
    /// What each probe says.
    pub opinions: Vec<Exhibit>,
}

/// What all checks together say.
#[derive(Clone, Debug, Default)]
pub struct Diagnosis {
    /// Failures and warnings that nothing else explains, the surest first.
    pub causes: Vec<Cause>,
    /// All other findings: what passed, what is worth knowing, what could not be told.
    pub rest: Vec<Found>,
    /// Facts under the findings of which two probes tell different things.
    pub contradictions: Vec<Contradiction>,
}

impl Diagnosis {
    /// All findings: causes, each with its symptoms, then the rest.
    pub fn findings(&self) -> impl Iterator<Item = &Found> {
        let causes = self.causes.iter().flat_map(|cause| std::iter::once(&cause.found).chain(&cause.symptoms));
        causes.chain(&self.rest)
    }

    /// Ranks the causes anew, after more was found that speaks for some of them. Of equal ones that with the later time
    /// comes first; those without one keep their order behind it.
    pub fn rank_again<T: Ord>(&mut self, latest: impl Fn(&Cause) -> Option<T>) {
        self.causes.sort_by_key(|cause| (rank_with_symptoms(cause), Reverse(latest(cause))));
    }
}

/// Sorts findings into causes, symptoms and the rest.
pub fn diagnose(found: Vec<Found>, fabric: &Fabric) -> Diagnosis {
    let (mut troubles, rest): (Vec<Found>, Vec<Found>) = found.into_iter().partition(Found::is_trouble);
    let contradictions = doubt(&mut troubles, fabric);
    // What is proved has nothing against it.
    for found in &mut troubles {
        if found.judged.confidence == Confidence::Proved && !found.judged.against.is_empty() {
            found.judged.confidence = Confidence::Likely;
        }
    }
    let mut order: Vec<usize> = (0..troubles.len()).collect();
    order.sort_by_key(|&index| (rank(&troubles[index]), index));
    let roots = roots(&troubles, &order);
    let mut causes: Vec<Cause> = Vec::new();
    let mut at = vec![None; troubles.len()];
    for &index in order.iter().filter(|&&index| roots[index] == index) {
        at[index] = Some(causes.len());
        causes.push(Cause { found: troubles[index].clone(), symptoms: Vec::new() });
    }
    for (index, found) in troubles.iter().enumerate().filter(|(index, _)| roots[*index] != *index) {
        if let Some(cause) = at[roots[index]] {
            causes[cause].symptoms.push(found.clone());
        }
    }
    causes.sort_by_key(rank_with_symptoms);
    Diagnosis { causes, rest, contradictions }
}

/// For each finding the cause at the beginning of what explains it; itself, if it is one. `order` has the surest first.
///
/// What explains a finding, and what explains that, and so on, leads back to findings that nothing else explains. Those are
/// the causes. Some explain each other in a circle: of these the surest stands for all. A finding that several causes lead
/// to goes to the surest of them.
fn roots(troubles: &[Found], order: &[usize]) -> Vec<usize> {
    let places: Vec<BTreeSet<&EntityId>> = troubles.iter().map(|found| found.places().collect()).collect();
    let explains = |cause: usize, symptom: usize| {
        cause != symptom
            && troubles[cause].check.explains.contains(&troubles[symptom].check.id)
            && !places[cause].is_disjoint(&places[symptom])
    };
    let all = 0..troubles.len();
    let direct: Vec<Vec<usize>> =
        all.clone().map(|symptom| all.clone().filter(|&cause| explains(cause, symptom)).collect()).collect();
    let before: Vec<BTreeSet<usize>> = all.clone().map(|index| behind(index, &direct)).collect();
    let mutual = |one: usize, other: usize| before[one].contains(&other) && before[other].contains(&one);
    // The first of its circle, if nothing outside of the circle explains it.
    let begins = |index: usize| before[index].iter().all(|&other| other == index || mutual(index, other));
    let stands_for = |index: usize| order.iter().copied().find(|&one| one == index || mutual(one, index));
    let causes: Vec<usize> =
        order.iter().copied().filter(|&index| begins(index) && stands_for(index) == Some(index)).collect();
    let root = |index: usize| {
        let leads_to = |cause: &usize| *cause == index || before[index].contains(cause);
        causes.iter().copied().find(leads_to).unwrap_or(index)
    };
    all.map(|index| if causes.contains(&index) { index } else { root(index) }).collect()
}

/// Everything that leads to a finding, over any number of steps; itself, if it is in a circle.
fn behind(index: usize, direct: &[Vec<usize>]) -> BTreeSet<usize> {
    let mut seen = BTreeSet::new();
    let mut waiting = direct[index].clone();
    while let Some(next) = waiting.pop() {
        if seen.insert(next) {
            waiting.extend(&direct[next]);
        }
    }
    seen
}

/// Less comes first: by how sure it is, then failures before warnings, then by how much speaks for it, then by how little
/// against it.
type Rank = (u8, u8, Reverse<usize>, usize);

fn rank(found: &Found) -> Rank {
    let confidence = match found.judged.confidence {
        Confidence::Proved => 0,
        Confidence::Likely => 1,
        Confidence::Possible => 2,
    };
    let status = u8::from(found.judged.status != Status::Fail);
    (confidence, status, Reverse(items(&found.judged.evidence)), items(&found.judged.against))
}

/// How many items there are; the same fact named twice is one.
fn items(exhibits: &[Exhibit]) -> usize {
    let facts: BTreeSet<_> = exhibits.iter().map(|one| (&one.about, one.attribute, &one.by)).collect();
    facts.len()
}

/// A cause is as grave as the worst that it explains, and what it explains speaks for it.
fn rank_with_symptoms(cause: &Cause) -> Rank {
    let (confidence, status, Reverse(items), against) = rank(&cause.found);
    let worst = cause.symptoms.iter().map(|symptom| rank(symptom).1).min().unwrap_or(status).min(status);
    (confidence, worst, Reverse(items + cause.symptoms.len()), against)
}

/// Looks whether another probe contradicts a fact that a finding stands on: its word then speaks against the finding.
fn doubt(troubles: &mut [Found], fabric: &Fabric) -> Vec<Contradiction> {
    let mut contradictions = BTreeSet::new();
    for found in troubles {
        for exhibit in found.judged.evidence.clone() {
            let Some(attribute) = exhibit.attribute.filter(|_| exhibit.by.is_none()) else { continue };
            let Some(believed) = fabric.reading(&exhibit.about, attribute) else { continue };
            let opinions = fabric.opinions(&exhibit.about, attribute);
            let others = opinions.iter().filter(|(_, other)| match (believed.state.known(), other.state.known()) {
                (Some(believed), Some(other)) => differ(attribute, believed, other),
                _ => false,
            });
            let said: Vec<Exhibit> = others
                .map(|(probe, reading)| {
                    let value = reading.state.known().map(ToString::to_string).unwrap_or_default();
                    let says = format!("{probe} says {} {value}", attribute.label());
                    Exhibit::of_probe(&exhibit.about, attribute, probe, says)
                })
                .collect();
            if said.is_empty() {
                continue;
            }
            for one in &said {
                if !found.judged.against.contains(one) {
                    found.judged.against.push(one.clone());
                }
            }
            if found.judged.decide.is_empty() {
                found.judged.decide =
                    format!("two probes disagree on {} of {}; read both again", attribute.label(), exhibit.about);
            }
            let believed = opinions.iter().find(|(_, reading)| reading.source == believed.source).map(|(probe, _)| {
                Exhibit::of_probe(&exhibit.about, attribute, probe, format!("{probe} says: {}", exhibit.says))
            });
            let opinions = believed.into_iter().chain(said).collect();
            contradictions.insert(Contradiction { about: exhibit.about.clone(), attribute, opinions });
        }
    }
    contradictions.into_iter().collect()
}

/// How each sentence begins by which a probe says that there is no RDMA.
const NO_RDMA: &str = "no RDMA";

/// True if two values of one property cannot both be right. Values of different shapes are worded differently only.
fn differ(attribute: Attribute, one: &Value, other: &Value) -> bool {
    match (one, other) {
        // One probe knows why there is none, another only that there is none.
        (Value::Text(one), Value::Text(other)) if attribute == Attribute::RdmaPresence => {
            let is_none = |text: &str| text.trim().starts_with(NO_RDMA);
            !(is_none(one) && is_none(other)) && one.trim() != other.trim()
        }
        (Value::Text(one), Value::Text(other)) => !one.trim().eq_ignore_ascii_case(other.trim()),
        (Value::List(one), Value::List(other)) => {
            let sorted = |list: &[crate::fabric::Text]| list.iter().cloned().collect::<BTreeSet<_>>();
            sorted(one) != sorted(other)
        }
        _ => std::mem::discriminant(one) == std::mem::discriminant(other) && one != other,
    }
}

#[cfg(test)]
mod tests;
