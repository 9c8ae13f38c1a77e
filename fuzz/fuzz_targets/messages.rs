//! Everything that a connection carries is parsed without a panic: prefaces, frames and messages of both ends.
#![no_main]

mod json;

use libfuzzer_sys::{fuzz_mutator, fuzz_target};

fuzz_target!(|bytes: &[u8]| bench::net::read_as_everything(bytes));

fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| { json::mutate(data, size, most, seed) });
