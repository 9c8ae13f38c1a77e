//! Numbers for people: digits, prefixes of units, percentages, times and sizes.
//!
//! The only place where a base unit becomes G, ns or KiB, for findings, warnings and formulas as well as for reports.
//! Nothing here is parsed back; `run.json` and CSV have plain numbers.

mod amount;
pub mod brief;
mod digits;
mod percent;
mod scale;

pub use amount::{counted, duration, rough_duration, size, size_exact, size_rounded};
pub use digits::{digits, factor, giga, plain, power, three, trimmed, whole};
pub use percent::{
    change, deviation, percent, percent_brief, percent_exact, percent_hundredths, percent_short, percent_tenths,
    percent_whole, spread,
};
pub use scale::{Notation, UnitScale, byte_rate, clock, exact_bit_rate, exact_byte_rate, quantity, request_rate};
