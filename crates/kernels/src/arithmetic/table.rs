//! The table of arithmetic kernels. [`Kernel::bind`] turns a row into something that can run, or returns `None` if the
//! machine cannot. The order of the table (widest first) is the only policy here.

use model::isa::{CpuOp, Element, Isa};

pub use crate::arithmetic::kernel::Kernel;
use crate::arithmetic::kernel::{Body, Spaced};
use crate::arithmetic::state::ArithmeticState;
use crate::features::Features;
use crate::native;

/// Every arithmetic kernel of this architecture. For one operation and element the widest comes first, and for one
/// instruction set the better body, so the first row that binds is the one to use.
pub static KERNELS: &[Kernel] = native::KERNELS;

impl Kernel {
    /// The kernel ready to run, if `features` and this CPU have all that it requires.
    pub fn bind(&'static self, features: &Features) -> Option<Bound> {
        let bound = || Bound { kernel: self, spaced: self.spaced.filter(|_| features.binds_here()) };
        features.usable(self.requires).then(bound)
    }

    /// Operands and accumulators drawn from `seed`, even for a kernel that this machine cannot run.
    #[doc(hidden)]
    pub fn state(&'static self, seed: u64) -> ArithmeticState {
        ArithmeticState::seeded(self, seed)
    }
}

/// A [`Kernel`] on a machine that can run it.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    kernel: &'static Kernel,
    spaced: Option<Spaced>,
}

impl Bound {
    /// The bound row.
    pub const fn kernel(&self) -> &'static Kernel {
        self.kernel
    }

    /// Whether the loop runs with NOPs between its instructions, as this core needs.
    pub const fn is_spaced(&self) -> bool {
        self.spaced.is_some()
    }

    /// Operands and accumulators for this kernel, drawn from `seed`.
    pub fn seeded(&self, seed: u64) -> ArithmeticState {
        ArithmeticState::seeded(self.kernel, seed)
    }

    /// Runs the loop for `iterations` iterations, from where the last run left the accumulators, lap by lap: the end of
    /// a lap costs less than a thousandth of it. Panics if `state` is another kernel's.
    #[inline]
    pub fn run(&self, state: &mut ArithmeticState, iterations: u64) {
        self.run_body(self.spaced.map_or(self.kernel.body, |spaced| spaced.body), state, iterations);
    }

    /// Runs the paced variant of the loop, if [`Kernel::paced_code`] has one: the same work on the same state. Panics
    /// if `state` is another kernel's.
    pub fn run_paced(&self, state: &mut ArithmeticState, iterations: u64) {
        if let Some(pace) = self.kernel.pace {
            self.run_body(pace.body, state, iterations);
        }
    }

    #[inline]
    fn run_body(self, body: Body, state: &mut ArithmeticState, iterations: u64) {
        assert!(core::ptr::eq(self.kernel, state.kernel()), "the state belongs to {}", state.kernel().name);
        let mut rest = iterations;
        loop {
            let part = rest.min(state.iterations_left());
            // SAFETY: a `Bound` exists only where `Features::usable` has found the required features; variants of a
            // body require no others.
            unsafe { body(&mut state.registers, part) }
            state.advance(part);
            rest -= part;
            if rest == 0 {
                return;
            }
        }
    }
}

/// The kernel for this operation, element and instruction set: the first row that binds.
pub fn find(op: CpuOp, element: Element, isa: Isa, features: &Features) -> Option<Bound> {
    rows(op, element).filter(|kernel| kernel.isa == isa).find_map(|kernel| kernel.bind(features))
}

/// The kernel with the widest instruction set that binds for this operation and element.
pub fn widest(op: CpuOp, element: Element, features: &Features) -> Option<Bound> {
    rows(op, element).find_map(|kernel| kernel.bind(features))
}

fn rows(op: CpuOp, element: Element) -> impl Iterator<Item = &'static Kernel> {
    KERNELS.iter().filter(move |kernel| kernel.op == op && kernel.element == element)
}
