//! How often the published intervals contain the true value: simulated with fixed seeds, 10 000 trials and one JSON
//! line for each case.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for developers: it prints, and its own results are usable"
)]

use stats::random::Random;
use stats::{Interval, NOMINAL_CONFIDENCE, Observations, grouped_interval, ratio, shift_ratio};

/// Trials per case: a coverage of 95 % is then known to within 0.65 % (three standard errors).
const TRIALS: u32 = 10_000;
/// The spread of noise, as a fraction.
const SPREAD: f64 = 0.02;
/// The true factor between two sides.
const FACTOR: f64 = 1.05;

struct Shown {
    interval: [f64; 2],
    confidence: f64,
    truth: f64,
}

#[derive(Clone, Copy, PartialEq)]
enum Noise {
    /// Log-normal.
    LogNormal,
    /// Around a line that falls by 10 % during the run.
    Falling,
    /// Around a random walk that ends 5 % away, more or less.
    Walking,
    /// Six in ten around 1, four in ten around 0.8.
    TwoModes,
    /// Student's of two degrees, which has no variance, on logarithms.
    HeavyTailed,
}

const NOISES: [(Noise, &str); 5] = [
    (Noise::LogNormal, "log-normal"),
    (Noise::Falling, "falling by 10 %"),
    (Noise::Walking, "random walk"),
    (Noise::TwoModes, "two modes"),
    (Noise::HeavyTailed, "heavy-tailed"),
];

impl Noise {
    fn drifts(self) -> bool {
        matches!(self, Self::Falling | Self::Walking)
    }

    /// The drift of the machine at each step, as logarithms.
    fn path(self, random: &mut Random, steps: usize) -> Vec<f64> {
        let mut walked = 0.0;
        let step = |index: usize| match self {
            Self::Falling => -0.1 * index as f64 / steps as f64,
            Self::Walking => {
                walked += 0.05 * random.normal() / (steps as f64).sqrt();
                walked
            }
            Self::LogNormal | Self::TwoModes | Self::HeavyTailed => 0.0,
        };
        (0..steps).map(step).collect()
    }

    /// One disturbance, as a logarithm.
    fn draw(self, random: &mut Random) -> f64 {
        match self {
            Self::LogNormal => SPREAD * random.normal(),
            Self::Falling | Self::Walking => logistic(random),
            Self::TwoModes => SPREAD * random.normal() + if random.unit() < 0.6 { 0.0 } else { 0.8_f64.ln() },
            Self::HeavyTailed => SPREAD * student_2(random),
        }
    }

    /// The median of `draw`, as a logarithm.
    fn centre(self) -> f64 {
        if self == Self::TwoModes { middle(|random| Self::TwoModes.draw(random)) } else { 0.0 }
    }
}

/// Student's t of two degrees, by inverting its distribution function.
fn student_2(random: &mut Random) -> f64 {
    let u = (random.unit() - 0.5).clamp(-0.499_999_999, 0.499_999_999);
    2.0 * u * (2.0 / (1.0 - 4.0 * u * u)).sqrt()
}

/// Noise of drifting runs: logistic, since its simple distribution function gives the median of a mixture.
fn logistic(random: &mut Random) -> f64 {
    let u = random.unit().clamp(1e-12, 1.0 - 1e-12);
    SPREAD / 2.0 * (u / (1.0 - u)).ln()
}

/// The median of logistic noise around these centres, by bisection.
fn middle_of(centres: &[f64]) -> f64 {
    let below = |x: f64| {
        let shares = centres.iter().map(|centre| 1.0 / (1.0 + (-(x - centre) / (SPREAD / 2.0)).exp()));
        shares.sum::<f64>() / centres.len() as f64
    };
    let (mut low, mut high) = (-2.0, 2.0);
    for _ in 0..50 {
        let x = f64::midpoint(low, high);
        if below(x) < 0.5 { low = x } else { high = x }
    }
    high
}

/// The median of a distribution, from a million draws: known to a thousandth of the spread.
fn middle(mut draw: impl FnMut(&mut Random) -> f64) -> f64 {
    let mut random = Random::new(77);
    let mut values: Vec<f64> = (0..1_000_001).map(|_| draw(&mut random)).collect();
    *values.select_nth_unstable_by(500_000, f64::total_cmp).1
}

/// Runs the trials of a case and prints its line.
fn case(interval: &str, noise: &str, n: usize, seed: u64, mut trial: impl FnMut(&mut Random) -> Shown) {
    let mut random = Random::new(seed);
    let (mut held, mut confidence, mut half_widths) = (0_u32, 0.0, Vec::new());
    for _ in 0..TRIALS {
        let shown = trial(&mut random);
        let [low, high] = shown.interval;
        held += u32::from(low <= shown.truth && shown.truth <= high);
        confidence += shown.confidence / f64::from(TRIALS);
        half_widths.push((high - low) / 2.0 / shown.truth);
    }
    // With heavy tails, the mean would be that of the worst trial.
    half_widths.sort_unstable_by(f64::total_cmp);
    let half_width = half_widths[half_widths.len() / 2];
    let claimed = !(noise == TWO_MODES && n == 3 * PER_LAUNCH);
    let coverage = f64::from(held) / f64::from(TRIALS);
    let promised = confidence.min(NOMINAL_CONFIDENCE);
    let error = (promised * (1.0 - promised) / f64::from(TRIALS)).sqrt();
    let holds = coverage >= promised - 3.0 * error;
    println!(
        "{{\"interval\": \"{interval}\", \"noise\": \"{noise}\", \"n\": {n}, \"trials\": {TRIALS}, \"coverage\": {coverage:.4}, \
         \"nominal\": {NOMINAL_CONFIDENCE}, \"reported\": {confidence:.4}, \"half_width\": {half_width:.5}, \"claimed\": {claimed}, \
         \"holds\": {holds}}}"
    );
}

fn medians() {
    for (noise, name) in NOISES {
        let centre = noise.centre();
        for n in [9, 12, 20, 30] {
            case("median", name, n, n as u64, |random| {
                let path = noise.path(random, n);
                let values: Vec<f64> = path.iter().map(|place| (place + noise.draw(random)).exp()).collect();
                let truth = if noise.drifts() { middle_of(&path) } else { centre };
                let found = Interval::of_median(&Observations::new(&values).unwrap()).unwrap();
                Shown { interval: found.bounds, confidence: found.confidence, truth: truth.exp() }
            });
        }
    }
}

/// Two sides measured in turn, with the same drift.
fn sides(noise: Noise, random: &mut Random, n: usize) -> (Vec<f64>, Vec<f64>) {
    let path = noise.path(random, n);
    path.iter().map(|place| ((place + noise.draw(random)).exp(), FACTOR * (place + noise.draw(random)).exp())).unzip()
}

fn two_samples() {
    for (noise, name) in NOISES {
        for n in [4, 9, 12, 20] {
            case("two samples", name, n, 100 + n as u64, |random| {
                let (base, new) = sides(noise, random, n);
                let found = shift_ratio(&base, &new).unwrap();
                Shown { interval: found.interval.unwrap(), confidence: found.confidence.unwrap(), truth: FACTOR }
            });
        }
    }
}

fn pairs() {
    for (noise, name) in NOISES {
        for n in [9, 12, 20] {
            case("pairs", name, n, 200 + n as u64, |random| {
                let (base, new) = sides(noise, random, n);
                let pairs: Vec<(f64, f64)> = new.into_iter().zip(base).collect();
                Shown { interval: ratio(&pairs).unwrap().interval.unwrap(), confidence: 0.95, truth: FACTOR }
            });
        }
    }
}

/// The effect of a process run on all of its values.
#[derive(Clone, Copy)]
enum Effect {
    /// Normal, as a multiple of the spread within.
    Normal(f64),
    /// Student's of two degrees, as large as the spread within.
    HeavyTailed,
    /// Six process runs in ten at 1, four in ten at 0.8.
    TwoModes,
    /// A random walk from one process run to the next.
    Walking,
}

/// The case that no method can hold with three process runs.
const TWO_MODES: &str = "process runs of two modes";

const EFFECTS: [(Effect, &str); 7] = [
    (Effect::Normal(0.0), "process runs alike"),
    (Effect::Normal(0.5), "process runs half as different as samples"),
    (Effect::Normal(1.0), "process runs as different as samples"),
    (Effect::Normal(3.0), "process runs three times as different"),
    (Effect::HeavyTailed, "process runs heavy-tailed"),
    (Effect::TwoModes, TWO_MODES),
    (Effect::Walking, "process runs drifting"),
];

/// Samples in each process run, as memory benchmarks have them.
const PER_LAUNCH: usize = 3;

impl Effect {
    fn draw(self, random: &mut Random) -> f64 {
        match self {
            Self::Normal(times) => times * SPREAD * random.normal(),
            Self::HeavyTailed => SPREAD * student_2(random),
            Self::TwoModes if random.unit() < 0.6 => 0.0,
            Self::TwoModes => 0.8_f64.ln(),
            Self::Walking => 0.0,
        }
    }

    fn path(self, random: &mut Random, process_runs: usize) -> Vec<f64> {
        if matches!(self, Self::Walking) {
            return Noise::Walking.path(random, process_runs);
        }
        (0..process_runs).map(|_| self.draw(random)).collect()
    }

    /// Noise within a process run.
    fn within(self, random: &mut Random) -> f64 {
        if matches!(self, Self::Walking) { logistic(random) } else { SPREAD * random.normal() }
    }
}

fn process_runs() {
    for (effect, name) in EFFECTS {
        let centre = match effect {
            Effect::TwoModes => middle(|random| effect.draw(random) + effect.within(random)),
            _ => 0.0,
        };
        for count in [3, 4, 7, 10] {
            let n = count * PER_LAUNCH;
            let groups: Vec<u32> = (0_u32..).take(count).flat_map(|launch| [launch; PER_LAUNCH]).collect();
            case("process runs", name, n, 300 + n as u64, |random| {
                let path = effect.path(random, count);
                let places = path.iter().flat_map(|place| [*place; PER_LAUNCH]);
                let values: Vec<f64> = places.map(|place| (place + effect.within(random)).exp()).collect();
                let truth = if matches!(effect, Effect::Walking) { middle_of(&path) } else { centre };
                let found = grouped_interval(&Observations::new(&values).unwrap(), &groups).0.unwrap();
                Shown { interval: found.bounds, confidence: found.confidence, truth: truth.exp() }
            });
        }
    }
}

fn main() {
    medians();
    two_samples();
    process_runs();
    pairs();
}
