//! A measurement against a baseline: how much each metric differs, and what changed since, by layer.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value as Json;

use super::{Baseline, Metric};
use crate::fabric::Text;
use crate::tune::compare::words::{refusal, sentence};
use crate::tune::compare::{Better, Compared, LEVEL, NotComparable, Verdict, repeats, samples, several};
use crate::tune::fingerprint::Changes;

/// What is said where samples of one run each stand for repeats.
const ONE_RUN_EACH: &str = "one run of each side was compared by its samples: how much runs differ among themselves is not in these data; five \
     repeats of each would tell";

/// One metric on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricComparison {
    /// Its name.
    pub name: Text,
    /// The unit of its numbers.
    pub unit: Text,
    /// Which way it gets better.
    pub better: Option<Better>,
    /// What is called.
    pub verdict: Verdict,
    /// How they compare, or why they do not.
    pub result: Result<Compared, NotComparable>,
}

impl MetricComparison {
    /// What came of it, in one sentence.
    pub fn sentence(&self) -> String {
        match &self.result {
            Ok(compared) => sentence(compared, self.verdict, &self.unit),
            Err(refused) => refusal(refused),
        }
    }
}

/// A parameter that is not the same on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ParameterDifference {
    /// Its name.
    pub name: Text,
    /// What it was; null if it was not told.
    pub before: Json,
    /// What it is; null if it is not told.
    pub after: Json,
}

/// All of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The level at which each metric was judged.
    pub level: f64,
    /// Parameters that differ: then no metric is comparable.
    pub parameters: Vec<ParameterDifference>,
    /// By metric, in the order of the baseline.
    pub metrics: Vec<MetricComparison>,
    /// What changed since.
    pub changes: Changes,
}

impl Comparison {
    /// True if anything is worse.
    pub fn has_regression(&self) -> bool {
        self.metrics.iter().any(|metric| metric.verdict == Verdict::Worse)
    }

    /// True if nothing could be compared, or not all that the baseline has.
    pub fn is_incomplete(&self) -> bool {
        self.metrics.is_empty() || self.metrics.iter().any(|metric| metric.verdict == Verdict::NotComparable)
    }
}

/// Holds a measurement against a baseline.
pub fn compare(before: &Baseline, after: &Baseline) -> Comparison {
    let parameters = parameters(before, after);
    let differ: Vec<&str> = parameters.iter().map(|one| one.name.as_str()).collect();
    let differ = (!differ.is_empty()).then(|| differ.join(", "));
    let pair = (before.pair != after.pair).then(|| {
        let words = |pair: &[Text]| pair.iter().map(Text::as_str).collect::<Vec<_>>().join(" -> ");
        (words(&before.pair), words(&after.pair))
    });
    let mut metrics: Vec<MetricComparison> = before
        .metrics
        .iter()
        .map(|was| {
            let is = after.metrics.iter().find(|is| is.name == was.name);
            let result = match (is, &differ, &pair) {
                (_, _, Some((one, other))) => Err(NotComparable::new(
                    format!("it was measured between other guests: {one}, and {other}"),
                    "measure the same pair, in the same direction",
                )),
                (_, Some(names), _) => Err(NotComparable::new(
                    format!("it was measured with other parameters: {names}"),
                    "measure again with those of the baseline",
                )),
                (None, ..) => Err(NotComparable::new(
                    "the later measurement does not have it",
                    "measure again with the parameters of the baseline",
                )),
                (Some(is), ..) => metric(was, is),
            };
            let better = was.better.or_else(|| is.and_then(|is| is.better));
            let verdict = Verdict::NotComparable;
            MetricComparison { name: was.name.clone(), unit: was.unit.clone(), better, verdict, result }
        })
        .collect();
    let chances: Vec<f64> =
        metrics.iter().filter_map(|one| Some(one.result.as_ref().ok()?.difference.chance)).collect();
    let level = several::level(&chances).min(LEVEL);
    for one in &mut metrics {
        if let Ok(compared) = &one.result {
            one.verdict = compared.verdict(one.better, level);
        }
    }
    Comparison { level, parameters, metrics, changes: before.fingerprint.changes(&after.fingerprint) }
}

fn metric(was: &Metric, is: &Metric) -> Result<Compared, NotComparable> {
    if was.unit != is.unit {
        return Err(NotComparable::new(
            format!("the units differ: {:?} and {:?}", was.unit.as_str(), is.unit.as_str()),
            "measure again in the unit of the baseline",
        ));
    }
    if let (Some(was), Some(is)) = (was.better, is.better)
        && was != is
    {
        return Err(NotComparable::new(
            "the two sides do not agree which way it gets better",
            "look which document is wrong",
        ));
    }
    let refused = match repeats::compare(&was.values, &is.values) {
        Ok(compared) => return Ok(compared),
        Err(refused) => refused,
    };
    // Of several runs the samples stand one after the other: that is no run, and their error would be another one.
    let is_one_run = was.values.len() <= 1 && is.values.len() <= 1;
    if was.samples.is_empty() || is.samples.is_empty() || !is_one_run {
        return Err(refused);
    }
    let mut compared = samples::compare(&was.samples, &is.samples)?;
    compared.notes.push(ONE_RUN_EACH.to_owned());
    Ok(compared)
}

fn parameters(before: &Baseline, after: &Baseline) -> Vec<ParameterDifference> {
    let names: BTreeSet<&Text> = before.parameters.keys().chain(after.parameters.keys()).collect();
    let value = |side: &Baseline, name: &Text| side.parameters.get(name).cloned().unwrap_or(Json::Null);
    names
        .into_iter()
        .map(|name| ParameterDifference { name: name.clone(), before: value(before, name), after: value(after, name) })
        .filter(|one| !same(&one.before, &one.after))
        .collect()
}

/// `5` and `5.0` are the same.
fn same(one: &Json, other: &Json) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one.total_cmp(&other).is_eq(),
        _ => one == other,
    }
}
