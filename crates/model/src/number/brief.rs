//! Values with three significant digits, as sentences of findings have them.

use super::digits::three;
use super::scale::{Step, at, step};
use crate::benchmark::experiment::Area;
use crate::unit::Unit;

pub use super::percent::percent_brief as percent;

/// A number with three digits takes the next prefix from here on.
const THREE_DIGITS: f64 = 0.9995;

fn prefixed(value: f64, steps: &[Step]) -> String {
    let Step { factor, unit } = step(value, steps, THREE_DIGITS);
    format!("{} {unit}", three(value / factor)).trim_end().to_owned()
}

/// `1.20 ms`.
pub fn time(seconds: f64) -> String {
    prefixed(seconds, &[at(1e-9, "ns"), at(1e-6, "us"), at(1e-3, "ms"), at(1.0, "s")])
}

/// `842 MB/s`.
pub fn bytes(per_second: f64) -> String {
    let steps = [at(1.0, "B/s"), at(1e3, "kB/s"), at(1e6, "MB/s"), at(1e9, "GB/s"), at(1e12, "TB/s")];
    prefixed(per_second, &steps)
}

/// `32.4 Gb/s`: bits, as links are rated.
pub fn bits(bytes_per_second: f64) -> String {
    let steps = [at(1.0, "b/s"), at(1e3, "kb/s"), at(1e6, "Mb/s"), at(1e9, "Gb/s"), at(1e12, "Tb/s")];
    prefixed(8.0 * bytes_per_second, &steps)
}

/// `68.7 kIOPS`.
pub fn requests(per_second: f64) -> String {
    prefixed(per_second, &[at(1.0, "IOPS"), at(1e3, "kIOPS"), at(1e6, "MIOPS")])
}

/// `192 GFLOP/s`.
pub fn flops(per_second: f64) -> String {
    prefixed(per_second, &[at(1.0, "FLOP/s"), at(1e6, "MFLOP/s"), at(1e9, "GFLOP/s"), at(1e12, "TFLOP/s")])
}

/// `2.99 GHz`.
pub fn hertz(value: f64) -> String {
    prefixed(value, &[at(1.0, "Hz"), at(1e6, "MHz"), at(1e9, "GHz")])
}

/// A value in its unit: bytes of networks as bits.
pub fn quantity(value: f64, unit: Unit, area: Area) -> String {
    match unit {
        Unit::FlopPerSecond => flops(value),
        Unit::OpPerSecond => prefixed(value, &[at(1.0, "OP/s"), at(1e6, "MOP/s"), at(1e9, "GOP/s"), at(1e12, "TOP/s")]),
        Unit::BytePerSecond if area == Area::Net => bits(value),
        Unit::BytePerSecond => bytes(value),
        Unit::Second => time(value),
        Unit::PerSecond => requests(value),
        Unit::Hertz => hertz(value),
        Unit::SecondPerByte => format!("{} CPU seconds per GB", three(1e9 * value)),
        Unit::One => three(value),
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
