//! What Linux grants to this process; [`crate::features`] interprets it.

use core::arch::asm;

use crate::features::{ArmFacts, Features};

/// Keys of the auxiliary vector: Linux `include/uapi/linux/auxvec.h`.
const AT_HWCAP: u64 = 16;
const AT_HWCAP2: u64 = 26;
/// The bits of SVE in HWCAP and of SME in HWCAP2.
const SVE: u64 = 1 << 22;
const SME: u64 = 1 << 23;

unsafe extern "C" {
    /// A value of the auxiliary vector, 0 if the kernel gave none; in glibc since 2.16, and in musl.
    safe fn getauxval(key: u64) -> u64;
}

/// Defines a function that reads the bytes of a vector by an instruction. Safety: HWCAP must report its extension, or the
/// instruction is undefined.
macro_rules! length {
    ($name:ident, $extension:literal, $instruction:literal) => {
        unsafe fn $name() -> u64 {
            let bytes;
            // SAFETY: the instruction exists where HWCAP reports the extension (the caller's promise), and it only writes its
            // register.
            unsafe {
                asm!(
                    concat!(".arch_extension ", $extension),
                    concat!($instruction, " {}, #1"),
                    out(reg) bytes,
                    options(nomem, nostack, preserves_flags)
                );
            }
            bytes
        }
    };
}
length!(vector_bytes, "sve", "rdvl");
length!(streaming_bytes, "sme", "rdsvl");

/// Whether DC ZVA is permitted: bit 4 of DCZID_EL0 is clear.
fn permits_zva() -> bool {
    let register: u64;
    // SAFETY: every process may read this register, which changes nothing.
    unsafe { asm!("mrs {}, dczid_el0", out(reg) register, options(nomem, nostack, preserves_flags)) };
    register & 1 << 4 == 0
}

pub(crate) fn detect() -> Features {
    let (hwcap, hwcap2) = (getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
    // SAFETY: HWCAP reports SVE.
    let vector_bytes = if hwcap & SVE == 0 { 0 } else { unsafe { vector_bytes() } };
    // SAFETY: HWCAP2 reports SME.
    let streaming_bytes = if hwcap2 & SME == 0 { 0 } else { unsafe { streaming_bytes() } };
    Features::from_arm(&ArmFacts { hwcap, hwcap2, vector_bytes, streaming_bytes, permits: u64::from(permits_zva()) })
}
