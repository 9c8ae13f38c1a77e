//! Arithmetic: scaling, missing instruction sets, CPUs that go offline, older processors under qemu.

pub(crate) mod emulation;
mod rows;
mod trouble;
