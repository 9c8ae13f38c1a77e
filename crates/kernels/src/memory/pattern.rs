//! The contents of memory: never zero, different in every line and so in every page, cheap to make and to predict.
//!
//! Word `w` of line `n` is `base[w] + n * STEP`. Page-unique data cannot be merged (KSM) or elided by a core that drops
//! stores of zero over zero (Downs, "Hardware store elimination", travisdowns.github.io, 2020).

use crate::memory::lines::CacheLine;
use crate::rng::{GOLDEN, Rng};

/// The contents of consecutive lines.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    pub(crate) words: [u64; CacheLine::WORDS],
    /// Added to every word from one line to the next: eight equal words, for vector loops.
    pub(crate) step: [u64; CacheLine::WORDS],
}

/// A word that differs from the pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, word {word} holds {found:#x} instead of {expected:#x}")]
#[expect(missing_docs, reason = "the other fields are what their names say")]
pub struct WrongWord {
    /// The line, from the first one compared.
    pub line: usize,
    pub word: usize,
    pub expected: u64,
    pub found: u64,
}

impl Pattern {
    /// The odd number between two lines, 2^64 divided by the golden ratio: its multiples spread evenly.
    const STEP: u64 = GOLDEN;

    /// The pattern that begins at line 0 of a buffer.
    pub const fn seeded(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut words = [0; CacheLine::WORDS];
        let mut word = 0;
        while word < CacheLine::WORDS {
            words[word] = rng.next();
            word += 1;
        }
        Self { words, step: [Self::STEP; CacheLine::WORDS] }
    }

    /// The same pattern `lines` lines further on.
    #[must_use]
    pub fn after(&self, lines: usize) -> Self {
        let ahead = Self::STEP.wrapping_mul(lines as u64);
        Self { words: self.words.map(|word| word.wrapping_add(ahead)), ..*self }
    }

    /// Cache line `index` of the pattern.
    pub fn line(&self, index: usize) -> CacheLine {
        CacheLine(self.after(index).words)
    }

    /// Writes the pattern, in plain Rust: to populate a buffer, and as the oracle for the loops that write it.
    pub fn fill(&self, lines: &mut [CacheLine]) {
        let mut words = self.words;
        for line in lines {
            *line = CacheLine(words);
            words = words.map(|word| word.wrapping_add(Self::STEP));
        }
    }

    /// Compares every word of `lines` with the pattern.
    pub fn verify(&self, lines: &[CacheLine]) -> Result<(), WrongWord> {
        let mut expected = self.words;
        for (line, found) in lines.iter().enumerate() {
            if expected != found.0 {
                let word = (0..CacheLine::WORDS).find(|&word| expected[word] != found.0[word]).unwrap_or(0);
                return Err(WrongWord { line, word, expected: expected[word], found: found.0[word] });
            }
            expected = expected.map(|word| word.wrapping_add(Self::STEP));
        }
        Ok(())
    }

    /// The sum, modulo 2^64, of the first `words` words of `count` lines that are `apart` lines from each other: what
    /// one pass of a reading stream adds.
    pub fn sum(&self, count: usize, apart: usize, words: usize) -> u64 {
        let (count, words) = (count as u64, &self.words[..words]);
        let of_first = words.iter().fold(0_u64, |sum, word| sum.wrapping_add(*word));
        let step = Self::STEP.wrapping_mul(apart as u64).wrapping_mul(words.len() as u64);
        of_first.wrapping_mul(count).wrapping_add(step.wrapping_mul(triangle(count)))
    }
}

pub(crate) const fn triangle(count: u64) -> u64 {
    // One of the two factors is even.
    if count.is_multiple_of(2) {
        (count / 2).wrapping_mul(count.wrapping_sub(1))
    } else {
        count.wrapping_mul(count / 2)
    }
}
