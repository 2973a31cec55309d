//! The scale of a graph: from zero to a round number, with round numbers between.

/// From zero to `top`.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// The value of the highest dot.
    pub top: f64,
    /// The numbers to write, the most important first: the top, zero, those between.
    pub ticks: Vec<f64>,
}

/// A ceiling is part of the scale once the values reach this part of it; below, it would only flatten the curve.
const IN_SIGHT: f64 = 0.25;
/// Numbers beyond this are drawn as this, so that sums of them stay finite.
const LARGEST: f64 = 1e300;
/// Numbers below this are drawn as zero.
const SMALLEST: f64 = 1e-300;

impl Scale {
    /// The scale for values up to `highest` in a graph of some rows.
    pub fn new(highest: f64, ceiling: Option<f64>, rows: u16) -> Self {
        let highest = highest.clamp(0.0, LARGEST);
        let ceiling = ceiling.filter(|ceiling| ceiling.is_finite() && *ceiling > 0.0 && highest >= ceiling * IN_SIGHT);
        let reach = ceiling.map_or(highest, |ceiling| ceiling.max(highest).min(LARGEST));
        if reach < SMALLEST {
            return Self { top: 1.0, ticks: vec![1.0, 0.0] };
        }
        let parts = f64::from((rows / 3).clamp(1, 4));
        let step = round_up(reach / parts);
        let steps = (reach / step - 1e-9).ceil().max(1.0);
        let top = step * steps;
        let mut ticks = vec![top, 0.0];
        let mut between = step;
        while between < top - step / 2.0 {
            ticks.push(between);
            between += step;
        }
        Self { top, ticks }
    }

    /// Where a value stands between zero (0) and the top (1).
    pub fn fraction(&self, value: f64) -> f64 {
        (value / self.top).clamp(0.0, 1.0)
    }
}

/// The next number up of the form 1, 2, 2.5 or 5 times a power of ten.
fn round_up(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let digits = value / power;
    let round = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|round| digits <= round + 1e-9).unwrap_or(10.0);
    round * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(highest: f64, ceiling: Option<f64>, rows: u16) -> Vec<f64> {
        let mut ticks = Scale::new(highest, ceiling, rows).ticks;
        ticks.sort_by(f64::total_cmp);
        ticks
    }

    fn top(highest: f64, ceiling: f64) -> Option<f64> {
        ticks(highest, Some(ceiling), 6).last().copied()
    }

    #[test]
    fn numbers_are_round_and_as_many_as_the_rows_can_hold() {
        assert_eq!(ticks(84.1, None, 3), [0.0, 100.0]);
        assert_eq!(ticks(84.1, None, 6), [0.0, 50.0, 100.0]);
        assert_eq!(ticks(84.1, None, 12), [0.0, 25.0, 50.0, 75.0, 100.0]);
        assert_eq!(ticks(3.0, None, 1), [0.0, 5.0]);
        assert_eq!(ticks(1e-7, None, 4), [0.0, 1e-7]);
    }

    #[test]
    fn nothing_but_zeros_has_a_scale_too() {
        assert_eq!(ticks(0.0, None, 6), [0.0, 1.0]);
        assert_eq!(ticks(-5.0, Some(-1.0), 6), [0.0, 1.0]);
    }

    #[test]
    fn a_ceiling_is_part_of_the_scale_once_the_values_come_near_it() {
        assert_eq!(top(84.0, 92.6), Some(100.0));
        assert_eq!(top(24.0, 92.6), Some(100.0));
        assert_eq!(top(9.0, 92.6), Some(10.0), "the ceiling is far above: the curve keeps its height");
        assert_eq!(top(180.0, 100.0), Some(200.0), "a value above the ceiling is shown all the same");
    }

    #[test]
    fn extreme_numbers_stay_numbers() {
        for highest in [f64::MAX, f64::MIN_POSITIVE, 1e-320, 1e300, 0.3, 7.0] {
            for rows in [0, 1, 4, 100] {
                let scale = Scale::new(highest, Some(f64::MAX), rows);
                assert!(scale.top.is_finite() && scale.top > 0.0, "{highest}");
                assert!(scale.ticks.len() <= 6, "{highest} {:?}", scale.ticks);
                assert!((0.0..=1.0).contains(&scale.fraction(highest)));
            }
        }
    }
}
