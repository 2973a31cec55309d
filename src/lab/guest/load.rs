//! How busy a path is: jobs that come and go, each with a ramp, a plateau with the dips of collective operations, a
//! checkpoint and an end. The shape is drawn from a seed once and repeats after [`PERIOD`]; its integral is known at every
//! moment, so counters are functions of time and never go back.

/// Seconds after which a shape repeats.
pub const PERIOD: f64 = 900.0;
/// Seconds between two knots of a shape.
const STEP: f64 = 0.5;
/// Knots of one period.
const KNOTS: u32 = 1800;

/// A number that looks drawn at random, from a seed and an index (the splitmix64 sequence).
pub fn mix(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The same as a number from 0 up to, but not including, 1.
pub fn unit(seed: u64, index: u64) -> f64 {
    (mix(seed, index) >> 11) as f64 / (1u64 << 53) as f64
}

/// The same as a number from `low` to `high`, both included.
pub fn between(seed: u64, index: u64, low: u64, high: u64) -> u64 {
    low + mix(seed, index) % (high - low + 1)
}

/// The whole part of a number that is not negative.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast of a float saturates, which is wanted"
)]
pub fn whole(value: f64) -> u64 {
    value.max(0.0) as u64
}

/// A job that runs on both ends of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    /// Its number, rising with time.
    pub number: u64,
    /// When it began, in seconds since the lab began.
    pub began: f64,
    /// When it ends.
    pub ends: f64,
}

/// When jobs run.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Beginnings and ends within one period.
    jobs: Vec<(f64, f64)>,
}

impl Schedule {
    /// The schedule of this seed. A job runs when the lab begins.
    pub fn new(seed: u64) -> Self {
        let (mut jobs, mut at, mut index) = (Vec::new(), 0.0, 0);
        while at < PERIOD - 40.0 {
            let end = (at + 70.0 + 110.0 * unit(seed, index)).min(PERIOD - 6.0);
            jobs.push((at, end));
            at = end + 8.0 + 14.0 * unit(seed, index + 1);
            index += 2;
        }
        Self { jobs }
    }

    /// The job that runs at this time.
    pub fn job(&self, now: f64) -> Option<Job> {
        let now = now.max(0.0);
        let round = (now / PERIOD).floor();
        let within = now - round * PERIOD;
        let place = self.jobs.iter().position(|(began, ends)| (*began..*ends).contains(&within))?;
        let (began, ends) = self.jobs[place];
        let number = whole(round) * self.jobs.len() as u64 + place as u64;
        Some(Job { number, began: round * PERIOD + began, ends: round * PERIOD + ends })
    }
}

/// Bytes per second over time, in one direction.
#[derive(Clone, Debug)]
pub struct Load {
    /// Rates at the knots of a period, and the first one again.
    rates: Vec<f64>,
    /// Bytes from the start of a period to each knot.
    sums: Vec<f64>,
}

impl Load {
    /// A load that follows the jobs of a schedule, `peak` bytes per second at most.
    pub fn of_jobs(seed: u64, schedule: &Schedule, peak: f64) -> Self {
        Self::from_rates((0..KNOTS).map(|knot| peak * busy(seed, schedule, knot)).collect())
    }

    /// A light load that never rests: around `mean` bytes per second.
    pub fn of_chatter(seed: u64, mean: f64) -> Self {
        Self::from_rates(
            (0..KNOTS)
                .map(|knot| {
                    let burst = if unit(seed, u64::from(knot / 8)) > 0.93 { 6.0 } else { 0.0 };
                    mean * (0.4 + 0.8 * unit(seed, u64::from(knot)) + burst)
                })
                .collect(),
        )
    }

    fn from_rates(mut rates: Vec<f64>) -> Self {
        rates.push(rates[0]);
        let mut sums = vec![0.0];
        for pair in rates.windows(2) {
            let last = sums[sums.len() - 1];
            sums.push(last + STEP * f64::midpoint(pair[0], pair[1]));
        }
        Self { rates, sums }
    }

    /// Bytes from the beginning of the lab until `now` seconds.
    pub fn total(&self, now: f64) -> f64 {
        let now = now.max(0.0);
        let rounds = (now / PERIOD).floor();
        let within = (now - rounds * PERIOD) / STEP;
        let knot = usize::try_from(whole(within)).unwrap_or(0).min(self.rates.len() - 2);
        let part = within - knot as f64;
        let (from, to) = (self.rates[knot], self.rates[knot + 1]);
        let per_round = self.sums[self.sums.len() - 1];
        rounds * per_round + self.sums[knot] + STEP * part * (from + part * (to - from) / 2.0)
    }

    /// Mean over a whole period, in bytes per second.
    pub fn mean(&self) -> f64 {
        self.sums[self.sums.len() - 1] / PERIOD
    }

    /// The greatest rate, in bytes per second.
    pub fn peak(&self) -> f64 {
        self.rates.iter().copied().fold(0.0, f64::max)
    }
}

/// How busy a path is at a knot: from 0 to 1.
fn busy(seed: u64, schedule: &Schedule, knot: u32) -> f64 {
    let now = f64::from(knot) * STEP;
    let noise = unit(seed, u64::from(knot)) - 0.5;
    let Some(job) = schedule.job(now) else { return 0.0004 * (1.0 + noise) };
    let draw = |index: u64| unit(seed ^ 0x006a_6f62, job.number * 16 + index);
    let (since, left) = (now - job.began, job.ends - now);
    let level = 0.72 + 0.22 * draw(0);
    // Start of the processes and exchange of addresses, then a ramp.
    let ramp = match since {
        s if s < 2.0 => 0.01,
        s => ((s - 2.0) / (2.0 + 5.0 * draw(1))).min(1.0),
    };
    let wave = 0.05 * (now / (3.0 + 4.0 * draw(2))).sin();
    // Steps of a computation: everybody waits for the last one.
    let step = 5.0 + 7.0 * draw(3);
    let dip = if since % step < 0.8 { 0.45 } else { 1.0 };
    // The result is written elsewhere while this path idles.
    let checkpoint = job.began + (job.ends - job.began) * (0.45 + 0.2 * draw(4));
    let checkpoint = if (checkpoint..checkpoint + 5.0).contains(&now) { 0.12 } else { 1.0 };
    let end = (left / 1.5).min(1.0);
    ((level + wave + 0.05 * noise) * ramp * dip * checkpoint * end).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_never_go_back_and_agree_with_the_rates() {
        let schedule = Schedule::new(7);
        let load = Load::of_jobs(7, &schedule, 11.5e9);
        assert!(load.peak() <= 11.5e9 && load.peak() > 0.6 * 11.5e9, "{}", load.peak());
        let mut last = 0.0;
        for tenth in 0..20_000u32 {
            let now = f64::from(tenth) / 10.0;
            let total = load.total(now);
            assert!(total >= last, "at {now}");
            assert!(total - last <= load.peak() * 0.11, "at {now}");
            last = total;
        }
        assert!((load.total(3.0 * PERIOD) / (3.0 * PERIOD) / load.mean() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn jobs_come_and_go_and_keep_their_numbers() {
        let schedule = Schedule::new(7);
        let first = schedule.job(0.0).expect("a job runs at first");
        assert_eq!((first.number, first.began.to_bits()), (0, 0));
        let seen: Vec<u64> =
            (0..2000).filter_map(|second| schedule.job(f64::from(second))).map(|job| job.number).collect();
        assert!(seen.windows(2).all(|pair| pair[1] == pair[0] || pair[1] == pair[0] + 1), "{seen:?}");
        assert!((0..900).any(|second| schedule.job(f64::from(second)).is_none()));
        let again = schedule.job(PERIOD).expect("the next round begins alike");
        assert!(again.number > 3 && (again.began - PERIOD).abs() < 1e-9);
    }
}
