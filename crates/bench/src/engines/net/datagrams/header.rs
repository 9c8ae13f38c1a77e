//! The header of each datagram, and the check of the data behind it: a tag, the sequence number, and the number of the window
//! that it was sent in (24 bits, 0 outside of any) with the sender's time in nanoseconds (40 bits), each in 8 little-endian
//! bytes. The tag follows from the flow's key and the other 16 bytes, so that a changed header belongs to no flow.

use sys::pages::Pages;

use super::super::link::content::Content;

const HEADER_BYTES: usize = 24;
/// Bits of the time: 2^40 ns are 18 minutes, and only differences of adjacent datagrams matter.
const TIME_BITS: u32 = 40;
const MOST_WINDOW: u64 = (1 << (64 - TIME_BITS)) - 1;
const CHECKED_BYTES: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) sequence: u64,
    /// The window in which it was sent, by the sender's clock; 0 outside of any.
    pub(super) window: u32,
    /// When it was sent, in nanoseconds of the sender's time, modulo 2^40.
    pub(super) nanoseconds: u64,
}

pub(crate) struct Form {
    key: u64,
    /// A datagram without its header.
    pub(super) template: Pages,
}

impl Form {
    /// The content's block is at least as long as a header.
    pub(crate) fn new(content: &Content) -> Self {
        let template = content.block();
        let key = template.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        Self { key, template }
    }

    /// The datagrams that the same socket sends the other way: a reflected datagram is none of them.
    pub(super) fn back(self) -> Self {
        Self { key: !self.key, ..self }
    }

    pub(super) fn bytes(&self) -> usize {
        self.template.len()
    }

    /// A window above the greatest number counts as none.
    #[inline]
    pub(super) fn write(&self, datagram: &mut [u8], header: Header) {
        let window = u64::from(header.window);
        let window = if window > MOST_WINDOW { 0 } else { window };
        let mark = window << TIME_BITS | header.nanoseconds & ((1 << TIME_BITS) - 1);
        if let Some(bytes) = datagram.first_chunk_mut::<HEADER_BYTES>() {
            for (to, word) in bytes.chunks_exact_mut(8).zip([self.tag(header.sequence, mark), header.sequence, mark]) {
                to.copy_from_slice(&word.to_le_bytes());
            }
        }
    }

    /// `None` for a datagram of another flow.
    #[inline]
    pub(super) fn read(&self, datagram: &[u8]) -> Option<Header> {
        let bytes = datagram.first_chunk::<HEADER_BYTES>()?;
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let (tag, sequence, mark) = (word(0), word(8), word(16));
        let window = u32::try_from(mark >> TIME_BITS).unwrap_or(0);
        let header = Header { sequence, window, nanoseconds: mark & ((1 << TIME_BITS) - 1) };
        (tag == self.tag(sequence, mark)).then_some(header)
    }

    /// A word to separate flows, not a signature: the finishing steps of `SplitMix64` (Steele, Lea and Flood, 2014), twice.
    #[inline]
    fn tag(&self, sequence: u64, mark: u64) -> u64 {
        let mix = |word: u64| {
            let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            word ^ (word >> 31)
        };
        mix(mix(self.key ^ sequence).wrapping_add(mark))
    }

    /// Whether a datagram of this flow has its length and the right data: at both ends, or all of them where `whole`.
    #[inline]
    pub(super) fn holds(&self, datagram: &[u8], whole: bool) -> bool {
        let (length, tail) = (self.template.len(), self.template.len().saturating_sub(CHECKED_BYTES));
        if datagram.len() != length {
            return false;
        }
        if whole || tail <= HEADER_BYTES + CHECKED_BYTES {
            return datagram[HEADER_BYTES..] == self.template[HEADER_BYTES..];
        }
        let front = HEADER_BYTES..HEADER_BYTES + CHECKED_BYTES;
        datagram[front.clone()] == self.template[front] && datagram[tail..] == self.template[tail..]
    }
}

/// The nanoseconds between two times of a sender, less than 2^39 apart in either direction.
pub(super) fn nanoseconds_between(from: u64, to: u64) -> f64 {
    // The sign of the difference is that of the shifted word.
    let shift = u64::BITS - TIME_BITS;
    ((to.wrapping_sub(from) << shift).cast_signed() >> shift) as f64
}

#[cfg(test)]
mod tests {
    use stats::random::Random;

    use super::*;

    fn form(bytes: usize, thread: usize) -> Form {
        Form::new(&Content::new(7, thread, bytes))
    }

    #[test]
    fn a_header_reads_back_and_what_was_changed_is_none() {
        let form = form(100, 0);
        let mut random = Random::new(1);
        for _ in 0..500 {
            let window = u32::try_from(random.below(MOST_WINDOW + 1)).unwrap();
            let header = Header { sequence: random.next_u64(), window, nanoseconds: random.below(1 << TIME_BITS) };
            let mut datagram = form.template.to_vec();
            form.write(&mut datagram, header);
            assert_eq!(form.read(&datagram), Some(header));
            assert!(form.holds(&datagram, true) && form.holds(&datagram, false));
            let bit = usize::try_from(random.below(8 * HEADER_BYTES as u64)).unwrap();
            datagram[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(form.read(&datagram), None, "bit {bit}");
        }
    }

    #[test]
    fn garbage_short_and_foreign_datagrams_are_nobodys() {
        let (ours, other) = (form(100, 0), form(100, 1));
        let mut random = Random::new(2);
        for _ in 0..2000 {
            let length = usize::try_from(random.below(200)).unwrap();
            let garbage: Vec<u8> = (0..length).map(|_| random.next_u64().to_le_bytes()[0]).collect();
            assert_eq!(ours.read(&garbage), None);
        }
        let mut datagram = other.template.to_vec();
        other.write(&mut datagram, Header { sequence: 1, window: 1, nanoseconds: 1 });
        assert_eq!(ours.read(&datagram), None, "another flow's");
        assert_eq!(form(100, 1).back().read(&datagram), None, "thrown back");
        assert!(form(100, 1).back().back().read(&datagram).is_some());
        assert!((0..HEADER_BYTES).all(|length| other.read(&datagram[..length]).is_none()));
    }

    #[test]
    fn a_body_that_was_changed_or_cut_is_found() {
        for bytes in [64, 100, 1472] {
            let form = form(bytes, 0);
            let mut datagram = form.template.to_vec();
            form.write(&mut datagram, Header { sequence: 5, window: 0, nanoseconds: 0 });
            assert!(!form.holds(&datagram[..bytes - 1], false) && !form.holds(&[&datagram[..], &[0]].concat(), false));
            for at in [HEADER_BYTES, HEADER_BYTES + 30, bytes / 2, bytes - 1] {
                let mut wrong = datagram.clone();
                wrong[at] ^= 0x80;
                assert!(!form.holds(&wrong, true), "byte {at} of {bytes}");
                let at_an_end = at < HEADER_BYTES + CHECKED_BYTES || at >= bytes - CHECKED_BYTES;
                assert_eq!(form.holds(&wrong, false), !at_an_end, "byte {at} of {bytes}");
            }
        }
    }

    #[test]
    fn a_time_that_went_round_is_no_leap() {
        let top = (1 << TIME_BITS) - 1;
        assert_eq!(nanoseconds_between(top, 9).to_bits(), 10_f64.to_bits());
        assert_eq!(nanoseconds_between(9, top).to_bits(), (-10_f64).to_bits());
    }

    #[test]
    fn a_window_past_the_greatest_is_none() {
        let form = form(64, 0);
        let mut datagram = form.template.to_vec();
        form.write(&mut datagram, Header { sequence: 1, window: u32::MAX, nanoseconds: 3 });
        assert_eq!(form.read(&datagram), Some(Header { sequence: 1, window: 0, nanoseconds: 3 }));
    }
}
