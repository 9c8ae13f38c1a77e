//! Floating-point numbers in memory that was mapped for them: for matrices, whose pages and alignment matter.

use std::io;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use crate::memory::{HUGE_PAGE_BYTES, PageSize, Region};

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// `f32` or `f64`: every bit pattern is a number, and zero bits are zero.
pub trait Number: sealed::Sealed + Copy + Default + Send + 'static {}

impl Number for f32 {}
impl Number for f64 {}

/// A slice of numbers in a [`Region`] of their own, zero until written.
#[derive(Debug)]
pub struct Numbers<T> {
    region: Region,
    /// Bytes from the region's beginning to the first number.
    offset: usize,
    len: usize,
    of: PhantomData<T>,
}

impl<T: Number> Numbers<T> {
    /// Maps room for `len` numbers in pages of this size, the first of them at a multiple of `align` bytes and of no
    /// larger power of two below [`HUGE_PAGE_BYTES`], so that the requested alignment is not exceeded. Fails with
    /// `InvalidInput` for an alignment that is not a power of two, below a number's, or above [`HUGE_PAGE_BYTES`].
    pub fn map(len: usize, align: usize, pages: PageSize) -> io::Result<Self> {
        if !align.is_power_of_two() || align < align_of::<T>() || align > HUGE_PAGE_BYTES {
            let what = format!("numbers cannot be aligned to {align} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        // A region begins on a huge page.
        let offset = align % HUGE_PAGE_BYTES;
        let bytes = len.checked_mul(size_of::<T>()).and_then(|bytes| bytes.checked_add(offset));
        let bytes = bytes.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        Ok(Self { region: Region::map(bytes, pages)?, offset, len, of: PhantomData })
    }

    pub fn region(&self) -> &Region {
        &self.region
    }
}

impl<T: Number> Deref for Numbers<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        let first = self.region.as_slice()[self.offset..].as_ptr().cast();
        // SAFETY: the region is at least `offset` bytes and `len` numbers long and initialised (zero at first); a
        // number may have any bits. The region begins on a huge page; the offset is aligned for a number.
        unsafe { std::slice::from_raw_parts(first, self.len) }
    }
}

impl<T: Number> DerefMut for Numbers<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let first = self.region.as_mut_slice()[self.offset..].as_mut_ptr().cast();
        // SAFETY: as above, and `&mut self` makes this the only access.
        unsafe { std::slice::from_raw_parts_mut(first, self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Number + PartialEq + std::fmt::Debug>(one: T) {
        for align in [8, 64, 4096, HUGE_PAGE_BYTES] {
            let mut numbers = Numbers::<T>::map(1000, align, PageSize::Huge).unwrap();
            assert_eq!((numbers.len(), numbers.as_ptr() as usize % align), (1000, 0));
            let exceeds = (numbers.as_ptr() as usize).is_multiple_of(2 * align);
            assert!(!exceeds || align == HUGE_PAGE_BYTES, "aligned to more than {align}");
            assert!(numbers.iter().all(|number| *number == T::default()));
            numbers[999] = one;
            assert_eq!((numbers[998], numbers[999]), (T::default(), one));
        }
    }

    #[test]
    fn numbers_are_aligned_as_asked_zero_and_writable() {
        check(1.0_f32);
        check(1.0_f64);
        assert_eq!(Numbers::<f64>::map(0, 8, PageSize::Base).unwrap().len(), 0);
    }

    #[test]
    fn what_cannot_be_mapped_is_an_error() {
        for align in [0, 4, 12, 2 * HUGE_PAGE_BYTES] {
            let error = Numbers::<f64>::map(1, align, PageSize::Huge).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{align}");
        }
        assert!(Numbers::<f64>::map(usize::MAX / 4, 64, PageSize::Huge).is_err());
        assert!(Numbers::<f64>::map(1 << 57, 64, PageSize::Huge).is_err());
    }
}
