//! When a drive under continuous writes is steady, and whether it stays so: the rule of the Solid State Storage
//! Performance Test Specification (SNIA; also `StdyState.py` of `TKperf`). A fresh drive is fast until its spare blocks
//! are used up.

use std::fmt;
use std::ops::Range;

/// Consecutive rounds that are judged together.
pub const STEADY_ROUNDS: usize = 5;

/// Range of steady rounds, at most, over their mean.
const MOST_RANGE: f64 = 0.2;

/// Change along the least-squares line through steady rounds, at most, over their mean.
const MOST_DRIFT: f64 = 0.1;

/// How steady five rounds are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steadiness {
    /// From the lowest to the highest round, over their mean.
    pub range: f64,
    /// Change from one end of the least-squares line through the rounds to the other, over their mean.
    pub drift: f64,
}

impl Steadiness {
    /// `None` if a value is not a positive number.
    fn of_rounds(rounds: &[f64; STEADY_ROUNDS]) -> Option<Self> {
        if !rounds.iter().all(|round| round.is_finite() && *round > 0.0) {
            return None;
        }
        let count = STEADY_ROUNDS as f64;
        let mean = rounds.iter().sum::<f64>() / count;
        let (lowest, highest) =
            rounds.iter().fold((f64::MAX, f64::MIN), |(low, high), &round| (low.min(round), high.max(round)));
        // Positions of the rounds around their middle; their squares add up to `squares`.
        let places = (0..STEADY_ROUNDS).map(|place| place as f64 - (count - 1.0) / 2.0);
        let squares: f64 = places.clone().map(|place| place * place).sum();
        let slope = places.zip(rounds).map(|(place, round)| place * round).sum::<f64>() / squares;
        Some(Self { range: (highest - lowest) / mean, drift: slope.abs() * (count - 1.0) / mean })
    }

    /// Whether range and drift are within the limits of the rule.
    pub fn is_steady(&self) -> bool {
        self.range <= MOST_RANGE && self.drift <= MOST_DRIFT
    }

    /// Range or drift over its limit, whichever is more: above 1 the rounds are not steady.
    pub fn excess(&self) -> f64 {
        (self.range / MOST_RANGE).max(self.drift / MOST_DRIFT)
    }
}

impl fmt::Display for Steadiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { range, drift } = self;
        let [range, drift] = [range, drift].map(|share| 100.0 * share);
        write!(f, "the last five range over {range:.1} % of their mean and drift by {drift:.1} %")
    }
}

/// How steady the last five rounds are; `None` for fewer rounds or a value that is not a positive number.
pub fn steadiness(rounds: &[f64]) -> Option<Steadiness> {
    Steadiness::of_rounds(rounds.last_chunk()?)
}

/// The first five consecutive rounds that are steady.
pub fn first_steady(rounds: &[f64]) -> Option<Range<usize>> {
    let steady = |five: &[f64]| steadiness(five).is_some_and(|found| found.is_steady());
    let first = rounds.windows(STEADY_ROUNDS).position(steady)?;
    Some(first..first + STEADY_ROUNDS)
}

/// The first round after the steady ones that is further from their mean than steady rounds may be from each other: the
/// drive has left its steady state.
pub fn left_steady(rounds: &[f64], steady: &Range<usize>) -> Option<usize> {
    let five = rounds.get(steady.clone()).filter(|five| !five.is_empty())?;
    let mean = five.iter().sum::<f64>() / five.len() as f64;
    let away = |round: &f64| (round / mean - 1.0).abs() > MOST_RANGE;
    rounds.get(steady.end..)?.iter().position(away).map(|place| steady.end + place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_and_drift_are_those_of_the_values() {
        let found = steadiness(&[7.0, 90.0, 95.0, 100.0, 105.0, 110.0]).unwrap();
        assert!((found.range - 0.2).abs() < 1e-12 && (found.drift - 0.2).abs() < 1e-12, "{found:?}");
        // By hand: the slope is (-2 x 104 - 96 + 96 + 2 x 104) / 10 = 0.
        let found = steadiness(&[104.0, 96.0, 100.0, 96.0, 104.0]).unwrap();
        assert!((found.range - 0.08).abs() < 1e-12 && found.drift.abs() < 1e-12, "{found:?}");
        // (-2 x 100 - 100 + 100 + 2 x 110) / 10 = 2 a round, 8 of 102 over all.
        let found = steadiness(&[100.0, 100.0, 100.0, 100.0, 110.0]).unwrap();
        assert!((found.drift - 8.0 / 102.0).abs() < 1e-12 && found.is_steady(), "{found:?}");
        assert!((found.excess() - 0.8 / 1.02).abs() < 1e-12, "the drift is nearer to its limit: {found:?}");
        assert!(Steadiness { range: 0.22, drift: 0.01 }.excess() > 1.0);
        assert_eq!(steadiness(&[100.0; 4]), None);
        for odd in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(steadiness(&[100.0, 100.0, odd, 100.0, 100.0]), None, "{odd}");
        }
    }

    #[test]
    fn a_fast_beginning_is_left_out() {
        let rounds = [300.0, 290.0, 180.0, 110.0, 101.0, 99.0, 100.0, 102.0, 98.0, 100.0];
        // From 110 on the line falls by 7 in 102.
        assert_eq!(first_steady(&rounds), Some(3..8));
        assert_eq!(first_steady(&rounds[..7]), None, "four steady rounds are not five");
    }

    #[test]
    fn what_drifts_spikes_or_alternates_is_not_steady() {
        let drifting: Vec<f64> = (0..25).map(|round| 200.0 * 0.96_f64.powi(round)).collect();
        assert_eq!(first_steady(&drifting), None, "within the range, but falling");
        assert!(drifting.windows(5).all(|five| steadiness(five).unwrap().range <= 0.2));
        let spiky: Vec<f64> = (0..25).map(|round| if round % 5 == 2 { 130.0 } else { 100.0 }).collect();
        assert_eq!(first_steady(&spiky), None, "no drift about the middle, but out of range");
        let alternating: Vec<f64> = (0..25).map(|round| if round % 2 == 0 { 88.0 } else { 112.0 }).collect();
        assert_eq!(first_steady(&alternating), None);
        assert_eq!(first_steady(&[]), None);
    }

    #[test]
    fn leaving_the_steady_state_is_noticed_and_staying_is_not() {
        let mut rounds = vec![250.0, 100.0, 101.0, 99.0, 100.0, 100.0, 103.0, 119.0, 97.0];
        let steady = first_steady(&rounds).unwrap();
        assert_eq!((steady.clone(), left_steady(&rounds, &steady)), (1..6, None));
        rounds.extend([121.0, 100.0, 60.0]);
        assert_eq!(left_steady(&rounds, &steady), Some(9));
        assert_eq!(left_steady(&rounds, &(20..25)), None);
    }
}
