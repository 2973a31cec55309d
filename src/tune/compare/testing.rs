//! Noise with a seed, for tests: the same on each run.

/// So many draws a rate is taken over.
const DRAWS: u64 = 1500;

/// Normal noise in which each value resembles the one before it.
#[derive(Clone, Debug)]
pub(super) struct Noise {
    state: u64,
    correlation: f64,
    deviation: f64,
    last: Option<f64>,
}

impl Noise {
    /// With this correlation of neighbours, and this standard deviation as a part of the value.
    pub fn new(seed: u64, correlation: f64, deviation: f64) -> Self {
        let mut noise = Self { state: seed, correlation, deviation, last: None };
        // Neighbouring seeds must not give the same numbers one step later.
        noise.state = noise.mixed();
        noise
    }

    /// A number from 0 to 1, by `SplitMix64`.
    pub fn uniform(&mut self) -> f64 {
        (self.mixed() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn mixed(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn normal(&mut self) -> f64 {
        let (one, other) = (self.uniform().max(1e-300), self.uniform());
        (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * other).cos()
    }

    /// So many values about this middle, after those that were drawn before.
    pub fn samples(&mut self, count: usize, middle: f64) -> Vec<f64> {
        let one = |noise: &mut Self| {
            let fresh = noise.normal();
            let next = match noise.last {
                None => fresh,
                Some(last) => noise.correlation * last + (1.0 - noise.correlation.powi(2)).sqrt() * fresh,
            };
            noise.last = Some(next);
            middle * (1.0 + noise.deviation * next)
        };
        (0..count).map(|_| one(self)).collect()
    }
}

/// How often this is true, by seed.
pub(super) fn false_calls(is_called: impl Fn(u64) -> bool) -> f64 {
    rate(DRAWS, is_called)
}

/// The same over so many draws.
pub(super) fn rate(draws: u64, is_called: impl Fn(u64) -> bool) -> f64 {
    (1..=draws).filter(|seed| is_called(*seed)).count() as f64 / draws as f64
}
