//! Whatever a trusted tool prints is read without a panic, by every adapter.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| tools::read_as_every_output(bytes));
