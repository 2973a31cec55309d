//! How often samples are called different where they are not, and where they are.

use super::super::testing::{Noise, false_calls};
use super::super::{LEVEL, Verdict};
use super::*;

fn is_called(before: &[f64], after: &[f64]) -> bool {
    compare(before, after).is_ok_and(|found| found.verdict(None, LEVEL).is_called())
}

#[test]
fn noise_is_rarely_called_a_difference() {
    for (correlation, lengths) in
        [(0.0, [10, 20, 60]), (0.3, [10, 20, 60]), (0.6, [10, 20, 60]), (0.8, [10, 20, 60]), (0.9, [30, 60, 120])]
    {
        for length in lengths {
            let rate = false_calls(|seed| {
                let before = Noise::new(seed, correlation, 0.03).samples(length, 100.0);
                let after = Noise::new(seed + 1_000_000, correlation, 0.03).samples(length, 100.0);
                is_called(&before, &after)
            });
            assert!(rate <= 0.05, "correlation {correlation}, {length} samples: {rate}");
        }
    }
}

#[test]
fn a_tenth_is_called_under_noise_of_three_percent() {
    for (correlation, length) in [(0.0, 10), (0.3, 20), (0.6, 30), (0.8, 70)] {
        let missed = false_calls(|seed| {
            let before = Noise::new(seed, correlation, 0.03).samples(length, 100.0);
            let after = Noise::new(seed + 1_000_000, correlation, 0.03).samples(length, 90.0);
            !is_called(&before, &after)
        });
        assert!(missed <= 0.1, "correlation {correlation}, {length} samples: {missed}");
    }
}

#[test]
fn what_is_said_to_be_detectable_is_detected() {
    for correlation in [0.0, 0.6] {
        let missed = false_calls(|seed| {
            let mut noise = Noise::new(seed, correlation, 0.03);
            let (before, mut after) = (noise.samples(60, 100.0), noise.samples(60, 100.0));
            let Ok(found) = compare(&before, &after) else { return true };
            let detectable = found.detectable();
            for value in &mut after {
                *value -= detectable;
            }
            !is_called(&before, &after)
        });
        assert!(missed <= 0.12, "correlation {correlation}: {missed}");
    }
}

#[test]
fn a_plain_test_would_be_wrong_here() {
    // The reason for all this: the same noise, taken for independent.
    let rate = false_calls(|seed| {
        let before = Noise::new(seed, 0.8, 0.03).samples(60, 100.0);
        let after = Noise::new(seed + 1_000_000, 0.8, 0.03).samples(60, 100.0);
        let error = |side: &[f64]| {
            let middle = mean(side);
            let square: f64 = side.iter().map(|value| (value - middle).powi(2)).sum();
            square / 59.0 / 60.0
        };
        (mean(&after) - mean(&before)).abs() > 1.98 * (error(&before) + error(&after)).sqrt()
    });
    assert!(rate > 0.3, "{rate}");
}

#[test]
fn what_hangs_together_is_not_compared_and_what_decides_is_told() {
    let slope: Vec<f64> = (0..20).map(f64::from).collect();
    let refused = compare(&slope, &slope).expect_err("these are worth hardly two samples");
    assert!(refused.why.contains("hang together") && refused.decide.contains(" s or more"), "{refused:?}");
    let refused = compare(&[1.0; 7], &[1.0; 20]).expect_err("too few");
    assert!(refused.why.contains('7'), "{refused:?}");
    assert!(compare(&[f64::NAN; 20], &[1.0; 20]).expect_err("no numbers").why.contains("no number"));
}

#[test]
fn values_that_never_move_are_compared_all_the_same() {
    let found = compare(&[5.0; 10], &[5.0; 10]).expect("comparable");
    assert_eq!(found.verdict(None, LEVEL), Verdict::NoDifference);
    let found = compare(&[5.0; 10], &[4.0; 10]).expect("comparable");
    assert_eq!(found.verdict(Some(super::super::Better::Higher), LEVEL), Verdict::Worse);
    let found = compare(&[0.0; 10], &[0.0; 10]).expect("comparable");
    assert_eq!((found.verdict(None, LEVEL), found.part(1.0)), (Verdict::NoDifference, None));
}

proptest::proptest! {
    #[test]
    fn no_numbers_end_it(
        before in proptest::collection::vec(proptest::num::f64::ANY, 0..30),
        after in proptest::collection::vec(proptest::num::f64::ANY, 0..30),
    ) {
        if let Ok(found) = compare(&before, &after) {
            let _ = (found.verdict(None, LEVEL), found.detectable());
        }
    }
}
