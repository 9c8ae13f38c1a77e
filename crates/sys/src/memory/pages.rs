//! Bytes that begin on a page, for copies by the kernel. `REP MOVSB`, which kernels use for them, is fastest on Zen 3
//! to a place at the same offset in its page as the source; data of sockets begins on pages in the kernel, and large
//! heap blocks 16 bytes behind. Memory whose page size matters is a [`Region`](crate::memory::Region).

use std::ops::{Deref, DerefMut};

/// The smallest page of any supported machine.
const PAGE_BYTES: usize = 4096;

/// Bytes of which the first is on a page.
#[derive(Debug)]
pub struct Pages {
    memory: Box<[u8]>,
    skipped: usize,
    bytes: usize,
}

impl Pages {
    pub fn zeroed(bytes: usize) -> Self {
        let memory: Box<[u8]> = vec![0; bytes + PAGE_BYTES - 1].into();
        // If the address is unknown (only in constants) it is not aligned, but still valid.
        let skipped = memory.as_ptr().align_offset(PAGE_BYTES).min(PAGE_BYTES - 1);
        Self { memory, skipped, bytes }
    }

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
    fn they_begin_on_a_page_when_copied_and_moved() {
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
