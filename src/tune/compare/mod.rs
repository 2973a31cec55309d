//! Honest comparisons. A difference is called only if it is beyond the noise by a test that fits how the values were
//! gathered, and large enough against their spread to matter; else it is said that none was seen, and how small a one could
//! have been shown. What cannot be compared is not, and it is said what would decide.
//!
//! | values | test |
//! |---|---|
//! | repeats: one number for each run, independent of each other ([`repeats`]) | exact Mann-Whitney, shift by Hodges and Lehmann |
//! | samples: one number a second of one run, which follow each other ([`samples`]) | Welch's t on means whose error takes in how the samples hang together |
//! | one run with a change in its middle that was taken back ([`around`]) | the same on B against A1 and A2, if those agree |
//!
//! A test that takes samples of one run for independent calls differences where there are none: with a correlation of 0.8
//! from each second to the next, a plain t-test is wrong more than every other time.

pub mod around;
pub mod distribution;
#[cfg(test)]
mod recorded_tests;
pub mod repeats;
pub mod samples;
pub mod several;
pub mod summary;
#[cfg(test)]
mod testing;
pub mod words;

use serde::{Deserialize, Serialize};

pub use summary::{Summary, percentile};

/// The chance of calling a difference where there is none.
pub const LEVEL: f64 = 0.05;

/// Smaller differences than this part of the value are not called, however sure they are.
pub const LEAST_PART: f64 = 0.01;

/// Nor are those below this part of the interquartile range of the values.
pub const LEAST_SPREAD: f64 = 0.25;

/// How much larger than half of the 95 % interval a true difference must be to be called nine times of ten: the 97.5th and
/// the 90th percentile of the normal distribution over the 97.5th.
const NINE_OF_TEN: f64 = (1.96 + 1.2816) / 1.96;

/// Which way a metric gets better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Bandwidth, messages a second.
    Higher,
    /// Latency, wall time.
    Lower,
}

/// A difference with what is known of it, in the unit of the values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// How much more it is after.
    pub shift: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end of its 95 % interval.
    pub high: f64,
    /// The chance of a difference as large where there is none.
    pub chance: f64,
}

/// Two sides that could be compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The values before.
    pub before: Summary,
    /// The values after.
    pub after: Summary,
    /// What a difference is a part of: the median of repeats, the mean of samples before.
    pub reference: f64,
    /// How they differ.
    pub difference: Difference,
    /// The smallest difference that is called, in the unit of the values.
    pub least: f64,
    /// The test by name.
    pub test: &'static str,
    /// What has to be known of this comparison.
    pub notes: Vec<String>,
}

/// Why two sides cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotComparable {
    /// Why.
    pub why: String,
    /// What would decide.
    pub decide: String,
}

impl NotComparable {
    /// For this reason; and what would decide.
    pub fn new(why: impl Into<String>, decide: impl Into<String>) -> Self {
        Self { why: why.into(), decide: decide.into() }
    }
}

/// What came of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is better, beyond the noise.
    Better,
    /// It is worse, beyond the noise.
    Worse,
    /// It is another value, beyond the noise, and nobody said which way is better.
    Changed,
    /// No difference seen.
    NoDifference,
    /// The two sides of a change differ: it drifted, and nothing is claimed.
    Drifted,
    /// They cannot be compared.
    NotComparable,
}

impl Verdict {
    /// True for a difference that was called.
    pub fn is_called(self) -> bool {
        matches!(self, Self::Better | Self::Worse | Self::Changed)
    }

    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Changed => "changed",
            Self::NoDifference => "no-difference",
            Self::Drifted => "drifted",
            Self::NotComparable => "not-comparable",
        }
    }
}

impl Compared {
    /// What is called where this chance of a false call is accepted.
    pub fn verdict(&self, better: Option<Better>, level: f64) -> Verdict {
        let Difference { shift, chance, .. } = self.difference;
        if chance > level || shift.abs() < self.least || shift == 0.0 {
            return Verdict::NoDifference;
        }
        match better {
            None => Verdict::Changed,
            Some(Better::Higher) if shift > 0.0 => Verdict::Better,
            Some(Better::Lower) if shift < 0.0 => Verdict::Better,
            Some(_) => Verdict::Worse,
        }
    }

    /// A true difference of this size would be called in nine of ten comparisons with such data, in the unit of the values.
    pub fn detectable(&self) -> f64 {
        let Difference { shift, low, high, .. } = self.difference;
        (NINE_OF_TEN * (high - shift).max(shift - low)).max(self.least)
    }

    /// A difference as a part of what was before; `None` where that was 0.
    pub fn part(&self, difference: f64) -> Option<f64> {
        (self.reference != 0.0).then(|| difference / self.reference.abs())
    }
}

/// The smallest difference that is called.
fn least(reference: f64, spread: f64) -> f64 {
    (LEAST_PART * reference.abs()).max(LEAST_SPREAD * spread)
}
