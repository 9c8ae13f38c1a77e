//! What Linux grants to this process; [`crate::features`] interprets it.

use core::arch::asm;

use crate::features::{ArmFacts, Features};

/// Keys of the auxiliary vector: Linux `include/uapi/linux/auxvec.h`.
const AT_HWCAP: u64 = 16;
const AT_HWCAP2: u64 = 26;
/// HWCAP's bit of SVE.
const SVE: u64 = 1 << 22;

unsafe extern "C" {
    /// A value of the auxiliary vector, 0 if the kernel gave none; in glibc since 2.16, and in musl.
    safe fn getauxval(key: u64) -> u64;
}

pub(crate) fn detect() -> Features {
    let hwcap = getauxval(AT_HWCAP);
    // SAFETY: HWCAP says that the process may use SVE.
    let vector_bytes = if hwcap & SVE == 0 { 0 } else { unsafe { vector_bytes() } };
    Features::from_arm(&ArmFacts { hwcap, hwcap2: getauxval(AT_HWCAP2), vector_bytes })
}

/// Bytes of a scalable vector. Safety: HWCAP must report SVE, or the instruction is undefined.
unsafe fn vector_bytes() -> u64 {
    let bytes;
    // SAFETY: RDVL exists where HWCAP reports SVE (the caller's promise) and only writes its register.
    unsafe {
        asm!(".arch_extension sve", "rdvl {}, #1", out(reg) bytes, options(nomem, nostack, preserves_flags));
    }
    bytes
}
