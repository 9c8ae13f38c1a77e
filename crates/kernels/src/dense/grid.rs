//! Memory that several threads work on at once: a matrix in columns, and the buffer that it lies in.

use core::cell::UnsafeCell;
use core::ops::{DerefMut, Range};
use core::ptr::null_mut;
use core::slice;
use core::sync::atomic::{AtomicPtr, Ordering};

/// A buffer that its owner lends to the threads of a crew while they work, as a pointer.
pub(super) struct Store<T, S> {
    owner: UnsafeCell<S>,
    first: AtomicPtr<T>,
    needed: usize,
}

// SAFETY: the owner is only touched by one thread at a time, as `lend` demands of its callers; the pointer is plain.
unsafe impl<T: Send, S: Send> Sync for Store<T, S> {}

impl<T, S: DerefMut<Target = [T]>> Store<T, S> {
    /// Takes a buffer, or gives it back where it has fewer elements than are needed.
    pub(super) fn new(owner: S, needed: usize) -> Result<Self, S> {
        if owner.len() < needed {
            return Err(owner);
        }
        Ok(Self { owner: UnsafeCell::new(owner), first: AtomicPtr::new(null_mut()), needed })
    }

    /// Looks up where the buffer lies; false where it has become too short.
    ///
    /// # Safety
    /// No other thread calls this, and none uses what `first` gave it before.
    pub(super) unsafe fn lend(&self) -> bool {
        // SAFETY: nobody else has a reference to the owner or into its buffer, the caller says.
        let buffer = unsafe { &mut **self.owner.get() };
        self.first.store(buffer.as_mut_ptr(), Ordering::Release);
        buffer.len() >= self.needed
    }

    /// Where the buffer lies, as long as it is lent.
    pub(super) fn first(&self) -> *mut T {
        self.first.load(Ordering::Acquire)
    }

    /// The owner.
    pub(super) fn into_inner(self) -> S {
        self.owner.into_inner()
    }

    /// The buffer, for who has it alone.
    pub(super) fn get_mut(&mut self) -> &mut [T] {
        self.owner.get_mut()
    }
}

/// A matrix in columns, each of which begins `step` elements after the one before.
#[derive(Debug)]
pub(super) struct Grid<T> {
    first: *mut T,
    step: usize,
}

impl<T> Clone for Grid<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Grid<T> {}

impl<T> Grid<T> {
    /// The matrix that begins there.
    pub(super) const fn new(first: *mut T, step: usize) -> Self {
        Self { first, step }
    }

    /// Elements from one column to the next.
    #[inline]
    pub(super) const fn step(self) -> usize {
        self.step
    }

    /// Where an entry lies.
    #[inline]
    pub(super) const fn at(self, row: usize, column: usize) -> *mut T {
        self.first.wrapping_add(column * self.step + row)
    }

    /// Some rows of a column.
    ///
    /// # Safety
    /// They are valid, and nobody else refers to them or, but for reading them through a reference that is shared as
    /// well, uses them while what is returned lives.
    #[inline]
    pub(super) unsafe fn column<'a>(self, column: usize, rows: Range<usize>) -> &'a [T] {
        // SAFETY: the caller's promise.
        unsafe { slice::from_raw_parts(self.at(rows.start, column), rows.len()) }
    }

    /// Some rows of a column, to be changed.
    ///
    /// # Safety
    /// They are valid, and nobody else uses them while what is returned lives.
    #[inline]
    pub(super) unsafe fn column_mut<'a>(self, column: usize, rows: Range<usize>) -> &'a mut [T] {
        // SAFETY: the caller's promise.
        unsafe { slice::from_raw_parts_mut(self.at(rows.start, column), rows.len()) }
    }
}
