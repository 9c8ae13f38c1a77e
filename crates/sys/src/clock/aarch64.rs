//! The virtual counter of the generic timer of 64-bit Arm: 1 MHz to 1 GHz, at one rate in every power state.

/// The architecture requires a constant rate and a counter that is the same on all CPUs (Arm ARM, D12.1).
pub(super) fn invariant() -> bool {
    true
}

/// The counter. Each barrier holds back what follows it until what precedes it is done.
#[inline]
pub(super) fn read() -> u64 {
    let ticks;
    // SAFETY: Linux lets every process read CNTVCT_EL0, or reads it on its behalf where the CPU has an erratum.
    unsafe { std::arch::asm!("isb", "mrs {}, cntvct_el0", "isb", out(reg) ticks, options(nostack, preserves_flags)) };
    ticks
}

/// The counter without a barrier: earlier instructions may not have finished, and later ones may have started.
#[inline]
pub(super) fn read_unordered() -> u64 {
    let ticks;
    // SAFETY: as above.
    unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags)) };
    ticks
}
