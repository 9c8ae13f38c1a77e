//! Everything that a connection carries is parsed without a panic: prefaces, frames and messages of both ends.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| bench::net::read_as_everything(bytes));
