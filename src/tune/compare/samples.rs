//! Samples of one run, one a second: each resembles the one before it, so that a hundred of them can say as little as ten.
//! The error of a mean is therefore taken twice, once from the correlation of neighbours (an autoregressive model of order
//! one, its estimate corrected for its bias and one standard error of its own on the safe side), once from the means of whole
//! blocks of the run, which need no model; the larger counts. The degrees of freedom are those of the effective number of
//! samples.
//!
//! What this is worth was drawn (see the tests): of pure noise at most 5 % is called at correlations of neighbours up to 0.8 from
//! ten samples a side on, and up to 0.9 from thirty on; above that few samples cannot tell how much they hang together, and up
//! to 6 % is called. A tenth under noise of 3 % is called in nine of ten with 10 samples a side that are independent, 20 at a
//! correlation of 0.3, 30 at 0.6, 70 at 0.8.
//!
//! Sources: Zwiers and von Storch, "Taking serial correlation into account in tests of the mean", Journal of Climate 8 (1995);
//! Schmeiser, "Batch size effects in the analysis of simulation output", Operations Research 30 (1982).

use super::distribution::{critical, two_sided};
use super::summary::{Summary, mean};
use super::{Compared, Difference, LEVEL, NotComparable, least};

/// The test by name.
pub const TEST: &str = "Welch's t-test, two-sided, errors of the means from the correlation of neighbouring samples or from means of blocks";

/// So many samples a side are needed.
pub const FEWEST: usize = 10;

/// So many independent samples must a side be worth.
const FEWEST_EFFECTIVE: f64 = 3.0;

/// More than this is not looked at: it is hours of samples.
pub const MOST: usize = 100_000;

/// How many blocks a side is cut into.
const BLOCKS: usize = 5;

/// The correlation is an estimate, too: an error that rests on it is worth fewer degrees of freedom than a known one. This
/// part keeps the calls of mere noise below 5 % at all lengths and correlations (the tests draw them).
const SURE: f64 = 0.6;

/// A correlation of neighbours above this leaves nothing that is worth two samples.
const HIGHEST: f64 = 0.98;

/// A mean with its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mean {
    pub value: f64,
    /// Square of its standard error.
    pub variance: f64,
    /// Degrees of freedom of that.
    pub freedom: f64,
    /// How many independent samples it is worth.
    pub effective: f64,
}

/// Compares the samples of two runs, or of two parts of one.
pub fn compare(before: &[f64], after: &[f64]) -> Result<Compared, NotComparable> {
    let sides = [before, after];
    check(&sides)?;
    let correlation = correlation(&sides);
    let [was, is] = sides.map(|side| error(side, correlation));
    enough(&[was, is], &sides, correlation)?;
    let (Some(one), Some(other)) = (Summary::of(before), Summary::of(after)) else {
        return Err(no_number());
    };
    let difference = welch(is.value - was.value, &[(1.0, is), (1.0, was)]);
    let spread = one.interquartile_range().max(other.interquartile_range());
    let least = least(was.value, spread);
    let (reference, notes) = (was.value, Vec::new());
    Ok(Compared { before: one, after: other, reference, difference, least, test: TEST, notes })
}

/// True samples, and enough of them.
pub(super) fn check(sides: &[&[f64]]) -> Result<(), NotComparable> {
    if !sides.iter().all(|side| side.iter().all(|value| value.is_finite())) {
        return Err(no_number());
    }
    if let Some(few) = sides.iter().map(|side| side.len()).find(|count| *count < FEWEST) {
        return Err(NotComparable::new(
            format!("{few} samples of a side are too few"),
            format!("measure each side for {} s or more at one sample a second", 2 * FEWEST),
        ));
    }
    if sides.iter().any(|side| side.len() > MOST) {
        return Err(NotComparable::new(format!("a side has more than {MOST} samples"), "compare a shorter time"));
    }
    Ok(())
}

fn no_number() -> NotComparable {
    NotComparable::new("one of the samples is no number", "measure that side again")
}

/// The samples must be worth enough independent ones.
pub(super) fn enough(means: &[Mean], sides: &[&[f64]], correlation: f64) -> Result<(), NotComparable> {
    let short = means.iter().zip(sides).find(|(mean, _)| mean.effective < FEWEST_EFFECTIVE);
    let Some((mean, side)) = short else { return Ok(()) };
    let needed = (side.len() as f64 * 2.0 * FEWEST_EFFECTIVE / mean.effective).ceil();
    Err(NotComparable::new(
        format!(
            "the samples hang together (neighbours correlate by {correlation:.2}): {} of them are worth {:.1} independent \
             ones",
            side.len(),
            mean.effective
        ),
        format!("measure each side for {needed:.0} s or more at one sample a second"),
    ))
}

/// How much neighbours resemble each other, from 0, taken over all sides about their own means.
pub(super) fn correlation(sides: &[&[f64]]) -> f64 {
    let (mut square, mut product, mut count) = (0.0, 0.0, 0.0);
    for side in sides {
        let middle = mean(side);
        let away: Vec<f64> = side.iter().map(|value| value - middle).collect();
        // Each side on its own scale: the louder one must not speak for both.
        let own: f64 = away.iter().map(|value| value * value).sum();
        if own <= 0.0 {
            continue;
        }
        let weight = side.len() as f64 / own;
        square += own * weight;
        product += away.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() * weight;
        count += side.len() as f64;
    }
    if square <= 0.0 {
        return 0.0;
    }
    let seen = product / square;
    // What is taken from its own mean looks less correlated than it is, by (1 + 3 rho) / n (Kendall 1954).
    let length = count / sides.len() as f64;
    let unbiased = if length > 4.0 { (seen * length + 1.0) / (length - 3.0) } else { seen };
    let error = ((1.0 - unbiased.clamp(0.0, 1.0).powi(2)).max(0.0) / count).sqrt();
    (unbiased + error).clamp(0.0, HIGHEST)
}

/// The mean of samples with its error, their correlation known.
pub(super) fn error(samples: &[f64], correlation: f64) -> Mean {
    let count = samples.len() as f64;
    let middle = mean(samples);
    let square: f64 = samples.iter().map(|value| (value - middle).powi(2)).sum();
    // The factor by which the variance of the mean exceeds that of independent samples.
    let mut inflation = 1.0;
    let mut power = 1.0;
    for lag in 1..samples.len() {
        power *= correlation;
        if power < 1e-9 {
            break;
        }
        inflation += 2.0 * (1.0 - lag as f64 / count) * power;
    }
    let effective = (count / inflation).max(1.0);
    // Samples that hang together spread less about their own mean than about the true one.
    let spread = square / (count - inflation).max(1.0);
    let by_model = spread * inflation / count;
    let by_blocks = blocks(samples, middle);
    Mean { value: middle, variance: by_model.max(by_blocks), freedom: (SURE * (effective - 1.0)).max(0.5), effective }
}

/// The square of the error of a mean by the means of blocks.
fn blocks(samples: &[f64], middle: f64) -> f64 {
    let length = samples.len() / BLOCKS;
    if length < 2 {
        return 0.0;
    }
    let means = samples.chunks_exact(length).take(BLOCKS).map(mean);
    let square: f64 = means.map(|value| (value - middle).powi(2)).sum();
    square / ((BLOCKS - 1) * BLOCKS) as f64
}

/// A weighted sum of means against 0, by Welch and Satterthwaite.
pub(super) fn welch(shift: f64, parts: &[(f64, Mean)]) -> Difference {
    let squares = parts.iter().map(|(weight, mean)| (weight * weight * mean.variance, mean.freedom));
    let variance: f64 = squares.clone().map(|(square, _)| square).sum();
    if variance <= 0.0 {
        // All samples of each side are the same number.
        let chance = if shift == 0.0 { 1.0 } else { 0.0 };
        return Difference { shift, low: shift, high: shift, chance };
    }
    let freedom = variance * variance / squares.map(|(square, freedom)| square * square / freedom).sum::<f64>();
    let error = variance.sqrt();
    let half = critical(LEVEL, freedom) * error;
    Difference { shift, low: shift - half, high: shift + half, chance: two_sided(shift / error, freedom) }
}

#[cfg(test)]
#[path = "samples_tests.rs"]
mod tests;
