//! The units that memory is worked on in: cache lines, and blocks of eight.
//!
//! The types carry the alignment and the granularity that the loops rely on, so a slice of them needs no further check.

/// One cache line of 64 bytes, aligned.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheLine(pub [u64; CacheLine::WORDS]);

/// What a memory loop does in one iteration: eight lines, 512 bytes.
pub type Block = [CacheLine; 8];

impl CacheLine {
    /// Bytes of a line.
    pub const BYTES: usize = 64;
    /// Words of a line.
    pub const WORDS: usize = 8;

    /// The whole lines of a byte buffer (which starts on a line boundary if it is page-aligned; else the ends are left
    /// out).
    pub fn slice(bytes: &[u8]) -> &[Self] {
        // SAFETY: any 64 bytes are a valid `CacheLine`, which has no padding; `align_to` sees to alignment and bounds.
        unsafe { bytes.align_to().1 }
    }

    /// The whole lines of a byte buffer, to be written.
    pub fn slice_mut(bytes: &mut [u8]) -> &mut [Self] {
        // SAFETY: as in `slice`; and any `CacheLine` written is valid as bytes.
        unsafe { bytes.align_to_mut().1 }
    }

    /// The whole blocks of a slice of lines; what is left at the end is left out.
    pub const fn blocks(lines: &[Self]) -> &[Block] {
        lines.as_chunks().0
    }

    /// The whole blocks of a slice of lines, to be written.
    pub const fn blocks_mut(lines: &mut [Self]) -> &mut [Block] {
        lines.as_chunks_mut().0
    }
}
