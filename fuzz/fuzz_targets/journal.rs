//! The lines of a journal are parsed, and its entries written, without a panic.
#![no_main]

mod json;

use libfuzzer_sys::{fuzz_mutator, fuzz_target};

fuzz_target!(|bytes: &[u8]| bench::journal::read_as_journal(bytes));

fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| { json::mutate(data, size, most, seed) });
