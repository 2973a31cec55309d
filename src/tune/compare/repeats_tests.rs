//! The exact test against counts by hand, and how often it is wrong.

use super::super::testing::{self, Noise, false_calls};
use super::super::{Better, Verdict};
use super::*;

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-9
}

#[test]
fn chances_are_counted_exactly() {
    let found = compare(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]).expect("four of each can decide");
    assert!(near(found.difference.chance, 2.0 / 70.0), "{found:?}");
    assert!(near(found.difference.shift, 4.0) && near(found.difference.low, 1.0) && near(found.difference.high, 7.0));
    assert_eq!(found.verdict(Some(Better::Lower), LEVEL), Verdict::Worse);
    // All orders of five and five in which the rank sum is 15 or 16, and their mirror images: 4 of 252.
    let found = compare(&[1.0, 2.0, 3.0, 4.0, 6.0], &[5.0, 7.0, 8.0, 9.0, 10.0]).expect("comparable");
    assert!(near(found.difference.chance, 4.0 / 252.0), "{found:?}");
    let same = [3.0, 3.0, 3.0, 3.0, 3.0];
    let found = compare(&same, &same).expect("comparable");
    assert!(near(found.difference.chance, 1.0) && near(found.difference.shift, 0.0), "{found:?}");
}

#[test]
fn too_few_are_not_compared_and_what_decides_is_told() {
    let refused = compare(&[1.0, 2.0, 3.0], &[7.0, 8.0, 9.0]).expect_err("3 and 3 can never decide");
    assert!(refused.why.contains("3 and 3 repeats are too few") && refused.decide.contains("5 times"), "{refused:?}");
    assert!(compare(&[1.0; 10], &[2.0; 2]).is_ok(), "ten and two can");
    assert!(compare(&[1.0; 20], &[2.0]).is_err());
    assert!(compare(&[], &[2.0]).is_err() && compare(&[f64::INFINITY; 9], &[1.0; 9]).is_err());
}

#[test]
fn noise_is_rarely_called_and_a_tenth_mostly() {
    // The exact test of many values takes its time; fewer draws leave the rate less sure, so less is asked of it.
    for (one, other, draws, most) in [(4, 4, 2000, 0.05), (5, 5, 2000, 0.05), (5, 10, 1000, 0.05), (15, 15, 200, 0.08)]
    {
        let draw = |seed: u64, after: f64| {
            let mut noise = Noise::new(seed, 0.0, 0.03);
            (noise.samples(one, 100.0), noise.samples(other, after))
        };
        let is_called = |(before, after): (Vec<f64>, Vec<f64>)| {
            compare(&before, &after).is_ok_and(|found| found.verdict(None, LEVEL).is_called())
        };
        let rate = testing::rate(draws, |seed| is_called(draw(seed, 100.0)));
        assert!(rate <= most, "{one} and {other}: {rate}");
        let missed = testing::rate(draws, |seed| !is_called(draw(seed, 90.0)));
        assert!(missed <= 0.1, "{one} and {other}: {missed}");
    }
}

#[test]
fn the_interval_holds_the_truth() {
    let missed = false_calls(|seed| {
        let mut noise = Noise::new(seed, 0.0, 0.03);
        let found = compare(&noise.samples(8, 100.0), &noise.samples(9, 104.0)).expect("comparable");
        !(found.difference.low..=found.difference.high).contains(&4.0)
    });
    assert!(missed <= 0.055, "{missed}");
}

#[test]
fn one_wild_value_decides_nothing() {
    let before = [100.0, 101.0, 99.0, 100.5, 99.5];
    let found = compare(&before, &[100.2, 99.8, 100.1, 1000.0, 99.9]).expect("comparable");
    assert_eq!(found.verdict(Some(Better::Higher), LEVEL), Verdict::NoDifference, "{found:?}");
}

#[test]
fn the_approximation_meets_the_exact_test() {
    let mut noise = Noise::new(5, 0.0, 0.03);
    let (before, after) = (noise.samples(30, 100.0), noise.samples(30, 101.5));
    let (one, other) = (exact(&before, &after), approximate(&before, &after));
    assert!((one - other).abs() < 0.003, "{one} {other}");
}

proptest::proptest! {
    #[test]
    fn no_numbers_end_it(
        before in proptest::collection::vec(proptest::num::f64::ANY, 0..12),
        after in proptest::collection::vec(proptest::num::f64::ANY, 0..12),
    ) {
        if let Ok(found) = compare(&before, &after) {
            let _ = (found.verdict(None, LEVEL), found.detectable());
        }
    }
}
