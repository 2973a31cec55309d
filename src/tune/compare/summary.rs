//! What repeats say together: their middle, how far they spread, and their percentiles.

use serde::Serialize;

/// How percentiles are taken, in words.
pub const PERCENTILES: &str = "linear between the two nearest values (Hyndman and Fan, type 7)";

/// A summary of some values, in their own unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// How many values.
    pub count: usize,
    /// The middle one.
    pub median: f64,
    /// Their mean.
    pub mean: f64,
    /// The smallest.
    pub smallest: f64,
    /// The largest.
    pub largest: f64,
    /// A quarter of them is below this.
    pub lower_quartile: f64,
    /// A quarter of them is above this.
    pub upper_quartile: f64,
}

impl Summary {
    /// Of these values; `None` where there are none, or one is no number.
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() || !values.iter().all(|value| value.is_finite()) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        Some(Self {
            count: sorted.len(),
            median: of_sorted(&sorted, 0.5),
            mean: mean(&sorted),
            smallest: sorted.first().copied()?,
            largest: sorted.last().copied()?,
            lower_quartile: of_sorted(&sorted, 0.25),
            upper_quartile: of_sorted(&sorted, 0.75),
        })
    }

    /// The width of the middle half of the values.
    pub fn interquartile_range(&self) -> f64 {
        self.upper_quartile - self.lower_quartile
    }
}

/// The value below which this part of all values lies, from 0 to 1, by [`PERCENTILES`]; `None` where there are none, or one
/// is no number.
pub fn percentile(values: &[f64], part: f64) -> Option<f64> {
    if values.is_empty() || !values.iter().all(|value| value.is_finite()) || !(0.0..=1.0).contains(&part) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(of_sorted(&sorted, part))
}

/// The mean; 0 of nothing.
pub(super) fn mean(values: &[f64]) -> f64 {
    // About the first: equal numbers have exactly themselves as their mean, and the sum of large ones stays one.
    let first = values.first().copied().unwrap_or(0.0);
    first + values.iter().map(|value| value - first).sum::<f64>() / values.len().max(1) as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in the list, which is not empty")]
fn of_sorted(sorted: &[f64], part: f64) -> f64 {
    let place = part * (sorted.len() - 1) as f64;
    let (below, rest) = (place.floor() as usize, place.fract());
    let low = sorted[below];
    let high = sorted.get(below + 1).copied().unwrap_or(low);
    if rest == 0.0 { low } else { low.mul_add(1.0 - rest, high * rest) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn percentiles_are_those_of_type_7() {
        let values = [4.0, 1.0, 3.0, 2.0];
        for (part, expected) in [(0.0, 1.0), (0.25, 1.75), (0.5, 2.5), (0.9, 3.7), (1.0, 4.0)] {
            let found = percentile(&values, part).expect("there are values");
            assert!((found - expected).abs() < 1e-12, "{part}: {found}");
        }
        let summary = Summary::of(&values).expect("there are values");
        assert!((summary.interquartile_range() - 1.5).abs() < 1e-12 && summary.count == 4);
        assert_eq!(percentile(&[], 0.5), None);
        assert_eq!(percentile(&[1.0], 1.1), None);
        assert_eq!(Summary::of(&[1.0, f64::NAN]), None, "what is no number is not left out in silence");
        let one = Summary::of(&[7.0]).expect("one is enough");
        assert!((one.median - 7.0).abs() < 1e-12 && one.interquartile_range().abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn summaries_are_ordered(values in prop::collection::vec(-1e12f64..1e12, 1..40)) {
            let summary = Summary::of(&values).expect("numbers");
            let order = [summary.smallest, summary.lower_quartile, summary.median, summary.upper_quartile, summary.largest];
            prop_assert!(order.is_sorted());
            prop_assert!(summary.smallest - 1e-3 <= summary.mean && summary.mean <= summary.largest + 1e-3);
        }
    }
}
