//! The memory that a kernel works on, byte for byte, for tests that carry its machine code out by other means than this
//! CPU.
//!
//! Nothing that measures needs it: a state made here belongs to a kernel that may never run on this machine.

use core::mem::{offset_of, size_of};

use crate::arithmetic::kernel::Kernel;
use crate::arithmetic::registers::RegisterFile;
use crate::arithmetic::state::ArithmeticState;

/// The accumulators, the last field: all that is left of the register file.
type Results = [u8; size_of::<RegisterFile>() - offset_of!(RegisterFile, results)];

/// Compiles only where that field fills the rest of the register file, so that there is no gap at its end.
const _: fn(&RegisterFile) -> &Results = |file| &file.results;

impl Kernel {
    /// Operands and accumulators drawn from `seed`, on any machine.
    #[doc(hidden)]
    pub fn state(&'static self, seed: u64) -> ArithmeticState {
        ArithmeticState::seeded(self, seed)
    }
}

impl ArithmeticState {
    /// What RDI points to when the kernel is called.
    #[doc(hidden)]
    pub fn register_file(&mut self) -> &mut [u8; size_of::<RegisterFile>()] {
        let file: *mut RegisterFile = &raw mut self.registers;
        // SAFETY: a register file is arrays of bytes, one after another and without gaps (none at its end, as
        // `Results` says), so all of it is initialised and takes any bytes; the borrow of `self` goes on in what is
        // returned.
        unsafe { &mut *file.cast() }
    }
}
