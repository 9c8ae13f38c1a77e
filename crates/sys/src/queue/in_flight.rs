//! Which requests are in flight, and with which parts of the arena, so that no memory is lent that another is using.

use std::ops::Range;

/// The unit in which the arena is lent: the smallest block of a device, so that requests that direct I/O allows never
/// share one. Requests within one unit count as overlapping.
const SECTOR_BYTES: usize = 512;

const WORD_BITS: usize = u64::BITS as usize;

/// The requests in flight, by token, and a map of the arena's sectors that they have.
#[derive(Debug)]
pub(super) struct InFlight {
    /// The part of the arena of each token; one that ends at 0 for a free token.
    parts: Vec<Range<usize>>,
    /// A bit for every sector of the arena.
    lent: Vec<u64>,
    count: u32,
}

impl InFlight {
    /// Nothing in flight, of at most `depth` requests.
    pub(super) fn new(depth: u32, arena_bytes: usize) -> Self {
        Self {
            parts: vec![0..0; depth as usize],
            lent: vec![0; arena_bytes.div_ceil(SECTOR_BYTES * WORD_BITS)],
            count: 0,
        }
    }

    #[inline]
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Whether the token is free; `None` if it is not one of the queue's.
    #[inline]
    pub(super) fn is_free(&self, token: u32) -> Option<bool> {
        self.parts.get(token as usize).map(|part| part.end == 0)
    }

    /// Whether a request in flight has any of this part, which lies within the arena.
    #[inline]
    pub(super) fn overlaps(&self, part: &Range<usize>) -> bool {
        match only_word(part) {
            Some((word, bits)) => self.lent[word] & bits != 0,
            None => self.any_lent(part),
        }
    }

    /// Lends a part of the arena, not empty and not lent, to a free token.
    #[inline]
    pub(super) fn lend(&mut self, token: u32, part: Range<usize>) {
        match only_word(&part) {
            Some((word, bits)) => self.lent[word] |= bits,
            None => self.mark_lent(&part),
        }
        self.parts[token as usize] = part;
        self.count += 1;
    }

    #[inline]
    pub(super) fn take_back(&mut self, token: u32) -> Option<Range<usize>> {
        let slot = self.parts.get_mut(token as usize).filter(|part| part.end != 0)?;
        let part = std::mem::replace(slot, 0..0);
        match only_word(&part) {
            Some((word, bits)) => self.lent[word] &= !bits,
            None => self.mark_free(&part),
        }
        self.count -= 1;
        Some(part)
    }

    // Parts of more than one word, out of line: the path of small requests, of which there are millions, must be short.

    #[inline(never)]
    fn any_lent(&self, part: &Range<usize>) -> bool {
        words(part).any(|(word, bits)| self.lent[word] & bits != 0)
    }

    #[inline(never)]
    fn mark_lent(&mut self, part: &Range<usize>) {
        words(part).for_each(|(word, bits)| self.lent[word] |= bits);
    }

    #[inline(never)]
    fn mark_free(&mut self, part: &Range<usize>) {
        words(part).for_each(|(word, bits)| self.lent[word] &= !bits);
    }
}

/// The word of the map that a part touches and its bits, if it is only one: the usual case of small requests.
#[inline]
fn only_word(part: &Range<usize>) -> Option<(usize, u64)> {
    let (first, last) = (part.start / SECTOR_BYTES, part.end.checked_sub(1)? / SECTOR_BYTES);
    let only = part.start < part.end && first / WORD_BITS == last / WORD_BITS;
    only.then(|| (first / WORD_BITS, u64::MAX >> (WORD_BITS - 1 - (last - first)) << (first % WORD_BITS)))
}

/// The words of the map that a part touches, each with its bits.
#[inline]
fn words(part: &Range<usize>) -> impl Iterator<Item = (usize, u64)> {
    let first = part.start / SECTOR_BYTES;
    let end = if part.start < part.end { part.end.div_ceil(SECTOR_BYTES) } else { first };
    let last_word = if end > first { (end - 1) / WORD_BITS + 1 } else { first / WORD_BITS };
    (first / WORD_BITS..last_word).map(move |word| {
        let low = first.max(word * WORD_BITS) - word * WORD_BITS;
        let high = end.min((word + 1) * WORD_BITS) - word * WORD_BITS;
        (word, u64::MAX >> (WORD_BITS - (high - low)) << low)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_lent_once_and_comes_back_whole() {
        let mut requests = InFlight::new(4, 1 << 20);
        requests.lend(1, 4096..8192);
        assert_eq!((requests.is_free(1), requests.is_free(0), requests.is_free(4)), (Some(false), Some(true), None));
        assert!(requests.overlaps(&(0..4097)));
        assert!(requests.overlaps(&(8191..9000)));
        assert!(requests.overlaps(&(0..1 << 20)));
        assert!(!requests.overlaps(&(0..4096)));
        assert!(!requests.overlaps(&(8192..1 << 20)));
        assert!(!requests.overlaps(&(5000..5000)), "an empty part overlaps nothing");
        assert_eq!(requests.take_back(1), Some(4096..8192));
        assert_eq!(requests.take_back(1), None);
        assert_eq!(requests.take_back(9), None);
        assert!(!requests.overlaps(&(0..1 << 20)));
        assert_eq!(requests.count(), 0);
    }

    #[test]
    fn one_word_differs_from_several() {
        for start in (0..200 * SECTOR_BYTES).step_by(SECTOR_BYTES / 2) {
            for bytes in [0, 1, 511, 512, 513, 4096, 64 * SECTOR_BYTES, 65 * SECTOR_BYTES] {
                let part = start..start + bytes;
                let all: Vec<_> = words(&part).collect();
                let only = if let [one] = all[..] { Some(one) } else { None };
                assert_eq!(only_word(&part), only, "{part:?}");
            }
        }
    }

    #[test]
    fn the_map_agrees_with_a_list_of_ranges() {
        let arena = 64 * 1024;
        let mut random = 1_u64;
        let mut below = |limit: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(random >> 33).unwrap() % limit
        };
        let mut requests = InFlight::new(8, arena);
        let mut list: Vec<Option<Range<usize>>> = vec![None; 8];
        for _ in 0..20_000 {
            let token = below(8);
            if list[token].is_some() {
                assert_eq!(requests.take_back(u32::try_from(token).unwrap()), list[token].take());
                continue;
            }
            let start = below(arena / SECTOR_BYTES) * SECTOR_BYTES;
            let end = start + (1 + below((arena - start) / SECTOR_BYTES)) * SECTOR_BYTES;
            let overlaps = list.iter().flatten().any(|other| other.start < end && start < other.end);
            assert_eq!(requests.overlaps(&(start..end)), overlaps, "{start}..{end} among {list:?}");
            if !overlaps {
                requests.lend(u32::try_from(token).unwrap(), start..end);
                list[token] = Some(start..end);
            }
        }
    }
}
