//! The bodies of the clock chains.

use core::arch::naked_asm;

use crate::chain::Chain;

/// The second chain. No multiplication serves: one of 64 bits takes from two cycles (Neoverse V1, N2 and V2) to five
/// (Cortex-A72 and A64FX), while additions and subtractions take one on all of them (Arm's software optimization guides,
/// Fujitsu's A64FX microarchitecture manual).
pub(crate) const SECOND: Chain =
    Chain { name: "sub", instruction: "sub", latency: 1, step: u64::wrapping_sub, body: sub::<{ Chain::LENGTH }> };

/// Defines a chain of one instruction from X1 into X0, where it starts; X2 is the number of iterations.
macro_rules! chain {
    ($name:ident, $instruction:literal) => {
        #[unsafe(naked)]
        pub(crate) extern "C" fn $name<const LENGTH: u64>(start: u64, operand: u64, iterations: u64) -> u64 {
            naked_asm!(
                "cbz x2, 3f",
                ".p2align 6",
                "2:",
                ".rept {length}",
                $instruction,
                ".endr",
                "subs x2, x2, #1",
                "b.ne 2b",
                "3:",
                "ret",
                length = const LENGTH,
            )
        }
    };
}

chain!(add, "add x0, x0, x1");
chain!(sub, "sub x0, x0, x1");
