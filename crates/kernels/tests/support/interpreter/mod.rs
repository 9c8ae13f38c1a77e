//! An interpreter of x86-64 machine code with every instruction set that the kernels use.

mod floats;
mod general;
mod machine;
mod tiles;
mod vectors;

pub(crate) use machine::Machine;
