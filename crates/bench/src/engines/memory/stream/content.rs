//! What the arrays of a stream hold: distinct words, or numbers that fp64 computes with exactly.

use kernels::lines::CacheLine;
use kernels::memory::{combined, is_fp64};
use kernels::pattern::Pattern;
use model::isa::MemoryOp;
use stats::random::Random;

#[derive(Clone, Debug)]
pub(super) enum Content {
    Words(Pattern),
    /// Consecutive whole numbers as fp64: all sums and products are exact, however they are rounded or fused.
    Numbers {
        first: u64,
    },
}

const NUMBERS_APART: u64 = 1 << 44;
const NUMBERS_DRAWN: u64 = 1 << 32;

impl Content {
    pub(super) fn of_array(op: MemoryOp, seed: u64, index: u64) -> Self {
        let seed = seed.wrapping_add(index);
        if is_fp64(op) {
            Self::Numbers { first: 1 + index * NUMBERS_APART + Random::new(seed).below(NUMBERS_DRAWN) }
        } else {
            Self::Words(Pattern::seeded(seed))
        }
    }

    pub(super) fn line(&self, index: usize) -> CacheLine {
        match self {
            Self::Words(pattern) => pattern.line(index),
            Self::Numbers { first } => {
                let first = first + (index * CacheLine::WORDS) as u64;
                CacheLine(std::array::from_fn(|word| ((first + word as u64) as f64).to_bits()))
            }
        }
    }

    pub(super) fn fill(&self, lines: &mut [CacheLine]) {
        match self {
            Self::Words(pattern) => pattern.fill(lines),
            Self::Numbers { .. } => lines.iter_mut().enumerate().for_each(|(index, line)| *line = self.line(index)),
        }
    }
}

/// Cache line `index` of the result of an operation on its sources.
pub(super) fn made_of<'a>(op: MemoryOp, sources: impl Iterator<Item = &'a Content>, index: usize) -> CacheLine {
    let lines: Vec<CacheLine> = sources.map(|source| source.line(index)).collect();
    CacheLine(std::array::from_fn(|word| combined(op, &lines.iter().map(|line| line.0[word]).collect::<Vec<_>>())))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_line_is_zero_or_occurs_twice_in_any_array() {
        for op in [MemoryOp::Mix31, MemoryOp::Triad] {
            let lines = (0..3).flat_map(|index| {
                let content = Content::of_array(op, 7, index);
                (0..1000).map(move |line| content.line(line).0)
            });
            let unique: HashSet<[u64; 8]> = lines.collect();
            assert_eq!(unique.len(), 3000, "{op}");
            assert!(unique.iter().all(|line| line.iter().all(|word| *word != 0)), "{op}");
        }
    }

    #[test]
    fn what_is_filled_in_is_what_each_line_should_be() {
        for op in [MemoryOp::Copy, MemoryOp::Add] {
            let content = Content::of_array(op, 3, 1);
            let mut lines = [CacheLine::default(); 20];
            content.fill(&mut lines);
            assert!(lines.iter().enumerate().all(|(index, line)| *line == content.line(index)), "{op}");
        }
    }

    #[test]
    fn numbers_are_exact_to_the_last_line_of_the_last_array() {
        let contents: Vec<Content> = (0..2).map(|index| Content::of_array(MemoryOp::Triad, 5, index)).collect();
        let line = made_of(MemoryOp::Triad, contents.iter(), 1 << 34);
        let whole = |content: &Content| match content {
            Content::Numbers { first } => first + (8 << 34),
            Content::Words(_) => panic!("triad computes with numbers"),
        };
        let expected = whole(&contents[0]) + 3 * whole(&contents[1]);
        assert!(expected < 1 << 53);
        assert_eq!(f64::from_bits(line.0[0]).to_bits(), (expected as f64).to_bits());
        assert_eq!((expected as f64 + 1.0).to_bits(), ((expected + 1) as f64).to_bits());
    }
}
