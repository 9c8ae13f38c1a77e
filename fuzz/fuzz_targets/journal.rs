//! The lines of a journal are parsed, and entries are the same after they were written and parsed again.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| bench::journal::read_as_journal(bytes));
