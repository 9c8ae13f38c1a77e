//! Coverage and width of the intervals of a ratio, simulated with fixed seeds on the noise of shared hosts.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use stats::random::Random;
use stats::{Ratio, ratio};

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
