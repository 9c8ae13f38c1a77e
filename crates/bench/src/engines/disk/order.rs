//! The order in which a lane accesses the blocks of its part of the file. Threads that write have separate parts, and so have
//! lanes that write at random, so that a block that is read back can only be this lane's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::io::DiskPattern;
use stats::random::Random;

mod permutation;

use permutation::Permutation;

/// From one block to the next of a strided pass: `IOzone`'s (`-i 5`, a stride of 17 records). No power of two, so that
/// successive blocks are not on one member of an array or one bank of a drive.
const STRIDE: u64 = 17;
const NONE: u64 = u64::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) first: u64,
    pub(super) count: u64,
}

impl Span {
    /// Part `part` of `parts` of a file; together the parts are all of it.
    pub(super) fn part(parts: u64, part: u64, blocks: u64) -> Self {
        let begin = |part: u64| u64::try_from(u128::from(blocks) * u128::from(part) / u128::from(parts.max(1)));
        let (first, end) = (begin(part).unwrap_or(0), begin(part + 1).unwrap_or(blocks));
        Self { first, count: end.saturating_sub(first) }
    }

    /// This many blocks of it (or all, if it has fewer), at a position that the seed decides.
    pub(super) fn stretch(self, blocks: u64, seed: u64) -> Self {
        let count = blocks.min(self.count);
        let first = self.first + Random::new(seed).below(self.count - count + 1);
        Self { first, count }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Ascending,
    Descending,
    /// Every seventeenth block from the first on, then every seventeenth from the second on, and so forth.
    Strided,
    /// At random, each block once in a pass: list `list` of the `lists` that a permutation is dealt out to.
    Shuffled {
        permutation: Permutation,
        lists: u64,
        list: u64,
    },
}

impl Order {
    /// The block of a span of `count` that is accessed after `position` other blocks.
    #[inline]
    fn block(self, position: u64, count: u64) -> u64 {
        match self {
            Self::Ascending => position,
            Self::Descending => count - 1 - position,
            Self::Shuffled { permutation, lists, list } => permutation.at(position * lists + list),
            Self::Strided => {
                // As many rounds as the stride, the first of which have a block more.
                let (each, longer) = (count / STRIDE, count % STRIDE);
                let of_longer = longer * (each + 1);
                let (round, step) = if position < of_longer {
                    (position / (each + 1), position % (each + 1))
                } else {
                    let later = position - of_longer;
                    (longer + later / each, later % each)
                };
                round + step * STRIDE
            }
        }
    }
}

pub(super) struct Stream {
    order: Order,
    span: Span,
    cursor: AtomicU64,
    /// The block that each lane has in flight, or [`NONE`]; empty where lanes may meet.
    taken: Vec<AtomicU64>,
}

impl Stream {
    /// The next block; where lanes must not meet, one that no other lane has in flight.
    #[inline]
    fn next(&self, lane: usize) -> u64 {
        let Some(own) = self.taken.get(lane) else { return self.block() };
        // Ends, because there are more blocks than lanes.
        loop {
            let block = self.block();
            // Stored before the check: of two lanes with the same block at least one sees the other.
            own.store(block, Ordering::SeqCst);
            let mut others = self.taken.iter().enumerate().filter(|(other, _)| *other != lane);
            if others.all(|(_, taken)| taken.load(Ordering::SeqCst) != block) {
                return block;
            }
        }
    }

    #[inline]
    fn block(&self) -> u64 {
        let count = self.span.count.max(1);
        let position = self.cursor.fetch_add(1, Ordering::Relaxed) % count;
        self.span.first + self.order.block(position, count)
    }
}

pub(super) enum BlockOrder {
    /// Drawn at random from `count` blocks, from `first` on and `step` apart.
    Random {
        random: Random,
        first: u64,
        step: u64,
        count: u64,
    },
    InOrder {
        stream: Arc<Stream>,
        lane: usize,
    },
}

impl BlockOrder {
    /// Every `step`th block of the span from its block `first` on, at random: the lanes range over all of it and never meet.
    pub(super) fn every(step: u64, first: u64, span: Span, seed: u64) -> Self {
        let count = span.count.saturating_sub(first).div_ceil(step.max(1));
        Self::Random { random: Random::new(seed), first: span.first + first, step, count }
    }

    /// Through the span in this order (ascending for a random pattern), from a position that the seed decides. If `apart` is
    /// not 0, no two of that many lanes have the same block in flight, provided that the span has more blocks.
    pub(super) fn along(pattern: DiskPattern, span: Span, apart: u32, seed: u64) -> Self {
        let order = match pattern {
            DiskPattern::Sequential | DiskPattern::Random => Order::Ascending,
            DiskPattern::Backward => Order::Descending,
            DiskPattern::Strided => Order::Strided,
        };
        let cursor = AtomicU64::new(Random::new(seed).below(span.count.max(1)));
        let apart = if span.count > u64::from(apart) { apart } else { 0 };
        let taken = (0..apart).map(|_| AtomicU64::new(NONE)).collect();
        Self::InOrder { stream: Arc::new(Stream { order, span, cursor, taken }), lane: 0 }
    }

    /// List `list` of the `lists` that a random order of all blocks is dealt out to, from a position that `from` decides.
    pub(super) fn dealt(lists: u64, list: u64, blocks: u64, seed: u64, from: u64) -> Self {
        let count = blocks.saturating_sub(list).div_ceil(lists.max(1));
        let order = Order::Shuffled { permutation: Permutation::new(blocks, seed), lists, list };
        let cursor = AtomicU64::new(Random::new(from).below(count.max(1)));
        let stream = Stream { order, span: Span { first: 0, count }, cursor, taken: Vec::new() };
        Self::InOrder { stream: Arc::new(stream), lane: 0 }
    }

    /// Accesses in a row that certainly lead to different blocks, over all lanes that share the order.
    pub(super) fn pass(&self) -> u64 {
        match self {
            Self::Random { .. } => 1,
            Self::InOrder { stream, .. } => stream.span.count,
        }
    }

    /// The same stream for another lane of the thread, unless each has a part of its own.
    pub(super) fn share(&self, lane: usize) -> Option<Self> {
        match self {
            Self::Random { .. } => None,
            Self::InOrder { stream, .. } => Some(Self::InOrder { stream: Arc::clone(stream), lane }),
        }
    }

    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        match self {
            Self::Random { random, first, step, count } => *first + random.below(*count) * *step,
            Self::InOrder { stream, lane } => stream.next(*lane),
        }
    }

    /// The last block is no longer in flight.
    #[inline]
    pub(super) fn release(&self) {
        if let Self::InOrder { stream, lane } = self
            && let Some(own) = stream.taken.get(*lane)
        {
            own.store(NONE, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const ORDERED: [DiskPattern; 3] = [DiskPattern::Sequential, DiskPattern::Backward, DiskPattern::Strided];

    fn whole(blocks: u64) -> Span {
        Span::part(1, 0, blocks)
    }

    /// A pass in this order, by its definition.
    fn pass(pattern: DiskPattern, blocks: u64) -> Vec<u64> {
        match pattern {
            DiskPattern::Backward => (0..blocks).rev().collect(),
            DiskPattern::Strided => (0..17).flat_map(|begin| (begin..blocks).step_by(17)).collect(),
            _ => (0..blocks).collect(),
        }
    }

    #[test]
    fn a_pass_is_in_the_order_that_is_declared_and_reaches_each_block_once() {
        for pattern in ORDERED {
            for blocks in (1..120).chain([1000, 4913, 16 * 17]) {
                let expected = pass(pattern, blocks);
                assert_eq!(expected.iter().collect::<BTreeSet<_>>().len() as u64, blocks);
                let mut order = BlockOrder::along(pattern, whole(blocks), 0, blocks);
                let seen: Vec<u64> = (0..2 * blocks).map(|_| order.next()).collect();
                // From its first block on the same order, round and round.
                let begin = expected.iter().position(|block| *block == seen[0]).unwrap();
                let round = expected.iter().cycle().skip(begin).take(seen.len());
                assert!(seen.iter().eq(round), "{pattern}, {blocks} blocks: {seen:?}");
            }
        }
    }

    #[test]
    fn every_block_lies_in_the_file_and_no_two_writers_meet() {
        let mut random = Random::new(17);
        for case in 0..300 {
            let (blocks, lanes) = (8 + random.below(500), 1 + random.below(8));
            let seed = random.next_u64();
            let mut seen = BTreeSet::new();
            for lane in 0..lanes {
                let mut order = match ORDERED.get(case % 4) {
                    Some(&pattern) => BlockOrder::along(pattern, Span::part(lanes, lane, blocks), 0, seed),
                    None => BlockOrder::every(lanes, lane, whole(blocks), seed),
                };
                let part: BTreeSet<u64> = (0..4000).map(|_| order.next()).collect();
                assert!(part.iter().all(|block| *block < blocks), "{blocks} blocks, {lanes} lanes");
                assert!(seen.is_disjoint(&part), "{blocks} blocks, {lanes} lanes: two lanes met");
                seen.extend(part);
            }
            assert_eq!(seen.len() as u64, blocks, "{lanes} lanes have not seen every block");
        }
    }

    #[test]
    fn a_stretch_lies_in_its_span_anywhere() {
        let span = Span { first: 100, count: 50 };
        let firsts: BTreeSet<u64> = (0..2000)
            .map(|seed| {
                let stretch = span.stretch(20, seed);
                assert!(stretch.count == 20 && stretch.first >= 100 && stretch.first + 20 <= 150, "{stretch:?}");
                let mut lanes = (0..3).map(|lane| BlockOrder::every(3, lane, stretch, seed)).collect::<Vec<_>>();
                let seen: BTreeSet<u64> =
                    (0..400).flat_map(|_| lanes.iter_mut().map(BlockOrder::next).collect::<Vec<_>>()).collect();
                assert!(seen.into_iter().eq(stretch.first..stretch.first + 20), "each block of it, and no other");
                stretch.first
            })
            .collect();
        assert!(firsts.into_iter().eq(100..=130), "each place comes up");
        assert_eq!(span.stretch(51, 1), span, "there is no more");
    }

    #[test]
    fn the_lanes_of_a_thread_share_a_stream() {
        for pattern in ORDERED {
            let span = Span::part(2, 1, 100);
            let mut alone = BlockOrder::along(pattern, span, 0, 4);
            let mut one = BlockOrder::along(pattern, span, 2, 4);
            let mut other = one.share(1).unwrap();
            for _ in 0..120 {
                assert_eq!([one.next(), other.next()], [alone.next(), alone.next()]);
                one.release();
                other.release();
            }
        }
        assert!(BlockOrder::every(1, 0, whole(10), 1).share(1).is_none());
    }

    #[test]
    fn a_lane_that_is_late_keeps_its_block_to_itself() {
        let mut late = BlockOrder::along(DiskPattern::Sequential, whole(8), 2, 4);
        let mut other = late.share(1).unwrap();
        let kept = late.next();
        for _ in 0..100 {
            assert_ne!(other.next(), kept);
            other.release();
        }
        late.release();
        assert!((0..8).any(|_| other.next() == kept), "it is free again");
        // Where lanes may meet, no block is kept.
        let mut free = BlockOrder::along(DiskPattern::Sequential, whole(8), 0, 4);
        let (first, mut other) = (free.next(), free.share(1).unwrap());
        assert!((0..8).any(|_| other.next() == first));
    }

    #[test]
    fn lanes_on_threads_of_their_own_never_meet() {
        const LANES: u32 = 4;
        let order = BlockOrder::along(DiskPattern::Strided, whole((2 * LANES).into()), LANES, 9);
        let held: Vec<AtomicU64> = (0..2 * LANES).map(|_| AtomicU64::new(0)).collect();
        std::thread::scope(|scope| {
            for lane in 0..LANES {
                let mut own = order.share(lane as usize).unwrap();
                let held = &held;
                scope.spawn(move || {
                    for _ in 0..20_000 {
                        let block = usize::try_from(own.next()).unwrap();
                        assert_eq!(held[block].fetch_add(1, Ordering::SeqCst), 0, "block {block} was in flight");
                        held[block].fetch_sub(1, Ordering::SeqCst);
                        own.release();
                    }
                });
            }
        });
    }

    #[test]
    fn random_blocks_are_even_and_follow_the_seed() {
        let draw = |seed| {
            let mut order = BlockOrder::every(1, 0, whole(16), seed);
            (0..16_000).map(|_| order.next()).collect::<Vec<u64>>()
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
