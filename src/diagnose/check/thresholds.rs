//! The numbers in the rules of checks, each with its unit and its source; a site may set them in its configuration.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// Its key in the configuration, `layer.kebab-name.number`: the id of the check, a dot, what it is.
    pub key: &'static str,
    /// The value that holds unless the site sets another one.
    pub default: f64,
    /// Unit, in words; empty for a plain number.
    pub unit: &'static str,
    /// What it means, in a few words.
    pub meaning: &'static str,
    /// Where the default comes from.
    pub source: &'static str,
}

/// The numbers that a site set; all others hold their default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Thresholds(BTreeMap<String, f64>);

impl Thresholds {
    /// Sets one number.
    pub fn set(&mut self, key: &str, value: f64) {
        self.0.insert(key.to_owned(), value);
    }

    /// The value in force.
    pub fn of(&self, threshold: &Threshold) -> f64 {
        self.0.get(threshold.key).copied().unwrap_or(threshold.default)
    }

    /// The keys that were set.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}
