//! Values with three significant digits, as sentences of findings have them.

use super::digits::three;
use super::scale::{Notation, UnitScale};
use crate::benchmark::experiment::Area;
use crate::unit::Unit;

pub use super::percent::percent_brief as percent;

/// A number with three digits takes the next prefix from here on.
const THREE_DIGITS: f64 = 0.9995;

fn prefixed(value: f64, notation: Notation) -> String {
    let scale = UnitScale::from_share(value, notation, THREE_DIGITS);
    format!("{} {}", scale.three(value), scale.unit()).trim_end().to_owned()
}

/// `1.20 ms`.
pub fn time(seconds: f64) -> String {
    prefixed(seconds, Unit::Second.into())
}

/// `842 MB/s`.
pub fn bytes(per_second: f64) -> String {
    prefixed(per_second, Unit::BytePerSecond.into())
}

/// `32.4 Gb/s`: bits, as links are rated.
pub fn bits(bytes_per_second: f64) -> String {
    prefixed(bytes_per_second, Notation::Bits)
}

/// `68.7 kIOPS`.
pub fn requests(per_second: f64) -> String {
    prefixed(per_second, Notation::Iops)
}

/// `192 GFLOP/s`.
pub fn flops(per_second: f64) -> String {
    prefixed(per_second, Unit::FlopPerSecond.into())
}

/// `2.99 GHz`.
pub fn hertz(value: f64) -> String {
    prefixed(value, Unit::Hertz.into())
}

/// A value in its unit: bytes of networks as bits.
pub fn quantity(value: f64, unit: Unit, area: Area) -> String {
    match unit {
        Unit::SecondPerByte => format!("{} CPU seconds per GB", three(1e9 * value)),
        _ => prefixed(value, Notation::of(area, unit)),
    }
}

/// `1.96x`.
pub fn times(factor: f64) -> String {
    format!("{}x", three(factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_has_three_digits_of_a_value() {
        assert_eq!([0.0012, 0.9996e-6].map(time), ["1.20 ms", "1.00 us"]);
        assert_eq!([bytes(842e6), bits(4.05e9), requests(68_712.0)], ["842 MB/s", "32.4 Gb/s", "68.7 kIOPS"]);
    }
}
