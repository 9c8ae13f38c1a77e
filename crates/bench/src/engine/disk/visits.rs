//! Which block comes next: the order in which a lane visits its part of the file.
//!
//! Numbers of blocks only; no I/O. Lanes that write have parts of their own, so that what is read back later can only be
//! what this very lane wrote.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stats::random::Random;

/// The blocks of one lane, in the order of its visits, without end.
#[derive(Debug)]
pub(super) enum Visits {
    /// Drawn at random, each of the part alike.
    Random {
        /// What is drawn with.
        random: Random,
        /// The first block of the part.
        first: u64,
        /// From one block of the part to the next.
        step: u64,
        /// Blocks of the part.
        count: u64,
    },
    /// One after the other, and round again. Lanes of one thread share the cursor: together they are one stream.
    Sequential {
        /// Visits so far.
        cursor: Arc<AtomicU64>,
        /// The first block of the part.
        first: u64,
        /// Blocks of the part.
        count: u64,
    },
}

impl Visits {
    /// Any block of the file.
    pub(super) fn anywhere(blocks: u64, seed: u64) -> Self {
        Self::every(1, 0, blocks, seed)
    }

    /// Every `step`th block of the file from `first` on, so that all lanes range over the whole of it and none meets
    /// another.
    pub(super) fn every(step: u64, first: u64, blocks: u64, seed: u64) -> Self {
        let count = blocks.saturating_sub(first).div_ceil(step.max(1));
        Self::Random { random: Random::new(seed), first, step, count }
    }

    /// Part `part` of `parts` of the file, from a block on that the seed decides.
    pub(super) fn along(parts: u64, part: u64, blocks: u64, seed: u64) -> Self {
        let begin = |part: u64| u64::try_from(u128::from(blocks) * u128::from(part) / u128::from(parts.max(1)));
        let (first, end) = (begin(part).unwrap_or(0), begin(part + 1).unwrap_or(blocks));
        let count = end - first;
        Self::Sequential { cursor: Arc::new(AtomicU64::new(Random::new(seed).below(count))), first, count }
    }

    /// For another lane of the same thread: the same stream, or a part of its own.
    pub(super) fn share(&self) -> Option<Self> {
        match self {
            Self::Random { .. } => None,
            Self::Sequential { cursor, first, count } => {
                Some(Self::Sequential { cursor: Arc::clone(cursor), first: *first, count: *count })
            }
        }
    }

    /// The next block.
    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        match self {
            Self::Random { random, first, step, count } => *first + random.below(*count) * *step,
            Self::Sequential { cursor, first, count } => {
                *first + cursor.fetch_add(1, Ordering::Relaxed) % (*count).max(1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_visit_lies_in_the_file_and_no_two_writers_meet() {
        let mut random = Random::new(17);
        for _ in 0..300 {
            let (blocks, lanes) = (8 + random.below(500), 1 + random.below(8));
            let seed = random.next_u64();
            for of in [Visits::every as fn(u64, u64, u64, u64) -> Visits, Visits::along] {
                let mut seen = BTreeSet::new();
                for lane in 0..lanes {
                    let mut visits = of(lanes, lane, blocks, seed);
                    let part: BTreeSet<u64> = (0..4000).map(|_| visits.next()).collect();
                    assert!(part.iter().all(|block| *block < blocks), "{blocks} blocks, {lanes} lanes");
                    assert!(seen.is_disjoint(&part), "{blocks} blocks, {lanes} lanes: two lanes met");
                    seen.extend(part);
                }
                assert_eq!(seen.len() as u64, blocks, "{lanes} lanes have not seen every block");
            }
        }
    }

    #[test]
    fn a_stream_ascends_and_wraps_and_its_lanes_share_it() {
        let mut one = Visits::along(2, 1, 10, 4);
        let mut other = one.share().unwrap();
        let seen: Vec<u64> = (0..6).flat_map(|_| [one.next(), other.next()]).collect();
        assert!(seen.windows(2).all(|pair| pair[1] == if pair[0] == 9 { 5 } else { pair[0] + 1 }), "{seen:?}");
        assert!(Visits::anywhere(10, 1).share().is_none());
    }

    #[test]
    fn random_visits_are_even_and_follow_the_seed() {
        let draw = |seed| {
            let mut visits = Visits::anywhere(16, seed);
            (0..16_000).map(|_| visits.next()).collect::<Vec<u64>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        let mut counts = [0_i32; 16];
        for block in draw(3) {
            counts[usize::try_from(block).unwrap()] += 1;
        }
        // Expected 1000 each with a standard deviation of 31: five of them are 153.
        assert!(counts.iter().all(|count| (count - 1000).abs() < 153), "{counts:?}");
    }
}
