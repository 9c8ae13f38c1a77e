//! How a thread's share of an array is divided into iterations, and these into calls of a loop.

use std::ops::Range;

use kernels::lines::{Block, CacheLine};

/// The equal parts of an array, one for each iteration; the rest at its end, less than a block each, is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Granules {
    pub(super) count: usize,
    pub(super) blocks: usize,
    /// Whether a call goes over one granule only.
    one_per_call: bool,
}

/// What one call goes over: adjacent granules, several times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) passes: usize,
}

impl Granules {
    /// Parts of at most `most_bytes`; `None` where the share is less than a block.
    pub(super) fn divide(share_bytes: usize, most_bytes: usize, one_per_call: bool) -> Option<Self> {
        let blocks = share_bytes / size_of::<Block>();
        let count = (blocks * size_of::<Block>()).div_ceil(most_bytes);
        (blocks > 0).then(|| Self { count, blocks: blocks / count, one_per_call })
    }

    pub(super) const fn lines(&self) -> usize {
        self.bytes() / CacheLine::BYTES
    }

    pub(super) const fn bytes(&self) -> usize {
        self.blocks * size_of::<Block>()
    }

    pub(super) const fn all_bytes(&self) -> usize {
        self.count * self.bytes()
    }

    pub(super) const fn blocks_of(&self, span: Span) -> Range<usize> {
        span.first * self.blocks..(span.first + span.count) * self.blocks
    }

    pub(super) const fn lines_of(&self, granule: usize) -> Range<usize> {
        granule * self.lines()..(granule + 1) * self.lines()
    }

    pub(super) fn at(&self, done: u64) -> usize {
        usize::try_from(done % self.count as u64).unwrap_or(0)
    }

    /// The calls that go over `iterations` granules from this one on, round and round.
    pub(super) fn spans(self, first: usize, iterations: u64) -> impl Iterator<Item = Span> {
        let mut at = first;
        let mut left = usize::try_from(iterations).unwrap_or(usize::MAX);
        std::iter::from_fn(move || {
            let together = if self.one_per_call { 1 } else { self.count };
            let span = if left == 0 {
                return None;
            } else if at == 0 && left >= self.count && together == self.count {
                Span { first: 0, count: self.count, passes: left / self.count }
            } else {
                Span { first: at, count: left.min(together).min(self.count - at), passes: 1 }
            };
            at = (at + span.count) % self.count;
            left -= span.count * span.passes;
            Some(span)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_divided_into_equal_parts_of_whole_blocks() {
        let of = |share, most| Granules::divide(share, most, false).map(|granules| (granules.count, granules.blocks));
        assert_eq!(of(511, 1 << 16), None);
        assert_eq!(of(2 << 10, 1 << 16), Some((1, 4)));
        assert_eq!(of(1 << 30, 1 << 16), Some((1 << 14, 128)));
        assert_eq!(of((4 << 10) / 3, 1 << 16), Some((1, 2)));
        assert_eq!(of(96 << 10, 1 << 16), Some((2, 96)));
        for share in (512..1 << 20).step_by(1999) {
            let granules = Granules::divide(share, 1 << 16, false).unwrap();
            assert!(granules.bytes() <= 1 << 16 && granules.all_bytes() <= share, "{share}");
            assert!(share - granules.all_bytes() < 512 * (granules.count + 1), "{share}: {granules:?}");
        }
    }

    #[test]
    fn spans_are_each_iteration_once_in_order() {
        for (count, one_per_call) in [(1, false), (1, true), (3, false), (3, true), (8, false)] {
            let granules = Granules { count, blocks: 2, one_per_call };
            for first in 0..count {
                for iterations in 0..30 {
                    let spans: Vec<Span> = granules.spans(first, iterations).collect();
                    let runs = spans
                        .iter()
                        .flat_map(|span| (0..span.passes).flat_map(move |_| span.first..span.first + span.count));
                    let expected = (0..iterations).map(|done| granules.at(first as u64 + done));
                    assert!(runs.eq(expected), "{granules:?} from {first}: {spans:?}");
                    assert!(!one_per_call || spans.iter().all(|span| span.count == 1));
                }
            }
        }
    }

    #[test]
    fn whole_passes_are_one_call() {
        let granules = Granules { count: 4, blocks: 1, one_per_call: false };
        let spans = granules.spans(3, 1 + 4 * 9 + 2).map(|span| (span.first, span.count, span.passes));
        assert!(spans.eq([(3, 1, 1), (0, 4, 9), (0, 2, 1)]));
    }
}
