//! A CPUID dump is parsed, and is the same after it was written and parsed again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use machine::Dump;

fuzz_target!(|text: &str| {
    let dump = Dump::parse(text);
    assert_eq!(Dump::parse(&dump.to_string()), dump);
});
