//! Reads the registers that say what this CPU and its operating system allow; [`crate::features`] interprets them.

use core::arch::asm;
use core::arch::x86_64::{__cpuid_count, CpuidResult};

use crate::features::{CpuFacts, Features};

pub(crate) fn detect() -> Features {
    let leaf0 = cpuid(0, 0);
    let highest = leaf0.eax;
    let leaf1 = cpuid(1, 0);
    let mut facts =
        CpuFacts { leaf1_eax: leaf1.eax, leaf1_ecx: leaf1.ecx, leaf1_edx: leaf1.edx, ..CpuFacts::default() };
    let words = facts.vendor.as_chunks_mut().0.iter_mut();
    words.zip([leaf0.ebx, leaf0.edx, leaf0.ecx]).for_each(|(part, word)| *part = word.to_le_bytes());
    if highest >= 7 {
        let leaf7 = cpuid(7, 0);
        facts.leaf7_ebx = leaf7.ebx;
        facts.leaf7_ecx = leaf7.ecx;
        facts.leaf7_edx = leaf7.edx;
        if leaf7.eax >= 1 {
            let leaf7_1 = cpuid(7, 1);
            facts.leaf7_1_eax = leaf7_1.eax;
            facts.leaf7_1_edx = leaf7_1.edx;
        }
    }
    if highest >= 0x1a {
        facts.leaf1a_eax = cpuid(0x1a, 0).eax;
    }
    let osxsave = leaf1.ecx >> 27 & 1 == 1;
    if osxsave {
        // SAFETY: OSXSAVE says that the operating system has enabled XGETBV for user code.
        facts.xcr0 = unsafe { xcr0() };
    }
    Features::from_facts(&facts)
}

fn cpuid(leaf: u32, subleaf: u32) -> CpuidResult {
    // SAFETY: every x86-64 processor has CPUID, which reads no memory.
    #[allow(unused_unsafe, reason = "the function is unsafe in Rust 1.89")]
    unsafe {
        __cpuid_count(leaf, subleaf)
    }
}

/// The extended control register 0. Safety: CPUID must report OSXSAVE, or the instruction is undefined.
unsafe fn xcr0() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: XGETBV with ECX = 0 exists where OSXSAVE is set (the caller's promise) and only writes EDX:EAX.
    unsafe { asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") high, options(nomem, nostack, preserves_flags)) };
    u64::from(high) << 32 | u64::from(low)
}
