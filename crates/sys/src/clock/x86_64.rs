//! The time-stamp counter of x86-64.

use std::arch::x86_64::{__rdtscp, _mm_lfence, _rdtsc};
use std::sync::OnceLock;

use crate::cpu::cpuid;

/// CPUID 0x80000007 EDX bit 8: the counter has one rate in every power state (Intel SDM vol. 3, 18.17.1; AMD APM vol. 3).
const INVARIANT: u32 = 1 << 8;

/// CPUID 0x80000001 EDX bit 27: RDTSCP.
const RDTSCP: u32 = 1 << 27;

/// Whether the counter runs at one rate in every power state and can be read in order.
pub(super) fn invariant() -> bool {
    static INVARIANT_HERE: OnceLock<bool> = OnceLock::new();
    *INVARIANT_HERE.get_or_init(|| {
        let edx = |leaf| cpuid::read(leaf, 0)[3];
        cpuid::read(0x8000_0000, 0)[0] >= 0x8000_0007
            && edx(0x8000_0007) & INVARIANT == INVARIANT
            && edx(0x8000_0001) & RDTSCP == RDTSCP
    })
}

/// The counter. RDTSCP waits for everything before it; the fence holds back everything after it.
#[inline]
pub(super) fn read() -> u64 {
    if !invariant() {
        return 0;
    }
    let mut processor = 0;
    // SAFETY: `invariant` has seen RDTSCP, x86-64 has SSE2 (the fence), the pointer is live and writable.
    unsafe {
        let ticks = __rdtscp(&raw mut processor);
        _mm_lfence();
        ticks
    }
}

/// The counter without a fence: earlier instructions may not have finished, and later ones may have started.
#[inline]
pub(super) fn read_unordered() -> u64 {
    if !invariant() {
        return 0;
    }
    // SAFETY: `invariant` has seen RDTSCP in CPUID, which no processor has without RDTSC.
    unsafe { _rdtsc() }
}
