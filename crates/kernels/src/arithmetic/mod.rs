//! Arithmetic kernels: their table, their operands, and the exact prediction of their results.

pub(crate) mod common;
pub(crate) mod data;
pub(crate) mod float;
pub(crate) mod kernel;
pub(crate) mod registers;
pub mod state;
pub mod table;
