//! What is sent: blocks of random bytes, each with its number in front, so that every byte of a stream or a message
//! follows from its position and a wrong, missing or repeated one is found. All blocks of a thread have the same random
//! bytes behind the number, so that the source of a stream stays in the cache as iperf3's single buffer does.

use stats::random::Random;
use sys::pages::Pages;

/// Bytes of a block's number, little-endian; a shorter block has its first bytes.
const STAMP_BYTES: usize = 8;

#[derive(Clone)]
pub(crate) struct Content {
    template: Box<[u8]>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) block: u64,
    pub(crate) within: usize,
}

impl Content {
    /// The same at both ends: the seed is that of the process run.
    pub(crate) fn new(seed: u64, thread: usize, block_bytes: usize) -> Self {
        let mut random = Random::new(seed ^ (thread as u64).rotate_left(32));
        let mut template: Box<[u8]> = vec![0; block_bytes.max(1)].into();
        for word in template.chunks_mut(8) {
            word.copy_from_slice(&random.next_u64().to_le_bytes()[..word.len()]);
        }
        Self { template }
    }

    pub(crate) fn block_bytes(&self) -> usize {
        self.template.len()
    }

    pub(crate) fn block(&self) -> Pages {
        Pages::of(&self.template)
    }

    /// Whether the first and the last eight bytes belong to this position.
    ///
    /// Lost, repeated or moved data shift all that follows, and eight random bytes miss one such fault in 2^64. Two
    /// comparisons of words cost a tenth of two calls that compare 64 bytes, which matters for receives of 1 KiB.
    #[inline]
    pub(crate) fn ends_hold(&self, place: Position, bytes: &[u8]) -> bool {
        if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk())
            && let Some(expected) = self.word(place)
            && let Some(expected_last) = self.word(place.after(bytes.len() - STAMP_BYTES, self.template.len()))
        {
            return (u64::from_le_bytes(*first) == expected) & (u64::from_le_bytes(*last) == expected_last);
        }
        // Short pieces, and those that begin or end across two blocks or inside a number.
        let tail = bytes.len().saturating_sub(STAMP_BYTES);
        self.holds(place, &bytes[..bytes.len().min(STAMP_BYTES)])
            && self.holds(place.after(tail, self.template.len()), &bytes[tail..])
    }

    /// The eight bytes at a position; `None` where they are partly number and partly data, or of two blocks.
    #[inline]
    fn word(&self, place: Position) -> Option<u64> {
        match place.within {
            0 if self.template.len() >= STAMP_BYTES => Some(place.block),
            within if within >= STAMP_BYTES => {
                self.template.get(within..)?.first_chunk().map(|word| u64::from_le_bytes(*word))
            }
            _ => None,
        }
    }

    pub(crate) fn holds(&self, mut place: Position, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            let stamp = &place.block.to_le_bytes()[..STAMP_BYTES.min(self.template.len())];
            let expected = if place.within < stamp.len() { stamp } else { &self.template };
            let length = bytes.len().min(expected.len() - place.within);
            let (now, later) = bytes.split_at(length);
            if now != &expected[place.within..place.within + length] {
                return false;
            }
            place = place.after(length, self.template.len());
            bytes = later;
        }
        true
    }
}

#[inline]
pub(crate) fn number(block: &mut [u8], number: u64) {
    let length = block.len().min(STAMP_BYTES);
    block[..length].copy_from_slice(&number.to_le_bytes()[..length]);
}

impl Position {
    /// The position this many bytes further. A division only where more than one block passed.
    #[inline]
    pub(crate) fn after(self, bytes: usize, block_bytes: usize) -> Self {
        let within = self.within + bytes;
        if within < block_bytes {
            return Self { within, ..self };
        }
        if within < 2 * block_bytes {
            return Self { block: self.block.wrapping_add(1), within: within - block_bytes };
        }
        Self { block: self.block.wrapping_add((within / block_bytes) as u64), within: within % block_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: u64 = 0x0123_4567_89ab_cdef;

    fn stream(content: &Content, blocks: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        for block in 0..blocks {
            let mut next = content.block();
            number(&mut next, block);
            bytes.extend_from_slice(&next);
        }
        bytes
    }

    #[test]
    fn every_piece_of_a_stream_is_known_by_its_place() {
        for block_bytes in [1, 3, 8, 9, 14, 100] {
            let content = Content::new(SEED, 3, block_bytes);
            let bytes = stream(&content, 300);
            for (start, length) in [(0, 1), (0, 50), (5, 7), (7, 2), (8, 90), (99, 2), (150, 150), (13, 0)] {
                let place = Position::default().after(start, block_bytes);
                let piece = &bytes[start..start + length];
                assert!(content.holds(place, piece), "{length} bytes at {start} of blocks of {block_bytes}");
            }
        }
    }

    #[test]
    fn a_changed_a_missing_and_a_repeated_byte_are_found() {
        let content = Content::new(SEED, 0, 64);
        let bytes = stream(&content, 8);
        for wrong in [0, 7, 8, 63, 64, 300] {
            let mut changed = bytes.clone();
            changed[wrong] ^= 1;
            assert!(!content.holds(Position::default(), &changed), "byte {wrong}");
        }
        let whole_block_missing = [&bytes[..64], &bytes[128..]].concat();
        assert!(!content.holds(Position::default(), &whole_block_missing));
        let repeated = [&bytes[..64], &bytes[..64]].concat();
        assert!(!content.holds(Position::default(), &repeated));
    }

    #[test]
    fn the_ends_of_a_piece_show_where_it_belongs() {
        for block_bytes in [1, 3, 8, 9, 14, 100, 1000] {
            let content = Content::new(SEED, 3, block_bytes);
            let bytes = stream(&content, 300);
            for start in (0..250_usize).step_by(7).chain([0, 92, 99, 100]) {
                for length in [1, 5, 8, 9, 16, 40].map(|length: usize| length.min(bytes.len() - start.min(bytes.len())))
                {
                    let (place, start) = (Position::default().after(start, block_bytes), start.min(bytes.len()));
                    let piece = &bytes[start..start + length];
                    assert!(content.ends_hold(place, piece), "{length} bytes at {start} of blocks of {block_bytes}");
                    for wrong in [0, length.saturating_sub(1)].into_iter().filter(|_| length > 0) {
                        let mut changed = piece.to_vec();
                        changed[wrong] ^= 0x10;
                        assert!(!content.ends_hold(place, &changed), "byte {wrong} of {length} at {start}");
                    }
                }
            }
        }
        let content = Content::new(SEED, 0, 1000);
        let bytes = stream(&content, 3);
        let place = Position::default().after(1000, 1000);
        assert!(content.ends_hold(place, &bytes[1000..2000]));
        for shifted in [&bytes[..1000], &bytes[999..1999], &bytes[1008..2008], &bytes[2000..]] {
            assert!(!content.ends_hold(place, shifted), "lost, doubled or shifted");
        }
    }

    #[test]
    fn threads_and_launches_send_different_bytes() {
        let of = |seed, thread| Content::new(seed, thread, 64).block().to_vec();
        assert_eq!(of(SEED, 1), of(SEED, 1));
        assert_ne!(of(SEED, 0), of(SEED, 1));
        assert_ne!(of(SEED, 0), of(SEED + 1, 0));
    }
}
