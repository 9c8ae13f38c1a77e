//! A random order in which every block comes once, computed without a list.

use stats::random::Random;

/// Rounds of mixing, each of which folds the high bits down; after three, no bit of the position shows in the number.
const ROUNDS: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Permutation {
    count: u64,
    /// Numbers below a power of two are permuted; those not below the count are skipped.
    mask: u64,
    shift: u32,
    /// An odd factor and a summand for each round.
    rounds: [(u64, u64); ROUNDS],
}

impl Permutation {
    pub(super) fn new(count: u64, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mask = count.max(2).checked_next_power_of_two().map_or(u64::MAX, |power| power - 1);
        let rounds = std::array::from_fn(|_| (random.next_u64() | 1, random.next_u64()));
        Self { count, mask, shift: mask.count_ones().div_ceil(2), rounds }
    }

    /// The number at this position, which is below the count too.
    #[inline]
    pub(super) fn at(&self, place: u64) -> u64 {
        let mut number = place & self.mask;
        loop {
            for (factor, summand) in self.rounds {
                number = number.wrapping_mul(factor).wrapping_add(summand) & self.mask;
                number ^= number >> self.shift;
            }
            // Walking on from too large a number ends at a number of its own, because the position itself is on the same cycle.
            if number < self.count || self.count == 0 {
                return number;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_number_comes_once() {
        for count in (1..200).chain([255, 256, 257, 4095, 4096, 4097, 10_000]) {
            for seed in 0..4 {
                let permutation = Permutation::new(count, seed);
                let seen: BTreeSet<u64> = (0..count).map(|place| permutation.at(place)).collect();
                assert!(seen.len() as u64 == count && seen.last() == Some(&(count - 1)), "{count} of seed {seed}");
            }
        }
    }

    #[test]
    fn the_order_is_no_order_and_follows_the_seed() {
        let count = 1_u64 << 16;
        let of = |seed| {
            let permutation = Permutation::new(count, seed);
            (0..count).map(|place| permutation.at(place)).collect::<Vec<u64>>()
        };
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        // Blocks next to each other in time are next to each other in place, as far as readahead would notice, as seldom as by
        // chance: 1 in 1024 within 32 blocks to either side.
        let near = of(3).windows(2).filter(|pair| pair[0].abs_diff(pair[1]) <= 32).count();
        assert!(near < 200, "{near} adjacent blocks");
        // In equal parts of the time all quarters of the file are accessed equally often.
        for part in of(4).chunks(1 << 12) {
            let first_quarter = part.iter().filter(|block| **block < count / 4).count();
            // 1024 are expected, with a standard deviation of 28.
            assert!(first_quarter.abs_diff(1024) < 140, "{first_quarter}");
        }
    }
}
