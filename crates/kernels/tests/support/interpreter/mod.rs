//! An interpreter of x86-64 machine code with every instruction set that the kernels use.
//!
//! The instructions are written from Intel's Software Developer's Manual (volume 2) and from nothing of the crate under
//! test. An unknown instruction, a fault (foreign memory, an operand that is not aligned, tiles that do not fit) or a
//! broken promise of the calling convention is an error that names the instruction.

mod floats;
mod general;
mod machine;
mod on_the_cpu;
mod tiles;
mod vectors;

pub(crate) use machine::Machine;
