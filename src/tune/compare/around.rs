//! A change in the middle of a run that was taken back: A, then B, then A again. The two A tell whether anything else moved
//! meanwhile; only if they agree are they taken together and B is held against them.

use super::samples::{check, correlation, enough, error, welch};
use super::summary::Summary;
use super::{Compared, NotComparable, least};

/// The test by name.
pub const TEST: &str = "Welch's t-test of B against A1 and A2 together, two-sided, errors of the means from the correlation \
                        of neighbouring samples or from means of blocks; A1 and A2 must agree by the same test at 1 %";

/// A1 and A2 are said to differ with this chance of being wrong. It is small: who drifts by less adds to the error of
/// neither side more than the noise does, and the mean of both A stands in the middle of a drift that is steady.
const DRIFT_LEVEL: f64 = 0.01;

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Around {
    /// A1 and A2 agree: B against both.
    Compared(Compared),
    /// A1 and A2 differ: it drifted, and nothing is claimed of B. What they differ by.
    Drifted(Compared),
}

/// Compares the samples of B with those before and after it.
pub fn compare(first: &[f64], changed: &[f64], second: &[f64]) -> Result<Around, NotComparable> {
    let sides = [first, changed, second];
    check(&sides)?;
    let correlation = correlation(&sides);
    let means = sides.map(|side| error(side, correlation));
    enough(&means, &sides, correlation)?;
    let [before, during, after] = means;
    let both: Vec<f64> = first.iter().chain(second).copied().collect();
    let summaries = (Summary::of(first), Summary::of(changed), Summary::of(second), Summary::of(&both));
    let (Some(a1), Some(b), Some(a2), Some(a)) = summaries else {
        return Err(NotComparable::new("one of the samples is no number", "measure again"));
    };
    // Within each part: what the change did is no spread.
    let spread = [a1, b, a2].iter().map(Summary::interquartile_range).fold(0.0, f64::max);
    let drift = welch(after.value - before.value, &[(1.0, after), (1.0, before)]);
    let smallest = least(before.value, spread);
    if drift.chance <= DRIFT_LEVEL && drift.shift.abs() >= smallest {
        let (reference, notes) = (before.value, Vec::new());
        let differ = Compared {
            before: a1,
            after: a2,
            reference,
            difference: drift,
            least: smallest,
            test: super::samples::TEST,
            notes,
        };
        return Ok(Around::Drifted(differ));
    }
    let reference = f64::midpoint(before.value, after.value);
    let difference = welch(during.value - reference, &[(1.0, during), (0.5, before), (0.5, after)]);
    let least = least(reference, spread);
    let notes = Vec::new();
    Ok(Around::Compared(Compared { before: a, after: b, reference, difference, least, test: TEST, notes }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Noise, false_calls};
    use super::super::{LEVEL, Verdict};
    use super::*;

    fn called(around: &Around) -> Verdict {
        match around {
            Around::Compared(compared) => compared.verdict(None, LEVEL),
            Around::Drifted(_) => Verdict::Drifted,
        }
    }

    #[test]
    fn noise_is_rarely_called_a_difference() {
        for correlation in [0.0, 0.3, 0.6, 0.8, 0.9] {
            for length in [12, 60] {
                let rate = false_calls(|seed| {
                    let mut noise = Noise::new(seed, correlation, 0.03);
                    let run = noise.samples(3 * length, 100.0);
                    let around = compare(&run[..length], &run[length..2 * length], &run[2 * length..]).ok();
                    around.is_some_and(|around| called(&around).is_called())
                });
                assert!(rate <= 0.05, "correlation {correlation}, {length} samples: {rate}");
            }
        }
    }

    #[test]
    fn a_cap_of_a_tenth_is_called() {
        for (correlation, length) in [(0.0, 12), (0.3, 20), (0.6, 30), (0.8, 70)] {
            let missed = false_calls(|seed| {
                let mut noise = Noise::new(seed, correlation, 0.03);
                let mut run = noise.samples(3 * length, 100.0);
                run[length..2 * length].iter_mut().for_each(|value| *value *= 0.9);
                let around = compare(&run[..length], &run[length..2 * length], &run[2 * length..]).ok();
                around.is_none_or(|around| called(&around) != Verdict::Changed)
            });
            assert!(missed <= 0.1, "correlation {correlation}, {length} samples: {missed}");
        }
    }

    #[test]
    fn what_drifted_is_not_claimed() {
        let mut noise = Noise::new(3, 0.0, 0.01);
        let (first, changed, second) = (noise.samples(20, 100.0), noise.samples(20, 80.0), noise.samples(20, 90.0));
        let Ok(Around::Drifted(drift)) = compare(&first, &changed, &second) else { panic!("it drifted") };
        assert!((drift.difference.shift + 10.0).abs() < 2.0, "{drift:?}");
    }

    #[test]
    fn the_interval_holds_the_truth() {
        let missed = false_calls(|seed| {
            let mut noise = Noise::new(seed, 0.5, 0.03);
            let (first, changed, second) =
                (noise.samples(30, 100.0), noise.samples(30, 104.0), noise.samples(30, 100.0));
            match compare(&first, &changed, &second) {
                Ok(Around::Compared(compared)) => !(compared.difference.low..=compared.difference.high).contains(&4.0),
                _ => false,
            }
        });
        assert!(missed <= 0.05, "{missed}");
    }
}
