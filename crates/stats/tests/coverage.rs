//! Coverage of the intervals of a ratio and of a ratio of spreads, the width of the first and false verdicts of the second:
//! simulated with fixed seeds on the noise of shared hosts.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use stats::random::Random;
use stats::{Ratio, SpreadRatio, SpreadVerdict, ratio, spread_ratio};

/// Trials per case: the coverage is then known to within 3 % (two standard errors).
const TRIALS: u32 = 200;
/// The least coverage of the nominal 95 %, less two standard errors.
const LEAST_COVERAGE: f64 = 0.92;
const TRUE_RATIO: f64 = 1.1;

#[derive(Clone, Copy, Debug)]
enum Noise {
    /// Log-normal of this spread.
    LogNormal(f64),
    /// Log-normal, and one in ten loses 10 to 60 %.
    Outliers(f64),
    /// Log-normal around two rates: six in ten at 1, four in ten at 0.8.
    TwoModes(f64),
    /// Bounded above, with an exponential tail of this mean below.
    Skewed(f64),
    /// Log-normal of this spread, and one in ten lies far below.
    FarOutliers(f64),
    /// An exponential tail of this mean below, on logarithms.
    LogSkewed(f64),
}

impl Noise {
    fn draw(self, random: &mut Random) -> f64 {
        match self {
            Self::LogNormal(spread) => (spread * random.normal()).exp(),
            Self::Outliers(spread) => {
                let value = (spread * random.normal()).exp();
                if random.unit() < 0.1 { value * (0.4 + 0.5 * random.unit()) } else { value }
            }
            Self::TwoModes(spread) => (spread * random.normal()).exp() * if random.unit() < 0.6 { 1.0 } else { 0.8 },
            Self::Skewed(mean) => 1.0 / (1.0 - mean * (1.0 - random.unit()).ln()),
            Self::FarOutliers(spread) => {
                let far = |random: &mut Random| if random.unit() < 0.1 { 10.0 * random.unit() } else { 0.0 };
                (spread * (random.normal() - far(random))).exp()
            }
            Self::LogSkewed(mean) => (mean * (1.0 - random.unit()).ln()).exp(),
        }
    }

    /// Its median, from many draws.
    fn median(self) -> f64 {
        let mut random = Random::new(77);
        let mut values: Vec<f64> = (0..100_001).map(|_| self.draw(&mut random)).collect();
        values.sort_by(f64::total_cmp);
        values[50_000]
    }
}

/// Pairs on a noisy host: a slow random walk that both halves share, and noise of their own.
fn pairs(random: &mut Random, n: u32, sides: [Noise; 2], drift: f64) -> Vec<(f64, f64)> {
    let mut walked = 0.0;
    let mut pair = |_| {
        walked += drift * random.normal() / f64::from(n).sqrt();
        let host = f64::exp(walked);
        (TRUE_RATIO * host * sides[0].draw(random), host * sides[1].draw(random))
    };
    (0..n).map(&mut pair).collect()
}

/// Share of the intervals of the ratio that contain the true one, and their mean half-width.
fn simulate(n: u32, sides: [Noise; 2], drift: f64, seed: u64) -> (f64, f64) {
    let truth = TRUE_RATIO * sides[0].median() / sides[1].median();
    let mut random = Random::new(seed);
    let (mut held, mut half_widths) = (0_u32, 0.0);
    for _ in 0..TRIALS {
        let Ratio { ratio, interval, half_width, .. } = ratio(&pairs(&mut random, n, sides, drift)).unwrap();
        let [low, high] = interval.unwrap();
        assert!(low <= ratio && ratio <= high, "the point lies inside");
        held += u32::from(low <= truth && truth <= high);
        half_widths += half_width.unwrap();
    }
    (f64::from(held) / f64::from(TRIALS), half_widths / f64::from(TRIALS))
}

fn must_cover(sides: [Noise; 2], drifts: &[f64]) {
    for &drift in drifts {
        for n in [6, 20] {
            let (coverage, _) = simulate(n, sides, drift, u64::from(n));
            assert!(coverage >= LEAST_COVERAGE, "{sides:?}, drift {drift}, n = {n}: {coverage}");
        }
    }
}

#[test]
fn log_normal_noise_and_outliers_are_covered() {
    must_cover([Noise::LogNormal(0.02); 2], &[0.0, 0.1]);
    must_cover([Noise::LogNormal(0.15); 2], &[0.0, 0.1]);
    must_cover([Noise::LogNormal(0.02), Noise::LogNormal(0.15)], &[0.0, 0.1]);
    must_cover([Noise::Outliers(0.02); 2], &[0.0, 0.1]);
    must_cover([Noise::Outliers(0.05), Noise::Skewed(0.15)], &[0.0, 0.1]);
}

#[test]
fn two_modes_and_skewed_noise_are_covered() {
    must_cover([Noise::TwoModes(0.02); 2], &[0.0, 0.1]);
    // For two kinds of noise the ratio of the medians has one true value only if the host does not drift.
    must_cover([Noise::TwoModes(0.03), Noise::LogNormal(0.03)], &[0.0]);
    must_cover([Noise::TwoModes(0.02), Noise::Skewed(0.10)], &[0.0]);
    must_cover([Noise::Skewed(0.02); 2], &[0.0, 0.1]);
    must_cover([Noise::Skewed(0.15); 2], &[0.0, 0.1]);
}

#[test]
fn intervals_are_not_too_wide() {
    // The ratio of two medians of n normal values of spread s has the standard error s sqrt(2) sqrt(pi / 2 n) for large
    // n (Kenney & Keeping, "Mathematics of Statistics", 1962); an exact interval for few values cannot be that narrow.
    for n in [10, 40] {
        let (_, half_width) = simulate(n, [Noise::LogNormal(0.02); 2], 0.0, 5);
        let normal = 1.96 * 0.02 * (std::f64::consts::PI / f64::from(n)).sqrt();
        assert!((0.9 * normal..1.4 * normal).contains(&half_width), "n = {n}: {half_width}, normal {normal}");
    }
}

/// Kinds of noise by their scale.
const SPREADS: [fn(f64) -> Noise; 3] = [Noise::LogNormal, Noise::FarOutliers, Noise::LogSkewed];

/// Of sides whose spreads have the ratio `times`: the shares of intervals that contain it, and of both clear verdicts.
fn spreads(n: u32, noise: fn(f64) -> Noise, times: f64, drift: f64) -> [f64; 3] {
    let mut random = Random::new(u64::from(n));
    let mut shares = [0.0; 3];
    for _ in 0..TRIALS {
        let sides = [noise(0.02 * times), noise(0.02)];
        let spread = spread_ratio(&pairs(&mut random, n, sides, drift)).unwrap();
        let SpreadRatio { ratio, interval, .. } = spread;
        let [low, high] = interval.unwrap();
        assert!(low <= ratio && ratio <= high, "the point lies inside");
        let verdict = spread.verdict();
        let seen = [low <= times && times <= high, verdict == SpreadVerdict::Above, verdict == SpreadVerdict::NotAbove];
        shares = std::array::from_fn(|which| shares[which] + f64::from(u8::from(seen[which])) / f64::from(TRIALS));
    }
    shares
}

#[test]
fn equal_spreads_are_covered_and_seldom_judged_different() {
    for (kind, noise) in SPREADS.into_iter().enumerate() {
        for (n, drift) in [(6, 0.0), (6, 0.05), (20, 0.0), (20, 0.05)] {
            let [held, above, _] = spreads(n, noise, 1.0, drift);
            assert!(held >= LEAST_COVERAGE, "{kind}, drift {drift}, n = {n}: {held}");
            assert!(above <= 0.04, "2.5 % are due: {kind}, drift {drift}, n = {n}: {above}");
        }
    }
}

#[test]
fn different_spreads_are_covered_and_found() {
    for (kind, noise) in SPREADS.into_iter().enumerate() {
        for drift in [0.0, 0.05] {
            let [held, _, not_above] = spreads(20, noise, 2.0, drift);
            assert!(held >= LEAST_COVERAGE && not_above <= 0.03, "{kind}, drift {drift}: {held} {not_above}");
        }
        assert!(spreads(20, noise, 8.0, 0.0)[1] >= 0.9 && spreads(20, noise, 0.2, 0.0)[2] >= 0.8, "{kind}");
    }
}
