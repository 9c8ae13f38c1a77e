//! The pointer chase in plain Rust.

use crate::memory::chase::body::{ChainPlaces, steps_per_round};
use crate::memory::lines::CacheLine;

/// # Safety
/// As [`crate::memory::chase::body::Body`].
pub(crate) unsafe extern "C" fn chase<const CHAINS: usize>(places: &mut ChainPlaces, rounds: u64) {
    for _ in 0..rounds * steps_per_round(CHAINS) as u64 {
        for place in &mut places[..CHAINS] {
            // SAFETY: the caller promises that every word reached holds the address of the next.
            let address = unsafe { place.cast::<usize>().read_volatile() };
            *place = core::ptr::with_exposed_provenance(address);
        }
    }
}

/// Prefetching is left to the processor.
pub(crate) fn fetch(_line: *const CacheLine) {}
