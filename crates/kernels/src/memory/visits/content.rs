//! What visited memory is filled with.

use core::fmt;

use crate::rng::{GOLDEN, Rng};

/// Bytes of a word.
pub const WORD_BYTES: usize = size_of::<u64>();

/// What memory is filled with: the word at offset `n` bytes is `first + n * step` with an odd step, so no word occurs
/// twice below 2^61 words, and none is zero but by chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    pub(crate) first: u64,
}

/// A word that is not what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongWord {
    /// Which word, from the first one compared.
    pub word: usize,
    /// What it should be.
    pub expected: u64,
    /// What is there.
    pub found: u64,
}

impl fmt::Display for WrongWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { word, expected, found } = self;
        write!(f, "word {word} holds {found:#x} instead of {expected:#x}")
    }
}

impl core::error::Error for WrongWord {}

impl Content {
    pub(crate) const BYTE_STEP: u64 = GOLDEN;
    pub(crate) const WORD_STEP: u64 = GOLDEN.wrapping_mul(WORD_BYTES as u64);

    /// The content of a buffer.
    pub const fn seeded(seed: u64) -> Self {
        Self { first: Rng::new(seed).next() }
    }

    /// Another content, which differs from this one in every word.
    #[must_use]
    pub const fn other(self) -> Self {
        Self { first: !self.first }
    }

    /// Word `index` of it.
    pub const fn word(self, index: usize) -> u64 {
        self.first.wrapping_add(Self::WORD_STEP.wrapping_mul(index as u64))
    }

    /// Writes it, `words` beginning at word `first` of it.
    pub fn fill(self, words: &mut [u64], first: usize) {
        let mut next = self.word(first);
        for word in words {
            *word = next;
            next = next.wrapping_add(Self::WORD_STEP);
        }
    }

    /// Compares every word with it, `words` beginning at word `first` of it.
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
        // Of two neighbours one is even.
        let pairs = if count.is_multiple_of(2) {
            (count / 2).wrapping_mul(count.wrapping_sub(1))
        } else {
            count.wrapping_mul(count.wrapping_sub(1) / 2)
        };
        count.wrapping_mul(self.word(first)).wrapping_add(Self::WORD_STEP.wrapping_mul(pairs))
    }
}

/// The whole words of a byte buffer (which starts on a word if it is page-aligned; else the ends are left out).
pub fn words(bytes: &[u8]) -> &[u64] {
    // SAFETY: any eight bytes are a valid word; `align_to` sees to alignment and bounds.
    unsafe { bytes.align_to().1 }
}

/// The whole words of a byte buffer, to be written.
pub fn words_mut(bytes: &mut [u8]) -> &mut [u64] {
    // SAFETY: as in `words`; and any word written is valid as bytes.
    unsafe { bytes.align_to_mut().1 }
}
