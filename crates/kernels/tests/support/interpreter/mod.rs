//! Machine code carried out by software: a model of the registers of an x86-64 CPU with every instruction set that the
//! kernels know, whatever this machine has.
//!
//! The meaning of each instruction is written from its definition in Intel's Software Developer's Manual (volume 2) and
//! from nothing of the crate under test. It knows the instructions that kernels use and no more: another one, a fault
//! (memory that is not the kernel's, an operand that is not aligned, tiles that do not fit one another) or a broken
//! promise of the calling convention is an error that names the instruction. What it is not: fast, or a model of time.
//!
//! * `code`: decoding
//! * `machine`: registers, memory, and the flow of control
//! * `general`: instructions on general registers
//! * `vectors`: moves between vector registers and memory, and integer lanes
//! * `floats`: floating-point lanes, rounded as IEEE 754 says
//! * `tiles`: tile configuration, tiles, and their products
//! * `on_the_cpu`: the model against this CPU, instruction by instruction

mod code;
mod floats;
mod general;
mod machine;
mod on_the_cpu;
mod tiles;
mod vectors;

pub(crate) use code::function;
pub(crate) use machine::Machine;
