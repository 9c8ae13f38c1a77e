//! A row of the table of arithmetic kernels: a loop and what it declares.

use model::isa::{CpuOp, Element, Isa};

use crate::arithmetic::data::Data;
use crate::arithmetic::registers::RegisterFile;
use crate::features::{Feature, Features};

/// A body: runs that many iterations on the register file.
///
/// # Safety
/// The CPU and the operating system must support every feature that the kernel requires.
pub(crate) type Body = unsafe extern "C" fn(&mut RegisterFile, iterations: u64);

/// One row: an arithmetic loop and what it declares.
#[derive(Debug)]
pub struct Kernel {
    /// Unique, as in ids of experiments: `fma/fp64/avx512`.
    pub name: &'static str,
    /// What is computed.
    pub op: CpuOp,
    /// On elements of which type.
    pub element: Element,
    /// With which instruction set.
    pub isa: Isa,
    /// The features without which the body must not run.
    pub requires: &'static [Feature],
    /// The instruction mix and counting rule, with a revision that changes whenever a figure would mean something else.
    pub method: &'static str,
    /// The type of an accumulator and of what is summed into it, for display: `s32 <- u8 x s8`.
    pub accumulator_type: &'static str,
    /// Independent accumulators: at least latency times pipes of the cores known (5 x 2 for VNNI and Haswell, 6 x 2 for
    /// Crestmont), as far as the registers reach.
    pub accumulators: usize,
    /// Accumulators that take a step together: 1, or 2 where two kinds of instruction are kept busy.
    pub accumulators_per_step: usize,
    /// Lanes of one accumulator.
    pub lanes: usize,
    /// Pairs of steps that each accumulator takes per iteration, an even and an odd one with other operands.
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

/// A variant of a loop for cores that bind instructions to ports when they rename them
/// ([`Features::binds_at_renaming`]): the very same instructions, with NOPs between them.
///
/// Such a core prefers the port with the fewest instructions waiting. Where more are renamed than ports finish, those
/// that cannot start yet pile up, and what could go to any port is bound to one that others need: work that should fill
/// three ports reaches 91 to 98 % of that. NOPs take a place in renaming and no port, so that no more is renamed in a
/// cycle than is finished in it, and nothing piles up. At 512 bits, where two ports are left, they only part groups of
/// equal instructions, with which such a core may fall into a slower rhythm.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spaced {
    /// The loop with the NOPs in it.
    pub(crate) body: Body,
    /// NOPs per iteration.
    pub(crate) nops: u64,
}

/// A variant of a loop that tells the clock under its load.
///
/// The core's clock can fall while wide units work and rise within microseconds after them: a chain of additions that is
/// run after the loop then reads another clock than the loop had. So the chain is put into the loop: dependent
/// additions of one cycle each, so many that they and not the work set the pace. The work goes on beside them, at two
/// thirds of its rate or more: with less, a core may take the load for a lighter one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// The loop with the additions in it.
    pub(crate) body: Body,
    /// Dependent additions per iteration.
    pub(crate) additions: u64,
}

/// How a row says where it differs from another.
impl Kernel {
    /// The same for another instruction set.
    pub(crate) const fn named(self, name: &'static str, isa: Isa, requires: &'static [Feature]) -> Self {
        Self { name, isa, requires, ..self }
    }

    /// The same on other elements.
    pub(crate) const fn on_elements(self, element: Element, accumulator_type: &'static str, data: Data) -> Self {
        Self { element, accumulator_type, data, ..self }
    }

    /// The same by another counting rule.
    pub(crate) const fn counted_by(self, method: &'static str) -> Self {
        Self { method, ..self }
    }

    /// The same with so many accumulators of so many lanes, and so many pairs of steps per iteration.
    pub(crate) const fn sized(self, accumulators: usize, lanes: usize, pairs: usize) -> Self {
        Self { accumulators, lanes, pairs, ..self }
    }

    /// The same with so many operations of one step in one lane.
    pub(crate) const fn doing(self, operations_per_lane: u64) -> Self {
        Self { operations_per_lane, ..self }
    }

    /// The same with another loop, of which there is no other variant.
    pub(crate) const fn running(self, step: &'static [&'static str], body: Body) -> Self {
        Self { step, body, spaced: None, pace: None, ..self }
    }

    /// The same with a variant of the loop that has so many NOPs.
    pub(crate) const fn spaced_by(self, body: Body, nops: u64) -> Self {
        Self { spaced: Some(Spaced { body, nops }), ..self }
    }

    /// The same with a variant of the loop that is paced by so many additions.
    pub(crate) const fn paced_by(self, body: Body, additions: u64) -> Self {
        Self { pace: Some(Pace { body, additions }), ..self }
    }
}

impl Kernel {
    /// Arithmetic operations per iteration; a multiplication and an addition are one each.
    pub const fn operations(&self) -> u64 {
        self.steps() * self.lanes as u64 * self.operations_per_lane
    }

    /// Steps of all accumulators per iteration: so often does each instruction of [`Kernel::step`] occur in the loop.
    pub const fn steps(&self) -> u64 {
        (self.accumulators / self.accumulators_per_step * 2 * self.pairs) as u64
    }

    /// Whether the loop counts its iterations in one more instruction, since its lanes wrap too soon to tell.
    pub const fn counts_iterations(&self) -> bool {
        self.data.is_counted()
    }

    /// Iterations after which `Bound::run` checks the accumulators and starts them anew, as they are exactly
    /// predictable no further; [`u64::MAX`] where they always are.
    pub const fn lap(&self) -> u64 {
        self.data.lap(self.pairs)
    }

    /// Bytes of one accumulator.
    pub const fn vector_bytes(&self) -> usize {
        self.lanes * self.data.lane_bytes()
    }

    /// Bytes of all accumulators.
    pub(crate) const fn result_bytes(&self) -> usize {
        self.accumulators * self.vector_bytes()
    }

    /// NOPs that keep the instructions of a step apart where the loop runs on a core with these features: none, but on
    /// one that binds at renaming ([`Features::binds_at_renaming`]). The last steps have one or two fewer, or a few more.
    pub fn nops_per_step(&self, features: &Features) -> usize {
        let spaced = self.spaced.filter(|_| features.binds_at_renaming());
        let nearest = |nops: u64| (nops + self.steps() / 2) / self.steps();
        spaced.map_or(0, |spaced| usize::try_from(nearest(spaced.nops)).unwrap_or(usize::MAX))
    }

    /// Where the machine code begins, for disassembly.
    pub fn code(&self) -> *const u8 {
        self.body as *const u8
    }

    /// Where the machine code of the variant with NOPs begins, and their number per iteration; `None` where there is
    /// none.
    pub fn spaced_code(&self) -> Option<(*const u8, u64)> {
        self.spaced.map(|spaced| (spaced.body as *const u8, spaced.nops))
    }

    /// Where the machine code of the paced variant begins, and its dependent additions per iteration, each of one cycle;
    /// `None` where there is none.
    pub fn paced_code(&self) -> Option<(*const u8, u64)> {
        self.pace.map(|pace| (pace.body as *const u8, pace.additions))
    }
}
