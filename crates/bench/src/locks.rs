//! Mutexes that stay usable.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks despite a panic of another thread, which is reported by itself.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
