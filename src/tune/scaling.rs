//! How well a program scales: wall times of runs with different numbers of ranks, with the time that MPI took to start apart,
//! become speed-up and parallel efficiency, each with its spread.

use std::collections::BTreeMap;

use serde::Serialize;

use super::compare::Summary;
use super::compare::distribution::critical;

/// One run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// How many ranks it had.
    pub ranks: u32,
    /// From its start to its end, in seconds.
    pub wall_seconds: f64,
    /// How much of that passed before the program itself began, in seconds; `None` if that was not measured.
    pub start_seconds: Option<f64>,
}

/// A number with its 95 % interval; without one where there are no repeats.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// The number.
    pub value: f64,
    /// The lower end of its interval.
    pub low: Option<f64>,
    /// The upper end of its interval.
    pub high: Option<f64>,
}

/// What one number of ranks gave.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// How many ranks.
    pub ranks: u32,
    /// Wall times, in seconds.
    pub wall: Summary,
    /// Times that MPI took to start, in seconds; `None` unless each run says its own.
    pub start: Option<Summary>,
    /// Times that the speed-up is of, in seconds: without the start of MPI where all runs say it, else the wall times.
    pub work: Summary,
    /// How many times faster than the fewest ranks.
    pub speed_up: Ratio,
    /// Speed-up over the ratio of ranks: 1 is perfect.
    pub efficiency: Ratio,
}

/// What all of them gave.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scaling {
    /// The number of ranks that the others are measured against.
    pub base: u32,
    /// True if the start of MPI is not in the times of the speed-up.
    pub without_start: bool,
    /// By number of ranks, the fewest first.
    pub steps: Vec<Step>,
}

/// From runs in any order; the error says what is wrong with them.
pub fn scaling(runs: &[Run]) -> Result<Scaling, String> {
    for run in runs {
        if run.ranks == 0 {
            return Err("a run has no ranks".to_owned());
        }
        if !(run.wall_seconds.is_finite() && run.wall_seconds > 0.0) {
            return Err(format!("a run with {} ranks has no wall time", run.ranks));
        }
        if run.start_seconds.is_some_and(|start| !(0.0..run.wall_seconds).contains(&start)) {
            return Err(format!("a run with {} ranks started for longer than it ran", run.ranks));
        }
    }
    // Times with the start and without it do not belong into one ratio.
    let without_start = runs.iter().all(|run| run.start_seconds.is_some());
    let mut by_ranks: BTreeMap<u32, Vec<&Run>> = BTreeMap::new();
    for run in runs {
        by_ranks.entry(run.ranks).or_default().push(run);
    }
    let Some((base, first)) = by_ranks.first_key_value().map(|(base, first)| (*base, first.clone())) else {
        return Err("there are no runs".to_owned());
    };
    let work = |run: &Run| run.wall_seconds - run.start_seconds.filter(|_| without_start).unwrap_or(0.0);
    let first: Vec<f64> = first.into_iter().map(work).collect();
    let mut steps = Vec::new();
    for (ranks, runs) in by_ranks {
        let walls: Vec<f64> = runs.iter().map(|run| run.wall_seconds).collect();
        let starts: Option<Vec<f64>> = runs.iter().map(|run| run.start_seconds).collect();
        let works: Vec<f64> = runs.iter().map(|run| work(run)).collect();
        let (Some(wall), Some(summary)) = (Summary::of(&walls), Summary::of(&works)) else { continue };
        let speed_up = if ranks == base { Ratio { value: 1.0, low: None, high: None } } else { ratio(&first, &works) };
        let ideal = f64::from(ranks) / f64::from(base);
        let part = |value: f64| value / ideal;
        let efficiency =
            Ratio { value: part(speed_up.value), low: speed_up.low.map(part), high: speed_up.high.map(part) };
        let start = starts.and_then(|starts| Summary::of(&starts));
        steps.push(Step { ranks, wall, start, work: summary, speed_up, efficiency });
    }
    Ok(Scaling { base, without_start, steps })
}

/// The ratio of two times with its interval: Welch's of the difference of their logarithms, which makes the ratio of
/// geometric means; times are above 0 and spread by parts.
fn ratio(base: &[f64], times: &[f64]) -> Ratio {
    let mean_of = |times: &[f64]| {
        let count = times.len() as f64;
        let middle = times.iter().map(|time| time.ln()).sum::<f64>() / count;
        let square: f64 = times.iter().map(|time| (time.ln() - middle).powi(2)).sum();
        (middle, (times.len() > 1).then(|| (square / (count - 1.0) / count, count - 1.0)))
    };
    let ((one, one_error), (other, other_error)) = (mean_of(base), mean_of(times));
    let value = (one - other).exp();
    let (Some((one_square, one_freedom)), Some((other_square, other_freedom))) = (one_error, other_error) else {
        return Ratio { value, low: None, high: None };
    };
    let square = one_square + other_square;
    if square <= 0.0 {
        return Ratio { value, low: Some(value), high: Some(value) };
    }
    let freedom = square * square / (one_square.powi(2) / one_freedom + other_square.powi(2) / other_freedom);
    let half = critical(super::compare::LEVEL, freedom) * square.sqrt();
    Ratio { value, low: Some((one - other - half).exp()), high: Some((one - other + half).exp()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn run(ranks: u32, wall_seconds: f64, start_seconds: Option<f64>) -> Run {
        Run { ranks, wall_seconds, start_seconds }
    }

    #[test]
    fn speed_up_and_efficiency_leave_the_start_of_mpi_out() {
        let runs =
            [run(4, 26.0, Some(1.0)), run(1, 101.0, Some(1.0)), run(2, 51.0, Some(1.0)), run(8, 26.0, Some(1.0))];
        let found = scaling(&runs).expect("they are sound");
        assert!(found.without_start && found.base == 1);
        let told: Vec<(u32, f64, f64)> =
            found.steps.iter().map(|step| (step.ranks, step.speed_up.value, step.efficiency.value)).collect();
        for ((ranks, speed_up, efficiency), expected) in
            told.into_iter().zip([(1, 1.0, 1.0), (2, 2.0, 1.0), (4, 4.0, 1.0), (8, 4.0, 0.5)])
        {
            assert!(
                ranks == expected.0 && (speed_up - expected.1).abs() < 1e-9 && (efficiency - expected.2).abs() < 1e-9
            );
        }
        assert!(found.steps.iter().all(|step| step.speed_up.low.is_none()), "one run each has no spread");
    }

    #[test]
    fn a_start_that_was_not_measured_once_is_left_in_everywhere() {
        let found = scaling(&[run(1, 100.0, Some(20.0)), run(2, 50.0, None)]).expect("they are sound");
        assert!(!found.without_start);
        assert!((found.steps[1].speed_up.value - 2.0).abs() < 1e-9);
        assert!(found.steps[0].start.is_some() && found.steps[1].start.is_none());
    }

    #[test]
    fn repeats_give_an_interval() {
        let times = |ranks: u32, middle: f64| [0.98, 1.0, 1.02].map(|part| run(ranks, middle * part, None));
        let runs = [times(2, 100.0), times(4, 55.0)].concat();
        let found = scaling(&runs).expect("they are sound");
        let Ratio { value, low: Some(low), high: Some(high) } = found.steps[1].speed_up else { panic!("an interval") };
        assert!(low < 1.8 && 1.85 < high && (value - 100.0 / 55.0).abs() < 0.01, "{low} {value} {high}");
        assert!((found.steps[1].efficiency.value - value / 2.0).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_is_told() {
        for (runs, expected) in [
            (vec![], "there are no runs"),
            (vec![run(0, 1.0, None)], "no ranks"),
            (vec![run(2, f64::NAN, None)], "2 ranks has no wall time"),
            (vec![run(2, 1.0, Some(2.0))], "started for longer"),
        ] {
            assert!(scaling(&runs).expect_err(expected).contains(expected));
        }
    }

    proptest! {
        #[test]
        fn any_times_are_survived(
            runs in prop::collection::vec((0u32..9, prop::num::f64::ANY, prop::option::of(prop::num::f64::ANY)), 0..20)
        ) {
            let runs: Vec<Run> = runs.into_iter().map(|(ranks, wall, start)| run(ranks, wall, start)).collect();
            if let Ok(found) = scaling(&runs) {
                prop_assert!(found.steps.iter().all(|step| step.speed_up.value >= 0.0));
            }
        }
    }
}
