//! The contents of the test file: random data that cannot be compressed or merged, of which every page identifies itself. Each
//! sector of 512 bytes has a number in a pool and random words that follow from the file's seed and that number. The first one
//! of a page (or each, where blocks are smaller) has a stamp: offset, process run, lane and count of the write. Blocks that are
//! no whole sectors have a file of words, or of bytes, which follow from the seed, the offset and the process run.

use std::ops::Range;

use model::wire::{Grain, HeldFile};
use stats::random::Random;

/// What a stamp covers where blocks are whole pages: compression and deduplication work on this much or more.
pub(super) const PAGE_BYTES: usize = 4096;
/// The smallest block of any disk.
pub(super) const SECTOR_BYTES: usize = 512;
pub(super) const WORD_BYTES: usize = 8;
const SECTOR_WORDS: usize = SECTOR_BYTES / WORD_BYTES;
const STAMP_WORDS: usize = 4;
const SECTORS_PER_PAGE: u64 = (PAGE_BYTES / SECTOR_BYTES) as u64;
/// In the first word of every sector, under the key of the seed.
const MAGIC: u64 = 0xa55a;
const MAGIC_SHIFT: u32 = 48;
const KIND_SHIFT: u32 = 40;
/// The word of an offset is combined with the process run times this: any odd number with ones all over will do (of
/// `SplitMix64`, Steele, Lea & Flood, OOPSLA 2014).
const LAUNCH_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// The inverse of this factor, modulo 2^64.
const LAUNCH_INVERSE: u64 = 0xf1de_83e1_9937_733d;
/// Bits of the process run, in words and stamps; the other bits of a word reveal faults.
const LAUNCH_BITS: u32 = 24;
/// Bits of the process run in each byte of a file of bytes; the other bits reveal faults.
const MARK_BITS: u32 = 4;
/// Offsets are counted in sectors with 48 bits: 128 PiB.
const PLACE_BITS: u32 = 48;
const COUNT_BITS: u32 = 40;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Origin {
    /// The process run, of which 24 bits are kept; 0 is the layout.
    pub(super) run: u32,
    pub(super) lane: u16,
    /// Blocks that the lane had written before, of which 40 bits are kept.
    pub(super) count: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at byte {at} of the test file {what}")]
pub(super) struct Wrong {
    at: u64,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum What {
    #[error("there are zeros instead of what was written")]
    Zeros,
    #[error("there are data that this run has not written")]
    Foreign,
    #[error("there is what belongs at byte {belongs_at}")]
    Elsewhere { belongs_at: u64 },
    #[error("word {word} of the sector is {found:#x} instead of {expected:#x}")]
    Damaged { word: usize, expected: u64, found: u64 },
    #[error("there is a page made of two")]
    Mixed,
    #[error(
        "the last write is missing: there is block {} of lane {} of process run {}",
        origin.count, origin.lane, origin.run
    )]
    Stale { origin: Origin },
    #[error("the last write is missing: there is a word of process run {run}")]
    StaleWord { run: u32 },
    #[error("the last write is missing: there is a byte of another process run")]
    StaleByte,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SectorKind {
    /// Belongs to the page that begins before it.
    Plain = 0,
    /// Stamped for its whole page.
    Page = 1,
    /// Stamped for itself.
    Sector = 2,
}

impl SectorKind {
    pub(super) fn of_blocks(bytes: u64) -> Self {
        if bytes.is_multiple_of(PAGE_BYTES as u64) { Self::Page } else { Self::Sector }
    }
}

#[derive(Clone, Copy, Debug)]
struct Head {
    kind: SectorKind,
    number: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Contents {
    /// Each of its bits follows from all bits of the seed. It hides the regular words, so that they look random too.
    key: u64,
    grain: Grain,
}

type Sector = [[u8; WORD_BYTES]; SECTOR_WORDS];

impl Contents {
    pub(super) fn new(seed: u64) -> Self {
        Self { key: Random::new(seed).next_u64(), grain: Grain::Sectors }
    }

    pub(super) fn of_file(held: &HeldFile) -> Self {
        Self { grain: held.grain, ..Self::new(held.seed) }
    }

    /// Fills a pool with sectors from number `first` on, without stamps.
    pub(super) fn fill(&self, pool: &mut [u8], first: u32) {
        if self.grain != Grain::Sectors {
            return;
        }
        for (sector, number) in sectors_mut(pool).zip(first..) {
            let mut words = self.words(number);
            for word in &mut *sector {
                *word = words.next_u64().to_le_bytes();
            }
            sector[0] = self.head_word(Head { kind: SectorKind::Plain, number }).to_le_bytes();
        }
    }

    /// Stamps a block, which begins with the pool's sector `first`, for its offset in the file.
    /// Only writes: a pool is larger than the caches, and reads would wait for each stamp's line.
    pub(super) fn stamp(&self, block: &mut [u8], first: u32, offset: u64, kind: SectorKind, origin: Origin) {
        match self.grain {
            Grain::Sectors => {}
            Grain::Words => {
                for (word, at) in block.as_chunks_mut().0.iter_mut().zip((offset..).step_by(WORD_BYTES)) {
                    *word = self.word(at, origin.run).to_le_bytes();
                }
                return;
            }
            Grain::Bytes => {
                let mark = origin.run.to_le_bytes()[0] & ((1 << MARK_BITS) - 1);
                return self.write_bytes(block, offset, mark);
            }
        }
        let bytes = if kind == SectorKind::Page { PAGE_BYTES } else { SECTOR_BYTES };
        let places = (offset..).step_by(bytes).zip((first..).step_by(bytes / SECTOR_BYTES));
        for (piece, (at, number)) in block.chunks_mut(bytes).zip(places) {
            let Some(sector) = sectors_mut(piece).next() else { continue };
            let stamp = self.stamp_words(Head { kind, number }, at, origin);
            for (word, value) in sector.iter_mut().zip(stamp) {
                *word = value.to_le_bytes();
            }
        }
    }

    /// Checks the stamp of a block that was read from this offset, if it has one: one cache line.
    pub(super) fn check_place(&self, block: &[u8], offset: u64) -> Result<(), Wrong> {
        if self.grain != Grain::Sectors {
            return self.check(&block[..block.len().min(WORD_BYTES)], offset, |_| true);
        }
        let Some(sector) = sectors(block).next() else { return Ok(()) };
        self.check_stamp(sector, offset).map(drop)
    }

    /// Checks every byte of whole sectors (or words, or bytes) that were read from this offset; `accept` judges each
    /// origin. Of words only the process run is known, and of bytes the low bits of its number.
    pub(super) fn check(&self, bytes: &[u8], offset: u64, mut accept: impl FnMut(Origin) -> bool) -> Result<(), Wrong> {
        match self.grain {
            Grain::Sectors => {}
            Grain::Words => return self.check_words(bytes, offset, accept),
            Grain::Bytes => return self.check_bytes(bytes, offset, accept),
        }
        // Number of the page's first sector, where it was stamped for the page.
        let mut page = None;
        for (sector, at) in sectors(bytes).zip((offset..).step_by(SECTOR_BYTES)) {
            let wrong = |what| Wrong { at, what };
            let (head, origin) = self.check_stamp(sector, at)?;
            if let Some(origin) = origin.filter(|origin| !accept(*origin)) {
                return Err(wrong(What::Stale { origin }));
            }
            let inside = at / SECTOR_BYTES as u64 % SECTORS_PER_PAGE;
            if inside == 0 {
                page = (head.kind == SectorKind::Page).then_some(head.number);
            }
            let expected = page.map(|first| u64::from(first) + inside);
            if head.kind == SectorKind::Plain && expected.is_some_and(|number| number != u64::from(head.number)) {
                return Err(wrong(What::Mixed));
            }
            let mut words = self.words(head.number);
            let first_word = if head.kind == SectorKind::Plain { 1 } else { STAMP_WORDS };
            for (word, found) in sector.iter().enumerate() {
                let (expected, found) = (words.next_u64(), u64::from_le_bytes(*found));
                if word >= first_word && expected != found {
                    return Err(wrong(What::Damaged { word, expected, found }));
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn word(&self, at: u64, run: u32) -> u64 {
        self.place_word(at) ^ (u64::from(run) & ones(LAUNCH_BITS)).wrapping_mul(LAUNCH_FACTOR)
    }

    /// The word of an offset: mixed until each bit depends on all bits (the finaliser of `SplitMix64`).
    #[inline]
    fn place_word(&self, at: u64) -> u64 {
        let mut mixed = (at / WORD_BYTES as u64).wrapping_mul(LAUNCH_FACTOR) ^ self.key;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Checks every word that was read from this offset: without the word of its offset it must be a process run.
    fn check_words(&self, bytes: &[u8], offset: u64, mut accepted: impl FnMut(Origin) -> bool) -> Result<(), Wrong> {
        for (word, at) in bytes.as_chunks().0.iter().zip((offset..).step_by(WORD_BYTES)) {
            let wrong = |what| Wrong { at, what };
            let found = u64::from_le_bytes(*word);
            let run = (found ^ self.place_word(at)).wrapping_mul(LAUNCH_INVERSE);
            if run > ones(LAUNCH_BITS) {
                return Err(wrong(if found == 0 { What::Zeros } else { What::Foreign }));
            }
            let origin = Origin { run: low(run), ..Origin::default() };
            if !accepted(origin) {
                return Err(wrong(What::StaleWord { run: origin.run }));
            }
        }
        Ok(())
    }

    pub(super) fn is_of_run(&self, found: Origin, run: u32) -> bool {
        let bits = if self.grain == Grain::Bytes { MARK_BITS } else { LAUNCH_BITS };
        u64::from(found.run ^ run) & ones(bits) == 0
    }

    fn write_bytes(&self, block: &mut [u8], offset: u64, mark: u8) {
        for (at, inside, of_word) in words_within(offset, block.len()) {
            let word = self.place_word(at).to_le_bytes();
            for (byte, plain) in block[inside].iter_mut().zip(&word[of_word..]) {
                *byte = plain ^ mark;
            }
        }
    }

    /// Checks every byte that was read from this offset: without the byte of its offset it must be a mark.
    fn check_bytes(&self, bytes: &[u8], offset: u64, mut accepted: impl FnMut(Origin) -> bool) -> Result<(), Wrong> {
        for (at, inside, of_word) in words_within(offset, bytes.len()) {
            let word = self.place_word(at).to_le_bytes();
            for ((found, plain), at) in bytes[inside].iter().zip(&word[of_word..]).zip(at + of_word as u64..) {
                let wrong = |what| Wrong { at, what };
                let run = u32::from(found ^ plain);
                if u64::from(run) > ones(MARK_BITS) {
                    let zeros = bytes.iter().all(|byte| *byte == 0);
                    return Err(wrong(if zeros { What::Zeros } else { What::Foreign }));
                }
                if !accepted(Origin { run, ..Origin::default() }) {
                    return Err(wrong(What::StaleByte));
                }
            }
        }
        Ok(())
    }

    /// The first word of a sector and, where it has one, its stamp, which must be for this offset.
    fn check_stamp(&self, sector: &Sector, at: u64) -> Result<(Head, Option<Origin>), Wrong> {
        let wrong = |what| Wrong { at, what };
        let first = get(sector, 0);
        let Some(head) = self.head(first) else {
            let zeros = sector.iter().flatten().all(|byte| *byte == 0);
            return Err(wrong(if zeros { What::Zeros } else { What::Foreign }));
        };
        if head.kind == SectorKind::Plain {
            let begins_page = at.is_multiple_of(PAGE_BYTES as u64);
            return if begins_page { Err(wrong(What::Foreign)) } else { Ok((head, None)) };
        }
        let (place, when) = (get(sector, 1) ^ self.key, get(sector, 2) ^ self.key);
        let belongs_at = (place & ones(PLACE_BITS)).saturating_mul(SECTOR_BYTES as u64);
        let origin = Origin {
            run: low(when >> COUNT_BITS),
            lane: u16::try_from(place >> PLACE_BITS).unwrap_or(u16::MAX),
            count: when & ones(COUNT_BITS),
        };
        let (expected, found) = (self.seal([first, get(sector, 1), get(sector, 2)]), get(sector, 3));
        if expected != found {
            return Err(wrong(What::Damaged { word: 3, expected, found }));
        }
        if belongs_at != at {
            return Err(wrong(What::Elsewhere { belongs_at }));
        }
        Ok((head, Some(origin)))
    }

    fn words(&self, number: u32) -> Random {
        // By the key and not by the seed: seeds of files differ in single bits, as numbers do, and files would share sectors.
        Random::new(self.key ^ u64::from(number))
    }

    fn head_word(&self, head: Head) -> u64 {
        (MAGIC << MAGIC_SHIFT | (head.kind as u64) << KIND_SHIFT | u64::from(head.number)) ^ self.key
    }

    fn head(&self, word: u64) -> Option<Head> {
        let plain = word ^ self.key;
        let kind = match plain >> u32::BITS ^ MAGIC << (MAGIC_SHIFT - u32::BITS) {
            0 => SectorKind::Plain,
            0x100 => SectorKind::Page,
            0x200 => SectorKind::Sector,
            _ => return None,
        };
        Some(Head { kind, number: low(plain) })
    }

    fn stamp_words(&self, head: Head, at: u64, origin: Origin) -> [u64; STAMP_WORDS] {
        let first = self.head_word(head);
        let place = (u64::from(origin.lane) << PLACE_BITS | (at / SECTOR_BYTES as u64) & ones(PLACE_BITS)) ^ self.key;
        let when = (u64::from(origin.run) << COUNT_BITS | origin.count & ones(COUNT_BITS)) ^ self.key;
        [first, place, when, self.seal([first, place, when])]
    }

    /// A checksum of a stamp's words. Each step is a bijection of its word, so that a single flipped bit is always found.
    fn seal(&self, words: [u64; STAMP_WORDS - 1]) -> u64 {
        let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x5851_f42d_4c95_7f2d).rotate_left(29);
        words.into_iter().fold(self.key, mix)
    }
}

/// The words of a part of a file: the offset of each, the bytes of the part in it, and the first of these in the word.
fn words_within(offset: u64, bytes: usize) -> impl Iterator<Item = (u64, Range<usize>, usize)> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let place = offset + start as u64;
        let of_word = usize::try_from(place % WORD_BYTES as u64).unwrap_or(0);
        let inside = start..bytes.min(start + WORD_BYTES - of_word);
        start = inside.end;
        (!inside.is_empty()).then_some((place - of_word as u64, inside, of_word))
    })
}

fn ones(bits: u32) -> u64 {
    (1 << bits) - 1
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is wanted")]
fn low(word: u64) -> u32 {
    word as u32
}

fn sectors(bytes: &[u8]) -> impl Iterator<Item = &Sector> {
    bytes.as_chunks::<WORD_BYTES>().0.as_chunks::<SECTOR_WORDS>().0.iter()
}

fn sectors_mut(bytes: &mut [u8]) -> impl Iterator<Item = &mut Sector> {
    bytes.as_chunks_mut::<WORD_BYTES>().0.as_chunks_mut::<SECTOR_WORDS>().0.iter_mut()
}

fn get(sector: &Sector, word: usize) -> u64 {
    u64::from_le_bytes(sector[word])
}

#[cfg(test)]
mod tests;
