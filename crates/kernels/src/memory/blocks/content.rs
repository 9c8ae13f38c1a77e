//! The contents of blocks.

use crate::memory::pattern::triangle;
use crate::rng::{GOLDEN, Rng};

/// Bytes of a word.
pub const WORD_BYTES: usize = size_of::<u64>();

/// The word at offset `n` bytes is `first + n * step` with an odd step, so no word occurs twice below 2^61 words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    pub(crate) first: u64,
}

/// A word with a wrong value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("word {word} holds {found:#x} instead of {expected:#x}")]
#[expect(missing_docs, reason = "the other fields are what their names say")]
pub struct WrongWord {
    /// The word, from the first one compared.
    pub word: usize,
    pub expected: u64,
    pub found: u64,
}

impl Content {
    pub(crate) const BYTE_STEP: u64 = GOLDEN;
    pub(crate) const WORD_STEP: u64 = GOLDEN.wrapping_mul(WORD_BYTES as u64);

    /// The content of a buffer.
    pub const fn seeded(seed: u64) -> Self {
        Self { first: Rng::new(seed).next() }
    }

    /// Another content that differs from this one in every word.
    #[must_use]
    pub const fn other(self) -> Self {
        Self { first: !self.first }
    }

    /// Its word `index`.
    pub const fn word(self, index: usize) -> u64 {
        self.first.wrapping_add(Self::WORD_STEP.wrapping_mul(index as u64))
    }

    /// Writes it into `words`, from its word `first` on.
    pub fn fill(self, words: &mut [u64], first: usize) {
        let mut next = self.word(first);
        for word in words {
            *word = next;
            next = next.wrapping_add(Self::WORD_STEP);
        }
    }

    /// Compares `words` with it, from its word `first` on.
    pub fn verify(self, words: &[u64], first: usize) -> Result<(), WrongWord> {
        let mut expected = self.word(first);
        for (word, &found) in words.iter().enumerate() {
            if found != expected {
                return Err(WrongWord { word, expected, found });
            }
            expected = expected.wrapping_add(Self::WORD_STEP);
        }
        Ok(())
    }

    /// The sum of `count` words from word `first` on, modulo 2^64.
    pub const fn sum(self, first: usize, count: usize) -> u64 {
        let count = count as u64;
        count.wrapping_mul(self.word(first)).wrapping_add(Self::WORD_STEP.wrapping_mul(triangle(count)))
    }
}

/// The whole words of a byte buffer, without the ends if it is not aligned to a word.
pub fn words(bytes: &[u8]) -> &[u64] {
    // SAFETY: any eight bytes are a valid word; `align_to` ensures alignment and bounds.
    unsafe { bytes.align_to().1 }
}

/// The whole words of a byte buffer, writable.
pub fn words_mut(bytes: &mut [u8]) -> &mut [u64] {
    // SAFETY: as in `words`; and any word written is valid as bytes.
    unsafe { bytes.align_to_mut().1 }
}
