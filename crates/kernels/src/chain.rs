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
    /// `add` or `imul`, as in documents.
    pub name: &'static str,
    /// The only instruction in the loop but for its end.
    pub instruction: &'static str,
    /// Cycles from one instruction to the next on most cores; see each chain.
    pub latency: u32,
    pub(crate) step: fn(u64, u64) -> u64,
    pub(crate) body: Body,
}

/// One cycle per addition, from Haswell to Lion Cove, Gracemont to Skymont and Zen 1 to Zen 5 (`InstLatx64`).
pub static ADD: Chain = Chain {
    name: "add",
    instruction: "add",
    latency: 1,
    step: u64::wrapping_add,
    body: native::chain::add::<{ Chain::LENGTH }>,
};

/// Three cycles per multiplication on the big cores of Intel and AMD; five on Gracemont and Crestmont, four on Skymont
/// (`InstLatx64`): there divide by [`Chain::cycles_at`].
pub static IMUL: Chain = Chain {
    name: "imul",
    instruction: "imul",
    latency: 3,
    step: u64::wrapping_mul,
    body: native::chain::imul::<{ Chain::LENGTH }>,
};

/// Both chains.
pub static CHAINS: [&Chain; 2] = [&ADD, &IMUL];

impl Chain {
    /// Dependent instructions per iteration: enough to hide the end of the loop.
    pub const LENGTH: u64 = 64;

    /// The first value of a chain; odd, so that no product becomes zero.
    const START: u64 = 0x0123_4567_89ab_cdef;
    /// The value added or multiplied by; odd.
    const OPERAND: u64 = crate::rng::GOLDEN;

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
