//! Memory shared by several threads: a matrix in columns, and the buffer that holds it.

use core::cell::UnsafeCell;
use core::ops::{DerefMut, Range};
use core::ptr::null_mut;
use core::slice;
use core::sync::atomic::{AtomicPtr, Ordering};

/// A buffer that its owner lends to the threads of a crew while they work, as a pointer.
#[derive(Debug)]
pub(super) struct Store<T, S> {
    owner: UnsafeCell<S>,
    first: AtomicPtr<T>,
    needed: usize,
}

// SAFETY: the owner is only accessed by one thread at a time, as `lend` demands of its callers; the pointer is plain.
unsafe impl<T: Send, S: Send> Sync for Store<T, S> {}

impl<T, S: DerefMut<Target = [T]>> Store<T, S> {
    /// Takes a buffer, or returns it if it has fewer elements than needed.
    pub(super) fn new(owner: S, needed: usize) -> Result<Self, S> {
        if owner.len() < needed {
            return Err(owner);
        }
        Ok(Self { owner: UnsafeCell::new(owner), first: AtomicPtr::new(null_mut()), needed })
    }

    /// Updates the pointer to the buffer; false if that is too short. Safety: no other thread calls this or uses the old one.
    pub(super) unsafe fn lend(&self) -> bool {
        // SAFETY: nobody else has a reference to the owner or into its buffer, by the caller's promise.
        let buffer = unsafe { &mut **self.owner.get() };
        self.first.store(buffer.as_mut_ptr(), Ordering::Release);
        buffer.len() >= self.needed
    }

    /// The address of the buffer while it is lent.
    pub(super) fn first(&self) -> *mut T {
        self.first.load(Ordering::Acquire)
    }

    /// The buffer, for exclusive use.
    pub(super) fn get_mut(&mut self) -> &mut [T] {
        self.owner.get_mut()
    }
}

/// A matrix in columns that are `step` elements apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid<T> {
    first: *mut T,
    step: usize,
}

impl<T> Grid<T> {
    pub(super) const fn new(first: *mut T, step: usize) -> Self {
        Self { first, step }
    }

    #[inline]
    pub(super) const fn step(self) -> usize {
        self.step
    }

    #[inline]
    pub(super) const fn at(self, row: usize, column: usize) -> *mut T {
        self.first.wrapping_add(column * self.step + row)
    }

    /// Some rows of a column. Safety: they are valid, and nobody writes to them while the result lives.
    #[inline]
    pub(super) unsafe fn column<'a>(self, column: usize, rows: Range<usize>) -> &'a [T] {
        // SAFETY: the caller's promise.
        unsafe { slice::from_raw_parts(self.at(rows.start, column), rows.len()) }
    }

    /// Some rows of a column, writable. Safety: they are valid, and nobody else uses them while the result lives.
    #[inline]
    pub(super) unsafe fn column_mut<'a>(self, column: usize, rows: Range<usize>) -> &'a mut [T] {
        // SAFETY: the caller's promise.
        unsafe { slice::from_raw_parts_mut(self.at(rows.start, column), rows.len()) }
    }
}
