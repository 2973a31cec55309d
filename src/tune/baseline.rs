//! Baselines: what was measured once, with what it was measured on, to hold later measurements against. A baseline is a
//! document; where it lies is no matter of this floor.
//!
//! A measurement (`rdmascope.bench/1`) and a baseline (`rdmascope.baseline/1`) are read alike: both have the pair, the
//! parameters, the metrics and the fingerprint. Keys that this version does not know are passed over; a document of a newer
//! number is refused, as it may mean other things by the same keys.

mod comparison;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

pub use comparison::{Comparison, MetricComparison, ParameterDifference, compare};

use super::compare::Better;
use super::fingerprint::{Fingerprint, Mark};
use crate::fabric::{Text, Timestamp};

/// The schema of baselines.
pub const SCHEMA: &str = "rdmascope.baseline/1";

/// Families of documents that hold a measurement, each with the highest number that is known.
const FAMILIES: [(&str, u64); 2] = [("rdmascope.bench/", 1), ("rdmascope.baseline/", 1)];

/// Longest name of a baseline.
pub const LONGEST_NAME: usize = 64;

/// Parameters that are found out rather than asked for, whoever wrote them among the parameters: they explain a difference
/// and forbid no comparison.
const FOUND: [&str; 6] = ["mtu", "path_mtu", "gid_index", "max_inline", "link_rate", "device"];

/// A measurement, or the baseline that was made of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// Schema of the document.
    pub schema: Text,
    /// Version of the program that wrote it.
    #[serde(default)]
    pub rdmascope: Option<Text>,
    /// The name it was saved under; `None` for a measurement.
    #[serde(default)]
    pub name: Option<Text>,
    /// When it was measured.
    #[serde(default)]
    pub at: Option<Timestamp>,
    /// Between which two guests, the client's side first.
    #[serde(default)]
    pub pair: Vec<Text>,
    /// What was asked for: the test, its size, its duration, the number of queue pairs.
    #[serde(default)]
    pub parameters: BTreeMap<Text, Json>,
    /// What was measured.
    pub metrics: Vec<Metric>,
    /// What it was measured on.
    #[serde(default)]
    pub fingerprint: Fingerprint,
}

/// One number that was measured, several times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Its name, unique in its document: `write-bandwidth 65536`.
    pub name: Text,
    /// The unit of all its numbers.
    #[serde(default = "no_text")]
    pub unit: Text,
    /// Which way it gets better; `None` if nobody says.
    #[serde(default)]
    pub better: Option<Better>,
    /// One number for each run.
    #[serde(default, deserialize_with = "finite")]
    pub values: Vec<f64>,
    /// One number for each second of a run, where there are such; of several runs one after the other.
    #[serde(default, deserialize_with = "finite")]
    pub samples: Vec<f64>,
}

fn no_text() -> Text {
    Text::new("")
}

/// Numbers of a document; `null` stands for one that could not be taken, and is none.
fn finite<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    let all = Option::<Vec<Option<f64>>>::deserialize(deserializer)?;
    Ok(all.unwrap_or_default().into_iter().flatten().filter(|value| value.is_finite()).collect())
}

#[derive(Deserialize)]
struct Head {
    schema: String,
}

/// Reads a measurement or a baseline. The error says in words what it is instead.
pub fn read(text: &str) -> Result<Baseline, String> {
    let no_measurement = || {
        "it is no measurement (rdmascope.bench/1, as `rdmascope bench --format json` prints) and no baseline \
         (rdmascope.baseline/1)"
            .to_owned()
    };
    let head: Head = serde_json::from_str(text).map_err(|error| {
        let begin = text.get(..text.floor_char_boundary(256)).unwrap_or_default();
        if FAMILIES.iter().any(|(family, _)| begin.contains(&format!("\"{family}"))) {
            format!("it is a damaged measurement: {}", Text::new(&error.to_string()))
        } else {
            no_measurement()
        }
    })?;
    let family = FAMILIES.iter().find_map(|(family, known)| Some((head.schema.strip_prefix(family)?, *family, *known)));
    let Some((number, family, known)) = family else { return Err(no_measurement()) };
    match number.parse::<u64>() {
        Ok(number) if (1..=known).contains(&number) => {}
        Ok(number) if number > known => {
            return Err(format!(
                "its schema is {family}{number}, and this version of the program reads up to {family}{known}: it was \
                 written by a newer one; use that, or measure again with this one"
            ));
        }
        _ => return Err(no_measurement()),
    }
    let mut found: Baseline = serde_json::from_str(text)
        .map_err(|error| format!("it is a damaged measurement: {}", Text::new(&error.to_string())))?;
    if found.metrics.is_empty() {
        return Err("it has no metrics: nothing was measured".to_owned());
    }
    let mut names: Vec<&Text> = found.metrics.iter().map(|metric| &metric.name).collect();
    names.sort();
    if let Some([twice, ..]) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("it has two metrics of the name {twice}"));
    }
    found.move_found();
    Ok(found)
}

impl Baseline {
    /// The measurement as a baseline of this name; `now` stands for its time where it says none.
    #[must_use]
    pub fn named(mut self, name: &str, now: Timestamp) -> Self {
        self.schema = Text::new(SCHEMA);
        self.name = Some(Text::new(name));
        self.at = self.at.or(Some(now));
        self.rdmascope = Some(Text::new(env!("CARGO_PKG_VERSION")));
        self
    }

    /// Puts what was found out where it belongs: with what was measured on.
    fn move_found(&mut self) {
        for name in FOUND {
            if let Some(value) = self.parameters.remove(&Text::new(name)) {
                let words = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let known = self.fingerprint.layers.get(&Text::new("tool"));
                let key = name.replace('_', " ");
                if !known.is_some_and(|keys| keys.contains_key(&Text::new(&key))) && !value.is_null() {
                    self.fingerprint.note("tool", &key, Mark::Said(Text::new(&words)));
                }
            }
        }
    }
}

/// What is wrong with a name for a baseline; `None` if nothing is. It becomes the name of a file.
pub fn wrong_name(name: &str) -> Option<String> {
    let allowed = |one: char| one.is_ascii_alphanumeric() || matches!(one, '-' | '_' | '.');
    if name.is_empty() {
        Some("a baseline needs a name".to_owned())
    } else if name.len() > LONGEST_NAME {
        Some(format!("a name has at most {LONGEST_NAME} characters"))
    } else if !name.starts_with(|one: char| one.is_ascii_alphanumeric()) {
        Some("a name begins with a letter or a digit".to_owned())
    } else if !name.chars().all(allowed) {
        Some("a name is made of the letters a to z, digits, '-', '_' and '.'".to_owned())
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
