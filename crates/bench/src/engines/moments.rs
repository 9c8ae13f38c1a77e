//! When the operations of an open loop fall due, whether or not earlier ones have finished.

use stats::random::Random;

/// Poisson arrivals: random moments whose gaps are exponential and independent.
pub(crate) struct Moments {
    random: Random,
    gap: f64,
    /// The next moment, with its fraction, so that rounding does not change the rate.
    next: f64,
}

impl Moments {
    pub(crate) fn new(gap: f64, seed: u64) -> Self {
        Self { random: Random::new(seed), gap, next: 0.0 }
    }

    /// Continues from this time stamp; operations that were due before it and have not begun are dropped.
    pub(crate) fn restart(&mut self, now: u64) {
        self.next = now as f64;
        self.advance();
    }

    pub(crate) fn due(&self) -> u64 {
        model::unit::whole_part(self.next)
    }

    pub(crate) fn advance(&mut self) {
        // 1 - u lies in (0, 1].
        self.next -= self.gap * (1.0 - self.random.unit()).ln();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_follow_the_rate_and_the_seed() {
        let of = |seed| {
            let mut moments = Moments::new(400.5, seed);
            moments.restart(1 << 50);
            let mut next = || {
                moments.advance();
                moments.due()
            };
            (0..40_000).map(|_| next()).collect::<Vec<u64>>()
        };
        let due = of(3);
        assert!(due == of(3) && due != of(4));
        assert!(due.is_sorted());
        let gaps: Vec<f64> = due.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        // The mean of 40 000 exponential gaps is known to half a per cent; five of that.
        assert!((mean / 400.5 - 1.0).abs() < 0.025, "{mean}");
        // What distinguishes exponential gaps: as many above the mean as e^-1, and above twice of it e^-2.
        for (times, share) in [(1.0, (-1_f64).exp()), (2.0, (-2_f64).exp())] {
            let above = gaps.iter().filter(|gap| **gap > times * mean).count() as f64 / gaps.len() as f64;
            assert!((above - share).abs() < 0.015, "{above} above {times} times the mean");
        }
    }
}
