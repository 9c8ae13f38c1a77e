//! Arithmetic kernels: their table, their operands, and the exact prediction of their results.
#![allow(dead_code, reason = "no architecture has kernels of every kind")]

pub(crate) mod common;
pub(crate) mod data;
pub(crate) mod float;
pub(crate) mod kernel;
pub(crate) mod registers;
pub mod state;
pub mod table;
