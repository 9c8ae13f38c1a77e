//! The noise of a machine's results from run to run, where nothing was changed: from differences of successive values (J.
//! von Neumann et al., "The mean square successive difference", Annals of Mathematical Statistics 12, 1941), on logarithms.
//! An upgrade in between is one large step and not noise. A few runs know their noise poorly, so the result is an upper
//! bound.

use crate::distributions::chi_square_quantile;
use crate::observations::is_divisible;

/// The fewest runs that show noise.
const NEEDED: usize = 4;
/// The confidence of the upper bound. Less than 95 %, since it is doubled before it is used as a threshold.
const CONFIDENCE: f64 = 0.8;
/// Differences that must remain when one is left out.
const REMAINING: usize = 5;
/// A step this many times the root mean square of the other steps is a lasting change (or one outlier at an end).
const STEP: f64 = 4.0;

/// The relative standard deviation between runs, as its 80 % upper bound, from the medians of runs in the order of
/// time; `None` for fewer than 4 runs or a median that is not a positive number.
///
/// From 7 runs on, one step of more than four times the size of the others is left out as a lasting change. Fewer runs
/// cannot distinguish it from noise, so it counts.
pub fn noise_between(medians: &[f64]) -> Option<f64> {
    if medians.len() < NEEDED || !medians.iter().all(|median| is_divisible(*median)) {
        return None;
    }
    let mut squares: Vec<f64> = medians.windows(2).map(|pair| (pair[1] / pair[0]).ln().powi(2)).collect();
    squares.sort_by(f64::total_cmp);
    let mut chains = 1.0;
    if let Some((largest, others)) = squares.split_last()
        && others.len() >= REMAINING
        && *largest > STEP * STEP * others.iter().sum::<f64>() / others.len() as f64
    {
        squares.pop();
        chains = 2.0;
    }
    let count = squares.len() as f64;
    // A difference has twice the variance of a value.
    let variance = squares.iter().sum::<f64>() / count / 2.0;
    // Neighbouring differences share a value: the variance of their mean square is (3 count - chains) / count^2 of its
    // square, like that of a chi-square variable over its `degrees`.
    let degrees = 2.0 * count * count / (3.0 * count - chains);
    Some((variance * degrees / chi_square_quantile(1.0 - CONFIDENCE, degrees)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn four_runs_by_hand() {
        // Differences of logarithms 0.02, -0.02, 0.02: variance 0.0002, deviation 1.414 %. Degrees 18 / 8 = 2.25, whose
        // 20 % quantile scipy puts at 0.574 751: times sqrt(2.25 / 0.574 751) = 1.978 57.
        let medians = [0.0, 0.02, 0.0, 0.02].map(f64::exp);
        let noise = noise_between(&medians).unwrap();
        assert!((noise / (0.0002_f64.sqrt() * 1.978_570_6) - 1.0).abs() < 1e-6, "{noise}");
    }

    #[test]
    fn it_bounds_the_true_noise_in_four_of_five_cases() {
        let mut random = Random::new(31);
        for n in [4, 6, 8, 12, 20] {
            let mut bounds = || {
                let medians: Vec<f64> = (0..n).map(|_| (0.05 * random.normal()).exp()).collect();
                noise_between(&medians).is_some_and(|noise| noise >= 0.05)
            };
            let share = (0..4000).filter(|_| bounds()).count() as f64 / 4000.0;
            assert!((0.76..0.84).contains(&share), "n = {n}: {share}");
        }
    }

    #[test]
    fn a_lasting_change_is_no_noise() {
        let steady = [1.0, 1.01, 0.99, 1.0, 1.01, 1.0, 0.99, 1.0];
        let changed: Vec<f64> =
            steady.iter().enumerate().map(|(run, value)| if run < 4 { *value } else { 1.3 * value }).collect();
        let (before, after) = (noise_between(&steady).unwrap(), noise_between(&changed).unwrap());
        assert!(after < 1.3 * before, "{before} {after}");
        // Four runs cannot distinguish it from noise.
        assert!(noise_between(&[1.0, 1.01, 1.3, 1.31]).unwrap() > 0.1);
    }

    #[test]
    fn none_where_nothing_can_be_said() {
        assert_eq!(noise_between(&[1.0, 2.0, 3.0]), None);
        assert_eq!(noise_between(&[1.0, 2.0, 3.0, 0.0]), None);
        assert_eq!(noise_between(&[1.0, 2.0, 3.0, f64::NAN]), None);
        assert_eq!(noise_between(&[7.0; 5]), Some(0.0));
    }
}
