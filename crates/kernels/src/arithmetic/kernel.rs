//! A row of the table of arithmetic kernels: a loop and its declaration.

use model::isa::{CpuOp, Element, Isa};

use crate::arithmetic::data::Data;
use crate::arithmetic::registers::RegisterFile;
use crate::features::{Feature, Features, Needs};

/// A body: runs `iterations` iterations on the register file. Safety: the CPU and the operating system must support
/// every feature that the kernel requires.
pub(crate) type Body = unsafe extern "C" fn(&mut RegisterFile, iterations: u64);

/// One row: an arithmetic loop and its declaration.
#[derive(Debug)]
#[expect(missing_docs, reason = "the other fields are what their names say")]
pub struct Kernel {
    /// Unique, as in ids of benchmarks: `fma/fp64/avx512`.
    pub name: &'static str,
    pub op: CpuOp,
    pub element: Element,
    pub isa: Isa,
    pub requires: &'static [Feature],
    /// The instruction mix and counting rule, with a revision that changes whenever a number would mean something else.
    pub method: &'static str,
    /// The types of accumulator and operands, for display: `s32 <- u8 x s8`.
    pub accumulator_type: &'static str,
    /// Independent accumulators: at least latency times pipes of the known cores (5 x 2 for VNNI and Haswell, 6 x 2 for
    /// Crestmont), as far as the registers suffice.
    pub accumulators: usize,
    /// Accumulators that take a step together: 1, or 2 for two types of instruction.
    pub accumulators_per_step: usize,
    /// Lanes of one accumulator.
    pub lanes: usize,
    /// Pairs of steps per accumulator and iteration, an even and an odd one with different operands.
    pub pairs: usize,
    /// The instructions of one step.
    pub step: &'static [&'static str],
    /// Operations of one step in one lane: 2 for a multiply-add, 8 for four products summed.
    pub operations_per_lane: u64,
    pub(crate) data: Data,
    pub(crate) body: Body,
    pub(crate) spaced: Option<Spaced>,
    pub(crate) pace: Option<Pace>,
}

/// A variant of a loop for cores that bind instructions to ports at renaming ([`Features::binds_at_renaming`]), with
/// NOPs between the same instructions.
///
/// Such a core prefers the port with the fewest waiting instructions. If more are renamed than finish, waiting ones
/// pile up on ports that others need: three ports reach 91 to 98 % of their rate. NOPs take a slot in renaming and no
/// port. At 512 bits, with two ports, they separate groups of equal instructions, which may fall into a slower rhythm.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spaced {
    pub(crate) body: Body,
    pub(crate) nops: u64,
}

/// A variant of a loop that measures the clock under its load.
///
/// The core's clock can fall while wide units work and rise within microseconds after them. This loop contains dependent
/// additions of one cycle each, enough to set the pace, and at least two thirds of the work: with less, a core may treat
/// the load as a lighter one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) body: Body,
    /// Dependent additions per iteration.
    pub(crate) additions: u64,
}

impl Kernel {
    /// What the rows of one operation, element and method have in common; the rest is for [`row`](Self::row).
    pub(crate) const fn of(
        op: CpuOp,
        element: Element,
        accumulator_type: &'static str,
        method: &'static str,
        operations_per_lane: u64,
        data: Data,
    ) -> Self {
        /// Replaced by every row.
        const unsafe extern "C" fn nothing(_: &mut RegisterFile, _: u64) {}
        Self {
            name: "",
            op,
            element,
            isa: Isa::Scalar,
            requires: &[],
            method,
            accumulator_type,
            accumulators: 1,
            accumulators_per_step: 1,
            lanes: 1,
            pairs: 1,
            step: &[],
            operations_per_lane,
            data,
            body: nothing,
            spaced: None,
            pace: None,
        }
    }

    /// A row of this number of accumulators, of their lanes, and of pairs of steps per iteration.
    pub(crate) const fn row(
        self,
        name: &'static str,
        (isa, requires): Needs,
        [accumulators, lanes, pairs]: [usize; 3],
        step: &'static [&'static str],
        body: Body,
    ) -> Self {
        Self { name, isa, requires, accumulators, lanes, pairs, step, body, ..self }
    }

    /// The same with a variant that has this number of NOPs.
    pub(crate) const fn spaced_by(self, body: Body, nops: u64) -> Self {
        Self { spaced: Some(Spaced { body, nops }), ..self }
    }

    /// The same with a variant that is paced by this number of additions.
    pub(crate) const fn paced_by(self, body: Body, additions: u64) -> Self {
        Self { pace: Some(Pace { body, additions }), ..self }
    }
}

impl Kernel {
    /// Arithmetic operations per iteration; a multiplication and an addition are one each.
    pub const fn operations(&self) -> u64 {
        self.steps() * self.lanes as u64 * self.operations_per_lane
    }

    /// Steps of all accumulators per iteration, and how often each instruction of [`Kernel::step`] occurs in the loop.
    pub const fn steps(&self) -> u64 {
        (self.accumulators / self.accumulators_per_step * 2 * self.pairs) as u64
    }

    /// Whether the loop counts its iterations in one more instruction, since its lanes wrap too soon.
    pub const fn counts_iterations(&self) -> bool {
        self.data.is_counted()
    }

    /// Iterations after which `Bound::run` checks and resets the accumulators, which are exactly predictable no
    /// further; [`u64::MAX`] if they always are.
    pub const fn lap(&self) -> u64 {
        self.data.lap(self.pairs)
    }

    /// Bytes of one accumulator.
    pub const fn vector_bytes(&self) -> usize {
        self.lanes * self.data.lane_bytes()
    }

    pub(crate) const fn result_bytes(&self) -> usize {
        self.accumulators * self.vector_bytes()
    }

    /// NOPs after each step on a core with these features: 0 unless it binds at renaming
    /// ([`Features::binds_at_renaming`]). The last steps have one or two fewer, or a few more.
    pub fn nops_per_step(&self, features: &Features) -> usize {
        let spaced = self.spaced.filter(|_| features.binds_at_renaming());
        let nearest = |nops: u64| (nops + self.steps() / 2) / self.steps();
        spaced.map_or(0, |spaced| usize::try_from(nearest(spaced.nops)).unwrap_or(usize::MAX))
    }

    /// The address of the machine code, for disassembly.
    pub fn code(&self) -> *const u8 {
        self.body as *const u8
    }

    /// The address of the variant with NOPs, and their number per iteration.
    pub fn spaced_code(&self) -> Option<(*const u8, u64)> {
        self.spaced.map(|spaced| (spaced.body as *const u8, spaced.nops))
    }

    /// The address of the paced variant, and its dependent additions per iteration, each of one cycle.
    pub fn paced_code(&self) -> Option<(*const u8, u64)> {
        self.pace.map(|pace| (pace.body as *const u8, pace.additions))
    }
}
