//! Arithmetic kernels: their table, the operands that they are given, and the exact prediction of their results.

pub(crate) mod data;
pub(crate) mod float;
mod inspect;
pub(crate) mod kernel;
pub(crate) mod registers;
pub mod state;
pub mod table;
