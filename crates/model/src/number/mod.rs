//! Numbers for people: the only place where a base unit becomes G, ns or KiB. Nothing here is parsed back.

mod amount;
pub mod brief;
mod digits;
mod percent;
mod scale;

pub use amount::{counted, cpu_quota, duration, rough_duration, size, size_exact, size_rounded};
pub use digits::{digits, factor, giga, plain, power, three, trimmed, whole};
pub use percent::{
    change, deviation, percent, percent_brief, percent_exact, percent_hundredths, percent_short, percent_tenths,
    percent_whole, spread,
};
pub use scale::{Notation, UnitScale, byte_rate, clock, exact_bit_rate, exact_byte_rate, quantity, request_rate};
