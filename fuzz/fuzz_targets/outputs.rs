//! Every adapter reads any output of a reference tool without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| tools::read_as_every_output(bytes));
