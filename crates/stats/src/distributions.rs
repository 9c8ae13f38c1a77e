//! Tails and quantiles of the normal, Student's, chi-square, beta and Fisher's distributions, by textbook series and
//! continued fractions to the last few bits of a double; `tests.rs` compares them with scipy.

use std::f64::consts::PI;

/// Halvings that narrow an interval of a few thousand to the last bit of a double.
const HALVINGS: u32 = 80;
/// Every series and fraction converges within this number of terms for the arguments that occur here.
const MOST_TERMS: u32 = 10_000;

/// The probability that a standard normal variable exceeds `z`: power series near the middle, Laplace's continued
/// fraction far out (Abramowitz & Stegun, 26.2.11 and 26.2.14).
pub(crate) fn normal_tail(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - normal_tail(-z);
    }
    let density = (-z * z / 2.0).exp() / (2.0 * PI).sqrt();
    if z < 2.5 {
        let (mut term, mut sum) = (z, z);
        for k in 1..80 {
            term *= z * z / (2.0 * f64::from(k) + 1.0);
            sum += term;
        }
        0.5 - density * sum
    } else {
        let fraction = (1..120).rev().fold(z, |below, k| z + f64::from(k) / below);
        density / fraction
    }
}

/// The z that a standard normal variable exceeds with this probability, which is at most one half.
pub(crate) fn normal_beyond(tail: f64) -> f64 {
    bisect(0.0, 40.0, |z| normal_tail(z) <= tail)
}

/// The t for which |T| < t has this probability, T of Student's distribution: its square is Fisher's with one and as many
/// degrees of freedom.
pub(crate) fn student_quantile(degrees: f64, confidence: f64) -> f64 {
    fisher_quantile(confidence, 1.0, degrees).sqrt()
}

/// The probability that a chi-square variable exceeds `x`; the degrees of freedom need not be whole.
pub(crate) fn chi_square_tail(x: f64, degrees: f64) -> f64 {
    if x <= 0.0 { 1.0 } else { gamma_tail(degrees / 2.0, x / 2.0) }
}

/// The value below which a chi-square variable is with this probability.
pub(crate) fn chi_square_quantile(below: f64, degrees: f64) -> f64 {
    bisect(0.0, 20.0 * degrees + 100.0, |x| 1.0 - chi_square_tail(x, degrees) >= below)
}

/// The upper regularised incomplete gamma function: its series below the mode, Legendre's continued fraction above
/// (Abramowitz & Stegun, 6.5.29 and 6.5.31).
fn gamma_tail(shape: f64, x: f64) -> f64 {
    let front = (shape * x.ln() - x - ln_gamma(shape)).exp();
    if x >= shape + 1.0 {
        return front * gamma_fraction(shape, x);
    }
    let (mut term, mut sum) = (1.0 / shape, 1.0 / shape);
    for k in 1..MOST_TERMS {
        term *= x / (shape + f64::from(k));
        sum += term;
        if term < sum * f64::EPSILON / 4.0 {
            break;
        }
    }
    1.0 - front * sum
}

/// Legendre's fraction by the method of W. Lentz (Applied Optics 15, 1976).
fn gamma_fraction(shape: f64, x: f64) -> f64 {
    let mut denominator = x + 1.0 - shape;
    let (mut upper, mut lower) = (1e300, 1.0 / denominator);
    let mut fraction = lower;
    for k in 1..MOST_TERMS {
        let k = f64::from(k);
        let numerator = -k * (k - shape);
        denominator += 2.0;
        lower = 1.0 / (numerator * lower + denominator);
        upper = denominator + numerator / upper;
        fraction *= lower * upper;
        if (lower * upper - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    fraction
}

/// The regularised incomplete beta function I(x; a, b): the probability that a beta variable is below `x` (Abramowitz &
/// Stegun, 26.5.8, by the method of Lentz).
pub(crate) fn beta_below(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front = (a * x.ln() + b * (1.0 - x).ln() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b)).exp();
    // The fraction converges fast on the near side of the mean only.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(x, a, b) / a
    } else {
        1.0 - front * beta_fraction(1.0 - x, b, a) / b
    }
}

fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    let (mut upper, mut lower) = (1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = lower;
    for k in 1..MOST_TERMS {
        let k = f64::from(k);
        let even = k * (b - k) * x / ((a + 2.0 * k - 1.0) * (a + 2.0 * k));
        let odd = -(a + k) * (a + b + k) * x / ((a + 2.0 * k) * (a + 2.0 * k + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            lower = 1.0 / (1.0 + term * lower);
            upper = 1.0 + term / upper;
            change = lower * upper;
            fraction *= change;
        }
        if (change - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    fraction
}

/// The value below which a variable of Fisher's distribution F is with this probability (Abramowitz & Stegun, 26.6.2).
pub(crate) fn fisher_quantile(below: f64, upper_degrees: f64, lower_degrees: f64) -> f64 {
    let below_f = |f: f64| {
        let part = upper_degrees * f;
        beta_below(part / (part + lower_degrees), upper_degrees / 2.0, lower_degrees / 2.0)
    };
    bisect(0.0, 1e6, |f| below_f(f) >= below)
}

/// The logarithm of the gamma function of a positive number, by the approximation of C. Lanczos (SIAM Journal on
/// Numerical Analysis 1, 1964) with g = 7 and the nine coefficients of P. Godfrey: 15 digits.
fn ln_gamma(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        // Euler's reflection
        return (PI / (PI * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let shifted = x - 1.0;
    let (series, _) = COEFFICIENTS
        .iter()
        .fold((0.999_999_999_999_809_9, 1.0), |(sum, k), coefficient| (sum + coefficient / (shifted + k), k + 1.0));
    let t = shifted + 7.5;
    0.5 * (2.0 * PI).ln() + (shifted + 0.5) * t.ln() - t + series.ln()
}

/// The smallest point of an interval at which a monotonic condition holds.
fn bisect(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if holds(middle) { high = middle } else { low = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the comparison with scipy in `tests.rs` leaves out.
    #[test]
    fn edges_seams_and_unused_arguments() {
        let close = |found: f64, expected: f64, within: f64| {
            assert!((found / expected - 1.0).abs() < within, "{found} is not {expected}");
        };
        close(normal_tail(2.5 - 1e-15), normal_tail(2.5), 1e-12);
        close(normal_beyond(0.025), 1.959_963_984_540_054, 1e-12);
        // Abramowitz & Stegun, table 26.9; R: qt(0.99865, 10), qt(1 - 1e-6, 380)
        close(fisher_quantile(0.95, 2.0, 6.0), 5.14, 2e-3);
        close(student_quantile(10.0, 0.9973), 3.957, 2e-3);
        close(student_quantile(380.0, 1.0 - 2e-6), 4.825, 2e-3);
        assert_eq!(chi_square_tail(0.0, 3.0), 1.0);
        assert_eq!([beta_below(0.0, 2.0, 3.0), beta_below(1.0, 2.0, 3.0)], [0.0, 1.0]);
    }
}
