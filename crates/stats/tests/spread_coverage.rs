//! Coverage of the interval of a ratio of spreads, and false verdicts on equal sides: simulated with fixed seeds on the
//! noise of shared hosts.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use stats::random::Random;
use stats::{SpreadRatio, SpreadVerdict, spread_ratio};

/// Trials per case: the coverage is then known to within 3 % (two standard errors).
const TRIALS: u32 = 200;
/// The least coverage of the nominal 95 %, less two standard errors.
const LEAST_COVERAGE: f64 = 0.92;

/// Noise of scale 1.
#[derive(Clone, Copy, Debug)]
enum Noise {
    Normal,
    /// Normal, and one in ten lies far below.
    Outliers,
    /// An exponential tail on one side.
    Skewed,
}

impl Noise {
    fn draw(self, random: &mut Random) -> f64 {
        match self {
            Self::Normal => random.normal(),
            Self::Outliers => random.normal() - if random.unit() < 0.1 { 10.0 * random.unit() } else { 0.0 },
            Self::Skewed => (1.0 - random.unit()).ln(),
        }
    }
}

/// Pairs of two sides whose spreads have the ratio `times`, on a host that walks by `drift` over all pairs.
fn pairs(random: &mut Random, n: u32, noise: Noise, times: f64, drift: f64) -> Vec<(f64, f64)> {
    let mut walked = 0.0;
    (0..n)
        .map(|_| {
            walked += drift * random.normal() / f64::from(n).sqrt();
            let side = |scale: f64, noise: f64| 100.0 * (walked + 0.02 * scale * noise).exp();
            (side(times, noise.draw(random)), side(1.0, noise.draw(random)))
        })
        .collect()
}

/// The share of intervals that contain the true ratio, and of each verdict.
#[derive(Debug, Default)]
struct Shares {
    held: f64,
    above: f64,
    not_above: f64,
}

fn simulate(n: u32, noise: Noise, times: f64, drift: f64) -> Shares {
    let mut random = Random::new(u64::from(n));
    let mut shares = Shares::default();
    let one = 1.0 / f64::from(TRIALS);
    for _ in 0..TRIALS {
        let spread = spread_ratio(&pairs(&mut random, n, noise, times, drift)).unwrap();
        let SpreadRatio { ratio, interval, .. } = spread;
        let [low, high] = interval.unwrap();
        assert!(low <= ratio && ratio <= high, "the point lies inside");
        shares.held += if low <= times && times <= high { one } else { 0.0 };
        match spread.verdict() {
            SpreadVerdict::Above => shares.above += one,
            SpreadVerdict::NotAbove => shares.not_above += one,
            SpreadVerdict::CannotTell => {}
        }
    }
    shares
}

const NOISES: [Noise; 3] = [Noise::Normal, Noise::Outliers, Noise::Skewed];

#[test]
fn equal_sides_are_covered_and_seldom_judged_different() {
    for noise in NOISES {
        for drift in [0.0, 0.05] {
            for n in [6, 20] {
                let shares = simulate(n, noise, 1.0, drift);
                let words = format!("{noise:?}, drift {drift}, n = {n}: {shares:?}");
                assert!(shares.held >= LEAST_COVERAGE, "{words}");
                assert!(shares.above <= 0.04, "2.5 % are due: {words}");
            }
        }
    }
}

#[test]
fn twice_the_spread_is_covered_and_not_judged_equal() {
    for noise in NOISES {
        for drift in [0.0, 0.05] {
            let shares = simulate(20, noise, 2.0, drift);
            let words = format!("{noise:?}, drift {drift}: {shares:?}");
            assert!(shares.held >= LEAST_COVERAGE, "{words}");
            assert!(shares.not_above <= 0.03, "{words}");
        }
    }
}

#[test]
fn clear_differences_are_found() {
    for noise in NOISES {
        assert!(simulate(20, noise, 8.0, 0.0).above >= 0.9, "{noise:?}");
        assert!(simulate(20, noise, 0.2, 0.0).not_above >= 0.8, "{noise:?}");
    }
}
