//! Repeats of a measurement, independent of each other and few: the exact test of Mann and Whitney. It asks only in which
//! order the values of both sides fall, so no shape of the noise is assumed and one wild value decides nothing. Ties keep it
//! exact: all ways to deal the same values to both sides are counted.

use super::summary::Summary;
use super::{Compared, Difference, LEVEL, NotComparable, least};

/// The test by name.
pub const TEST: &str = "exact Mann-Whitney test, two-sided; shift and 95 % interval by Hodges and Lehmann";

/// Above this many values on both sides together the normal approximation stands in: it is as good as exact there.
const MOST_EXACT: usize = 60;
/// The approximation by name.
pub const APPROXIMATE: &str =
    "Mann-Whitney test, two-sided, normal approximation; shift and 95 % interval by Hodges and Lehmann";

/// Most values of a side that are looked at.
pub const MOST: usize = 2000;

/// Compares two sets of repeats.
pub fn compare(before: &[f64], after: &[f64]) -> Result<Compared, NotComparable> {
    let (Some(was), Some(is)) = (Summary::of(before), Summary::of(after)) else {
        return Err(NotComparable::new(
            "one side has no values, or one that is no number",
            "measure that side again, five times or more",
        ));
    };
    if was.count > MOST || is.count > MOST {
        return Err(NotComparable::new(format!("a side has more than {MOST} values"), "compare fewer of them"));
    }
    if smallest_chance(was.count, is.count) > LEVEL {
        let needed = (1..=MOST).find(|needed| smallest_chance(was.count.max(*needed), is.count.max(*needed)) <= LEVEL);
        let needed = needed.unwrap_or(4).max(5);
        return Err(NotComparable::new(
            format!(
                "{} and {} repeats are too few: even if none overlapped, that could be chance",
                was.count, is.count
            ),
            format!("measure both sides {needed} times or more"),
        ));
    }
    let shifts = shifts(before, after);
    let distribution = Distribution::of(was.count, is.count);
    let cut = distribution.outside();
    let (low, high) = (shifts[cut], shifts[shifts.len() - 1 - cut]);
    let shift = Summary::of(&shifts).map_or(0.0, |summary| summary.median);
    let (chance, test) = if was.count + is.count <= MOST_EXACT {
        (exact(before, after), TEST)
    } else {
        (approximate(before, after), APPROXIMATE)
    };
    let difference = Difference { shift, low, high, chance };
    // What the repeats of one side differ by among themselves.
    let spread = was.interquartile_range().max(is.interquartile_range());
    let (reference, least) = (was.median, least(was.median, spread));
    Ok(Compared { before: was, after: is, reference, difference, least, test, notes: Vec::new() })
}

/// The smallest chance that so many values can give: none of one side among the other.
fn smallest_chance(one: usize, other: usize) -> f64 {
    let mut ways = 1.0;
    for place in 1..=one.min(other) {
        ways *= (one + other + 1 - place) as f64 / place as f64;
    }
    2.0 / ways
}

/// All differences of a value after and one before, sorted.
fn shifts(before: &[f64], after: &[f64]) -> Vec<f64> {
    let mut all: Vec<f64> = after.iter().flat_map(|is| before.iter().map(move |was| is - was)).collect();
    all.sort_by(f64::total_cmp);
    all
}

/// How the number of pairs in which the one side is larger falls, where there is no difference and no tie.
struct Distribution {
    /// The chance of each number, from 0.
    chances: Vec<f64>,
    one: f64,
    other: f64,
}

impl Distribution {
    fn of(one: usize, other: usize) -> Self {
        let sizes = (one as f64, other as f64);
        if one + other > MOST_EXACT {
            return Self { chances: Vec::new(), one: sizes.0, other: sizes.1 };
        }
        // The rank sums of `one` values among all: dealt one rank after the other.
        let ranks: Vec<usize> = (1..=one + other).collect();
        let sums = rank_sums(&ranks, one);
        let first = one * (one + 1) / 2;
        let total: f64 = sums.iter().sum();
        let chances = sums[first.min(sums.len())..].iter().map(|ways| ways / total).collect();
        Self { chances, one: sizes.0, other: sizes.1 }
    }

    /// How many of the sorted differences lie outside the 95 % interval on each side.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of pairs, at least 0")]
    fn outside(&self) -> usize {
        if self.chances.is_empty() {
            let (product, all) = (self.one * self.other, self.one + self.other);
            let low = product / 2.0 - 1.96 * (product * (all + 1.0) / 12.0).sqrt() - 0.5;
            return low.max(0.0) as usize;
        }
        let mut below = 0.0;
        for (number, chance) in self.chances.iter().enumerate() {
            below += chance;
            if below > LEVEL / 2.0 {
                return number.saturating_sub(1).min(self.chances.len() / 2);
            }
        }
        0
    }
}

/// In how many ways `take` of the ranks have each sum.
fn rank_sums(ranks: &[usize], take: usize) -> Vec<f64> {
    let most: usize = ranks.iter().sum();
    let mut ways = vec![vec![0.0_f64; most + 1]; take + 1];
    ways[0][0] = 1.0;
    for rank in ranks {
        for taken in (1..=take).rev() {
            let (fewer, more) = ways.split_at_mut(taken);
            let (from, to) = (&fewer[taken - 1], &mut more[0]);
            for sum in (*rank..=most).rev() {
                to[sum] += from[sum - rank];
            }
        }
    }
    ways.pop().unwrap_or_default()
}

/// Twice the middle rank of each value, before first: equal values share the mean of their ranks.
fn ranks(before: &[f64], after: &[f64]) -> Vec<usize> {
    let all: Vec<f64> = before.iter().chain(after).copied().collect();
    let rank = |value: &f64| {
        let below = all.iter().filter(|other| other.total_cmp(value).is_lt()).count();
        let equal = all.iter().filter(|other| other.total_cmp(value).is_eq()).count();
        2 * below + equal + 1
    };
    all.iter().map(rank).collect()
}

/// The chance of a rank sum as far from the middle as this one, over all ways to deal these very values.
fn exact(before: &[f64], after: &[f64]) -> f64 {
    let ranks = ranks(before, after);
    let take = before.len();
    let sums = rank_sums(&ranks, take);
    let total: f64 = sums.iter().sum();
    let middle = ranks.iter().sum::<usize>() as f64 * take as f64 / ranks.len() as f64;
    let seen: usize = ranks[..take].iter().sum();
    let away = (seen as f64 - middle).abs() - 1e-9;
    let as_far = sums.iter().enumerate().filter(|(sum, _)| (*sum as f64 - middle).abs() >= away);
    (as_far.map(|(_, ways)| ways).sum::<f64>() / total).clamp(0.0, 1.0)
}

/// The same by the normal distribution, corrected for ties.
fn approximate(before: &[f64], after: &[f64]) -> f64 {
    let ranks = ranks(before, after);
    let (one, all) = (before.len() as f64, ranks.len() as f64);
    let seen: f64 = ranks[..before.len()].iter().map(|rank| *rank as f64 / 2.0).sum();
    let mean = f64::midpoint(all, 1.0);
    let middle = one * mean;
    let square: f64 = ranks.iter().map(|rank| (*rank as f64 / 2.0 - mean).powi(2)).sum();
    let deviation = (one * (all - one) * square / (all * (all - 1.0))).sqrt();
    if deviation <= 0.0 {
        return 1.0;
    }
    super::distribution::two_sided(((seen - middle).abs() - 0.5).max(0.0) / deviation, 1e6)
}

#[cfg(test)]
#[path = "repeats_tests.rs"]
mod tests;
