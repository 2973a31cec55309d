//! Several metrics at once: of twenty that did not change, one test each at 5 % would call one. By Benjamini and Hochberg
//! (1995) the level is lowered so that, where nothing changed, anything at all is called in 5 % of comparisons, while a
//! change that is in all metrics is still seen in each.

use super::LEVEL;

/// How the level is chosen, in words.
pub const METHOD: &str = "Benjamini and Hochberg at 5 %";

/// The level at which each of these chances is to be judged.
pub fn level(chances: &[f64]) -> f64 {
    let mut sorted: Vec<f64> = chances.iter().copied().filter(|chance| chance.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len() as f64;
    let steps = sorted.iter().zip(1u32..).map(|(chance, place)| (*chance, LEVEL * f64::from(place) / count));
    // Where none passes, the first step stands: nothing is below it.
    steps.filter(|(chance, step)| chance <= step).map(|(_, step)| step).last().unwrap_or(LEVEL / count.max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_metric_is_judged_as_ever_and_many_more_strictly() {
        for (chances, called) in [
            (vec![0.04], 1),
            (vec![0.04, 0.9], 0),
            (vec![0.04, 0.04], 2),
            (vec![0.02, 0.9], 1),
            (vec![0.008; 23], 23),
            (vec![0.9, 0.01, 0.9, 0.03, 0.9], 1),
            (vec![], 0),
        ] {
            let level = level(&chances);
            assert_eq!(chances.iter().filter(|chance| **chance <= level).count(), called, "{chances:?}: {level}");
        }
    }
}
