//! What the test file holds: data that no file system, drive or hypervisor can compress or merge, and of which every
//! page says where it belongs, so that whatever is read can be checked by itself.
//!
//! The unit is the sector of 512 bytes. Every sector has a number in a pool and is filled with random words that follow
//! from the file's seed and that number; its first word names the number. The first sector of a page (or every sector,
//! where blocks are smaller than pages) carries a stamp besides: its place in the file, who wrote it and when. Making a
//! block unique therefore costs one stamp a page, not a fill.
//!
//! Blocks that are no whole sectors are words of 8 bytes in a file of their own: each word follows from the seed, its
//! place and the launch that wrote it, and can be checked by itself. Blocks that are no whole words are bytes in a third
//! one: each is the byte of its word, and half of its bits carry the launch. No I/O here.

use std::fmt;
use std::ops::Range;

use model::wire::{Grain, HeldFile};
use stats::random::Random;

/// What a stamp stands for where blocks are whole pages. Compression and deduplication of file systems and drives work
/// on this much or more.
pub(super) const PAGE_BYTES: usize = 4096;

/// The smallest block that any disk has, and what the pool counts in.
pub(super) const SECTOR_BYTES: usize = 512;

/// What contents are compared in.
pub(super) const WORD_BYTES: usize = 8;
const SECTOR_WORDS: usize = SECTOR_BYTES / WORD_BYTES;
/// Words of a stamp, the one that names the pool's sector among them.
const STAMP_WORDS: usize = 4;
const SECTORS_PER_PAGE: u64 = (PAGE_BYTES / SECTOR_BYTES) as u64;

/// Begins every sector, under the key of the seed.
const MAGIC: u64 = 0xa55a;
const MAGIC_SHIFT: u32 = 48;
const KIND_SHIFT: u32 = 40;
/// A word is what stands for its place, and the launch times this: any odd number that has ones all over will do (of
/// `SplitMix64`, Steele, Lea & Flood, OOPSLA 2014).
const LAUNCH_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// Launches are told apart by so many bits, as in stamps; the others of a word are there to find what is wrong.
const LAUNCH_BITS: u32 = 24;
/// In a file of bytes launches are told apart by so many bits, which leaves as many of each byte to find what is wrong.
const MARK_BITS: u32 = 4;
/// Places are counted in sectors with 48 bits: 128 PiB.
const PLACE_BITS: u32 = 48;
const COUNT_BITS: u32 = 40;

/// How often stamps stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// At the beginning of each page.
    Page,
    /// At the beginning of each sector.
    Sector,
}

impl Unit {
    /// The coarsest one that divides the blocks.
    pub(super) fn of_blocks(bytes: u64) -> Self {
        if bytes.is_multiple_of(PAGE_BYTES as u64) { Self::Page } else { Self::Sector }
    }

    fn bytes(self) -> usize {
        match self {
            Self::Page => PAGE_BYTES,
            Self::Sector => SECTOR_BYTES,
        }
    }
}

/// Who wrote a block, and which of its writes it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Origin {
    /// The launch, of which 24 bits are kept; 0 is the layout.
    pub(super) launch: u32,
    /// The lane of the launch.
    pub(super) lane: u16,
    /// How many blocks the lane had written before, of which 40 bits are kept.
    pub(super) count: u64,
}

/// Something that is not what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    /// Where in the file, in bytes.
    at: u64,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Zeros,
    Foreign,
    Elsewhere { belongs_at: u64 },
    Damaged { word: usize, expected: u64, found: u64 },
    Mixed,
    Stale { origin: Origin },
    StaleWord { launch: u32 },
    StaleByte,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {} of the test file ", self.at)?;
        match self.what {
            What::Zeros => write!(f, "there are zeros instead of what was written"),
            What::Foreign => write!(f, "there is something that this run has not written"),
            What::Elsewhere { belongs_at } => write!(f, "there is what belongs at byte {belongs_at}"),
            What::Damaged { word, expected, found } => {
                write!(f, "word {word} of the sector is {found:#x} instead of {expected:#x}")
            }
            What::Mixed => write!(f, "there is a page put together from two"),
            What::StaleWord { launch } => write!(f, "the last write is missing: there is a word of launch {launch}"),
            What::StaleByte => write!(f, "the last write is missing: there is a byte of another launch"),
            What::Stale { origin: Origin { launch, lane, count } } => {
                write!(f, "the last write is missing: there is block {count} of lane {lane} of launch {launch}")
            }
        }
    }
}

/// The kinds of sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Goes on where the page before it began.
    Plain,
    /// Stamped for its whole page.
    Page,
    /// Stamped for itself.
    Sector,
}

/// The first word of a sector.
#[derive(Clone, Copy, Debug)]
struct Head {
    kind: Kind,
    number: u32,
}

/// The contents that follow from a seed.
#[derive(Clone, Debug)]
pub(super) struct Contents {
    /// Follows from the seed, all bits from all bits. Hides the regular words, so that they too look random.
    key: u64,
    /// What of it can be checked by itself.
    grain: Grain,
}

type Sector = [[u8; WORD_BYTES]; SECTOR_WORDS];

impl Contents {
    /// Those of this seed.
    pub(super) fn new(seed: u64) -> Self {
        Self { key: Random::new(seed).next_u64(), grain: Grain::Sectors }
    }

    /// Those of a file.
    pub(super) fn of(held: &HeldFile) -> Self {
        Self { grain: held.grain, ..Self::new(held.seed) }
    }

    /// Fills a pool with its sectors from number `first` on. Nothing of it is stamped yet.
    pub(super) fn fill(&self, pool: &mut [u8], first: u32) {
        if self.grain != Grain::Sectors {
            // Words and bytes are written when their place is known.
            return;
        }
        for (sector, number) in sectors_mut(pool).zip(first..) {
            let mut words = self.words(number);
            for word in &mut *sector {
                *word = words.next_u64().to_le_bytes();
            }
            set(sector, 0, self.head_word(Head { kind: Kind::Plain, number }));
        }
    }

    /// Stamps a block of a pool, which begins with the pool's sector `first`, for its place in the file, in bytes.
    ///
    /// Words and bytes have no stamps: all of them are written. Only writes: a pool is larger than caches, and to wait for each
    /// stamp's line would cost more than all the rest.
    pub(super) fn stamp(&self, block: &mut [u8], first: u32, offset: u64, unit: Unit, origin: Origin) {
        match self.grain {
            Grain::Sectors => {}
            Grain::Words => {
                for (word, at) in block.as_chunks_mut().0.iter_mut().zip((offset..).step_by(WORD_BYTES)) {
                    *word = self.word(at, origin.launch).to_le_bytes();
                }
                return;
            }
            Grain::Bytes => return self.write_bytes(block, offset, mark(origin.launch)),
        }
        let kind = if unit == Unit::Page { Kind::Page } else { Kind::Sector };
        let places = (offset..).step_by(unit.bytes()).zip((first..).step_by(unit.bytes() / SECTOR_BYTES));
        for (piece, (at, number)) in block.chunks_mut(unit.bytes()).zip(places) {
            let Some(sector) = sectors_mut(piece).next() else { continue };
            let stamp = self.stamp_words(Head { kind, number }, at, origin);
            for (word, value) in sector.iter_mut().zip(stamp) {
                *word = value.to_le_bytes();
            }
        }
    }

    /// Checks the stamp at the beginning of a block that was read from this place: one cache line. A block that begins
    /// inside a page may have none.
    pub(super) fn check_place(&self, block: &[u8], offset: u64) -> Result<(), Wrong> {
        if self.grain != Grain::Sectors {
            return self.check(&block[..block.len().min(WORD_BYTES)], offset, |_| true);
        }
        let Some(sector) = sectors(block).next() else { return Ok(()) };
        self.check_stamp(sector, offset).map(drop)
    }

    /// Checks every byte of whole sectors (or words, or bytes) that were read from this place; each stamp's origin must
    /// be `accepted`. Of words only the launch is known, and of bytes the end of its number.
    pub(super) fn check(
        &self,
        bytes: &[u8],
        offset: u64,
        mut accepted: impl FnMut(Origin) -> bool,
    ) -> Result<(), Wrong> {
        match self.grain {
            Grain::Sectors => {}
            Grain::Words => return self.check_words(bytes, offset, accepted),
            Grain::Bytes => return self.check_bytes(bytes, offset, accepted),
        }
        // The number of the page's first sector, where it was stamped for the page.
        let mut page = None;
        for (sector, at) in sectors(bytes).zip((offset..).step_by(SECTOR_BYTES)) {
            let wrong = |what| Wrong { at, what };
            let (head, origin) = self.check_stamp(sector, at)?;
            if let Some(origin) = origin.filter(|origin| !accepted(*origin)) {
                return Err(wrong(What::Stale { origin }));
            }
            let inside = at / SECTOR_BYTES as u64 % SECTORS_PER_PAGE;
            if inside == 0 {
                page = (head.kind == Kind::Page).then_some(head.number);
            }
            let expected = page.map(|first| u64::from(first) + inside);
            if head.kind == Kind::Plain && expected.is_some_and(|number| number != u64::from(head.number)) {
                return Err(wrong(What::Mixed));
            }
            let mut words = self.words(head.number);
            let first_word = if head.kind == Kind::Plain { 1 } else { STAMP_WORDS };
            for (word, found) in sector.iter().enumerate() {
                let (expected, found) = (words.next_u64(), u64::from_le_bytes(*found));
                if word >= first_word && expected != found {
                    return Err(wrong(What::Damaged { word, expected, found }));
                }
            }
        }
        Ok(())
    }

    /// The word at this place, as a launch writes it.
    #[inline]
    fn word(&self, at: u64, launch: u32) -> u64 {
        self.place_word(at) ^ (u64::from(launch) & ones(LAUNCH_BITS)).wrapping_mul(LAUNCH_FACTOR)
    }

    /// What stands for a place: the place mixed until each of its bits has a say in every bit (the finaliser of
    /// `SplitMix64`).
    #[inline]
    fn place_word(&self, at: u64) -> u64 {
        let mut mixed = (at / WORD_BYTES as u64).wrapping_mul(LAUNCH_FACTOR) ^ self.key;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Checks every word that was read from this place: what is left without its place must be a launch.
    fn check_words(&self, bytes: &[u8], offset: u64, mut accepted: impl FnMut(Origin) -> bool) -> Result<(), Wrong> {
        for (word, at) in bytes.as_chunks().0.iter().zip((offset..).step_by(WORD_BYTES)) {
            let wrong = |what| Wrong { at, what };
            let found = u64::from_le_bytes(*word);
            let launch = (found ^ self.place_word(at)).wrapping_mul(inverse(LAUNCH_FACTOR));
            if launch > ones(LAUNCH_BITS) {
                return Err(wrong(if found == 0 { What::Zeros } else { What::Foreign }));
            }
            let origin = Origin { launch: low(launch), ..Origin::default() };
            if !accepted(origin) {
                return Err(wrong(What::StaleWord { launch: origin.launch }));
            }
        }
        Ok(())
    }

    /// Whether an origin that was found is of this launch, as far as it tells.
    pub(super) fn is_of_launch(&self, found: Origin, launch: u32) -> bool {
        let bits = if self.grain == Grain::Bytes { MARK_BITS } else { LAUNCH_BITS };
        u64::from(found.launch ^ launch) & ones(bits) == 0
    }

    /// Writes the bytes of this place under a launch's mark.
    fn write_bytes(&self, block: &mut [u8], offset: u64, mark: u8) {
        for (at, inside, of_word) in words_within(offset, block.len()) {
            let word = self.place_word(at).to_le_bytes();
            for (byte, plain) in block[inside].iter_mut().zip(&word[of_word..]) {
                *byte = plain ^ mark;
            }
        }
    }

    /// Checks every byte that was read from this place: what is left without its place must be a mark.
    fn check_bytes(&self, bytes: &[u8], offset: u64, mut accepted: impl FnMut(Origin) -> bool) -> Result<(), Wrong> {
        for (at, inside, of_word) in words_within(offset, bytes.len()) {
            let word = self.place_word(at).to_le_bytes();
            for ((found, plain), at) in bytes[inside].iter().zip(&word[of_word..]).zip(at + of_word as u64..) {
                let wrong = |what| Wrong { at, what };
                let launch = u32::from(found ^ plain);
                if u64::from(launch) > ones(MARK_BITS) {
                    let zeros = bytes.iter().all(|byte| *byte == 0);
                    return Err(wrong(if zeros { What::Zeros } else { What::Foreign }));
                }
                if !accepted(Origin { launch, ..Origin::default() }) {
                    return Err(wrong(What::StaleByte));
                }
            }
        }
        Ok(())
    }

    /// The first word of a sector and, where it has one, its stamp, which must be for this place.
    fn check_stamp(&self, sector: &Sector, at: u64) -> Result<(Head, Option<Origin>), Wrong> {
        let wrong = |what| Wrong { at, what };
        let first = get(sector, 0);
        let Some(head) = self.head(first) else {
            let zeros = sector.iter().flatten().all(|byte| *byte == 0);
            return Err(wrong(if zeros { What::Zeros } else { What::Foreign }));
        };
        if head.kind == Kind::Plain {
            // A page always begins with a stamp.
            let begins_page = at.is_multiple_of(PAGE_BYTES as u64);
            return if begins_page { Err(wrong(What::Foreign)) } else { Ok((head, None)) };
        }
        let (place, when) = (get(sector, 1) ^ self.key, get(sector, 2) ^ self.key);
        let belongs_at = (place & ones(PLACE_BITS)).saturating_mul(SECTOR_BYTES as u64);
        let origin = Origin {
            launch: low(when >> COUNT_BITS),
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
        // By the key and not by the seed: seeds of files differ in single bits, as numbers do, and a sector of one file would
        // be another sector of the next.
        Random::new(self.key ^ u64::from(number))
    }

    fn head_word(&self, head: Head) -> u64 {
        let kind = match head.kind {
            Kind::Plain => 0,
            Kind::Page => 1,
            Kind::Sector => 2,
        };
        (MAGIC << MAGIC_SHIFT | kind << KIND_SHIFT | u64::from(head.number)) ^ self.key
    }

    fn head(&self, word: u64) -> Option<Head> {
        let plain = word ^ self.key;
        let kind = match plain >> u32::BITS ^ MAGIC << (MAGIC_SHIFT - u32::BITS) {
            0 => Kind::Plain,
            0x100 => Kind::Page,
            0x200 => Kind::Sector,
            _ => return None,
        };
        Some(Head { kind, number: low(plain) })
    }

    fn stamp_words(&self, head: Head, at: u64, origin: Origin) -> [u64; STAMP_WORDS] {
        let first = self.head_word(head);
        let place = (u64::from(origin.lane) << PLACE_BITS | (at / SECTOR_BYTES as u64) & ones(PLACE_BITS)) ^ self.key;
        let when = (u64::from(origin.launch) << COUNT_BITS | origin.count & ones(COUNT_BITS)) ^ self.key;
        [first, place, when, self.seal([first, place, when])]
    }

    /// Shows whether any of a stamp's words has changed. Each step is a bijection of the word that comes in, so that
    /// a single flipped bit never goes unseen.
    fn seal(&self, words: [u64; STAMP_WORDS - 1]) -> u64 {
        // The multiplier of PCG (O'Neill, 2014); any odd number that mixes well will do.
        let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x5851_f42d_4c95_7f2d).rotate_left(29);
        words.into_iter().fold(self.key, mix)
    }
}

/// How a launch marks its bytes.
fn mark(launch: u32) -> u8 {
    launch.to_le_bytes()[0] & ((1 << MARK_BITS) - 1)
}

/// The words that a part of a file touches: where each begins in the file, which bytes of the part lie in it, and from
/// which byte of the word on.
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

/// What an odd number is multiplied by to get 1. Each step of Newton's doubles the low bits that are right, of which an
/// odd number as its own inverse has three.
const fn inverse(odd: u64) -> u64 {
    let mut found = odd;
    let mut right = 3;
    while right < u64::BITS {
        found = found.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(found)));
        right *= 2;
    }
    found
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

fn set(sector: &mut Sector, word: usize, value: u64) {
    sector[word] = value.to_le_bytes();
}

#[cfg(test)]
mod tests;
