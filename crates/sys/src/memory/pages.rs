//! Bytes that begin on a page, for what the kernel copies from and to.
//!
//! `REP MOVSB`, by which kernels copy where a processor says that it is fast, is fastest on Zen 3 to a place that lies in
//! its page as the source does, somewhat slower to another whole cache line, and much slower to any other place. Data of
//! sockets begins on pages in the kernel, and large blocks of a heap sixteen bytes behind the beginning of one. Memory whose
//! size of pages matters is a [`Region`](crate::memory::Region).

use std::ops::{Deref, DerefMut};

/// The smallest page of any machine that Linux runs on here.
const PAGE_BYTES: usize = 4096;

/// So many bytes, the first of them on a page.
#[derive(Debug)]
pub struct Pages {
    memory: Box<[u8]>,
    /// Bytes in front of the first.
    skipped: usize,
    bytes: usize,
}

impl Pages {
    /// Zeros.
    pub fn zeroed(bytes: usize) -> Self {
        let memory: Box<[u8]> = vec![0; bytes + PAGE_BYTES - 1].into();
        // Where the address cannot be told (in constants alone) it is not aligned, and all the same right.
        let skipped = memory.as_ptr().align_offset(PAGE_BYTES).min(PAGE_BYTES - 1);
        Self { memory, skipped, bytes }
    }

    /// A copy.
    pub fn of(bytes: &[u8]) -> Self {
        let mut pages = Self::zeroed(bytes.len());
        pages.copy_from_slice(bytes);
        pages
    }
}

impl Clone for Pages {
    fn clone(&self) -> Self {
        Self::of(self)
    }
}

impl Deref for Pages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.skipped..self.skipped + self.bytes]
    }
}

impl DerefMut for Pages {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.skipped..self.skipped + self.bytes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_begin_on_a_page_wherever_they_go() {
        for bytes in [0, 1, 14, 4095, 4096, 4097, 1 << 17, (1 << 20) + 3] {
            let mut pages = Pages::zeroed(bytes);
            assert!(pages.len() == bytes && pages.iter().all(|byte| *byte == 0));
            pages.iter_mut().zip((1..=251).cycle()).for_each(|(byte, value)| *byte = value);
            let copies = [pages.clone(), Pages::of(&pages), pages];
            for copy in &copies {
                assert!(copy.as_ptr().addr().is_multiple_of(PAGE_BYTES), "{bytes} bytes");
                assert!(copy[..] == copies[0][..]);
            }
        }
    }
}
