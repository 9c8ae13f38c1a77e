//! Clock chains: dependent instructions of a known latency. [`Chain::cycles`] divided by the measured time is the core's
//! clock. A busy sibling or a stolen time slice can only slow a chain, so the larger of two chains is the better clock.
//!
//! No known core shortens these instructions (latencies: `InstLatx64`, github.com/InstLatx64), unlike moves, increments,
//! additions of constants, `LEA`, shifts (Golden Cove, Lion Cove and Skymont) and `xor` of a register with itself.

use crate::native;

/// A body: returns the result of `iterations` iterations from `start` with `operand`.
pub(crate) type Body = extern "C" fn(start: u64, operand: u64, iterations: u64) -> u64;

/// A loop of [`Chain::LENGTH`] dependent instructions.
#[derive(Debug)]
pub struct Chain {
    /// `add`, `imul` or `sub`, as in documents.
    pub name: &'static str,
    /// The only instruction in the loop but for its end.
    pub instruction: &'static str,
    /// Cycles from one instruction to the next on most cores; see each chain.
    pub latency: u32,
    pub(crate) step: fn(u64, u64) -> u64,
    pub(crate) body: Body,
}

/// One cycle per addition, from Haswell to Lion Cove, Gracemont to Skymont and Zen 1 to Zen 5 (`InstLatx64`), and from
/// Cortex-A53 to Neoverse V2 (Arm's software optimization guides).
pub static ADD: Chain = Chain {
    name: "add",
    instruction: "add",
    latency: 1,
    step: u64::wrapping_add,
    body: native::chain::add::<{ Chain::LENGTH }>,
};

/// Three cycles per multiplication on the big cores of Intel and AMD; five on Gracemont and Crestmont, four on Skymont
/// (`InstLatx64`): [`Chain::latency_on`].
#[cfg(not(all(target_arch = "aarch64", target_os = "linux")))]
pub static SECOND: Chain = Chain {
    name: "imul",
    instruction: "imul",
    latency: 3,
    step: u64::wrapping_mul,
    body: native::chain::imul::<{ Chain::LENGTH }>,
};

/// One cycle per subtraction. No multiplication serves: one of 64 bits takes from two cycles (Neoverse V1, N2 and V2) to five
/// (Cortex-A72 and A64FX; Arm's software optimization guides, Fujitsu's A64FX microarchitecture manual).
#[cfg(all(target_arch = "aarch64", target_os = "linux"))]
pub static SECOND: Chain = Chain {
    name: "sub",
    instruction: "sub",
    latency: 1,
    step: u64::wrapping_sub,
    body: native::chain::sub::<{ Chain::LENGTH }>,
};

/// Both chains.
pub static CHAINS: [&Chain; 2] = [&ADD, &SECOND];

impl Chain {
    /// Dependent instructions per iteration: enough to hide the end of the loop.
    pub const LENGTH: u64 = 64;

    /// The first value of a chain; odd, so that no product becomes zero.
    const START: u64 = 0x0123_4567_89ab_cdef;
    /// The value added or multiplied by; odd.
    const OPERAND: u64 = crate::rng::GOLDEN;

    /// The latency on a core whose multiplications have this one.
    pub fn latency_on(&self, imul_cycles: u32) -> u32 {
        if self.name == "imul" { imul_cycles } else { self.latency }
    }

    /// Cycles that `iterations` iterations take at the default [`latency`](Self::latency).
    pub const fn cycles(&self, iterations: u64) -> u64 {
        Self::cycles_at(self.latency, iterations)
    }

    /// Cycles that `iterations` iterations take on a core where the instruction has this latency.
    pub const fn cycles_at(latency: u32, iterations: u64) -> u64 {
        iterations * Self::LENGTH * latency as u64
    }

    /// Runs the chain; its last value, to compare with [`Chain::expected`].
    #[inline]
    pub fn run(&self, iterations: u64) -> u64 {
        (self.body)(Self::START, Self::OPERAND, iterations)
    }

    /// The result of [`Chain::run`] if every instruction was executed. As slow as the chain itself.
    pub fn expected(&self, iterations: u64) -> u64 {
        (0..iterations * Self::LENGTH).fold(Self::START, |value, _| (self.step)(value, Self::OPERAND))
    }

    /// The address of the machine code, for disassembly.
    pub fn code(&self) -> *const u8 {
        self.body as *const u8
    }
}
