//! The units of memory loops: cache lines, and blocks of eight. The types carry the alignment that the loops need.

/// One cache line of 64 bytes, aligned.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheLine(pub [u64; CacheLine::WORDS]);

/// One iteration of a memory loop: eight lines, 512 bytes.
pub type Block = [CacheLine; 8];

impl CacheLine {
    /// Bytes of a line.
    pub const BYTES: usize = 64;
    /// Words of a line.
    pub const WORDS: usize = 8;

    /// The whole lines of a byte buffer, without the ends if it is not aligned to a line.
    pub fn slice(bytes: &[u8]) -> &[Self] {
        // SAFETY: any 64 bytes are a valid `CacheLine`, which has no padding; `align_to` ensures alignment and bounds.
        unsafe { bytes.align_to().1 }
    }

    /// The whole lines of a byte buffer, writable.
    pub fn slice_mut(bytes: &mut [u8]) -> &mut [Self] {
        // SAFETY: as in `slice`; and any `CacheLine` written is valid as bytes.
        unsafe { bytes.align_to_mut().1 }
    }

    /// The whole blocks of a slice of lines, without the rest.
    pub const fn blocks(lines: &[Self]) -> &[Block] {
        lines.as_chunks().0
    }

    /// The whole blocks of a slice of lines, writable.
    pub const fn blocks_mut(lines: &mut [Self]) -> &mut [Block] {
        lines.as_chunks_mut().0
    }
}
