//! The pointer chase in plain Rust.
#![cfg_attr(
    all(target_arch = "x86_64", target_os = "linux"),
    expect(dead_code, reason = "x86_64 has a folder of its own")
)]

use crate::chase::Cycle;
use crate::lines::Line;

/// Follows the chain.
///
/// # Safety
/// As [`crate::chase::Body`].
pub(crate) unsafe extern "C" fn chase(start: *const Line, rounds: u64) -> *const Line {
    let mut place = start;
    for _ in 0..rounds * Cycle::LOADS_PER_ROUND {
        // SAFETY: the caller promises that every word reached holds the address of the next.
        let address = unsafe { place.cast::<usize>().read_volatile() };
        place = core::ptr::with_exposed_provenance(address);
    }
    place
}
